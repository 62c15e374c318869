"""What inputs do to a session: all or nothing, undo, and the script that `:save` writes."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from gradcli.cli.app import run
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.values import value_classes
from tests.repl.conftest import Typist

#: inputs that write into what exists: after an error nothing of it may be left
CHANGES = [
    "x = 5",
    "del x",
    "x.add_(1)",
    "x[0] = 9",
    "x.data.fill_(3)",
    "xs.append(4)",
    "xs[0] = xs",
    "d['b'] = 2",
    "d.clear()",
    "s.add(3)",
    "y.backward()",
    "w.grad.zero_()",
    "w.grad = None",
    "w.requires_grad_(False)",
    "torch.set_grad_enabled(False)",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_printoptions(precision=8)",
    "torch.manual_seed(3)",
    "randn(2)",
    "count()",
    "opt.step()",
    "opt.param_groups[0]['lr'] = 5.",
    "g.manual_seed(1)",
]

SETUP = """\
x = torch.zeros(3)
xs = [1, [2]]
d = {'a': 1}
s = {1, 2}
w = torch.tensor([1., 2.], requires_grad=True)
(w * w).sum().backward()
y = (w.exp() * 3).sum()
g = torch.Generator()
opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
opt.step()
def counter():
    n = 0
    def count():
        nonlocal n
        n += 1
        return n
    return count
count = counter()
"""

#: shows all of it, and changes nothing of it but the generators, which it copies
STATE = """\
(x, xs, d, s, w, w.grad, w.requires_grad, y, y.grad_fn.next_functions[0][0]._saved_self,
 torch.is_grad_enabled(), torch.get_default_dtype(), torch.tensor(1 / 3), opt.state_dict(), opt.param_groups[0]['lr'],
 torch.get_rng_state().sum(), g.get_state().sum(), w._version)"""


@pytest.fixture
def ready(typist: Typist, tmp_path: Path) -> Typist:
    typist.prompt.names.load(SETUP, "setup")
    return typist


def state(typist: Typist) -> str:
    shown = typist.enter(STATE)
    typist.prompt.names.undo()
    assert "Error" not in shown, shown
    return shown


@pytest.mark.parametrize("change", CHANGES)
def test_an_error_leaves_everything_as_it_was(ready: Typist, change: str) -> None:
    before = state(ready)
    assert "undefined" in ready.enter(f"{change}; undefined")
    assert state(ready) == before
    assert ready.enter("count()") == "1\n"


@pytest.mark.parametrize("change", CHANGES)
def test_undo_brings_everything_back(ready: Typist, change: str) -> None:
    before = state(ready)
    assert "Error" not in ready.enter(change)
    assert ready.enter(":undo").startswith(f"undone: {change}")
    assert state(ready) == before
    assert ready.enter("count()") == "1\n"


def test_identity_survives_undo(typist: Typist) -> None:
    typist.enter("a = [1]", "b = a", "a.append(2)", ":undo", "b.append(3)")
    assert typist.enter("a, a is b") == "([1, 3], True)\n"
    typist.enter("t = zeros(2)", "v = t[:1]", "t.add_(1)", ":undo", "v.add_(5)")
    assert typist.enter("t") == "tensor([5., 0.])\n"


def test_undo_goes_far_back_and_then_stops(typist: Typist) -> None:
    typist.enter(*(f"x = {i}" for i in range(20)))
    for i in reversed(range(19)):
        typist.enter(":undo")
        assert typist.enter("x") == f"{i}\n"
        typist.prompt.names.undo()
    typist.enter(":undo")
    assert "nothing to undo" in typist.enter(":undo")


def test_large_tensors_are_not_copied(typist: Typist) -> None:
    typist.enter("big = zeros(20000000)", "small = zeros(1)")
    assert "no room for copies" in "".join([typist.enter("small.add_(1)"), typist.enter(":undo")])
    assert typist.enter("small") == "tensor([0.])\n"


def test_an_interrupt_leaves_everything_as_it_was(ready: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(ready)

    def interrupted(_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(value_classes, "CHECK_VALUES", True)
    monkeypatch.setattr(value_classes, "is_value", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ready.prompt.handle("x.add_(1)")
    monkeypatch.undo()
    assert state(ready) == before


def test_a_failed_allocation_leaves_everything_as_it_was(ready: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tensor that an input makes is one that memory may be short for."""
    make = Tensor.__init__
    before = state(ready)
    failing_at, made = 0, 0

    def fail(self: Tensor, *args: Any) -> None:
        nonlocal made
        made += 1
        if made == failing_at:
            raise MemoryError
        make(self, *args)

    text = "x.add_(1); opt.step(); v = (w * 3).exp(); v.sum().backward(); randn(20); xs.append(v.tolist())"
    while failing_at < 200:
        failing_at, made = failing_at + 1, 0
        with monkeypatch.context() as patched:
            patched.setattr(Tensor, "__init__", fail)
            shown = ready.enter(text)
        if "LimitError" not in shown:
            break
        assert "not enough memory" in shown
        assert ready.enter("1 + 1") == "2\n"
        ready.prompt.names.undo()
        assert state(ready) == before
    assert 5 < failing_at < 200


def test_limits_count_for_each_input(tmp_path: Path) -> None:
    typist = Typist(tmp_path, untrusted=True)
    loop = "for i in range(600000): pass\n"
    assert typist.enter(loop, loop, "1 + 1") == "2\n"
    assert "LimitError" in typist.enter("while True: pass\n")
    assert typist.enter("1 + 1") == "2\n"


@pytest.mark.parametrize("command", [":load x.py", ":save x.py", ":data x=@x.csv"])
def test_untrusted_sessions_use_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--untrusted refuses" in Typist(tmp_path, untrusted=True).enter(command)
    assert not (tmp_path / "x.py").exists()


# --- files ----------------------------------------------------------------------------------------


def test_data_from_a_file(typist: Typist, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,b\n1,2\n3,nan\n", encoding="utf-8")
    shown = typist.enter(f":data d=@{tmp_path}/d.csv:a", "d.sum()")
    assert shown.endswith("tensor(4., grad_fn=<SumBackward0>)\n")
    assert "cannot read" in typist.enter(f":data d=@{tmp_path}/none.csv")


def test_loading_has_pythons_names_and_all_or_nothing(typist: Typist, tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("import torch\nn = sum([1, 2])\nm = sum(torch.ones(2, 2))\n", encoding="utf-8")
    (tmp_path / "bad.py").write_text("n = 99\n1 / 0\n", encoding="utf-8")
    typist.enter(f":load {tmp_path}/good.py")
    assert typist.enter("n, m") == "(3, tensor([2., 2.]))\n"
    assert "ZeroDivisionError" in typist.enter(f":load {tmp_path}/bad.py")
    assert typist.enter("n") == "3\n"


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


# --- without a terminal ---------------------------------------------------------------------------


def test_one_file_at_most(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert run(["repl", "a", "b"]) == 2
    assert run(["repl", "-o", "x"]) == 2
    assert "one file at most" in capsys.readouterr().err


def test_values_in_blocks_are_shown_as_pythons_prompt_does(typist: Typist, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = typist.enter(
        "for i in range(2):\n    i\n    None\n    'a';\n    x = i", "with no_grad():\n    ones(2) * 2", "_", "def f():\n    5", "f()"
    )
    assert shown == "0\n1\ntensor([2., 2.])\ntensor([2., 2.])\n"
    path = tmp_path / "saved.py"
    typist.enter(f":save {path}")
    assert run(["run", str(path)]) == 0
    assert capsys.readouterr().out == shown


def test_what_blocks_show_counts_as_output(tmp_path: Path) -> None:
    typist = Typist(tmp_path, untrusted=True)
    shown = typist.enter("for i in range(10**6):\n    'text' * 10000")
    assert "output" in shown or "time" in shown
    assert len(shown) < 20 * 2**20
