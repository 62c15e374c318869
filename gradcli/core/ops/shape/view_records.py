"""The records of other shapes: views, the order of dimensions, dimensions of size 1, expansion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.tensor.tensor import Array
from gradcli.errors import ProgramError

#: numpy's bound; PyTorch has none
MOST_DIMENSIONS = 64 if int(np.__version__.partition(".")[0]) >= 2 else 32


def check_rank(rank: int) -> None:
    """Refuse more dimensions than numpy has."""
    if rank > MOST_DIMENSIONS:
        raise ProgramError("RuntimeError", f"a tensor of {rank} dimensions is not part of gradcli, which has at most {MOST_DIMENSIONS}")


def _back(xp: Any, grad: Any, input_shape: Any) -> Any:
    return xp.reshape(grad, input_shape)


def _view_array(a: Array, size: Any) -> Array:
    check_rank(len(size))
    return a.reshape(size)


_VIEW_FORMULA = "grad.reshape(input.shape)"
VIEW: Op = Op("ViewBackward0", _view_array, "input", "size", view=True, input=Rule(_back, _VIEW_FORMULA))
RESHAPE_ALIAS: Op = Op("ReshapeAliasBackward0", _view_array, "input", "size", view=True, input=Rule(_back, _VIEW_FORMULA))
UNSAFE_VIEW: Op = Op("UnsafeViewBackward0", _view_array, "input", "size", input=Rule(_back, _VIEW_FORMULA))

T_RECORD: Op = Op("TBackward0", np.transpose, "input", view=True, input=Rule(lambda xp, grad: xp.call(T_RECORD, grad), "grad.t()"))
T_INPLACE: Op = Op("TBackward1", np.transpose, "input", input=Rule(lambda xp, grad: xp.call(T_RECORD, grad), "grad.t()"))


def _swap(a: Array, dim0: int, dim1: int) -> Array:
    return a.swapaxes(dim0, dim1) if a.ndim else a.view()


def _swap_rule(xp: Any, grad: Any, dim0: int, dim1: int) -> Any:
    return xp.call(TRANSPOSE, grad, dim0, dim1)


_SWAP = "grad.transpose(dim0, dim1)"
TRANSPOSE: Op = Op("TransposeBackward0", _swap, "input", "dim0 dim1", view=True, input=Rule(_swap_rule, _SWAP))
TRANSPOSE_INPLACE: Op = Op("TransposeBackward1", _swap, "input", "dim0 dim1", input=Rule(_swap_rule, _SWAP))


def _inverse(dims: Sequence[int]) -> tuple[int, ...]:
    back = [0] * len(dims)
    for i, d in enumerate(dims):
        back[d] = i
    return tuple(back)


PERMUTE: Op = Op(
    "PermuteBackward0",
    lambda a, dims: a.transpose(dims),
    "input",
    "dims",
    view=True,
    input=Rule(lambda xp, grad, dims: xp.call(PERMUTE, grad, _inverse(dims)), "grad.movedim(tuple(range(len(dims))), dims)"),
)


def _ones_back(xp: Any, grad: Any, input_shape: Any) -> Any:
    return xp.expand_dims(grad, tuple(i for i, n in enumerate(input_shape) if n == 1))


def _one_back(xp: Any, grad: Any, dim: int, input_shape: Any) -> Any:
    if not input_shape or input_shape[dim] != 1:
        return grad
    return xp.call(UNSQUEEZE, grad, dim)


def _some_back(xp: Any, grad: Any, dim: Any, input_shape: Any) -> Any:
    rank = len(input_shape)
    return xp.expand_dims(grad, tuple(sorted(d % rank for d in dim if input_shape[d] == 1))) if rank else grad


def _squeeze_all(a: Array) -> Array:
    return a.reshape([n for n in a.shape if n != 1]) if 0 in a.shape else np.squeeze(a)


def _squeeze_dims(a: Array, dim: Any) -> Array:
    dims = (dim,) if isinstance(dim, int) else dim
    return a.squeeze(tuple({d % a.ndim for d in dims if a.shape[d] == 1})) if a.ndim else a.view()


_SQUEEZE = "grad.reshape(input.shape)"
SQUEEZE: Op = Op("SqueezeBackward0", _squeeze_all, "input", view=True, input=Rule(_ones_back, _SQUEEZE))
SQUEEZE_DIM: Op = Op("SqueezeBackward1", _squeeze_dims, "input", "dim", view=True, input=Rule(_one_back, _SQUEEZE))
SQUEEZE_DIMS: Op = Op("SqueezeBackward2", _squeeze_dims, "input", "dim", view=True, input=Rule(_some_back, _SQUEEZE))
SQUEEZE_INPLACE: Op = Op("SqueezeBackward3", _squeeze_all, "input", input=Rule(_ones_back, _SQUEEZE))
SQUEEZE_DIM_INPLACE: Op = Op("SqueezeBackward4", _squeeze_dims, "input", "dim", input=Rule(_one_back, _SQUEEZE))
SQUEEZE_DIMS_INPLACE: Op = Op("SqueezeBackward5", _squeeze_dims, "input", "dim", input=Rule(_some_back, _SQUEEZE))


def _insert(a: Array, dim: int) -> Array:
    shape = a.shape
    check_rank(len(shape) + 1)
    at = dim if dim >= 0 else dim + len(shape) + 1
    return a.reshape((*shape[:at], 1, *shape[at:]))


def _unsqueeze_rule(xp: Any, grad: Any, dim: int) -> Any:
    return xp.call(SQUEEZE_DIM, grad, dim)


UNSQUEEZE: Op = Op("UnsqueezeBackward0", _insert, "input", "dim", view=True, input=Rule(_unsqueeze_rule, "grad.squeeze(dim)"))
UNSQUEEZE_INPLACE: Op = Op("UnsqueezeBackward1", _insert, "input", "dim", input=Rule(_unsqueeze_rule, "grad.squeeze(dim)"))


def _expand_array(a: Array, size: Any) -> Array:
    check_rank(len(size))
    lead = len(size) - a.ndim
    strides = (0,) * lead + tuple(s if n == m else 0 for s, n, m in zip(a.strides, a.shape, size[lead:], strict=True))
    # writeable: what may not be written to is checked where it is written
    return np.lib.stride_tricks.as_strided(a, size, strides, writeable=a.flags.writeable)


EXPAND: Op = Op(
    "ExpandBackward0",
    _expand_array,
    "input",
    "size",
    view=True,
    # the engine sums away what was expanded
    input=Rule(lambda grad: grad, "grad.sum_to_size(input.shape)"),
)
