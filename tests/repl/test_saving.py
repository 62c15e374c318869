"""The script that `:save` writes: it prints what the prompt showed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcli.cli.app import run
from tests.repl.driving import Typist


def test_saving_does_not_overwrite_what_was_loaded(typist: Typist, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("n = 1\n", encoding="utf-8")
    assert "it is an input" in typist.enter(f":load {path}", f":save {path}")
    assert path.read_text(encoding="utf-8") == "n = 1\n"


_ZEROED = "x = torch.ones(1, requires_grad=True)\nx.sum().backward()\nx.grad = None\nx = 1\n"


#: inputs, and the script that they become
SAVED = [
    (["mean(ones(2))"], "print(torch.mean(torch.ones(2)))\n"),
    (["sum(ones(2)), sum([1, 2])"], "print((torch.sum(torch.ones(2)), sum([1, 2])))\n"),
    (["x = ones(2); x"], "x = torch.ones(2); print(x)\n"),
    (["3;"], "3;\n"),
    (["'a'"], "print(repr('a'))\n"),
    (["None", "print(1)"], "None\nprint(1)\n"),
    (["1 + 2", "* 10"], "_ = 1 + 2; print(_)\n_ = _ * 10; print(_)\n"),
    (["1 / 0", "x = 1"], "x = 1\n"),
    (["x = 1", ":undo", "x = 2"], "x = 2\n"),
    (["mean = 3", "mean"], "mean = 3\nprint(mean)\n"),
    (["mean = mean(ones(2))"], "mean = torch.mean(torch.ones(2))\n"),
    (["std, var = 1, 2; std"], "std, var = 1, 2; print(std)\n"),
    (["for std in [1]:\n    print(std)\n"], "for std in [1]:\n    print(std)\n"),
    (["[std for std in [1]]"], "print([std for std in [1]])\n"),
    (["f = lambda mean: mean + exp(mean)"], "f = lambda mean: mean + torch.exp(mean)\n"),
    (["def f(v):\n    return sum(v)\n", "f(ones(2))"], "def f(v):\n    return torch.sum(v)\nprint(f(torch.ones(2)))\n"),
    (["with no_grad(): y = ones(1)\n"], "with torch.no_grad(): y = torch.ones(1)\n"),
    (["f'{exp(zeros(1)).item()}'"], "print(repr(f'{torch.exp(torch.zeros(1)).item()}'))\n"),
    (["F.relu(ones(1))"], "print(F.relu(torch.ones(1)))\n"),
    ([":seed 7", ":set precision 2"], "torch.manual_seed(7)\ntorch.set_printoptions(precision=2)\n"),
    ([":data d:=[[1, 2], [3, 4]]"], "d = torch.tensor([[1, 2], [3, 4]], dtype=torch.int64)\n"),
    (["x = ones(1, requires_grad=True)", "x.sum().backward()", ":zero", "x = 1"], _ZEROED),
    (["[min(v, v) for v in [ones(1)]]"], "print([torch.min(v, v) for v in [torch.ones(1)]])\n"),
    (["device('cpu')"], "print(repr(torch.device('cpu')))\n"),
    ([":time randn(3)", "randn(1).numel()"], "print(torch.randn(1).numel())\n"),
    (["x = 1", ":reset", "y = 2"], "y = 2\n"),
]


@pytest.mark.parametrize(("inputs", "expected"), SAVED, ids=lambda value: value[0] if isinstance(value, list) else "")
def test_what_is_saved(typist: Typist, inputs: list[str], expected: str) -> None:
    typist.enter(*inputs)
    script = typist.prompt.names.script()
    head, _, body = script.partition("\n\n")
    assert head.startswith("import torch\n") and head.endswith("torch.manual_seed(0)")
    assert body == expected


SESSION = [
    "x = tensor([1., 2., 3.], requires_grad=True)",
    "y = (x * 2).sin()",
    "y.sum()",
    "_.backward()",
    "x.grad",
    "randn(3); 1/0",
    "randn(3)",
    "* 2",
    "@ ones(3)",
    "max(x), max([1, 2]), 1, 'a'",
    "def either(v):\n    return sum(v)\n",
    "either([1, 2]), either(x)",
    "later = lambda v: abs(v)",
    "list(map(abs, [-1, 2]))",
    "optim.SGD([x], lr=0.1).step()",
    "x; x.shape",
    "1 + 1;",
    "* 3",
    "math.sqrt(4) + pi",
    "for i in range(2):\n    print(i, mean(x).item())\n",
    ":seed 3",
    "rand(2)",
    "{'a': ones(1), 'b': True}",
    "cat([x, x], 0)[1:]",
]


def test_the_saved_script_prints_what_the_prompt_showed(typist: Typist, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = typist.enter(*SESSION)
    path = tmp_path / "saved.py"
    typist.enter(f":save {path}")
    at = shown.index("ZeroDivisionError")
    shown = shown[:at] + shown[shown.index("tensor", shown.index("^^^")) :]
    assert run(["run", str(path)]) == 0
    printed = capsys.readouterr().out
    # the value of `randn(3)` before the error was shown and never kept
    assert [line for line in shown.splitlines() if line not in printed.splitlines()] == []
    assert [line for line in printed.splitlines() if line not in shown.splitlines()] == []
