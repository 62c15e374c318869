"""The functions of `fused_arithmetic` on tensors, for half precision: each operation rounds as torch's function of its name does."""

from __future__ import annotations

from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.kernels import Array
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor


def operand(tensor: Tensor) -> Tensor:
    """The values of a tensor, without its history."""
    return Tensor(tensor.array, tensor.dtype)


def array(a: Tensor) -> Array:
    """The numbers as an array."""
    return a.array


def scalar(number: Any, dtype: object) -> float:
    """A number as an operand; PyTorch rounds it to single precision at most."""
    return float(number)


fresh = scalar


def like(a: Tensor, numbers: Array) -> Tensor:
    """Numbers as a tensor in the dtype of `a`."""
    return Tensor(dtypes.cast(numbers, a.dtype), a.dtype)


def put(a: Tensor, x: Tensor) -> None:
    """`a[...] = x`."""
    a.array[...] = x.array


def plus(a: Tensor, x: Tensor, factor: float) -> Any:
    """`a + factor * x`, a new tensor."""
    return catalog.function("add")(a, x, alpha=float(factor))


def add(a: Tensor, x: Tensor, factor: float) -> None:
    """`a += factor * x`."""
    put(a, plus(a, x, factor))


def multiply(a: Tensor, factor: float) -> None:
    """`a *= factor`."""
    put(a, a * float(factor))


def lerp(a: Tensor, end: Tensor, weight: float) -> None:
    """Move `a` by `weight` of the way to `end`."""
    put(a, catalog.function("lerp")(a, end, float(weight)))


def addcmul(a: Tensor, x: Tensor, y: Tensor, factor: float = 1) -> None:
    """`a += factor * x * y`."""
    put(a, catalog.function("addcmul")(a, x, y, value=float(factor)))


def addcdiv(a: Tensor, x: Tensor, y: Tensor, factor: float = 1) -> None:
    """`a += factor * x / y`."""
    put(a, catalog.function("addcdiv")(a, x, y, value=float(factor)))


def negative(a: Tensor) -> Any:
    """`-a`."""
    return -a


def sqrt(a: Tensor) -> Any:
    """The square root."""
    return catalog.function("sqrt")(a)


def abs(a: Tensor) -> Any:
    """The absolute value."""
    return catalog.function("abs")(a)


def sign(a: Tensor) -> Any:
    """-1, 0 or 1."""
    return catalog.function("sign")(a)


def clip(a: Tensor, low: float, high: float) -> Any:
    """`a` with no element out of [low, high]."""
    return catalog.function("clamp")(a, low, high)


def maximum(a: Tensor, x: Tensor) -> None:
    """`a = max(a, x)`."""
    put(a, catalog.function("maximum")(a, x))
