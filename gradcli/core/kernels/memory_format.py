"""Memory formats: the strides that PyTorch gives to results.

Two rules make nearly all of them. An elementwise operation walks its operands with their innermost dimension first, and the
result is dense in that order (TensorIterator.cpp: the first operand that tells two dimensions apart decides). A copy keeps the
strides of a dense tensor, and otherwise is dense in the order of its dimensions (`empty_like`, `clone`).
Strides are in elements here; numpy counts bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from gradcli.core.kernels import Array, blocks

Strides = tuple[int, ...]

#: The memory format of an operation's outputs. "contiguous": row-major. "preserved": as `empty_like` of the first array.
#: "iterated": as an elementwise operation on all arrays; "reversed": with the last array first; "numbered": with a number after
#: them, which a record of one tensor keeps apart. "columns": matrices whose columns
#: are contiguous, as LAPACK writes them; vectors in rows.
Layout = Literal["contiguous", "preserved", "iterated", "reversed", "numbered", "columns"]


def contiguous_strides(shape: Sequence[int]) -> Strides:
    """The strides of row-major order. Dimensions of size 0 count as 1."""
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n or 1
    return tuple(reversed(strides))


def owner(array: Array) -> Array:
    """The array that owns the memory of an array."""
    base: Any = array
    while base is not None:
        array = base if isinstance(base, np.ndarray) else array
        base = getattr(base, "base", None)  # between a strided view and its source there is an object of numpy's
    return array


#: by the identity of an array that owns memory: what is told of each part of it that has been written
followers: dict[int, Callable[[Array], None]] = {}


def tell_followers(array: Array) -> None:
    """Say that an array has been written."""
    follower = followers.get(id(owner(array)))
    if follower is not None:
        follower(array)


def address(array: Any) -> int:
    """Where the first element of an array lies in memory."""
    return int(np.asarray(array).__array_interface__["data"][0])


def element_strides(array: Array) -> Strides:
    """The strides of an array. numpy keeps none for a new array without elements, which PyTorch lays out in row-major order."""
    if not _has_strides(array):
        return contiguous_strides(array.shape)
    size = array.itemsize
    return tuple(s // size for s in array.strides)


def _has_strides(array: Array) -> bool:
    return bool(array.size or any(array.strides) or owner(array).size)


def channels_last_strides(shape: Sequence[int]) -> Strides:
    """The strides with which the channels, dimension 1, are innermost."""
    return dense(shape, [1, *range(len(shape) - 1, 1, -1), 0])


def is_channels_last(array: Array) -> bool:
    """Whether all dimensions that have more than one element have the strides of `channels_last_strides`."""
    wanted = channels_last_strides(array.shape)
    return all(n == 1 or s == w for n, s, w in zip(array.shape, element_strides(array), wanted, strict=True))


def suggests_channels_last(array: Array) -> bool:
    """Whether PyTorch takes an array for one with its channels last (MemoryFormat.h, `is_channels_last_strides_2d_s4`)."""
    shape, strides = array.shape, element_strides(array)
    if array.ndim not in (4, 5) or not strides[1]:
        return False
    least = 0
    for d in (1, *range(array.ndim - 1, 1, -1), 0):
        if not shape[d] or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


def of_images(result: Array, *operands: Array) -> Array:
    """The result of an operation on images, with its channels last where one of the operands has them so."""
    for array in operands:
        if suggests_channels_last(array):
            return laid_out(result, channels_last_strides(result.shape))
    return result


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements fill their memory without gaps and without sharing places, as no elements do."""
    if 0 in shape:
        return True
    step = 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if stride != step:
            return False
        step *= n
    return True


def is_permuted(array: Array) -> bool:
    """Whether the elements lie in another order than row-major order, apart from those that are repeated."""
    if array.flags.c_contiguous:
        return False
    strides = [s for s in array.strides if s]
    return any(outer < inner for outer, inner in itertools.pairwise(strides))


def _inner_first(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> list[int]:
    """The dimensions from the innermost to the outermost, as the strides of the first operand that tells two apart order them."""

    def outer(a: int, b: int) -> int:
        for strides in operands:
            s, t = strides[a], strides[b]
            if not s or not t:
                continue
            if s != t:
                return 1 if s > t else -1
            if shape[a] > shape[b]:
                return 1
        return 0

    order = list(range(len(shape)))[::-1]
    for i in range(1, len(order)):
        at = i
        for j in range(i - 1, -1, -1):
            found = outer(order[j], order[at])
            if found > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif found < 0:
                break
    return order


def inner_first(array: Array) -> list[int]:
    """The dimensions of an array from the innermost to the outermost in memory."""
    return _inner_first(array.shape, [element_strides(array)])


def in_order(values: Array, array: Array) -> Array:
    """`values`, which have the shape of `array`, with their dimensions in the order of its memory, the outermost first."""
    return values.transpose(inner_first(array)[::-1])


def filled(array: Array, draw: Callable[[tuple[int, ...]], Array]) -> Array:
    """`array`, filled in the order of its memory with what `draw` gives for a shape."""
    ordered = in_order(array, array)
    ordered[...] = draw(ordered.shape)
    return array


def dense(shape: Sequence[int], order: Sequence[int]) -> Strides:
    """The strides of a dense array whose dimensions lie in `order`, the innermost first."""
    if 0 in shape and order == list(range(len(shape)))[::-1]:
        return contiguous_strides(shape)
    strides = [1] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]  # 0 too, unless the order is row-major
    return tuple(strides)


def preserved(array: Array) -> Strides:
    """The strides of `empty_like`: those of a dense array, else of a dense one with its dimensions in the same order."""
    shape, strides = array.shape, element_strides(array)
    return strides if is_dense(shape, strides) else dense(shape, _inner_first(shape, [strides]))


def of_gradient(array: Array) -> Strides:
    """The strides of the first gradient of an array: those of a dense array, else row-major order."""
    strides = element_strides(array)
    return strides if is_dense(array.shape, strides) else contiguous_strides(array.shape)


def in_dtype(array: Array, dtype: np.dtype[Any]) -> Array:
    """A copy in another dtype."""
    made = array.astype(dtype)
    if array.ndim < 2 or (array.flags.c_contiguous and array.size and 1 not in array.shape):
        return made
    return laid_out(made, preserved(array))


def as_converted(array: Array) -> Array:
    """An array that lies as a copy in another dtype."""
    strides = preserved(array)
    return array if strides == element_strides(array) else empty(array.shape, strides, np.dtype(bool))


def _broadcast_strides(array: Array, shape: tuple[int, ...]) -> list[int]:
    """The strides with which PyTorch reads an array that broadcasts to `shape`: 0 where a dimension is repeated."""
    lead = len(shape) - array.ndim
    return [0] * lead + [0 if array.shape[d] != shape[lead + d] else s for d, s in enumerate(element_strides(array))]


def outer_first(shape: tuple[int, ...], strides: Strides, arrays: Sequence[Array]) -> list[int]:
    """The dimensions in the order in which PyTorch walks an output with these strides and inputs that broadcast to it."""
    return _inner_first(shape, [strides, *(_broadcast_strides(a, shape) for a in arrays)])[::-1]


#: a number among the operands of an elementwise operation
NUMBER: Array = np.zeros(())


def iterated(shape: tuple[int, ...], arrays: Sequence[Array]) -> Strides:
    """The strides of the result of an elementwise operation on arrays that broadcast to `shape`.

    Among operands of one shape a contiguous one is in row-major order, and images may have their channels last, whatever the
    strides of dimensions of size 1.
    """
    if all(a.shape == shape for a in arrays):
        if all(a.flags.c_contiguous for a in arrays):
            return contiguous_strides(shape)
        if len(shape) == 4 and all(map(is_channels_last, arrays)):
            return channels_last_strides(shape)
        first, *rest = map(element_strides, arrays)
        if is_dense(shape, first) and all(strides == first for strides in rest):
            return first
    operands = [_broadcast_strides(a, shape) for a in arrays]
    return dense(shape, _inner_first(shape, operands))


def inner_loop(shape: tuple[int, ...], arrays: Sequence[Array]) -> tuple[list[int], list[int]]:
    """The dimensions that PyTorch walks as one, the innermost first, on arrays that broadcast to `shape`, and the arrays' strides there."""
    operands = [_broadcast_strides(a, shape) for a in arrays]
    order = [d for d in _inner_first(shape, operands) if shape[d] != 1]
    inner = order[:1]
    for before, d in itertools.pairwise(order):
        if any(strides[d] != shape[before] * strides[before] for strides in operands):
            break
        inner.append(d)
    return inner, [strides[d] for d in inner[:1] for strides in operands]


def empty(shape: tuple[int, ...], strides: Strides, dtype: np.dtype[Any]) -> Array:
    """An array, not filled, with the given strides, which are dense."""
    size = dtype.itemsize
    # numpy forgets the strides of an array without elements, unless it is a view
    buffer = np.empty(0, dtype) if 0 in shape else None
    return np.ndarray(shape, dtype, buffer, 0, tuple(s * size for s in strides))


def empty_like(array: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """An array, not filled, with the strides of PyTorch's `empty_like`."""
    return empty(array.shape, preserved(array), dtype or array.dtype)


def zeros_like(array: Array) -> Array:
    """Zeros with the strides of PyTorch's `zeros_like`."""
    made = empty_like(array)
    made.fill(0)
    return made


def laid_out(array: Array, strides: Strides) -> Array:
    """The array with the given dense strides: itself, or a copy."""
    if element_strides(array) == strides and (array.size or any(array.strides)):
        return array
    made = empty(array.shape, strides, array.dtype)
    made[...] = array
    return made


def expanded(array: Array, shape: Sequence[int], writeable: bool = False) -> Array:
    """The elements repeated along dimensions of size 1 and new leading ones, without a copy, with the strides that PyTorch gives them."""
    lead = len(shape) - array.ndim
    strides = tuple(s if n == m else 0 for s, n, m in zip(array.strides, array.shape, shape[lead:], strict=True))
    for i in range(lead - 1, -1, -1):
        step = shape[i + 1] * strides[0] if strides else 0
        strides = (step if shape[i] == 1 else 0, *strides)
    return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=writeable)


def contiguous(array: Array) -> Array:
    """The array in row-major order, also as its dimensions of size 1 tell: itself, or a copy."""
    if not array.ndim or (array.size and is_row_major(array)):
        return array
    return laid_out(array, contiguous_strides(array.shape))


def is_row_major(array: Array) -> bool:
    """Whether all strides are those of row-major order, also of dimensions of size 1, for an array with elements."""
    step = array.itemsize
    for n, stride in zip(array.shape[::-1], array.strides[::-1], strict=True):
        if stride != step:
            return False
        step *= n
    return True


def like_operands(result: Array, operands: Sequence[Array]) -> Array:
    """The result of an elementwise operation, laid out as PyTorch lays it out for these operands."""
    shape = result.shape
    if result.flags.c_contiguous and result.size:
        ones = 1 in shape
        for a in operands:
            if not a.flags.c_contiguous or (ones and a.shape != shape):
                break
        else:
            return result
    return laid_out(result, iterated(shape, operands))


def compared(compare: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Compare two arrays or numbers; the result has PyTorch's layout, which a gradient that is chosen by it takes.

    A number is compared in the dtype of the array.
    """
    made = compare(x, y)
    if not isinstance(made, (np.ndarray, np.generic)):  # an array that is computed later is one in row-major order
        return made
    return like_operands(np.asarray(made), (np.asarray(x), np.asarray(y)))


def where(condition: Any, x: Any, y: Any) -> Array:
    """numpy's choice between two arrays or numbers, laid out as PyTorch's."""
    made: Array = blocks.where(condition, x, y)
    return made if made.ndim < 2 else like_operands(made, [np.asarray(operand) for operand in (condition, x, y)])


def keeping(layout: Layout, forward: Callable[..., Any]) -> Callable[..., Any]:
    """`forward`, an operation on arrays, with its results in a memory format."""

    def run(*args: Any) -> Any:
        result = forward(*args)
        if isinstance(result, np.ndarray):
            return placed(result, args)
        if isinstance(result, tuple):
            return tuple(placed(part, args) if isinstance(part, np.ndarray) else part for part in result)
        return result

    def placed(result: Array, args: tuple[Any, ...]) -> Any:
        first = args[0]
        if result.ndim < (1 if layout in ("preserved", "contiguous") else 2):
            return result
        if layout == "contiguous" or (layout == "columns" and result.ndim < first.ndim):
            return contiguous(result)
        if layout == "preserved":
            return laid_out(result, preserved(first)) if first.shape == result.shape else result
        if layout == "columns":
            return contiguous(result.swapaxes(-1, -2)).swapaxes(-1, -2)
        # an array that is computed later is one in row-major order
        arrays = [a if isinstance(a, np.ndarray) else np.empty(a.shape, np.bool_) for a in args if len(getattr(a, "shape", ()))]
        return like_operands(result, arrays if layout == "iterated" else arrays[::-1])

    return run


def _viewed_strides(shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The strides of a view of another shape, those of its dimensions of size 1 too (TensorUtils.cpp, `computeStride`)."""
    made: list[int] = []
    step, count, filled_to = strides[-1] if strides else 1, 1, 1
    for d in range(len(shape) - 1, -1, -1):
        count *= shape[d]
        if d and (shape[d - 1] == 1 or strides[d - 1] == count * step):
            continue
        while len(made) < len(wanted) and (filled_to < count or wanted[-1 - len(made)] == 1):
            made.append(filled_to * step)
            filled_to *= wanted[-len(made)]
        if d:
            step, count, filled_to = strides[d - 1], 1, 1
    return [*[step] * (len(wanted) - len(made)), *made[::-1]]


def as_viewed(array: Array, view: Array) -> Array:
    """`view`, an array of the same elements as `array` in another shape, with the strides that PyTorch gives it."""
    if not array.size or not np.may_share_memory(array, view):
        return view
    size = array.itemsize
    strides = tuple(s * size for s in _viewed_strides(array.shape, element_strides(array), view.shape))
    if strides == view.strides:
        return view
    return np.lib.stride_tricks.as_strided(view, view.shape, strides, writeable=array.flags.writeable)


def copy(array: Array) -> Array:
    """A copy with PyTorch's strides for `clone`."""
    if array.flags.c_contiguous and array.size and (1 not in array.shape or element_strides(array) == contiguous_strides(array.shape)):
        return array.copy()
    made = empty_like(array)
    made[...] = array
    return made


def copy_of_view(array: Array) -> Array:
    """A copy with the strides of the array, of a dimension that repeats its elements too."""
    if not array.size:
        return copy(array)
    if array.flags.c_contiguous and 1 not in array.shape:
        return array.copy()
    repeated = [n > 1 and not stride for n, stride in zip(array.shape, array.strides, strict=True)]
    made = copy_with_gaps(array[tuple(slice(0, 1) if each else slice(None) for each in repeated)])
    steps = tuple(0 if each else s for each, s in zip(repeated, made.strides, strict=True))
    return np.lib.stride_tricks.as_strided(made, array.shape, steps) if any(repeated) else made


def copy_with_gaps(array: Array) -> Array:
    """A copy with the strides of the array, as `clone_preserve_strides`; where elements share memory, with those of `copy`."""
    strides = element_strides(array)
    if not array.size:
        return empty(array.shape, strides, array.dtype)
    reach = 0
    for stride, n in sorted((s, n) for s, n in zip(strides, array.shape, strict=True) if n > 1):
        if stride <= reach:
            return copy(array)
        reach += stride * (n - 1)
    made = np.ndarray(array.shape, array.dtype, np.zeros(reach + 1, array.dtype), 0, array.strides)
    made[...] = array
    return made


def spelled_out(array: Array) -> Array:
    """An array without elements with the strides that PyTorch's has, for its views; any other array as it is."""
    return array if _has_strides(array) else empty(array.shape, contiguous_strides(array.shape), array.dtype)
