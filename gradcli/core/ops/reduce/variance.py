"""Variance and deviation, covariance and correlation: var, std, var_mean, std_mean, cov, corrcoef."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph import in_place
from gradcli.core.graph.conjugate import conj, conjugated
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import result_dtype_error
from gradcli.core.kernels import Array
from gradcli.core.kernels.summation import total
from gradcli.core.ops.checks import Number, not_implemented, wrap_dims
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import sub
from gradcli.core.ops.elementwise.complex_signs import REAL
from gradcli.core.ops.elementwise.divide_remainder import div
from gradcli.core.ops.elementwise.exponential import SQRT
from gradcli.core.ops.elementwise.maximum import clamp
from gradcli.core.ops.index.masked import MASKED_FILL
from gradcli.core.ops.reduce import sum_mean
from gradcli.core.ops.reduce.common import Dims, count_of, restored, shape_of, spread
from gradcli.core.ops.reduce.sum_mean import MEAN, MEAN_DIM
from gradcli.core.ops.shape.diagonal import diagonal
from gradcli.core.ops.shape.squeeze import squeeze, unsqueeze
from gradcli.core.ops.shape.transpose import t
from gradcli.core.ops.shape.views import reshape, view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import Code, runtime_error, shape_error

#: the most elements of a row that are taken one by one
_ONE_BY_ONE = 1 << 10


def _updated(rows: Array) -> tuple[Array, Array]:
    """The sum of squared differences from the mean, and the mean, of each row, updated element by element (Welford 1962)."""
    mean, squares = np.zeros(len(rows)), np.zeros(len(rows))
    for k, values in enumerate(rows.T, 1):
        difference = values - mean
        mean = mean + difference / k
        squares = squares + difference * (values - mean)
    return squares, mean


def _in_rows(x: Array, dims: tuple[int, ...], rows: int) -> Array:
    """The elements over which is reduced, as the rows of a matrix."""
    return x.transpose(*(d for d in range(x.ndim) if d not in dims), *dims).reshape(rows, count_of(x.shape, dims))


def _variance(x: Array, dim: Any, correction: float, keepdim: bool, with_mean: bool = False) -> tuple[Array, Array]:
    """Variance and mean, computed in double precision.

    Where the mean is no result, PyTorch rounds that over all dimensions to the dtype of x first.
    """
    if x.dtype.kind == "c":
        parts = [_variance(part, dim, correction, keepdim, with_mean) for part in (x.real, x.imag)]
        kind = x.real.dtype  # the dtype of the sum of both parts
        return parts[0][0].astype(kind) + parts[1][0].astype(kind), parts[0][1] + 1j * parts[1][1]
    dims = wrap_dims(dim, x.ndim)
    wide = x.astype(np.float64)
    count = count_of(x.shape, dim)
    if len(dims) == x.ndim and not with_mean:
        mean = np.asarray(total(x, axis=dims, keepdims=True) / x.dtype.type(count)).astype(np.float64)
    else:
        mean = np.asarray(total(wide, axis=dims, keepdims=True) / np.float64(count))
    squares = total((wide - mean) ** 2, axis=dims, keepdims=keepdim)
    if x.dtype == np.float64 and x.size and count <= _ONE_BY_ONE and (len(dims) < x.ndim or with_mean):
        found, middle = _updated(_in_rows(x, dims, squares.size))
        squares, mean = found.reshape(squares.shape), middle.reshape(mean.shape)
    variance = np.asarray(squares / np.float64(max(0, count - correction) if count else 0))
    return variance, mean if keepdim else mean.reshape(variance.shape)


def _running_mean(x: Array, dim: Any, mean: Array) -> Array:
    """The mean as PyTorch updates it, element by element: after an infinite one it is infinite, and nan after any other."""
    rows = _in_rows(x, wrap_dims(dim, x.ndim), mean.size)
    return np.where(np.isinf(rows[:, :-1]).any(-1).reshape(mean.shape), np.nan, mean)


def _factor(shape: Any, dim: Any, correction: float) -> float:
    freedom = (count_of(shape, dim) if dim != () else 1) - correction  # PyTorch's product over no dimension is 1
    return math.inf if freedom == 0 or (dim is None and freedom < 0) else 2.0 / freedom


def _mean(xp: Any, x: Any, dim: Any) -> Any:
    dtype = x.dtype if type(x) is Tensor else dtypes.of(x.dtype)
    return xp.call(MEAN, x, dtype) if dim is None else xp.call(MEAN_DIM, x, dim, True, dtype)


def _var_gradient(xp: Any, grad: Any, input: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    shape = xp.plain(input).shape
    dim = dim if shape else None
    grad = restored(xp, grad, shape, dim, keepdim) if dim is not None and len(shape) > 1 else grad
    if keepdim and dim is None and type(grad) is not Tensor:
        grad = np.asarray(grad)
    factor = _factor(shape, dim, correction)
    if dim is None and math.isinf(factor):
        x = xp.plain(input)
        kind = dtypes.get_default().np.type
        factors = np.where(x == total(x) / x.dtype.type(max(x.size, 1)), kind(np.nan), kind(np.inf))
        return grad * (wrap(factors) if type(grad) is Tensor else factors)
    return scalars.times(xp, grad, factor) * (input - _mean(xp, input, dim))


def _std_gradient(xp: Any, grad: Any, input: Any, out: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    inner = xp.call(MASKED_FILL, grad / scalars.times(xp, out, 2), np.equal(xp.plain(out), 0), 0)
    return _var_gradient(xp, inner, input, dim, correction, keepdim)


_MEAN = "m = input.mean(dim, True); n = input.numel() / m.numel(); f = n - correction if dim else max(n - correction, 0); "


def _var_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, _: Any) -> Any:
    dim, correction, keepdim, _ = attrs
    x = inputs[0]
    part = _var_gradient(xp, conjugated(xp, tangents[0]), x, dim, correction, True)
    moved = xp.sum(part, wrap_dims(dim, x.array.ndim), keepdim)
    return xp.call(REAL, moved) if x.dtype.is_complex else moved


def _std_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, out: Any) -> Any:
    moved = _var_jvp(xp, inputs, attrs, tangents, out)
    return xp.call(MASKED_FILL, moved / scalars.times(xp, out, 2), np.equal(xp.plain(out), 0), 0)


def _and_mean(jvp: Any) -> Any:
    """The tangents of a pair whose second part is the mean."""

    def run(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, outs: Any) -> Any:
        dim, _, keepdim, _ = attrs
        dims = wrap_dims(dim, inputs[0].array.ndim)
        mean = scalars.over(xp, xp.sum(tangents[0], dims, keepdim), count_of(inputs[0].array.shape, dim))
        return jvp(xp, inputs, attrs, tangents, outs[0]), mean

    return run


#: over all dimensions and without a degree of freedom, all infinities of PyTorch have the same sign
_VAR_FORMULA = _MEAN + "d = input - m if dim or f else abs(input - m); {}.reshape(m.shape) * 2 / f * d"
_STD_FORMULA = _MEAN + "where({1} == 0, 0, {0} / {1}).reshape(m.shape) / f * (input - m)"
_MEAN_PART = " + grads[1].reshape(m.shape) / n"
_STD_NOTE = "0 where the deviation is 0"
VAR = Op(
    "VarBackward0",
    lambda x, dim, correction, keepdim, _: _variance(x, dim, correction, keepdim)[0].astype(x.real.dtype),
    "input",
    "dim correction keepdim given",
    jvp=_var_jvp,
    saved="correction=given dim keepdim self",
    layout="contiguous",
    input=Rule(_var_gradient, _VAR_FORMULA.format("grad")),
    complex=True,
)
STD = Op(
    "StdBackward0",
    lambda x, dim, correction, keepdim, _: np.sqrt(_variance(x, dim, correction, keepdim)[0]).astype(x.real.dtype),
    "input",
    "dim correction keepdim given",
    jvp=_std_jvp,
    saved="correction=given dim keepdim result self",
    layout="contiguous",
    input=Rule(_std_gradient, _STD_FORMULA.format("grad", "out"), _STD_NOTE),
    complex=True,
)


def _with_mean(root: bool) -> Callable[..., tuple[Array, Array]]:
    def run(x: Array, dim: Any, correction: float, keepdim: bool, _: Any) -> tuple[Array, Array]:
        variance, mean = _variance(x, dim, correction, keepdim, True)
        if not np.isfinite(mean).all():
            mean = _running_mean(x, dim, mean)
        return (np.sqrt(variance) if root else variance).astype(x.real.dtype), mean.astype(x.dtype)

    return run


def _plus_mean_part(xp: Any, first: Any, grad: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of the variance or deviation plus that of the mean; each may be None."""
    if grad is None:
        return first
    shape = xp.plain(input).shape
    part = scalars.over(xp, spread(xp, grad, shape, dim, keepdim), count_of(shape, dim))
    return part if first is None else first + part


def _var_mean_rule(xp: Any, grads: Any, input: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    first = None if grads[0] is None else _var_gradient(xp, grads[0], input, dim, correction, keepdim)
    return _plus_mean_part(xp, first, grads[1], input, dim, keepdim)


def _std_mean_rule(xp: Any, grads: Any, input: Any, result0: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    first = None if grads[0] is None else _std_gradient(xp, grads[0], input, result0, dim, correction, keepdim)
    return _plus_mean_part(xp, first, grads[1], input, dim, keepdim)


VAR_MEAN = Op(
    "VarMeanBackward0",
    _with_mean(False),
    "input",
    "dim correction keepdim given",
    outputs="result0 result1",
    differentiable=2,
    jvp=_and_mean(_var_jvp),
    saved="correction=given dim keepdim self",
    layout="contiguous",
    input=Rule(_var_mean_rule, _VAR_FORMULA.format("grads[0]") + _MEAN_PART),
    complex=True,
)
STD_MEAN = Op(
    "StdMeanBackward0",
    _with_mean(True),
    "input",
    "dim correction keepdim given",
    outputs="result0 result1",
    differentiable=2,
    jvp=_and_mean(_std_jvp),
    saved="correction=given dim keepdim result0 self",
    layout="contiguous",
    input=Rule(_std_mean_rule, _STD_FORMULA.format("grads[0]", "result0") + _MEAN_PART, _STD_NOTE),
    complex=True,
)


def _implementations(name: str, op: Op) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """The implementations of the three overloads of var, std, var_mean and std_mean."""

    def run(input: Tensor, dim: Dims, given: Number | None, keepdim: bool) -> Any:
        if not input.dtype.is_differentiable:
            what = "std and var" if name in ("var", "std") else name
            raise runtime_error(f"{what} only support floating point and complex dtypes")
        correction = 1 if given is None else given
        wrap_dims(dim, input.array.ndim)
        kept = [n for d, n in enumerate(input.array.shape) if d not in wrap_dims(dim, input.array.ndim)]
        if (0 if 0 in kept else count_of(input.array.shape, dim)) - correction <= 0:
            warnings.emit(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
                "divided by output numel). (Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/ReduceOps.cpp:1861.)"
            )
        return op(input, dim, correction, keepdim, given)

    def with_dim(input: Tensor, dim: Dims, unbiased: bool, keepdim: bool) -> Any:
        return run(input, dim, 1 if unbiased else 0, keepdim)

    def whole(input: Tensor, unbiased: bool) -> Any:
        return run(input, None, 1 if unbiased else 0, False)

    return with_dim, run, whole


# --- covariance ---


def _observation_weights(name: str, kind: str, weights: Tensor, fits: bool, count: int) -> Tensor:
    """One of the two kinds of weights of `cov`. Raises RuntimeError for a shape, dtype or value that does not fit."""
    if weights.array.ndim > 1:
        raise shape_error(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.array.ndim} dimensions")
    if not fits:
        raise runtime_error(f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype.torch_name} dtype")
    if weights.array.size != count:
        raise shape_error(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got {weights.array.size} != {count}"
        )
    if weights.array.size and not weights.array.min() >= 0:  # nan is refused, too
        raise runtime_error(f"cov(): {name} cannot be negative")
    return weights


def cov(input: Tensor, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of the rows; a 0-d tensor for a vector. The weights count and weigh the columns."""
    if input.array.ndim > 2:
        raise shape_error(f"cov(): expected input to have two or fewer dimensions but got an input with {input.array.ndim} dimensions")
    if input.dtype is dtypes.bool_:
        raise runtime_error("cov(): bool dtype is not supported for input")
    x = view(input, (1, -1)) if input.array.ndim < 2 else input
    count = x.array.shape[1]
    w = None
    if fweights is not None:
        w = _observation_weights("fweights", "integral", fweights, fweights.dtype.category == 1, count)
    if aweights is not None:
        weights = _observation_weights("aweights", "floating point", aweights, aweights.dtype.is_floating_point, count)
        w = weights if w is None else w * weights
    total_weight = wrap(np.asarray(count, np.int64)) if w is None else sum_mean.sum_all(w)
    if w is not None and not total_weight.item():
        raise runtime_error("cov(): weights sum to zero, can't be normalized")
    average = div(sum_mean.sum(x if w is None else x * w, (1,)), count if w is None else total_weight)
    # with one kind of weights PyTorch writes zeros into a single observation, and its weight is one degree of freedom
    alone = (fweights is None) != (aweights is None) and count == 1
    x = _zeroed(x) if alone else sub(x, unsqueeze(average, 1))
    product = catalog.function("mm")(x, t(conj(x if w is None else x * w)))
    degrees = _degrees_of_freedom(total_weight, correction, w, aweights, alone)
    if alone and input.is_leaf and input.requires_grad and state.enabled:
        kind = "leaf" if input.array.ndim == 2 else "view of a leaf"
        raise runtime_error(f"a {kind} Variable that requires grad is being used in an in-place operation.", Code.LEAF_WRITTEN_IN_PLACE)
    return squeeze(div(product, degrees))


def _zeroed(x: Tensor) -> Any:
    """Zeros in the place of observations; those of whole numbers in the default dtype."""
    if not x.dtype.is_differentiable:
        return wrap(np.zeros(x.array.shape, dtypes.get_default().np))
    return catalog.function("masked_fill")(x, wrap(np.True_), 0)


def _degrees_of_freedom(total: Tensor, correction: int, w: Tensor | None, aweights: Tensor | None, alone: bool) -> Tensor:
    """What a covariance is divided by: 0, with PyTorch's warning, where there is no degree of freedom."""
    if alone and aweights is not None:  # no derivative passes through a single weight
        degrees = wrap(total.array * (1 - correction)) if correction else total
    elif w is not None and aweights is not None and correction:
        degrees = sub(total, div(sum_mean.sum_all(w * aweights) * correction, total))
    else:
        degrees = sub(total, correction)
    if degrees.item() <= 0:
        warnings.emit(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations. (Triggered "
            "internally at /__w/pytorch/pytorch/aten/src/ATen/native/Correlation.cpp:129.)"
        )
        in_place.zero_(degrees)
    return degrees


def corrcoef(input: Tensor) -> Tensor:
    """The correlation matrix of the rows."""
    if input.array.ndim > 2:
        raise shape_error(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.array.ndim} dimensions")
    c = cov(input)
    if not c.array.ndim:
        return div(c, c)
    real = catalog.function("real")
    deviation = SQRT(real(diagonal(c)))
    made = div(div(c, reshape(deviation, (-1, 1))), reshape(deviation, (1, -1)))
    if not made.dtype.is_complex:
        return clamp(made, -1, 1)
    parts = (clamp(part(made), -1, 1) for part in (real, catalog.function("imag")))
    return catalog.function("complex")(*parts)  # type: ignore[no-any-return]


_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]


def _variance_out(input: Tensor, *_: Any) -> Out:
    def check(out: Tensor, result: Tensor) -> None:
        if out.dtype.category < result.dtype.category:
            return  # an error follows
        if result.array.size == 1 and input.array.size and input.dtype.itemsize == 2 < out.dtype.itemsize:
            raise runtime_error(f"std_var_all: Unsupported dtype {input.dtype.torch_name}")
        if result.array.size > 1 and input.dtype.is_floating_point and out.dtype.is_complex:
            raise not_implemented("std_cpu", out.dtype)

    def take_dtype(values: list[Any], out: Tensor) -> None:
        """Unless there is one result, it computes in the dtype of `out`. An `out` of a lower category is refused before the warning."""
        if out.dtype.category < input.dtype.real.category and (found := shape(values)) is not None:
            in_place.resize_to(out, found)
            raise result_dtype_error(input.dtype.torch_name, out.dtype)
        if input.dtype.is_floating_point and out.dtype.is_floating_point and several(values):
            values[0] = Tensor(dtypes.cast(input.array, out.dtype), out.dtype)

    def several(values: list[Any]) -> bool:
        return math.prod(shape_of(input, values[1], False)) > 1

    def shape(values: list[Any]) -> tuple[int, ...] | None:
        return shape_of(input, values[1], values[3]) if input.dtype.is_differentiable else None

    return Out(memory="unchecked", inspect=take_dtype, shape=shape, check=check)


def _moments(name: str, op: Op, doc: str, reference: Any, method: bool) -> Function:
    with_dim, with_correction, whole = _implementations(name, op)
    pick = "" if method else "[0]"
    return Function(
        name,
        ("Tensor input, ints1? dim, bool unbiased=True, bool keepdim=False", with_dim),
        ("Tensor input, ints1? dim=None, *, Number? correction=None, bool keepdim=False", with_correction),
        ("Tensor input, bool unbiased=True |no out", whole),
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
        out=_variance_out if method else False,
    )


FUNCTIONS = (
    _moments("var", VAR, "Variance, divided by n - correction (1, or 0 with unbiased=False).", np.var, True),
    _moments("std", STD, "Standard deviation, the root of var.", np.std, True),
    _moments("var_mean", VAR_MEAN, "Variance and mean.", np.var, False),
    _moments("std_mean", STD_MEAN, "Standard deviation and mean.", np.std, False),
    Function(
        "cov",
        ("Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None", cov),
        doc="The covariance matrix of the rows.",
        samples=(Sample("cov(x)", np.cov, x=_M),),
    ),
    Function(
        "corrcoef",
        ("Tensor input", corrcoef),
        doc="The correlation matrix of the rows.",
        samples=(Sample("corrcoef(x)", np.corrcoef, x=_M),),
    ),
)
