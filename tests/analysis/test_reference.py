"""The reference: every function appears, every example evaluates, every name is found."""

from __future__ import annotations

import pytest

from gradcli.analysis.reference import entries, lookup, run_examples
from gradcli.core.functions import catalog
from gradcli.core.functions.function import InplaceFunction
from gradcli.core.random import seeds
from gradcli.core.vocabulary import library
from gradcli.errors import ProgramError
from gradcli.results.reference import Entry
from tests import settings

ENTRIES = entries.all_entries()
NAMES = {name for entry in ENTRIES for name in (entry.name, *entry.aliases)}


def test_every_function_of_the_catalog_appears() -> None:
    for function in catalog.all_functions():
        assert function.is_function or function.is_method
        for name, one in catalog.places(function):
            assert isinstance(one, InplaceFunction) or f"torch.{name}" in NAMES
        for name, one in catalog.methods(function):
            assert isinstance(one, InplaceFunction) or f"Tensor.{name}" in NAMES


def test_every_place_of_the_library_appears() -> None:
    public = {name for name in library.PLACES if not name.rpartition(".")[2].startswith("_")}
    assert {f"torch.{name}" for name in public} <= NAMES
    assert {"torch.pi", "torch.float32", "torch.float", "torch.bool"} <= NAMES


def test_names_are_unique() -> None:
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_entry(entry: Entry) -> None:
    settings.reset()
    assert entry.doc.endswith(".") and "`torch." not in entry.doc
    assert entry.signatures and "..." not in entry.signatures[0]
    assert entry.family and entry.kind
    assert {one.grad_fn for one in entry.derivatives} <= set(entry.grad_fns)
    example = run_examples.example_of(entry.name)
    assert any(printed for _, printed in example), "the example shows nothing"
    assert run_examples.example_of(entry.name) == example, "the example leaves something behind"


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("softmax", ["torch.softmax", "torch.nn.functional.softmax", "torch.special.softmax", "torch.masked.softmax"]),
        ("torch.softmax", ["torch.softmax"]),
        ("Softmax", ["torch.nn.Softmax"]),
        ("F.relu6", ["torch.nn.functional.relu6"]),
        ("nn.functional.relu6", ["torch.nn.functional.relu6"]),
        ("add_", ["torch.add"]),
        ("Tensor.add_", ["torch.add"]),
        ("negative", ["torch.neg"]),
        ("ExpBackward0", ["torch.exp"]),
        ("optim.adam", ["torch.optim.Adam"]),
        ("adam", ["torch.optim.Adam"]),
        ("optim.Adam", ["torch.optim.Adam"]),
        ("exp()", ["torch.exp"]),
        ("autograd.grad", ["torch.autograd.grad"]),
        ("float", ["torch.float32", "Tensor.float"]),
    ],
)
def test_find(wanted: str, names: list[str]) -> None:
    assert sorted(entry.name for entry in lookup.find(wanted)) == sorted(names)


def test_patterns() -> None:
    found = [entry.name for entry in lookup.find("log*")]
    assert {"torch.log", "torch.log1p", "torch.logsumexp", "torch.nn.functional.logsigmoid"} <= set(found)
    assert all(any(name.rpartition(".")[2].startswith("log") for name in (e.name, *e.aliases)) for e in lookup.find("log*"))
    assert {entry.family for entry in lookup.find("optim.*")} >= {"optimisers"}


def test_what_is_not_there_is_said_with_suggestions() -> None:
    with pytest.raises(ProgramError) as error:
        lookup.find("softmx")
    assert error.value.message == "there is nothing called 'softmx'"
    assert error.value.hints[0].startswith("did you mean softmax,")
    assert lookup.first("softmx") is None


def test_describe() -> None:
    entry = lookup.first("pow")
    assert entry is not None and entry.inplace and entry.is_method and entry.takes_out
    assert entry.grad_fns == ("PowBackward0", "PowBackward1", "PowBackward2")
    assert ("PowBackward0", "input") in {(one.grad_fn, one.argument) for one in entry.derivatives}
    assert "derivative 0 everywhere" in entry.derivatives[0].note


def test_of_two_records_of_one_grad_fn_the_general_formula_is_told() -> None:
    entry = lookup.first("add")
    assert entry is not None
    assert [(one.argument, one.formula) for one in entry.derivatives] == [("input", "grad"), ("other", "grad * alpha")]


def test_an_example_leaves_the_generator_alone() -> None:
    seeds.manual_seed(6)
    before = run_examples.of_lines(("rand(2)",))
    entry = lookup.first("randn")
    assert entry is not None
    run_examples.example_of(entry.name)
    assert run_examples.of_lines(("rand(2)",)) == before
