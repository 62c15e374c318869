"""In-place arithmetic of the optimisers on arrays, rounded as PyTorch's CPU kernels round it.

PyTorch's compiled kernels fuse a product that is then added: the sum is rounded once. To get the same digits, products of
float32 are added in float64 and the sum is rounded to float32; for float64 `elementary.fused` adds the errors of both. For large arrays
this would take three times as long and is not done; the last bit may differ there.
Factors are rounded to the dtype of the arrays first, as PyTorch does.

For arrays of one float32 the same arithmetic is done on Python's floats, in a third of numpy's time. They have more than twice the
digits of float32, so that what is rounded to float32 at once is what float32 gives.
"""

from __future__ import annotations

from ctypes import c_float
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from gradcli.core.kernels import Array, elementary

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
#: larger arrays are added in their own precision
FUSED = 1 << 12


@lru_cache(256)
def _kept(number: float, dtype: np.dtype[Any]) -> Array:
    made = np.array(number, dtype)
    made.flags.writeable = False
    return made


def scalar(number: float, dtype: np.dtype[Any]) -> Array:
    """A number as an array without dimensions, by which numpy multiplies in half the time that a float takes."""
    return _kept(number, dtype) if number else np.array(number, dtype)  # 0.0 and -0.0 are equal and differ


def fresh(number: float, dtype: np.dtype[Any]) -> Array:
    """A number as `scalar` makes it, which is another in each step and not kept."""
    return np.array(number, dtype)


def array(a: Array) -> Array:
    """The numbers as an array."""
    return a


def like(a: Array, numbers: Array) -> Array:
    """Numbers in the dtype of `a`."""
    return numbers.astype(a.dtype, copy=False)


def put(a: Array, x: Array) -> None:
    """`a[...] = x`."""
    a[...] = x


def negative(a: Array) -> Array:
    """`-a`."""
    return np.asarray(np.negative(a))


def maximum(a: Array, x: Array) -> None:
    """`a = max(a, x)`."""
    np.maximum(a, x, out=a)


def clip(a: Array, low: float, high: float) -> Array:
    """`a` with no element out of [low, high]."""
    return np.asarray(np.clip(a, a.dtype.type(low), a.dtype.type(high)))


#: the values of a tensor
operand = attrgetter("array")
sqrt, abs, sign = np.sqrt, np.abs, np.sign


def _narrow(factor: float, array: Array) -> float:
    return c_float(factor).value if array.dtype is _FLOAT32 else float(array.real.dtype.type(factor))


def _is_one(a: Array) -> bool:
    return a.size == 1 and a.dtype is _FLOAT32


def _product_plus(a: Array, x: Array, y: Array | float) -> Array:
    """`a + x * y`, rounded once, in the dtype of `a` or a wider one; plainly for large arrays and other dtypes."""
    if a.size <= FUSED:
        if a.dtype is _FLOAT64:
            return np.asarray(elementary.fused(x, y, a))
        if a.dtype is _FLOAT32:
            return np.asarray(x.astype(_FLOAT64) * y + a)
    return np.asarray(a + x * y)


def plus(a: Array, x: Array, factor: float) -> Array:
    """`a + factor * x`, a new array."""
    return _product_plus(a, x, _narrow(factor, a)).astype(a.dtype, copy=False)


def add(a: Array, x: Array, factor: float) -> None:
    """`a += factor * x`."""
    if _is_one(a):
        a[...] = x.item() * c_float(factor).value + a.item()
        return
    if a.size <= FUSED and a.dtype is _FLOAT64:
        a[...] = elementary.fused(x, factor, a)
        return
    if a.size <= FUSED and a.dtype is _FLOAT32:
        a[...] = x * scalar(c_float(factor).value, _FLOAT64) + a
    elif factor == 1:
        np.add(a, x, out=a)
    else:
        np.add(a, x * factor, out=a)


def multiply(a: Array, factor: float) -> None:
    """`a *= factor`."""
    if _is_one(a):
        a[...] = a.item() * c_float(factor).value
    else:
        np.multiply(a, scalar(factor, a.dtype), out=a)


def lerp(a: Array, end: Array, weight: float) -> None:
    """Move `a` by `weight` of the way to `end`; for a weight of a half and more it is computed from `end` back."""
    if a.dtype is _FLOAT32 and a.size <= FUSED and -0.5 < (narrow := c_float(weight).value) < 0.5:
        if a.size == 1:
            begin = a.item()
            a[...] = c_float(end.item() - begin).value * narrow + begin
        else:
            a[...] = (end - a) * scalar(narrow, _FLOAT64) + a
        return
    weight = _narrow(weight, a)
    difference = np.asarray(end - a)
    if -0.5 < weight < 0.5:
        add(a, difference, weight)
    else:
        a[...] = plus(end, difference, -_narrow(1 - weight, a))


def _times(x: Array, factor: float) -> float:
    """`factor * x` for one number of float32."""
    return float(x.item() if factor == 1 else c_float(x.item() * c_float(factor).value).value)


def addcmul(a: Array, x: Array, y: Array, factor: float = 1) -> None:
    """`a += factor * x * y`; only the last product is fused with the sum."""
    if _is_one(a):
        a[...] = _times(x, factor) * y.item() + a.item()
        return
    if factor != 1:
        x = np.asarray(x * scalar(factor, a.dtype))
    if a.size > FUSED:
        np.add(a, x * y, out=a)
    elif a.dtype is _FLOAT32:
        a[...] = x.astype(_FLOAT64) * y + a
    else:
        a[...] = _product_plus(a, x, y)


def addcdiv(a: Array, x: Array, y: Array, factor: float = 1) -> None:
    """`a += factor * x / y`."""
    if _is_one(a) and (divisor := y.item()):
        a[...] = c_float(_times(x, factor) / divisor).value + a.item()
        return
    if factor != 1:
        x = np.asarray(x * scalar(factor, a.dtype))
    np.add(a, x / y, out=a)
