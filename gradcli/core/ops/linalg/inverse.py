"""Inverses of square matrices, and of linear maps between tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elimination, lu
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_square_floats, first_failure, to_column_major, with_info
from gradcli.core.ops.linalg.samples import SQUARE
from gradcli.core.ops.shape.views import reshape
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError, runtime_error


def _zero_pivot(matrix: Array) -> int:
    """Which diagonal element of the triangular factor is zero, counted from 1; elimination with row exchanges."""
    a = np.array(matrix, matrix.dtype)
    n = int(a.shape[0])
    for k in range(n):
        best = k + int(np.argmax(np.abs(a[k:, k])))
        if a[best, k] == 0:
            return k + 1
        a[[k, best]] = a[[best, k]]
        a[k + 1 :] -= np.outer(a[k + 1 :, k] / a[k, k], a[k])
    return n


def _inverse(a: Array) -> Array:
    try:
        return elimination.inverse(a) if elimination.fits(a) else to_column_major(np.linalg.inv(a))
    except np.linalg.LinAlgError:
        where, m = first_failure(a, np.linalg.inv)
        raise ProgramError(
            "_LinAlgError",
            f"linalg.inv: {where}The diagonal element {_zero_pivot(m)} is zero, the inversion could not be completed because the input "
            "matrix is singular.",
        ) from None


INV: Op = Op(
    "LinalgInvExBackward0",
    _inverse,
    "A",
    A=Rule(lambda xp, grad, out: -xp.matmul(xp.mT(out), xp.matmul(grad, xp.mT(out))), "-(out.mT @ (grad @ out.mT))"),
)


def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices."""
    check_square_floats("linalg.inv", A)
    return INV(A)  # type: ignore[no-any-return]


def inv_ex(A: Tensor, check_errors: bool = False) -> Any:
    """The inverse, and for each matrix which pivot was 0."""
    check_square_floats("linalg.inv", A)

    def infinite() -> tuple[Array, Array]:
        packed, pivots, info = lu.factorized(A.array)
        eye = np.broadcast_to(np.eye(A.array.shape[-1], dtype=A.dtype.np), A.array.shape)
        return lu.solved(packed, pivots, eye, False), info

    found = with_info(lambda: inv(A), A, check_errors, ("linalg.inv", "linalg.inv_ex"), infinite)
    return named("linalg_inv_ex", "inverse", "info")(found)


def tensorinv(input: Tensor, ind: int = 2) -> Any:
    """The inverse of the linear map from the last dimensions to the first `ind`."""
    if ind <= 0:
        raise runtime_error(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = input.array.shape
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise runtime_error(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {columns} != {rows}"
        )
    matrix = reshape(input, (rows, columns))
    try:
        inverse = inv(matrix)
    except ProgramError as error:
        kind = "_LinAlgError" if error.kind.endswith("_LinAlgError") else error.kind
        raise ProgramError(kind, error.message.replace("linalg.inv", "inv", 1)) from None
    return reshape(inverse, (*shape[ind:], *shape[:ind]))


FOUR: Any = [[[[2.0, 0.5], [0.25, 1.0]], [[0.5, 3.0], [1.0, -0.5]]], [[[0.25, 1.0], [2.5, 0.5]], [[1.0, 0.25], [0.5, -2.0]]]]


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "inv",
        ("Tensor A", inv),
        doc="The inverse of square matrices.",
        ops=(INV,),
        samples=(Sample("torch.linalg.inv(x)", np.linalg.inv, x=SQUARE),),
        out=True,
    ),
    Function(
        "inverse",
        ("Tensor input", inv),
        doc="The inverse of square matrices.",
        samples=(Sample("inverse(x)", np.linalg.inv, x=SQUARE),),
        out=True,
    ),
    LinalgFunction(
        "inv_ex",
        ("Tensor A, *, bool check_errors=False |outs", inv_ex),
        doc="The inverse, and for each matrix which pivot was 0.",
        samples=(Sample("torch.linalg.inv_ex(x).inverse", np.linalg.inv, x=SQUARE),),
        out=True,
    ),
    LinalgFunction(
        "tensorinv",
        ("Tensor input, int ind=2", tensorinv),
        doc="The inverse of a linear map between tensors.",
        samples=(Sample("torch.linalg.tensorinv(x)", np.linalg.tensorinv, x=FOUR),),
        out=True,
    ),
)
