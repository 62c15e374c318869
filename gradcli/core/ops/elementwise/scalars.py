"""Arithmetic of rules with Python numbers and with data. PyTorch's overloads for numbers have nodes of their own: MulBackward1 ..."""

from __future__ import annotations

from typing import Any

from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.elementwise.add_multiply import ADD_NUMBER, MUL, MUL_NUMBER, SUB, SUB_NUMBER
from gradcli.core.ops.elementwise.divide_remainder import DIV_NUMBER
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor


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
    return xp.call(SUB, number, x)


def times_data(xp: Any, x: Any, data: Array) -> Any:
    """`x` times an array that no gradient flows to, such as a mask or a count."""
    if type(x) is Tensor and x.dtype is dtypes.bfloat16:  # numbers of bfloat16 are stored in single precision
        return xp.call(MUL, x, Tensor(data, x.dtype))
    return xp.call(MUL, x, data)


def data_times(xp: Any, data: Array, x: Any, dtype: DType) -> Any:
    """An array of this dtype that no gradient flows to times `x`, laid out as the array before `x` is."""
    if type(x) is Tensor:
        return xp.call(MUL, Tensor(data, dtype), x)
    return memory_format.like_operands(xp.call(MUL, data, x), (data, x))
