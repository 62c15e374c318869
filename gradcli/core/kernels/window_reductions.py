"""Sums and maxima of windows over the last dimensions of arrays, windows of different lengths included.

The windows of one dimension are a `Spans`: where each begins and ends, and the step within. Elements are taken one
offset at a time, which is PyTorch's order of adding them up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli import limits
from gradcli.core.kernels import Array
from gradcli.core.kernels.blocks import where_into


class Spans(NamedTuple):
    """The windows along one dimension: elements `begin`, `begin + step` ... below `end`."""

    begin: Array
    end: Array
    step: int = 1

    @property
    def longest(self) -> int:
        """The most elements that a window has."""
        return int(max((-(-(self.end - self.begin) // self.step)).max(initial=0), 0))

    @property
    def length(self) -> Array:
        """The elements of each window."""
        return np.asarray(np.maximum(-(-(self.end - self.begin) // self.step), 0))


def sliding(size: int, count: int, kernel: int, stride: int, padding: int, dilation: int = 1) -> tuple[Spans, Array]:
    """Windows of one length, clipped to the input; and their lengths with the padding counted."""
    begin = np.arange(count) * stride - padding
    whole = np.minimum(begin + kernel, size + padding) - begin
    end = np.minimum(begin + (kernel - 1) * dilation + 1, size)
    inside = np.where(begin < 0, begin + -(begin // dilation) * dilation, begin)
    return Spans(inside, end, dilation), whole


def adaptive(size: int, count: int) -> Spans:
    """`count` windows that cover the input evenly, as adaptive pooling has them."""
    limits.check_elements(count, 8)
    at = np.arange(count)
    return Spans(at * size // max(count, 1), -(-(at + 1) * size // max(count, 1)))


def reverse(spans: Spans, size: int) -> Spans:
    """For each element the windows that contain it; these are consecutive."""
    at = np.arange(size)
    return Spans(np.searchsorted(spans.end, at, "right"), np.searchsorted(spans.begin, at, "right"))


def _taken(x: Array, axis: int, spans: Spans, offset: int) -> Array:
    """One element of every window along one dimension; an arbitrary element where a window is too short."""
    places = np.minimum(spans.begin + offset * spans.step, x.shape[axis] - 1)
    if len(places) > 1:
        step = int(places[1] - places[0])
        if step > 0 and (np.diff(places) == step).all():
            index: list[Any] = [slice(None)] * x.ndim
            index[axis] = slice(int(places[0]), int(places[-1]) + 1, step)
            return np.asarray(x[tuple(index)])
    return np.asarray(x.take(places, axis))


def _there(spans: Sequence[Spans], offset: Sequence[int]) -> Any:
    """A mask of the windows that have an element at an offset; True if all have."""
    rank = len(spans)
    found: Any = True
    for axis, (one, at) in enumerate(zip(spans, offset, strict=True)):
        there = one.begin + at * one.step < one.end
        if not there.all():
            found = found & there.reshape([-1 if i == axis else 1 for i in range(rank)])
    return found


def _offsets(spans: Sequence[Spans]) -> Iterator[tuple[int, ...]]:
    return iter(np.ndindex(*(one.longest for one in spans)))


def _count(x: Array, spans: Sequence[Spans], cost: int) -> tuple[int, ...]:
    """The shape of the result, whose size and work are bounded; an element takes the time of `cost` multiplications."""
    shape = (*x.shape[: x.ndim - len(spans)], *(len(one.begin) for one in spans))
    size = math.prod(shape)
    limits.check_elements(size, 8)
    limits.check_work(cost * size * math.prod(one.longest for one in spans))
    return shape


#: windows of more elements are added up one dimension after the other
_FEW = 400


def sums(x: Array, spans: Sequence[Spans]) -> Array:
    """The sum of each window."""
    shape = _count(x, spans, 8)
    out = np.zeros(shape, x.dtype)
    if not out.size or not x.size:
        return out
    rank = len(spans)
    if math.prod(one.longest for one in spans) > _FEW:
        for axis, one in enumerate(spans, x.ndim - rank):
            x = _sums_along(x, axis, one)
        return x
    for offset in _offsets(spans):
        part = x
        for axis, (one, at) in enumerate(zip(spans, offset, strict=True), x.ndim - rank):
            part = _taken(part, axis, one, at)
        there = _there(spans, offset)
        out += part if there is True else np.where(there, part, part.dtype.type(0))
    return out


def _sums_along(x: Array, axis: int, spans: Spans) -> Array:
    moved = np.moveaxis(x, axis, -1)
    out = np.zeros((*moved.shape[:-1], len(spans.begin)), x.dtype)
    if spans.longest > len(spans.begin):
        for i, (begin, end) in enumerate(zip(spans.begin, spans.end, strict=True)):
            out[..., i] = moved[..., begin:end].sum(-1)
    else:
        for offset in range(spans.longest):
            part = _taken(moved, moved.ndim - 1, spans, offset)
            out += np.where(spans.begin + offset < spans.end, part, part.dtype.type(0))
    return np.moveaxis(out, -1, axis)


def maxima(x: Array, spans: Sequence[Spans]) -> Array:
    """The index of the largest element of each window in the flattened dimensions: the first of equal elements, or of nans."""
    shape = _count(x, spans, 32)
    rank = len(spans)
    sizes = x.shape[x.ndim - rank :]
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    best = np.full(shape, lowest, x.dtype)
    where = np.broadcast_to(_places(sizes, spans, (0,) * rank), shape).copy()
    if not best.size:
        return where
    if math.prod(one.longest for one in spans) > max(_FEW, math.prod(shape[len(shape) - rank :])):
        return _maxima_by_window(x, spans, where)
    broken = bool(np.isnan(x).any())
    for offset in _offsets(spans):
        part = x
        for axis, (one, at) in enumerate(zip(spans, offset, strict=True), x.ndim - rank):
            part = _taken(part, axis, one, at)
        better = part > best
        if broken:
            better |= part != part
        better &= _there(spans, offset)
        where_into(better, part, best, best)
        where_into(better, _places(sizes, spans, offset), where, where)
    return where


def _places(sizes: Sequence[int], spans: Sequence[Spans], offset: Sequence[int]) -> Array:
    """The places in the flattened dimensions of one element of every window."""
    rank = len(spans)
    found = np.zeros((1,) * rank, np.int64)
    for axis, (size, one, at) in enumerate(zip(sizes, spans, offset, strict=True)):
        along = np.clip(one.begin + at * one.step, 0, max(size - 1, 0))
        found = found * size + along.reshape([-1 if i == axis else 1 for i in range(rank)])
    return found


def _maxima_by_window(x: Array, spans: Sequence[Spans], where: Array) -> Array:
    """`maxima` one window after the other, for few large windows."""
    rank = len(spans)
    sizes = x.shape[x.ndim - rank :]
    whole = np.arange(math.prod(sizes)).reshape(sizes)
    for index in np.ndindex(where.shape[where.ndim - rank :]):
        part: tuple[Any, ...] = tuple(slice(int(one.begin[i]), int(one.end[i]), one.step) for one, i in zip(spans, index, strict=True))
        flat = x[..., *part].reshape(*x.shape[: x.ndim - rank], -1)
        if flat.shape[-1]:
            where[..., *index] = whole[part].reshape(-1)[flat.argmax(-1)]
    return where


def placed(grad: Array, indices: Array, rank: int, sizes: Sequence[int]) -> Array:
    """Zeros of shape `sizes` in the last dimensions, with the elements of `grad` added at their indices in the flattened dimensions."""
    lead = grad.shape[: grad.ndim - rank]
    plane, planes = math.prod(sizes), math.prod(lead)
    limits.check_elements(plane * planes, 8)
    if not plane * planes or not grad.size:
        return np.zeros((*lead, *sizes), grad.dtype)
    flat = indices.reshape(planes, -1) + np.arange(planes)[:, None] * plane
    added = np.bincount(flat.reshape(-1), grad.reshape(-1), plane * planes)
    return added.astype(grad.dtype).reshape(*lead, *sizes)
