"""The comparison of PyTorch's own examples finds a wrong answer, and tells it from a refusal and from last digits."""

from __future__ import annotations

from typing import Any

import pytest

from tools import docstrings
from tools.comparison.children import Child

DOC = """Returns the sine.

Example::

    >>> a = torch.tensor([0.5, 1.0])
    >>> torch.sin(a)
    tensor([0.4794, 0.8415])
    >>> def twice(x):
    >>>     return 2 * x
    >>> twice(
    ...     torch.sin(a)
    ... )
    >>> this is no statement
"""
SPACES = {"func": ["vmap"], "Tensor": ["sin"]}


@pytest.fixture(scope="module")
def gradcli() -> Any:
    with Child("gradcli", docstrings.PRELUDE) as child:
        yield child.run


def only(doc: str, name: str = "torch.sin") -> docstrings.Example:
    (example,) = docstrings.examples([(name, doc)], SPACES)
    return example


def test_statements_are_taken_from_a_docstring() -> None:
    assert [s.partition("\n")[0] for s in only(DOC).statements] == [
        "a = torch.tensor([0.5, 1.0])",
        "torch.sin(a)",
        "def twice(x):",
        "twice(torch.sin(a))",
    ]


def test_names_of_the_namespace_are_imported() -> None:
    assert only(">>> y = vmap(np.sin)", "torch.func.vmap").imports == ("from torch.func import vmap", "import numpy as np")


def test_examples_that_need_more_than_a_processor_are_left_out() -> None:
    assert not list(docstrings.examples([("torch.sin", ">>> x = torch.ones(1).cuda()"), ("torch.save", ">>> torch.save(x, 'a')")], SPACES))


@pytest.mark.parametrize(
    ("planted", "verdict"),
    [
        ("torch.sin(a)", "exact"),
        ("torch.sin(a) * 1.00002", "last digits"),
        ("torch.cos(a)", "wrong"),
        ("torch.sin(a)[None]", "wrong"),
        ("torch.sin(a)[2:5, 7]", "wrong"),
        ("torch.sin(a).no_such_thing()", "refused"),
        ("torch.hash_tensor(a)", "refused"),
    ],
)
def test_a_planted_answer_has_its_verdict(planted: str, verdict: str, gradcli: Any) -> None:
    example = only(DOC)
    (row,) = docstrings.rows([example], gradcli, lambda script: gradcli(script.replace("torch.sin(a)", planted)))
    assert row["verdict"] == verdict, row
    assert verdict == "exact" or "torch.sin(a)" in row["statement"]


def test_what_pytorch_does_not_run_does_not_count(gradcli: Any) -> None:
    fragment = only(">>> optimizer.step(closure)")
    assert not list(docstrings.rows([fragment], gradcli, gradcli))


def test_memory_that_is_not_set_does_not_count_as_wrong(gradcli: Any) -> None:
    example = only(">>> x = torch.Tensor(2)\n>>> x.shape")
    (row,) = docstrings.rows([example], gradcli, lambda script: gradcli(script.replace("Tensor(", "ones(")))
    assert row["verdict"] == "known"


def test_empty_tensors_are_zeros_on_both_sides(gradcli: Any) -> None:
    example = only(">>> x = torch.empty(2)\n>>> x.shape")
    (row,) = docstrings.rows([example], gradcli, gradcli)
    assert row["verdict"] == "exact"
    (row,) = docstrings.rows([example], gradcli, lambda script: gradcli(script.replace("empty(", "ones(")))
    assert row["verdict"] == "wrong"


def test_the_table_counts_by_namespace() -> None:
    made = [("torch.sin", "exact"), ("torch.nn.Linear", "wrong"), ("torch.nn.functional.gelu", "refused"), ("torch.nnx", "exact")]
    table = docstrings.table([{"name": name, "verdict": verdict} for name, verdict in made])
    assert [line.split()[-2:] for line in table.splitlines()[1:]] == [
        ["100.0", "torch"],
        ["0.0", "torch.nn"],
        ["0.0", "torch.nn.functional"],
        ["50.0", "all"],
    ]
