"""Views by geometry: shape, strides and offset within the memory of a base, for views whose base was written to.

Gradients of a base live in a buffer laid out like the base's memory, so that the same geometry finds the same elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.record import Op, Rule
from gradcli.core.tensor import Array

#: shape, strides in elements, offset in elements
Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


def geometry(array: Array, base: Array) -> Geometry:
    """Where a view lies within its base."""
    size = array.itemsize
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return array.shape, tuple(s // size for s in array.strides), offset // size


def own_geometry(array: Array) -> Geometry:
    """How a base lies in its own memory."""
    size = array.itemsize
    return array.shape, tuple(s // size for s in array.strides), 0


def extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements of memory that such an array reaches over."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def _window(memory: Array, where: Geometry) -> Array:
    shape, strides, offset = where
    if 0 in shape:
        return np.empty(shape, memory.dtype)
    if extent(shape, strides) + offset > memory.size or offset < 0:
        # torch would read storage outside of the base here, which only as_strided and set_ can reach
        raise ValueError("view outside of its base")
    step = memory.itemsize
    return np.ndarray(shape, memory.dtype, memory, offset * step, tuple(s * step for s in strides))


def seen(array: Array, view: Geometry) -> Array:
    """The array's own memory with the given geometry; the caller has checked that it lies within."""
    shape, strides, offset = view
    step = array.itemsize
    start = array.reshape(-1) if array.ndim == 0 else array
    flat = np.lib.stride_tricks.as_strided(
        start, (max(extent(array.shape, own_geometry(array)[1]), 1),), (step,), writeable=array.flags.writeable
    )
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, tuple(s * step for s in strides), writeable=array.flags.writeable)


def _laid_out(base: Geometry, view: Geometry, dtype: Any) -> tuple[Array, Array, Array]:
    """Zeroed memory with room for base and view, and both as windows into it."""
    room = max(extent(*base[:2]), extent(*view[:2]) + view[2], 1)
    memory = np.zeros(room, dtype)
    return memory, _window(memory, (base[0], base[1], 0)), _window(memory, view)


def laid_open(grad: Array, view: Geometry, base: Geometry) -> tuple[Array, Array] | None:
    """A copy of a gradient of the base, and the view's elements within it; None where elements of the view share a place."""
    if not _separate(view):
        return None
    _, whole, part = _laid_out(base, view, grad.dtype)
    whole[...] = grad
    return whole, part


def blank(view: Geometry, base: Geometry, dtype: Any) -> tuple[Array, Array]:
    """Zeros laid out as the base, and the view of them."""
    _, whole, part = _laid_out(base, view, dtype)
    return whole, part


def scatter(grad: Array, view: Geometry, base: Geometry) -> Array:
    """Zeros in the shape of the base with `grad` added at the view's elements."""
    memory, whole, part = _laid_out(base, view, grad.dtype)
    if any(s == 0 and n > 1 for n, s in zip(view[0], view[1], strict=True)) or not _separate(view):
        positions = _window(np.arange(memory.size), view)
        np.add.at(memory, positions.reshape(-1), grad.reshape(-1))
    else:
        part[...] = grad
    return whole if whole.flags.c_contiguous else whole.copy()


def _separate(view: Geometry) -> bool:
    """Whether no two elements of the view share a place: each stride steps over all that is inside it."""
    reach = 1
    for s, n in sorted((s, n) for n, s in zip(view[0], view[1], strict=True) if n > 1):
        if s < reach:
            return False
        reach = s * (n - 1) + reach
    return True


def gather(grad: Array, view: Geometry, base: Geometry) -> Array:
    """The view's elements of a gradient of the base."""
    _, whole, part = _laid_out(base, view, grad.dtype)
    whole[...] = grad
    return part.copy()


def outside(view: Geometry, base: Geometry) -> Array:
    """A mask in the shape of the base: True where the view does not reach."""
    _, whole, part = _laid_out(base, view, np.bool_)
    part[...] = True
    return ~whole


AS_STRIDED: Op = Op(
    "AsStridedBackward0",
    lambda array, view, base: gather(array, view, base),
    "input",
    "view base",
    input=Rule(
        lambda xp, grad, view, base: xp.call(STRIDED_SCATTER, grad, view, base),
        "= grad placed at the view's elements, 0 elsewhere",
    ),
)
STRIDED_SCATTER: Op = Op(
    "AsStridedScatterBackward0",
    scatter,
    "input",
    "view base",
    input=Rule(lambda xp, grad, view, base: xp.call(AS_STRIDED, grad, view, base), "= the view's elements of grad"),
)
