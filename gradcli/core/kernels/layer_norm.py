"""Layer normalisation of float32 rows with the rounding of PyTorch's CPU kernel, forward and backward.

The order is that of RowwiseMoments in ATen/native/cpu/moments_utils.h (Welford's means in eight lanes, folded by Chan's
formula after the elements left over) and of the kernels in layer_norm_kernel.cpp; products that are then added are fused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.elementary import fused
from gradcli.core.kernels.summation import in_order

_LANES = 8
#: longer rows are added in several levels, and beyond these sizes the order no longer shows in printed digits
_LONGEST = 128
_MOST_ROWS = 256

_FLOAT32 = np.dtype(np.float32)
_single = np.float32


def fits(x: Any, columns: int) -> bool:
    """Whether an array has few and short rows, for which the order of additions shows in printed digits."""
    return isinstance(x, np.ndarray) and x.dtype is _FLOAT32 and 0 < columns <= _LONGEST and 0 < x.size <= columns * _MOST_ROWS


def moments(x: Array, eps: Any, in_half: bool = False) -> tuple[Array, Array]:
    """Mean and reciprocal deviation of each row of a matrix, as columns; `eps` is added in its precision.

    A vector of numbers in half precision fills two of single precision, which are folded first.
    """
    rows, columns = x.shape
    sets = 2 if in_half else 1
    vectors = columns // (_LANES * sets)
    lanes = x[:, : vectors * _LANES * sets].reshape(rows, vectors, _LANES * sets)
    lane_mean = lane_square = np.zeros((rows, _LANES * sets), _FLOAT32)
    for k in range(vectors):
        difference = lanes[:, k] - lane_mean
        lane_mean = fused(difference, 1 / _single(k + 1), lane_mean)
        lane_square = fused(difference, lanes[:, k] - lane_mean, lane_square)
    if in_half:
        difference = lane_mean[:, _LANES:] - lane_mean[:, :_LANES]
        lane_square = fused(difference * difference * _single(0.5), _single(vectors), lane_square[:, _LANES:]) + lane_square[:, :_LANES]
        lane_mean = fused(_single(0.5), difference, lane_mean[:, :_LANES])
        vectors *= sets
    mean = square = np.zeros(rows, _FLOAT32)
    count = 0
    for k in range(vectors * _LANES, columns):
        count += 1
        difference = x[:, k] - mean
        mean = mean + difference / _single(count)
        square = square + difference * (x[:, k] - mean)
    for lane in range(_LANES):
        share = _single(vectors) / _single(count + vectors)
        difference = lane_mean[:, lane] - mean
        mean = fused(share, difference, mean)
        square = fused(difference * difference * share, _single(count), lane_square[:, lane]) + square
        count += vectors
    variance = np.maximum(square / _single(columns), _single(0))
    return mean[:, None], (_single(1) / np.sqrt(variance + eps)).astype(_FLOAT32)[:, None]


def _product_sum(a: Array, b: Array, width: int) -> Array:
    """The sum of `a * b` along rows, kept: `width` lanes, what is left over fused onto the first of them."""
    columns = a.shape[1]
    if columns < _LANES:
        return np.add.accumulate(a * b, axis=1)[:, -1:]
    width = width if columns >= width else _LANES
    whole = columns - columns % width
    terms = a[:, :whole] * b[:, :whole]
    lanes: Array = in_order(terms.reshape(len(a), -1, width), 1)
    rest = columns - whole
    if rest:
        lanes[:, :rest] = fused(a[:, whole:], b[:, whole:], lanes[:, :rest])
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes


def backward(grad: Array, x: Array, weight: Array | None, mean: Array, a: Array, in_half: bool = False) -> Array:
    """The gradient of the rows, whose mean and reciprocal deviation are columns."""
    width = _LANES * 2 if in_half else _LANES
    scale = 1 / _single(x.shape[1])
    ones = np.ones_like(x)
    scales = ones if weight is None else np.broadcast_to(weight, x.shape)
    along = _product_sum(grad, x, width) if weight is None else _product_sum(grad * x, scales, width)
    whole = _product_sum(grad, scales, width)
    b = fused(whole, mean, -along) * a * a * a * scale
    c = fused(-b, mean, -(whole * a * scale))
    return np.asarray(fused(b, x, a * grad * scales) + c)


def scaled(x: Array, mean: Array, rstd: Array, weight: Array | None, bias: Array | None) -> Array:
    """`(x - mean) * rstd * weight + bias`."""
    normal = (x - mean) * rstd
    zero = x.dtype.type(0)  # PyTorch adds 0 where no bias is given
    if weight is None:
        return np.asarray(normal + (zero if bias is None else bias))
    return (
        np.asarray(normal * weight + zero)
        if bias is None
        else fused(normal, np.broadcast_to(weight, x.shape), np.broadcast_to(bias, x.shape))
    )


def _shares(rows: int) -> list[slice]:
    """The rows that each thread adds up: of two threads, whatever the machine has, as in `products`."""
    first = -(-rows // 2)
    return [slice(first), slice(first, rows)][: max(rows, 1)]


def weight_gradient(grad: Array, x: Array, mean: Array, rstd: Array, rounded: Callable[[Array], Array] = np.asarray) -> Array:
    """The gradient of the weight: row after row, with sums that `rounded` rounds."""
    normal = fused(x, rstd, -mean * rstd)
    total = np.zeros(x.shape[1], _FLOAT32)
    for share in _shares(len(x)):
        made = np.zeros_like(total)
        for row, values in zip(grad[share], normal[share], strict=True):
            made = rounded(fused(row, values, made))
        total = total + made
    return total


def bias_gradient(grad: Array, rounded: Callable[[Array], Array] | None = None) -> Array:
    """The gradient of the bias, as that of the weight."""
    total = np.zeros(grad.shape[1], _FLOAT32)
    for share in _shares(len(grad)):
        if rounded is None:
            total = total + in_order(grad[share])
            continue
        made = np.zeros_like(total)
        for row in grad[share]:
            made = rounded(made + row)
        total = total + made
    return total
