"""`prod`: the product of all elements, or along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.conjugate import conjugated
from gradcli.core.graph.record import Rule
from gradcli.core.kernels import Array, elementary, memory_format
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.reduce.common import Typed, into_given_dtype, restored, sum_dtype
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor

#: the size of four registers of the processor, in bytes
_REGISTERS = 128
#: the most factors whose product is rounded after each; that of more is rounded once, at the end
_LONGEST = 1 << 16


def _multiply_up(x: Array, dtype: DType, dim: int | None = None, keepdim: bool = False) -> Array:
    product: Any = np.multiply.reduce
    count = x.size if dim is None or not x.ndim else x.shape[dim]
    if dtype.is_complex and 0 < x.size <= elementary.LARGEST:
        return _of_complex(x, dim, keepdim)
    wide = dtype.itemsize > 2
    if wide and (count * dtype.itemsize < _REGISTERS or dtype.is_complex or (dim is not None and x.strides[dim] != x.itemsize)):
        return np.asarray(product(x, axis=dim, keepdims=keepdim), x.dtype)
    if dtype.rank < dtypes.float16.rank or x.size > _LONGEST or not x.size:
        precision = np.float32 if x.dtype == np.float16 else x.dtype
        return np.asarray(product(x, axis=dim, keepdims=keepdim, dtype=precision), x.dtype)
    if dim is None:
        order = memory_format.inner_first(x)[::-1]
        dense = memory_format.is_dense(x.shape, memory_format.element_strides(x))
        return _one_by_one(x.transpose(order).reshape(-1), dtype, dense).reshape((1,) * x.ndim if keepdim else ())
    made = _one_by_one(np.moveaxis(x, dim, 0), dtype, x.strides[dim] == x.itemsize)
    return np.expand_dims(made, dim) if keepdim else made


def _of_complex(x: Array, dim: int | None, keepdim: bool) -> Array:
    if dim is None:
        order = memory_format.inner_first(x)[::-1]
        dense = memory_format.is_dense(x.shape, memory_format.element_strides(x))
        made = elementary.complex_product_along(x.transpose(order).reshape(-1), dense)
        return np.asarray(made).reshape((1,) * x.ndim if keepdim else ())
    made = elementary.complex_product_along(np.moveaxis(x, dim, 0), x.strides[dim] == x.itemsize)
    return np.expand_dims(made, dim) if keepdim else np.asarray(made)


def _one_by_one(factors: Array, dtype: DType, neighbours: bool) -> Array:
    """The product along the first dimension, rounded after each factor; of factors side by side in memory many at a time."""
    rounded: Any = dtypes.round_bfloat16 if dtype is dtypes.bfloat16 else np.asarray
    group = _REGISTERS // dtype.itemsize
    made, count = np.ones(factors.shape[1:], factors.dtype), len(factors) // group if neighbours else 0
    if count:
        lanes = factors[: count * group].reshape(count, 4, group // 4, *factors.shape[1:])
        whole = lanes[0]
        for more in lanes[1:]:
            whole = rounded(whole * more)
        for lane in rounded(rounded(whole[0] * whole[1]) * rounded(whole[2] * whole[3])):
            made = rounded(made * lane)
    for factor in factors[count * group :]:
        made = rounded(made * factor)
    return np.asarray(made)


def _others(x: Array, dim: int) -> Array:
    """For each element, the product of the other elements along a dimension."""
    along = np.moveaxis(x, dim, -1)
    before = np.ones_like(along)
    np.multiply.accumulate(along[..., :-1], axis=-1, out=before[..., 1:])
    after = np.ones_like(along)
    after[..., :-1] = np.multiply.accumulate(along[..., :0:-1], axis=-1)[..., ::-1]
    return np.moveaxis(before * after, -1, dim)


def others_traced(x: Tensor, dim: int) -> Any:
    """`_others` made of functions that have derivatives: running products from both ends."""
    narrow, cat, cumprod, flip = (catalog.function(n) for n in ("narrow", "cat", "cumprod", "flip"))
    size = x.array.shape[dim]
    ones = Tensor(np.ones((*x.array.shape[:dim], 1, *x.array.shape[dim + 1 :]), x.dtype.np), x.dtype)
    before = cumprod(cat([ones, narrow(x, dim, 0, size - 1)], dim), dim)
    after = cumprod(cat([ones, flip(narrow(x, dim, 1, size - 1), (dim,))], dim), dim)
    return before * flip(after, (dim,))


def _product_rule(xp: Any, grad: Any, input: Any, out: Any, dim: int) -> Any:
    if np.all(xp.plain(input)):
        return grad * (out / input)
    if xp.plain(input).shape[dim] == 1:
        return grad
    # out / input is 0/0 at a zero, whose own derivative is the product of the others
    return grad * (others_traced(input, dim) if type(input) is Tensor else _others(input, dim))


def _prod_all_rule(xp: Any, grad: Any, input: Any, out: Any, dtype: DType, input_dtype: DType) -> Any:
    if not np.ndim(xp.plain(input)):
        return grad
    if dtype is not input_dtype:
        input = xp.cast(input, dtype)
    x = xp.plain(input)
    if np.all(x):
        return grad * (out / input)
    if not (type(input) is Tensor and state.enabled) and x.size - np.count_nonzero(x) > 1:
        return xp.zeros_like(input)
    if x.size == 1:
        return xp.reshape(grad, x.shape)
    flat = xp.reshape(input, (-1,))
    return xp.reshape(_product_rule(xp, grad, flat, out, 0), input.shape)


def _prod_dim_rule(xp: Any, grad: Any, input: Any, out: Any, dim: int, keepdim: bool, dtype: DType, input_dtype: DType) -> Any:
    shape = xp.plain(input).shape
    if not shape:
        return grad
    if dtype is not input_dtype:
        input = xp.cast(input, dtype)
    grad, out = restored(xp, grad, shape, (dim,), keepdim), restored(xp, out, shape, (dim,), keepdim)
    return _product_rule(xp, grad, input, out, wrap_dim(dim, len(shape)))


def _tangent(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, out: Any) -> Any:
    """The derivatives by the elements, in the dtype of the product, times their tangents, in the dtype of those.

    Sums of complex terms are taken of the conjugates, which shows in the signs of zeros.
    """
    dtype = attrs[-1]
    x = inputs[0] if inputs[0].dtype is dtype else xp.cast(inputs[0], dtype)
    where: tuple[Any, ...] = ()
    if len(attrs) == 1:
        slopes = _prod_all_rule(xp, xp.ones_like(out), x, out, dtype, dtype)
    else:
        dim, keepdim, _ = attrs
        slopes = _prod_dim_rule(xp, xp.ones_like(out), x, out, dim, keepdim, dtype, dtype)
        where = (dim,), keepdim
    return conjugated(xp, xp.sum(conjugated(xp, slopes * tangents[0]), *where))


PROD = Typed(
    "ProdBackward0",
    _multiply_up,
    "input",
    "dtype",
    jvp=_tangent,
    input=Rule(
        _prod_all_rule,
        "grad * (out / input if input.all() else where(eye(input.numel()) == 1, 1, input.flatten()).prod(1).reshape(input.shape))",
        "at zeros, the product of the other elements",
    ),
    complex=True,
    real_part=False,
)
PROD_DIM = Typed(
    "ProdBackward1",
    lambda x, dim, keepdim, dtype: _multiply_up(x, dtype, wrap_dim(dim, x.ndim), keepdim) if x.ndim else x.copy(),
    "input",
    "dim keepdim dtype",
    jvp=_tangent,
    input=Rule(
        _prod_dim_rule,
        "(grad if keepdim else grad.unsqueeze(dim)) * ((out if keepdim else out.unsqueeze(dim)) / input if input.all() else "
        "stack([input.index_fill(dim, tensor(k), 1).prod(dim) for k in range(atleast_1d(input).shape[dim])], dim))",
        "at zeros, the product of the other elements",
    ),
    complex=True,
    real_part=False,
)


def prod(input: Tensor, dim: int, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    """The product along a dimension."""
    wrap_dim(dim, input.array.ndim)
    return PROD_DIM(input, dim, keepdim, sum_dtype(input, dtype))  # type: ignore[no-any-return]


_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]

FUNCTIONS = (
    Function(
        "prod",
        ("Tensor input, *, dtype? dtype=None |no out", lambda x, dtype: PROD(x, sum_dtype(x, dtype))),
        ("Tensor input, int dim, bool keepdim=False, *, dtype? dtype=None", prod),
        analytic=np.prod,
        doc="Product of all elements, or along a dimension.",
        ops=(PROD, PROD_DIM),
        samples=(
            Sample("prod(x)", np.prod, x=_M),
            Sample("x.prod(0)", lambda x: x.prod(0), x=_M),
            Sample("prod(x, -1, keepdim=True)", lambda x: x.prod(-1, keepdims=True), x=_M),
            Sample("prod(x)", np.prod, x=[0.0, 2.0, 3.0]),
        ),
        out=into_given_dtype,
    ),
)
