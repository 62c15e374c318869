"""The distance of two tensors: the norm of their difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.checks import Number
from gradcli.core.ops.elementwise.add_multiply import sub
from gradcli.core.ops.reduce.norms import check_kind, norm_forward, norm_gradient, norm_jvp
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


def _difference(input: Any, other: Any, dtype: DType) -> Any:
    """`input - other` in the dtype that both tensors promote to, of tensors or arrays."""
    return input - other if type(input) is Tensor else dtypes.cast(input, dtype) - dtypes.cast(other, dtype)


def _dist_rule(xp: Any, grad: Any, input: Any, other: Any, p: float, dtype: DType, out: Any) -> Any:
    return norm_gradient(xp, grad, _difference(input, other, dtype), p, out, None, False)


def _dist_other(xp: Any, grad: Any, input: Any, other: Any, p: float, dtype: DType, out: Any) -> Any:
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
    return norm_jvp(xp, (x - y,), (attrs[0], None, False), (moved,), out)


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
    real_part=False,
    input=Rule(_dist_rule, _DIST + "grad * size * sgn(d)", "0 where input equals other"),
    other=Rule(_dist_other, _DIST + "-grad * size * sgn(d)", "0 where input equals other"),
)


def dist(input: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    """The norm of order p of `input - other`."""
    if type(p) is complex:
        raise runtime_error("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    difference = sub(input, other)
    check_kind(difference)
    if not difference.array.size and (p < 0 or p == math.inf):
        shown = str(p) if math.isinf(p) else f"{p:g}"
        raise runtime_error(
            f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the operation does not have an identity"
        )
    return DIST(input, other, p, difference.dtype)  # type: ignore[no-any-return]


_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]

FUNCTIONS = (
    Function(
        "dist",
        ("Tensor input, Tensor other, Number p=2", dist),
        doc="The norm of order p of input - other.",
        ops=(DIST,),
        samples=(Sample("dist(x, y)", lambda x, y: np.sqrt(((x - y) ** 2).sum()), x=_M, y=[[1.0, 2.0, 0.5]]),),
    ),
)
