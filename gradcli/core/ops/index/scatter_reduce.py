"""Elements reduced into the positions that an index gives: scatter_reduce."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.record import Op, Rule, broadcast_error
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.divide_remainder import DIV
from gradcli.core.ops.index.adding import combined_at
from gradcli.core.ops.index.gather_scatter import GATHER, SCATTER_NUMBER, check_gather, places_along, source_gradient
from gradcli.core.ops.index.masked import MASKED_FILL
from gradcli.core.ops.rules import in_half_precision, moves, refused
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, runtime_error

_REDUCERS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
_START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -np.inf, "amin": np.inf}
_SYNONYMS = {"max": "amax", "min": "amin"}  # those that PyTorch computes, but does not differentiate
_WITHOUT_TANGENT = ("prod", *_SYNONYMS)


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


def reduced_into(
    a: Array, src: Array, dim: int, index: Array, reduce: str, include_self: bool, into: Any = combined_at, rounded: Any = np.asarray
) -> Array:
    """The new values: `into` reduces values into places, and a sum is `rounded` before it is divided for a mean."""
    made = np.array(a)
    if not index.size:
        return made
    reduce = _SYNONYMS.get(reduce, reduce)
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


def _check_differentiable(reduce: str) -> None:
    if reduce in _SYNONYMS:
        raise runtime_error(f"Expected 'reduce' to be one of 'sum', 'prod', 'mean', 'amax', 'amin' but got {reduce}.")


def _input_rule(xp: Any, grad: Any, input: Any, src: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
    _check_differentiable(reduce)
    grad = gradient_of_input(xp, grad, input, src, out, dim, index, reduce, include_self)
    return grad if include_self else xp.call(SCATTER_NUMBER, grad, dim, index, 0.0)


def gradient_of_input(xp: Any, grad: Any, input: Any, src: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool) -> Any:
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
    _check_differentiable(reduce)
    return gradient_of_source(xp, grad, input, src, out, dim, index, reduce, include_self, _ONCE)


def gradient_of_source(
    xp: Any, grad: Any, input: Any, src: Any, out: Any, dim: int, index: Array, reduce: str, include_self: bool, once: Op
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


def differentiable_once(what: str, name: str) -> Op:
    """The record of a gradient of products with several zeros, which PyTorch does not differentiate."""
    error = runtime_error(
        f"{what}(): Double backward is unsupported for {name} when >1 zeros in {name} are scattered to the same position in self"
    )
    return Op("Error", lambda x: x, "input", full_name="torch::autograd::Error", input=refused(lambda: error))


_ONCE = differentiable_once("scatter_reduce", "src")


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

    Products, "max" and "min" have none: PyTorch leaves it out without an error.
    """
    dim, index, reduce, include_self = attrs
    if reduce in _WITHOUT_TANGENT:
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
    reduced_into,
    "input src",
    "dim index reduce include_self",
    layout="contiguous",
    jvp=_tangent,
    input=Rule(_input_rule, _SELF_FORMULA, "shared equally among ties"),
    src=Rule(_src_rule, _SRC_FORMULA, "shared equally among ties"),
)
_SCATTER_REDUCE_BFLOAT = in_half_precision(SCATTER_REDUCE, partial(reduced_into, rounded=dtypes.round_bfloat16), "contiguous")


def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True) -> Any:
    """A copy in which the elements of src are reduced into the positions that index gives along dim.

    `reduce` is "sum", "mean", "prod", "amax" or "amin", or "max" or "min", which are not differentiated; without `include_self` the
    elements of input do not take part.
    """
    _check_scattered(input, dim, index, src, reduce, include_self)
    record = _SCATTER_REDUCE_BFLOAT if input.dtype is dtypes.bfloat16 else SCATTER_REDUCE
    return record(input, src, dim, watched(index), reduce, include_self)


def _check_scattered(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> None:
    """Raise PyTorch's errors for arguments of `scatter_reduce`."""

    def check_reduce() -> None:
        if reduce not in _REDUCERS and reduce not in _SYNONYMS:
            text = f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
            raise runtime_error(text, Code.AFTER_CHECKS)
        if reduce == "mean" and input.dtype is dtypes.bool_:
            raise not_implemented("scatter_gather_tensor_cpu_reduce_mean" if index.array.size else "div_floor_cpu", input.dtype)

    if include_self:
        return check_gather("scatter", input, dim, index, src, check_reduce)
    check_gather("scatter", input, dim, index, src)  # PyTorch first writes at the positions, which so are looked at before
    return check_reduce()


def _scatter_reduce_(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Any:
    """The new values of `scatter_reduce_`. RuntimeError in forward mode for what has no tangent, where PyTorch has no tangent to write."""
    if reduce in _WITHOUT_TANGENT and moves(input):
        _check_scattered(input, dim, index, src, reduce, include_self)
        raise runtime_error("Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #1 'src'")
    return scatter_reduce(input, dim, index, src, reduce, include_self)


_M: Any = [[1.0, 2.5, 3.0], [4.0, 0.5, 6.0]]
_S: Any = [[7.0, 8.0, 1.5], [0.25, 2.0, 9.0]]
_INDEX = "tensor([[0, 1, 0], [0, 0, 1]])"


def _sample(reduce: str, more: str = "") -> Sample:
    return Sample(f"x.scatter_reduce(0, {_INDEX}, y, '{reduce}'{more})", None, x=_M, y=_S)


_BY_POSITION = "Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True"
FUNCTIONS = (
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
