"""Reading the items of an index: plain items make a view, while positions and masks remain for IndexBackward0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.signature import check_long, is_index, language
from gradcli.core.calling.type_errors import not_an_integer
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import check_rank, without_dimensions, wrap_dim
from gradcli.core.ops.create.from_data import from_positions
from gradcli.core.ops.shape.slicing import END, SELECT, SLICE
from gradcli.core.ops.shape.squeeze import UNSQUEEZE
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.batched import levels, of_all_samples
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, runtime_error, shape_error

#: for each dimension an array of positions, None for all of it, or a mask, which may span several dimensions
Indices = tuple[Array | None, ...]


def is_number(value: Any) -> bool:
    """Whether an item is one position: an int, or a 0-d tensor of integers other than uint8."""
    return type(value) is int or (
        type(value) is Tensor and value.array.ndim == 0 and value.array.dtype.kind in "iu" and value.dtype is not dtypes.uint8
    )


def _is_batched(item: Any) -> bool:
    """Whether vmap has another item for each sample. PyTorch asks for its number where a gradient within vmap has wrapped it."""
    if type(item) is not Tensor or item.batch is None or not state.mapped or not state.mapped[-1].levels(item):
        return False
    if not item.array.ndim and not state.mapped[-1].hides(item):
        state.mapped[-1].number_of(item)  # which raises the error
    return True


def is_position(item: Any) -> bool:
    """Whether an item selects one position, the same for all samples of vmap: others are tensors of positions."""
    return is_number(item) and not _is_batched(item)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (list, tuple, range))


def _is_array(value: Any) -> bool:
    return language.as_array(value) is not None and language.as_number(value) is None


def _torch_item(item: Any) -> Any:
    """An item of an index, with tensors for numpy's arrays and Python's numbers for its scalars."""
    if type(item) is Tensor or type(item) in (int, slice, list, tuple):
        return item
    number = language.plain(item)
    if type(number) in (bool, float, complex):  # PyTorch makes no index of numpy's bools, and its error names numpy's types
        return item
    array = language.as_array(item) if number is item else None
    if array is not None and array.dtype.kind == "f":
        array = array.astype(np.int64)  # numbers of a sequence are truncated
    return number if array is None else wrap(array)


def as_items(index: Any) -> list[Any]:
    """The items of an index. A tuple is unpacked, and so is a list that holds more than numbers, for which PyTorch warns."""
    if isinstance(index, tuple):
        return [_torch_item(item) for item in index]
    index = _torch_item(index)
    if isinstance(index, str) and 0 < len(index) < 32:
        return _warned(list(index), 349)  # a sequence of sequences too
    if isinstance(index, list) and len(index) < 32:
        for item in index:
            if type(item) is Tensor or _is_sequence(item) or isinstance(item, slice) or _is_array(item):
                return _warned(index, 349)
            if item is None or item is Ellipsis:
                return _warned(index, 359)
    return [index]


def _warned(index: list[Any], line: int) -> list[Any]:
    warnings.emit(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use x[tuple(seq)] "
        "instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which will result either in "
        "an error or a different result (Triggered internally at "
        f"/__w/pytorch/pytorch/torch/csrc/autograd/python_variable_indexing.cpp:{line}.)"
    )
    return [_torch_item(item) for item in index]


_MASK_IN_VMAP = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a boolean mask."
)


def index_array(tensor: Tensor) -> Array:
    """The array of a tensor that is used as an index. Raises IndexError for other dtypes than integers and bool."""
    if state.mapped and tensor.dtype in (dtypes.bool_, dtypes.uint8) and state.mapped[-1].levels(tensor):
        raise runtime_error(_MASK_IN_VMAP)
    if tensor.dtype is dtypes.uint8:
        warnings.emit(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead. (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/IndexingUtils.h:37.)"
        )
        return tensor.array.astype(np.bool_)
    if tensor.dtype not in (dtypes.int64, dtypes.int32, dtypes.bool_):
        raise ProgramError("IndexError", "tensors used as indices must be long, int, byte or bool tensors")
    return watched(tensor)


def _consumed(item: Any) -> int:
    """The number of dimensions that an item indexes."""
    if item is None or item is Ellipsis or item is True or item is False:
        return 0
    if type(item) is Tensor and item.dtype in (dtypes.bool_, dtypes.uint8):
        return item.array.ndim
    return 1


def _bounds(item: slice) -> tuple[int, int, int]:
    """Start, end and step of a slice as SliceBackward0 has them."""
    given = (item.start, item.stop, item.step)
    bounds = [language.plain(value) for value in given]
    for value, number in zip(given, bounds, strict=True):
        if type(value) is Tensor and not is_index(value):
            raise not_an_integer(value)
        if value is not None and not is_index(number) and type(value) is not bool:
            raise ProgramError("TypeError", "slice indices must be integers or None or have an __index__ method")
    start, stop, step = (None if v is None else int(v.item()) if type(v) is Tensor else int(v) for v in bounds)
    step = 1 if step is None else step
    if step == 0:
        raise ProgramError("ValueError", "slice step cannot be zero")
    if step < 0:
        raise ProgramError("ValueError", "step must be greater than zero")
    return 0 if start is None else start, END if stop is None else stop, step


def select_at(tensor: Tensor, dim: int, index: int, place: int) -> Tensor:
    """The view of one position of dimension `dim`. Raises IndexError, which calls the dimension `place`, that of the item in the index."""
    # after a second ellipsis `dim` may be behind the last dimension
    length = tensor.array.shape[dim] if dim < tensor.array.ndim else 0
    if not -length <= index < length:
        check_long(index)
        raise shape_error(f"index {index} is out of bounds for dimension {place} with size {length}", "IndexError")
    return SELECT(tensor, dim, index)  # type: ignore[no-any-return]


def slice_at(tensor: Tensor, dim: int, item: slice, keep_full: bool) -> Tensor:
    """The view of a slice of dimension `dim`; unless `keep_full`, the tensor itself for a slice of the whole dimension."""
    start, end, step = _bounds(item)
    if not tensor.array.ndim:
        raise without_dimensions(tensor, ProgramError("IndexError", "slice() cannot be applied to a 0-dim tensor."))
    if not keep_full and start == 0 and step == 1 and end >= tensor.array.shape[dim]:
        return tensor
    return SLICE(tensor, dim, start, end, step)  # type: ignore[no-any-return]


def _wrong_type(item: Any) -> ProgramError:
    kind = language.type_name(item)
    return ProgramError(
        "IndexError", f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {kind})"
    )


def apply_items(tensor: Tensor, items: list[Any]) -> tuple[Tensor, Indices]:
    """The view that the plain items make, and the positions and masks for IndexBackward0."""
    rank = tensor.array.ndim
    specified = sum(_consumed(item) for item in items)
    if specified > rank:
        raise shape_error(f"too many indices for tensor of dimension {rank}", "IndexError")
    result = tensor
    dim = 0
    found: list[Array | None] = []
    for place, item in enumerate(items):
        if is_position(item):
            result = select_at(result, dim, int(item.item()) if type(item) is Tensor else item, place)
        elif isinstance(item, slice):
            result = slice_at(result, dim, item, False)
            dim += 1
        elif item is Ellipsis:
            dim += rank - specified
        elif item is None:
            result = UNSQUEEZE(result, dim)
            dim += 1
        else:
            result, array = _advanced(result, dim, item)
            found += [None] * (dim - spanned(found)) + [array]
            dim += max(array.ndim, 1) if array.dtype.kind == "b" else 1
    return result, tuple(found)


def spanned(indices: Sequence[Array | None]) -> int:
    """The number of dimensions that the indices span."""
    return sum(i.ndim if i is not None and i.dtype.kind == "b" else 1 for i in indices)


def _advanced(tensor: Tensor, dim: int, item: Any) -> tuple[Tensor, Array]:
    """The tensor and the array for an item that IndexBackward0 handles; a single bool indexes a new dimension of size 1."""
    if _is_batched(item):
        return tensor, index_array(item)
    if item is True or item is False or (type(item) is Tensor and item.array.ndim == 0 and item.dtype in (dtypes.bool_, dtypes.uint8)):
        truth = item if type(item) is bool else bool(item.item())
        return UNSQUEEZE(tensor, dim), np.zeros(1 if truth else 0, np.int64)
    if type(item) is Tensor:
        return tensor, index_array(item)
    if _is_sequence(item):
        return tensor, index_array(from_positions(item))
    if isinstance(item, str):
        raise ProgramError("TypeError", "new(): invalid data type 'str'")
    raise _wrong_type(item)


def _check_mask(tensor: Tensor, dim: int, mask: Array) -> None:
    """Raise IndexError for a mask of another shape than the dimensions from `dim` on."""
    shape = tensor.array.shape
    for k, n in enumerate(mask.shape):
        if shape[wrap_dim(dim + k, len(shape))] != n:
            raise shape_error(
                f"The shape of the mask {list(mask.shape)} at index {k} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {dim + k}",
                "IndexError",
            )


def check_masks(tensor: Tensor, indices: Indices) -> None:
    """Raise IndexError for masks of another shape than the dimensions at which they stand, or of more dimensions than there are."""
    dim = 0
    for index in indices:
        if index is not None and index.dtype.kind == "b":
            _check_mask(tensor, dim, index)
            dim += index.ndim
        else:
            dim += 1


def _together(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that positions of these shapes broadcast to. Raises IndexError where there is none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shown = ", ".join(str(list(shape)) for shape in shapes)
        raise shape_error(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shown}", "IndexError") from None


def check_together(indices: Indices) -> None:
    """Raise IndexError for indices that do not broadcast together, each mask as the positions of its elements along each dimension."""
    shapes: list[tuple[int, ...]] = []
    for index in indices:
        if index is not None:
            shapes += [(int(np.count_nonzero(index)),)] * index.ndim if index.dtype.kind == "b" else [index.shape]
    _together(shapes)


def check_indices(tensor: Tensor, indices: Indices) -> tuple[int, ...]:
    """The shape of the result. Raises IndexError for masks of another shape, shapes that do not broadcast, and positions of nothing."""
    shape = tensor.array.shape
    dim = 0
    flat: list[tuple[int, ...]] = []
    lengths: list[int] = []
    for index in indices:
        if index is None:
            dim += 1
            continue
        if index.dtype.kind == "b":
            _check_mask(tensor, dim, index)
            flat += [(int(np.count_nonzero(index)),)] * index.ndim
            lengths += shape[dim : dim + index.ndim]
            dim += index.ndim
        else:
            flat.append(index.shape)
            lengths.append(shape[dim])
            dim += 1
    common = _together(flat)
    if 0 in lengths and 0 not in common:
        raise shape_error("index is out of bounds for dimension with size 0", "IndexError")
    return _result_shape(shape, indices, common)


def check_ranges(tensor: Tensor, indices: Indices) -> None:
    """Raise IndexError for the first position out of range, in the order of the elements of the result.

    Of a tensor without elements, and beside an empty index, PyTorch looks at none. The error has the number of the index among those that
    are no slice, where a mask counts as one for each of its dimensions.
    """
    if not tensor.array.size or any(index is not None and not index.size for index in indices):
        return
    dim = number = 0
    found: list[tuple[Array, int, int]] = []
    for index in indices:
        if index is None:
            dim += 1
            continue
        mask = index.dtype.kind == "b"
        if not mask:
            length = tensor.array.shape[dim]
            places = of_all_samples(index)
            if places.size and (places.min() < -length or places.max() >= length):
                if places is not index:  # PyTorch indexes the batch of a tensor, too
                    bad = places[(places < -length) | (places >= length)].flat[0]
                    place = number + bool(levels(tensor))
                    raise shape_error(f"index {bad} is out of bounds for dimension {place} with size {length}", "IndexError")
                found.append((index, number, length))
        dim += index.ndim if mask else 1
        number += index.ndim if mask else 1
    if found:
        shape = np.broadcast_shapes(*(i.nonzero()[0].shape if i.dtype.kind == "b" else i.shape for i in indices if i is not None))
        firsts = []
        for index, number, length in found:
            wide = np.broadcast_to(index, shape).ravel()
            place = int(np.argmax((wide < -length) | (wide >= length)))
            firsts.append((place, number, int(wide[place]), length))
        _, number, bad, length = min(firsts)
        raise shape_error(f"index {bad} is out of bounds for dimension {number} with size {length}", "IndexError")


def _result_shape(shape: tuple[int, ...], indices: Indices, common: tuple[int, ...]) -> tuple[int, ...]:
    kept: list[int] = []
    where: list[int] = []
    dim = 0
    for index in indices:
        wide = index.ndim if index is not None and index.dtype.kind == "b" else 1
        if index is None:
            kept.append(shape[dim])
        else:
            where.append(len(kept))
        dim += wide
    kept += shape[dim:]
    # adjacent index tensors put their dimensions in their own place, separated ones put them first
    at = where[0] if len(set(where)) == 1 else 0
    result = (*kept[:at], *common, *kept[at:])
    check_rank(len(result))
    limits.check_elements(math.prod(result), 4)
    return result
