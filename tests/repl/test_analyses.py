"""The commands of the prompt that analyse an expression: they answer as the shell's commands do, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repl.driving import Typist

SETUP = ("x = tensor([1., 2.], requires_grad=True)", "d = tensor([3., 4.])", "y = (x*d).sum()")


@pytest.fixture
def ready(typist: Typist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typist:
    monkeypatch.chdir(tmp_path)
    typist.enter(*SETUP)
    return typist


@pytest.mark.parametrize(
    ("command", "excerpt"),
    [
        (":jacobian x**2", "[[2., 0.],"),
        (":jac y", "[3., 4.]"),
        (":hessian (x**3).sum()", "[ 0., 12.]"),
        (":check (x*d).exp().sum()", "ok"),
        (":check y", "y is computed"),
        (":minimize ((x-d)**2).sum()", "[3.0000, 4.0000]"),
        (":min ((x-d)**2).sum()", "[3.0000, 4.0000]"),
        (":minimize x**2", ":minimize (x**2).sum()"),
        (":plot sin(t)*t t=-3..3 --grad", "df/dt"),
        (":plot a**2 - b**2 a=-1..1 b=-1..1", "a**2 - b**2"),
        (":plot sin(x)", ":plot needs one range or two"),
        (":jacobian d", "[[0., 0.],"),
        (":jacobian", ":jacobian needs EXPR"),
        (":report y", ":report needs a file"),
        (":graph y -o g.png", ":graph cannot write a file that ends in .png"),
    ],
)
def test_answers(ready: Typist, command: str, excerpt: str) -> None:
    assert excerpt in ready.enter(command)


def test_a_maximum_is_no_failure_to_converge(ready: Typist) -> None:
    shown = ready.enter("m = tensor(0., requires_grad=True)", ":minimize cos(m)")
    assert "this is a maximum" in shown
    assert "did not converge" not in shown


def test_a_value_goes_by_its_own_name(ready: Typist) -> None:
    rows = ready.enter("y", ":grads y").splitlines()
    assert any(row.split()[:1] == ["y"] for row in rows)
    assert not any(row.split()[:1] == ["_"] for row in rows)


def test_nothing_stays(ready: Typist) -> None:
    look = ("x, d, y", "x.grad", "torch.get_default_dtype()", ":vars")
    before = ready.enter(*look)
    for command in (":check x.exp().sum()", ":minimize (x*x).sum()", ":plot x*x x=0..1", ":jacobian x*x", ":hessian (x*x).sum()"):
        ready.enter(command)
    assert ready.enter(*look) == before


def test_without_variables(typist: Typist) -> None:
    assert "there is nothing to differentiate by" in typist.enter(":jacobian ones(2)")


@pytest.mark.parametrize(
    ("command", "name", "start"),
    [
        (":graph y -o g.svg", "g.svg", "<svg"),
        (":graph y -o g.dot", "g.dot", "digraph"),
        (":graph y -o g.txt", "g.txt", "SumBackward0"),
        (":graph y -o my graph.mmd", "my graph.mmd", "flowchart"),
        (":report y -o page.html", "page.html", "<!DOCTYPE html>"),
    ],
)
def test_files(ready: Typist, tmp_path: Path, command: str, name: str, start: str) -> None:
    assert f"{name}: " in ready.enter(command)
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


@pytest.mark.parametrize("command", [":graph x -o g.svg", ":report x*2 -o page.html"])
def test_untrusted_sessions_write_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    typist = Typist(tmp_path / "state", untrusted=True)
    typist.enter("x = tensor([1.], requires_grad=True)")
    assert "--untrusted refuses" in typist.enter(command)
    assert not list(tmp_path.glob("*.*"))
