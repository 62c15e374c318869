"""Last values, signatures, help as a function, history and short names."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcli.cli.app import run
from gradcli.repl.commands import Leave
from tests.repl.driving import Typist


def test_last_values(typist: Typist) -> None:
    assert typist.enter("1", "2", "3", "_, __, ___") == "1\n2\n3\n(3, 2, 1)\n"
    assert "___" not in typist.enter(":vars")


def test_last_values_in_a_saved_script(typist: Typist, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = typist.enter("x = 5", "x", "x + 1", "_ * __", "__", "for i in range(2):\n    i\n", "__ + _")
    typist.enter(f":save {tmp_path / 'saved.py'}")
    assert run(["run", str(tmp_path / "saved.py")]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("mean(", "mean(input, *, dtype=None, out=None)"),
        ("z = torch.softmax(width, di", "softmax(input, dim, dtype=None, *, out=None)"),
        ("width.sum(", "sum(*, dtype=None)"),
        ("f(1, [2, (3)", "f(a, b)"),
        ("f(1, mean(width), ", "f(a, b)"),
        ("(1 + 2", ""),
        ("'mean('", ""),
        ("nothing(", ""),
        ("mean", ""),
    ],
)
def test_the_signature_of_the_open_call(typist: Typist, text: str, signature: str) -> None:
    typist.enter("width = ones(2)", "def f(a, b=1):\n    return a\n")
    assert typist.prompt.names.signature(text) == signature


def test_help_as_a_function(typist: Typist) -> None:
    assert typist.enter("help(mean)") == typist.enter("mean?") == typist.enter("help('mean')")
    assert typist.enter("def help(x):\n    return 7\n", "help(mean)") == "7\n"


def test_short_names(typist: Typist) -> None:
    for text in (":q", ":exit", "exit()"):
        with pytest.raises(Leave):
            typist.prompt.handle(text)
    assert typist.enter(":h") == typist.enter(":help")


def test_history(typist: Typist) -> None:
    typist.prompt.history = lambda: ["a = 1", "b = 2", "a + b"]
    assert typist.enter(":history") == "a = 1\nb = 2\na + b\n"
    assert typist.enter(":history a") == "a = 1\na + b\n"
    assert typist.enter(":history zzz") == "no such input\n"


@pytest.mark.parametrize(
    "look", ["x", "x.sum()", "mean(x) + 1", "F.relu(x)", "x.tolist()[0]", "torch.exp(x); x * 2", "len([x])", "x?", ":vars"]
)
def test_undo_passes_over_inputs_that_only_looked(typist: Typist, look: str) -> None:
    typist.enter("x = ones(2)", "x = x * 2", look, look)
    assert typist.enter(":undo", "x") == "undone: x = x * 2\ntensor([1., 1.])\n"


@pytest.mark.parametrize(
    "change",
    ["x.add_(1)", "randn(2)", "(y := 3)", "l.sort()", "l.append(3)", "f(x)", "exp(x, out=x)", "manual_seed(3)", "F.dropout(x)", "mean(x)"],
)
def test_undo_takes_back_what_may_have_changed_something(typist: Typist, change: str) -> None:
    typist.enter("x = ones(2)", "l = [2, 1]", "def f(a):\n    a += 1\n", "def mean(a):\n    a += 1\n", change)
    assert typist.enter(":undo").endswith(f"undone: {change}\n")
