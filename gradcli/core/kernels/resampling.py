"""Padding and interpolation: linear maps along single dimensions that make each element of the result from a few elements.

A `Taps` is the map of one dimension: for each element of the result the indices of these elements, and their weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli import limits
from gradcli.core.kernels import Array


class Taps(NamedTuple):
    """Indices and weights, both of shape (size of the result, elements for each). Weights of None are ones."""

    places: Array
    weights: Array | None = None


def _shaped(weights: Array, axis: int, rank: int) -> Array:
    return weights.reshape([-1 if i == axis else 1 for i in range(rank)])


def apply(x: Array, taps: Sequence[Taps]) -> Array:
    """Apply the maps, one for each of the last dimensions, beginning with the last."""
    for axis in range(x.ndim - 1, x.ndim - len(taps) - 1, -1):
        one = taps[axis - x.ndim]
        count, terms = one.places.shape
        limits.check_elements(math.prod(x.shape[:axis]) * count * math.prod(x.shape[axis + 1 :]), x.itemsize)
        made: Any = None
        for term in range(terms):
            part = x.take(one.places[:, term], axis)
            if one.weights is not None:
                part = part * _shaped(one.weights[:, term], axis, x.ndim)
            made = part if made is None else made + part
        x = made
    return x


def apply_to_bytes(x: Array, taps: Sequence[Taps]) -> Array:
    """The maps of bytes, of which dimensions that keep their size have none, with the weights as whole numbers of 16 bits, as PyTorch."""
    x = x.astype(np.int64)
    for axis in range(x.ndim - 1, x.ndim - len(taps) - 1, -1):
        places, weights = taps[axis - x.ndim]
        count, terms = places.shape
        if count == x.shape[axis] or weights is None:
            continue
        limits.check_elements(math.prod(x.shape[:axis]) * count * math.prod(x.shape[axis + 1 :]), x.itemsize)
        same = places[:, :, None] == places[:, None, :]  # weights of one element are added up before they are rounded
        weights = np.where(np.tril(same, -1).any(2), 0, (same * weights[:, None, :]).sum(2))
        bits = next(n for n in range(23) if n == 22 or int(0.5 + weights.max() * 2.0 ** (n + 1)) >= 1 << 15)
        whole = np.trunc(weights * 2.0**bits + np.where(weights < 0, -0.5, 0.5)).astype(np.int64)
        made: Any = (1 << bits) >> 1
        for term in range(terms):
            made = made + x.take(places[:, term], axis) * _shaped(whole[:, term], axis, x.ndim)
        x = np.clip(made >> bits, 0, 255)
    return x.astype(np.uint8)


def transposed(grad: Array, taps: Sequence[Taps], sizes: Sequence[int]) -> Array:
    """The transpose of `apply`: adds the gradients of the result up where its elements came from; `sizes` are those of the input."""
    for axis, (one, size) in enumerate(zip(taps, sizes, strict=True), grad.ndim - len(taps)):
        count, terms = one.places.shape
        moved = np.moveaxis(grad, axis, 0)
        limits.check_elements(moved.size // max(count, 1) * max(count * terms, size), grad.itemsize)
        out = np.zeros((size, *moved.shape[1:]), grad.dtype)
        if moved.size:
            order = np.argsort(one.places.reshape(-1), kind="stable")
            weights = None if one.weights is None else _shaped(one.weights.reshape(-1)[order], 0, moved.ndim)
            found, first = np.unique(one.places.reshape(-1)[order], return_index=True)
            out[found] += _sums(moved, order // terms, weights, first)  # 0, not -0, where all are
        grad = np.moveaxis(out, 0, axis)
    return grad


#: the most rows of a sum that `np.add.reduceat` adds one after the other, the first one at the end
_FEW = 8
#: the number of elements from which on this takes longer than whole rows, since it goes through each column
_MANY = 1 << 14


def _sums(x: Array, rows: Array, weights: Array | None, first: Array) -> Any:
    """The sums of rows of x, each times its weight, of which each begins at a place in `first` and ends before the next."""

    def terms(at: Any) -> Array:
        return x[rows[at]] if weights is None else np.asarray(x[rows[at]] * weights[at])

    lengths = np.diff(first, append=len(rows)) if x.size >= _MANY else None
    if lengths is None or (most := int(lengths.max())) > _FEW:
        return np.add.reduceat(terms(slice(None)), first, axis=0)
    x = np.ascontiguousarray(x)
    rest: Any = 0
    for number in range(1, most):
        longer = (lengths > number).nonzero()[0]
        part = terms(first[longer] + number)
        if len(longer) == len(first):
            rest = rest + part
            continue
        if number == 1:
            rest = np.zeros((len(first), *x.shape[1:]), x.dtype)
        rest[longer] += part
    return terms(first) + rest


# --- padding ---


def reflected(size: int, before: int, after: int) -> Taps:
    """Reflection padding, which does not repeat the edge; negative widths cut elements off."""
    at = np.abs(np.arange(-before, size + after))
    last = size - 1
    return Taps((last - np.abs(last - at))[:, None])


def repeated(size: int, before: int, after: int) -> Taps:
    """Replication padding: copies of the edge; negative widths cut elements off."""
    return Taps(np.clip(np.arange(-before, size + after), 0, max(size - 1, 0))[:, None])


# --- interpolation ---


def _step(size: int, count: int, scale: float | None, align_corners: bool, kind: Any) -> Any:
    """How far apart the elements of the result lie, in elements of the input."""
    if align_corners:
        return kind(size - 1) / kind(count - 1) if count > 1 else kind(0)
    return kind(1.0 / scale) if scale else kind(size) / kind(count)


def nearest(size: int, count: int, scale: float | None, exact: bool) -> Taps:
    """Nearest neighbour: the element at or before each position; with `exact` the element whose middle is nearest."""
    at = np.arange(count)
    if exact:
        places = np.floor((at.astype(np.float32) + np.float32(0.5)) * _step(size, count, scale, False, np.float32))
    elif count == size:
        places = at
    elif count == 2 * size:
        places = at >> 1
    else:
        places = np.floor(at.astype(np.float32) * _step(size, count, scale, False, np.float32))
    return Taps(np.minimum(places, size - 1).astype(np.int64)[:, None])


def _sources(size: int, count: int, scale: float | None, align_corners: bool, kind: Any) -> Array:
    """Where the elements of the result lie in the input."""
    at = np.arange(count).astype(kind)
    step = _step(size, count, scale, align_corners, kind)
    return np.asarray(step * at if align_corners else step * (at + kind(0.5)) - kind(0.5))


def linear(size: int, count: int, scale: float | None, align_corners: bool, kind: Any) -> Taps:
    """Linear interpolation between the two neighbours."""
    if count == size:  # whatever the scale; infinite elements become nan by the weight 0
        return Taps(np.arange(count)[:, None].repeat(2, 1), np.array([[1, 0]], kind).repeat(count, 0))
    source = np.maximum(_sources(size, count, scale, align_corners, kind), kind(0))
    low = np.minimum(source.astype(np.int64), size - 1)
    share = np.clip(source - low.astype(kind), kind(0), kind(1))
    return Taps(np.stack([low, np.minimum(low + 1, size - 1)], 1), np.stack([kind(1) - share, share], 1))


def cubic(size: int, count: int, scale: float | None, align_corners: bool, kind: Any) -> Taps:
    """Keys' cubic convolution with a = -0.75, of four neighbours."""
    source = _sources(size, count, scale, align_corners, kind)
    low = np.floor(source)
    share = source - low
    a = kind(-0.75)

    def near(x: Array) -> Array:
        return np.asarray(((a + kind(2)) * x - (a + kind(3))) * x * x + kind(1))

    def far(x: Array) -> Array:
        return np.asarray(((a * x - kind(5) * a) * x + kind(8) * a) * x - kind(4) * a)

    rest = kind(1) - share
    weights = np.stack([far(share + kind(1)), near(share), near(rest), far(rest + kind(1))], 1)
    places = low.astype(np.int64)[:, None] + np.arange(-1, 3)
    return Taps(np.clip(places, 0, size - 1), weights)
