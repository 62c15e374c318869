"""After any error everything is as before: names, modes, generator; also when an allocation fails at any point."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from gradcli import limits
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.state import state
from gradcli.errors import GradcliError
from gradcli.session import Session
from gradcli.session.interactive import Interactive

SETUP = "x = torch.tensor([1., 2.], requires_grad=True)\nkept = [1]\n"


def prompt() -> Interactive:
    made = Session(bounds=limits.default(), write=_nothing, warn=_nothing, read_stdin=bytes).interactive()
    made.enter(SETUP, "<setup>", _nothing)
    return made


def _nothing(*values: object) -> None:
    return None


def condition(one: Interactive) -> object:
    """Everything that an input could have changed."""
    with one.state:
        return _condition(one)


def _condition(one: Interactive) -> object:
    shown = [(v.name, v.value.repr(), v.requires_grad, v.grad_fn, v.grad and v.grad.repr()) for v in one.variables()]
    modes = (state.enabled, state.inference, state.anomaly, dtypes.get_default().name, state.watch, limits.evaluation.depth)
    hooks = (state.saving, state.saving_forbidden, state.dual)
    drawn = str(generator.default.get_state().tolist())
    return [entry for entry in shown if entry[0] != "_"], modes, printing.options.precision, hooks, drawn


FAILING = [
    "with torch.no_grad():\n    leak = 1\n    1/0\n",
    "with torch.inference_mode():\n    torch.ones(2) + torch.ones(3)\n",
    "torch.set_default_dtype(torch.float64)\nnope\n",
    "torch.set_grad_enabled(False)\nnope\n",
    "torch.manual_seed(5)\ntorch.rand(3)\nnope\n",
    "kept.append(2)\nkept[0] = 5\nnope\n",
    "(x * 2).sum().backward()\nnope\n",
    "x.data.fill_(7)\nnope\n",
    "leak = torch.ones(10**15)\n",
    "torch.set_printoptions(precision=1)\nnope\n",
    "sum = 3\nnope\n",
    "leak = 1; (1\n",
    "torch.autograd.set_detect_anomaly(True)\nnope\n",
]


@pytest.mark.parametrize("text", FAILING)
def test_an_error_leaves_no_trace(text: str) -> None:
    one = prompt()
    before = condition(one)
    with pytest.raises(GradcliError):
        one.enter(text, "<input>", _nothing)
    assert condition(one) == before
    answers: list[Any] = []
    one.enter("1+1", "<after>", answers.append)
    assert answers[0].value.data == 2


PROGRAM = """\
y = (x * 2).exp()
with torch.no_grad():
    z = torch.rand(3) + y.sum()
torch.manual_seed(3)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
    y = (x * x).exp().clone().mul_(x)
with torch.autograd.forward_ad.dual_level():
    d = torch.autograd.forward_ad.make_dual(torch.ones(3), torch.ones(3)).exp()
loss = (y @ y).log()
loss.backward()
kept.append(torch.cat([y.detach(), z]).tolist())
text = f"{y} {loss.item():.3f}"
"""


class Failing:
    """Lets the n-th call of anything fail as an allocation does."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event not in ("call", "c_call") or "/gradcli/core/" not in frame.f_code.co_filename:
            return
        self.left -= 1
        if self.left == 0:
            sys.setprofile(None)
            raise MemoryError


def warm() -> tuple[Interactive, object]:
    """A prompt that has loaded what the program needs, and its condition."""
    one = prompt()
    one.enter("w = x * 2; w.sum().exp()", "<warm>", _nothing)
    return one, condition(one)


@pytest.mark.slow
# where Python ignores the failure it says so
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(sys.gettrace() is not None, reason="under a debugger or coverage")
def test_every_failed_allocation_leaves_no_trace() -> None:
    one, before = warm()
    at = failed = 0
    while True:
        at += 1 + at // 25
        failing = Failing(at)
        sys.setprofile(failing)
        try:
            one.enter(PROGRAM, "<program>", _nothing)
        except (GradcliError, MemoryError):
            failed += 1
        else:
            if failing.left > 0:
                break
            one, before = warm()  # it failed at the end of a generator, where Python ignores errors
            continue
        finally:
            sys.setprofile(None)
        assert condition(one) == before, at
        answers: list[Any] = []
        one.enter("1+1;", "<after>", answers.append)
        one.enter("1+1", "<after>", answers.append)
        assert answers[-1].value.data == 2
    assert failed > 60
