"""Sums, products, means and truth over all elements or along dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elementary
from gradcli.core.kernels.summation import total
from gradcli.core.ops import checks
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.reduce import max_min, norms
from gradcli.core.ops.reduce.common import Typed, add_up, count_of, logsumexp_jvp, restored, spread
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import Code, ProgramError


def sum_dtype(x: Tensor, dtype: DType | None) -> DType:
    """What sums and products are computed in: bool and integers as int64."""
    return dtype or (x.dtype if x.dtype.is_floating_point else dtypes.int64)


SUM = Typed(
    "SumBackward0",
    lambda x, dtype: add_up(x),
    "input",
    "dtype",
    input=Rule(lambda xp, grad, input_shape: xp.broadcast_to(grad, input_shape), "grad.expand(input.shape)"),
)
SUM_DIM = Typed(
    "SumBackward1",
    lambda x, dim, keepdim, dtype: add_up(x, checks.wrap_dims(dim, x.ndim), keepdim),
    "input",
    "dim keepdim dtype",
    input=Rule(
        lambda xp, grad, input_shape, dim, keepdim: spread(xp, grad, input_shape, dim, keepdim),
        "grad.reshape(input.sum(dim, True).shape).expand(input.shape)",
    ),
)


def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Any:
    """Sum along dimensions; None and () are all."""
    return SUM_DIM(input, dim, keepdim, sum_dtype(input, dtype))


def sum_all(input: Tensor, dtype: DType | None = None) -> Any:
    """Sum of all elements."""
    return SUM(input, sum_dtype(input, dtype))


def _average(summed: Any, count: int) -> Any:
    """summed / count; without elements 0/0, which is nan."""
    return np.true_divide(summed, count)


def _mean_rule(xp: Any, grad: Any, input_shape: tuple[int, ...]) -> Any:
    count = math.prod(input_shape)
    if type(grad) is Tensor:
        return scalars.over(xp, xp.broadcast_to(grad, input_shape), count)
    return xp.broadcast_to(np.true_divide(grad, count), input_shape)  # one division, not one for each element


MEAN = Typed(
    "MeanBackward0",
    lambda x, dtype: _average(add_up(x), x.size),
    "input",
    "dtype",
    input=Rule(
        _mean_rule,
        "grad.expand(input.shape) / input.numel()",
    ),
)
MEAN_DIM = Typed(
    "MeanBackward1",
    lambda x, dim, keepdim, dtype: _average(add_up(x, checks.wrap_dims(dim, x.ndim), keepdim), count_of(x.shape, dim)),
    "input",
    "dim keepdim dtype",
    input=Rule(
        lambda xp, grad, input_shape, dim, keepdim: scalars.over(
            xp, spread(xp, grad, input_shape, dim, keepdim), count_of(input_shape, dim)
        ),
        "grad.reshape(input.sum(dim, True).shape).expand(input.shape) / (input.numel() / grad.numel())",
    ),
)


def _mean_dtype(x: Tensor, dtype: DType | None) -> DType:
    if dtype is None and not x.dtype.is_floating_point:
        raise ProgramError(
            "RuntimeError",
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {x.dtype.torch_name}",
            code=Code.NO_OUTPUT_DTYPE,
        )
    if dtype is not None and not dtype.is_floating_point:
        raise ProgramError(
            "RuntimeError",
            "mean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {dtype.torch_name}",
            code=Code.NO_OUTPUT_DTYPE,
        )
    return dtype or x.dtype


def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Any:
    """Mean along dimensions."""
    return MEAN_DIM(input, dim, keepdim, _mean_dtype(input, dtype))


def mean_all(input: Tensor, dtype: DType | None = None) -> Any:
    """Mean of all elements."""
    return MEAN(input, _mean_dtype(input, dtype))


# --- products ---


def _multiply_up(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    product: Any = np.multiply.reduce
    wide = np.float32 if x.dtype == np.float16 else x.dtype
    return np.asarray(product(x, axis=dim, keepdims=keepdim, dtype=wide), x.dtype)


def _others(x: Array, dim: int) -> Array:
    """For each element, the product of the others along a dimension."""
    along = np.moveaxis(x, dim, -1)
    before = np.ones_like(along)
    np.multiply.accumulate(along[..., :-1], axis=-1, out=before[..., 1:])
    after = np.ones_like(along)
    after[..., :-1] = np.multiply.accumulate(along[..., :0:-1], axis=-1)[..., ::-1]
    return np.moveaxis(before * after, -1, dim)


def _others_traced(x: Tensor, dim: int) -> Any:
    """The same in functions that have derivatives: running products from both sides."""
    narrow, cat, cumprod, flip = (catalog.function(n) for n in ("narrow", "cat", "cumprod", "flip"))
    size = x.array.shape[dim]
    ones = Tensor(np.ones((*x.array.shape[:dim], 1, *x.array.shape[dim + 1 :]), x.dtype.np), x.dtype)
    before = cumprod(cat([ones, narrow(x, dim, 0, size - 1)], dim), dim)
    after = cumprod(cat([ones, flip(narrow(x, dim, 1, size - 1), (dim,))], dim), dim)
    return before * flip(after, (dim,))


def _product_rule(xp: Any, grad: Any, input: Any, out: Any, dim: int) -> Any:
    if np.all(xp.plain(input)):
        return grad * (out / input)
    # out / input is 0/0 at a zero, whose own derivative is the product of the others
    return grad * (_others_traced(input, dim) if type(input) is Tensor else _others(input, dim))


def _prod_all_rule(xp: Any, grad: Any, input: Any, out: Any) -> Any:
    if not np.ndim(xp.plain(input)):
        return grad
    if np.all(xp.plain(input)):
        return grad * (out / input)
    if type(input) is not Tensor and input.size - np.count_nonzero(input) > 1:
        return xp.zeros_like(input)
    flat = xp.reshape(input, (-1,))
    return xp.reshape(_product_rule(xp, grad, flat, out, 0), input.shape)


def _prod_dim_rule(xp: Any, grad: Any, input: Any, out: Any, dim: int, keepdim: bool) -> Any:
    shape = xp.plain(input).shape
    if not shape:
        return grad
    grad, out = restored(xp, grad, shape, (dim,), keepdim), restored(xp, out, shape, (dim,), keepdim)
    return _product_rule(xp, grad, input, out, checks.wrap_dim(dim, len(shape)))


PROD = Typed(
    "ProdBackward0",
    lambda x, dtype: _multiply_up(x),
    "input",
    "dtype",
    input=Rule(
        _prod_all_rule,
        "grad * (out / input if input.all() else where(eye(input.numel()) == 1, 1, input.flatten()).prod(1).reshape(input.shape))",
        "at zeros, the product of the other elements",
    ),
)
PROD_DIM = Typed(
    "ProdBackward1",
    lambda x, dim, keepdim, dtype: _multiply_up(x, checks.wrap_dim(dim, x.ndim), keepdim) if x.ndim else x.copy(),
    "input",
    "dim keepdim dtype",
    input=Rule(
        _prod_dim_rule,
        "(grad if keepdim else grad.unsqueeze(dim)) * ((out if keepdim else out.unsqueeze(dim)) / input if input.all() else "
        "stack([input.index_fill(dim, tensor(k), 1).prod(dim) for k in range(atleast_1d(input).shape[dim])], dim))",
        "at zeros, the product of the other elements",
    ),
)


def prod(input: Tensor, dim: int, keepdim: bool = False, dtype: DType | None = None) -> Any:
    """Product along a dimension."""
    checks.wrap_dim(dim, input.array.ndim)
    return PROD_DIM(input, dim, keepdim, sum_dtype(input, dtype))


NANSUM = Typed(
    "NansumBackward0",
    lambda x, dim, keepdim, dtype: add_up(np.where(np.isnan(x), 0, x).astype(x.dtype), checks.wrap_dims(dim, x.ndim), keepdim),
    "input",
    "dim keepdim dtype",
    input=Rule(
        lambda xp, grad, input, dim, keepdim: scalars.times_data(
            xp, spread(xp, grad, xp.plain(input).shape, dim, keepdim), np.logical_not(np.isnan(xp.plain(input)))
        ),
        "grad.reshape(input.sum(dim, True).shape) * ~input.isnan()",
    ),
)


def _safe_log_sum(x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    """log(sum(exp(x))) with the largest element taken out; infinities are not."""
    if x.size == 0 or not dims:
        return np.asarray(elementary.log(total(elementary.exp(x), axis=dims, keepdims=keepdim))) if dims else x.copy()
    top = np.max(x, axis=dims, keepdims=True)
    top = np.where(np.isinf(top), 0, top).astype(x.dtype)
    logarithm = elementary.log(add_up(elementary.exp(x - top), dims, keepdim))
    return np.asarray(logarithm + (top if keepdim else top.reshape(logarithm.shape)))


def _logsumexp_rule(xp: Any, grad: Any, input: Any, out: Any, dim: Any, keepdim: bool) -> Any:
    shape = xp.plain(input).shape
    grad, out = restored(xp, grad, shape, dim, keepdim), restored(xp, out, shape, dim, keepdim)
    return grad * xp.exp(input - out)


LOGSUMEXP = Op(
    "LogsumexpBackward0",
    lambda x, dim, keepdim: _safe_log_sum(x, checks.wrap_dims(dim, x.ndim), keepdim),
    "input",
    "dim keepdim",
    jvp=lambda xp, inputs, attrs, tangents, out: logsumexp_jvp(xp, inputs[0], tangents[0], *attrs),
    input=Rule(_logsumexp_rule, "s = input.sum(dim, True).shape; grad.reshape(s) * exp(input - out.reshape(s))"),
)


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Any:
    """log of the sum of exponentials, without overflow."""
    if not input.dtype.is_floating_point:
        default = dtypes.get_default()
        input = Tensor(input.array.astype(default.np), default)
    return LOGSUMEXP(input, dim, keepdim)


# --- truth and counts ---


def _truth(reduce: Callable[..., Any]) -> Callable[..., Tensor]:
    def run(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        rank = input.array.ndim
        dims: tuple[int, ...] | None = None
        if dim is not None:
            given = (dim,) if type(dim) is int else dim
            dims = checks.wrap_dims(given, rank) if given else ()  # an empty tuple reduces nothing here
        result = np.asarray(reduce(input.array.astype(bool, copy=False), axis=dims, keepdims=keepdim))
        # uint8 was torch's bool once, and still answers with its own dtype
        return wrap(result.astype(np.uint8)) if input.dtype is dtypes.uint8 else wrap(result)

    return run


all_true = _truth(np.logical_and.reduce)
any_true = _truth(np.logical_or.reduce)


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not 0."""
    dims = checks.wrap_dims((dim,) if type(dim) is int else dim, input.array.ndim)
    return wrap(np.asarray(np.add.reduce(input.array != 0, axis=dims, dtype=np.int64)))


_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]
_P = [[0.5, 1.5, 2.0], [1.5, 0.25, 3.0]]
_DIM = "Tensor input, ints1? dim, bool keepdim=False, *, dtype? dtype=None"


def _dim_form(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda input, dim, keepdim, dtype: run(input, dim, keepdim, dtype=dtype)


FUNCTIONS = (
    Function(
        "sum",
        ("Tensor input, *, dtype? dtype=None |no out", sum_all),
        (_DIM, _dim_form(sum)),
        doc="Sum of all elements, or along dimensions.",
        ops=(SUM, SUM_DIM),
        samples=(
            Sample("sum(x)", np.sum, x=_M),
            Sample("x.sum(0)", lambda x: x.sum(0), x=_M),
            Sample("sum(x, dim=-1, keepdim=True)", lambda x: x.sum(-1, keepdims=True), x=_M),
            Sample("x.sum((0, 1))", np.sum, x=_M),
            Sample("x.sum()", lambda x: x, x=0.5),
        ),
        out=True,
    ),
    Function(
        "mean",
        ("Tensor input, *, dtype? dtype=None", mean_all),
        (_DIM, _dim_form(mean)),
        doc="Mean of all elements, or along dimensions.",
        ops=(MEAN, MEAN_DIM),
        samples=(
            Sample("mean(x)", np.mean, x=_M),
            Sample("x.mean(1)", lambda x: x.mean(1), x=_M),
            Sample("mean(x, dim=(0, -1), keepdim=True)", lambda x: x.mean(keepdims=True), x=_M),
        ),
        out=True,
    ),
    Function(
        "prod",
        ("Tensor input, *, dtype? dtype=None |no out", lambda x, dtype: PROD(x, sum_dtype(x, dtype))),
        ("Tensor input, int dim, bool keepdim=False, *, dtype? dtype=None", prod),
        doc="Product of all elements, or along a dimension.",
        ops=(PROD, PROD_DIM),
        samples=(
            Sample("prod(x)", np.prod, x=_M),
            Sample("x.prod(0)", lambda x: x.prod(0), x=_M),
            Sample("prod(x, -1, keepdim=True)", lambda x: x.prod(-1, keepdims=True), x=_M),
            Sample("prod(x)", np.prod, x=[0.0, 2.0, 3.0]),
        ),
        out=True,
    ),
    Function(
        "nansum",
        (
            "Tensor input, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None",
            lambda x, dim, keepdim, dtype: NANSUM(x, dim, keepdim, dtype or sum_dtype(x, None)),
        ),
        doc="Sum that takes nan as 0.",
        ops=(NANSUM,),
        samples=(Sample("nansum(x, 0)", lambda x: np.nansum(x, 0), x=_M), Sample("x.nansum()", np.nansum, x=_M)),
        out=True,
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
        out=True,
    ),
    Function(
        "all",
        ("Tensor input", all_true),
        ("Tensor input, ints? dim=None, bool keepdim=False", all_true),
        ("Tensor input, int dim, bool keepdim=False", all_true),
        doc="Whether all elements are true (not 0).",
        samples=(Sample("all(tensor([1., 0.]) > 0)"),),
        out=True,
    ),
    Function(
        "any",
        ("Tensor input", any_true),
        ("Tensor input, ints? dim=None, bool keepdim=False", any_true),
        ("Tensor input, int dim, bool keepdim=False", any_true),
        doc="Whether any element is true (not 0).",
        samples=(Sample("any(tensor([[1., 0.], [0., 0.]]) > 0, 1)"),),
        out=True,
    ),
    Function(
        "count_nonzero",
        ("Tensor input, int? dim=None", count_nonzero),
        ("Tensor input, ints dim", count_nonzero),
        doc="How many elements are not 0.",
        samples=(Sample("count_nonzero(tensor([1., 0., 2.]))"),),
    ),
    *max_min.FUNCTIONS,
    *norms.FUNCTIONS,
)
