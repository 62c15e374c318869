"""What messages suggest to type works when it is typed, and keeps the options that were given."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: words that fail -> the commands that their message suggests
SUGGESTED = {
    ("x**2", "x=1,2"): ["gradcli eval 'x**2' x=1,2"],
    ("x+1",): ["gradcli eval 'x+1' x=3"],
    ("2*width.sum() + torch.ones(2) + relu(y)", "y=1"): ["gradcli eval '2*width.sum() + torch.ones(2) + relu(y)' y=1 width=3"],
    ("-x*2", "x=3"): ["gradcli eval '-x*2' x=3"],
    ("softmax",): ["gradcli ops softmax"],
    ("foo",): ["gradcli --help"],
    ("help", "foo"): ["gradcli --help"],
    ("a.py", "--seed", "1"): ["gradcli run a.py --seed 1"],
    ("missing.py",): ["gradcli --help"],
    ("min", "(x-3)**2", "x=0", "--lr=0.1"): ["gradcli minimize '(x-3)**2' x=0 --lr=0.1"],
    ("diff", "x**2", "x=3"): ["gradcli grad 'x**2' x=3"],
    ("--format", "csv", "grad", "x**2", "x=3"): ["gradcli grad 'x**2' x=3 --format csv"],
    ("--no-color", "eval", "it's", "it's=1"): None,
    ("--verbose",): ["gradcli --help"],
    ("-c",): ["gradcli eval 'x**2' x=3"],
    ("eval",): ["gradcli eval 'x**2' x=3"],
    ("eval", "x*2", "x", "=2", "--dtype", "float64"): ["gradcli eval 'x*2' x=2 --dtype float64"],
    ("eval", "x*2", "x=", "2"): ["gradcli eval 'x*2' x=2"],
    ("eval", "x*y", "x", "=", "2", "y", ":=", "[1]"): ["gradcli eval 'x*y' x=2 y:='[1]'"],
    ("eval", "x", "+", "1", "x=3", "--seed", "3"): ["gradcli eval 'x + 1' x=3 --seed 3"],
    ("eval", "x", "-", "1", "x=3", "--seed", "3"): ["gradcli eval 'x - 1' x=3 --seed 3"],
    ("grad", "x**2", "x=1,2,3", "--all", "--dtype", "float64", "--seed=3"): [
        "gradcli grad 'x**2' x=1,2,3 --all --dtype float64 --seed=3 -v 1,1,1",
        "gradcli grad '(x**2).sum()' x=1,2,3 --all --dtype float64 --seed=3",
        "gradcli jacobian 'x**2' x=1,2,3 --dtype float64 --seed=3",
    ],
    ("grad", "-f", "expression.txt", "x=1,2", "-q"): [
        "gradcli grad -f expression.txt x=1,2 -q -v 1,1",
        "gradcli jacobian -f expression.txt x=1,2 -q",
    ],
    ("grad", "x*y", "x=ones(5)", "y=it['a']", "it:={'a': 2.}"): None,
    ("grad", "x**2", "x=1,2,3", "-v", "1,1", "--precision", "2"): ["gradcli grad 'x**2' x=1,2,3 -v 1,1,1 --precision 2"],
    ("grad", "x**2", "x=randn(2,3)", "-v", "1"): ["gradcli grad 'x**2' x='randn(2,3)' -v 'ones(2, 3)'"],
    ("grad", "x.sum()", "x=1,2", "--vector=1,1"): ["gradcli grad 'x.sum()' x=1,2 -v 1"],
    ("jacobian", "x**2"): None,
    ("hessian", "x**2", "x=1,2", "--with-grad"): ["gradcli hessian '(x**2).sum()' x=1,2 --with-grad"],
    ("explain", "x**2", "x=1,2", "-v", "1", "--full"): ["gradcli explain 'x**2' x=1,2 -v 1,1 --full"],
    ("explain", "x**2", "x=1,2", "--json"): None,
    ("graph", "x**2", "x=1,2", "--grads"): [
        "gradcli graph 'x**2' x=1,2 --grads -v 1,1",
        "gradcli graph '(x**2).sum()' x=1,2 --grads",
    ],
    ("graph", "lesson.py", "--of", "y", "--grads"): ["gradcli graph lesson.py --of y --grads -v 1,1"],
    ("report", "x**2", "x=1,2", "-o", "page.html", "-v", "1"): ["gradcli report 'x**2' x=1,2 -o page.html -v 1,1"],
    ("report", "x**2", "x=1"): ["gradcli report 'x**2' x=3 -o out.html"],
    ("plot", "x**2", "x=1"): ["gradcli plot 'x**2' x=-3..3"],
}
CASES = [(words, lines) for words, lines in SUGGESTED.items() if lines is not None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.py").write_text("print(1)\n")
    (tmp_path / "lesson.py").write_text("import torch\nx = torch.tensor([1., 2.], requires_grad=True)\ny = x * x\n")
    (tmp_path / "expression.txt").write_text("x * 2\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def suggestions(message: str) -> list[str]:
    """The commands in a message: from `gradcli` to a remark in brackets, a question mark, or words about it."""
    found = re.findall(r"gradcli .*", message)
    return [re.sub(r"(  +\(.*\)|\?| lists the commands)\Z", "", line).strip() for line in found]


@pytest.mark.parametrize(("words", "lines"), CASES)
def test_the_message_suggests(cli, folder: Path, words: tuple[str, ...], lines: list[str]) -> None:
    answer = cli(*words)
    assert answer.code in (1, 2)
    assert suggestions(answer.err) == lines


@pytest.mark.slow
def test_every_suggestion_works_when_it_is_pasted(folder: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = f'gradcli() {{ "{sys.executable}" -m gradcli "$@"; }}\n'
    for line in dict.fromkeys(line for _, lines in CASES for line in lines):
        done = subprocess.run(["bash", "-c", start + line], capture_output=True, text=True, env=environ, cwd=folder, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), line


@pytest.mark.parametrize("words", [words for words, lines in SUGGESTED.items() if lines is None])
def test_where_nothing_sure_can_be_said(cli, folder: Path, words: tuple[str, ...]) -> None:
    answer = cli(*words)
    assert answer.code != 0 and "InternalFault" not in answer.out + answer.err


@pytest.mark.parametrize(("text", "written"), [("2x\n", "2*x"), ("Sin(x)\n", "sin(x)"), ("sin(x\n", "sin(x)")])
def test_a_slip_in_a_file_is_told_and_no_command_is_shown(cli, tmp_path, text: str, written: str) -> None:
    (tmp_path / "e.txt").write_text(text, encoding="utf-8")
    err = cli("eval", "-f", f"{tmp_path}/e.txt", "x=3").err
    assert f" write {written}\n" in err
    assert "try" not in err


def test_a_name_without_a_value_on_standard_input(cli) -> None:
    assert "  try   gradcli eval 'x*2' x=1  (any value for x: x=...)\n" in cli(stdin=b"x*2\n").err


def test_the_beginning_of_names_is_found(cli) -> None:
    err = cli("ops", "soft").err
    assert "did you mean softmax, Softmax, softmin, Softmin, softplus?" in err
    assert "gradcli ops 'soft*' lists them all" in err
    assert cli("ops", "soft*").code == 0
