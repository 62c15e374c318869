"""`tensor[index]` and `tensor[index] = value`: ints, slices, None, Ellipsis, bools, lists, masks and integer tensors.

An index is taken apart as PyTorch does: from left to right, views first (SelectBackward0, SliceBackward0,
UnsqueezeBackward0), then one IndexBackward0 for everything that holds lists or tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core import dtypes, inplace, warnings
from gradcli.core.function import Function
from gradcli.core.ops.casting import ALIAS
from gradcli.core.ops.shape import UNSQUEEZE, VIEW, expand
from gradcli.core.ops.slicing import END, SELECT, SLICE
from gradcli.core.record import Op, Rule
from gradcli.core.signature import hooks, scalar_of
from gradcli.core.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError

#: per dimension an array of positions, a mask (which may span several dimensions), or None for all of it
Indices = tuple[Array | None, ...]


# --- the records ---


def _key(indices: Indices) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else i for i in indices)


def _unique(indices: Indices) -> bool:
    """One mask and nothing else: no element is met twice."""
    given = [i for i in indices if i is not None]
    return len(given) == 1 and given[0].dtype.kind == "b"


def _gather(a: Array, indices: Indices) -> Array:
    return np.ascontiguousarray(a[_key(indices)])


def put(array: Array, values: Any, indices: Indices, accumulate: bool) -> Array:
    """Write or add values at the positions, in place."""
    key = _key(indices)
    if not accumulate:
        array[key] = values
    elif _unique(indices):
        array[key] += values
    else:
        np.add.at(array, key, values)
    return array


def _put_rule(xp: Any, grad: Any, indices: Any, accumulate: bool, input_dtype: Any) -> Any:
    if accumulate:
        return grad
    return xp.call(INDEX_PUT, grad, xp.zeros((), input_dtype), indices, False)


INDEX = Op(
    "IndexBackward0",
    _gather,
    "input",
    "indices",
    input=Rule(
        lambda xp, grad, indices, input_shape, input_dtype: xp.call(INDEX_BACK, xp.zeros(input_shape, input_dtype), grad, indices, True),
        "= grad added up at the positions it came from",
    ),
)
_VALUES = Rule(lambda xp, grad, indices: xp.call(INDEX, grad, indices), "= grad at the indexed positions")
INDEX_BACK = Op(
    "IndexPutImplBackward0",
    lambda a, values, indices, accumulate: put(a, values, indices, accumulate),
    "input values",
    "indices accumulate",
    input=Rule(_put_rule, "= grad, 0 at the indexed positions unless accumulated"),
    values=_VALUES,
)
INDEX_PUT = Op(
    "IndexPutBackward0",
    lambda a, values, indices, accumulate: put(a.copy(), values, indices, accumulate),
    "input values",
    "indices accumulate",
    input=Rule(_put_rule, "= grad, 0 at the indexed positions unless accumulated"),
    values=_VALUES,
)


# --- reading an index ---


def _is_number(value: Any) -> bool:
    return type(value) is int or (
        type(value) is Tensor and value.array.ndim == 0 and value.array.dtype.kind in "iu" and value.dtype is not dtypes.uint8
    )


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (list, tuple, range))


def _as_items(index: Any) -> list[Any]:
    """The items of an index: a tuple's; those of a list that holds more than numbers, as PyTorch still reads it."""
    if isinstance(index, tuple):
        return list(index)
    if isinstance(index, list) and len(index) < 32:
        for item in index:
            if type(item) is Tensor or _is_sequence(item) or isinstance(item, slice):
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
    return list(index)


def _positions(values: Any) -> Array:
    """A list as an array of positions or a mask; numbers with a fraction lose it, as in PyTorch."""
    if isinstance(values, range):
        limits.check_list(len(values))
        values = list(values)
    plain = _plain_list(values)
    _check_rectangular(plain)
    array = np.array(plain)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "b":
        return array
    if array.dtype.kind not in "iuf":
        raise ProgramError("RuntimeError", "Overflow when unpacking long long")
    return array.astype(np.int64)


def _plain_list(values: Any) -> Any:
    """Tensors within lists become their numbers."""
    if type(values) is Tensor:
        return values.tolist()
    if _is_sequence(values):
        return [_plain_list(v) for v in values]
    if type(values) is str:
        raise ProgramError("TypeError", "new(): invalid data type 'str'")
    if type(values) not in (int, float, bool):
        raise ProgramError("TypeError", f"an integer is required (got type {hooks.type_name(values)})")
    return values


def _check_rectangular(values: Any, depth: int = 0) -> None:
    if isinstance(values, list) and values:
        lengths = {len(v) if isinstance(v, list) else -1 for v in values}
        if len(lengths) > 1:
            first = len(values[0]) if isinstance(values[0], list) else -1
            other = next(v for v in values if (len(v) if isinstance(v, list) else -1) != first)
            if first >= 0 and isinstance(other, list):
                raise ProgramError("ValueError", f"expected sequence of length {first} at dim {depth + 1} (got {len(other)})")
            raise ProgramError("TypeError", "not a sequence" if first >= 0 else "an integer is required (got type list)")
        for v in values:
            _check_rectangular(v, depth + 1)


def _index_array(tensor: Tensor) -> Array:
    """A tensor used as an index."""
    if tensor.dtype is dtypes.uint8:
        warnings.emit(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead. (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/IndexingUtils.h:37.)"
        )
        return tensor.array.astype(np.bool_)
    if tensor.dtype not in (dtypes.int64, dtypes.int32, dtypes.bool_):
        raise ProgramError("IndexError", "tensors used as indices must be long, int, byte or bool tensors")
    return tensor.array


def _consumed(item: Any) -> int:
    """How many dimensions an item speaks of."""
    if item is None or item is Ellipsis or item is True or item is False:
        return 0
    if type(item) is Tensor and item.dtype in (dtypes.bool_, dtypes.uint8):
        return item.array.ndim
    if _is_sequence(item) and item:
        array = _positions(item)
        return array.ndim if array.dtype.kind == "b" else 1
    return 1


def _bounds(item: slice) -> tuple[int, int, int]:
    """Start, end and step as PyTorch keeps them."""
    for value in (item.start, item.stop, item.step):
        if value is not None and not _is_number(value) and not isinstance(value, bool):
            raise ProgramError("TypeError", "slice indices must be integers or None or have an __index__ method")
    start, stop, step = (None if v is None else int(v.item()) if type(v) is Tensor else int(v) for v in (item.start, item.stop, item.step))
    step = 1 if step is None else step
    if step == 0:
        raise ProgramError("ValueError", "slice step cannot be zero")
    if step < 0:
        raise ProgramError("ValueError", "step must be greater than zero")
    return 0 if start is None else start, END if stop is None else stop, step


def _select(tensor: Tensor, dim: int, index: int, place: int) -> Tensor:
    length = tensor.array.shape[dim]
    if not -length <= index < length:
        raise ProgramError("IndexError", f"index {index} is out of bounds for dimension {place} with size {length}")
    return SELECT(tensor, dim, index)  # type: ignore[no-any-return]


def _slice(tensor: Tensor, dim: int, item: slice, keep_full: bool) -> Tensor:
    start, end, step = _bounds(item)
    if not tensor.array.ndim:
        raise ProgramError("IndexError", "slice() cannot be applied to a 0-dim tensor.")
    if not keep_full and start == 0 and step == 1 and end >= tensor.array.shape[dim]:
        return tensor
    return SLICE(tensor, dim, start, end, step)  # type: ignore[no-any-return]


def _wrong_type(item: Any) -> ProgramError:
    return ProgramError(
        "IndexError",
        f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {hooks.type_name(item)})",
    )


def _apply(tensor: Tensor, items: list[Any]) -> tuple[Tensor, Indices]:
    """The view that the plain items make, and what is left for IndexBackward0."""
    rank = tensor.array.ndim
    specified = sum(_consumed(item) for item in items)
    if specified > rank:
        raise ProgramError("IndexError", f"too many indices for tensor of dimension {rank}")
    result = tensor
    dim = 0
    found: list[Array | None] = []
    places = 0
    for item in items:
        if _is_number(item):
            result = _select(result, dim, int(item.item()) if type(item) is Tensor else item, places)
            places += 1
        elif isinstance(item, slice):
            result = _slice(result, dim, item, False)
            dim += 1
            places += 1
        elif item is Ellipsis:
            dim += rank - specified
            places += rank - specified
        elif item is None:
            result = UNSQUEEZE(result, dim)
            dim += 1
        else:
            result, array = _advanced(result, dim, item)
            found += [None] * (dim - _spanned(found)) + [array]
            dim += max(array.ndim, 1) if array.dtype.kind == "b" else 1
            places += _consumed(item)
    return result, tuple(found)


def _spanned(indices: Sequence[Array | None]) -> int:
    return sum(i.ndim if i is not None and i.dtype.kind == "b" else 1 for i in indices)


def _advanced(tensor: Tensor, dim: int, item: Any) -> tuple[Tensor, Array]:
    """An item that IndexBackward0 handles; a single bool gets a dimension of its own."""
    if item is True or item is False or (type(item) is Tensor and item.array.ndim == 0 and item.dtype in (dtypes.bool_, dtypes.uint8)):
        truth = item if type(item) is bool else bool(item.item())
        return UNSQUEEZE(tensor, dim), np.zeros(1 if truth else 0, np.int64)
    if type(item) is Tensor:
        return tensor, _index_array(item)
    if _is_sequence(item):
        return tensor, _positions(item)
    if type(item) is str:
        raise ProgramError("TypeError", "new(): invalid data type 'str'")
    raise _wrong_type(item)


def _check_indices(tensor: Tensor, indices: Indices) -> tuple[int, ...]:
    """The shape that indexing gives; PyTorch's errors for masks of another shape, positions out of range, no common shape."""
    shape = tensor.array.shape
    dim = 0
    flat: list[tuple[int, ...]] = []
    for index in indices:
        if index is None:
            dim += 1
            continue
        if index.dtype.kind == "b":
            for k, n in enumerate(index.shape):
                if shape[dim + k] != n:
                    raise ProgramError(
                        "IndexError",
                        f"The shape of the mask {list(index.shape)} at index {k} does not match the shape of the indexed tensor "
                        f"{list(shape)} at index {dim + k}",
                    )
            flat += [(int(np.count_nonzero(index)),)] * index.ndim
            dim += index.ndim
        else:
            _check_range(index, dim, shape[dim])
            flat.append(index.shape)
            dim += 1
    try:
        common = np.broadcast_shapes(*flat)
    except ValueError:
        shapes = ", ".join(str(list(s)) for s in flat)
        raise ProgramError(
            "IndexError", f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    return _result_shape(shape, indices, common)


def _check_range(index: Array, dim: int, length: int) -> None:
    if index.size and (index.min() < -length or index.max() >= length):
        bad = index[(index < -length) | (index >= length)].flat[0]
        raise ProgramError("IndexError", f"index {bad} is out of bounds for dimension {dim} with size {length}")


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
    # positions side by side keep their place; separated ones go to the front
    at = where[0] if len(set(where)) == 1 else 0
    result = (*kept[:at], *common, *kept[at:])
    count = 1
    for n in result:
        count *= n
    limits.check_elements(count, 4)
    return result


def getitem(tensor: Tensor, index: Any) -> Tensor:
    """`tensor[index]`."""
    kind = type(index)
    if kind is int:
        if not tensor.array.ndim:
            raise _no_dimensions()
        return _select(tensor, 0, index, 0)
    if kind is slice:
        return _slice(tensor, 0, index, True)
    if index is None:
        return UNSQUEEZE(tensor, 0)  # type: ignore[no-any-return]
    if index is Ellipsis:
        return ALIAS(tensor)  # type: ignore[no-any-return]
    if kind is Tensor and not tensor.array.ndim and _is_number(index):
        raise _no_dimensions()
    result, indices = _apply(tensor, _as_items(index))
    if not indices:
        return ALIAS(tensor) if result is tensor else result
    _check_indices(result, indices)
    return INDEX(result, indices)  # type: ignore[no-any-return]


def _no_dimensions() -> ProgramError:
    return ProgramError(
        "IndexError",
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number",
    )


# --- assignment ---


def _value_tensor(tensor: Tensor, value: Any) -> Tensor:
    if type(value) is Tensor:
        return value
    if type(value) not in (int, float, bool):
        raise ProgramError("TypeError", f"can't assign a {hooks.type_name(value)} to a torch.{tensor.dtype.torch_name}Tensor")
    if type(value) is int and abs(value) >= 1 << 63:
        raise ProgramError("ValueError", "Overflow when unpacking long long")
    if tensor.dtype.category == 1:
        info = np.iinfo(tensor.dtype.np)
        if not max(info.min, -info.max) <= value <= info.max:
            name = "int" if tensor.dtype is dtypes.int32 else f"{tensor.dtype.name}_t"
            raise ProgramError("RuntimeError", f"value cannot be converted to type {name} without overflow")
    if type(value) is float and tensor.dtype.category == 1:
        value = int(value)
    return Tensor(dtypes.cast(np.asarray(scalar_of(value, tensor.dtype)), tensor.dtype), tensor.dtype)


def _without_leading_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    first = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    return shape[first:]


def _copy_to(target: Tensor, value: Tensor) -> None:
    """Write a value into a view, as an assignment does."""
    if value.array.shape == target.array.shape:
        inplace.copy_(target, value)
    elif value.array.ndim == 0:
        inplace.fill_(target, value)
    else:
        shaped: Tensor = VIEW(value, _without_leading_ones(value.array.shape))
        inplace.copy_(target, shaped if shaped.array.shape == target.array.shape else expand(shaped, target.array.shape))


def setitem(tensor: Tensor, index: Any, value: Any) -> None:
    """`tensor[index] = value`."""
    value = _value_tensor(tensor, value)
    if index is False:
        return
    if index is None or index is True:
        _copy_to(UNSQUEEZE(tensor, 0), value)
        return
    if index is Ellipsis:
        _copy_to(tensor, value)
        return
    if type(index) is int or (type(index) is Tensor and not tensor.array.ndim and _is_number(index)):
        _copy_to(getitem(tensor, index), value)
        return
    if type(index) is slice:
        _copy_to(_slice(tensor, 0, index, False), value)
        return
    target, indices = _apply(tensor, _as_items(index))
    if not indices:
        _copy_to(target, value)
        return
    shape = value.array.shape
    short = _without_leading_ones(shape)
    index_put_(target, indices, VIEW(value, short) if short != shape else value, False)


def index_put_(tensor: Tensor, indices: Indices, values: Tensor, accumulate: bool) -> Tensor:
    """Write (or add) values at the positions, in place."""
    shape = _check_indices(tensor, indices)
    _check_values(tensor, indices, values, shape)
    return inplace.write_part(
        tensor,
        INDEX_PUT,
        (values,),
        (indices, accumulate),
        lambda array: put(array, dtypes.cast(values.array, tensor.dtype), indices, accumulate),
    )


def _check_values(tensor: Tensor, indices: Indices, values: Tensor, shape: tuple[int, ...]) -> None:
    if values.dtype is not tensor.dtype and not (_unique(indices) and values.array.size == 1):
        raise ProgramError(
            "RuntimeError",
            f"Index put requires the source and destination dtypes match, got {tensor.dtype.torch_name} for the destination and "
            f"{values.dtype.torch_name} for the source.",
        )
    have = values.array.shape
    lead = len(shape) - len(have)
    if lead < 0 or any(n not in (1, m) for n, m in zip(have, shape[lead:], strict=True)):
        raise ProgramError(
            "RuntimeError",
            f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing result of shape {list(shape)}",
        )


def index_put(tensor: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values written (or added) at the positions."""
    ready = _given(tensor, indices)
    _check_values(tensor, ready, values, _check_indices(tensor, ready))
    return INDEX_PUT(tensor, values, ready, accumulate)  # type: ignore[no-any-return]


def _given(tensor: Tensor, indices: Sequence[Any]) -> Indices:
    ready = tuple(None if i is None else _index_array(i) for i in indices)
    if _spanned(ready) > tensor.array.ndim:
        raise ProgramError(
            "IndexError", f"too many indices for tensor of dimension {tensor.array.ndim} (got {_spanned(ready)})"
        )
    return ready


def _index_put_method(tensor: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    return index_put_(tensor, _given(tensor, indices), values, accumulate)


def nonzero(input: Tensor, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not 0: a row each, or an array for every dimension."""
    if as_tuple:
        array = input.array if input.array.ndim else input.array.reshape(1)
        return tuple(wrap(p) for p in np.nonzero(array))
    return wrap(np.argwhere(input.array).astype(np.int64, copy=False))


_PUT = "Tensor input, Tensors indices, Tensor values, bool accumulate=False"

FUNCTIONS = (
    Function(
        "index_put",
        (_PUT, index_put),
        doc="A copy with values written, or added, at the positions of index tensors.",
        ops=(INDEX, INDEX_PUT),
    ),
    Function("index_put_", (_PUT, _index_put_method), doc="Values written, or added, at the positions of index tensors."),
    Function("nonzero", ("Tensor input, *, bool as_tuple=False", nonzero), doc="Positions of the elements that are not 0."),
    Function("argwhere", ("Tensor input", nonzero), doc="Positions of the elements that are not 0, a row each."),
)
