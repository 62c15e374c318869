"""Elements reduced into the positions that an index gives: scatter_reduce, index_reduce."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.record import Op, Rule, broadcast_error, without_jvp
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.graph.write_checks import check_memory
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import not_implemented, wrap_dim
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.divide_remainder import DIV
from gradcli.core.ops.index.adding import combined_at, combined_in_bfloat16, combined_in_steps
from gradcli.core.ops.index.gather_scatter import (
    GATHER,
    SCATTER_NUMBER,
    check_gather,
    out_of_bounds,
    out_of_range,
    places_along,
    source_gradient,
)
from gradcli.core.ops.index.index_select import INDEX_FILL, check_index_and_source, different_slices, shaped_as_input
from gradcli.core.ops.index.masked import MASKED_FILL
from gradcli.core.ops.rules import check_no_tangent, in_half_precision, moves, refused
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error

_REDUCERS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
_START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -np.inf, "amin": np.inf}


def _places(dim: int, index: Array, rank: int) -> tuple[Any, ...]:
    """The index for numpy of the positions; a 0-d array counts as a vector of one element."""
    return places_along(dim, index, max(rank, 1))


def _put(made: Array, how: Any, dim: int, index: Array, values: Any) -> None:
    """Reduce values into the positions of an array, in place; `how` is the ufunc."""
    if not index.size:
        return
    how.at(np.atleast_1d(made), _places(dim, index, made.ndim), values)


def _at(a: Array, dim: int, index: Array) -> Array:
    """The elements at the positions."""
    if not index.size:
        return np.zeros(index.shape, a.dtype)
    return np.asarray(np.atleast_1d(a)[_places(dim, index, a.ndim)])


def _counts(shape: tuple[int, ...], dim: int, index: Array, include_self: bool, dtype: Any) -> Array:
    """The number of values that each element of a mean is made of, at least 1."""
    counts = np.full(shape, 1 if include_self else 0, dtype)
    _put(counts, np.add, dim, index, dtype.type(1))
    return np.asarray(np.maximum(counts, 1))


def _cut(src: Array, index: Array) -> Array:
    """The leading part of src that has the shape of the index."""
    if src.ndim != index.ndim:  # a 0-d src counts as a vector of one element
        return src.reshape(-1)[: index.size].reshape(index.shape)
    return src[tuple(slice(0, n) for n in index.shape)]


def _reduced(
    a: Array, src: Array, dim: int, index: Array, reduce: str, include_self: bool, into: Any = combined_at, rounded: Any = np.asarray
) -> Array:
    """The new values: `into` reduces values into places, and a sum is `rounded` before it is divided for a mean."""
    made = np.array(a)
    if not index.size:
        return made
    places = _places(dim, index, made.ndim)
    if not include_self:
        kind = made.dtype.kind
        start = _START[reduce]
        if kind not in "fb" and not np.isfinite(start):
            limits = np.iinfo(made.dtype)
            start = limits.min if start < 0 else limits.max
        np.atleast_1d(made)[places] = start > 0 if kind == "b" else start
    values = _cut(src, index)
    made = np.asarray(into(np.atleast_1d(made), places, values, _REDUCERS[reduce])).reshape(made.shape)
    if reduce in ("amax", "amin") and not made.all():
        _keep_first_zeros(made, a, values, dim, index, include_self)
    if reduce == "mean":
        counts = _counts(made.shape, dim, index, include_self, made.dtype)
        made = rounded(made) / counts if made.dtype.kind in "fc" else made // counts
    return made


def _keep_first_zeros(made: Array, a: Array, values: Array, dim: int, index: Array, include_self: bool) -> None:
    """Where an extremum is 0, its sign is that of the first zero that was compared."""
    values, index, first = np.atleast_1d(values), np.atleast_1d(index), np.atleast_1d(made).copy()
    zeros = tuple(places[::-1] for places in np.nonzero(values == 0))
    targets = list(zeros)
    targets[dim] = index[zeros]
    first[tuple(targets)] = values[zeros]
    first = first.reshape(made.shape)
    made[...] = np.where(made == 0, np.where(a == 0, a, first) if include_self else first, made)


def _check_comparable(src: Array, index: Array) -> None:
    """Raise RuntimeError where all of src does not broadcast with the index: PyTorch compares both."""
    try:
        np.broadcast_shapes(src.shape, index.shape)
    except ValueError:
        raise broadcast_error(src.shape, index.shape) from None


def _even(xp: Any, grad: Any, a: Any, src: Any, out: Any, dim: int, index: Array) -> tuple[Any, Array, Array]:
    """The gradient shared equally among the elements that equal the extremum, and the masks of these elements in a and in src."""
    x, values, best = xp.plain(a), xp.plain(src), xp.plain(out)
    first = np.asarray(x == best).astype(x.dtype)
    second = np.asarray(values == _at(best, dim, index)).astype(x.dtype)
    hits = np.array(first)
    _put(hits, np.add, dim, index, _cut(second, index))
    return xp.call(DIV, grad, hits), first, second


def _self_rule(xp: Any, grad: Any, input: Any, src: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
    grad = _own_gradient(xp, grad, input, src, out, dim, index, reduce, include_self)
    return grad if include_self else xp.call(SCATTER_NUMBER, grad, dim, index, 0.0)


def _own_gradient(xp: Any, grad: Any, input: Any, src: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
    """The gradient of input, as if the elements that are reduced into took part."""
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
    return grad


def _src_rule(xp: Any, grad: Any, input: Any, src: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
    return _source_gradient(xp, grad, input, src, out, dim, index, reduce, include_self, _SCATTERED_ONCE)


def _source_gradient(
    xp: Any,
    grad: Any,
    input: Any,
    src: Any,
    out: Any,
    dim: int,
    index: Array,
    reduce: str,
    include_self: bool,
    once: Op,
) -> Any:
    """The gradient of src; `once` is the record of one that has no derivative."""
    x, values = xp.plain(input), xp.plain(src)
    if reduce in ("sum", "mean"):
        gathered = source_gradient(xp, grad, dim, index, values.shape, "ScatterReduceBackward0")
        return gathered if reduce == "sum" else xp.call(DIV, gathered, _at(_counts(x.shape, dim, index, include_self, x.dtype), dim, index))
    _check_comparable(values, index)
    if reduce == "prod":
        return _product_rule(xp, grad, input, src, out, dim, index, include_self, once)
    shared, _, mask = _even(xp, grad, input, src, out, dim, index)
    return scalars.times_data(xp, xp.call(GATHER, shared, dim, index), mask)


def _differentiable_once(what: str, name: str) -> Op:
    """The record of a gradient of products with several zeros, which PyTorch does not differentiate."""
    error = runtime_error(
        f"{what}(): Double backward is unsupported for {name} when >1 zeros in {name} are scattered to the same position in self"
    )
    return Op("Error", lambda x: x, "input", full_name="torch::autograd::Error", input=refused(lambda: error))


_SCATTERED_ONCE = _differentiable_once("scatter_reduce", "src")
_INDEXED_ONCE = _differentiable_once("index_reduce", "source")


def _product_rule(xp: Any, grad: Any, input: Any, src: Any, out: Any, dim: int, index: Array, include_self: bool, once: Op) -> Any:
    """For each element of src the product of the others: the product divided by it; for a single zero the product without it."""
    x, zeros = xp.plain(input), xp.plain(src) == 0
    count = np.zeros_like(x)
    _put(count, np.add, dim, index, _cut(np.asarray(zeros), index).astype(x.dtype))
    single = (_at(count, dim, index) == 1) & zeros
    several = bool((_at(count, dim, index) > 1).any())
    ones = xp.call(MASKED_FILL, src, zeros, 1)
    without = xp.call(SCATTER_REDUCE, input, ones, dim, index, "prod", include_self)
    others = xp.call(GATHER, grad * without, dim, index)
    made = xp.where(single, others, xp.call(GATHER, grad * out, dim, index) / ones)
    return xp.call(once, made) if several else made


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


def _tangent(
    xp: Any, inputs: Sequence[Tensor], attrs: tuple[int, Any, str, bool], tangents: Sequence[Tensor | None], out: Tensor
) -> Tensor | None:
    """Sums and means of the tangents, also where the index is smaller than src; among extrema the mean of their tangents.

    Products have none: PyTorch leaves it out without an error.
    """
    dim, index, reduce, include_self = attrs
    if reduce == "prod":
        return None
    a, src = inputs
    own, given = (xp.zeros_like(x) if t is None else t for x, t in zip(inputs, tangents, strict=True))
    if reduce in ("sum", "mean"):
        return SCATTER_REDUCE(own, given, *attrs)  # type: ignore[no-any-return]
    places = xp.plain(index)
    first = Tensor((a.array == out.array).astype(own.array.dtype), own.dtype)
    chosen = _at(out.array, dim, places)
    try:
        second = Tensor((src.array == chosen).astype(given.array.dtype), given.dtype)
    except ValueError:
        raise broadcast_error(src.array.shape, chosen.shape) from None
    hits = SCATTER_REDUCE(first, second, dim, index, "sum", include_self)
    return SCATTER_REDUCE(own * first, given * second, dim, index, "sum", include_self) / hits  # type: ignore[no-any-return]


SCATTER_REDUCE: Op = Op(
    "ScatterReduceBackward0",
    _reduced,
    "input src",
    "dim index reduce include_self",
    layout="contiguous",
    jvp=_tangent,
    input=Rule(_self_rule, _SELF_FORMULA, "shared equally among ties"),
    src=Rule(_src_rule, _SRC_FORMULA, "shared equally among ties"),
)
_SCATTER_REDUCE_BFLOAT = in_half_precision(SCATTER_REDUCE, partial(_reduced, rounded=dtypes.round_bfloat16), "contiguous")


def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True) -> Any:
    """A copy in which the elements of src are reduced into the positions that index gives along dim.

    `reduce` is "sum", "mean", "prod", "amax" or "amin"; without `include_self` the elements of input do not take part.
    """
    _check_scattered(input, dim, index, src, reduce, include_self)
    record = _SCATTER_REDUCE_BFLOAT if input.dtype is dtypes.bfloat16 else SCATTER_REDUCE
    return record(input, src, dim, watched(index), reduce, include_self)


def _check_scattered(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> None:
    """Raise PyTorch's errors for arguments of `scatter_reduce`."""

    def check_reduce() -> None:
        if reduce not in _REDUCERS:
            text = f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
            raise runtime_error(text, Code.AFTER_CHECKS)
        if reduce == "mean" and input.dtype is dtypes.bool_:
            raise not_implemented("scatter_gather_tensor_cpu_reduce_mean" if index.array.size else "div_floor_cpu", input.dtype)

    if include_self:
        return check_gather("scatter", input, dim, index, src, check_reduce)
    check_gather("scatter", input, dim, index, src)  # PyTorch first writes at the positions, which so are looked at before
    return check_reduce()


def _scatter_reduce_(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Any:
    """The new values of `scatter_reduce_`. RuntimeError for products in forward mode, where PyTorch has no tangent to write."""
    if reduce == "prod" and moves(input):
        _check_scattered(input, dim, index, src, reduce, include_self)
        raise runtime_error("Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #1 'src'")
    return scatter_reduce(input, dim, index, src, reduce, include_self)


# --- index_reduce ---


def _spread(index: Array, dim: int, shape: tuple[int, ...]) -> Array:
    """An index of slices along dim, expanded to an index of elements."""
    if not shape:
        return index.reshape(())
    return np.broadcast_to(index.reshape([-1 if d == dim % len(shape) else 1 for d in range(len(shape))]), shape)


def _index_self_rule(xp: Any, grad: Any, input: Any, source: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
    places = _spread(index, dim, xp.plain(source).shape)
    grad = _own_gradient(xp, grad, input, source, out, dim, places, reduce, include_self)
    if not include_self and index.dtype != np.int64:
        raise ProgramError("IndexError", "index_fill_(): Expected dtype int64 for index.")
    return grad if include_self else xp.call(INDEX_FILL, grad, dim, index, 0)


def _index_source_rule(
    xp: Any, grad: Any, input: Any, source: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool
) -> Any:
    places = _spread(index, dim, xp.plain(source).shape)
    return _source_gradient(xp, grad, input, source, out, dim, places, reduce, include_self, _INDEXED_ONCE)


_AT = "at = index.view([-1 if d == dim % input.dim() else 1 for d in range(input.dim())]).expand(source.shape); "
_HITS = (
    "hits = (input == out).double().scatter_add(dim, at, (source == out.gather(dim, at)).double()); "
    "ones = zeros(input.shape).scatter_add(dim, at, torch.ones(source.shape)) + include_self; "
)


def _slices_reduced(into: Any) -> Callable[..., Array]:
    def reduced(a: Array, source: Array, dim: int, index: Array, reduce: str, include_self: bool) -> Array:
        return _reduced(a, source, dim, _spread(index, dim, source.shape), reduce, include_self, into)

    return reduced


INDEX_REDUCE: Op = Op(
    "IndexReduceBackward0",
    _slices_reduced(combined_in_steps),
    "input source",
    "dim index reduce include_self",
    layout="contiguous",
    jvp=without_jvp("index_reduce"),
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
_INDEX_REDUCE_BFLOAT = in_half_precision(INDEX_REDUCE, _slices_reduced(combined_in_bfloat16), "contiguous")


def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True) -> Any:
    """A copy in which the slices of source are reduced into the slices of dimension `dim` that index lists.

    `reduce` is "mean", "prod", "amax" or "amin"; without `include_self` the slices of input do not take part.
    """
    check_no_tangent("index_reduce", input, source)
    return _index_reduced(input, dim, index, source, reduce, include_self, False)


def _index_reduce_(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool) -> Any:
    """The new values of `index_reduce_`."""
    return _index_reduced(input, dim, index, source, reduce, include_self, True)


def _check_reduce(reduce: str) -> None:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise runtime_error(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")


def _index_reduced(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, in_place: bool) -> Any:
    """The new values. Raises PyTorch's errors, among them that of a tensor that is written in place and whose elements share memory."""
    _check_reduce(reduce)
    at = wrap_dim(dim, input.array.ndim)
    a, values = input.array.shape, source.array.shape
    check_index_and_source("index_reduce", input, at, index, source)
    if (a[:at] + a[at + 1 :] if a else a) != (values[:at] + values[at + 1 :] if a and values else values):
        raise different_slices(input, source)
    if in_place:
        check_memory(input)
    warnings.emit(
        "index_reduce() is in beta and the API may change at any time. (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/TensorAdvancedIndexing.cpp:1523.)",
        once="index_reduce",
    )
    if len(a) > 1 and index.array.size and not a[at]:
        raise shape_error(f"select(): index 0 out of range for tensor of size {list(a)} at dimension {at}", "IndexError")
    length = a[at] if a else 1
    # PyTorch fills the places first, of which -1 is the last one
    bad = None if include_self else out_of_range(index.array, length, -length)
    if bad is not None:
        raise out_of_bounds(f"index {bad} is out of bounds for dimension {at} with size {length}", "IndexError")
    if index.array.size and not (index.array.min() >= 0 and index.array.max() < length):
        raise out_of_bounds("index out of range in self", "IndexError")
    if input.dtype is dtypes.bool_ and not include_self:
        raise not_implemented("index_reduce_func_exclude_input_init", input.dtype)
    if input.dtype is dtypes.bool_ and len(a) == 1:
        raise not_implemented("index_func_", input.dtype)
    if input.dtype is dtypes.bool_ and reduce == "mean":
        raise not_implemented("div_floor_cpu", input.dtype)
    check_no_tangent("index_reduce_", input, source)
    record = _INDEX_REDUCE_BFLOAT if input.dtype is dtypes.bfloat16 else INDEX_REDUCE
    return record(input, source, dim, watched(index), reduce, include_self)


_M: Any = [[1.0, 2.5, 3.0], [4.0, 0.5, 6.0]]
_S: Any = [[7.0, 8.0, 1.5], [0.25, 2.0, 9.0]]
_INDEX = "tensor([[0, 1, 0], [0, 0, 1]])"


def _sample(reduce: str, more: str = "") -> Sample:
    return Sample(f"x.scatter_reduce(0, {_INDEX}, y, '{reduce}'{more})", None, x=_M, y=_S)


def _index_sample(reduce: str, more: str = "") -> Sample:
    return Sample(f"x.index_reduce(1, tensor([2, 0, 2]), y, '{reduce}'{more})", None, x=_M, y=_S)


def _check_index_reduce(values: list[Any], out: Tensor) -> None:
    input, dim, index, source, reduce, _ = values
    _check_reduce(reduce)
    check_index_and_source("index_reduce", input, wrap_dim(dim, input.array.ndim), index, source)


_BY_POSITION = "Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True"
_BY_INDEX = "Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True"
FUNCTIONS = (
    Function(
        "index_reduce",
        (_BY_INDEX, index_reduce),
        doc="A copy with the slices of source reduced into those that index gives along dim.",
        ops=(INDEX_REDUCE,),
        samples=tuple(_index_sample(r, more) for r in ("mean", "prod", "amax", "amin") for more in ("", ", include_self=False")),
        written=((_BY_INDEX, _index_reduce_),),
        overlap="any",
        out=shaped_as_input(_check_index_reduce),
    ),
    Function(
        "scatter_reduce",
        (_BY_POSITION, scatter_reduce),
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
        written=((_BY_POSITION, _scatter_reduce_),),
        overlap="any",
        out=Out(EXACT),
    ),
)
