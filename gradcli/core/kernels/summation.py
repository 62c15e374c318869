"""Sums in the order in which PyTorch's CPU kernel adds, so that the last digit agrees as well.

The order is that of cascade_sum in ATen/native/cpu/SumKernel.cpp with vectors of 32 bytes, 8 lanes of float32: a contiguous row is added
in four interleaved runs of vectors, the elements left over first, then the lanes one after another; columns are added from top to
bottom, in four interleaved runs where fewer than four vectors stand side by side. numpy adds pairwise instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.kernels import Array, Axes, blocks

#: elements of a vector, by dtype: single and double precision, real and complex
_LANES = {np.dtype(kind): 32 // np.dtype(kind).itemsize for kind in "fdFD"}
_RUNS = 4
#: the lanes of the vector helpers that map and reduce in one pass
_WIDE = 16
#: beyond this many elements the order no longer shows in printed digits, and numpy's own sum is used
LARGEST = 1 << 14
#: rows that are added before the kernel moves a partial sum to the next level
_STEP = 16

_FLOAT32 = np.dtype(np.float32)
_SINGLES = _LANES[_FLOAT32]
#: numpy's stubs have no overload for a keepdims that is a variable
_reduce: Any = np.add.reduce
_accumulate: Any = np.add.accumulate
_join: Any = np.concatenate
_ZERO = np.float32(0)


def total(x: Array, axis: Axes = None, keepdims: bool = False) -> Any:
    """`x.sum(axis, keepdims)`; for small arrays in PyTorch's order."""
    if type(x) is not np.ndarray and x.size <= LARGEST:
        x = np.asarray(x)
    if x.dtype not in _LANES or not 0 < x.size <= LARGEST:
        if x.size >= blocks.threshold and type(x) is np.ndarray and blocks.is_of_everything(x, {"axis": axis}):
            return np.reshape(blocks.reduced(np.add, x), (1,) * x.ndim) if keepdims else blocks.reduced(np.add, x)
        return _reduce(x, axis=axis, keepdims=keepdims)
    ndim = x.ndim
    if axis is None or ndim < 2:
        if ndim == 0:
            return x + x.dtype.type(0)
        if axis == ():
            return x
        # the kernel walks memory, whatever the order of the axes
        result: Any = _row(x if ndim == 1 else x.ravel(order="K"))
        return result.reshape((1,) * ndim) if keepdims else result
    axes = sorted(a % ndim for a in ((axis,) if isinstance(axis, int) else axis))
    if len(axes) == ndim:
        return total(x, None, keepdims)
    if all(n == 1 or i in axes for i, n in enumerate(x.shape)):
        kept = [1] * (ndim if keepdims else ndim - len(axes))
        return _row(x.ravel(order="K")).reshape(kept)
    result = _some(x, axes)
    if keepdims:
        result = result.reshape([1 if i in axes else n for i, n in enumerate(x.shape)])
    return result


def totals(arrays: Sequence[Array]) -> Array:
    """`total` of several contiguous float32 arrays of one size, from 8 elements to `LARGEST`, in little more time than one takes."""
    count, number = arrays[0].size, len(arrays)
    column = (count, 1)
    x = _join([array if array.shape == column else array.reshape(column) for array in arrays], 1)
    vectors = count // _SINGLES
    whole = vectors * _SINGLES
    lanes = x[:whole].reshape(vectors, _SINGLES * number)
    runs = vectors // _RUNS
    if runs:
        split = runs * _RUNS
        first = _added(lanes[:split].reshape(runs, -1)).reshape(_RUNS, -1) if runs > 1 else lanes[:_RUNS]
        lanes = _join((first[:1], lanes[split:], first[1:])) if vectors % _RUNS else first
    lanes = _reduce(lanes, axis=0).reshape(_SINGLES, number)
    result: Array = _reduce(_join((x[whole:], lanes)) if whole < count else lanes, axis=0, initial=_ZERO)
    return result


def in_order(x: Array, axis: int = 0) -> Any:
    """Sum along an axis that is not the last one, one entry after the other; a sum of -0 is -0.

    numpy reduces such an axis of a contiguous array in this order, unless its innermost loop has one element, and much faster than it
    accumulates.
    """
    if x.flags.c_contiguous and x.shape[axis] and math.prod(x.shape[axis + 1 :]) > 1:
        return _reduce(x, axis=axis, initial=-0.0)
    return _accumulate(x, axis=axis).take(-1, axis=axis)


def lanes_sum(x: Array) -> Array:
    """Sum along the last axis, kept as 1, as PyTorch's vector helpers add (ATen/cpu/vec/functional.h).

    Sixteen lanes run along the row, what is left over goes to the first of them, and the lanes are folded in halves;
    rows shorter than the lanes are added one after another.
    """
    count = x.shape[-1]
    if x.dtype is not _FLOAT32 or not 0 < x.size <= LARGEST:
        return np.asarray(_reduce(x, axis=-1, keepdims=True))
    if count < _WIDE:
        return np.add.accumulate(x, axis=-1)[..., -1:]
    whole = count - count % _WIDE
    lanes: Array = in_order(x[..., :whole].reshape(*x.shape[:-1], -1, _WIDE), x.ndim - 1)
    if whole < count:
        lanes[..., : count - whole] += x[..., whole:]
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = lanes[..., :half] + lanes[..., half:]
    return lanes


def _some(x: Array, axes: list[int]) -> Array:
    """Sum over some axes of several: rows where the reduced axes are innermost in memory, else columns."""
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = [x.shape[i] for i in kept]
    rows = 1
    for n in shape:
        rows *= n
    count = x.size // rows
    order = sorted((i for i in range(x.ndim) if x.shape[i] > 1), key=lambda i: -abs(x.strides[i]))
    inner = order[-1] if order else axes[0]
    moved = x.transpose(kept + axes)
    if inner in axes:
        return _rows(moved.reshape(rows, count)).reshape(shape)
    # columns: the elements behind the last reduced axis in memory lie side by side
    behind = 1
    for i in reversed(order):
        if i in axes:
            break
        behind *= x.shape[i]
    table = x.transpose(axes + kept).reshape(count, rows)
    if behind == rows:
        return _columns(table).reshape(shape)
    side = table.reshape(count, -1, behind)
    return np.stack([_columns(side[:, k]) for k in range(side.shape[1])]).reshape(shape)


#: the order in which fewer elements than lanes are added
_FEW = {n: np.array([0, *range(4, n), 1, 2, 3]) for n in range(5, _SINGLES)}


def _row(x: Array) -> Any:
    """Sum of a vector. Most sums are of this kind, so the steps of `_rows` are written out for one row."""
    count, width = len(x), _LANES[x.dtype]
    zero = x.dtype.type(0)
    if count < width:
        return _accumulate(x if count < 5 else x[_FEW[count]])[-1] + zero
    vectors = count // width
    whole = vectors * width
    lanes = x[:whole]
    if vectors > 1:
        runs = vectors // _RUNS
        split = runs * _RUNS * width
        if runs > 1:
            lanes = _added(x[:split].reshape(runs, _RUNS * width))
        if runs and vectors % _RUNS:
            lanes = lanes.reshape(-1)
            lanes = _join((lanes[:width], x[split:whole], lanes[width : _RUNS * width]))
        lanes = _reduce(lanes.reshape(-1, width), axis=0)
    return _accumulate(_join((x[whole:], lanes)) if whole < count else lanes)[-1] + zero


def _added(x: Array) -> Any:
    """Sum over axis 0 of a row-major matrix with two rows or more, from top to bottom, in levels of 16 rows."""
    if len(x) == 2:
        return x[0] + x[1]  # a reduction takes twice as long
    return _reduce(x, axis=0) if len(x) <= _STEP else _levels(x)


def _rows(x: Array) -> Array:
    """Sum of every row of a matrix, as the kernel adds contiguous rows."""
    count, width = x.shape[1], _LANES[x.dtype]
    if count < width:
        return _runs(x.T)
    vectors = count // width
    lanes = _runs(x[:, : vectors * width].reshape(len(x), vectors, width).transpose(1, 0, 2))
    rest = np.concatenate([x[:, vectors * width :], lanes], axis=1)
    return np.add.accumulate(rest, axis=1)[:, -1] + x.dtype.type(0)  # type: ignore[no-any-return]


def _columns(x: Array) -> Array:
    """Sum of every column of a row-major matrix."""
    count, width = x.shape[1], _LANES[x.dtype]
    group = width * _RUNS if count >= width else _RUNS
    whole = count - count % group
    if whole == count:
        return _one_run(x)
    rest = _runs(x[:, whole:])
    return np.concatenate([_one_run(x[:, :whole]), rest]) if whole else rest


def _runs(x: Array) -> Array:
    """Sum over axis 0 in four interleaved runs."""
    count = len(x)
    quarter = count // _RUNS
    if quarter == 0:
        return _from_zero(x)
    partial: Any = _one_run(x[: quarter * _RUNS].reshape(quarter, _RUNS, *x.shape[1:]))
    first: Array = partial[0]
    for extra in x[quarter * _RUNS :]:
        first = first + extra
    for k in range(1, _RUNS):
        first = first + partial[k]
    return first


def _one_run(x: Array) -> Array:
    """Sum over axis 0 from top to bottom, in levels of 16 rows."""
    if len(x) <= _STEP:
        return _from_zero(x)
    return _levels(x)


def _from_zero(x: Array) -> Array:
    return in_order(x) + x.dtype.type(0) if len(x) else np.zeros(x.shape[1:], x.dtype)


def _levels(x: Array) -> Array:
    """The cascade: runs of rows go to the first level, runs of those to the next, and so on. What is left over on each is added at last."""
    step = 1 << max(4, int(len(x) - 1).bit_length() // 4)
    left: list[Array] = []
    for _ in range(3):
        whole = len(x) - len(x) % step
        if whole < len(x):
            left.append(_from_zero(x[whole:]))
        if not whole:
            break
        x = in_order(x[:whole].reshape(-1, step, *x.shape[1:]), 1) + x.dtype.type(0)
    else:
        left.append(_from_zero(x))
    made = left[0]
    for more in left[1:]:
        made = made + more
    return made


#: what is added up before it is added to the next level
_LEVEL = 16
_LEVELS = 8


def in_levels(values: Array) -> Any:
    """The sum of a vector as PyTorch's kernel of the negative log likelihood adds it up: the first element last, the others by groups."""
    levels, rest = [], values[1:]
    while len(rest):
        whole = len(rest) - len(rest) % _LEVEL
        if whole < len(rest):
            levels.append(in_order(rest[whole:]))
        rest = np.asarray(in_order(rest[:whole].reshape(-1, _LEVEL).T)) if whole else rest[:0]
    return in_order(np.array([*levels, values[0]], values.dtype)) + values.dtype.type(0)


def in_broken_levels(values: Array, counted: Array, rounded: Callable[[Array], Array]) -> Any:
    """As `in_levels`, of the elements that are `counted`: those that are not do not end a group. `rounded` rounds each sum."""
    places = np.flatnonzero(counted)
    values = values[places]
    levels = []
    for level in range(1, _LEVELS):
        ends = np.flatnonzero(places % _LEVEL**level == 0)
        sums = _groups_added(values, ends, rounded)
        levels.append(sums[len(ends) :])
        values, places = sums[: len(ends)], places[ends]
    return _groups_added(np.concatenate((*levels, values)), np.zeros(0, np.int64), rounded)[0]


def _groups_added(values: Array, ends: Array, rounded: Callable[[Array], Array]) -> Array:
    """The sums of groups of values, one after the other; each group ends with the element of an index, but for the last."""
    starts = np.concatenate(([0], ends + 1))
    sizes = np.diff(starts, append=len(values))
    sums = np.zeros(len(starts), values.dtype)
    for step in range(max(sizes)):
        there = np.flatnonzero(sizes > step)
        sums[there] = rounded(sums[there] + values[starts[there] + step])
    return sums
