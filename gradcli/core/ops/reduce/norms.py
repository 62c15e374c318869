"""Vector norms: norm, linalg.vector_norm, dist, renorm, norm_except_dim."""

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
from gradcli.core.kernels import Array, elementary
from gradcli.core.kernels.summation import LARGEST, in_order, total
from gradcli.core.ops.checks import Number, size, with_method, wrap_dim, wrap_dims
from gradcli.core.ops.elementwise.add_multiply import MUL, sub
from gradcli.core.ops.elementwise.complex_signs import DIRECTION, REAL
from gradcli.core.ops.elementwise.divide_remainder import DIV
from gradcli.core.ops.elementwise.power import POW_SCALAR
from gradcli.core.ops.elementwise.signs import SGN
from gradcli.core.ops.index.masked import FILLED
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.reduce.common import Typed, restored
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.transpose import transpose
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def _norm_of(x: Array, order: float, dims: tuple[int, ...], keepdim: bool, powers: bool = False) -> Array:
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    size = np.abs(wide)
    value: Any
    if order != 0 and x.size and not powers and all(x.shape[d] == 1 for d in dims):  # no power that might overflow
        value = size if keepdim else size.reshape([n for d, n in enumerate(x.shape) if d not in dims])
    elif not x.size and order != order:  # PyTorch does not take the power of what has no elements
        value = total(size, axis=dims, keepdims=keepdim)
    elif order == math.inf:
        value = np.max(size, axis=dims, keepdims=keepdim)
    elif order == -math.inf:
        value = np.min(size, axis=dims, keepdims=keepdim)
    elif order == 0:
        value = total(wide != 0, axis=dims, keepdims=keepdim)
    elif order == 1:
        value = _in_order(size, dims, keepdim)
    elif order == 2 and wide.dtype == np.float32 and wide.ndim and dims and wide.size:
        value = _euclidean(wide, dims, keepdims=keepdim)
    elif order == 2:
        value = np.sqrt(total(wide * wide, axis=dims, keepdims=keepdim))
    else:
        power = size.dtype.type(order)
        value = elementary.power(_in_order(elementary.power(size, power), dims, keepdim), 1 / power)
    return np.asarray(value).astype(x.dtype)


def _in_order(x: Array, dims: tuple[int, ...], keepdims: bool) -> Array:
    """The sum along dimensions, element after element in the order of memory, as PyTorch's kernel adds powers."""
    if not 0 < x.size <= LARGEST:
        return np.asarray(total(x, axis=dims, keepdims=keepdims))
    kept = [d for d in range(x.ndim) if d not in dims]
    rows = x.transpose(*sorted(dims, key=lambda d: -x.strides[d]), *kept).reshape(-1, *(x.shape[d] for d in kept))
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdims or d not in dims]
    return np.asarray(in_order(rows)).reshape(shape)


#: PyTorch's kernel has 8 partial sums, and squares the remaining elements 4 at a time
_LANES, _AT_ONCE = 8, 4


def _euclidean(x: Array, dims: tuple[int, ...], keepdims: bool) -> Array:
    """The 2-norm of float32 values, summed in the order of PyTorch's kernel (norm_two_reduce_step in ReduceOpsKernel.cpp)."""
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdims or d not in dims]
    kept = [d for d, n in enumerate(x.shape) if d not in dims and n > 1]
    squares: Array
    if not kept and not x.flags.forc:
        squares = np.add.accumulate(np.square(x.reshape(-1)))[-1:]
        return np.sqrt(squares).reshape(shape)
    if not kept:  # in the order of memory
        rows = x.reshape(1, -1, order="A")
    elif min(dims) > max(kept) and (x.flags.c_contiguous or (len(dims) == 1 and x.strides[-1] == x.itemsize)):
        rows = x.reshape(math.prod(x.shape[d] for d in kept), -1)
    else:
        squares = np.add.reduce(np.square(x), axis=dims)
        return np.sqrt(squares).reshape(shape)
    return np.sqrt(_square_sums(rows)).reshape(shape)


def _square_sums(rows: Array) -> Array:
    count = rows.shape[1]
    whole = count // _LANES * _LANES
    four = whole + (count - whole) // _AT_ONCE * _AT_ONCE
    sums = np.zeros(len(rows), np.float32)
    if whole:
        lanes = np.add.reduce(np.square(rows[:, :whole]).reshape(len(rows), -1, _LANES), axis=1)
        for at in range(_LANES):
            sums = sums + lanes[:, at]
    for at in range(whole, four):
        sums = sums + np.square(rows[:, at])
    for at in range(four, count):  # a fused multiply-add, which does not round the square
        sums = (np.square(rows[:, at], dtype=np.float64) + sums).astype(np.float32)
    return sums


def norm_forward(x: Array, order: float, dim: Any, keepdim: bool) -> Array:
    """The norm of order `order` along dimensions (None: all); a 0-d input counts as one element."""
    # along a dimension of a 0-d tensor PyTorch takes powers
    return _norm_of(np.abs(x) if x.dtype.kind == "c" else x, order, wrap_dims(dim, x.ndim), keepdim, powers=bool(dim) and not x.ndim)


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
    return xp.call(FILLED, powers, np.equal(xp.plain(x), 0), 0) if order < 1 else powers


def norm_gradient(xp: Any, grad: Any, x: Any, order: float, out: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of the norm `out` of `x`; 0 where the norm is 0, None (no gradient) for order 0."""
    shape = xp.plain(x).shape
    if dim:
        grad, out = restored(xp, grad, shape, dim, keepdim), restored(xp, out, shape, dim, keepdim)
    zero = xp.plain(out) == 0
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


def _along(xp: Any, slope: Any, tangent: Any) -> Any:
    """The products of slopes and tangents; of complex ones the real part that the conjugate gives."""
    return xp.call(REAL, conjugated(xp, slope) * tangent) if slope.dtype.is_complex else slope * tangent


def _norm_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, out: Any) -> Any:
    """The sum of the gradient for 1 times the tangent; of order 1 and 2 in the dtype of the input, whatever that of the norm is."""
    order, dim, keepdim = attrs[:3]
    x, dims = inputs[0], wrap_dims(dim, inputs[0].array.ndim)
    if order == 1:
        return xp.sum(_along(xp, _direction(xp, x), tangents[0]), dims, keepdim)
    if order != 0 and not math.isinf(order):
        powers = _along(xp, x if order >= 2 else _direction(xp, x), tangents[0])
        if order != 2:
            powers = powers * (_power(xp, xp.abs(x), order - 2) if order > 2 else _power_below(xp, x, order))
        moved = xp.sum(powers, dims, keepdim)
        if order < 1:
            return moved * _power(xp, out, 1 - order)
        made = xp.call(FILLED, moved / _power(xp, out, order - 1), out.array == 0, 0)
        return xp.cast(made, powers.dtype) if order == 2 and made.dtype is not powers.dtype else made
    slope = norm_gradient(xp, Tensor(np.ones_like(out.array), out.dtype), x, order, out, dim, keepdim)
    return xp.zeros_like(out) if slope is None else xp.sum(_along(xp, slope, tangents[0]), dims, keepdim)


#: the record of the norm that PyTorch computes in C++, for pairwise_distance and norm_except_dim
NORM = Op(
    "NormBackward1",
    norm_forward,
    "input",
    "p dim keepdim",
    layout="contiguous",
    jvp=_norm_jvp,
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
    jvp=_norm_jvp,
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
    _check_identity(input, float(ord), dim)
    check_dtype("linalg.vector_norm", input.dtype, dtype)
    if not input.array.size:
        wrap_dims(dim, input.array.ndim)
    return VECTOR_NORM(input, ord, dim, keepdim, dtype or input.dtype)  # type: ignore[no-any-return]


def _check_identity(input: Tensor, order: float, dims: Sequence[int] | None) -> None:
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
                    "the operation does not have an identity",
                )


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: DType | None = None) -> Any:
    """`torch.norm`: the vector norm of order p, which is 2 for "fro" and None; other names mean matrix norms."""
    rank = with_method(input, "layout").array.ndim
    dims = [dim] if isinstance(dim, int) else dim
    options = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
    # the functions are called by their names, so that they check the arguments and raise PyTorch's errors
    if type(p) is str and (p != "fro" or (dims is not None and language.length(dims) > 2)):
        return catalog.function("linalg.matrix_norm")(input, p, list(range(rank)) if dims is None else dims, keepdim, **options)
    return catalog.function("linalg.vector_norm")(input, 2 if p is None or type(p) is str else p, dims, keepdim, **options)


_REAL_BESIDE_COMPLEX = (
    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got false.  (Could this error "
    "message be improved?  If so, please report an enhancement request to PyTorch.)"
)


def _difference(input: Any, other: Any, dtype: DType) -> Any:
    """`input - other` in the dtype that both tensors promote to, of tensors or arrays."""
    return input - other if type(input) is Tensor else dtypes.cast(input, dtype) - dtypes.cast(other, dtype)


def _check_complex(xp: Any, x: Any, dtype: DType) -> None:
    """Raise PyTorch's error for the gradient of a real tensor beside a complex one."""
    if dtype.is_complex and xp.plain(x).dtype.kind != "c":
        raise runtime_error(_REAL_BESIDE_COMPLEX)


def _dist_rule(xp: Any, grad: Any, input: Any, other: Any, p: float, dtype: DType, out: Any) -> Any:
    _check_complex(xp, input, dtype)
    return norm_gradient(xp, grad, _difference(input, other, dtype), p, out, None, False)


def _dist_other(xp: Any, grad: Any, input: Any, other: Any, p: float, dtype: DType, out: Any) -> Any:
    _check_complex(xp, other, dtype)
    gradient = norm_gradient(xp, grad, _difference(input, other, dtype), p, out, None, False)
    if gradient is None:
        raise runtime_error("Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'")
    return -gradient


_DIST = (
    "d = input - other; at = (abs(d) == out) | d.isnan(); size = at / at.sum() if abs(p) == inf else 0 if p == 0 else "
    "where((out if p >= 1 else d) == 0, 0, (abs(d) / out)**(p - 1)); "
)


def _dist_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, out: Any) -> Any:
    """The sum of the gradient for 1 times the difference of the tangents; a missing tangent is 0."""
    x, y = inputs
    moved = -tangents[1] if tangents[0] is None else tangents[0] if tangents[1] is None else tangents[0] - tangents[1]
    return _norm_jvp(xp, (x - y,), (attrs[0], None, False), (moved,), out)


class _Distance(Op):
    """The distance of two tensors, in the real dtype of that to which they promote."""

    __slots__ = ()

    def _wrap(self, result: Any, inputs: Sequence[Any]) -> Tensor:
        dtype = dtypes.result_type(tuple(inputs)).real
        out = Tensor(dtypes.cast(np.asarray(result), dtype), dtype)
        if state.inference:
            out.meta = {"inference": True}
        return out


DIST = _Distance(
    "DistBackward0",
    lambda x, y, p, dtype: norm_forward(_difference(x, y, dtype), p, None, False),
    "input other",
    "p dtype",
    jvp=_dist_jvp,
    complex=True,
    input=Rule(_dist_rule, _DIST + "grad * size * sgn(d)", "0 where input equals other"),
    other=Rule(_dist_other, _DIST + "-grad * size * sgn(d)", "0 where input equals other"),
)


def dist(input: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    """The norm of order p of `input - other`."""
    difference = sub(input, other)
    _check_norm(difference)
    if not difference.array.size and (p < 0 or p == math.inf):
        shown = str(p) if math.isinf(p) else f"{p:g}"
        raise runtime_error(
            f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the operation does not have an identity"
        )
    return DIST(input, other, p, difference.dtype)  # type: ignore[no-any-return]


# --- renorm ---

#: what PyTorch adds to the norm before it divides by it
_TINY = 1e-7


def _others(rank: int, dim: int) -> tuple[int, ...]:
    """All dimensions but one."""
    return tuple(d for d in range(rank) if d != dim % rank)


def _renormed(x: Array, p: float, dim: int, maxnorm: float) -> Array:
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    kind = wide.dtype.type
    norm = norm_forward(wide, p, _others(x.ndim, dim), True)
    factor = np.where(norm > kind(maxnorm), kind(maxnorm) / (norm + kind(_TINY)), kind(1))
    return np.asarray(wide * factor).astype(x.dtype)


def _renorm_rule(xp: Any, grad: Any, input: Any, p: float, dim: int, maxnorm: float, input_dtype: Any) -> Any:
    dims = _others(len(input.shape), dim)
    # PyTorch computes in the dtype in which it would add up: the next wider one
    wide = dtypes.float32 if input_dtype.itemsize == 2 else dtypes.float64
    norm = xp.call(VECTOR_NORM, xp.cast(input, wide), p, dims, True, wide)
    slope = norm_gradient(xp, xp.sum(xp.cast(input * grad, wide), dims, True), input, p, norm, dims, True)
    inverse = 1.0 / (norm + _TINY)
    scaled = xp.cast(inverse * maxnorm * (grad - inverse * slope), input_dtype)
    return xp.where(xp.plain(norm) > maxnorm, scaled, grad)


def _renorm_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, _: Any) -> Any:
    """The tangent of rows that are not scaled, and that of x * maxnorm / (norm + 1e-7) of the others."""
    p, dim, maxnorm = attrs
    x, dims = inputs[0], _others(inputs[0].array.ndim, dim)
    norm = xp.call(VECTOR_NORM, x, p, dims, True, x.dtype)
    slope = norm_gradient(xp, Tensor(np.ones_like(norm.array), x.dtype), x, p, norm, dims, True)
    moved = xp.sum(slope * tangents[0], dims, True)
    inverse = 1.0 / (norm + _TINY)
    scaled = (tangents[0] - x * moved * inverse) * inverse * maxnorm
    return xp.where(norm.array > maxnorm, scaled, tangents[0])


RENORM = Op(
    "RenormBackward0",
    _renormed,
    "input",
    "p dim maxnorm",
    jvp=_renorm_jvp,
    layout="contiguous",
    input=Rule(
        _renorm_rule,
        "dims = [d for d in range(input.dim()) if d != dim % input.dim()]; norm = torch.linalg.vector_norm(input, p, dims, True); "
        "share = (input * grad).sum(dims, True) * input.sgn() * (input.abs() / norm)**(p - 1) / (norm + 1e-7); "
        "where(norm > maxnorm, maxnorm / (norm + 1e-7) * (grad - share), grad)",
        "rows whose norm is maxnorm are not scaled",
    ),
)


def _check_renorm(values: Sequence[Any], out: Tensor | None = None) -> None:
    input, p, _, maxnorm = values
    if type(p) is complex:
        raise runtime_error("renorm: p must be real-valued")
    if not p > 0:
        raise runtime_error("renorm: non-positive-norm not supported")
    if type(maxnorm) is complex:
        raise runtime_error("renorm: maxnorm must be real-valued")
    if not maxnorm >= 0:
        raise runtime_error(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.array.ndim < 2:
        raise shape_error(f"renorm: input needs at least 2 dimensions, got {input.array.ndim} dimensions")


def renorm(input: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """Each slice along dim scaled down so that its norm of order p is at most maxnorm."""
    _check_renorm((input, p, dim, maxnorm))
    rank = input.array.ndim
    wrap_dim(dim, rank)
    if not input.dtype.is_differentiable:
        text = f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.torch_name}"
        raise runtime_error(text, Code.NO_KERNEL)
    _check_identity(input, float(p), tuple(sorted(_others(rank, dim))))
    return RENORM(input, p, dim, maxnorm)  # type: ignore[no-any-return]


# --- norm_except_dim ---


NORM_ALL = Op(
    "NormBackward0",
    lambda x, p: norm_forward(x, p, None, False),
    "input",
    "p",
    input=Rule(
        lambda xp, grad, input, p, out: norm_gradient(xp, grad, input, p, out, None, False),
        "zeros_like(input) if out == 0 else grad * input.sgn() * (input.abs() / out)**(p - 1)",
        "0 where the norm is 0",
    ),
    complex=True,
)


def _check_norm(v: Tensor) -> None:
    """Raise RuntimeError for integers and bool."""
    if not v.dtype.is_differentiable:
        raise runtime_error(f"norm(): input dtype should be either floating point or complex. Got {v.dtype.torch_name} instead.")


def _norm_of_rows(v: Tensor, pow: int, dim: int) -> Any:
    _check_norm(v)
    return NORM(v, pow, (dim,), False)


def norm_except_dim(v: Tensor, pow: int, dim: int) -> Tensor:
    """The norm of order `pow` over all dimensions but `dim`; -1 means over all."""
    rank = v.array.ndim
    if dim not in (-1, 0, rank - 1):
        wrap_dim(dim, rank)
    if not rank and dim != -1:
        raise ProgramError("IndexError", f"Dimension specified as {dim} but tensor has no dimensions")
    if dim == -1:
        _check_norm(v)
        return NORM_ALL(v, pow)  # type: ignore[no-any-return]
    v = contiguous(v)
    if dim == 0:
        shape = (v.array.shape[0], *(1,) * (rank - 1))
        return view(_norm_of_rows(view(v, (v.array.shape[0], -1)), pow, 1), shape)
    if dim == rank - 1:
        shape = (*(1,) * (rank - 1), v.array.shape[-1])
        return view(_norm_of_rows(view(v, (-1, v.array.shape[-1])), pow, 0), shape)
    return transpose(norm_except_dim(contiguous(transpose(v, 0, dim)), pow, 0), 0, dim)


_M, _ROWS = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]], [[1.0, 2.0, 0.5], [0.1, -0.2, 0.3]]


def _reference(order: float, axis: Any = None) -> Any:
    return lambda x: (np.abs(x) ** order).sum(axis) ** (1 / order)


FUNCTIONS = (
    Function(
        "norm",
        (
            "any input, any p='fro', any dim=None, any keepdim=False, any out=None, any dtype=None",
            norm,
        ),
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
        (
            "Tensor input, Number ord=2, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None",
            vector_norm,
        ),
        doc="The vector norm of order ord over all elements or along dimensions.",
        ops=(VECTOR_NORM,),
        samples=(
            Sample("torch.linalg.vector_norm(x)", _reference(2), x=_M),
            Sample("torch.linalg.vector_norm(x, 4, dim=0)", _reference(4, 0), x=_M),
        ),
        out=Out(EXACT, memory="unchecked", adds=True),
    ),
    Function(
        "dist",
        ("Tensor input, Tensor other, Number p=2", dist),
        doc="The norm of order p of input - other.",
        ops=(DIST,),
        samples=(Sample("dist(x, y)", lambda x, y: np.sqrt(((x - y) ** 2).sum()), x=_M, y=[[1.0, 2.0, 0.5]]),),
    ),
    Function(
        "renorm",
        ("Tensor input, Number p, int dim, Number maxnorm", renorm),
        doc="Each part along dim scaled down so that its p-norm is at most maxnorm.",
        ops=(RENORM,),
        samples=(
            Sample("renorm(x, 2, 0, 1.5)", None, x=_ROWS),
            Sample("x.renorm(1, -1, 1.75)", None, x=_ROWS),
            Sample("x.renorm(3, 1, 0.7)", None, x=_ROWS),
        ),
        inplace=True,
        out=lambda input, *_: Out(EXACT, first=input.array.ndim > 1, overlap="partial", inspect=_check_renorm),
    ),
    Function(
        "norm_except_dim",
        ("Tensor v, int pow=2, int dim=0", norm_except_dim),
        doc="The norm over all dimensions but one.",
        ops=(NORM_ALL,),
        samples=(
            Sample("torch.norm_except_dim(x)", lambda x: np.linalg.norm(x, axis=1, keepdims=True), x=_ROWS),
            Sample("torch.norm_except_dim(x, 3, -1)", None, x=_ROWS),
        ),
        method=False,
    ),
)
