"""Arithmetic with numbers as PyTorch's own derivative formulas do it: C++ overloads with names of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.tensor.tensor import Array

ADD_NUMBER = Pointwise("AddBackward1", np.add, "input", "other", input=Rule(lambda grad: grad, "grad"))
SUB_NUMBER = Pointwise("SubBackward1", np.subtract, "input", "other", input=Rule(lambda grad: grad, "grad"))
MUL_NUMBER: Pointwise = Pointwise(
    "MulBackward1",
    np.multiply,
    "input",
    "other",
    input=Rule(lambda xp, grad, other: xp.call(MUL_NUMBER, grad, other), "grad * other"),
)
DIV_NUMBER: Pointwise = Pointwise(
    "DivBackward1",
    np.true_divide,
    "input",
    "other",
    input=Rule(lambda xp, grad, other: xp.call(DIV_NUMBER, grad, other), "grad / other"),
)


def plus(xp: Any, x: Any, number: float) -> Any:
    """`x + number`."""
    return xp.call(ADD_NUMBER, x, number)


def minus(xp: Any, x: Any, number: float) -> Any:
    """`x - number`."""
    return xp.call(SUB_NUMBER, x, number)


def times(xp: Any, x: Any, number: float) -> Any:
    """`x * number`."""
    return xp.call(MUL_NUMBER, x, number)


def over(xp: Any, x: Any, number: float) -> Any:
    """`x / number`."""
    return xp.call(DIV_NUMBER, x, number)


def from_number(xp: Any, number: float, x: Any) -> Any:
    """`number - x`."""
    from gradcli.core.ops.elementwise.arithmetic_records import SUB  # which is built on this module

    return xp.call(SUB, number, x)


def times_data(xp: Any, x: Any, data: Array) -> Any:
    """`x` times an array to which no gradient flows (a mask, a count)."""
    from gradcli.core.ops.elementwise.arithmetic_records import MUL

    return xp.call(MUL, x, data)
