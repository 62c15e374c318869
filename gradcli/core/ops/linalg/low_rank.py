"""Singular values of matrices of low rank, by products with a few random vectors, composed as PyTorch composes them."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions.catalog import function
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

_FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64)


def _adjoint(x: Tensor) -> Tensor:
    made: Tensor = function("adjoint")(x)
    return made


def _basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """Orthonormal columns that span, nearly, the range of A - M."""
    matmul = function("matmul")
    random = function("randn")(A.array.shape[-1], q, dtype=A.dtype if A.dtype.is_complex or A.dtype in _FLOATS else dtypes.float32)

    def spanned(a: Tensor, m: Tensor | None, x: Tensor) -> Tensor:
        product = matmul(a, x)
        made: Tensor = function("linalg.qr")(product if m is None else product - matmul(m, x))[0]
        return made

    Q = spanned(A, M, random)
    for _ in range(niter):
        Q = spanned(_adjoint(A), None if M is None else _adjoint(M), Q)
        Q = spanned(A, M, Q)
    return Q


def _singular(A: Tensor, q: int | None, niter: int | None, M: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    m, n = _sizes(A)
    if M is not None:
        M = function("broadcast_to")(M, A.shape)
    if m < n:
        A = _adjoint(A)
        M = None if M is None else _adjoint(M)
    Q = _basis(A, 6 if q is None else q, 2 if niter is None else niter, M)
    B = function("matmul")(_adjoint(Q), A)
    if M is not None:
        B = B - function("matmul")(_adjoint(Q), M)
    U, S, Vh = function("linalg.svd")(B, full_matrices=False)
    V = _adjoint(Vh)
    U = function("matmul")(Q, U)
    return (V, S, U) if m < n else (U, S, V)


def _sizes(A: Any) -> tuple[int, int]:
    if type(A) is not Tensor:
        raise no_attribute(A, "shape")
    if A.array.ndim < 2:
        raise ProgramError("ValueError", f"not enough values to unpack (expected 2, got {A.array.ndim})")
    m, n = A.array.shape[-2:]
    return m, n


def _check_whole(name: str, *values: Any) -> None:
    if any(value is not None and type(value) is not int for value in values):
        raise ProgramError("NotImplementedError", f"torch.{name} takes integers for q and niter")


def _svd_lowrank(A: Any, q: Any = 6, niter: Any = 2, M: Any = None) -> tuple[Tensor, Tensor, Tensor]:
    _check_whole("svd_lowrank", q, niter)
    return _singular(A, q, niter, M)


def _pca_lowrank(A: Any, q: Any = None, center: Any = True, niter: Any = 2) -> tuple[Tensor, Tensor, Tensor]:
    _check_whole("pca_lowrank", q, niter)
    m, n = _sizes(A)
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ProgramError("ValueError", f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ProgramError("ValueError", f"niter(={niter}) must be non-negative integer")
    return _singular(A - function("mean")(A, dim=(-2,), keepdim=True) if center else A, q, niter, None)


#: the functions by name
ROUTINES = {"pca_lowrank": Routine(_pca_lowrank, "pca_lowrank"), "svd_lowrank": Routine(_svd_lowrank, "svd_lowrank")}
