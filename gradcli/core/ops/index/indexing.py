"""`tensor[index]` and `tensor[index] = value`: ints, slices, None, Ellipsis, bools, lists, masks and integer tensors.

An index is taken apart as PyTorch does: from left to right, views first (SelectBackward0, SliceBackward0,
UnsqueezeBackward0), then one IndexBackward0 for everything that holds lists or tensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.signature import check_long, language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions.function import Function
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import check_batch, check_captured, check_overlap, check_writable, expanded, shares_places
from gradcli.core.kernels import Array, broadcasts_to, memory_format
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.index.adding import combined_in_bfloat16, combined_in_steps
from gradcli.core.ops.index.index_reading import (
    Indices,
    apply_items,
    as_items,
    check_indices,
    check_masks,
    check_ranges,
    check_together,
    index_array,
    is_position,
    select_at,
    slice_at,
    spanned,
)
from gradcli.core.ops.rules import in_half_precision
from gradcli.core.ops.shape.broadcasting import expand
from gradcli.core.ops.shape.casting import ALIAS
from gradcli.core.ops.shape.squeeze import UNSQUEEZE
from gradcli.core.ops.shape.views import VIEW
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of, wide_scalar_of
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, runtime_error, shape_error

# --- the records ---

#: what a node keeps of an index: arrays, and `:` for whole dimensions, as in `array[key]`
Key = tuple[Array | slice, ...]


def _key(indices: Indices) -> Key:
    return tuple(slice(None) if i is None else i for i in indices)


def unique(indices: Key) -> bool:
    """Whether the index is a single mask, so that no element occurs twice."""
    given = [i for i in indices if not isinstance(i, slice)]
    return len(given) == 1 and given[0].dtype.kind == "b"


def _gather(a: Array, indices: Key) -> Array:
    """The chosen elements, laid out as PyTorch walks the tensor and the positions."""
    inside = indices
    if not a.size:  # positions may be out of range where there are no elements
        inside = tuple(i if isinstance(i, slice) or i.dtype.kind == "b" else np.zeros_like(i) for i in indices)
        a = _with_places(a, indices)
    made = a[inside]
    if not made.ndim:  # of a position of a sample within vmap
        return np.asarray(made)
    places = [i for i in indices if not isinstance(i, slice) and i.dtype.kind != "b"]
    if made.ndim < 2 or all(memory_format.is_row_major(k) for k in (a, *places)):
        return memory_format.contiguous(np.ascontiguousarray(made))
    _, whole, _, _, walked = _walk(a, (), indices)
    return memory_format.laid_out(made, memory_format.dense(whole, walked[::-1]))


def _with_places(a: Array, indices: Key) -> Array:
    """An array whose indexed dimensions have a first position, which numpy asks for beside empty indices too."""
    sizes, dim = list(a.shape), 0
    for i in indices:
        if not isinstance(i, slice) and i.dtype.kind != "b":
            sizes[dim] = max(sizes[dim], 1)
        dim += i.ndim if not isinstance(i, slice) and i.dtype.kind == "b" else 1
    return np.zeros(sizes, a.dtype)


def _walk(array: Array, values: Sequence[Array], indices: Key) -> tuple[Key, tuple[int, ...], int, int, list[int]]:
    """The positions of all dimensions, the shape of what they choose, where the dimensions of the positions begin in it and how many they
    are, and its dimensions in the order in which PyTorch walks the tensor, the values and the positions by their strides.
    """
    key = [k for i in indices for k in (i.nonzero() if not isinstance(i, slice) and i.dtype.kind == "b" else (i,))]
    key += [slice(None)] * (array.ndim - len(key))
    given = [d for d, k in enumerate(key) if not isinstance(k, slice)]
    places = [k for k in key if not isinstance(k, slice)]
    shape = np.broadcast_shapes(*(k.shape for k in places))
    together = given[-1] - given[0] == len(given) - 1
    before = [d for d, k in enumerate(key) if isinstance(k, slice) and together and d < given[0]]
    after = [d for d, k in enumerate(key) if isinstance(k, slice) and d not in before]
    sizes, strides = array.shape, memory_format.element_strides(array)
    whole = (*(sizes[d] for d in before), *shape, *(sizes[d] for d in after))
    walked = memory_format.outer_first(
        whole,
        (*(strides[d] for d in before), *(0 for _ in shape), *(strides[d] for d in after)),
        [*values, *(memory_format.as_viewed(k, k.reshape((1,) * len(before) + k.shape + (1,) * len(after))) for k in places)],
    )
    return tuple(key), whole, len(before), len(shape), walked


def put(array: Array, values: Any, indices: Key, accumulate: bool, add: Any = combined_in_steps) -> Array:
    """Write values to the positions of an array in place, or `add` them there."""
    if not array.size:
        return array
    if any(i.ndim > 1 for i in indices if not isinstance(i, slice)) and not unique(indices):
        values, indices = _in_order(array, np.asarray(values), indices)
    if not accumulate:
        array[indices] = values
    else:
        add(array, indices, values)
    return array


def _in_order(array: Array, values: Array, indices: Key) -> tuple[Array, Key]:
    """Values and positions in one dimension, in PyTorch's order: of values that go to the same position the last one counts."""
    key, whole, first, rank, walked = _walk(array, [values], indices)
    shape = whole[first : first + rank]
    dims = [d - first for d in walked if 0 <= d - first < rank]
    order = [*range(first), *(d + first for d in dims), *range(first + rank, len(whole))]
    flat = iter([np.broadcast_to(k, shape).transpose(dims).ravel() for k in key if not isinstance(k, slice)])
    ordered = np.broadcast_to(values, whole).transpose(order)
    ordered = ordered.reshape(*whole[:first], math.prod(shape), *whole[first + rank :])
    return ordered, tuple(k if isinstance(k, slice) else next(flat) for k in key)


def _put_rule(xp: Any, grad: Any, indices: Any, accumulate: bool, input_dtype: Any) -> Any:
    if accumulate:
        return grad
    return xp.call(INDEX_PUT, grad, xp.zeros((), input_dtype), indices, False)


INDEX: Op = Op(
    "IndexBackward0",
    _gather,
    "input",
    "indices",
    input=Rule(
        lambda xp, grad, indices, input_shape, input_dtype: xp.call(
            _INDEX_BACK_BFLOAT if input_dtype is dtypes.bfloat16 else INDEX_BACK, xp.zeros(input_shape, input_dtype), grad, indices, True
        ),
        "zeros_like(input).put(arange(input.numel()).reshape(input.shape)[indices], grad, True)",
    ),
    complex=True,
)
_VALUES = Rule(lambda xp, grad, indices: xp.call(INDEX, grad, indices), "grad[indices]")
_PUT_FORMULA = (
    "places = arange(input.numel()).reshape(input.shape); grad if accumulate else grad.put(places[indices], zeros_like(grad[indices]))"
)
INDEX_BACK: Op = Op(
    "IndexPutImplBackward0",
    lambda a, values, indices, accumulate: put(a, values, indices, accumulate),
    "input values",
    "indices accumulate",
    input=Rule(_put_rule, _PUT_FORMULA),
    values=_VALUES,
    complex=True,
)
INDEX_PUT: Op = Op(
    "IndexPutBackward0",
    lambda a, values, indices, accumulate: put(a.copy(), values, indices, accumulate),
    "input values",
    "indices accumulate",
    layout="preserved",
    input=Rule(_put_rule, _PUT_FORMULA),
    values=_VALUES,
    complex=True,
    real_part=False,
)
_INDEX_BACK_BFLOAT: Op = in_half_precision(INDEX_BACK, partial(put, add=combined_in_bfloat16))
_INDEX_PUT_BFLOAT = in_half_precision(
    INDEX_PUT, lambda a, values, indices, accumulate: put(a.copy(), values, indices, accumulate, combined_in_bfloat16), "preserved"
)


def _index_put_of(dtype: DType) -> Op:
    return _INDEX_PUT_BFLOAT if dtype is dtypes.bfloat16 else INDEX_PUT


# --- reading ---


def getitem(tensor: Tensor, index: Any) -> Tensor:
    """`tensor[index]`."""
    kind = type(index)
    if kind is int:
        if not tensor.array.ndim and index == 0:
            raise _no_dimensions()
        return select_at(tensor, 0, index, 0)
    if kind is slice:
        return slice_at(tensor, 0, index, True)
    if index is None:
        return UNSQUEEZE(tensor, 0)  # type: ignore[no-any-return]
    if index is Ellipsis:
        return ALIAS(tensor)  # type: ignore[no-any-return]
    result, indices = apply_items(tensor, as_items(index))
    if not indices:
        return ALIAS(tensor) if result is tensor else result
    check_indices(result, indices)
    check_ranges(result, indices)
    return INDEX(result, _key(indices))  # type: ignore[no-any-return]


def _no_dimensions() -> ProgramError:
    return ProgramError(
        "IndexError",
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number",
    )


# --- assignment ---


def value_tensor(tensor: Tensor, value: Any) -> Tensor:
    """An assigned value as a tensor of the dtype that it is written to. Raises TypeError and ValueError."""
    if type(value) is Tensor:
        return value
    array = language.as_array(value)
    if array is not None and not array.ndim and array.dtype not in (np.float32, np.float16, np.bool_):
        value = language.plain(value)
    if type(value) not in (int, float, bool, complex):
        raise type_error(f"can't assign a {{}} to a torch.{tensor.dtype.torch_name}Tensor", value)
    if type(value) is int:
        check_long(value)
    made = Tensor(dtypes.cast(np.asarray(wide_scalar_of(value, tensor.dtype)), tensor.dtype), tensor.dtype)
    return made


def _without_leading_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    first = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    return shape[first:]


def _copy_to(target: Tensor, value: Tensor) -> None:
    """Write a value into a view; leading dimensions of size 1 are dropped, and the others broadcast."""
    if value.array.shape == target.array.shape:
        in_place.copy_(target, value)
    elif value.array.ndim == 0:
        in_place.fill_(target, value)
    else:
        shaped: Tensor = VIEW(value, _without_leading_ones(value.array.shape))
        in_place.copy_(target, shaped if shaped.array.shape == target.array.shape else expand(shaped, target.array.shape))


def setitem(tensor: Tensor, index: Any, value: Any) -> None:
    """`tensor[index] = value`."""
    value = value_tensor(tensor, value)
    if index is False:
        return
    if state.within is not None:
        check_captured("index_put_" if apply_items(tensor, as_items(index))[1] else "copy_", (tensor,))
    if index is None or index is True:
        _copy_to(UNSQUEEZE(tensor, 0), value)
        return
    if index is Ellipsis:
        _copy_to(tensor, value)
        return
    if type(index) is int:
        _copy_to(getitem(tensor, index), value)
        return
    if type(index) is slice:
        _copy_to(slice_at(tensor, 0, index, False), value)
        return
    items = as_items(index)
    target, indices = apply_items(tensor, items)
    if not indices:
        _copy_to(target, value)
        return
    given = [i for i in items if not (i is None or i is Ellipsis or isinstance(i, slice) or is_position(i))]
    if not any(type(i) is Tensor and not i.array.ndim for i in given):  # a single truth value is a position, no mask
        _check_mask(tensor, given, value, False)
    shape = value.array.shape
    short = _without_leading_ones(shape)
    _warn_of_sharing(target)
    index_put_(target, indices, VIEW(value, short) if short != shape else value, False)


def _warn_of_sharing(tensor: Tensor) -> None:
    if shares_places(tensor.array):
        warnings.emit(expanded("index_put_"))


def index_put_(tensor: Tensor, indices: Indices, values: Tensor, accumulate: bool) -> Tensor:
    """Write values to the positions in place, or add them."""
    if state.mapped:
        check_batch(tensor, "index_put_", (values, *(Tensor(i, dtypes.of(i.dtype)) for i in indices if i is not None)))
    check_writable(tensor, values.requires_grad)
    key = _key(indices)
    if tensor.batch is not None:
        more = (indices, values, accumulate)
        return in_place.write_part(
            tensor, INDEX_PUT, (values,), (key, accumulate), lambda _: tensor.batch.level.write(tensor, more, index_put_)
        )
    if shares_places(tensor.array) and unique(key) and values.array.size == 1:
        warnings.emit(expanded("masked_fill_"))
    shape = check_indices(tensor, indices)
    if not (unique(key) and values.array.size == 1):
        for operand in (values, *(wrap(i) for i in indices if i is not None and np.may_share_memory(i, tensor.array))):
            if operand is not values or np.may_share_memory(values.array, tensor.array):
                check_overlap(tensor, operand, apart=True)
    _check_values(tensor, indices, values, shape)
    check_ranges(tensor, indices)
    add = combined_in_bfloat16 if tensor.dtype is dtypes.bfloat16 else combined_in_steps
    return in_place.write_part(
        tensor,
        _index_put_of(tensor.dtype),
        (values,),
        (key, accumulate),
        lambda array: put(array, dtypes.cast(values.array, tensor.dtype), key, accumulate, add),
    )


def _check_mask(tensor: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool) -> None:
    """Raise the errors of `masked_fill_`, which writes one value, for a single mask of bytes, and for no mask at all."""
    if not indices and values.array.size == 1 and not accumulate:
        wrong = "masked_fill_ only supports boolean masks, but got mask with dtype nullptr (uninitialized)"
        raise runtime_error("sym_strides() called on an undefined Tensor" if tensor.array.ndim else wrong)
    (single, *more) = [i for i in indices if i is not None] or [None]
    if not more and values.array.size == 1 and not accumulate and type(single) is Tensor and single.dtype is dtypes.uint8:
        raise runtime_error(f"masked_fill_ only supports boolean masks, but got mask with dtype {single.dtype.c_name}")


def _check_values(tensor: Tensor, indices: Indices, values: Tensor, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError for values of another dtype, and for values that do not broadcast to `shape`."""
    have = values.array.shape
    if not broadcasts_to(have, shape):
        text = f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing result of shape {list(shape)}"
        raise shape_error(text)
    if not indices:
        raise runtime_error("index_put_() without positions is an internal assertion in PyTorch, and not part of gradcli")
    if values.dtype is not tensor.dtype and not (unique(_key(indices)) and values.array.size == 1):
        raise runtime_error(
            f"Index put requires the source and destination dtypes match, got {tensor.dtype.torch_name} for the destination and "
            f"{values.dtype.torch_name} for the source."
        )
    if values.dtype.is_complex and not tensor.dtype.is_complex:
        scalar_of(values.item(), tensor.dtype)  # raises the error for an imaginary part


def index_put(tensor: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values written to the positions, or added."""
    ready = _given(tensor, indices)
    _check_mask(tensor, indices, values, accumulate)
    _check_values(tensor, ready, values, check_indices(tensor, ready))
    check_ranges(tensor, ready)
    return _index_put_of(tensor.dtype)(tensor, values, _key(ready), accumulate)  # type: ignore[no-any-return]


def _check_count(tensor: Tensor, indices: Sequence[Tensor | None]) -> None:
    """Raise IndexError for more indices than dimensions."""
    if len(indices) > tensor.array.ndim:
        raise shape_error(f"too many indices for tensor of dimension {tensor.array.ndim} (got {len(indices)})", "IndexError")


def _given(tensor: Tensor, indices: Sequence[Tensor | None]) -> Indices:
    """The arrays of index tensors. Raises IndexError if they index more dimensions than there are."""
    _check_count(tensor, indices)
    ready = tuple(None if i is None else index_array(i) for i in indices)
    check_masks(tensor, ready)
    if spanned(ready) > tensor.array.ndim:
        check_together(ready)
        wrap_dim(tensor.array.ndim, tensor.array.ndim)  # raises the error of a dimension that there is not
    return ready


def _index_put_method(tensor: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    check_writable(tensor, values.requires_grad)
    _check_count(tensor, indices)
    _warn_of_sharing(tensor)
    for index in indices:
        if type(index) is Tensor and index.dtype not in (dtypes.bool_, dtypes.uint8):
            check_overlap(tensor, index, apart=True)
    ready = _given(tensor, indices)
    _check_mask(tensor, indices, values, accumulate)
    return index_put_(tensor, ready, values, accumulate)


_PUT = "Tensor input, Tensors indices, Tensor values, bool accumulate=False"


FUNCTIONS = (
    Function(
        "index_put",
        (_PUT, index_put),
        doc="A copy with values written, or added, at the positions of index tensors.",
        ops=(INDEX, INDEX_PUT),
    ),
    Function("index_put_", (_PUT, _index_put_method), doc="Values written, or added, at the positions of index tensors."),
)
