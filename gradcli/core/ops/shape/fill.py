"""Methods that only exist in place: fill_, zero_, copy_, and those that give the tensor itself another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling.signature import wrapped
from gradcli.core.functions.function import Function
from gradcli.core.graph import in_place
from gradcli.core.graph.pointwise import check_into
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.shape import view_records
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError


def _copy(input: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    if type(other) is int:
        number = wrapped(other, input.dtype)
        other = wrap(np.asarray(number, np.float64 if input.dtype.is_floating_point else None))
    src = other if type(other) is Tensor else wrap(np.asarray(other))
    check_into(input.array, src.array)
    return in_place.copy_(input, src)


def _fill(input: Tensor, value: Any) -> Tensor:
    return in_place.fill_(input, value)


def _t(input: Tensor) -> Tensor:
    rank = input.array.ndim
    if rank > 2:
        raise ProgramError("RuntimeError", f"t_() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return in_place.reshape_(input, view_records.T_INPLACE)


def _transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    wrap_dim(dim0, input.array.ndim)
    wrap_dim(dim1, input.array.ndim)
    return in_place.reshape_(input, view_records.TRANSPOSE_INPLACE, dim0, dim1)


def _squeeze_dim(input: Tensor, dim: int) -> Tensor:
    wrap_dim(dim, input.array.ndim)
    return in_place.reshape_(input, view_records.SQUEEZE_DIM_INPLACE, dim)


def _squeeze_dims(input: Tensor, dim: Sequence[int]) -> Tensor:
    for d in dim:
        wrap_dim(d, input.array.ndim)
    return in_place.reshape_(input, view_records.SQUEEZE_DIMS_INPLACE, tuple(dim))


def _unsqueeze(input: Tensor, dim: int) -> Tensor:
    wrap_dim(dim, input.array.ndim + 1)
    return in_place.reshape_(input, view_records.UNSQUEEZE_INPLACE, dim)


FUNCTIONS = (
    Function(
        "fill_",
        ("Tensor input, Tensor value", _fill),
        ("Tensor input, Number value", _fill),
        doc="One value everywhere, in place.",
        ops=(in_place.FILL, in_place.FILL_TENSOR),
    ),
    Function("zero_", ("Tensor input", in_place.zero_), doc="0 everywhere, in place.", ops=(in_place.ZERO,)),
    Function(
        "copy_",
        ("Tensor input, Operand other, bool non_blocking=False", _copy),
        ("Tensor input, Operand other, bool async |deprecated", _copy),
        doc="The values of another tensor, broadcast and converted, in place.",
        ops=(in_place.COPY_INTO,),
        function=False,
    ),
    Function("t_", ("Tensor input", _t), doc="Transposed, in place.", ops=(view_records.T_INPLACE,), function=False),
    Function(
        "transpose_",
        ("Tensor input, int dim0, int dim1", _transpose),
        doc="Two dimensions swapped, in place.",
        ops=(view_records.TRANSPOSE_INPLACE,),
        function=False,
        aliases=("swapaxes_", "swapdims_"),
    ),
    Function(
        "squeeze_",
        ("Tensor input", lambda a: in_place.reshape_(a, view_records.SQUEEZE_INPLACE)),
        ("Tensor input, int dim", _squeeze_dim),
        ("Tensor input, ints dim", _squeeze_dims),
        doc="Without dimensions of size 1, in place.",
        ops=(view_records.SQUEEZE_INPLACE, view_records.SQUEEZE_DIM_INPLACE, view_records.SQUEEZE_DIMS_INPLACE),
        function=False,
    ),
    Function(
        "unsqueeze_",
        ("Tensor input, int dim", _unsqueeze),
        doc="With a new dimension of size 1, in place.",
        ops=(view_records.UNSQUEEZE_INPLACE,),
        function=False,
    ),
)
