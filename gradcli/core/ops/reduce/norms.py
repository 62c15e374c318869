"""Vector norms: norm, linalg.vector_norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling.signature import language
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.conjugate import conjugated
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.kernels.norms import vector_norms
from gradcli.core.kernels.summation import total
from gradcli.core.ops.checks import Number, size, with_method, wrap_dims
from gradcli.core.ops.elementwise.add_multiply import MUL
from gradcli.core.ops.elementwise.complex_signs import DIRECTION, REAL
from gradcli.core.ops.elementwise.divide_remainder import DIV
from gradcli.core.ops.elementwise.power import POW_SCALAR
from gradcli.core.ops.elementwise.signs import SGN
from gradcli.core.ops.index.masked import FILLED
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.reduce.common import Typed, restored
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error, shape_error


def norm_forward(x: Array, order: float, dim: Any, keepdim: bool) -> Array:
    """The norm of order `order` along dimensions (None: all); a 0-d input counts as one element."""
    # along a dimension of a 0-d tensor PyTorch takes powers
    return vector_norms(np.abs(x) if x.dtype.kind == "c" else x, order, wrap_dims(dim, x.ndim), keepdim, powers=bool(dim) and not x.ndim)


def _like(x: Any, data: Array) -> Any:
    """Counts or marks as a tensor where `x` is one, else in the dtype of the elements' sizes."""
    return wrap(data) if type(x) is Tensor else data.astype(x.real.dtype)


def _direction(xp: Any, x: Any) -> Any:
    """The elements over their sizes, 0 for 0."""
    return xp.call(DIRECTION if xp.plain(x).dtype.kind == "c" else SGN, x)


def _power(xp: Any, x: Any, exponent: float) -> Any:
    """`x ** exponent`, of arrays rounded as of tensors."""
    return xp.call(POW_SCALAR, x, exponent)


def _power_below(xp: Any, x: Any, order: float) -> Any:
    """`abs(x) ** (order - 1)` of an order below 2; below 1 it is 0 for 0."""
    powers = _power(xp, xp.abs(x), order - 1)
    return xp.call(FILLED, powers, np.asarray(np.equal(xp.plain(x), 0)), 0) if order < 1 else powers


def norm_gradient(xp: Any, grad: Any, x: Any, order: float, out: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of the norm `out` of `x`; 0 where the norm is 0, None (no gradient) for order 0."""
    shape = xp.plain(x).shape
    if dim:
        grad, out = restored(xp, grad, shape, dim, keepdim), restored(xp, out, shape, dim, keepdim)
    zero = np.asarray(xp.plain(out) == 0)
    if order == 0:
        return None
    if order == 1:
        return _direction(xp, x) * grad
    if order == 2:
        return grad * xp.call(FILLED, x / out, zero, 0)
    if math.isinf(order):
        size = np.abs(xp.plain(x))
        hit = np.equal(size, xp.plain(out)) | np.isnan(size)
        count = total(hit, axis=wrap_dims(dim, len(shape)), keepdims=True)
        count, hit = (_like(x, np.asarray(data)) for data in (count, hit))
        return _direction(xp, x) * xp.call(MUL, xp.call(DIV, grad, count), hit)
    if order < 1:
        return _direction(xp, x) * _power_below(xp, x, order) * grad * _power(xp, out, 1 - order)
    scale = xp.call(FILLED, grad / _power(xp, out, order - 1), zero, 0)
    if order < 2:
        return _direction(xp, x) * _power_below(xp, x, order) * scale
    return x * _power(xp, xp.abs(x), order - 2) * scale


def norm_formula(order: str) -> str:
    """The formula of `norm_gradient`; `order` is the name of the argument."""
    return (
        "s = input.sum(dim, True).shape; r = out.reshape(s); at = (abs(input) == r) | input.isnan(); "
        f"size = at / at.sum(dim, True) if abs({order}) == inf else 0 if {order} == 0 else "
        f"where((r if {order} >= 1 else input) == 0, 0, (abs(input) / r)**({order} - 1)); grad.reshape(s) * size * sgn(input)"
    )


def along(xp: Any, slope: Any, tangent: Any) -> Any:
    """The products of slopes and tangents; of complex ones the real part that the conjugate gives."""
    return xp.call(REAL, conjugated(xp, slope) * tangent) if xp.plain(slope).dtype.kind == "c" else slope * tangent


def norm_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, out: Any) -> Any:
    """The sum of the gradient for 1 times the tangent; of order 1 and 2 in the dtype of the input, whatever that of the norm is."""
    order, dim, keepdim = attrs[:3]
    x, dims = inputs[0], wrap_dims(dim, inputs[0].array.ndim)
    if order == 1:
        return xp.sum(along(xp, _direction(xp, x), tangents[0]), dims, keepdim)
    if order != 0 and not math.isinf(order):
        powers = along(xp, x if order >= 2 else _direction(xp, x), tangents[0])
        if order != 2:
            powers = powers * (_power(xp, xp.abs(x), order - 2) if order > 2 else _power_below(xp, x, order))
        moved = xp.sum(powers, dims, keepdim)
        if order < 1:
            return moved * _power(xp, out, 1 - order)
        made = xp.call(FILLED, moved / _power(xp, out, order - 1), out.array == 0, 0)
        return xp.cast(made, powers.dtype) if order == 2 and made.dtype is not powers.dtype else made
    slope = norm_gradient(xp, Tensor(np.ones_like(out.array), out.dtype), x, order, out, dim, keepdim)
    return xp.zeros_like(out) if slope is None else xp.sum(along(xp, slope, tangents[0]), dims, keepdim)


#: the record of the norm that PyTorch computes in C++, for pairwise_distance and norm_except_dim
NORM = Op(
    "NormBackward1",
    norm_forward,
    "input",
    "p dim keepdim",
    layout="contiguous",
    jvp=norm_jvp,
    input=Rule(
        lambda xp, grad, input, p, out, dim, keepdim: norm_gradient(xp, grad, input, p, out, dim, keepdim),
        norm_formula("p"),
        "0 where the norm is 0",
    ),
    complex=True,
)


class _Norm(Typed):
    """A norm in another dtype; that of complex numbers is real."""

    __slots__ = ()
    real = True


VECTOR_NORM = _Norm(
    "LinalgVectorNormBackward0",
    lambda x, ord, dim, keepdim, dtype: norm_forward(x, ord, dim, keepdim),
    "input",
    "ord dim keepdim dtype",
    jvp=norm_jvp,
    input=Rule(
        lambda xp, grad, input, ord, out, dim, keepdim: norm_gradient(xp, grad, input, ord, out, dim, keepdim),
        norm_formula("ord"),
        "0 where the norm is 0; shared equally among ties of the infinity norm",
    ),
    complex=True,
)


def check_wider(name: str, given: DType, wanted: DType) -> None:
    """Raise RuntimeError for a dtype that does not hold all numbers of the given one."""
    if wanted.is_differentiable and dtypes.promote(given, wanted) is not wanted:
        raise runtime_error(
            f"{name}: the dtype of the input ({given.torch_name}) should be convertible without narrowing to the specified dtype "
            f"({wanted.torch_name})"
        )


def check_dtype(name: str, given: DType, wanted: DType | None) -> None:
    """Raise RuntimeError for a dtype in which the norm of numbers of the given one cannot be computed."""
    if wanted is None:
        return
    if not wanted.is_differentiable:
        raise runtime_error(f"{name}: dtype should be floating point or complex, but got {wanted.torch_name}")
    if wanted.is_complex != given.is_complex:
        kind = "complex" if given.is_complex else "real"
        raise runtime_error(f"{name}: dtype should be {kind} for {kind} inputs, but got {wanted.torch_name}")
    check_wider(name, given, wanted)


def vector_norm(input: Tensor, ord: Number = 2, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    """`sum(abs(x)**ord)**(1 / ord)` along dimensions; None is all of them. Raises RuntimeError for integers and empty dimensions."""
    if not input.dtype.is_differentiable:
        raise runtime_error(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.torch_name}")
    check_identity(input, float(ord), dim)
    check_dtype("linalg.vector_norm", input.dtype, dtype)
    if not input.array.size:
        wrap_dims(dim, input.array.ndim)
    return VECTOR_NORM(input, ord, dim, keepdim, dtype or input.dtype)  # type: ignore[no-any-return]


def check_identity(input: Tensor, order: float, dims: Sequence[int] | None) -> None:
    """Raise RuntimeError for the largest or smallest of no elements."""
    if not input.array.size and (order < 0 or order == math.inf):
        shown = "inf" if order == math.inf else "-inf" if order == -math.inf else f"{order:g}"
        if not dims:
            raise runtime_error(
                f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the operation does not have an identity"
            )
        for d in dims:
            if not size(input, d):
                raise shape_error(
                    f"linalg.vector_norm cannot compute the {shown} norm on the dimension {d}because this dimension is empty and "
                    "the operation does not have an identity"
                )


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: DType | None = None) -> Any:
    """`torch.norm`: the vector norm of order p, which is 2 for "fro" and None; other names mean matrix norms."""
    rank = with_method(input, "layout").array.ndim
    dims = [dim] if isinstance(dim, int) else dim
    options = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
    # the functions are called by their names, so that they check the arguments and raise PyTorch's errors
    if isinstance(p, str) and (p != "fro" or (dims is not None and language.length(dims) > 2)):
        return catalog.function("linalg.matrix_norm")(input, p, list(range(rank)) if dims is None else dims, keepdim, **options)
    return catalog.function("linalg.vector_norm")(input, 2 if p is None or isinstance(p, str) else p, dims, keepdim, **options)


def check_kind(v: Tensor) -> None:
    """Raise RuntimeError for integers and bool."""
    if not v.dtype.is_differentiable:
        raise runtime_error(f"norm(): input dtype should be either floating point or complex. Got {v.dtype.torch_name} instead.")


_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]


def _reference(order: float, axis: Any = None) -> Any:
    return lambda x: (np.abs(x) ** order).sum(axis) ** (1 / order)


FUNCTIONS = (
    Function(
        "norm",
        ("any input, any p='fro', any dim=None, any keepdim=False, any out=None, any dtype=None", norm),
        doc="The vector norm of order p over all elements or along dimensions.",
        ops=(VECTOR_NORM,),
        samples=(
            Sample("norm(x)", _reference(2), x=_M),
            Sample("norm(x, 1)", _reference(1), x=_M),
            Sample("norm(x, 3, 1)", _reference(3, 1), x=_M),
            Sample("norm(x, 1.5, dim=0)", _reference(1.5, 0), x=_M),
            Sample("norm(x, 0.5)", _reference(0.5), x=_M),
            Sample("norm(x, math.inf, dim=1, keepdim=True)", lambda x: np.abs(x).max(1, keepdims=True), x=_M),
        ),
        method=False,
        python="norm",
    ),
    Function(
        "Tensor.norm",
        (
            "Tensor input, any p='fro', any dim=None, any keepdim=False, any dtype=None",
            lambda x, p, dim, keepdim, dtype: norm(x, p, dim, keepdim, dtype=dtype),
        ),
        doc="The vector norm of order p over all elements or along dimensions.",
        ops=(VECTOR_NORM,),
        samples=(Sample("x.norm()", _reference(2), x=_M), Sample("x.norm(p=1, dim=-1)", _reference(1, 1), x=_M)),
        function=False,
        python="Tensor.norm",
    ),
    LinalgFunction(
        "vector_norm",
        ("Tensor input, Number ord=2, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None", vector_norm),
        doc="The vector norm of order ord over all elements or along dimensions.",
        ops=(VECTOR_NORM,),
        samples=(
            Sample("torch.linalg.vector_norm(x)", _reference(2), x=_M),
            Sample("torch.linalg.vector_norm(x, 4, dim=0)", _reference(4, 0), x=_M),
        ),
        out=Out(EXACT, memory="unchecked", adds=True),
    ),
)
