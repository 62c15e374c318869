"""Two sessions in one process do not know of each other: interleaved in any order, each answers as it would alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import pytest

from gradcli import limits
from gradcli.core.random.generator import Generator
from gradcli.core.tensor.state import State
from gradcli.errors import GradcliError
from gradcli.lang.values.execution import Execution
from gradcli.results.values import Evaluation, TensorValue
from gradcli.session import Session
from gradcli.source import Source

STATE = (
    "print(torch.get_default_dtype(), torch.initial_seed(), torch.is_grad_enabled(), torch.is_inference_mode_enabled(), "
    "torch.is_anomaly_enabled(), torch.tensor([1.23456789, 2e6]))"
)
DRAW = "print(torch.rand(2), torch.randn(1), torch.randperm(5))"

#: statements that change what a session can change, and statements that show it; both programs run all of them
FIRST = [
    STATE,
    "x = torch.randn(3, requires_grad=True)",
    DRAW,
    "torch.set_printoptions(sci_mode=True, precision=3)",
    "y = (x * 2).sin()",
    "y.grad",
    "print(y, y.grad_fn, lambda: 0)",
    "torch.manual_seed(11)",
    "print(np.random.rand(2))",
    "np.random.seed(4)",
    "np.set_printoptions(precision=2)",
    "print(np.array([1 / 3]), np.random.randn(1))",
    STATE,
    "torch.set_grad_enabled(False)",
    "print((x * 3).requires_grad, torch.ones(1) / 3)",
    DRAW,
    "kept = [0] * 150",
    "for i in range(700): last = i",
    "torch.set_grad_enabled(True)",
    "y.sum().backward()",
    "print(x.grad)",
    "y.sum().backward()",
    "y.detach() * 2",
    "undefined + 1",
    "torch.autograd.set_detect_anomaly(True)",
    STATE,
    "z = torch.zeros(1, requires_grad=True)",
    "(z.sqrt() * 0).sum().backward()",
    "print(len(kept), last, 10 ** 60)",
]
SECOND = [
    STATE,
    "torch.set_default_dtype(torch.float64)",
    "w = torch.rand(2, 2, requires_grad=True)",
    "torch.set_printoptions(profile='short')",
    DRAW,
    "print(w, print, w.exp().grad_fn)",
    "v = w * 2",
    "v.grad",
    "v.grad",
    "torch.autograd.forward_ad.enter_dual_level()",
    "d = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.))",
    "print(torch.autograd.forward_ad.unpack_dual(d.exp()))",
    "torch.autograd.forward_ad.exit_dual_level()",
    STATE,
    "sum = 3",
    "print(sum, torch.get_rng_state().sum())",
    "torch.set_rng_state(torch.get_rng_state())",
    "(w @ w).sum().backward()",
    "print(w.grad, torch.ones(30))",
    "torch.set_default_dtype(torch.float32)",
    "torch.set_printoptions(profile='default')",
    DRAW,
    STATE,
    "print([0] * 150, 10 ** 60)",
]

TIGHT = {"list": 100, "steps": 500, "digits": 50}
#: what two sessions are made with: as different as can be
OPTIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"dtype": "float64", "seed": 3, "precision": 2}, {"seed": 8}),
    ({"bounds": limits.default().changed(**TIGHT)}, {"dtype": "float64", "precision": 8}),
    ({"seed": 3}, {"seed": 3, "bounds": limits.default().changed(**TIGHT)}),
    ({}, {}),
]

Say = Callable[[str], None]


def script(program: list[str], options: dict[str, Any], say: Say) -> Iterator[None]:
    """Run a program statement by statement; every step of the iterator is one statement."""
    session = made(options, say)
    for at, text in enumerate(program):
        yield
        attempt(say, lambda text=text, at=at: session.run(Source(f"<{at}>", text)))


def one_offs(program: list[str], options: dict[str, Any], say: Say) -> Iterator[None]:
    """The same with an expression between the statements, whose value is shown."""
    session = made(options, say)
    for at, text in enumerate(program):
        yield
        attempt(say, lambda text=text, at=at: session.run(Source(f"<{at}>", text)))
        yield
        attempt(say, lambda at=at: say(shown(session.evaluate(Source("<expression>", f"ones(2)*rand(1)/3 + {at}")))))


def prompt(program: list[str], options: dict[str, Any], say: Say) -> Iterator[None]:
    """The same at a prompt, with an input taken back now and then."""
    names = made(options, say).interactive()

    for at, text in enumerate(program):
        yield
        attempt(say, lambda text=text, at=at: names.enter(text, f"<{at}>", lambda value: say(shown(value))))
        if at % 7 == 6:
            yield
            attempt(say, lambda: say(names.undo()))


def shown(evaluation: Evaluation) -> str:
    value = evaluation.value
    return value.repr() if isinstance(value, TensorValue) else value.text


def made(options: dict[str, Any], say: Say) -> Session:
    bounds = options.get("bounds", limits.default())
    rest = {name: value for name, value in options.items() if name != "bounds"}
    return Session(bounds=bounds, write=say, warn=lambda category, message, _: say(f"{category}: {message}\n"), read_stdin=bytes, **rest)


def attempt(say: Say, act: Callable[[], object]) -> None:
    try:
        act()
    except GradcliError as error:
        say(f"{error.kind}: {error.message}\n")


WAYS = [script, one_offs, prompt]


@pytest.fixture(autouse=True)
def _bounds_afterwards() -> Iterator[None]:
    before = limits.current
    yield
    limits.use(before)


def interleaved(way: Any, options: tuple[dict[str, Any], dict[str, Any]], choose: Callable[[list[int]], int]) -> list[list[str]]:
    """What each of two sessions said; `choose` picks which of those that are not through goes on."""
    said: list[list[str]] = [[], []]
    running = {at: way(program, options[at], said[at].append) for at, program in enumerate((FIRST, SECOND))}
    while running:
        at = choose(list(running))
        if next(running[at], "through") == "through":
            del running[at]
    return said


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", OPTIONS, ids=["dtypes", "bounds", "seeds", "alike"])
def test_interleaved_sessions_answer_as_alone(way: Any, options: tuple[dict[str, Any], dict[str, Any]]) -> None:
    alone = interleaved(way, options, min)
    assert all(len(said) > 8 for said in alone)
    assert interleaved(way, options, max) == alone, "one after the other"
    turns = iter(range(10**6))
    assert interleaved(way, options, lambda left: left[next(turns) % len(left)]) == alone, "in turns"
    for seed in range(20):
        assert interleaved(way, options, random.Random(seed).choice) == alone, f"in the order of seed {seed}"


@pytest.mark.parametrize("kind", [State, Generator, Execution])
def test_put_sets_every_field_in_the_order_of_the_slots(kind: type) -> None:
    one, values = kind(), tuple(range(len(kind.__slots__)))
    one.put(values)
    assert attrgetter(*kind.__slots__)(one) == values
