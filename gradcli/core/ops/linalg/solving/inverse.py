"""Inverses of square matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, elimination, lu
from gradcli.core.ops.checks import is_sample
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import Call, check_square_floats, first_failure, to_column_major, with_info
from gradcli.core.ops.linalg.samples import SQUARE
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def _inverse(a: Array) -> Array:
    try:
        return elimination.inverse(a) if elimination.fits(a) else to_column_major(np.linalg.inv(a))
    except np.linalg.LinAlgError:
        where, m = first_failure(a, elimination.inverse if elimination.fits(a) else np.linalg.inv)
        raise ProgramError(
            "_LinAlgError",
            f"linalg.inv: {where}The diagonal element {int(lu.factorized(m)[2]) or len(m)} is zero, the inversion could not be completed "
            "because the input matrix is singular.",
        ) from None


INV: Op = Op(
    "LinalgInvExBackward0",
    _inverse,
    "A",
    saved="inverse=out",
    A=Rule(lambda xp, grad, out: -xp.matmul(xp.mT(out), xp.matmul(grad, xp.mT(out))), "-(out.mT @ (grad @ out.mT))"),
    jvp=lambda xp, inputs, attrs, tangents, out: -xp.matmul(xp.matmul(out, tangents[0]), out),
    complex=True,
)


def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices. Raises RuntimeError for other shapes or dtypes, _LinAlgError for singular matrices."""
    check_square_floats("linalg.inv_ex" if is_sample(A) and A.array.ndim < 2 else "linalg.inv", A)
    return INV(A)  # type: ignore[no-any-return]


def inv_ex(A: Tensor, check_errors: bool = False) -> Any:
    """The inverse, and for each matrix the first pivot that is 0, counted from 1; singular matrices give infinite elements."""
    check_square_floats("linalg.inv", A)

    def infinite() -> tuple[Array, Array]:
        packed, pivots, info = lu.factorized(A.array)
        eye = np.broadcast_to(np.eye(A.array.shape[-1], dtype=A.dtype.np), A.array.shape)
        return to_column_major(lu.solved(packed, pivots, eye, False)), info

    found = with_info(lambda: inv(A), check_errors, ("linalg.inv", "linalg.inv_ex"), infinite, Call(INV, (A,)))
    return named("linalg_inv_ex", "inverse", "info")(found)


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "inv",
        ("Tensor A", inv),
        doc="The inverse of square matrices.",
        ops=(INV,),
        samples=(Sample("torch.linalg.inv(x)", np.linalg.inv, x=SQUARE),),
        out=Out(EXACT, operator="linalg_inv_ex"),
    ),
    Function(
        "inverse",
        ("Tensor input", inv),
        doc="The inverse of square matrices.",
        samples=(Sample("inverse(x)", np.linalg.inv, x=SQUARE),),
        out=Out(EXACT, operator="linalg_inv_ex"),
    ),
    LinalgFunction(
        "inv_ex",
        ("Tensor A, *, bool check_errors=False |2 outs", inv_ex),
        doc="The inverse, and for each matrix which pivot was 0.",
        samples=(Sample("torch.linalg.inv_ex(x).inverse", np.linalg.inv, x=SQUARE),),
        out=Out(EXACT, operator="linalg_inv_ex"),
    ),
)
