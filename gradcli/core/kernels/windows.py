"""Sliding windows over the last dimensions of arrays, and the products of windows that convolutions are made of.

A window view has the shape (batch, channels, *positions, *kernel). Products copy windows out of it, for large inputs in
blocks of positions, so that the copies are bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.kernels import Array, half_to_single

Sizes = tuple[int, ...]

#: elements that are copied out of windows at a time
_BLOCK = 1 << 21


def positions(sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Sizes:
    """How many windows there are along each dimension of a (padded) input."""
    return tuple((n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(sizes, kernel, stride, dilation, strict=True))


def view(x: Array, kernel: Sizes, stride: Sizes, dilation: Sizes, writeable: bool = False) -> Array:
    """All windows of an array (batch, channels, *sizes), without copying."""
    rank = len(kernel)
    count = tuple(max(n, 0) for n in positions(x.shape[2:], kernel, stride, dilation))
    shape = (*x.shape[:2], *count, *kernel)
    if 0 in shape:
        return np.empty(shape, x.dtype)
    inner = x.strides[2:]
    strides = (*x.strides[:2], *(inner[i] * stride[i] for i in range(rank)), *(inner[i] * dilation[i] for i in range(rank)))
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=writeable)


def inside(start: Sequence[int], sizes: Sequence[int]) -> tuple[Any, ...]:
    """The index of a part of the last dimensions."""
    return (..., *(slice(at, at + n) for at, n in zip(start, sizes, strict=True)))


def _first(windows: Array, count: Sizes) -> Array:
    """The first `count` windows along each dimension: output_padding may leave room for more."""
    rank = len(count)
    return windows if windows.shape[2 : 2 + rank] == count else windows[inside((0,) * 2 * rank, (*count, *windows.shape[2 + rank :]))]


def padded(x: Array, padding: Sequence[int], value: Any = 0) -> Array:
    """A border of one value on both sides of the last dimensions."""
    if not any(padding):
        return x
    shape = tuple(n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True))
    limits.check_elements(max(x.shape[0] * x.shape[1], 1) * math.prod(shape), x.itemsize)
    made = np.full((*x.shape[:2], *shape), value, x.dtype)
    made[inside(padding, x.shape[2:])] = x
    return made


def _blocks(windows: Array, rank: int, alone: bool = False) -> Iterator[tuple[slice, slice]]:
    """Samples and positions along the first dimension whose windows are taken together; `alone`: each sample by itself."""
    batch, channels, first = windows.shape[:3]
    row = channels * math.prod(windows.shape[3:])
    sample = first * row
    if sample <= _BLOCK:
        step = 1 if alone else max(_BLOCK // max(sample, 1), 1)
        for at in range(0, batch, step):
            yield slice(at, at + step), slice(None)
        return
    step = max(_BLOCK // row, 1)
    for at in range(batch):
        for top in range(0, first, step):
            yield slice(at, at + 1), slice(top, top + step)


def _columns(part: Array, groups: int, rank: int) -> Array:
    """Windows as matrices (groups, channels * kernel, batch * positions)."""
    batch, channels = part.shape[:2]
    split = part.reshape(batch, groups, channels // groups, *part.shape[2:])
    kernel, places = range(3 + rank, 3 + 2 * rank), range(3, 3 + rank)
    ordered = split.transpose(1, 2, *kernel, 0, *places)
    return ordered.reshape(groups, math.prod(ordered.shape[1 : 2 + rank]), -1)


def _rows(part: Array, groups: int) -> Array:
    """Channels as matrices (groups, channels, batch * positions)."""
    batch, channels = part.shape[:2]
    split = part.reshape(batch, groups, channels // groups, -1)
    return split.transpose(1, 2, 0, 3).reshape(groups, channels // groups, -1)


def _work(windows: Array, channels: int, groups: int) -> None:
    # to copy an element takes the time of several multiplications
    limits.check_work(windows.size * max(channels // max(groups, 1), 8))


def correlate(x: Array, weight: Array, stride: Sizes, dilation: Sizes, groups: int) -> Array:
    """The products of all windows with a weight (out channels, in channels / groups, *kernel)."""
    rank = weight.ndim - 2
    windows = view(x, weight.shape[2:], stride, dilation)
    count = windows.shape[2 : 2 + rank]
    out_channels = weight.shape[0]
    _work(windows, out_channels, groups)
    limits.check_elements(x.shape[0] * out_channels * math.prod(count), x.itemsize)
    out = np.zeros((x.shape[0], out_channels, *count), x.dtype)
    if not out.size or not windows.size:
        return out
    matrices = weight.reshape(groups, out_channels // groups, -1)
    for samples, tops in _blocks(windows, rank):
        part = windows[samples, :, tops]
        made = np.matmul(matrices, _columns(part, groups, rank))
        split = made.reshape(groups, out_channels // groups, part.shape[0], *part.shape[2 : 2 + rank])
        out[samples, :, tops] = split.transpose(2, 0, 1, *range(3, 3 + rank)).reshape(part.shape[0], out_channels, *split.shape[3:])
    return out


def spread(grad: Array, weight: Array, sizes: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Array:
    """The transpose of `correlate` in its input, which had the given sizes; float16 rounds the products, and each sum of theirs."""
    rank = weight.ndim - 2
    inner = weight.shape[1]
    limits.check_elements(max(grad.shape[0] * inner * groups, 1) * math.prod(sizes), grad.itemsize)
    out = np.zeros((grad.shape[0], inner * groups, *sizes), grad.dtype)
    windows = _first(view(out, weight.shape[2:], stride, dilation, True), grad.shape[2:])
    _work(windows, weight.shape[0], groups)
    if not windows.size or not grad.size:
        return out
    matrices = half_to_single(weight).reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
    for samples, tops in _blocks(windows, rank):
        part, given = windows[samples, :, tops], grad[samples, :, tops]
        made = np.matmul(matrices, _rows(half_to_single(given), groups)).astype(grad.dtype, copy=False)
        split = made.reshape(groups, inner, *weight.shape[2:], part.shape[0], *given.shape[2:])
        ordered = split.transpose(2 + rank, 0, 1, *range(3 + rank, 3 + 2 * rank), *range(2, 2 + rank))
        add_windows(part, ordered.reshape(part.shape), rank)
    return out


def add_windows(windows: Array, values: Array, rank: int) -> None:
    """Add to all windows, which overlap: one element of every window at a time, as PyTorch does, or one window, whichever are fewer."""
    places, kernel = windows.shape[2 : 2 + rank], windows.shape[2 + rank :]
    if math.prod(kernel) <= math.prod(places) or windows.dtype == np.float16:
        for index in np.ndindex(kernel):
            windows[(..., *index)] += values[(..., *index)]
        return
    for index in np.ndindex(places):
        windows[(slice(None), slice(None), *index)] += values[(slice(None), slice(None), *index)]


def weigh(grad: Array, x: Array, kernel: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Array:
    """The transpose of `correlate` in its weight, whose kernel is given; float16 rounds the sum after each sample."""
    rank = len(kernel)
    windows = _first(view(x, kernel, stride, dilation), grad.shape[2:])
    out_channels, inner = grad.shape[1], x.shape[1] // groups
    _work(windows, out_channels, groups)
    out = np.zeros((groups, out_channels // groups, inner * math.prod(kernel)), grad.dtype)
    if windows.size and grad.size:
        for samples, tops in _blocks(windows, rank, grad.dtype == np.float16):
            columns = _columns(half_to_single(windows[samples, :, tops]), groups, rank)
            product = np.matmul(_rows(half_to_single(grad[samples, :, tops]), groups), columns.swapaxes(1, 2))
            np.add(out, product, out=out, casting="same_kind")
    return out.reshape(out_channels, inner, *kernel)
