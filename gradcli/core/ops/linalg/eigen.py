"""Eigenvalues and eigenvectors of symmetric matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, symmetric_eigenvalues
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_floats, check_squares, to_column_major
from gradcli.core.ops.linalg.samples import SQUARE
from gradcli.core.ops.shape.diagonal import DIAG_EMBED
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


def differences(xp: Any, values: Any) -> Any:
    """The matrix of value_j - value_i, with ones on the diagonal, so that one can divide by it."""
    between = xp.expand_dims(values, -2) - xp.expand_dims(values, -1)
    return xp.where(np.eye(values.shape[-1], dtype=bool), 1.0, between)


def _eigh(a: Array, lower: bool) -> tuple[Array, Array]:
    small = symmetric_eigenvalues.fits(a)
    values, vectors = symmetric_eigenvalues.eigh(a, lower) if small else np.linalg.eigh(a, "L" if lower else "U")
    return values, to_column_major(vectors)


def _eigh_rule(xp: Any, grads: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    values, vectors = grads
    V = eigenvectors
    if vectors is None:
        return xp.matmul(V * xp.expand_dims(values, -2), xp.mT(V))
    inner = xp.matmul(xp.mT(V), vectors)
    core = scalars.times(xp, inner - xp.mT(inner), 0.5) / differences(xp, eigenvalues)
    if values is not None:
        core = core + xp.call(DIAG_EMBED, values, 0, -2, -1)
    return xp.matmul(V, xp.matmul(core, xp.mT(V)))


def _eigh_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, outs: Any) -> tuple[Tensor, Tensor]:
    """As in PyTorch, all of the tangent counts, also where it is not symmetric."""
    values, V = outs
    inner = xp.matmul(xp.mT(V), xp.matmul(tangents[0], V))
    diagonal = xp.diagonal(inner, 0, -2, -1)
    return diagonal, xp.matmul(V, (inner - xp.call(DIAG_EMBED, diagonal, 0, -2, -1)) / differences(xp, values))


EIGH: Op = Op(
    "LinalgEighBackward0",
    _eigh,
    "A",
    "lower",
    saved="eigenvalues eigenvectors",
    outputs="eigenvalues eigenvectors",
    differentiable=2,
    jvp=_eigh_jvp,
    A=Rule(
        _eigh_rule,
        "V = eigenvectors; p = V.mT @ grads[1]; a = (p - p.mT) / 2; d = eigenvalues[..., None, :] - eigenvalues[..., None]; "
        "V @ (torch.diag_embed(grads[0]) + (a / d).where(a != 0, 0)) @ V.mT",
    ),
)


def _checked_eigh(A: Tensor, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    check_squares("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise runtime_error(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if not A.dtype.is_floating_point:
        raise not_implemented("linalg_eigh_cpu", A.dtype)
    check_floats("linalg.eigh", A, "linalg_eigh_cpu")
    return EIGH(A, UPLO.upper() == "L")  # type: ignore[no-any-return]


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices, ascending, and eigenvectors; `UPLO` says which triangle is read.

    Raises RuntimeError for other shapes or dtypes.
    """
    return named("linalg_eigh", "eigenvalues", "eigenvectors")(_checked_eigh(A, UPLO))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices, ascending. Raises RuntimeError for other shapes or dtypes."""
    return _checked_eigh(A, UPLO)[0]


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "eigh",
        ("Tensor input, str UPLO='L' |outs", eigh),
        doc="Eigenvalues, ascending, and eigenvectors of symmetric matrices.",
        ops=(EIGH,),
        samples=(
            Sample("torch.linalg.eigh(x + x.mT)[0]", lambda x: np.linalg.eigvalsh(x + x.T), x=SQUARE),
            Sample("torch.linalg.eigh(x + x.mT)[1]**2", None, x=SQUARE),
        ),
        out=True,
    ),
    LinalgFunction(
        "eigvalsh",
        ("Tensor input, str UPLO='L'", eigvalsh),
        doc="Eigenvalues of symmetric matrices, ascending.",
        samples=(Sample("torch.linalg.eigvalsh(x + x.mT)", lambda x: np.linalg.eigvalsh(x + x.T), x=SQUARE),),
        out=True,
    ),
)
