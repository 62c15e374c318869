"""Runs of equal elements, places as coordinates, counts in bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.named_tuples import named
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.checks import not_implemented, wrap_dim
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError

# --- runs of equal elements ---


def _no_derivative(grad: Any) -> Any:
    raise ProgramError("NotImplementedError", "the derivative for 'unique_consecutive' is not implemented.")


def _firsts(a: Array, dim: int | None) -> Array:
    """Which elements (slices along dim) differ from the one before."""
    rows = a.reshape(-1, 1) if dim is None else np.moveaxis(a, dim, 0).reshape(a.shape[dim], -1)
    return np.concatenate([np.ones(min(len(rows), 1), bool), (rows[1:] != rows[:-1]).any(1)])


def unique_consecutive(input: Tensor, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    """The first of each run of equal elements; on request with the run of each element, and the lengths."""
    if dim is not None:
        dim = wrap_dim(dim, input.array.ndim)
        if not input.array.ndim:
            dim = None
    limits.check_elements(input.array.size, 8)
    first = _firsts(input.array, dim)
    kept = np.flatnonzero(first)
    values = RUNS(input, kept, dim)
    parts: list[Any] = [values]
    if return_inverse:
        inverse = np.cumsum(first, dtype=np.int64) - 1
        parts.append(wrap(inverse.reshape(input.array.shape) if dim is None else inverse))
    if return_counts:
        parts.append(wrap(np.diff(np.append(kept, first.size)).astype(np.int64)))
    return parts[0] if len(parts) == 1 else tuple(parts)


RUNS = Op(
    "UniqueConsecutiveBackward0",
    lambda a, kept, dim: a.reshape(-1)[kept] if dim is None else np.take(a, kept, dim),
    "input",
    "kept dim",
    input=Rule(_no_derivative, ""),
)


# --- places as coordinates ---


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates of elements counted row by row in a tensor of that shape."""
    if type(indices) is not Tensor:
        raise no_attribute(indices, "is_complex")
    if indices.dtype.is_floating_point or indices.dtype is dtypes.bool_:
        raise ProgramError("TypeError", f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if type(shape) is int else tuple(shape)
    if any(n < 0 for n in sizes):
        raise ProgramError("ValueError", f"'shape' cannot have negative values, but got {sizes}")
    limits.check_elements(indices.array.size * max(len(sizes), 1), 8)
    steps = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
    return tuple(wrap(np.asarray(indices.array // step % n)) for step, n in zip(steps, sizes, strict=True))


def nonzero_static(input: Tensor, size: int, fill_value: int) -> Tensor:
    """The coordinates of the first elements that are not 0, that many of them."""
    if size < 0:
        raise ProgramError("RuntimeError", "nonzero_static: 'size' must be an non-negative integer")
    limits.check_elements(size * max(input.array.ndim, 1), 8)
    found = np.argwhere(input.array)[:size]
    made = np.full((size, input.array.ndim), fill_value, np.int64)
    made[: len(found)] = found
    return wrap(made)


# --- counts in bins ---


def _edges(input: Tensor, bins: int, range: Sequence[float] | None) -> Array:
    low, high = (0.0, 0.0) if range is None else range
    values = input.array
    if range is None and values.size:
        low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ProgramError("RuntimeError", f"torch.histogram(): range [{low:g}, {high:g}] is not finite")
    return np.linspace(low, high, bins + 1).astype(values.dtype)


def _histogram(input: Tensor, edges: Array, weight: Tensor | None, density: bool) -> Any:
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("histogramdd", input.dtype)
    limits.check_work(input.array.size * 8.0)
    values = input.array.reshape(-1)
    weights = None if weight is None else weight.array.reshape(-1)
    if weights is not None and weights.size != values.size:
        raise ProgramError(
            "RuntimeError",
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost "
            f"dimension, but got input with shape [{values.size}, 1] and weight with shape [{weights.size}]",
        )
    inside = (values >= edges[0]) & (values <= edges[-1])
    at = np.minimum(np.searchsorted(edges, values[inside], side="right") - 1, len(edges) - 2)
    counts = np.bincount(at, None if weights is None else weights[inside], len(edges) - 1).astype(input.array.dtype)
    if density:
        counts = counts / counts.sum() / np.diff(edges)
    return named("histogram", "hist", "bin_edges")((wrap(counts), wrap(edges)))


def _histogram_of(input: Tensor, bins: Tensor, weight: Tensor | None, density: bool) -> Any:
    edges = bins.array
    if edges.ndim != 1 or not edges.size:
        wrong = f"have at least 1 element, but got {edges.size} elements"
        if edges.ndim != 1:
            wrong = f"have one dimension, but got {edges.ndim} dimensions"
        raise ProgramError("RuntimeError", f"torch.histogramdd: bins tensor should {wrong} in the bins tensor for dimension 0")
    if edges.size == 1:
        raise ProgramError("RuntimeError", "torch.histogram(): bins must be > 0, but got 0 for dimension 0")
    return _histogram(input, edges, weight, density)


def _histogram_in(input: Tensor, bins: int, range: Any, weight: Tensor | None, density: bool) -> Any:
    if bins <= 0:
        raise ProgramError("RuntimeError", f"torch.histogramdd(): bins size = {bins} is invalid for dimension 0. bins must be > 0")
    limits.check_elements(bins, 8)
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("histogramdd", input.dtype)
    return _histogram(input, _edges(input, bins, range), weight, density)


_UNIQUE = "Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None"

FUNCTIONS = (
    Function(
        "unique_consecutive",
        (_UNIQUE, unique_consecutive),
        doc="The first of each run of equal elements.",
        ops=(RUNS,),
        samples=(Sample("unique_consecutive(tensor([1, 1, 2, 1]), return_counts=True)"),),
        method=False,
        python="_consecutive_return_output",
    ),
    Function(
        "Tensor.unique_consecutive",
        (_UNIQUE, unique_consecutive),
        doc="The first of each run of equal elements.",
        samples=(Sample("tensor([1, 1, 2, 1]).unique_consecutive()"),),
        function=False,
        python="Tensor.unique_consecutive",
    ),
    Function(
        "unravel_index",
        ("any indices, any shape", unravel_index),
        doc="The coordinates of elements counted row by row.",
        samples=(Sample("torch.unravel_index(tensor([3, 4]), (2, 3))"),),
        method=False,
        python="unravel_index",
    ),
    Function(
        "nonzero_static",
        ("Tensor input, *, int size, int fill_value=-1", nonzero_static),
        doc="The coordinates of the first elements that are not 0.",
        samples=(Sample("torch.nonzero_static(tensor([0, 1, 2]), size=3)"),),
    ),
    Function(
        "histogram",
        ("Tensor input, Tensor bins, *, Tensor? weight=None, bool density=False |outs", _histogram_of),
        ("Tensor input, int bins=100, *, any range=None, Tensor? weight=None, bool density=False |outs", _histogram_in),
        doc="How many elements lie between edges.",
        samples=(Sample("histogram(tensor([1., 2., 2., 5.]), 3)"),),
        out=True,
    ),
)
