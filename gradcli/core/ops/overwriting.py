"""Methods that only exist in place: fill_, zero_, copy_, and those that give the tensor itself another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core import inplace
from gradcli.core.function import Function
from gradcli.core.ops import shape_records
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.pointwise import check_into
from gradcli.core.signature import wrapped
from gradcli.core.tensor import Tensor, wrap
from gradcli.errors import ProgramError


def _copy(input: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    if type(other) is int:
        number = wrapped(other, input.dtype)
        other = wrap(np.asarray(number, np.float64 if input.dtype.is_floating_point else None))
    src = other if type(other) is Tensor else wrap(np.asarray(other))
    check_into(input.array, src.array)
    return inplace.copy_(input, src)


def _fill(input: Tensor, value: Any) -> Tensor:
    return inplace.fill_(input, value)


def _t(input: Tensor) -> Tensor:
    rank = input.array.ndim
    if rank > 2:
        raise ProgramError("RuntimeError", f"t_() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return inplace.reshape_(input, shape_records.T_INPLACE)


def _transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    wrap_dim(dim0, input.array.ndim)
    wrap_dim(dim1, input.array.ndim)
    return inplace.reshape_(input, shape_records.TRANSPOSE_INPLACE, dim0, dim1)


def _squeeze_dim(input: Tensor, dim: int) -> Tensor:
    wrap_dim(dim, input.array.ndim)
    return inplace.reshape_(input, shape_records.SQUEEZE_DIM_INPLACE, dim)


def _squeeze_dims(input: Tensor, dim: Sequence[int]) -> Tensor:
    for d in dim:
        wrap_dim(d, input.array.ndim)
    return inplace.reshape_(input, shape_records.SQUEEZE_DIMS_INPLACE, tuple(dim))


def _unsqueeze(input: Tensor, dim: int) -> Tensor:
    wrap_dim(dim, input.array.ndim + 1)
    return inplace.reshape_(input, shape_records.UNSQUEEZE_INPLACE, dim)


FUNCTIONS = (
    Function(
        "fill_",
        ("Tensor input, Tensor value", _fill),
        ("Tensor input, Number value", _fill),
        doc="One value everywhere, in place.",
        ops=(inplace.FILL, inplace.FILL_TENSOR),
    ),
    Function("zero_", ("Tensor input", inplace.zero_), doc="0 everywhere, in place.", ops=(inplace.ZERO,)),
    Function(
        "copy_",
        ("Tensor input, Operand other, bool non_blocking=False", _copy),
        ("Tensor input, Operand other, bool async |deprecated", _copy),
        doc="The values of another tensor, broadcast and converted, in place.",
        ops=(inplace.COPY_INTO,),
        function=False,
    ),
    Function("t_", ("Tensor input", _t), doc="Transposed, in place.", ops=(shape_records.T_INPLACE,), function=False),
    Function(
        "transpose_",
        ("Tensor input, int dim0, int dim1", _transpose),
        doc="Two dimensions swapped, in place.",
        ops=(shape_records.TRANSPOSE_INPLACE,),
        function=False,
        aliases=("swapaxes_", "swapdims_"),
    ),
    Function(
        "squeeze_",
        ("Tensor input", lambda a: inplace.reshape_(a, shape_records.SQUEEZE_INPLACE)),
        ("Tensor input, int dim", _squeeze_dim),
        ("Tensor input, ints dim", _squeeze_dims),
        doc="Without dimensions of size 1, in place.",
        ops=(shape_records.SQUEEZE_INPLACE, shape_records.SQUEEZE_DIM_INPLACE, shape_records.SQUEEZE_DIMS_INPLACE),
        function=False,
    ),
    Function(
        "unsqueeze_",
        ("Tensor input, int dim", _unsqueeze),
        doc="With a new dimension of size 1, in place.",
        ops=(shape_records.UNSQUEEZE_INPLACE,),
        function=False,
    ),
)
