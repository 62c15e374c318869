"""The norm over all dimensions but one, of which weight normalisation makes the sizes of a weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import warn_of_samples
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.reduce.norms import NORM, check_kind, norm_forward, norm_gradient
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.transpose import transpose
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

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


def _norm_of_rows(v: Tensor, pow: int, dim: int) -> Any:
    check_kind(v)
    return NORM(v, pow, (dim,), False)


def norm_except_dim(v: Tensor, pow: int, dim: int) -> Tensor:
    """The norm of order `pow` over all dimensions but `dim`; -1 means over all."""
    warn_of_samples("norm_except_dim", v)
    rank = v.array.ndim
    if dim not in (-1, 0, rank - 1):
        wrap_dim(dim, rank)
    if not rank and dim != -1:
        raise ProgramError("IndexError", f"Dimension specified as {dim} but tensor has no dimensions")
    if dim == -1:
        check_kind(v)
        return NORM_ALL(v, pow)  # type: ignore[no-any-return]
    v = contiguous(v)
    if dim == 0:
        shape = (v.array.shape[0], *(1,) * (rank - 1))
        return view(_norm_of_rows(view(v, (v.array.shape[0], -1)), pow, 1), shape)
    if dim == rank - 1:
        shape = (*(1,) * (rank - 1), v.array.shape[-1])
        return view(_norm_of_rows(view(v, (-1, v.array.shape[-1])), pow, 0), shape)
    return transpose(norm_except_dim(contiguous(transpose(v, 0, dim)), pow, 0), 0, dim)


_ROWS = [[1.0, 2.0, 0.5], [0.1, -0.2, 0.3]]

FUNCTIONS = (
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
