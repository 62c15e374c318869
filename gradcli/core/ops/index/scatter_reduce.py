"""Copies with a part written anew: scatter_reduce, select_scatter, slice_scatter, diagonal_scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule, broadcast_error
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.arithmetic_records import DIV
from gradcli.core.ops.elementwise.where import MASKED_FILL
from gradcli.core.ops.index.gather_scatter import check_gather
from gradcli.core.ops.index.gathering_records import GATHER, SCATTER_NUMBER, places_along, source_gradient
from gradcli.core.ops.shape.rearrange import DIAGONAL
from gradcli.core.ops.shape.slicing import SELECT, SLICE
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError

_REDUCERS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
_START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -np.inf, "amin": np.inf}


def _places(dim: int, index: Array, rank: int) -> tuple[Any, ...]:
    """Where something is scattered to, in an array that has at least one dimension."""
    return places_along(dim, index, max(rank, 1))


def _put(made: Array, how: Any, dim: int, index: Array, values: Any) -> None:
    """Reduce values into an array in place."""
    how.at(np.atleast_1d(made), _places(dim, index, made.ndim), values)


def _at(a: Array, dim: int, index: Array) -> Array:
    """The elements at the index."""
    return np.asarray(np.atleast_1d(a)[_places(dim, index, a.ndim)])


def _counts(shape: tuple[int, ...], dim: int, index: Array, include_self: bool, dtype: Any) -> Array:
    """What every element is the mean of, at least 1."""
    counts = np.full(shape, 1 if include_self else 0, dtype)
    _put(counts, np.add, dim, index, dtype.type(1))
    return np.asarray(np.maximum(counts, 1))


def _cut(src: Array, index: Array) -> Array:
    """The part of src that the index reaches over."""
    if src.ndim != index.ndim:  # a scalar counts as a vector of one
        return src.reshape(-1)[: index.size].reshape(index.shape)
    return src[tuple(slice(0, n) for n in index.shape)]


def _reduced(a: Array, src: Array, dim: int, index: Array, reduce: str, include_self: bool) -> Array:
    made = np.array(a)
    if not include_self:
        kind = made.dtype.kind
        start = _START[reduce]
        if kind != "f" and not np.isfinite(start):
            limits = np.iinfo(made.dtype)
            start = limits.min if start < 0 else limits.max
        np.atleast_1d(made)[_places(dim, index, made.ndim)] = start
    _put(made, _REDUCERS[reduce], dim, index, _cut(src, index))
    if reduce == "mean":
        counts = _counts(made.shape, dim, index, include_self, made.dtype)
        made = made / counts if made.dtype.kind == "f" else made // counts
    return made


def _check_comparable(src: Array, index: Array) -> None:
    """PyTorch compares all of src with what is at the index."""
    try:
        np.broadcast_shapes(src.shape, index.shape)
    except ValueError:
        raise broadcast_error(src.shape, index.shape) from None


def _even(xp: Any, grad: Any, a: Any, src: Any, out: Any, dim: int, index: Array) -> tuple[Any, Array, Array]:
    """The gradient divided among all that equal the extremum, and which of a and of src do."""
    x, values, best = xp.plain(a), xp.plain(src), xp.plain(out)
    first = np.asarray(x == best).astype(x.dtype)
    second = np.asarray(values == _at(best, dim, index)).astype(x.dtype)
    hits = np.array(first)
    _put(hits, np.add, dim, index, _cut(second, index))
    return xp.call(DIV, grad, hits), first, second


def _self_rule(xp: Any, grad: Any, input: Any, src: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
    x = xp.plain(input)
    if reduce not in ("sum", "mean"):
        _check_comparable(xp.plain(src), index)
    if reduce == "mean":
        grad = xp.call(DIV, grad, _counts(x.shape, dim, index, include_self, x.dtype))
    elif reduce == "prod":
        ones = xp.call(MASKED_FILL, input, x == 0, 1)
        grad = grad * xp.call(SCATTER_REDUCE, ones, src, dim, index, reduce, include_self) / ones
    elif reduce != "sum":
        shared, mask, _ = _even(xp, grad, input, src, out, dim, index)
        grad = scalars.times_data(xp, shared, mask)
    return grad if include_self else xp.call(SCATTER_NUMBER, grad, dim, index, 0.0)


def _src_rule(xp: Any, grad: Any, input: Any, src: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
    x, values = xp.plain(input), xp.plain(src)
    if reduce in ("sum", "mean"):
        gathered = source_gradient(xp, grad, dim, index, values.shape, "ScatterReduceBackward0")
        return gathered if reduce == "sum" else xp.call(DIV, gathered, _at(_counts(x.shape, dim, index, include_self, x.dtype), dim, index))
    _check_comparable(values, index)
    if reduce == "prod":
        return _product_rule(xp, grad, input, src, out, dim, index, include_self)
    shared, _, mask = _even(xp, grad, input, src, out, dim, index)
    return scalars.times_data(xp, xp.call(GATHER, shared, dim, index), mask)


def _product_rule(xp: Any, grad: Any, input: Any, src: Any, out: Any, dim: int, index: Array, include_self: bool) -> Any:
    """The product of all others: by division, and for a single zero by the product without it."""
    x, zeros = xp.plain(input), xp.plain(src) == 0
    count = np.zeros_like(x)
    _put(count, np.add, dim, index, _cut(np.asarray(zeros), index).astype(x.dtype))
    single = (_at(count, dim, index) == 1) & zeros
    ones = xp.call(MASKED_FILL, src, zeros, 1)
    without = xp.call(SCATTER_REDUCE, input, ones, dim, index, "prod", include_self)
    others = xp.call(GATHER, grad * without, dim, index)
    return xp.where(single, others, xp.call(GATHER, grad * out, dim, index) / ones)


_TIES = "best.scatter_add(dim, index, (src == out.gather(dim, index)).type_as(grad))"
_SELF_FORMULA = (
    "best = (input == out).type_as(grad); "
    "slope = 1 if reduce == 'sum' else 1 / ones_like(input).scatter_add(dim, index, ones_like(src)) if reduce == 'mean' "
    f"else ones_like(input).scatter_reduce(dim, index, src, 'prod') if reduce == 'prod' else best / {_TIES}; "
    "grad * slope if include_self else (grad * slope).scatter(dim, index, 0)"
)
_SRC_FORMULA = (
    "count = full_like(input, include_self).scatter_add(dim, index, ones_like(src)); "
    "zero = (src == 0).type_as(grad); "
    "zeros = zeros_like(input).scatter_add(dim, index, zero).gather(dim, index) - zero; "
    "rest = src.masked_fill(src == 0, 1); "
    "product = input.scatter_reduce(dim, index, rest, 'prod', include_self=include_self); "
    "best = (input == out).type_as(grad); "
    "grad.gather(dim, index) if reduce == 'sum' else (grad / count).gather(dim, index) if reduce == 'mean' "
    "else (grad * product).gather(dim, index) / rest * (zeros == 0) if reduce == 'prod' "
    f"else (grad / {_TIES}).gather(dim, index) * (src == out.gather(dim, index))"
)
SCATTER_REDUCE: Op = Op(
    "ScatterReduceBackward0",
    _reduced,
    "input src",
    "dim index reduce include_self",
    input=Rule(_self_rule, _SELF_FORMULA, "shared equally among ties"),
    src=Rule(_src_rule, _SRC_FORMULA, "shared equally among ties"),
)


def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True) -> Any:
    """A copy in which the elements of src are reduced into the places that index gives along dim."""
    if reduce not in _REDUCERS:
        raise ProgramError("RuntimeError", f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    check_gather("scatter_reduce", input, dim, index, src)
    return SCATTER_REDUCE(input, src, wrap_dim(dim, input.array.ndim), watched(index), reduce, include_self)


def _spread(index: Array, dim: int, shape: tuple[int, ...]) -> Array:
    """The index of slices along dim as one of elements."""
    if not shape:
        return index.reshape(())
    return np.broadcast_to(index.reshape([-1 if d == dim else 1 for d in range(len(shape))]), shape)


def _index_self_rule(xp: Any, grad: Any, input: Any, source: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
    places = _spread(index, dim, xp.plain(source).shape)
    return _self_rule(xp, grad, input, source, out, dim, places, reduce, include_self)


def _index_source_rule(
    xp: Any, grad: Any, input: Any, source: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool
) -> Any:
    places = _spread(index, dim, xp.plain(source).shape)
    return _src_rule(xp, grad, input, source, out, dim, places, reduce, include_self)


_AT = "at = index.view([-1 if d == dim else 1 for d in range(input.dim())]).expand(source.shape); "
_HITS = (
    "hits = (input == out).double().scatter_add(dim, at, (source == out.gather(dim, at)).double()); "
    "ones = zeros(input.shape).scatter_add(dim, at, torch.ones(source.shape)) + include_self; "
)
INDEX_REDUCE: Op = Op(
    "IndexReduceBackward0",
    lambda a, source, dim, index, reduce, include_self: _reduced(a, source, dim, _spread(index, dim, source.shape), reduce, include_self),
    "input source",
    "dim index reduce include_self",
    input=Rule(
        _index_self_rule,
        f"{_AT}{_HITS}g = grad / ones.clamp(min=1) if reduce == 'mean' else grad * out / input if reduce == 'prod' else "
        "grad * (input == out) / hits; g if include_self else g.index_fill(dim, index, 0)",
        "shared equally among ties",
    ),
    source=Rule(
        _index_source_rule,
        f"{_AT}{_HITS}(grad / ones.clamp(min=1)).gather(dim, at) if reduce == 'mean' else (grad * out).gather(dim, at) / source if "
        "reduce == 'prod' else (grad / hits).gather(dim, at) * (source == out.gather(dim, at))",
        "shared equally among ties",
    ),
)


def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True) -> Any:
    """A copy in which the slices of source are reduced into those that index gives along dim."""
    warnings.emit(
        "index_reduce() is in beta and the API may change at any time. (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/TensorAdvancedIndexing.cpp:1523.)",
        once="index_reduce",
    )
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise _failure(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    at = wrap_dim(dim, input.array.ndim)
    a, values = input.array.shape, source.array.shape
    if index.array.ndim > 1:
        shown = f"dim: {index.array.ndim} with type: {index.dtype.torch_name} and size: {list(index.array.shape)}"
        raise _failure(f"index_reduce_(): Index is supposed to be a vector, but got {shown}", "IndexError")
    if index.dtype not in (dtypes.int32, dtypes.int64):
        raise _failure(f"index_reduce_(): Expected dtype int32/int64 for index but got: {index.dtype.torch_name}")
    if input.dtype is not source.dtype:
        raise _failure(
            f"index_reduce_(): self ({input.dtype.torch_name}) and source ({source.dtype.torch_name}) must have the same scalar type"
        )
    count = values[at] if at < len(values) else 1
    if index.array.size != count:
        raise _failure(
            f"index_reduce_(): Number of indices ({index.array.size}) should be equal to source.size(dim): ({count}), for dim: {at}"
        )
    if (a[:at] + a[at + 1 :] if a else a) != (values[:at] + values[at + 1 :] if a and values else values):
        raise _failure(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(a)} source.shape = {list(values)}"
        )
    if index.array.size and not (index.array.min() >= 0 and index.array.max() < (a[at] if a else 1)):
        raise _failure("index out of range in self", "IndexError")
    return INDEX_REDUCE(input, source, at, watched(index), reduce, include_self)


def _failure(text: str, kind: str = "RuntimeError") -> ProgramError:
    return ProgramError(kind, text)


# --- one index, a slice, a diagonal ---


def _overwritten(a: Array, src: Array, view: Op, *where: Any) -> Array:
    """A copy in which the part that `view` shows is `src`."""
    made = np.array(a)
    view.forward(made, *where)[...] = src
    return made


def _nothing(view: Op, xp: Any, grad: Any, *where: Any) -> Array:
    """Zeros for the part that `view` shows."""
    return np.zeros_like(view.forward(xp.plain(grad), *where))


SELECT_SCATTER: Op = Op(
    "SelectScatterBackward0",
    lambda a, src, dim, index: _overwritten(a, src, SELECT, dim, index),
    "input src",
    "dim index",
    input=Rule(
        lambda xp, grad, dim, index: xp.call(SELECT_SCATTER, grad, _nothing(SELECT, xp, grad, dim, index), dim, index),
        "grad.select_scatter(zeros_like(src), dim, index)",
    ),
    src=Rule(lambda xp, grad, dim, index: xp.call(SELECT, grad, dim, index), "grad.select(dim, index)"),
)
SLICE_SCATTER: Op = Op(
    "SliceScatterBackward0",
    lambda a, src, dim, start, end, step: _overwritten(a, src, SLICE, dim, start, end, step),
    "input src",
    "dim start end step",
    input=Rule(
        lambda xp, grad, dim, start, end, step: xp.call(
            SLICE_SCATTER, grad, _nothing(SLICE, xp, grad, dim, start, end, step), dim, start, end, step
        ),
        "grad.slice_scatter(zeros_like(src), dim, start, end, step)",
    ),
    src=Rule(
        lambda xp, grad, dim, start, end, step: xp.call(SLICE, grad, dim, start, end, step),
        "grad.movedim(dim, 0)[start:end:step].movedim(0, dim)",
    ),
)
DIAGONAL_SCATTER: Op = Op(
    "DiagonalScatterBackward0",
    lambda a, src, offset, dim1, dim2: _overwritten(a, src, DIAGONAL, offset, dim1, dim2),
    "input src",
    "offset dim1 dim2",
    input=Rule(
        lambda xp, grad, offset, dim1, dim2: xp.call(
            DIAGONAL_SCATTER, grad, _nothing(DIAGONAL, xp, grad, offset, dim1, dim2), offset, dim1, dim2
        ),
        "grad.diagonal_scatter(zeros_like(src), offset, dim1, dim2)",
    ),
    src=Rule(
        lambda xp, grad, offset, dim1, dim2: xp.call(DIAGONAL, grad, offset, dim1, dim2),
        "grad.diagonal(offset, dim1, dim2)",
    ),
)


def _check_part(part: Tensor, src: Tensor) -> None:
    if part.array.shape != src.array.shape:
        raise ProgramError(
            "RuntimeError",
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.array.shape)}, slice size = {list(part.array.shape)}",
        )


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Any:
    """A copy with one index of a dimension overwritten."""
    _check_part(catalog.function("select")(Tensor(input.array, input.dtype), dim, index), src)
    return SELECT_SCATTER(input, src, dim, index)


def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """A copy with a slice of a dimension overwritten."""
    if not input.array.ndim:
        raise ProgramError("IndexError", "slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise ProgramError("RuntimeError", "slice step must be positive")
    size = input.array.shape[wrap_dim(dim, input.array.ndim)]
    low, high, _ = slice(start, end, step).indices(size)
    _check_part(SLICE(Tensor(input.array, input.dtype), dim, low, max(low, high), step), src)
    return SLICE_SCATTER(input, src, dim, start, end, step)


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy with a diagonal overwritten."""
    _check_part(catalog.function("diagonal")(Tensor(input.array, input.dtype), offset, dim1, dim2), src)
    return DIAGONAL_SCATTER(input, src, offset, dim1, dim2)


_M: Any = [[1.0, 2.5, 3.0], [4.0, 0.5, 6.0]]
_S: Any = [[7.0, 8.0, 1.5], [0.25, 2.0, 9.0]]
_INDEX = "tensor([[0, 1, 0], [0, 0, 1]])"


def _sample(reduce: str, more: str = "") -> Sample:
    return Sample(f"x.scatter_reduce(0, {_INDEX}, y, '{reduce}'{more})", None, x=_M, y=_S)


def _index_sample(reduce: str, more: str = "") -> Sample:
    return Sample(f"x.index_reduce(1, tensor([2, 0, 2]), y, '{reduce}'{more})", None, x=_M, y=_S)


FUNCTIONS = (
    Function(
        "index_reduce",
        ("Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True", index_reduce),
        doc="A copy with the slices of source reduced into those that index gives along dim.",
        ops=(INDEX_REDUCE,),
        samples=tuple(_index_sample(r, more) for r in ("mean", "prod", "amax", "amin") for more in ("", ", include_self=False")),
        inplace=True,
        out=True,
    ),
    Function(
        "scatter_reduce",
        ("Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True", scatter_reduce),
        doc="A copy in which the elements of src are reduced into the places that index gives along dim.",
        ops=(SCATTER_REDUCE,),
        samples=(
            _sample("sum"),
            _sample("prod"),
            _sample("mean"),
            _sample("amax"),
            _sample("amin", ", include_self=False"),
            _sample("mean", ", include_self=False"),
        ),
        inplace=True,
        out=True,
    ),
    Function(
        "select_scatter",
        ("Tensor input, Tensor src, int dim, int index", select_scatter),
        doc="A copy with one index of a dimension overwritten by src.",
        ops=(SELECT_SCATTER,),
        samples=(Sample("x.select_scatter(y, 0, 1)", lambda x, y: np.stack([x[0], y]), x=_M, y=[1.0, 2.0, 3.0]),),
    ),
    Function(
        "slice_scatter",
        ("Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1", slice_scatter),
        doc="A copy with a slice of a dimension overwritten by src.",
        ops=(SLICE_SCATTER,),
        samples=(Sample("x.slice_scatter(y, 0, 1)", lambda x, y: np.concatenate([x[:1], y]), x=_M, y=[[1.0, 2.0, 3.0]]),),
    ),
    Function(
        "diagonal_scatter",
        ("Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1", diagonal_scatter),
        doc="A copy with a diagonal overwritten by src.",
        ops=(DIAGONAL_SCATTER,),
        samples=(Sample("x.diagonal_scatter(y)", None, x=_M, y=[1.0, 2.0]),),
    ),
)
