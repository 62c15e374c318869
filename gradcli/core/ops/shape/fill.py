"""Values written in place: fill_, zero_, copy_."""

from __future__ import annotations

import numpy as np

from gradcli.core.functions.function import Function
from gradcli.core.graph import in_place
from gradcli.core.graph.pointwise import check_into
from gradcli.core.graph.write_checks import check_memory, check_overlap, check_writable
from gradcli.core.ops.checks import Operand
from gradcli.core.tensor.dtypes import wrapped
from gradcli.core.tensor.tensor import Tensor, wrap


def _copy(input: Tensor, other: Operand, non_blocking: bool = False) -> Tensor:
    if type(other) is int:
        number = wrapped(other, input.dtype)
        other = wrap(np.asarray(number, np.float64 if input.dtype.is_floating_point else None))
    src = other if type(other) is Tensor else wrap(np.asarray(other))
    check_writable(input, src.requires_grad)
    if src.version is input.version is not None:
        check_overlap(input, src)
    if src.array.shape != input.array.shape:
        check_memory(input)
        check_into(input.array, src.array)
    return in_place.copy_(input, src)


FUNCTIONS = (
    Function(
        "fill_",
        ("Tensor input, Tensor value", in_place.fill_),
        ("Tensor input, Number value", in_place.fill_),
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
)
