"""`gradcli ops`."""

from __future__ import annotations

import csv
import io
import json

import pytest

SOFTMAX = """\
  exp(input) divided by its sum along dim.
  family    softmax
  also      Tensor.softmax
"""


def test_a_name_is_told_in_full(cli) -> None:
    answer = cli("ops", "torch.softmax")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("torch.softmax(input, dim") and SOFTMAX in answer.out
    assert "  grad_fn   SoftmaxBackward0\n    d/d input  out * (grad - (grad * out).sum(dim, True))\n" in answer.out
    assert "  >>> torch.softmax(x, 1)\n  tensor([[0.1780, 0.0241, 0.7979],\n" in answer.out


def test_notes_forms_and_several_grad_fns(cli) -> None:
    out = cli("ops", "pow").out
    assert "  forms     pow_ writes in place, takes out=\n" in out
    assert out.count("  grad_fn   PowBackward") == 3
    assert "(x**0 has derivative 0 everywhere, at 0 too)" in out


@pytest.mark.parametrize("name", ["optim.Adam", "nn.Linear", "autograd.grad", "nn.init.ones_", "no_grad", "pi"])
def test_what_is_no_function_of_tensors(cli, name: str) -> None:
    answer = cli("ops", name)
    assert answer.code == 0 and answer.out.startswith(f"torch.{name}") and "  >>> " in answer.out


def test_a_pattern_gives_a_table_by_family(cli) -> None:
    answer = cli("ops", "log*")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "exponentials and logarithms"
    assert lines[3].startswith("  log(input") and lines[3].split()[-4:] == ["LogBackward0", "grad", "/", "input"]
    assert "softmax" in lines and ">>>" not in answer.out
    assert lines[-1].endswith("gradcli ops NAME tells all of one, with an example")


def test_everything(cli) -> None:
    answer = cli("ops")
    assert answer.code == 0
    for family in ("arithmetic", "activations", "losses", "optimisers", "modules", "autograd", "dtypes"):
        assert f"\n{family}\n" in "\n" + answer.out
    assert max(map(len, answer.out.splitlines())) <= 170
    plain = cli("ops", "--format", "plain").out.splitlines()
    assert "torch.exp" in plain and len(plain) == len(set(plain)) > 500


def test_json(cli) -> None:
    content = json.loads(cli("ops", "exp", "--json").out)
    (entry,) = [one for one in content["operations"] if one["name"] == "torch.exp"]
    assert entry["grad_fn"] == ["ExpBackward0"] and entry["method"] and entry["inplace"] and entry["out"]
    assert entry["derivatives"] == [{"grad_fn": "ExpBackward0", "argument": "input", "formula": "grad * out", "note": ""}]
    assert entry["example"][0]["input"].startswith("x = tensor(")


def test_csv(cli) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("ops", "mul", "--format", "csv").out)))
    assert [(row["grad_fn"], row["argument"], row["formula"]) for row in rows] == [
        ("MulBackward0", "input", "grad * other"),
        ("MulBackward0", "other", "grad * input"),
    ]


def test_several_names_and_a_file(cli, tmp_path) -> None:
    assert cli("ops", "exp", "log").out.count("  family ") == 2
    target = tmp_path / "ops.json"
    assert cli("ops", "exp", "-o", str(target)).out == ""
    assert json.loads(target.read_text())["ok"]


def test_an_unknown_name(cli) -> None:
    answer = cli("ops", "softmx")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "NameError: there is nothing called 'softmx'\n  did you mean softmax, Softmax, Softmax2d, softmin, Softmin?\n"
    assert cli("ops", "zzz*").code == 1


@pytest.mark.parametrize("words", [["--format", "repr"], ["-f", "x.py"], ["exp", "-o", "x.svg"]])
def test_what_makes_no_sense(cli, words: list[str]) -> None:
    assert cli("ops", *words).code == 2


def test_control_characters_are_escaped(cli) -> None:
    answer = cli("ops", "\x1b[31mred")
    assert answer.code == 1 and "\x1b" not in answer.err


def test_colour(cli) -> None:
    assert "\x1b[" in cli("ops", "exp", "--color", "always").out
    assert "\x1b[" not in cli("ops", "exp", "--color", "never").out
