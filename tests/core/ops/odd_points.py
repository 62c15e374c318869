"""Gradients at odd points: where a function has no derivative, what is chosen is PyTorch's choice, as PyTorch 2.13 computed it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.autograd import torch_autograd
from gradcli.core.functions import catalog
from gradcli.core.tensor.tensor import wrap
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax.parser import parse_expression
from gradcli.source import Source
from tests import settings

NAN, INF = math.nan, math.inf


def gradient(text: str, *x: float) -> Any:
    """The gradient of an expression of x, summed where it is no scalar, in double precision."""
    settings.reset()
    leaf = wrap(np.array(x, np.float64))
    leaf.requires_grad = True
    run = Interpreter(write=lambda _: None, warn=lambda *_: None, one_off=True)
    run.set("x", leaf)
    value = run.evaluate(parse_expression(Source("<odd point>", text)))
    (found,) = torch_autograd.grad(catalog.function("sum")(value), (leaf,))
    assert found is not None
    return found.array


def expect(text: str, x: list[float], wanted: list[float]) -> None:
    np.testing.assert_allclose(gradient(text, *x), wanted, rtol=1e-12, atol=1e-15)
