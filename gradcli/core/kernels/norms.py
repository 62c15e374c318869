"""Norms of arrays, summed in the order of PyTorch's kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.kernels import Array, elementary, half_to_single
from gradcli.core.kernels.summation import LARGEST, in_order, total


def vector_norms(x: Array, order: float, dims: tuple[int, ...], keepdim: bool, powers: bool = False) -> Array:
    """The norm of order `order` along dimensions, in the dtype of the array; `powers`: PyTorch takes powers of single elements too."""
    wide = half_to_single(x)
    size = np.abs(wide)
    value: Any
    if order != 0 and x.size and not powers and all(x.shape[d] == 1 for d in dims):  # no power that might overflow
        value = size if keepdim else size.reshape([n for d, n in enumerate(x.shape) if d not in dims])
    elif not x.size and order != order:  # PyTorch does not take the power of what has no elements
        value = total(size, axis=dims, keepdims=keepdim)
    elif order == math.inf:
        value = np.max(size, axis=dims, keepdims=keepdim)
    elif order == -math.inf:
        value = np.min(size, axis=dims, keepdims=keepdim)
    elif order == 0:
        value = total(wide != 0, axis=dims, keepdims=keepdim)
    elif order == 1:
        value = _in_order(size, dims, keepdim)
    elif order == 2 and wide.dtype == np.float32 and wide.ndim and dims and wide.size:
        value = _euclidean(wide, dims, keepdims=keepdim)
    elif order == 2:
        value = np.sqrt(total(wide * wide, axis=dims, keepdims=keepdim))
    else:
        power = size.dtype.type(order)
        value = elementary.power(_in_order(elementary.power(size, power), dims, keepdim), 1 / power)
    return np.asarray(value).astype(x.dtype)


def _in_order(x: Array, dims: tuple[int, ...], keepdims: bool) -> Array:
    """The sum along dimensions, element after element in the order of memory, as PyTorch's kernel adds powers."""
    if not 0 < x.size <= LARGEST:
        return np.asarray(total(x, axis=dims, keepdims=keepdims))
    kept = [d for d in range(x.ndim) if d not in dims]
    rows = x.transpose(*sorted(dims, key=lambda d: -x.strides[d]), *kept).reshape(-1, *(x.shape[d] for d in kept))
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdims or d not in dims]
    return np.asarray(in_order(rows)).reshape(shape)


#: PyTorch's kernel has 8 partial sums, and squares the remaining elements 4 at a time
_LANES, _AT_ONCE = 8, 4


def _euclidean(x: Array, dims: tuple[int, ...], keepdims: bool) -> Array:
    """The 2-norm of float32 values, summed in the order of PyTorch's kernel (norm_two_reduce_step in ReduceOpsKernel.cpp)."""
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdims or d not in dims]
    kept = [d for d, n in enumerate(x.shape) if d not in dims and n > 1]
    squares: Array
    if not kept and not x.flags.forc:
        squares = np.add.accumulate(np.square(x.reshape(-1)))[-1:]
        return np.sqrt(squares).reshape(shape)
    if not kept:  # all elements are added up in the order of memory
        rows = x.reshape(1, -1, order="A")
    elif min(dims) > max(kept) and (x.flags.c_contiguous or (len(dims) == 1 and x.strides[-1] == x.itemsize)):
        rows = x.reshape(math.prod(x.shape[d] for d in kept), -1)
    else:
        squares = np.add.reduce(np.square(x), axis=dims)
        return np.sqrt(squares).reshape(shape)
    return np.sqrt(_square_sums(rows)).reshape(shape)


def _square_sums(rows: Array) -> Array:
    count = rows.shape[1]
    whole = count // _LANES * _LANES
    four = whole + (count - whole) // _AT_ONCE * _AT_ONCE
    sums = np.zeros(len(rows), np.float32)
    if whole:
        lanes = np.add.reduce(np.square(rows[:, :whole]).reshape(len(rows), -1, _LANES), axis=1)
        for at in range(_LANES):
            sums = sums + lanes[:, at]
    for at in range(whole, four):
        sums = sums + np.square(rows[:, at])
    for at in range(four, count):  # a fused multiply-add, which does not round the square
        sums = (np.square(rows[:, at], dtype=np.float64) + sums).astype(np.float32)
    return sums
