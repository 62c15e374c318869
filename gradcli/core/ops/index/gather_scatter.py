"""Elements picked or written by index tensors and masks: gather, scatter, index_add, masked_select and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import scalar_of
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.index.gathering_records import (
    GATHER,
    INDEX_ADD,
    INDEX_COPY,
    INDEX_FILL,
    INDEX_FILL_TENSOR,
    INDEX_SELECT,
    MASKED_SCATTER,
    MASKED_SELECT,
    PUT,
    SCATTER,
    SCATTER_ADD,
    SCATTER_NUMBER,
    SCATTER_REDUCED,
    TAKE,
)
from gradcli.core.ops.shape import rearrange
from gradcli.core.ops.shape.broadcasting import common_shape
from gradcli.core.ops.shape.views import expand, reshape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError


def _error(text: str, kind: str = "RuntimeError") -> ProgramError:
    return ProgramError(kind, text)


# --- checks ---


def _out_of_range(index: Array, length: int, least: int = 0) -> int | None:
    if index.size and (index.min() < least or index.max() >= length):
        return int(index[(index < least) | (index >= length)].flat[0])
    return None


def check_gather(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> None:
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
                f"Expected index {list(want)} to be no larger than self {list(have)} apart from dimension {at} and to be no larger size "
                f"than src {list(given)}"
            )
    elif not small:
        raise _error(f"Expected index {list(want)} to be no larger than self {list(have)} apart from dimension {at}")
    bad = _out_of_range(index.array, have[at])
    if bad is not None:
        raise _error(f"index {bad} is out of bounds for dimension {at} with size {have[at]}")


# --- the functions ---


def gather(input: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    """Elements whose position along one dimension an index tells."""
    check_gather("gather", input, dim, index)
    limits.check_elements(index.array.size, input.dtype.itemsize)
    return GATHER(input, dim % max(input.array.ndim, 1), watched(index))  # type: ignore[no-any-return]


def scatter(input: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    """A copy with elements of src (or a number) written where the index tells."""
    tensor = src if type(src) is Tensor else None
    check_gather("scatter", input, dim, index, tensor)
    at = dim % max(input.array.ndim, 1)
    if tensor is None:
        return SCATTER_NUMBER(input, at, watched(index), scalar_of(src, input.dtype))  # type: ignore[no-any-return]
    return SCATTER(input, tensor, at, watched(index))  # type: ignore[no-any-return]


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with elements of src added where the index tells."""
    check_gather("scatter", input, dim, index, src)
    return SCATTER_ADD(input, src, dim % max(input.array.ndim, 1), watched(index))  # type: ignore[no-any-return]


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
    return INDEX_SELECT(input, dim, watched(index).reshape(-1))  # type: ignore[no-any-return]


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any = 1) -> Tensor:
    """A copy with slices of source added at the slices that an index lists."""
    at = wrap_dim(dim, input.array.ndim)
    have, given = input.array.shape, source.array.shape
    if index.array.ndim > 1:
        raise _error(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.array.ndim} with type: {index.dtype.torch_name} and "
            f"size: {list(index.array.shape)}",
            "IndexError",
        )
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise _error(f"index_add_(): Expected dtype int32/int64 for index but got: {index.dtype.torch_name}")
    if input.dtype is not source.dtype:
        raise _error(f"index_add_(): self ({input.dtype.torch_name}) and source ({source.dtype.torch_name}) must have the same scalar type")
    length = given[at] if len(given) > at else 1
    if index.array.size != length:
        raise _error(f"index_add_(): Number of indices ({index.array.size}) should be equal to source.size(dim): ({length}), for dim: {at}")
    if len(have) != len(given) or any(n != m for k, (n, m) in enumerate(zip(have, given, strict=True)) if k != at):
        raise _error(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(have)} source.shape = {list(given)}"
        )
    size = have[at] if have else 1
    bad = _out_of_range(index.array, size)
    if bad is not None:
        raise _error(f"index {bad} is out of bounds for dimension {at} with size {size}")
    return INDEX_ADD(input, source, dim, watched(index).reshape(-1), alpha)  # type: ignore[no-any-return]


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
        return INDEX_FILL_TENSOR(input, value, dim, watched(index))  # type: ignore[no-any-return]
    return INDEX_FILL(input, dim, watched(index), scalar_of(value, input.dtype))  # type: ignore[no-any-return]


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
        raise _error(f"index_copy_(): Number of indices ({index.array.size}) should be equal to source.size(dim) ({length})", "IndexError")
    size = have[at] if have else 1
    bad = _out_of_range(index.array, size)
    if bad is not None:
        raise _error(f"index_copy_(): index {bad} is out of bounds for dimension {at} with size {size}", "IndexError")
    return INDEX_COPY(input, source, dim, watched(index).reshape(-1) if given else watched(index))  # type: ignore[no-any-return]


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask is True, as a vector."""
    if mask.dtype is not dtypes.bool_:
        raise _error("masked_select: expected BoolTensor for mask")
    common_shape([mask.array.shape, input.array.shape])
    return MASKED_SELECT(input, watched(mask))  # type: ignore[no-any-return]


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with elements of source written where a mask is True."""
    if mask.dtype is not dtypes.bool_:
        raise _error(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.torch_name}")
    if input.dtype is not source.dtype:
        raise _error(
            f"masked_scatter: expected self and source to have same dtypes but got{input.dtype.torch_name} and {source.dtype.torch_name}"
        )
    shape = common_shape([input.array.shape, mask.array.shape])
    if source.array.size < np.count_nonzero(np.broadcast_to(mask.array, shape)):
        raise _error("Number of elements of source < number of ones in mask")
    return MASKED_SCATTER(input, source, watched(mask))  # type: ignore[no-any-return]


def _check_flat(name: str, input: Tensor, index: Tensor) -> Array:
    if index.dtype is not dtypes.int64:
        raise _error(f"{name}(): Expected a long tensor for index, but got {index.dtype.torch_name}")
    size = input.array.size
    bad = _out_of_range(index.array, size, -size)
    if bad is not None:
        raise _error(f"out of range: tried to access index {bad} on a tensor of {size} elements.", "IndexError")
    return watched(index)


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
        input, dim = (input if input.array.ndim == 1 else reshape(input, (-1,))), 0
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


def _scatter_reduced(input: Tensor, dim: int, index: Tensor, src: Any, reduce: str) -> Tensor:
    """`scatter` that adds or multiplies instead of writing; PyTorch defines no derivative."""
    if reduce not in ("add", "multiply"):
        raise _error("reduce argument must be either add or multiply.")
    tensor = src if type(src) is Tensor else None
    check_gather("scatter", input, dim, index, tensor)
    values = wrap(np.asarray(src, input.dtype.np)) if tensor is None else tensor
    return SCATTER_REDUCED(input, values, dim, index.array, reduce)  # type: ignore[no-any-return]


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_S: Any = [[7.0, 8.0]]
_V: Any = [7.0, 8.0]
_REPEATS = "int? dim=None, *, int? output_size=None"


def _inplace(name: str, signature: str, run: Any, doc: str, ops: Any, *samples: Sample) -> Function:
    return Function(name, (signature, run), doc=doc, ops=ops, samples=samples, inplace=True)


FUNCTIONS = (
    Function(
        "gather",
        ("Tensor input, int dim, Tensor index, *, bool sparse_grad=False", gather),
        doc="Elements whose position along one dimension an index tells.",
        ops=(GATHER,),
        samples=(Sample("gather(x, 1, tensor([[0, 0, 2], [1, 2, 1]]))", None, x=_M),),
    ),
    Function(
        "scatter",
        ("Tensor input, int dim, Tensor index, Tensor src", scatter),
        ("Tensor input, int dim, Tensor index, Tensor src, *, str reduce", _scatter_reduced),
        ("Tensor input, int dim, Tensor index, Number value", scatter),
        ("Tensor input, int dim, Tensor index, Number value, *, str reduce", _scatter_reduced),
        doc="A copy with elements of src, or a number, written where the index tells.",
        ops=(SCATTER, SCATTER_NUMBER),
        samples=(
            Sample("scatter(x, 1, tensor([[2, 0]]), s)", None, x=_M, s=_S),
            Sample("scatter(x, 0, tensor([[1, 0]]), 5.0)", None, x=_M),
        ),
        inplace=True,
        out=True,
    ),
    _inplace(
        "scatter_add",
        "Tensor input, int dim, Tensor index, Tensor src",
        scatter_add,
        "A copy with elements of src added where the index tells.",
        (SCATTER_ADD,),
        Sample("scatter_add(x, 1, tensor([[2, 2]]), s)", None, x=_M, s=_S),
    ),
    Function(
        "index_select",
        ("Tensor input, int dim, Tensor index", index_select),
        doc="The slices of a dimension that an index lists.",
        ops=(INDEX_SELECT,),
        samples=(Sample("index_select(x, 1, tensor([2, 0, 2]))", lambda x: x[:, [2, 0, 2]], x=_M),),
    ),
    _inplace(
        "index_add",
        "Tensor input, int dim, Tensor index, Tensor source, *, Number alpha=1",
        index_add,
        "A copy with slices of source added at the slices that an index lists.",
        (INDEX_ADD,),
        Sample("index_add(x, 0, tensor([0, 0]), x, alpha=2)", None, x=_M),
    ),
    Function(
        "index_fill",
        ("Tensor input, int dim, Tensor index, Tensor value", index_fill),
        ("Tensor input, int dim, Tensor index, Number value", index_fill),
        doc="A copy with the slices that an index lists filled with one value.",
        ops=(INDEX_FILL, INDEX_FILL_TENSOR),
        samples=(Sample("index_fill(x, 1, tensor([0]), 5.0)", None, x=_M), Sample("index_fill(x, 1, tensor([0]), v[0])", None, x=_M, v=_V)),
        inplace=True,
    ),
    _inplace(
        "index_copy",
        "Tensor input, int dim, Tensor index, Tensor source",
        index_copy,
        "A copy with slices of source written at the slices that an index lists.",
        (INDEX_COPY,),
        Sample("index_copy(x, 0, tensor([1]), y)", None, x=_M, y=[[7.0, 8.0, 9.0]]),
    ),
    Function(
        "masked_select",
        ("Tensor input, Tensor mask", masked_select),
        doc="The elements where a mask is True, as a vector.",
        ops=(MASKED_SELECT,),
        samples=(Sample("masked_select(x, x > 2.5)", lambda x: x[x > 2.5], x=_M),),
        out=True,
    ),
    _inplace(
        "masked_scatter",
        "Tensor input, Tensor mask, Tensor source",
        masked_scatter,
        "A copy with elements of source written where a mask is True.",
        (MASKED_SCATTER,),
        Sample("masked_scatter(x, x > 4.5, v)", None, x=_M, v=_V),
    ),
    Function(
        "take",
        ("Tensor input, Tensor index", take),
        doc="Elements by their position in the flattened tensor.",
        ops=(TAKE,),
        samples=(Sample("take(x, tensor([5, 0, 0]))", lambda x: x.reshape(-1)[[5, 0, 0]], x=_M),),
        out=True,
    ),
    _inplace(
        "put",
        "Tensor input, Tensor index, Tensor source, bool accumulate=False",
        put,
        "A copy with elements written, or added, at positions of the flattened tensor.",
        (PUT,),
        Sample("put(x, tensor([5, 0]), v)", None, x=_M, v=_V),
        Sample("put(x, tensor([5, 5]), v, True)", None, x=_M, v=_V),
    ),
    Function(
        "take_along_dim",
        ("Tensor input, Tensor indices, int? dim=None", take_along_dim),
        doc="gather, with input and indices broadcast to each other.",
        samples=(Sample("take_along_dim(x, tensor([[2], [0]]), 1)", lambda x: np.take_along_axis(x, np.array([[2], [0]]), 1), x=_M),),
        out=True,
    ),
    Function(
        "repeat_interleave",
        (f"Tensor input, Tensor repeats, {_REPEATS}", repeat_interleave),
        ("Tensor repeats, *, int? output_size=None |function", repeated_positions),
        (f"Tensor input, int repeats, {_REPEATS}", rearrange.repeat_interleave),
        doc="Every element or slice several times in a row.",
        samples=(
            Sample("repeat_interleave(x, 2, 1)", lambda x: np.repeat(x, 2, 1), x=_M),
            Sample("repeat_interleave(x, tensor([1, 2]), 0)", lambda x: np.repeat(x, [1, 2], 0), x=_M),
        ),
    ),
)
