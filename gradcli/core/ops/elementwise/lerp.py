"""Linear interpolation: lerp."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import SAME, Out
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.kernels import elementary
from gradcli.core.ops.checks import Operand, check_broadcast, not_implemented
from gradcli.core.ops.elementwise.add_multiply import MUL_NUMBER, SUB, no_difference
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


def _lerp(a: Any, b: Any, weight: float) -> Any:
    """`a + weight * (b - a)`, computed from the nearer end."""
    weight = a.dtype.type(weight)
    return elementary.fused(b - a, weight, a) if abs(weight) < 0.5 else _lerp_from_end(a, b, weight)


def _lerp_from_end(a: Any, b: Any, weight: Any) -> Any:
    """`b + (weight - 1) * (b - a)`; PyTorch's scalar code takes the negative of `1 - weight`, which is -0 for the weight 1."""
    difference = b - a
    vectors = elementary.in_vectors(difference, 64, a, b, *([weight] if isinstance(weight, np.ndarray) else []))
    return elementary.fused(difference, np.where(vectors, weight - 1, -(1 - weight)), b)


def _lerp_start(xp: Any, grad: Any, weight: Any) -> Any:
    if xp.plain(weight).dtype == np.bool_:
        raise no_difference(True, True)
    return grad * xp.call(SUB, 1, weight)


LERP_SCALAR = Pointwise(
    "LerpBackward0",
    _lerp,
    "input end",
    "weight",
    input=Rule(lambda xp, grad, weight: xp.call(MUL_NUMBER, grad, 1 - weight), "grad * (1 - weight)"),
    end=Rule(lambda xp, grad, weight: xp.call(MUL_NUMBER, grad, weight), "grad * weight"),
    complex=True,
)
LERP_TENSOR = Pointwise(
    "LerpBackward1",
    lambda a, b, w: np.where(np.abs(w) < 0.5, elementary.fused(b - a, w, a), _lerp_from_end(a, b, w)),
    "input end weight",
    input=Rule(_lerp_start, "grad * (1 - weight)"),
    end=Rule(lambda grad, weight: grad * weight, "grad * weight"),
    weight=Rule(lambda grad, input, end: grad * (end - input), "grad * (end - input)"),
    complex=True,
)


def lerp(input: Tensor, end: Tensor, weight: Operand) -> Tensor:
    """Linear interpolation: `input + weight * (end - input)`; all tensors but a 0-d weight have one floating dtype."""
    for name, t in (("end", end), ("weight", weight)):
        if type(t) is Tensor and t.dtype is not input.dtype and (t is end or t.array.ndim):
            raise runtime_error(f"expected dtype {input.dtype.c_name} for `{name}` but got dtype {t.dtype.c_name}")
    dtype = dtypes.result_type((input, end, weight)) if type(weight) is Tensor else input.dtype
    if not dtype.is_differentiable:
        check_broadcast([t.array for t in (input, end, weight) if type(t) is Tensor])
        raise not_implemented(f"lerp_kernel_{'tensor' if type(weight) is Tensor else 'scalar'}", dtype)
    return LERP_TENSOR(input, end, weight) if type(weight) is Tensor else LERP_SCALAR(input, end, weight)


_X, _Y = [0.5, -1.5, 2.0], [1.5, 0.5, -3.0]

FUNCTIONS = (
    Function(
        "lerp",
        ("Tensor input, Tensor end, Tensor weight", lerp),
        ("Tensor input, Tensor end, Number weight", lerp),
        doc="Linear interpolation from input to end.",
        ops=(LERP_SCALAR, LERP_TENSOR),
        samples=(
            Sample("lerp(x, y, 0.3)", lambda x, y: x + 0.3 * (y - x), x=_X, y=_Y),
            Sample("lerp(x, y, x)", lambda x, y: x + x * (y - x), x=_X, y=_Y),
        ),
        inplace=True,
        out=lambda input, end, weight: Out(SAME if type(weight) is Tensor and weight.array.ndim else ""),
    ),
)
