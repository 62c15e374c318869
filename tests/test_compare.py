"""The comparison with PyTorch finds what is wrong in an implementation, and says of which kind it is."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import casebook
from tools import compare
from tools.comparison import calls, outs, probes, verdicts
from tools.comparison.children import Child

SUBJECTS = {s.name: s for s in calls.subjects()}
_SIN = [calls.make(SUBJECTS["torch.sin"], n, 0) for n in range(100)]
_PLAIN = [c for c in _SIN if c.text == "torch.sin(a)" and "tensor([" in c.setup[0] and "dtype" not in c.setup[0]]
#: calls of torch.sin with usual arguments: one that looks at values alone, and one that looks at gradients too
PLAIN = next(c.number for c in _PLAIN if c.mode == "value")
GRADIENT = next(c.number for c in _PLAIN if c.mode == "gradient" and c.leaves)


@pytest.fixture(scope="module")
def gradcli() -> Any:
    with Child("gradcli", probes.PRELUDE) as child:
        yield child.run


def found(name: str, ours: Any, gradcli: Any, number: int = 0, allowed: Any = ()) -> compare.Row:
    """A call under an implementation that is gradcli with a mistake, against gradcli."""
    return compare.compared(SUBJECTS[name], number, 0, gradcli, ours, list(allowed))


def kinds(row: compare.Row) -> set[tuple[str, str]]:
    return {(d["fact"], d["kind"]) for d in row["differences"]}


@pytest.mark.parametrize("name", ["torch.sin", "Tensor.add_", "torch.linalg.qr", "torch.nn.functional.gelu", "torch.sort"])
def test_an_implementation_is_equal_to_itself(name: str, gradcli: Any) -> None:
    for number in range(20):
        row = found(name, gradcli, gradcli, number)
        assert row["verdict"] == "equal", row


@pytest.mark.parametrize(
    ("planted", "fact", "kind"),
    [
        ("torch.cos(a)", "value", "wrong value"),
        ("torch.asin(torch.sin(torch.sin(a)))", "graph", "graph"),
        ("torch.sin(a).double()", "dtype", "dtype"),
        ("torch.sin(a)[None]", "shape", "shape"),
        ("torch.sin(a)[2:5, 7]", "value", "wrong error"),
        ("torch.sin(a).no_such_thing()", "value", "refused"),
        ("torch.sin(a).detach()", "gradient", "wrong value"),
        ("torch.sin(a) * 1.000001", "graph", "graph"),
    ],
)
def test_a_planted_mistake_is_found(planted: str, fact: str, kind: str, gradcli: Any) -> None:
    row = found("torch.sin", lambda script: gradcli(script.replace("torch.sin(a)", planted)), gradcli, GRADIENT)
    assert (fact, kind) in kinds(row), row
    assert row["verdict"] != "equal"


def test_an_error_that_is_missing_or_worded_otherwise_is_found(gradcli: Any) -> None:
    script = (
        "ok = False\ntry:\n    y = torch.sin('a')\nexcept Exception as e:\n    fact('value', lambda: type(e).__name__ + ': ' + str(e))\n"
    )
    theirs = gradcli(script)
    for text, kind in (("torch.cos('a')", "error text"), ("1 / 0", "error type"), ("fact('value', lambda: 1)", "no error")):
        ours = gradcli(script.replace("torch.sin('a')", text))
        assert verdicts.verdict(verdicts.differences("torch.sin", theirs, ours, [])) == kind


def test_a_fault_is_no_refusal_whatever_it_says() -> None:
    fault = "InternalFault: AttributeError: 'int' object has no attribute 'version'"
    assert verdicts.kind_of("value", "tensor(1.)", fault) == "wrong error"
    ours = {"out": "", "error": fault, "warnings": []}
    assert verdicts.verdict(verdicts.differences("torch.sin", {"out": "", "error": None, "warnings": []}, ours, [])) == "fault"


def test_a_warning_that_is_missing_is_found(gradcli: Any) -> None:
    theirs = {**gradcli("fact('value', lambda: 1)\n"), "warnings": ["UserWarning: mind"]}
    found = verdicts.differences("torch.sin", theirs, gradcli("fact('value', lambda: 1)\n"), [])
    assert verdicts.verdict(found) == "warning"


def test_last_digits_are_told_from_other_numbers() -> None:
    def verdict(theirs: str, ours: str) -> str:
        one, two = ({"out": f"## value\n{text}\n", "warnings": [], "error": None} for text in (theirs, ours))
        return verdicts.verdict(verdicts.differences("torch.sin", one, two, []))

    assert verdict("tensor([1.0001])", "tensor([1.0002])") == "digits"
    assert verdict("tensor([1.0001])", "tensor([1.0009])") == "wrong value"
    assert verdict("tensor([0.8174], dtype=torch.float16)", "tensor([0.8179], dtype=torch.float16)") == "rounding"
    assert verdict("tensor([nan])", "tensor([inf])") == "wrong value"
    assert verdict("tensor([-0.])", "tensor([0.])") == "zero sign"
    assert verdict("tensor([1])", "tensor([2])") == "wrong value"
    assert verdict("tensor([1.], grad_fn=<A0>)", "tensor([1.], grad_fn=<B0>)") == "graph"
    assert verdict("tensor([1.], dtype=torch.float64)", "tensor([1.])") == "dtype"


def test_known_differences_count_as_known(tmp_path: Path, gradcli: Any) -> None:
    document = tmp_path / "differences.md"
    document.write_text("| functions | what | reason |\n|---|---|---|\n| `torch.si*` | value | a reason |\n")
    rows = verdicts.known(document)
    assert [(k.names, k.what) for k in rows] == [("`torch.si*`", "value")]
    number, text = PLAIN, "torch.sin(a)"
    changed = found("torch.sin", lambda s: gradcli(s.replace(text, f"{text} * 3")), gradcli, number, rows)
    assert changed["verdict"] == "known"


def test_the_document_of_known_differences_has_rows_with_reasons() -> None:
    rows = verdicts.known(compare.KNOWN)
    assert rows and all(row.reason for row in rows)


def test_calls_depend_on_their_number_and_the_seed_alone() -> None:
    subject = SUBJECTS["torch.add"]
    assert calls.make(subject, 7, 1) == calls.make(subject, 7, 1)
    assert len({calls.make(subject, n, 1).text + str(calls.make(subject, n, 1).setup) for n in range(30)}) > 20


@pytest.mark.slow
def test_every_function_has_calls_that_parse() -> None:
    for subject in SUBJECTS.values():
        for number in range(3):
            call = calls.make(subject, number, 0)
            compile(probes.script(call), subject.name, "exec")
            assert subject.name.rpartition(".")[2] in call.text


# --- out= ---


def with_out(name: str, what: Callable[[calls.Call], bool]) -> int:
    """The number of the first call with `out=` of the function which is as `what` says."""
    numbers = (n for n in range(2000) if calls.passes_out(SUBJECTS[name], n, 0))
    return next(n for n in numbers if what(calls.make(SUBJECTS[name], n, 0)))


def written_plainly(call: calls.Call) -> bool:
    """Whether it is `torch.sin(a, out=o)` of a usual `o`, and observed for its values."""
    return call.text == "torch.sin(a, out=o)" and call.mode == "value" and call.setup[-1].endswith("dtype=torch.float32)")


def test_some_calls_of_functions_that_take_out_pass_it() -> None:
    for name in ("torch.sin", "torch.sort", "torch.linalg.vector_norm"):
        made = [calls.make(SUBJECTS[name], n, 3) for n in range(100)]
        share = sum("out=" in call.text for call in made) / 100
        assert 0.2 < share < 0.45
        assert all(call.outs for n, call in enumerate(made) if calls.passes_out(SUBJECTS[name], n, 3))
    for name in ("Tensor.sin", "Tensor.sin_", "torch.sin_", "torch.relu"):
        assert not any(calls.passes_out(SUBJECTS[name], n, 3) for n in range(100))


def test_calls_with_out_depend_on_their_number_and_the_seed_alone() -> None:
    numbers = [n for n in range(60) if calls.passes_out(SUBJECTS["torch.sort"], n, 1)]
    first = [calls.make(SUBJECTS["torch.sort"], n, 1) for n in numbers]
    assert first[::-1] == [calls.make(SUBJECTS["torch.sort"], n, 1) for n in reversed(numbers)]


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("fitting", [r"o = torch.full\(\(2, 3\), 7, dtype=torch.float32\)"]),
        ("empty", [r"o = torch.empty\(0, dtype=torch.float32\)"]),
        ("transposed", [r"o = torch.full\(\(3, 2\), 7, dtype=torch.float32\).permute\(1, 0\)"]),
        ("strided", [r"o = torch.full\(\(2, 6\), 7, dtype=torch.float32\)\[..., ::2\]"]),
        ("view", [r"w = torch.full\(\(8,\), .*", r"o = w\[1:7\].view\(\(2, 3\)\)"]),
        ("expanded", [r"o = torch.full\(\(1, 3\), .*\).expand\(\(2, 3\)\)"]),
        ("leaf", [r"o = torch.full\(.*\).requires_grad_\(\)"]),
        ("node", [r"w = torch.full\(.*\).requires_grad_\(\)", r"o = w \* 1"]),
        ("dual", [r"o = forward_ad.make_dual\(torch.full\(.*\), torch.full\(.*\)\)"]),
        ("input", [r"o = a"]),
        ("part of an input", [r"o = a.+"]),
    ],
)
def test_each_kind_of_out_has_its_lines(kind: str, lines: list[str]) -> None:
    assert kind in outs.KINDS
    made = outs._target(kind, "o", (2, 3), "float32", ["a"], random.Random(0))
    assert len(made) == len(lines) and all(re.fullmatch(p, line) for p, line in zip(lines, made, strict=True)), made


def test_several_results_have_a_tensor_each() -> None:
    number = with_out("torch.sort", lambda call: call.text == "torch.sort(a, out=(o0, o1))")
    call = calls.make(SUBJECTS["torch.sort"], number, 0)
    assert call.outs[-2:] == ("o0", "o1") and "dtype=torch.int64" in call.setup[-1]


@pytest.mark.parametrize(
    ("planted", "fact", "kind"),
    [
        ("torch.sin(a, out=o).clone()", "identity", "wrong value"),
        ("torch.sin(a)", "written", "wrong value"),
        ("torch.sin(a, out=o).t_()", "written layout", "strides"),
        ("torch.sin(a, out=o).add_(0.)", "written", "wrong value"),  # the version
        ("torch.sin(a, out=o.double())", "dtype", "dtype"),
        ("torch.sin(a, out=o)[0]", "shape", "shape"),
        ("torch.sin(a, out=torch.empty(0, dtype=torch.int64))", "value", "wrong error"),
        ("torch.sin(a, out=torch.zeros(17))", "warnings", "warning"),
    ],
)
def test_a_planted_mistake_of_out_is_found(planted: str, fact: str, kind: str, gradcli: Any) -> None:
    number = with_out("torch.sin", lambda call: written_plainly(call) and "(3, 2)" in call.setup[-1])
    row = found("torch.sin", lambda script: gradcli(script.replace("torch.sin(a, out=o)", planted)), gradcli, number)
    assert (fact, kind) in kinds(row), row


def test_an_out_that_should_be_refused_is_found(gradcli: Any) -> None:
    number = with_out("torch.sin", lambda call: call.text == "torch.sin(a, out=o)" and call.setup[-1].endswith(".requires_grad_()"))
    row = found("torch.sin", lambda script: gradcli(script.replace("out=o)", "out=o.detach())")), gradcli, number)
    assert row["verdict"] == "no error"


def test_a_tangent_of_out_that_is_missed_is_found(gradcli: Any) -> None:
    number = with_out("torch.erf", lambda call: call.text == "torch.erf(a, out=o)" and "make_dual" in call.setup[-1])
    row = found("torch.erf", lambda script: gradcli(script.replace("out=o)", "out=torch.empty(0))")), gradcli, number)
    assert row["verdict"] != "equal"


def test_a_differing_call_with_out_becomes_a_case(tmp_path: Path, gradcli: Any) -> None:
    number = with_out("torch.sin", written_plainly)
    row = found("torch.sin", lambda s: gradcli(s.replace("out=o)", "out=o).mul_(1.)")), gradcli, number)
    compare.write_cases(tmp_path / "book.txt", [row], 0)
    assert "o._version" in casebook.read(tmp_path / "book.txt").cases[0].script


def test_differing_calls_become_cases(tmp_path: Path, gradcli: Any) -> None:
    number, text = PLAIN, "torch.sin(a)"
    row = found("torch.sin", lambda s: gradcli(s.replace(text, f"{text} * 3")), gradcli, number)
    book = tmp_path / "book.txt"
    compare.write_cases(book, [row], 0)
    compare.write_cases(book, [row], 0)
    (case,) = casebook.read(book).cases
    assert f"print({text})" in case.script


def test_a_child_that_dies_is_started_again() -> None:
    with Child("gradcli", probes.PRELUDE) as child:
        assert child.run("print(1)\n")["out"] == "1\n"
        assert child._process is not None
        child._process.kill()
        assert child.run("print(1)\n")["error"] == "Crash: the process died"
        assert child.run("print(2)\n")["out"] == "2\n"


def test_functions_are_chosen_by_name_and_module() -> None:
    assert {s.name for s in compare.chosen(["F.gelu", "Tensor.sin"], [])} == {"torch.nn.functional.gelu", "Tensor.sin"}
    assert {s.function.name for s in compare.chosen([], ["linalg.decompositions.qr"])} >= {"qr"}


def test_a_row_of_internal_assertions_is_about_no_other_error() -> None:
    row = verdicts.Known("*", "no error of an internal assertion", "reason")
    assertion = verdicts.Difference("value", "no error", "RuntimeError: x INTERNAL ASSERT FAILED at y", "1")
    assert row.covers("torch.cumsum", assertion, "")
    assert not row.covers("torch.cumsum", verdicts.Difference("value", "no error", "RuntimeError: no", "1"), "")
    assert not row.covers("torch.cumsum", verdicts.Difference("value", "wrong value", assertion.theirs, "1"), "")


@pytest.mark.parametrize(
    ("theirs", "ours", "noise"),
    [
        ("nan, 1.", "2.5, 1.", True),  # PyTorch lost the number
        ("nan, 1.", "inf, 1.", True),
        ("2.5, 1.", "nan, 1.", False),
        ("inf, 1.", "2., nan", False),
        ("inf, 1.01", "2., 1.5", False),  # finite beside it, and farther off than PyTorch's
        ("inf, 1.01", "2., 1.02", True),
        ("2., 1.", "2., 1.0001", True),  # known to one unit of what is printed
        ("2., 1.", "2., 1.0002", False),
    ],
)
def test_a_number_lost_by_gradcli_alone_is_no_noise(theirs: str, ours: str, noise: bool) -> None:
    difference = verdicts.Difference("value", "wrong value", f"tensor([{theirs}])", f"tensor([{ours}])")
    assert verdicts.is_noise(difference, "tensor([2., 1.])", True) is noise


@pytest.mark.parametrize(
    ("what", "theirs", "ours", "inputs", "covered"),
    [
        ("wrong value with tiny numbers", "2.", "3.", "a = torch.tensor([1e-30])", True),
        ("wrong value with tiny numbers", "2.", "3.", "a = torch.tensor([1e-08])", False),
        ("wrong value of repeated rows", "2.", "3.", "a = torch.tensor([[1.0, 2.0]]).expand(2, 2)", True),
        ("wrong value of repeated rows", "2.", "3.", "a = torch.tensor([[1.0, 2.0]]).expand(1, 2)", False),
        ("wrong value of shared memory", "2.", "3.", "a = torch.tensor([1.0]); z = a.detach(); z.add_(a)", True),
        ("wrong value of shared memory", "2.", "3.", "a = torch.tensor([1.0]); z = a.detach(); z.add_(b)", False),
        ("wrong value of shared memory", "2.", "3.", "a = torch.tensor([1.0]); z = a.clone(); z.add_(a)", False),
        ("wrong value of singular matrices", "2.", "3.", "a = torch.tensor([[1.0, 2.0], [0.5, 1.0]]); torch.qr(a)", True),
        ("wrong value of singular matrices", "2.", "3.", "a = torch.tensor([[1.0, 2.0], [0.5, 1.1]]); torch.qr(a)", False),
        ("wrong value of singular matrices", "2.", "3.", "a = torch.tensor([[1.0, 2.0]]).expand(2, 2)", True),
        ("wrong value of singular matrices", "2.", "3.", "a = torch.tensor([[[2.0], [0.0]]]); b = torch.tensor([float('inf')])", False),
        ("wrong value of dependent columns", "2.", "3.", "a = torch.tensor([[2.0, 1.0, 0.0], [2.0, 1.0, 1.0]])", True),
        ("wrong value of dependent columns", "2.", "3.", "a = torch.tensor([[2.0, 2.0], [1.0, 1.0], [0.0, 1.0]]).transpose(0, -1)", True),
        ("wrong value of dependent columns", "2.", "3.", "a = torch.tensor([[2.0, 1.0, 0.0], [2.0, 2.0, 1.0]])", False),
        ("wrong value in single precision", "2.", "3.", "a = torch.tensor([1.0])", True),
        ("wrong value in single precision", "2.", "3.", "a = torch.tensor([1.0], dtype=torch.float64)", False),
        ("wrong value in single precision", "2.", "3.", "a = torch.tensor([1.0], dtype=torch.bfloat16)", False),
        ("wrong value but for signs", "-2.5-1.j, 1e-05", "2.5+1.j, 1e-05", "", True),
        ("wrong value but for signs", "-2.5-1.j, 1e-05", "2.5+1.j, 1e+05", "", False),
        ("wrong value but for nan and infinity", "nan, -inf, 1.", "inf, nan, 1.", "", True),
        ("wrong value but for nan and infinity", "2., -inf", "nan, nan", "", False),
    ],
)
def test_a_known_difference_is_about_its_inputs(what: str, theirs: str, ours: str, inputs: str, covered: bool) -> None:
    difference = verdicts.Difference("value", "wrong value", f"tensor([{theirs}])", f"tensor([{ours}])")
    assert verdicts.Known("`*qr`", what, "a reason").covers("torch.qr", difference, inputs) is covered
