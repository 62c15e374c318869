"""The records of linear algebra: inverses, determinants, solutions and factorisations of batches of matrices.

Derivatives as in M. Giles, "An extended collection of matrix derivative results" (2008), in PyTorch's arrangement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.ops.arranging import DIAG_EMBED, TRIL, TRIU
from gradcli.core.ops.gathering_records import INDEX_FILL_TENSOR
from gradcli.core.record import Op, Rule
from gradcli.core.tensor import Array, wrap
from gradcli.errors import ProgramError


def _raise(text: str) -> Any:
    raise ProgramError("LinAlgError", text)


def _batch_note(position: int, batched: bool) -> str:
    return f"(Batch element {position}): " if batched else ""


def _zero_pivot(matrix: Array) -> int:
    """Which diagonal element of the triangular factor is zero, counted from 1; elimination with row exchanges."""
    a = np.array(matrix, np.float64)
    n = a.shape[0]
    for k in range(n):
        best = k + int(np.argmax(np.abs(a[k:, k])))
        if a[best, k] == 0:
            return k + 1
        a[[k, best]] = a[[best, k]]
        a[k + 1 :] -= np.outer(a[k + 1 :, k] / a[k, k], a[k])
    return n


def _inverse(a: Array) -> Array:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        matrices = a.reshape(-1, *a.shape[-2:])
        for i, m in enumerate(matrices):
            try:
                np.linalg.inv(m)
            except np.linalg.LinAlgError:
                _raise(
                    f"linalg.inv: {_batch_note(i, a.ndim > 2)}The diagonal element {_zero_pivot(m)} is zero, the inversion could not be "
                    "completed because the input matrix is singular."
                )
        raise


def _mT(xp: Any, x: Any) -> Any:
    return xp.mT(x)


INV = Op(
    "LinalgInvExBackward0",
    _inverse,
    "A",
    input_rule := "",
    A=Rule(lambda xp, grad, out: -xp.matmul(xp.mT(out), xp.matmul(grad, xp.mT(out))), "-(out.mT @ (grad @ out.mT))"),
)
