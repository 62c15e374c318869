"""In-place arithmetic of the optimisers on arrays, rounded as PyTorch's CPU kernels round it.

PyTorch's compiled kernels fuse a product that is then added: the sum is rounded once. Sums of float32 are done here in
float64 and rounded to float32, sums of float64 in the processor's extended precision where there is one, which gives the
same digits; for large arrays, where it would take three times as long, they are not, and the last bit may differ.
Factors are rounded to the arrays' dtype first, as PyTorch does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.tensor.tensor import Array

#: where sums are made for arrays of a dtype
_WIDER: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.float64): np.dtype(np.longdouble),
}
#: arrays of more elements than this are added in their own precision
_FUSED = 1 << 12


def _narrow(factor: float, array: Array) -> float:
    return float(array.dtype.type(factor))


def plus(a: Array, x: Array, factor: float) -> Array:
    """`a + factor * x`, a new array."""
    if a.size <= _FUSED and a.dtype in _WIDER:
        wide = np.multiply(x, _narrow(factor, a), dtype=_WIDER[a.dtype])
        return np.asarray(np.add(a, wide)).astype(a.dtype)
    return np.asarray(a + x * factor)


def add(a: Array, x: Array, factor: float) -> None:
    """`a += factor * x`."""
    dtype = a.dtype
    if a.size <= _FUSED and dtype in _WIDER:
        wide = np.multiply(x, float(dtype.type(factor)), dtype=_WIDER[dtype])
        np.add(a, wide, out=a, casting="same_kind")
    elif factor == 1:
        np.add(a, x, out=a)
    else:
        np.add(a, x * factor, out=a)


def multiply(a: Array, factor: float) -> None:
    """`a *= factor`."""
    np.multiply(a, _narrow(factor, a), out=a)


def lerp(a: Array, end: Array, weight: float) -> None:
    """Move `a` by `weight` of the way to `end`; from the end's side for weights of a half and more."""
    weight = _narrow(weight, a)
    difference = np.asarray(end - a)
    if abs(weight) < 0.5:
        add(a, difference, weight)
    else:
        a[...] = plus(end, difference, -_narrow(1 - weight, a))


def add_product(a: Array, x: Array, y: Array, factor: float = 1) -> None:
    """`a += factor * x * y`; only the last product is fused with the sum."""
    if factor != 1:
        x = np.asarray(x * _narrow(factor, a))
    if a.size <= _FUSED and a.dtype in _WIDER:
        np.add(a, np.multiply(x, y, dtype=_WIDER[a.dtype]), out=a, casting="same_kind")
    else:
        np.add(a, x * y, out=a)


def add_quotient(a: Array, x: Array, y: Array, factor: float = 1) -> None:
    """`a += factor * x / y`."""
    if factor != 1:
        x = np.asarray(x * _narrow(factor, a))
    np.add(a, x / y, out=a)
