"""Elements picked or written by index tensors and masks: gather, scatter, index_add, masked_select and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core import dtypes
from gradcli.core.ops import scalars
from gradcli.core.ops.broadcasting import common_shape
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.choosing import MASKED_FILL
from gradcli.core.ops.shape import expand, reshape
from gradcli.core.record import Op, Rule
from gradcli.core.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError


def _error(text: str, kind: str = "RuntimeError") -> ProgramError:
    return ProgramError(kind, text)


def _along(dim: int, index: Array, rank: int) -> tuple[Any, ...]:
    """An index for numpy that takes `index` along one dimension and each element's own place along the others."""
    if not rank:
        return (...,)
    places: list[Any] = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    return tuple(places)


def _at(dim: int, index: Any, rank: int) -> tuple[Any, ...]:
    """An index for numpy of whole slices along a dimension."""
    return (slice(None),) * (dim % rank if rank else 0) + ((index,) if rank else (...,))


# --- the records ---


def _gather(a: Array, dim: int, index: Array) -> Array:
    return np.asarray(a[_along(dim, index, a.ndim)]) if a.ndim else np.broadcast_to(a, index.shape).copy()


def _scattered(a: Array, src: Any, dim: int, index: Array, add: bool = False) -> Array:
    made = a.copy()
    if isinstance(src, np.ndarray) and src.shape != index.shape and src.ndim:
        src = src[tuple(slice(0, n) for n in index.shape)]
    if not made.ndim:
        made[...] = made + np.sum(src) if add else np.asarray(src).reshape(-1)[-1]
    elif add:
        np.add.at(made, _along(dim, index, made.ndim), src)
    else:
        made[_along(dim, index, made.ndim)] = src
    return made


def _source(xp: Any, grad: Any, dim: int, index: Any, src_shape: Any, name: str) -> Any:
    if tuple(src_shape) != index.shape:
        raise _error(
            f"Function {name} returned an invalid gradient at index 1 - got {list(index.shape)} but expected shape compatible with "
            f"{list(src_shape)}"
        )
    return xp.call(GATHER, grad, dim, index)


GATHER = Op(
    "GatherBackward0",
    _gather,
    "input",
    "dim index",
    input=Rule(
        lambda xp, grad, dim, index, input_shape, input_dtype: xp.call(SCATTER_ADD, xp.zeros(input_shape, input_dtype), grad, dim, index),
        "= grad added up at the positions it was gathered from",
    ),
)
_ZEROED = Rule(lambda xp, grad, dim, index: xp.call(SCATTER_NUMBER, grad, dim, index, 0), "grad.scatter(dim, index, 0)")
SCATTER = Op(
    "ScatterBackward0",
    _scattered,
    "input src",
    "dim index",
    input=_ZEROED,
    src=Rule(
        lambda xp, grad, dim, index, src_shape: _source(xp, grad, dim, index, src_shape, "ScatterBackward0"), "grad.gather(dim, index)"
    ),
)
SCATTER_NUMBER = Op("ScatterBackward1", lambda a, dim, index, value: _scattered(a, value, dim, index), "input", "dim index value", input=_ZEROED)
SCATTER_ADD = Op(
    "ScatterAddBackward0",
    lambda a, src, dim, index: _scattered(a, src, dim, index, True),
    "input src",
    "dim index",
    input=Rule(lambda grad: grad, "grad"),
    src=Rule(
        lambda xp, grad, dim, index, src_shape: _source(xp, grad, dim, index, src_shape, "ScatterAddBackward0"), "grad.gather(dim, index)"
    ),
)


def _index_select(a: Array, dim: int, index: Array) -> Array:
    return np.take(a, index, axis=dim) if a.ndim else a.copy()


def _index_add(a: Array, source: Array, dim: int, index: Array, alpha: Any) -> Array:
    made = a.copy()
    source = source if alpha == 1 else source * alpha
    if made.ndim:
        np.add.at(made, _at(dim, index, made.ndim), source.reshape((*made.shape[: dim % made.ndim], index.size, *made.shape[dim % made.ndim + 1 :])))
    else:
        made[...] += np.sum(source)
    return made


def _slices(xp: Any, grad: Any, dim: int, index: Any, source_shape: Any) -> Any:
    return xp.broadcast_to(xp.call(INDEX_SELECT, grad, dim, index), source_shape)


INDEX_SELECT = Op(
    "IndexSelectBackward0",
    _index_select,
    "input",
    "dim index",
    input=Rule(
        lambda xp, grad, dim, index, input_shape, input_dtype: xp.call(INDEX_ADD, xp.zeros(input_shape, input_dtype), grad, dim, index, 1),
        "= grad added up at the selected slices",
    ),
)
INDEX_ADD = Op(
    "IndexAddBackward0",
    _index_add,
    "input source",
    "dim index alpha",
    input=Rule(lambda grad: grad, "grad"),
    source=Rule(
        lambda xp, grad, dim, index, alpha, source_shape: (
            _slices(xp, grad, dim, index, source_shape) if alpha == 1 else scalars.times(xp, _slices(xp, grad, dim, index, source_shape), alpha)
        ),
        "alpha * grad.index_select(dim, index)",
    ),
)


def _filled(a: Array, value: Any, dim: int, index: Array) -> Array:
    made = a.copy()
    made[_at(dim, index, made.ndim)] = value
    return made


_UNFILLED = Rule(lambda xp, grad, dim, index: xp.call(INDEX_FILL, grad, dim, index, 0), "grad.index_fill(dim, index, 0)")
INDEX_FILL = Op("IndexFillBackward0", lambda a, dim, index, value: _filled(a, value, dim, index), "input", "dim index value", input=_UNFILLED)
INDEX_FILL_TENSOR = Op(
    "IndexFillBackward1",
    _filled,
    "input value",
    "dim index",
    input=_UNFILLED,
    value=Rule(lambda xp, grad, dim, index: xp.sum(xp.call(INDEX_SELECT, grad, dim, index)), "grad.index_select(dim, index).sum()"),
)
INDEX_COPY = Op(
    "IndexCopyBackward0",
    _filled,
    "input source",
    "dim index",
    input=_UNFILLED,
    source=Rule(lambda xp, grad, dim, index, source_shape: _slices(xp, grad, dim, index, source_shape), "grad.index_select(dim, index)"),
)


def _masked_scatter(a: Array, source: Array, mask: Array) -> Array:
    shape = np.broadcast_shapes(a.shape, mask.shape)
    made = np.array(np.broadcast_to(a, shape))
    wide = np.broadcast_to(mask, shape)
    made[wide] = source.reshape(-1)[: np.count_nonzero(wide)]
    return made


def _masked_back(grad: Array, mask: Array, shape: Any) -> Array:
    made = np.zeros(shape, grad.dtype)
    taken = grad[np.broadcast_to(mask, grad.shape)]
    made.reshape(-1)[: taken.size] = taken
    return made


def _masked_select_rule(xp: Any, grad: Any, mask: Any, input_shape: Any, input_dtype: Any) -> Any:
    shape = np.broadcast_shapes(input_shape, mask.shape)
    return xp.call(MASKED_SCATTER, xp.zeros(shape, input_dtype), grad, mask)


MASKED_SELECT = Op(
    "MaskedSelectBackward0",
    lambda a, mask: np.broadcast_to(a, np.broadcast_shapes(a.shape, mask.shape))[np.broadcast_to(mask, np.broadcast_shapes(a.shape, mask.shape))],
    "input",
    "mask",
    input=Rule(_masked_select_rule, "= grad placed where the mask is True, 0 elsewhere"),
)
MASKED_SCATTER = Op(
    "MaskedScatterBackward0",
    _masked_scatter,
    "input source",
    "mask",
    input=Rule(lambda xp, grad, mask: xp.call(MASKED_FILL, grad, mask, 0.0), "grad.masked_fill(mask, 0)"),
    source=Rule(
        lambda xp, grad, mask, source_shape: xp.call(MASKED_SCATTER_BACK, grad, mask, source_shape), "= the masked elements of grad, then 0"
    ),
)
MASKED_SCATTER_BACK = Op(
    "MaskedScatterBackwardBackward0",
    _masked_back,
    "input",
    "mask shape",
    input=Rule(
        lambda xp, grad, mask, input_shape, input_dtype: xp.call(MASKED_SCATTER, xp.zeros(input_shape, input_dtype), grad, mask),
        "= grad placed where the mask is True, 0 elsewhere",
    ),
)


def _put(a: Array, source: Array, index: Array, accumulate: bool) -> Array:
    made = np.array(a, order="C")
    flat = made.reshape(-1)
    if accumulate:
        np.add.at(flat, index.reshape(-1), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return made


def _put_rule(xp: Any, grad: Any, index: Any, accumulate: bool, input_dtype: Any) -> Any:
    return grad if accumulate else xp.call(PUT, grad, xp.zeros(index.shape, input_dtype), index, False)


TAKE = Op(
    "TakeBackward0",
    lambda a, index: a.reshape(-1)[index],
    "input",
    "index",
    input=Rule(
        lambda xp, grad, index, input_shape, input_dtype: xp.call(PUT, xp.zeros(input_shape, input_dtype), grad, index, True),
        "= grad added up at the taken elements",
    ),
)
PUT = Op(
    "PutBackward0",
    _put,
    "input source",
    "index accumulate",
    input=Rule(_put_rule, "= grad, 0 at the positions unless accumulated"),
    source=Rule(lambda xp, grad, index, source_shape: xp.reshape(xp.call(TAKE, grad, index), source_shape), "grad.take(index)"),
)


# --- checks ---


def _out_of_range(index: Array, length: int, least: int = 0) -> int | None:
    if index.size and (index.min() < least or index.max() >= length):
        return int(index[(index < least) | (index >= length)].flat[0])
    return None


def _check_gather(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> None:
    at = wrap_dim(dim, input.array.ndim)
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise _error(f"{name}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype is not input.dtype:
        raise _error(f"{name}(): Expected self.dtype to be equal to src.dtype")
    have, want = input.array.shape or (1,), index.array.shape or (1,)
    if not index.array.size:
        return
    other = "input" if name == "gather" else "self"
    if len(have) != len(want):
        raise _error(f"Index tensor must have the same number of dimensions as {other} tensor")
    small = all(n <= m for k, (n, m) in enumerate(zip(want, have, strict=True)) if k != at)
    if name == "gather":
        for k, (n, m) in enumerate(zip(want, have, strict=True)):
            if k != at and n > m:
                raise _error(
                    f"Size does not match at dimension {k} expected index {list(want)} to be no larger than self {list(have)} apart from "
                    f"dimension {at}"
                )
    elif src is not None:
        given = src.array.shape or (1,)
        if len(given) != len(want):
            raise _error("Index tensor must have the same number of dimensions as src tensor")
        if not small or any(n > m for n, m in zip(want, given, strict=True)):
            raise _error(
                f"Expected index {list(want)} to be no larger than self {list(have)} apart from dimension {at} and to be no larger size than "
                f"src {list(given)}"
            )
    elif not small:
        raise _error(f"Expected index {list(want)} to be no larger than self {list(have)} apart from dimension {at}")
    bad = _out_of_range(index.array, have[at])
    if bad is not None:
        raise _error(f"index {bad} is out of bounds for dimension {at} with size {have[at]}")


# --- the functions ---


def gather(input: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    """Elements whose position along one dimension an index tells."""
    _check_gather("gather", input, dim, index)
    return GATHER(input, dim % max(input.array.ndim, 1), index.array)  # type: ignore[no-any-return]


def scatter(input: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    """A copy with elements of src (or a number) written where the index tells."""
    tensor = src if type(src) is Tensor else None
    _check_gather("scatter", input, dim, index, tensor)
    at = dim % max(input.array.ndim, 1)
    if tensor is None:
        return SCATTER_NUMBER(input, at, index.array, src)  # type: ignore[no-any-return]
    return SCATTER(input, tensor, at, index.array)  # type: ignore[no-any-return]


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with elements of src added where the index tells."""
    _check_gather("scatter", input, dim, index, src)
    return SCATTER_ADD(input, src, dim % max(input.array.ndim, 1), index.array)  # type: ignore[no-any-return]


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of a dimension that an index lists."""
    rank = input.array.ndim
    at = wrap_dim(dim, rank)
    if index.array.ndim > 1:
        raise _error("index_select(): Index is supposed to be a vector", "IndexError")
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise _error("index_select(): Expected dtype int32 or int64 for index")
    if _out_of_range(index.array, input.array.shape[at] if rank else 1) is not None:
        raise _error("index out of range in self", "IndexError")
    limits.check_elements(input.array.size // max(input.array.shape[at] if rank else 1, 1) * index.array.size, input.dtype.itemsize)
    return INDEX_SELECT(input, dim, index.array.reshape(-1))  # type: ignore[no-any-return]


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any = 1) -> Tensor:
    """A copy with slices of source added at the slices that an index lists."""
    at = wrap_dim(dim, input.array.ndim)
    have, given = input.array.shape, source.array.shape
    if index.array.ndim > 1:
        raise _error(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.array.ndim} with type: {index.dtype.torch_name} and size: "
            f"{list(index.array.shape)}",
            "IndexError",
        )
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise _error(f"index_add_(): Expected dtype int32/int64 for index but got: {index.dtype.torch_name}")
    if input.dtype is not source.dtype:
        raise _error(
            f"index_add_(): self ({input.dtype.torch_name}) and source ({source.dtype.torch_name}) must have the same scalar type"
        )
    length = given[at] if len(given) > at else 1
    if index.array.size != length:
        raise _error(
            f"index_add_(): Number of indices ({index.array.size}) should be equal to source.size(dim): ({length}), for dim: {at}"
        )
    if len(have) != len(given) or any(n != m for k, (n, m) in enumerate(zip(have, given, strict=True)) if k != at):
        raise _error(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(have)} source.shape = {list(given)}"
        )
    size = have[at] if have else 1
    bad = _out_of_range(index.array, size)
    if bad is not None:
        raise _error(f"index {bad} is out of bounds for dimension {at} with size {size}")
    return INDEX_ADD(input, source, dim, index.array.reshape(-1), alpha)  # type: ignore[no-any-return]


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with the slices that an index lists filled with one value."""
    rank = input.array.ndim
    at = wrap_dim(dim, rank)
    if type(value) is Tensor and value.array.ndim:
        raise _error(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.array.ndim} dimension(s).")
    if index.dtype is not dtypes.int64:
        raise _error("index_fill_(): Expected dtype int64 for index.", "IndexError")
    if index.array.ndim > 1:
        raise _error("Index has to be a vector/scalar")
    size = input.array.shape[at] if rank else 1
    bad = _out_of_range(index.array, size, -size)
    if bad is not None:
        raise _error(f"index {bad} is out of bounds for dimension {at} with size {size}", "IndexError")
    if type(value) is Tensor:
        return INDEX_FILL_TENSOR(input, value, dim, index.array)  # type: ignore[no-any-return]
    return INDEX_FILL(input, dim, index.array, value)  # type: ignore[no-any-return]


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with slices of source written at the slices that an index lists."""
    at = wrap_dim(dim, input.array.ndim)
    have, given = input.array.shape, source.array.shape
    if index.dtype is not dtypes.int64:
        raise _error(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.torch_name}")
    if input.dtype is not source.dtype:
        raise _error(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {input.dtype.torch_name} and (source) "
            f"{source.dtype.torch_name}"
        )
    slice_a, slice_b = have[:at] + have[at + 1 :], given[:at] + given[at + 1 :]
    if given and slice_a != slice_b:
        raise _error(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, slice_a))} at dimension {at} and source slice shape: {' '.join(map(str, slice_b))} at dimension 0."
        )
    length = given[at] if given else 1
    if index.array.size != length:
        raise _error(
            f"index_copy_(): Number of indices ({index.array.size}) should be equal to source.size(dim) ({length})", "IndexError"
        )
    size = have[at] if have else 1
    bad = _out_of_range(index.array, size)
    if bad is not None:
        raise _error(f"index_copy_(): index {bad} is out of bounds for dimension {at} with size {size}", "IndexError")
    return INDEX_COPY(input, source, dim, index.array.reshape(-1) if given else index.array)  # type: ignore[no-any-return]


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask is True, as a vector."""
    if mask.dtype is not dtypes.bool_:
        raise _error("masked_select: expected BoolTensor for mask")
    common_shape([input.array.shape, mask.array.shape])
    return MASKED_SELECT(input, mask.array)  # type: ignore[no-any-return]


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with elements of source written where a mask is True."""
    if mask.dtype is not dtypes.bool_:
        raise _error(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.torch_name}")
    if input.dtype is not source.dtype:
        raise _error(f"masked_scatter: expected self and source to have same dtypes but got{input.dtype.torch_name} and {source.dtype.torch_name}")
    shape = common_shape([input.array.shape, mask.array.shape])
    if source.array.size < np.count_nonzero(np.broadcast_to(mask.array, shape)):
        raise _error("Number of elements of source < number of ones in mask")
    return MASKED_SCATTER(input, source, mask.array)  # type: ignore[no-any-return]


def _check_flat(name: str, input: Tensor, index: Tensor) -> Array:
    if index.dtype is not dtypes.int64:
        raise _error(f"{name}(): Expected a long tensor for index, but got {index.dtype.torch_name}")
    size = input.array.size
    bad = _out_of_range(index.array, size, -size)
    if bad is not None:
        raise _error(f"out of range: tried to access index {bad} on a tensor of {size} elements.", "IndexError")
    return index.array


def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements by their position in the flattened tensor."""
    return TAKE(input, _check_flat("take", input, index))  # type: ignore[no-any-return]


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with elements written (or added) at positions of the flattened tensor."""
    if input.dtype is not source.dtype:
        raise _error(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype.torch_name} and source.dtype = "
            f"{source.dtype.torch_name}"
        )
    if index.array.size != source.array.size:
        raise _error(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.array.size}, index.numel() = {index.array.size}",
            "IndexError",
        )
    return PUT(input, source, _check_flat("put_", input, index), accumulate)  # type: ignore[no-any-return]


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather`, with both broadcast to each other; without dim on the flattened tensor."""
    if indices.dtype is not dtypes.int64:
        raise _error(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.torch_name}")
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    if input.array.ndim != indices.array.ndim:
        raise _error(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.array.ndim} dimensions for input, and {indices.array.ndim} dimensions for indices"
        )
    at = wrap_dim(dim, input.array.ndim)
    a, b = list(input.array.shape), list(indices.array.shape)
    length, count = a[at], b[at]
    a[at] = b[at] = 1
    shape = list(common_shape([tuple(a), tuple(b)]))
    wide_input, wide_index = list(shape), list(shape)
    wide_input[at], wide_index[at] = length, count
    return gather(expand(input, wide_input), at, wrap(np.broadcast_to(indices.array, wide_index)))


def repeat_interleave(input: Tensor, repeats: Tensor, dim: int | None = None, output_size: int | None = None) -> Tensor:
    """Every slice of a dimension as many times in a row as `repeats` tells."""
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    length = input.array.shape[wrap_dim(dim, input.array.ndim)] if input.array.ndim else 1
    counts = repeats.array
    if counts.ndim > 1:
        raise _error("repeats must be 0-dim or 1-dim tensor")
    if counts.ndim == 0 or counts.size == 1:
        counts = np.broadcast_to(counts.reshape(-1), (length,))
    elif counts.size != length:
        raise _error(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and input.size(0) = {length}"
        )
    return index_select(input, dim, wrap(_repeated(counts, repeats)))


def _repeated(counts: Array, repeats: Tensor) -> Array:
    if counts.dtype.kind not in "iu":
        raise _error(f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.torch_name}'", "NotImplementedError")
    if counts.size and counts.min() < 0:
        raise _error("repeats can not be negative")
    limits.check_elements(int(counts.sum()), 8)
    return np.repeat(np.arange(counts.size), counts)


def repeated_positions(repeats: Tensor, output_size: int | None = None) -> Tensor:
    """Positions 0, 1, ... each as many times as `repeats` tells."""
    if repeats.array.ndim != 1:
        raise _error("repeat_interleave only accept 1D vector as repeat")
    return wrap(_repeated(repeats.array, repeats))
