"""Variance and deviation, medians and other order statistics, covariance, histograms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core import catalog, dtypes, introselect, warnings
from gradcli.core.function import Function, Sample
from gradcli.core.ops import arithmetic, checks, scalars
from gradcli.core.ops.choosing import MASKED_FILL, clamp
from gradcli.core.ops.extremes import check_size
from gradcli.core.ops.reducing import count_of, restored, spread
from gradcli.core.ops.reduction import MEAN, MEAN_DIM
from gradcli.core.ops.reduction import sum as sum_along
from gradcli.core.ops.selecting import GATHER, reducing, result, spread_evenly
from gradcli.core.ops.sorting import SORT, comparisons, rows
from gradcli.core.record import Op, Rule
from gradcli.core.results import NamedResult
from gradcli.core.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError

# --- variance and standard deviation ---


def _variance(x: Array, dim: Any, correction: float, keepdim: bool) -> tuple[Array, Array]:
    """Variance and mean, computed in double precision."""
    dims = checks.wrap_dims(dim, x.ndim)
    wide = x.astype(np.float64)
    count = count_of(x.shape, dim)
    mean = np.asarray(np.add.reduce(wide, axis=dims, keepdims=True) / np.float64(count))
    total = np.add.reduce((wide - mean) ** 2, axis=dims, keepdims=keepdim)
    variance = np.asarray(total / np.float64(max(count - correction, 0)))
    return variance, mean if keepdim else mean.reshape(variance.shape)


def _factor(shape: Any, dim: Any, correction: float) -> float:
    freedom = count_of(shape, dim) - correction
    return 2.0 / freedom if freedom else math.inf


def _mean(xp: Any, x: Any, dim: Any) -> Any:
    dtype = x.dtype if type(x) is Tensor else dtypes.of(x.dtype)
    return xp.call(MEAN, x, dtype) if dim is None else xp.call(MEAN_DIM, x, dim, True, dtype)


def _var_gradient(xp: Any, grad: Any, input: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    shape = xp.plain(input).shape
    grad = restored(xp, grad, shape, dim, keepdim) if dim is not None else grad
    if keepdim and dim is None and type(grad) is not Tensor:
        grad = np.asarray(grad)
    return scalars.times(xp, grad, _factor(shape, dim, correction)) * (input - _mean(xp, input, dim))


def _std_gradient(xp: Any, grad: Any, input: Any, out: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    inner = xp.call(MASKED_FILL, grad / scalars.times(xp, out, 2), np.equal(xp.plain(out), 0), 0)
    return _var_gradient(xp, inner, input, dim, correction, keepdim)


_VAR_FORMULA = "= grad * 2 / (n - correction) * (input - mean(input)), along dim, with n the number of elements of each mean"
_STD_FORMULA = "= grad / (2 * out) * 2 / (n - correction) * (input - mean(input)), along dim"
_STD_NOTE = "0 where the deviation is 0"

VAR = Op(
    "VarBackward0",
    lambda x, dim, correction, keepdim: _variance(x, dim, correction, keepdim)[0].astype(x.dtype),
    "input",
    "dim correction keepdim",
    input=Rule(_var_gradient, _VAR_FORMULA),
)
STD = Op(
    "StdBackward0",
    lambda x, dim, correction, keepdim: np.sqrt(_variance(x, dim, correction, keepdim)[0]).astype(x.dtype),
    "input",
    "dim correction keepdim",
    input=Rule(_std_gradient, _STD_FORMULA, _STD_NOTE),
)


def _with_mean(root: bool) -> Callable[..., tuple[Array, Array]]:
    def run(x: Array, dim: Any, correction: float, keepdim: bool) -> tuple[Array, Array]:
        variance, mean = _variance(x, dim, correction, keepdim)
        return (np.sqrt(variance) if root else variance).astype(x.dtype), mean.astype(x.dtype)

    return run


def _mean_part(xp: Any, grad: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    shape = xp.plain(input).shape
    return scalars.over(xp, spread(xp, grad, shape, dim, keepdim), count_of(shape, dim))


def _var_mean_rule(xp: Any, grads: Any, input: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    parts = []
    if grads[0] is not None:
        parts.append(_var_gradient(xp, grads[0], input, dim, correction, keepdim))
    if grads[1] is not None:
        parts.append(_mean_part(xp, grads[1], input, dim, keepdim))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _std_mean_rule(xp: Any, grads: Any, input: Any, result0: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    parts = []
    if grads[0] is not None:
        parts.append(_std_gradient(xp, grads[0], input, result0, dim, correction, keepdim))
    if grads[1] is not None:
        parts.append(_mean_part(xp, grads[1], input, dim, keepdim))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


VAR_MEAN = Op(
    "VarMeanBackward0",
    _with_mean(False),
    "input",
    "dim correction keepdim",
    outputs="result0 result1",
    differentiable=2,
    input=Rule(_var_mean_rule, "= the gradients of var and of mean, added"),
)
STD_MEAN = Op(
    "StdMeanBackward0",
    _with_mean(True),
    "input",
    "dim correction keepdim",
    outputs="result0 result1",
    differentiable=2,
    input=Rule(_std_mean_rule, "= the gradients of std and of mean, added", _STD_NOTE),
)


def _spread_function(name: str, op: Op) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """The implementations of the three overloads of var, std, var_mean and std_mean."""

    def run(input: Tensor, dim: Any, correction: Any, keepdim: bool) -> Any:
        if not input.dtype.is_floating_point:
            what = "std and var" if name in ("var", "std") else name
            raise ProgramError("RuntimeError", f"{what} only support floating point and complex dtypes")
        dim = dim or None
        checks.wrap_dims(dim, input.array.ndim)
        if count_of(input.array.shape, dim) - correction <= 0:
            warnings.emit(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
                "divided by output numel). (Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/ReduceOps.cpp:1861.)"
            )
        return op(input, dim, correction, keepdim)

    def with_dim(input: Tensor, dim: Any, unbiased: bool, keepdim: bool) -> Any:
        return run(input, dim, 1 if unbiased else 0, keepdim)

    def with_correction(input: Tensor, dim: Any, correction: Any, keepdim: bool) -> Any:
        return run(input, dim, 1 if correction is None else correction, keepdim)

    def whole(input: Tensor, unbiased: bool) -> Any:
        return run(input, None, 1 if unbiased else 0, False)

    return with_dim, with_correction, whole


# --- medians and modes ---


def _middle(x: Array, skip_nan: bool) -> Array:
    """The lower median of all elements."""
    flat = x.reshape(-1)
    kind = flat.dtype.kind
    if kind == "f":
        missing = np.isnan(flat)
        if not flat.size or missing.all() or (missing.any() and not skip_nan):
            return np.asarray(np.nan, flat.dtype)
        flat = flat[~missing]
    limits.check_work(flat.size * 4)
    return np.asarray(np.partition(flat, (flat.size - 1) // 2)[(flat.size - 1) // 2])


def _median(skip_nan: bool) -> Callable[[Array, int], tuple[Array, Array]]:
    def run(x: Array, dim: int) -> tuple[Array, Array]:
        limits.check_work(x.size * max(x.size.bit_length(), 1))
        if not x.size:
            shape = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
            return np.zeros(shape, x.dtype), np.zeros(shape, np.int64)
        order = np.argsort(x, axis=dim, kind="stable")
        missing = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
        count = np.add.reduce(missing, axis=dim, keepdims=True)
        place = np.maximum(x.shape[dim] - np.where(skip_nan, count, 0) - 1, 0) // 2
        index = np.take_along_axis(order, place, dim)
        if not skip_nan:
            index = np.where(count > 0, np.expand_dims(np.argmax(missing, axis=dim), dim), index)
        return np.take_along_axis(x, index, dim), index

    return run


def _median_records(name: str, skip_nan: bool) -> tuple[Op, Any]:
    note = "shared equally among the elements that equal the median"
    whole = Op(
        f"{name}Backward0",
        lambda x: _middle(x, skip_nan),
        "input",
        input=Rule(
            lambda xp, grad, input, out: spread_evenly(xp, grad, input, out), "grad * (input == out) / (input == out).sum()", note
        ),
    )
    return whole, reducing(f"{name}Backward1", _median(skip_nan), note="to the element whose index is returned")


MEDIAN, MEDIAN_DIM = _median_records("Median", False)
NANMEDIAN, NANMEDIAN_DIM = _median_records("Nanmedian", True)


def _refuse_bool(kernel: str, input: Tensor) -> None:
    if input.dtype is dtypes.bool_:
        raise checks.not_implemented(kernel, input.dtype)


def _median_functions(name: str, whole: Op, along: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def of_all(input: Tensor) -> Any:
        _refuse_bool("median_cpu", input)
        return whole(input)

    def of_dim(input: Tensor, dim: int, keepdim: bool) -> NamedResult:
        check_size("median", input, dim)
        _refuse_bool("median_out", input)
        return result(name, along(input, dim, keepdim))

    return of_all, of_dim


def _mode_of_row(row: Array) -> int:
    order = list(range(len(row)))
    values = row.tolist()
    if len(row) <= 16:
        # a short row is sorted by insertion with a plain <, for which nan is neither before nor behind
        introselect.sort(order, 0, len(row), lambda i, j: bool(values[i] < values[j]))
    elif len(row) <= 4096:
        introselect.sort(order, 0, len(row), comparisons(row)[0])
    else:
        order = np.argsort(row, kind="stable").tolist()
    best, most, run = order[0], 0, 0
    for i, at in enumerate(order):
        run += 1
        if i + 1 == len(order) or values[at] != values[order[i + 1]]:
            if run > most:
                best, most = at, run
            run = 0
    return best


def _mode(x: Array, dim: int) -> tuple[Array, Array]:
    limits.check_work(x.size * max(x.size.bit_length(), 1))
    if not x.size:
        shape = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
        return np.zeros(shape, x.dtype), np.zeros(shape, np.int64)
    index = rows(x, dim, 1, _mode_of_row)
    return np.take_along_axis(x, index, dim), index


MODE = reducing("ModeBackward0", _mode, note="to the element whose index is returned")


def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> NamedResult:
    """The most frequent value, the smallest of several, and where it is."""
    check_size("mode", input, dim)
    return result("mode", MODE(input, dim, keepdim))


# --- quantiles ---

_SQUEEZE = Op(
    "SqueezeBackward4",
    lambda x, shape: x.reshape(shape),
    "input",
    "shape",
    input=Rule(lambda xp, grad, input_shape: xp.reshape(grad, input_shape), "grad.reshape(input.shape)"),
)
_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _weights(ranks: Array, interpolation: str) -> tuple[Array, Array, Array]:
    """For each rank the places below and above, and the weight of the latter."""
    if interpolation == "lower":
        ranks = np.floor(ranks)
    elif interpolation == "higher":
        ranks = np.ceil(ranks)
    elif interpolation == "nearest":
        ranks = np.rint(ranks)
    below = np.floor(ranks)
    weight = np.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    return below.astype(np.int64), np.ceil(ranks).astype(np.int64), weight


def quantile(input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Any:
    """Values below which a share q of the elements lies; between two elements by interpolation."""
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise ProgramError("RuntimeError", "quantile() input tensor must be either float or double dtype")
    if type(q) is Tensor and q.dtype is not input.dtype:
        raise ProgramError("RuntimeError", "quantile() q tensor must be same dtype as the input tensor")
    if not input.array.size:
        raise ProgramError("RuntimeError", "quantile() input tensor must be non-empty")
    if interpolation not in _INTERPOLATIONS:
        raise ProgramError(
            "RuntimeError",
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got " + interpolation,
        )
    wanted = np.asarray(q.array if type(q) is Tensor else q, input.dtype.np)
    if type(q) is not Tensor and not 0 <= q <= 1:
        raise ProgramError("RuntimeError", f"quantile() q must be in the range [0, 1] but got {q:g}")
    if wanted.size and not ((wanted >= 0) & (wanted <= 1)).all():
        raise ProgramError("RuntimeError", "quantile() q values must be in the range [0, 1]")
    rank = input.array.ndim
    flat: Any = catalog.function("flatten")(input) if dim is None else input
    at = 0 if dim is None else checks.wrap_dim(dim, rank)
    if dim is not None and rank:
        flat = catalog.function("movedim")(input, at, -1)
    values = _quantiles(flat, wanted.reshape(-1), interpolation)
    kept = [1] * rank if dim is None else [*flat.array.shape[:-1]]
    if dim is not None and rank:
        kept = [*input.array.shape[:at], 1, *input.array.shape[at + 1 :]]
    shape = kept if keepdim else [n for i, n in enumerate(kept) if dim is not None and rank and i != at]
    if not wanted.ndim:
        return _SQUEEZE(values, tuple(shape))
    moved = catalog.function("movedim")(values, -1, 0)
    return catalog.function("reshape")(moved, (wanted.size, *shape)) if keepdim else moved


def _quantiles(x: Tensor, q: Array, interpolation: str) -> Any:
    """Along the last dimension, which becomes that of q; a nan makes its row nan."""
    if not x.array.ndim:
        x = catalog.function("reshape")(x, (1,))
    ordered = SORT(x, -1, False)[0]
    size = x.array.shape[-1]
    ranks = np.broadcast_to(q * x.dtype.np.type(size - 1), (*x.array.shape[:-1], q.size))
    missing = np.isnan(x.array).any(-1, keepdims=True)
    ranks = np.where(missing, x.dtype.np.type(size - 1), ranks)  # nan is sorted last
    below, above, weight = _weights(ranks, interpolation)
    low = GATHER(ordered, below, x.array.ndim - 1)
    if interpolation in ("lower", "higher", "nearest"):
        return low
    return arithmetic.LERP_TENSOR(low, GATHER(ordered, above, x.array.ndim - 1), wrap(weight.astype(x.dtype.np)))


# --- covariance ---


def cov(input: Tensor, correction: int = 1) -> Any:
    """The covariance matrix of the rows; a 0-d tensor for a vector."""
    if input.array.ndim > 2:
        raise ProgramError(
            "RuntimeError", f"cov(): expected input to have two or fewer dimensions but got an input with {input.array.ndim} dimensions"
        )
    if input.dtype is dtypes.bool_:
        raise ProgramError("RuntimeError", "cov(): bool dtype is not supported for input")
    reshape, function = catalog.function("reshape"), catalog.function
    x: Any = reshape(input, (1, -1)) if input.array.ndim < 2 else input
    count = x.array.shape[1]
    average = sum_along(x, (1,)) / count
    x = x - function("unsqueeze")(average, 1)
    product = function("mm")(x, function("t")(x))
    if count - correction <= 0:
        warnings.emit(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations. (Triggered "
            "internally at /__w/pytorch/pytorch/aten/src/ATen/native/Correlation.cpp:129.)"
        )
    scaled = product / wrap(np.asarray(max(count - correction, 0), np.int64))
    return function("squeeze")(scaled)


def corrcoef(input: Tensor) -> Any:
    """The correlation matrix of the rows."""
    if input.array.ndim > 2:
        raise ProgramError(
            "RuntimeError",
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.array.ndim} dimensions",
        )
    c = cov(input)
    if not c.array.ndim:
        return c / c
    function = catalog.function
    deviation = function("sqrt")(function("diagonal")(c))
    c = c / function("reshape")(deviation, (-1, 1)) / function("reshape")(deviation, (1, -1))
    return clamp(c, -1, 1)


# --- counting ---


def bincount(input: Tensor, weights: Tensor | None, minlength: int) -> Tensor:
    """How often each number from 0 on occurs; with weights, the sum of their weights."""
    if input.dtype.is_floating_point:
        raise checks.not_implemented("bincount_cpu", input.dtype)
    x = input.array
    if x.ndim != 1 or (x.size and x.min() < 0):
        raise ProgramError("RuntimeError", "bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise ProgramError("RuntimeError", "minlength should be >= 0")
    limits.check_elements(max(int(x.max()) + 1 if x.size else 0, minlength), 8)
    if weights is None:
        return wrap(np.bincount(x.astype(np.int64), minlength=minlength).astype(np.int64))
    if weights.array.shape != x.shape:
        raise ProgramError("RuntimeError", "weights should be 1-d and have the same length as input")
    counts = np.bincount(x.astype(np.int64), weights.array.astype(np.float64), minlength)
    return wrap(counts.astype(np.float32 if weights.dtype is dtypes.float32 else np.float64))


def histc(input: Tensor, bins: int, min: Any, max: Any) -> Tensor:
    """How many elements fall into each of `bins` equal bins from min to max (both 0: the range of the data)."""
    if not input.dtype.is_floating_point:
        raise checks.not_implemented("histogram_cpu", input.dtype)
    if bins <= 0:
        raise ProgramError("RuntimeError", f"torch.histogramdd(): bins {bins} must be > 0")
    limits.check_elements(bins, 8)
    x = input.array.reshape(-1).astype(np.float64)
    low, high = float(min), float(max)
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ProgramError("RuntimeError", f"torch.histogramdd(): range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise ProgramError("RuntimeError", "torch.histc: max must be larger than min")
    inside = x[(x >= low) & (x <= high)]
    place = np.minimum(((inside - low) / (high - low) * bins).astype(np.int64), bins - 1)
    return Tensor(np.bincount(place, minlength=bins).astype(input.dtype.np), input.dtype)


_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]


def _moments(name: str, op: Op, doc: str, reference: Any, method: bool) -> Function:
    with_dim, with_correction, whole = _spread_function(name, op)
    pick = "" if method else "[0]"
    return Function(
        name,
        ("Tensor input, ints1? dim, bool unbiased=True, bool keepdim=False", with_dim),
        ("Tensor input, ints1? dim=None, *, Number? correction=None, bool keepdim=False", with_correction),
        ("Tensor input, bool unbiased=True", whole),
        doc=doc,
        ops=(op,),
        samples=(
            Sample(f"torch.{name}(x){pick}", lambda x: reference(x, ddof=1), x=_M),
            Sample(f"torch.{name}(x, 1){pick}", lambda x: reference(x, 1, ddof=1), x=_M),
            Sample(f"torch.{name}(x, dim=0, unbiased=False, keepdim=True){pick}", lambda x: reference(x, 0, keepdims=True), x=_M),
            Sample(f"torch.{name}(x, (0, 1), correction=2){pick}", lambda x: reference(x, ddof=2), x=_M),
            *(() if method else (Sample(f"torch.{name}(x, 1)[1]", lambda x: x.mean(1), x=_M),)),
        ),
        method=method,
    )


def _medians(name: str, whole: Op, along: Any, doc: str) -> Function:
    of_all, of_dim = _median_functions(name, whole, along)
    return Function(
        name,
        ("Tensor input", of_all),
        ("Tensor input, int dim, bool keepdim=False", of_dim),
        doc=doc,
        ops=(whole, along),
        samples=(
            Sample(f"{name}(x)", np.median, x=[0.5, -1.5, 2.0]),
            Sample(f"x.{name}(1).values", lambda x: np.median(x, 1), x=_M),
        ),
    )


_Q = "int? dim=None, bool keepdim=False, *, str interpolation='linear'"

FUNCTIONS = (
    _moments("var", VAR, "Variance, divided by n - correction (1, or 0 with unbiased=False).", np.var, True),
    _moments("std", STD, "Standard deviation, the root of var.", np.std, True),
    _moments("var_mean", VAR_MEAN, "Variance and mean.", np.var, False),
    _moments("std_mean", STD_MEAN, "Standard deviation and mean.", np.std, False),
    _medians("median", MEDIAN, MEDIAN_DIM, "The middle element, the lower of two; along dim with its index."),
    _medians("nanmedian", NANMEDIAN, NANMEDIAN_DIM, "The middle element, nan left out."),
    Function(
        "mode",
        ("Tensor input, int dim=-1, bool keepdim=False", mode),
        doc="The most frequent value along dim, and its index.",
        ops=(MODE,),
        samples=(Sample("mode(x).values", None, x=[[1.0, 2.0, 0.5], [3.0, -1.0, 0.0]]),),
    ),
    Function(
        "quantile",
        (f"Tensor input, Tensor q, {_Q}", quantile),
        (f"Tensor input, float q, {_Q}", quantile),
        doc="The value below which a share q of the elements lies.",
        samples=(
            Sample("quantile(x, 0.3)", lambda x: np.quantile(x, 0.3), x=_M),
            Sample("x.quantile(0.6, 1)", lambda x: np.quantile(x, 0.6, 1), x=_M),
        ),
    ),
    Function(
        "cov",
        ("Tensor input, *, int correction=1", cov),
        doc="The covariance matrix of the rows.",
        samples=(Sample("cov(x)", np.cov, x=_M),),
    ),
    Function(
        "corrcoef",
        ("Tensor input", corrcoef),
        doc="The correlation matrix of the rows.",
        samples=(Sample("corrcoef(x)", np.corrcoef, x=_M),),
    ),
    Function(
        "bincount",
        ("Tensor input, Tensor? weights=None, int minlength=0", bincount),
        doc="How often each non-negative integer occurs.",
        samples=(Sample("bincount(tensor([1, 3, 1]))"),),
    ),
    Function(
        "histc",
        ("Tensor input, int bins=100, Number min=0, Number max=0", histc),
        doc="How many elements fall into each of equal bins.",
        samples=(Sample("histc(tensor([1., 2., 1.]), bins=4, min=0, max=3)"),),
    ),
)
