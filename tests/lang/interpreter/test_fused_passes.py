"""Forward and backward passes of large tensors in one go give what the ordinary way gives, to the last bit."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from gradcli.core.kernels import block_program, blocks
from gradcli.core.plans.fused_pass import FusedPass, _Phase
from gradcli.core.plans.symbols import NotTraceableError, Symbolic, Trace
from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.interpreter.plans import expressions
from gradcli.lang.syntax import parser
from gradcli.source import Source

#: so many elements are computed at once; from `DEFERRED` on operations wait
SIZE, DEFERRED = 20_000, 60_000

SETUP = """
import torch
import torch.nn.functional as F
torch.manual_seed({seed})
x = (torch.rand({shape}) * 3 - 1.5).requires_grad_()
w = torch.rand({shape}, requires_grad=True)
c = torch.rand({shape}) + 0.5
s = torch.tensor(1.5, requires_grad=True)
b = torch.tensor([0.5], requires_grad=True)
k = 2

def show(name, t):
    if t is None:
        print(name, None)
    else:
        print(name, t.shape, t.stride(), t.dtype, t._version, t.grad_fn, t.reshape(-1)[::997].tolist(), t.double().sum().item())
"""

ATOMS = ["x", "w", "c", "s", "b", "x", "w", "(2)", "(0.5)", "k", "(-3)", "x"]
UNARY = [
    *("{}.exp()", "{}.sigmoid()", "torch.tanh({})", "F.relu({})", "-({})", "({}) ** 2", "({}) ** 3", "{}.sin()", "{}.cos()", "{}.abs()"),
    *("torch.log({}.abs() + 1)", "({} + 4).sqrt()", "F.softplus({})", "F.silu({})", "F.leaky_relu({}, 0.1)", "{}.clamp(-1, 1)"),
    *("{}.square()", "1 / ({} * {} + 1)", "{}.atan()", "F.mish({})", "F.logsigmoid({})", "{}.sinh()"),
]
PAIRS = ["({} + {})", "({} - {})", "({} * {})", "({} / ({} + 4.5))", "({} + {} * {})"]
LOSSES = [
    *("({}).mean()", "({}).sum()", "({}).sum() * 0.5", "-({}).mean()", "F.mse_loss({}, c)", "({} * {}).mean().sqrt()"),
    *("({}).pow(2).mean()", "F.l1_loss({}, w)", "({}).sum() / ({}).square().sum()", "torch.log(({}).exp().sum())"),
    "({}).sum() * ({}).mean()",
]
STEPS = [
    "x.grad = None",
    "w.grad.zero_()",
    "x.data = x.data * 0.9",
    "with torch.no_grad():\n        x -= 0.1 * x.grad",
    "h = x.register_hook(lambda g: g * 2)",
    "k = k + 1",
    "x = x.detach().double().requires_grad_()",
    "w = w.detach()[: len(w) // 2].clone().requires_grad_()",
    "s = torch.tensor([2.0], requires_grad=True)",
    "print(y.grad_fn, y.grad_fn.next_functions)",
    "x = (x.detach() * 1.5).requires_grad_()",
]


def expression(random: random.Random, depth: int) -> str:
    if not depth:
        return random.choice(ATOMS)
    form = random.choice(UNARY + PAIRS * 2)
    parts = [expression(random, depth - 1 if i == 0 else random.randrange(depth)) for i in range(form.count("{}"))]
    return f"({form.format(*parts)})"


def program(seed: int, size: int) -> str:
    random_ = random.Random(seed)
    loss = random_.choice(LOSSES)
    loss = loss.format(*[expression(random_, random_.choice([1, 2, 3])) for _ in range(loss.count("{}"))])
    kind = random_.randrange(3)
    if kind == 0:
        body = f"({loss}).backward()"
    elif kind == 1:
        body = f"y = {loss}\ny.backward()\nshow('y', y)"
    else:
        body = f"t = {expression(random_, 2)}\nu = t * x\nz = {loss} + u.mean()\nz.backward()\nshow('u', u)\nshow('z', z)"
    odd = {random_.randrange(3, 7): random_.choice(STEPS) for _ in range(random_.choice([0, 1, 2]))}
    shape = random_.choice([f"{size}", f"{size // 10}, 10", f"{size}, 1"])
    lines = ["for i in range(8):", "    try:", *[f"        {line}" for line in body.split("\n")]]
    lines += ["    except Exception as error:", "        print(error)"]
    for at, step in odd.items():
        lines += [f"    if i == {at}:", *[f"        {line}" for line in ("try:\n    " + step).split("\n")]]
        lines += ["        except Exception as error:", "            print(error)"]
    lines += [f"    show('{name}', {name}.grad)" for name in "xwsb"]
    return SETUP.format(seed=seed, shape=shape) + "\n".join(lines) + "\n"


def output(text: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(compile_context, "plans", mode)
    written: list[str] = []
    interpreter = Interpreter(write=written.append, warn=lambda category, message, span: written.append(f"{category} {message}\n"))
    interpreter.run(parser.parse_file(Source("<program>", text)))
    return "".join(written)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each pass that was begun held."""
    found: list[bool] = []
    ordinary = FusedPass.run

    def run(self: FusedPass, *args: object) -> object:
        made = ordinary(self, *args)  # type: ignore[arg-type]
        found.append(made is not None)
        return made

    monkeypatch.setattr(FusedPass, "run", run)
    yield found
    blocks.settle()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "threshold", DEFERRED)
    monkeypatch.setattr(blocks, "BLOCK", 1 << 13)
    monkeypatch.setattr(block_program, "SHARE", 10_000)


@pytest.mark.parametrize("size", [SIZE, DEFERRED])
@pytest.mark.parametrize("group", range(4))
def test_random_programs(group: int, size: int, passes: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(group * 8, group * 8 + 8):
        text = program(seed, size)
        ordinary = output(text, "off", monkeypatch)
        for mode in ("second", "first"):
            assert output(text, mode, monkeypatch) == ordinary, f"seed {seed}, plans {mode}:\n{text}"
    assert sum(passes) > 20


@pytest.mark.parametrize("size", [SIZE, DEFERRED])
@pytest.mark.parametrize(
    "body",
    [
        "p = x * 1\nq = x * 1\nr = (p + q).mean()\nr.backward()\np.data.add_(1)\nshow('q', q)\nshow('x', x)",
        "p = x.sum()\nq = x.sum()\nr = p * q\nr.backward()\np.data.add_(1)\nshow('q', q)",
        "p = w * c\nr = (p * x).sum()\nr.backward()\np.data.add_(1)\nshow('x', x.grad)",
        "(x * c + w * c).sum().backward()\nx.grad.add_(1)\nshow('w', w.grad)\nshow('c', c)",
        "((x - s) ** 2).sum().backward()\nx.grad.add_(1)\nshow('s', s.grad)",
    ],
)
def test_results_share_no_memory(body: str, size: int, passes: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    text = SETUP.format(seed=0, shape=size) + "for i in range(5):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    assert output(text, "second", monkeypatch) == output(text, "off", monkeypatch)
    assert passes


@pytest.mark.parametrize("size", [100, SIZE, DEFERRED])
def test_two_names_of_one_tensor(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "    y = (x * u + u.sin() * x).sum()\n    y.backward()\n    show('x', x.grad)\n    u = [w, w, x, x, w][i]\n"
    text = SETUP.format(seed=0, shape=size) + "u = w\nfor i in range(5):\n" + body
    assert output(text, "second", monkeypatch) == output(text, "off", monkeypatch)


@pytest.mark.parametrize("size", [100, SIZE, DEFERRED])
def test_two_leaves_with_one_gradient(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "    ((x * w).tanh() - c * w).square().mean().backward()\n    show('x', x.grad)\n"
    text = SETUP.format(seed=0, shape=size) + "x.grad = w.grad = torch.ones_like(x)\nfor i in range(5):\n" + body
    assert output(text, "second", monkeypatch) == output(text, "off", monkeypatch)


@pytest.mark.parametrize("size", [SIZE, DEFERRED])
def test_signs_of_nans(size: int, passes: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    text = SETUP.format(seed=0, shape=size) + (
        "x.data[:4] = torch.tensor([float('nan'), float('inf'), -2.0, 2.0])\n"
        "for i in range(4):\n    x.grad = None\n    (x.asin() + x.acos()).sum().backward()\n    print(torch.signbit(x.grad[:4]))\n"
    )
    assert output(text, "second", monkeypatch) == output(text, "off", monkeypatch)
    assert passes


def test_no_pass_is_begun_for_leaves_with_hooks(passes: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    monkeypatch.setattr(_Phase, "run", lambda phase, *_: begun.append(phase))
    text = SETUP.format(seed=0, shape=SIZE) + (
        "h = x.register_hook(lambda g: g * 2)\nfor i in range(4):\n    (x.sin() * w).sum().backward()\n    show('x', x.grad)\n"
    )
    assert output(text, "second", monkeypatch) == output(text, "off", monkeypatch)
    assert passes and not any(passes) and not begun


def test_what_both_passes_need_is_computed_once() -> None:
    trace = Trace((SIZE,))
    x, s = trace.given(0, np.empty(SIZE, np.float32)), trace.given(1, np.empty((), np.float32))
    assert (x + 2) * s is (2 + x) * s
    assert x * s is not s * x, "which may be another nan"
    assert (x - 2) is not (2 - x)
    assert x * 1 is x
    assert x * np.float64(1) is not x, "of another dtype"
    assert x + 0 is not x, "-0 + 0 is 0"
    ones = Symbolic.broadcast_to(np.float32(1), (SIZE,))
    assert x * ones is x
    assert x * Symbolic.broadcast_to(s, (SIZE,)) is x * s
    assert np.where(x > 0, x, 0) is np.where(x > 0, x, 0)
    assert np.where(x > 0.0, x, 0) is not np.where(x > -0.0, x, 0)


@pytest.mark.parametrize("ask", [bool, float, np.asarray, len, lambda x: x[0], lambda x: x.T, np.cumsum, lambda x: x.reshape(2, -1)])
def test_what_asks_for_elements_is_noticed(ask: Callable[[object], object]) -> None:
    one = Trace((SIZE,)).given(0, np.empty(1, np.float32))
    if ask is len:
        assert len(one) == 1
        return
    with pytest.raises((NotTraceableError, TypeError, AttributeError)):
        ask(one)


@pytest.mark.parametrize("expression", ["(x * w).mean()", "F.gelu(x).mean()", "(x ** 2 + w.norm()).mean()"])
def test_what_cannot_be_traced_is_watched_once(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[object] = []
    watch = expressions.watch
    monkeypatch.setattr(expressions, "watch", lambda evaluate: watched.append(evaluate) or watch(evaluate))
    output(SETUP.format(seed=0, shape=SIZE) + f"for i in range(6):\n    {expression}.backward()\n", "second", monkeypatch)
    assert len(watched) == 1
