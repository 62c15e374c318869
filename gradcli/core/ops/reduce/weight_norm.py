"""A weight as a direction and a size for each slice along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.ops.reduce.norm_except_dim import norm_except_dim
from gradcli.core.ops.reduce.norms import norm_forward
from gradcli.core.tensor.tensor import Tensor


def _sizes(v: Array, dim: int) -> Array:
    """The norm of each slice of v along the first dimension or the last, with all dimensions kept."""
    rows = v.reshape(v.shape[0], -1) if dim == 0 else v.reshape(-1, v.shape[-1])
    norms = norm_forward(rows, 2, (1,) if dim == 0 else (0,), False)
    shape = (-1, *(1,) * (v.ndim - 1)) if dim == 0 else (*(1,) * (v.ndim - 1), -1)
    return np.asarray(norms).reshape(shape)


def _others(v: Any, dim: int) -> tuple[int, ...]:
    return tuple(i for i in range(len(v.shape)) if i != dim % len(v.shape))


def _to_direction(xp: Any, grad: Any, v: Any, g: Any, dim: int) -> Any:
    squares = xp.sum(v * v, axis=_others(v, dim), keepdims=True)
    along = xp.sum(grad * v, axis=_others(v, dim), keepdims=True)
    return g / xp.sqrt(squares) * (grad - v * (along / squares))


def _to_size(xp: Any, grad: Any, v: Any, dim: int) -> Any:
    squares = xp.sum(v * v, axis=_others(v, dim), keepdims=True)
    return xp.sum(grad * v, axis=_others(v, dim), keepdims=True) / xp.sqrt(squares)


_OF = "d = [i for i in range(v.dim()) if i != dim % v.dim()]; n = (v * v).sum(d, True).sqrt(); s = (grad * v).sum(d, True); "
WEIGHT_NORM = Op(
    "WeightNormInterfaceBackward0",
    lambda v, g, dim: v * (g / _sizes(v, dim)),
    "v g",
    "dim",
    jvp="transpose",
    saved="v g result1=? dim",
    computed={"result1": lambda v, g, dim: _sizes(v, dim)},
    v=Rule(_to_direction, f"{_OF}g / n * (grad - v * s / n**2)"),
    g=Rule(_to_size, f"{_OF}s / n"),
)


def weight_norm(v: Tensor, g: Tensor, dim: int) -> Any:
    """`v * (g / norm)`, with the norm of each slice of v along a dimension, or of all of v for dim -1."""
    if dim in (0, v.array.ndim - 1):
        return WEIGHT_NORM(v, g, dim)
    return v * (g / norm_except_dim(v, 2, dim))
