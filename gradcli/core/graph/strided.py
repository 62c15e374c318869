"""Views by geometry: shape, strides and offset within the memory of a base, for views whose base was written to.

Gradients of a base live in a buffer laid out like the base's memory, so that the same geometry finds the same elements.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.graph.record import Op, Rule, check_strides, mark_view
from gradcli.core.kernels import Array
from gradcli.core.kernels.memory_format import address, owner
from gradcli.core.tensor.batched import BatchedArray
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error

#: shape, strides in elements, offset in elements
Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


def geometry(array: Array, base: Array) -> Geometry:
    """Where a view lies within its base."""
    size = array.itemsize
    # a view of a base without elements may be in other memory
    offset = address(_of_all(array)) - address(_of_all(base)) if base.size else 0
    return array.shape, tuple(s // size for s in array.strides), offset // size


def _of_all(array: Any) -> Array:
    """The array itself; for a batched one, of which the first sample begins at the same place, that of all samples."""
    while type(array) is BatchedArray:
        array = array.value.array
    found: Array = array
    return found


def own_geometry(array: Array) -> Geometry:
    """How a base lies in its own memory."""
    size = array.itemsize
    return array.shape, tuple(s // size for s in array.strides), 0


def extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The number of elements of memory from the first to the last element of such an array."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def _window(memory: Array, where: Geometry) -> Array:
    shape, strides, offset = where
    step = memory.itemsize
    if 0 in shape:
        return nothing_at(memory, 0, shape, tuple(s * step for s in strides))
    if extent(shape, strides) + offset > memory.size or offset < 0:
        # only as_strided and set_ can reach storage outside of the base, which PyTorch would read here
        raise ValueError("view outside of its base")
    return np.ndarray(shape, memory.dtype, memory, offset * step, tuple(s * step for s in strides))


class _Place:
    """What numpy makes an array of, which keeps the memory of `base`."""

    def __init__(self, base: Array, interface: dict[str, Any]) -> None:
        self.base = base
        self.__array_interface__ = interface


def nothing_at(base: Array, place: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view without elements, `place` bytes behind the first element of `base`, with strides in bytes. numpy's slices have no place."""
    interface = np.asarray(base).__array_interface__
    address, read_only = interface["data"]
    return np.asarray(_Place(base, {**interface, "data": (address + place, read_only), "shape": shape, "strides": strides}))


def seen(array: Array, view: Geometry) -> Array:
    """The array's own memory with the given geometry; the caller has checked that it lies within."""
    shape, strides, offset = view
    step = array.itemsize
    if 0 in shape:
        return nothing_at(array, offset * step, shape, tuple(s * step for s in strides))
    start = array.reshape(-1) if array.ndim == 0 else array
    flat = np.lib.stride_tricks.as_strided(
        start, (max(extent(array.shape, own_geometry(array)[1]), 1),), (step,), writeable=array.flags.writeable
    )
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, tuple(s * step for s in strides), writeable=array.flags.writeable)


def resized(array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """An array of this shape and these dense strides in the memory of another, from its first element on, and then 0.

    Raises RuntimeError where that memory is too small, and has other elements too, which PyTorch moves; LimitError for too many elements.
    """
    memory = owner(array)
    _, own, offset = geometry(array, memory)
    count = math.prod(shape)
    limits.check_elements(count, array.itemsize)
    if not count:
        check_strides(shape)
        return nothing_at(array, 0, shape, tuple(s * array.itemsize for s in strides))
    flat = seen(memory, ((extent(*own_geometry(memory)[:2]),), (1,), 0))[offset:]
    if flat.size < count:
        if offset or extent(array.shape, own) < flat.size:
            raise runtime_error("a view that is resized to more elements than its memory has is not part of gradcli")
        flat = np.concatenate([flat, np.zeros(count - flat.size, flat.dtype)])
    return seen(flat[:count], (shape, strides, 0))


def _laid_out(base: Geometry, view: Geometry, dtype: Any) -> tuple[Array, Array, Array]:
    """Zeroed memory with room for base and view, and both as windows into it."""
    room = max(extent(*base[:2]), extent(*view[:2]) + view[2], 1)
    memory = np.zeros(room, dtype)
    return memory, _window(memory, (base[0], base[1], 0)), _window(memory, view)


def laid_open(grad: Array, view: Geometry, base: Geometry) -> tuple[Array, Array] | None:
    """A copy of a gradient of the base, and the view's elements as a window into it; None if elements of the view share memory."""
    if not separate(view):
        return None
    _, whole, part = _laid_out(base, view, grad.dtype)
    whole[...] = grad
    return whole, part


def blank(view: Geometry, base: Geometry, dtype: Any) -> tuple[Array, Array]:
    """Zeros laid out as the base, and the view's elements as a window into them."""
    _, whole, part = _laid_out(base, view, dtype)
    return whole, part


def blank_tensors(view: Geometry, base: Geometry, dtype: DType) -> tuple[Tensor, Tensor]:
    """The same as tensors; within vmap they are others for each sample."""
    sizes = tuple(level.size for level in state.mapped)
    step = extent(*base[:2])
    lead = tuple(step * math.prod(sizes[at + 1 :]) for at in range(len(sizes)))
    part, of_all = (((*sizes, *shape), (*lead, *strides), offset) for shape, strides, offset in (view, base))
    made = [Tensor(array, dtype) for array in blank(part, of_all, dtype.np)]
    for level in state.mapped:
        for one in made:
            one.meta = level.within
        made = [Tensor(BatchedArray(one, 0, level), dtype) for one in made]  # type: ignore[arg-type]
    return made[0], made[1]


def scatter(grad: Array, view: Geometry, base: Geometry) -> Array:
    """Zeros in the shape of the base, and with its strides, with `grad` added at the view's elements.

    Elements of the base that share a place get equal parts, as in PyTorch's as_strided_backward.
    """
    if not grad.size:
        return np.zeros(base[0], grad.dtype)
    memory, whole, part = _laid_out(base, view, grad.dtype)
    _add(memory, part, view, grad)
    if not separate(base):
        memory /= _sharers(memory.size, base)
    return whole


def _add(memory: Array, window: Array, where: Geometry, values: Array) -> None:
    """Add values to zeroed memory at the elements of its window."""
    if separate(where):
        window[...] = values
    else:
        np.add.at(memory, _window(np.arange(memory.size), where).reshape(-1), values.reshape(-1))


def _sharers(room: int, where: Geometry) -> Array:
    """How many elements share each place in memory, at least 1."""
    return np.maximum(np.bincount(_window(np.arange(room), where).reshape(-1), minlength=room), 1)


def separate(view: Geometry) -> bool:
    """Whether no two elements of the view share a place: each stride steps over all that is inside it."""
    reach = 1
    for s, n in sorted((s, n) for n, s in zip(view[0], view[1], strict=True) if n > 1):
        if s < reach:
            return False
        reach = s * (n - 1) + reach
    return True


def gather(grad: Array, view: Geometry, base: Geometry) -> Array:
    """The view's elements of a gradient of the base, with the view's strides: the transpose of `scatter`."""
    memory, whole, part = _laid_out(base, view, grad.dtype)
    _add(memory, whole, base, grad)
    if not separate(base):
        memory /= _sharers(memory.size, base)
    return part


def outside(view: Geometry, base: Geometry) -> Array:
    """A mask in the shape of the base: True where the view does not reach."""
    _, whole, part = _laid_out(base, view, np.bool_)
    part[...] = True
    return ~whole


def _formula(shape: str, stride: str, start: str, end: str) -> str:
    """From one layout of the same memory to the other; elements of the base that share a place count in equal parts."""
    return (
        f"n = 1 + sum(k * s for k, s in zip({shape}, {stride})); "
        f"own = arange(n).as_strided({shape}, {stride}); "
        "seen = arange(n).as_strided(size, stride, offset); "
        f"(zeros(n).type_as(grad).put({start}, grad, True) / own.flatten().bincount(minlength=n).clamp(1)).take({end})"
    )


def _back(xp: Any, grad: Any, size: Any, stride: Any, offset: int, input_shape: Any, input_stride: Any) -> Any:
    return xp.call(STRIDED_SCATTER, grad, size, stride, offset, input_shape, input_stride)


#: for views with `size`, `stride` and `offset` (in elements) within the memory of an input that has `input_stride`
AS_STRIDED_RULE = Rule(_back, _formula("input.shape", "input_stride", "seen", "own"))
AS_STRIDED: Op = Op(
    "AsStridedBackward0",
    lambda a, size, stride, offset, input_stride: gather(a, (size, stride, offset), (a.shape, input_stride, 0)),
    "input",
    "size stride offset input_stride",
    saved="size storage_offset=offset stride",
    input=AS_STRIDED_RULE,
    complex=True,
)
STRIDED_SCATTER: Op = Op(
    "AsStridedBackward0",
    lambda a, size, stride, offset, shape, base_stride: scatter(a, (size, stride, offset), (shape, base_stride, 0)),
    "input",
    "size stride offset shape base_stride",
    saved="size storage_offset=offset stride",
    input=Rule(
        lambda xp, grad, size, stride, offset, base_stride: xp.call(AS_STRIDED, grad, size, stride, offset, base_stride),
        _formula("shape", "base_stride", "own", "seen"),
    ),
    complex=True,
)


def record_part(part: Tensor, base: Tensor, of_part: Any, of_base: Any) -> None:
    """Make `part` the view of `base` that it is by their geometries."""
    mark_view(part, base, "AsStridedBackward0")
    AS_STRIDED.record(part, (base,), (*of_part, of_base[1]))
