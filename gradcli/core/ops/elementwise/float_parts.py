"""Parts and neighbours of floating numbers, and rows scaled down to a norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import named
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.checks import not_implemented, wrap_dim
from gradcli.core.ops.loss.composed import NORM
from gradcli.core.ops.reduce import norms
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError

# --- mantissa and exponent ---


def _frexp(a: Array) -> tuple[Array, Array]:
    mantissa, exponent = np.frexp(a)
    return mantissa.astype(a.dtype), exponent.astype(np.int32)


FREXP = Op(
    "FrexpBackward0",
    _frexp,
    "input",
    outputs="mantissa exponent",
    input=Rule(
        lambda xp, grad, exponent, input_dtype: grad / xp.exp2(xp.cast(exponent, input_dtype)),
        "grad / torch.exp2(torch.frexp(input)[1])",
    ),
)


def frexp(input: Tensor) -> Any:
    """mantissa and exponent of input = mantissa * 2**exponent."""
    if not input.dtype.is_floating_point:
        raise ProgramError("RuntimeError", "torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = FREXP(input)
    return named("frexp", "mantissa", "exponent")((mantissa, wrap(exponent.array)))


# --- the next number ---


def _next(a: Any, b: Any) -> Array:
    return np.asarray(np.nextafter(np.asarray(a), np.asarray(b)))


def _next_bfloat(a: Any, b: Any) -> Array:
    """The same of 16 bits: a step is one of the upper half of the pattern."""
    x, y = np.broadcast_arrays(np.asarray(a, np.float32), np.asarray(b, np.float32))
    bits = np.ascontiguousarray(x).view(np.int32)
    away = (y > x) == (x > 0)
    stepped = (bits + np.where(away, 1 << 16, -(1 << 16)).astype(np.int32)).view(np.float32)
    least = np.copysign(np.int32(1 << 16).view(np.float32), y)
    moved = np.where(x == 0, least, stepped)
    return np.where(np.isnan(x) | np.isnan(y), np.float32(np.nan), np.where(x == y, y, moved))


def _unless_equal(xp: Any, grad: Any, input: Any, other: Any) -> Any:
    return xp.where(xp.plain(input) == xp.plain(other), 0.0, grad)


def _next_record(forward: Any) -> Pointwise:
    return Pointwise(
        "NextafterBackward0",
        forward,
        "input other",
        input=Rule(_unless_equal, "where(input == other, 0, grad)", "0 where both are equal"),
        other=Rule(lambda xp, grad: xp.zeros_like(grad), "zeros_like(grad)"),
    )


NEXTAFTER, _NEXTAFTER_BFLOAT = _next_record(_next), _next_record(_next_bfloat)


def nextafter(input: Tensor, other: Tensor) -> Any:
    """The number after input in the direction of other."""
    dtype = dtypes.result_type((input, other))
    if not dtype.is_floating_point:
        raise not_implemented("nextafter_cpu", dtype)
    return (_NEXTAFTER_BFLOAT if dtype is dtypes.bfloat16 else NEXTAFTER)(input, other)


# --- rows scaled down to a norm ---

#: PyTorch adds it to the norm that it divides by
_TINY = 1e-7


def _rest(rank: int, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(rank) if d != dim % rank)


def _renormed(x: Array, p: float, dim: int, maxnorm: float) -> Array:
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    kind = wide.dtype.type
    norm = norms.norm_forward(wide, p, _rest(x.ndim, dim), True)
    factor = np.where(norm > kind(maxnorm), kind(maxnorm) / (norm + kind(_TINY)), kind(1))
    return np.asarray(wide * factor).astype(x.dtype)


def _renorm_rule(xp: Any, grad: Any, input: Any, p: float, dim: int, maxnorm: float, input_dtype: Any) -> Any:
    dims = _rest(len(input.shape), dim)
    norm = xp.call(norms.VECTOR_NORM, input, p, dims, True, input_dtype)
    slope = norms.norm_gradient(xp, xp.sum(input * grad, dims, True), input, p, norm, dims, True)
    inverse = 1.0 / (norm + _TINY)
    scaled = inverse * maxnorm * (grad - inverse * slope)
    return xp.where(xp.plain(norm) > maxnorm, scaled, grad)


RENORM = Op(
    "RenormBackward0",
    _renormed,
    "input",
    "p dim maxnorm",
    input=Rule(
        _renorm_rule,
        "dims = [d for d in range(input.dim()) if d != dim % input.dim()]; norm = torch.linalg.vector_norm(input, p, dims, True); "
        "share = (input * grad).sum(dims, True) * input.sgn() * (input.abs() / norm)**(p - 1) / (norm + 1e-7); "
        "where(norm > maxnorm, maxnorm / (norm + 1e-7) * (grad - share), grad)",
        "no rows are scaled whose norm is maxnorm",
    ),
)


def renorm(input: Tensor, p: Any, dim: int, maxnorm: Any) -> Any:
    """Each part along dim scaled down so that its p-norm is at most maxnorm."""
    if p <= 0:
        raise ProgramError("RuntimeError", "renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise ProgramError("RuntimeError", f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    rank = input.array.ndim
    if rank < 2:
        raise ProgramError("RuntimeError", f"renorm: input needs at least 2 dimensions, got {rank} dimensions")
    wrap_dim(dim, rank)
    if not input.dtype.is_floating_point:
        raise ProgramError(
            "RuntimeError", f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.torch_name}"
        )
    return RENORM(input, float(p), dim, float(maxnorm))


_NORM_OF_ALL = Op(
    "NormBackward0",
    lambda x, p: norms.norm_forward(x, p, None, False),
    "input",
    "p",
    input=Rule(
        lambda xp, grad, input, p, out: norms.norm_gradient(xp, grad, input, p, out, None, False),
        "zeros_like(input) if out == 0 else grad * input.sgn() * (input.abs() / out)**(p - 1)",
        "0 where the norm is 0",
    ),
)


def norm_except_dim(v: Tensor, pow: int, dim: int) -> Any:
    """The norm over all dimensions but one, which is the first or the last; -1 is over all."""
    rank = v.array.ndim
    if dim == -1:
        return _NORM_OF_ALL(v, float(pow))
    if dim == 0:
        shape = (v.array.shape[0], *(1,) * (rank - 1))
        return view(NORM(view(v, (v.array.shape[0], -1)), float(pow), (1,), False), shape)
    if dim == rank - 1:
        shape = (*(1,) * (rank - 1), v.array.shape[-1])
        return view(NORM(view(v, (-1, v.array.shape[-1])), float(pow), (0,), False), shape)
    swapped = catalog.function("transpose")(v, 0, dim)
    return catalog.function("transpose")(norm_except_dim(contiguous(swapped), pow, 0), 0, dim)


_X = [0.75, -3.0, 10.0]
_M: Any = [[1.0, 2.0, 0.5], [0.1, -0.2, 0.3]]

FUNCTIONS = (
    Function(
        "frexp",
        ("Tensor input |outs", frexp),
        doc="mantissa and exponent of input = mantissa * 2**exponent.",
        ops=(FREXP,),
        samples=(Sample("frexp(x).mantissa", lambda x: np.frexp(x)[0], x=_X),),
        out=True,
    ),
    Function(
        "nextafter",
        ("Tensor input, Tensor other", nextafter),
        doc="The number after input in the direction of other.",
        ops=(NEXTAFTER,),
        samples=(Sample("nextafter(x, y)", np.nextafter, x=_X, y=[1.0, 1.0, 0.0]),),
        inplace=True,
        out=True,
    ),
    Function(
        "renorm",
        ("Tensor input, Number p, int dim, Number maxnorm", renorm),
        doc="Each part along dim scaled down so that its p-norm is at most maxnorm.",
        ops=(RENORM,),
        samples=(
            Sample("renorm(x, 2, 0, 1.5)", None, x=_M),
            Sample("x.renorm(1, -1, 1.75)", None, x=_M),
            Sample("x.renorm(3, 1, 0.7)", None, x=_M),
        ),
        inplace=True,
        out=True,
    ),
    Function(
        "norm_except_dim",
        ("Tensor v, int pow=2, int dim=0", norm_except_dim),
        doc="The norm over all dimensions but one.",
        ops=(_NORM_OF_ALL,),
        samples=(
            Sample("torch.norm_except_dim(x)", lambda x: np.linalg.norm(x, axis=1, keepdims=True), x=_M),
            Sample("torch.norm_except_dim(x, 3, -1)", None, x=_M),
        ),
        method=False,
    ),
)
