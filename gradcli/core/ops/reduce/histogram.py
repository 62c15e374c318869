"""Counts of values in bins: bincount, histc, histogram."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import NamedResult, named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.write_checks import warn_of_samples
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import Number, not_implemented, require_floating, size
from gradcli.core.ops.create.ranges import linear
from gradcli.core.ops.rules import check_no_tangent, not_differentiable, recorded
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error, shape_error

_BINCOUNT = not_differentiable("bincount", lambda x: x, "weights")
_NO_BINS = "torch.histogram(): bins must be > 0, but got {} for dimension 0"
_HISTOGRAM = not_differentiable("histogram", lambda *tensors: tensors[:2], "input bins weight", outputs="hist bin_edges")


def bincount(input: Tensor, weights: Tensor | None, minlength: int) -> Tensor:
    """How often each of the integers 0, 1, 2 ... occurs in a vector; with weights, the sum of their weights."""
    check_no_tangent("aten::bincount", input, weights)
    if input.dtype.category != 1:
        raise not_implemented("bincount_cpu", input.dtype)
    x = input.array
    if minlength < 0:
        raise runtime_error("minlength should be >= 0")
    if x.ndim != 1 or (x.size and x.min() < 0):
        raise runtime_error("bincount only supports 1-d non-negative integral inputs.")
    if not x.size:
        limits.check_elements(minlength, 8)
        return wrap(np.zeros(minlength, np.int64))
    limits.check_elements(max(int(x.max()) + 1 if x.size else 0, minlength), 8)
    if weights is None:
        return wrap(np.bincount(x.astype(np.int64), minlength=minlength).astype(np.int64))
    if weights.array.shape != x.shape:
        raise runtime_error("weights should be 1-d and have the same length as input")
    if weights.dtype.is_complex:
        warnings.imaginary_discarded()
    counts = np.bincount(x.astype(np.int64), dtypes.cast(weights.array, dtypes.float64), minlength)
    return recorded(_BINCOUNT, wrap(counts.astype(np.float32 if weights.dtype is dtypes.float32 else np.float64)), weights)


def _shown(bound: float, given: bool) -> str:
    """A bound in a message. C++ prints the nan that x86-64 processors compute in vectors, unlike a given one, with its sign."""
    return f"{bound:g}" if bound == bound or given else "-nan"


def _around(value: float, dtype: DType) -> tuple[float, float]:
    """One less and one more, or the neighbours in the dtype where those are farther; not in half precision."""
    low, high = value - 1, value + 1
    if dtype in (dtypes.float32, dtypes.float64):
        number = dtype.np.type(value)
        low, high = min(low, float(np.nextafter(number, -np.inf))), max(high, float(np.nextafter(number, np.inf)))
    return low, high


def histc(input: Tensor, bins: int, min: Number, max: Number) -> Tensor:
    """How many elements fall into each of `bins` bins of one width from min to max; both 0 mean the range of the elements."""
    warn_of_samples("histc", input)
    if bins <= 0:
        raise runtime_error(_NO_BINS.format(bins))
    limits.check_elements(bins, 8)
    x = input.array.reshape(-1)
    low, high = float(min), float(max)
    if low == high and x.size:
        if input.dtype.is_complex:
            raise not_implemented("aminmax_cpu", input.dtype)
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = _around(low, input.dtype)
    if not (np.isfinite(low) and np.isfinite(high)):
        given = min != max or x.size == 1 or input.dtype is dtypes.bfloat16
        raise runtime_error(f"torch.histc: range of [{_shown(low, given)}, {_shown(high, given)}] is not finite")
    if low > high:
        raise runtime_error("torch.histc: max must be larger than min")
    edges = _edges(input, bins, (low, high))
    require_floating("histogram_cpu", input.dtype)
    least, most = edges[0], edges[-1]
    inside = x[(x >= least) & (x <= most)]
    # a range that rounds to nothing gives 0 / 0
    r: Any = dtypes.round_bfloat16 if input.dtype is dtypes.bfloat16 else np.asarray
    place = np.clip(r(r(r(inside - least) * r(np.asarray(bins, x.dtype))) / r(most - least)).astype(np.int64), 0, bins - 1)
    return Tensor(np.bincount(place, minlength=bins).astype(input.dtype.np), input.dtype)


def _bounds(input: Tensor, range: Sequence[float] | None, dim: int = 0) -> tuple[float, float]:
    """The range of the elements, if none is given; from 0 to 1 if there are none."""
    low, high = map(float, range or (0, 1))
    values = input.array
    if range is None and values.size:
        if input.dtype not in (dtypes.float32, dtypes.float64):
            raise not_implemented("histogramdd", input.dtype)
        # the first of two zeros is the extremum, where numpy's is the last
        low, high = float(np.flip(values).min()), float(np.flip(values).max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise runtime_error(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise runtime_error(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return low, high


def _edges(input: Tensor, bins: int, bounds: tuple[float, float]) -> Array:
    """The edges of `bins` bins of one width."""
    return dtypes.cast(linear("linspace", *bounds, bins + 1, input.dtype), input.dtype)


def _check_dtypes(input: Tensor, bins: Tensor | None, weight: Tensor | None, dim: int = 0) -> None:
    name = input.dtype.c_name
    if bins is not None and bins.dtype is not input.dtype:
        raise runtime_error(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{name} and bins for dimension {dim} with dtype {bins.dtype.c_name}"
        )
    if weight is not None and weight.dtype is not input.dtype:
        raise runtime_error(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
            f"input({name}), and weight({weight.dtype.c_name})"
        )


def _within(values: Array, edges: Array) -> Array:
    """Which values lie between the first and the last edge."""
    return np.asarray((values >= edges[0]) & (values <= edges[-1]))


def _places(values: Array, edges: Array) -> Array:
    """The bins of values, by the steps of C++'s `upper_bound`, whose result for edges that do not increase depends on them."""
    least, left = np.zeros(len(values), np.int64), np.full(len(values), len(edges))
    while left.any():
        half = left // 2
        beyond = (left > 0) & ~(values < edges[np.minimum(least + half, len(edges) - 1)])
        least, left = np.where(beyond, least + half + 1, least), np.where(beyond, left - half - 1, half)
    return np.minimum(least - 1, len(edges) - 2)


def _histogram(input: Tensor, edges: Array, weight: Tensor | None, density: bool, bins: Tensor | None = None) -> NamedResult:
    """The pair (hist, bin_edges) for given edges."""
    _check_dtypes(input, bins, weight)
    values = input.array.reshape(-1)
    weights = None if weight is None else weight.array.reshape(-1)
    if weights is not None and weights.size != values.size:
        raise shape_error(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost "
            f"dimension, but got input with shape [{values.size}, 1] and weight with shape [{weights.size}]",
        )
    if len(edges) == 1:
        raise shape_error(_NO_BINS.format(0))
    require_floating("histogram_cpu", input.dtype)
    limits.check_work(input.array.size * 8.0)
    inside = _within(values, edges)
    at = _places(values[inside], edges)
    counts = np.bincount(at, None if weights is None else weights[inside], len(edges) - 1).astype(input.array.dtype)
    if density:
        counts = counts / counts.sum() / np.diff(edges)
    outs = (Tensor(counts, input.dtype), Tensor(np.ascontiguousarray(edges), input.dtype))
    if state.enabled:
        _HISTOGRAM.record(outs[0], (input, bins, weight), (), outs)
    if state.dual is not None:
        state.dual.push(_HISTOGRAM, (input, bins, weight), (), outs)
    return named("histogram", "hist", "bin_edges")(outs)


_POINTS = not_differentiable("_histogramdd_from_bin_cts", lambda *tensors: tensors[0], "input weight")
_POINTS_IN_BINS = not_differentiable("_histogramdd_from_bin_tensors", lambda *tensors: tensors[0], "input bins weight")
_POINT_EDGES = not_differentiable("_histogramdd_bin_edges", lambda *tensors: tensors[0], "input weight")


def _check_points(input: Tensor, weight: Tensor | None) -> None:
    if weight is not None and weight.array.shape != input.array.shape[:-1]:
        raise shape_error(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost "
            f"dimension, but got input with shape {list(input.array.shape)} and weight with shape {list(weight.array.shape)}",
        )


def _points(input: Tensor) -> Array:
    """The points (N, D). RuntimeError for less than two dimensions."""
    if input.array.ndim < 2:
        raise shape_error("torch.histogramdd: input tensor should have at least 2 dimensions")
    return input.array.reshape(math.prod(input.array.shape[:-1]), input.array.shape[-1])


def _counted(input: Tensor, edges: list[Array], weight: Tensor | None, density: bool) -> Tensor:
    """The counts of the points in the boxes between edges."""
    require_floating("histogram_cpu", input.dtype)
    points = _points(input)
    limits.check_elements(math.prod(len(e) - 1 for e in edges), input.dtype.itemsize)
    limits.check_work(points.size * 8.0)
    if not edges:
        return Tensor(np.asarray(math.nan if density else 0, points.dtype), input.dtype)
    weights = None if weight is None else weight.array.reshape(-1)
    inside = np.logical_and.reduce([_within(points[:, i], e) for i, e in enumerate(edges)])
    shape = tuple(len(e) - 1 for e in edges)
    at = np.ravel_multi_index([_places(points[inside, i], e) for i, e in enumerate(edges)], shape)
    counts = np.bincount(at, None if weights is None else weights[inside], math.prod(shape)).astype(points.dtype).reshape(shape)
    if density:
        counts = counts / counts.sum()
        for i, e in enumerate(edges):
            counts = counts / np.diff(e).reshape(tuple(-1 if d == i else 1 for d in builtins.range(len(edges))))
    return Tensor(counts.astype(points.dtype), input.dtype)


def histogramdd(input: Tensor, bins: Sequence[int], range: Sequence[float] | None, weight: Tensor | None, density: bool) -> NamedResult:
    """Counts of points (N, D) in so many boxes of one size along each dimension. RuntimeError for sizes that do not fit."""
    check_no_tangent("aten::_histogramdd_bin_edges", input, weight)
    points = _points(input)
    width = points.shape[1]
    if range is not None and len(range) != 2 * width:
        text = f"{width}-dimensional histogram range should have {2 * width} elements, but got {len(range)}"
        raise shape_error(f"torch.histogramdd: for a {text}")
    columns = [Tensor(points[:, i], input.dtype) for i in builtins.range(width)]
    bounds = [_bounds(column, None if range is None else range[2 * i : 2 * i + 2], i) for i, column in enumerate(columns)]
    if len(bins) != width:
        raise shape_error("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    edges = []
    for column, count, ends in zip(columns, bins, bounds, strict=True):
        limits.check_elements(max(count, 0), 8)
        edges.append(_edges(column, count, ends))
    for i, count in enumerate(bins):
        if count < 0:
            found = "at least 1 element, but got 0 elements in the bins tensor"
            raise shape_error(f"torch.histogramdd: bins tensor should have {found} for dimension {i}")
    _check_dtypes(input, None, weight)
    _check_points(input, weight)
    for i, count in enumerate(bins):
        if count == 0:
            raise shape_error(f"torch.histogram(): bins must be > 0, but got 0 for dimension {i}")
    hist = recorded(_POINTS, _counted(input, edges, weight, density), input, weight)
    # the node of the edges is the newer one, whose missing derivative backward meets first
    shown = tuple(recorded(_POINT_EDGES, Tensor(e, input.dtype), input, weight) for e in edges)
    return named("histogramdd", "hist", "bin_edges")((hist, shown))


def _histogramdd_in_bins(input: Tensor, bins: Sequence[Tensor], _: Any, weight: Tensor | None, density: bool) -> NamedResult:
    """Counts of points (N, D) in boxes between the edges of each dimension."""
    check_no_tangent("aten::_histogramdd_from_bin_tensors", input, weight)
    count = _points(input).shape[1]
    if len(bins) != count:
        raise shape_error(
            f"torch.histogramdd: expected {count} sequences of bin edges for a {count}-dimensional histogram but got {len(bins)}"
        )
    for i, one in enumerate(bins):
        _check_dtypes(input, one, None, i)
        _check_edges(one.array, i)
    _check_dtypes(input, None, weight)
    _check_points(input, weight)
    for i, one in enumerate(bins):
        if one.array.size == 1:
            raise shape_error(f"torch.histogram(): bins must be > 0, but got 0 for dimension {i}")
    sought = next((one for one in bins if one.requires_grad), None)
    hist = recorded(_POINTS_IN_BINS, _counted(input, [one.array for one in bins], weight, density), input, sought, weight)
    return named("histogramdd", "hist", "bin_edges")((hist, tuple(bins)))


def _in_equal_bins(input: Tensor, bins: int, range: Sequence[float] | None, weight: Tensor | None, density: bool) -> NamedResult:
    return histogramdd(input, (bins,) * size(input, -1), range, weight, density)


def _check_edges(edges: Array, dim: int) -> None:
    if edges.ndim != 1 or not edges.size:
        wrong = f"have at least 1 element, but got {edges.size} elements"
        if edges.ndim != 1:
            wrong = f"have one dimension, but got {edges.ndim} dimensions"
        raise shape_error(f"torch.histogramdd: bins tensor should {wrong} in the bins tensor for dimension {dim}")


def _histogram_of(input: Tensor, bins: Tensor, weight: Tensor | None, density: bool) -> NamedResult:
    check_no_tangent("aten::histogram", input, bins, weight)
    edges = bins.array
    _check_dtypes(input, bins, None)
    _check_edges(edges, 0)
    return _histogram(input, edges, weight, density, bins)


def _histogram_in(input: Tensor, bins: int, range: Sequence[float] | None, weight: Tensor | None, density: bool) -> NamedResult:
    check_no_tangent("aten::histogram", input, weight)
    if bins <= 0:
        raise shape_error(_NO_BINS.format(bins))
    if range is not None and len(range) != 2:
        raise shape_error(f"torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got {len(range)}")
    limits.check_elements(bins, 8)
    edges = _edges(input, bins, _bounds(input, range))
    _check_dtypes(input, None, weight)
    return _histogram(input, edges, weight, density)


_SAME = (
    "torch.histogram: input tensor and {field} tensor should have the same dtype, but got input {{result_c}} and {field} {{out_c}}{more}"
)


def _sizes(values: list[Any]) -> tuple[int, ...]:
    """The shape of the counts. Raises RuntimeError for no bins."""
    if values[1] <= 0:
        raise shape_error(_NO_BINS.format(values[1]))
    return (values[1],)


def _histogram_out(input: Tensor, bins: Any, *_: Any) -> Out:
    """How `histogram` takes `out`: PyTorch writes the edges before it counts, so that they may not be the input."""
    fields = {"hist": _SAME.format(field="hist", more=""), "bin_edges": _SAME.format(field="bin_edges", more=" for dimension 0")}
    how: Any = {"autograd": "fallback", "memory": "unchecked", "overlap": "any", "adds": True}
    if type(bins) is Tensor:
        return Out(fields, **how)
    return Out(fields, first=True, shape=lambda values: [_sizes(values), (values[1] + 1,)], **how)


FUNCTIONS = (
    Function(
        "bincount",
        ("Tensor input, Tensor? weights=None, symint minlength=0", bincount),
        doc="How often each non-negative integer occurs.",
        samples=(Sample("bincount(tensor([1, 3, 1]))"),),
    ),
    Function(
        "histc",
        ("Tensor input, int bins=100, Number min=0, Number max=0", histc),
        doc="How many elements fall into each of equal bins.",
        samples=(Sample("histc(tensor([1., 2., 1.]), bins=4, min=0, max=3)"),),
        out=Out(_SAME.format(field="hist", more=""), first=True, memory="unchecked", shape=_sizes),
    ),
    Function(
        "histogram",
        ("Tensor input, Tensor bins, *, Tensor? weight=None, bool density=False |2 outs", _histogram_of),
        ("Tensor input, int bins=100, *, floats? range=None, Tensor? weight=None, bool density=False |2 outs", _histogram_in),
        doc="How many elements lie between edges.",
        samples=(Sample("histogram(tensor([1., 2., 2., 5.]), 3)"),),
        out=_histogram_out,
    ),
    Function(
        "histogramdd",
        ("Tensor input, int bins, floats? range=None, Tensor? weight=None, bool density=False", _in_equal_bins),
        ("Tensor input, ints bins, floats? range=None, Tensor? weight=None, bool density=False", histogramdd),
        ("Tensor input, Tensors bins, floats? range=None, Tensor? weight=None, bool density=False", _histogramdd_in_bins),
        doc="Counts of points in boxes, and the edges of the boxes.",
        samples=(Sample("torch.histogramdd(tensor([[0., 1.], [1., 0.], [2., 2.]]), bins=[2, 3]).hist", None),),
        method=False,
    ),
)
