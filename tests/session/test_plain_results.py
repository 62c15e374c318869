"""What a session answers is data: nothing in it is a function, a tensor or a node of a graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradcli.analysis.reference import lookup
from gradcli.core.tensor.printing import PrintOptions
from gradcli.limits import Limits
from gradcli.plain import Plain
from gradcli.results.values import PlainValue
from gradcli.session import Session
from gradcli.source import Source

DATA = (str, int, float, bool, type(None), np.ndarray, PrintOptions)


def session() -> Session:
    made = Session(bounds=Limits(), write=lambda text: None, warn=lambda *warning: None, read_stdin=bytes)
    made.bind("x", "1,2", exact=False)
    return made


def minimum(one: Session) -> object:
    return one.minimize(Source("<f>", "((x-3)**2).sum()"), method="sgd", lr=0.1, steps=3, tolerance=1e-4, progress=lambda *step: None)


def curve(one: Session) -> object:
    one.bind_range("t", "0..1:5")
    return one.plot(Source("<f>", "t*2"), order=1, points=[5])


F = Source("<f>", "(x*x+2).sum()")
ANSWERS: dict[str, Callable[[Session], object]] = {
    "tensor": lambda one: one.evaluate(F),
    "function": lambda one: one.evaluate(Source("<f>", "lambda a: (a, x)")),
    "containers": lambda one: one.evaluate(Source("<f>", "{1: (x, [x.sum()], torch.float32)}")),
    "gradient": lambda one: one.gradient(F, [], intermediates=True),
    "jacobian": lambda one: one.jacobian(Source("<f>", "x*x")),
    "hessian": lambda one: one.hessian(F, with_gradient=True),
    "several": lambda one: one.several(F, None, None, gradient=True, jacobian=True, hessian=True),
    "minimum": minimum,
    "check": lambda one: one.check(F),
    "explanation": lambda one: one.explain(F, full=True),
    "report": lambda one: one.report(F),
    "curve": curve,
    "variables": lambda one: one.interactive().variables(),
    "nodes": lambda one: one.interactive().gradients("x*x"),
    "completions": lambda one: one.interactive().complete("torch.sin"),
    "description": lambda one: one.interactive().describe("softmax"),
    "reference": lambda one: lookup.find("softmax"),
}


@pytest.mark.parametrize("ask", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_data(ask: Callable[[Session], object]) -> None:
    stack = [ask(session())]
    while stack:
        one = stack.pop()
        if isinstance(one, Plain):
            stack += [getattr(one, name) for name in one.FIELDS]
        elif isinstance(one, tuple | list):
            stack += one
        elif isinstance(one, dict):
            stack += [*one, *one.values()]
        else:
            assert isinstance(one, DATA), f"{type(one).__name__} is no data"


def test_the_text_of_a_result_does_not_depend_on_what_happens_later() -> None:
    one = session()
    prompt = one.interactive()
    value = one.evaluate(Source("<f>", "x/3")).value
    before = value.repr()
    prompt.setting("torch.set_printoptions(precision=2)")
    prompt.setting("torch.set_default_dtype(torch.float64)")
    assert value.repr() == before == "tensor([0.3333, 0.6667], grad_fn=<DivBackward0>)"
    assert one.evaluate(Source("<f>", "x/3")).value.repr() == "tensor([0.33, 0.67], dtype=torch.float32, grad_fn=<DivBackward0>)"


def test_a_long_range_is_a_text() -> None:
    answer = session().evaluate(Source("<f>", "range(10**8), range(3)")).value
    assert answer.repr() == "(range(0, 100000000), range(0, 3))"
    assert isinstance(answer, PlainValue) and answer.data == ["range(0, 100000000)", [0, 1, 2]]
