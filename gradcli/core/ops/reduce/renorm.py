"""Slices scaled down to a largest norm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import warn_of_samples
from gradcli.core.kernels import Array, half_to_single
from gradcli.core.ops.checks import Number, wrap_dim
from gradcli.core.ops.reduce.norms import VECTOR_NORM, along, check_identity, norm_forward, norm_gradient
from gradcli.core.ops.rules import in_half_precision
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, runtime_error, shape_error

#: what PyTorch adds to the norm before it divides by it
_TINY = 1e-7


def _others(rank: int, dim: int) -> tuple[int, ...]:
    """All dimensions but one."""
    return tuple(d for d in range(rank) if d != dim % rank)


def _renormed(x: Array, p: float, dim: int, maxnorm: float, rounded: Any = np.asarray) -> Array:
    """The scaled slices; in half precision the factor is `rounded`, and so is the product."""
    wide = half_to_single(x)
    norm = norm_forward(wide, p, _others(x.ndim, dim), True)
    kind = norm.dtype.type
    factor = np.where(norm > kind(maxnorm), kind(maxnorm) / (norm + kind(_TINY)), kind(1))
    return np.asarray(x * rounded(factor.astype(x.real.dtype)))


def _renorm_rule(xp: Any, grad: Any, input: Any, p: float, dim: int, maxnorm: float, input_dtype: Any) -> Any:
    dims = _others(len(input.shape), dim)
    # PyTorch computes in the dtype in which it would add up: the next wider one
    wide = dtypes.complex128 if input_dtype.is_complex else dtypes.float32 if input_dtype.itemsize == 2 else dtypes.float64
    norm = xp.call(VECTOR_NORM, xp.cast(input, wide), p, dims, True, wide)
    slope = norm_gradient(xp, xp.sum(xp.cast(along(xp, input, grad), wide.real), dims, True), input, p, norm, dims, True)
    inverse = 1.0 / (norm + _TINY)
    scaled = xp.cast(inverse * maxnorm * (grad - inverse * slope), input_dtype)
    return xp.where(xp.plain(norm) > maxnorm, scaled, grad)


def _renorm_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, _: Any) -> Any:
    """The tangent of rows that are not scaled, and that of x * maxnorm / (norm + 1e-7) of the others."""
    p, dim, maxnorm = attrs
    x, dims = inputs[0], _others(inputs[0].array.ndim, dim)
    norm = xp.call(VECTOR_NORM, x, p, dims, True, x.dtype)
    slope = norm_gradient(xp, Tensor(np.ones_like(norm.array), norm.dtype), x, p, norm, dims, True)
    moved = xp.sum(along(xp, slope, tangents[0]), dims, True)
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
    complex=True,
    wirtinger=True,
    input=Rule(
        _renorm_rule,
        "dims = [d for d in range(input.dim()) if d != dim % input.dim()]; norm = torch.linalg.vector_norm(input, p, dims, True); "
        "share = (input.conj() * grad).real.sum(dims, True) * input.sgn() * (input.abs() / norm)**(p - 1) / (norm + 1e-7); "
        "where(norm > maxnorm, maxnorm / (norm + 1e-7) * (grad - share), grad)",
        "rows whose norm is maxnorm are not scaled",
    ),
)


_RENORM_BFLOAT = in_half_precision(RENORM, partial(_renormed, rounded=dtypes.round_bfloat16), "contiguous")


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
    warn_of_samples("renorm", input)
    _check_renorm((input, p, dim, maxnorm))
    rank = input.array.ndim
    wrap_dim(dim, rank)
    if not input.dtype.is_differentiable:
        text = f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.torch_name}"
        raise runtime_error(text, Code.NO_KERNEL)
    check_identity(input, float(p), tuple(sorted(_others(rank, dim))))
    record = _RENORM_BFLOAT if input.dtype is dtypes.bfloat16 else RENORM
    return record(input, p, dim, maxnorm)  # type: ignore[no-any-return]


_ROWS = [[1.0, 2.0, 0.5], [0.1, -0.2, 0.3]]

FUNCTIONS = (
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
)
