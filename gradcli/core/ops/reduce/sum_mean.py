"""Sums and means over all elements or along dimensions: sum, nansum, mean, nanmean, logsumexp, sum_to_size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out, no_graph
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, broadcasts_to, elementary, half_to_single
from gradcli.core.kernels.summation import total
from gradcli.core.ops.checks import not_implemented, wrap_dims
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.divide_remainder import div
from gradcli.core.ops.index.masked import MASKED_FILL
from gradcli.core.ops.reduce.common import (
    Dims,
    Typed,
    add_up,
    count_of,
    into_given_dtype,
    logsumexp_jvp,
    restored,
    shape_of_real,
    spread,
    sum_dtype,
)
from gradcli.core.ops.rules import in_half_precision
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import Code, runtime_error, shape_error


class _Sum(Typed):
    """A sum of all elements."""

    __slots__ = ()
    of_total = staticmethod(lambda total, count: total)


SUM = _Sum(
    "SumBackward0",
    lambda x, dtype: add_up(x),
    "input",
    "dtype",
    input=Rule(lambda xp, grad, input_shape: xp.broadcast_to(grad, input_shape), "grad.expand(input.shape)"),
    complex=True,
    real_part=False,
)
SUM_DIM = Typed(
    "SumBackward1",
    lambda x, dim, keepdim, dtype: add_up(x, wrap_dims(dim, x.ndim), keepdim),
    "input",
    "dim keepdim dtype",
    input=Rule(
        lambda xp, grad, input_shape, dim, keepdim: spread(xp, grad, input_shape, dim, keepdim),
        "grad.reshape(input.sum(dim, True).shape).expand(input.shape)",
    ),
    complex=True,
    real_part=False,
)


def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    """The sum along dimensions; None and () are all of them."""
    wrap_dims(dim, input.array.ndim)
    return SUM_DIM(input, dim, keepdim, sum_dtype(input, dtype))  # type: ignore[no-any-return]


def sum_all(input: Tensor, dtype: DType | None = None) -> Tensor:
    """The sum of all elements."""
    return SUM(input, sum_dtype(input, dtype))  # type: ignore[no-any-return]


#: the gradient of a mean of more elements is not written out
_SMALL = 1 << 12


class _Mean(Typed):
    """A mean; PyTorch takes that of half precision in single precision, and rounds once."""

    __slots__ = ()

    def cast(self, x: Array, dtype: DType) -> Array:
        return super().cast(x, dtypes.widened(dtype))


class _MeanOfAll(_Mean):
    """A mean of all elements."""

    __slots__ = ()
    of_total = staticmethod(lambda total, count: total / count)


def _average(x: Array, dims: tuple[int, ...] | None, keepdim: bool, count: int) -> Any:
    """The sum over dimensions (None: all) divided by `count`; without elements it is 0 / 0, which is nan."""
    return add_up(half_to_single(x), dims, keepdim) / count


def _mean_rule(xp: Any, grad: Any, input_shape: tuple[int, ...]) -> Any:
    count = math.prod(input_shape)
    if type(grad) is Tensor:
        return scalars.over(xp, xp.broadcast_to(grad, input_shape), count)
    value = grad[()] / count  # divided before it is repeated, so that there is one division
    if count > _SMALL:
        return xp.broadcast_to(value, input_shape)
    made = np.empty(input_shape, value.dtype)
    made.fill(value)
    return made


MEAN = _MeanOfAll(
    "MeanBackward0",
    lambda x, dtype: _average(x, None, False, x.size),
    "input",
    "dtype",
    saved="self_sym_numel self_sym_sizes",
    input=Rule(_mean_rule, "grad.expand(input.shape) / input.numel()"),
    complex=True,
    real_part=False,
)
MEAN_DIM = _Mean(
    "MeanBackward1",
    lambda x, dim, keepdim, dtype: _average(x, wrap_dims(dim, x.ndim), keepdim, count_of(x.shape, dim)),
    "input",
    "dim keepdim dtype",
    saved="dim keepdim self_sym_numel self_sym_sizes",
    input=Rule(
        lambda xp, grad, input_shape, dim, keepdim: scalars.over(
            xp, spread(xp, grad, input_shape, dim, keepdim), count_of(input_shape, dim)
        ),
        "grad.reshape(input.sum(dim, True).shape).expand(input.shape) / (input.numel() / grad.numel())",
    ),
    complex=True,
    real_part=False,
)


def mean_dtype(x: Tensor, dtype: DType | None) -> DType:
    """The dtype of a mean: the input's, or the one that is asked for. Raises RuntimeError for one that is not floating or complex."""
    wanted, kind = (x.dtype, "Input") if dtype is None else (dtype, "Optional")
    if not wanted.is_differentiable:
        raise runtime_error(
            f"mean(): could not infer output dtype. {kind} dtype must be either a floating point or complex dtype. "
            f"Got: {wanted.torch_name}",
            Code.NO_OUTPUT_DTYPE,
        )
    return wanted


def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    """The mean along dimensions; None and () are all of them."""
    return MEAN_DIM(input, dim, keepdim, mean_dtype(input, dtype))  # type: ignore[no-any-return]


def mean_all(input: Tensor, dtype: DType | None = None) -> Tensor:
    """The mean of all elements."""
    return MEAN(input, mean_dtype(input, dtype))  # type: ignore[no-any-return]


class _NanSum(Typed):
    """A sum that takes nan as 0, before it becomes an integer."""

    __slots__ = ()

    def cast(self, x: Array, dtype: DType) -> Array:
        return super().cast(x if dtype.is_differentiable else np.where(np.isnan(x), 0, x), dtype)


NANSUM = _NanSum(
    "NansumBackward0",
    lambda x, dim, keepdim, dtype: add_up(np.where(np.isnan(x), 0, x).astype(x.dtype), wrap_dims(dim, x.ndim), keepdim),
    "input",
    "dim keepdim dtype",
    input=Rule(
        lambda xp, grad, input, dim, keepdim: scalars.times_data(
            xp, spread(xp, grad, xp.plain(input).shape, dim, keepdim), np.logical_not(np.isnan(xp.plain(input)))
        ),
        "grad.reshape(input.sum(dim, True).shape) * ~input.isnan()",
    ),
)


def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    """The sum along dimensions, nan counted as 0; None is all of them."""
    wrap_dims(dim, input.array.ndim)
    if input.dtype.is_complex:
        raise runtime_error("nansum on CPU does not support complex inputs")
    wanted = sum_dtype(input, dtype)
    if wanted.is_complex:
        if input.dtype.is_differentiable and input.array.size:
            raise not_implemented("nansum_cpu", wanted, Code.AFTER_CHECKS)
        return sum(input, dim, keepdim, wanted)
    return NANSUM(input, dim, keepdim, wanted)  # type: ignore[no-any-return]


def _check_nan_dtype(dtype: DType | None) -> None:
    if dtype is not None and not dtype.is_differentiable:
        raise runtime_error(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {dtype.torch_name}"
        )


def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    """The mean of the elements that are not nan, over dimensions; None is all of them."""
    if not input.dtype.is_differentiable:
        raise runtime_error(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.torch_name}")
    _check_nan_dtype(dtype)
    return div(nansum(input, dim, keepdim, dtype), sum(wrap(~np.isnan(input.array)), dim, keepdim))


def sum_to_size(input: Tensor, size: Sequence[int]) -> Tensor:
    """The tensor summed to the shape `size`, which must broadcast to the tensor's shape. Raises RuntimeError if it does not."""
    have = input.array.shape
    if not broadcasts_to(size, have):
        shown = [f"{{[{', '.join(map(str, shape))}]}}" for shape in (size, have)]
        raise shape_error(f"size {shown[0]} is not expandable to size {shown[1]}.")
    return traced.sum_to(input, tuple(size)) if size else sum_all(input)


def _safe_log_sum(x: Array, dims: tuple[int, ...], keepdim: bool, rounded: Any = np.asarray) -> Array:
    """`log(sum(exp(x)))`, where the largest element is subtracted before and added after, unless it is infinite; each step `rounded`."""
    if not dims and x.dtype.kind != "c":
        return np.asarray(x + x.dtype.type(0))
    if x.size == 0:
        return np.asarray(elementary.log(total(elementary.exp(x), axis=dims, keepdims=keepdim)))
    top = np.max(x.real, axis=dims, keepdims=True)
    top = np.where(np.isinf(top), 0, top).astype(x.dtype)
    logarithm = rounded(elementary.log(rounded(add_up(rounded(elementary.exp(rounded(x - top))), dims, keepdim))))
    return np.asarray(logarithm + (top if keepdim else top.reshape(logarithm.shape)))


def _logsumexp_rule(xp: Any, grad: Any, input: Any, out: Any, dim: Any, keepdim: bool) -> Any:
    shape = xp.plain(input).shape
    grad, out = restored(xp, grad, shape, dim, keepdim), restored(xp, out, shape, dim, keepdim)
    return grad * xp.exp(input - out)


LOGSUMEXP = Op(
    "LogsumexpBackward0",
    lambda x, dim, keepdim: _safe_log_sum(x, wrap_dims(dim, x.ndim), keepdim),
    "input",
    "dim keepdim",
    jvp=lambda xp, inputs, attrs, tangents, out: logsumexp_jvp(xp, inputs[0], tangents[0], *attrs),
    layout="contiguous",
    complex=True,
    input=Rule(_logsumexp_rule, "s = input.sum(dim, True).shape; grad.reshape(s) * exp(input - out.reshape(s))"),
)


_LOGSUMEXP_BFLOAT = in_half_precision(
    LOGSUMEXP, lambda x, dim, keepdim: _safe_log_sum(x, wrap_dims(dim, x.ndim), keepdim, dtypes.round_bfloat16), "contiguous"
)


def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials along dimensions, without overflow."""
    if not input.dtype.is_differentiable:
        default = dtypes.get_default()
        input = Tensor(input.array.astype(default.np), default)
    rank = input.array.ndim
    if rank and not dim and not keepdim and input.array.size:
        raise shape_error(f"output with shape [] doesn't match the broadcast shape {[1] * rank}")
    record = _LOGSUMEXP_BFLOAT if input.dtype is dtypes.bfloat16 else LOGSUMEXP
    return record(input, dim, keepdim)  # type: ignore[no-any-return]


_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]
_DIM = "Tensor input, ints1? dim, bool keepdim=False, *, dtype? dtype=None"


def _check_floating(_: list[Any], out: Tensor) -> None:
    if not out.dtype.is_differentiable:
        raise runtime_error(f"logsumexp(): Expected floating point type for result tensor, but got: {out.dtype.torch_name}")


def _in_dtype_of_out(input: Tensor, dim: Dims, out: Tensor, dtype: DType) -> Tensor:
    """`logsumexp` into an `out` of another dtype: PyTorch adds the exponentials in that dtype."""
    x = input if input.dtype.is_differentiable else to_dtype(input, dtypes.get_default())
    largest = catalog.function("amax")(x, dim, True)
    largest = MASKED_FILL(largest, np.isinf(largest.array), 0)
    total = sum(catalog.function("exp")(x - largest), dim, True, dtype)
    return to_dtype(catalog.function("log")(total) + largest, dtype)


def _logsumexp_out(input: Tensor, dim: Dims, keepdim: bool) -> Out:
    def check(out: Tensor, result: Tensor) -> None:
        if out.dtype is not result.dtype and input.array.size:
            result.array = _in_dtype_of_out(input, dim, out, out.dtype).array.reshape(result.array.shape)
            result.dtype = out.dtype

    return Out(lower=None, inspect=_check_floating, shape=lambda _: None if dim or keepdim or not input.array.size else (), check=check)


def _check_sum(values: list[Any], out: Tensor) -> None:
    """`nansum` computes in the dtype of `out`, which has to be that of floats where the tensor's is."""
    input, dim, _, dtype = values
    if input.dtype.is_floating_point and dtype is out.dtype:
        wrap_dims(dim, input.array.ndim)
        if not dtype.is_floating_point and input.array.size:
            raise not_implemented("nansum_cpu", dtype)


def _check_mean(given: DType | None, values: list[Any], out: Tensor) -> None:
    """`nanmean` looks at the dtype that the call has `given`, then it is `nansum`."""
    input, dim, _, dtype = values
    if not input.dtype.is_differentiable:
        raise runtime_error("nanmean(): integral types and 'Bool' are not supported for nanmean, even for empty tensors.")
    _check_nan_dtype(given)
    wrap_dims(dim, input.array.ndim)
    if dtype is not out.dtype and not dtype.is_differentiable:
        return  # an error follows
    if state.enabled and (input.requires_grad or out.requires_grad):
        raise no_graph("nansum")
    if dtype is out.dtype:
        _check_sum(values, out)


def _nansum_out(input: Tensor, dim: Dims, keepdim: bool, dtype: DType | None) -> Out:
    """How `nansum` takes `out`: as `sum` where the dtype of the tensor, or the given one, is that of integers."""
    if not (dtype or input.dtype).is_differentiable or not input.dtype.is_differentiable:
        return into_given_dtype(dtype)
    how: Any = {"own_dtype": True, "memory": "unchecked", "adds": True}
    return Out(_GIVEN, first=True, **how) if dtype else Out(inspect=_check_sum, **how)


_GIVEN = "nansum: provided dtype must match dtype of result. Got {out} and {result}."


def _mean_out(input: Tensor, *options: Any) -> Out:
    """How the mean of all elements, or along dimensions, takes `out`: it computes in its dtype if that is not of integers."""
    dtype = options[-1]

    def take_dtype(values: list[Any], out: Tensor) -> None:
        if len(options) == 1 and input.dtype.category > out.dtype.category:
            raise runtime_error(f"mean.dtype_out(): input types can't be cast to the desired output type {out.dtype.torch_name}")
        if len(options) > 1 and not dtype and input.dtype.is_complex and not out.dtype.is_differentiable:
            warnings.imaginary_discarded()
        fits = out.dtype.is_differentiable and (len(options) > 1 or out.dtype.category >= input.dtype.category)
        if dtype is None and fits and input.dtype.is_differentiable:
            values[-1] = out.dtype

    lower = ""
    if len(options) > 1 and not dtype:  # PyTorch adds up in an `out` of integers, and cannot divide it
        lower = f"result type {dtypes.get_default().torch_name} can't be cast to the desired output type {{out}}"
    return Out(EXACT if dtype else "", lower=lower, adds=True, inspect=take_dtype, shape=shape_of_real)


#: how sums and means without nan take `out`: in its dtype, or in one that the call gives
_MEAN: Any = {"operator": "nansum", "late": True, "own_dtype": True, "memory": "own", "writes": 2}


FUNCTIONS = (
    Function(
        "sum",
        ("Tensor input, *, dtype? dtype=None |no out", sum_all),
        (_DIM, sum),
        analytic=np.sum,
        doc="Sum of all elements, or along dimensions.",
        ops=(SUM, SUM_DIM),
        samples=(
            Sample("sum(x)", np.sum, x=_M),
            Sample("x.sum(0)", lambda x: x.sum(0), x=_M),
            Sample("sum(x, dim=-1, keepdim=True)", lambda x: x.sum(-1, keepdims=True), x=_M),
            Sample("x.sum((0, 1))", np.sum, x=_M),
            Sample("x.sum()", lambda x: x, x=0.5),
        ),
        out=into_given_dtype,
    ),
    Function(
        "mean",
        ("Tensor input, *, dtype? dtype=None", mean_all),
        (_DIM, mean),
        analytic=np.mean,
        doc="Mean of all elements, or along dimensions.",
        ops=(MEAN, MEAN_DIM),
        samples=(
            Sample("mean(x)", np.mean, x=_M),
            Sample("x.mean(1)", lambda x: x.mean(1), x=_M),
            Sample("mean(x, dim=(0, -1), keepdim=True)", lambda x: x.mean(keepdims=True), x=_M),
        ),
        out=_mean_out,
    ),
    Function(
        "nansum",
        ("Tensor input, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None", nansum),
        doc="Sum that takes nan as 0.",
        ops=(NANSUM,),
        samples=(Sample("nansum(x, 0)", lambda x: np.nansum(x, 0), x=_M), Sample("x.nansum()", np.nansum, x=_M)),
        out=_nansum_out,
    ),
    Function(
        "nanmean",
        ("Tensor input, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None", nanmean),
        doc="The mean of the elements that are not nan.",
        samples=(Sample("nanmean(x)", np.nanmean, x=[0.5, -1.5, 2.0, 1.25]), Sample("x.nanmean(0)", lambda x: np.nanmean(x, 0), x=_M)),
        out=lambda input, dim, keepdim, dtype: Out(_GIVEN, **_MEAN, inspect=partial(_check_mean, dtype)),
    ),
    Function(
        "sum_to_size",
        ("Tensor input, ints size", sum_to_size),
        doc="The sum over dimensions that broadcasting from size would repeat.",
        samples=(Sample("x.sum_to_size(1, 3)", lambda x: x.sum(0, keepdims=True), x=_M),),
        function=False,
    ),
    Function(
        "logsumexp",
        ("Tensor input, ints1 dim, bool keepdim=False", logsumexp),
        doc="log(sum(exp(input))) along dimensions, without overflow.",
        ops=(LOGSUMEXP,),
        samples=(
            Sample("logsumexp(x, 1)", lambda x: np.log(np.exp(x).sum(1)), x=_M),
            Sample("x.logsumexp((0, 1), keepdim=True)", lambda x: np.log(np.exp(x).sum(keepdims=True)), x=_M),
        ),
        aliases=("special.logsumexp",),
        out=_logsumexp_out,
    ),
)
