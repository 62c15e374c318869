"""Factorisations of matrices and what is computed with them: Cholesky, eigenvalues, singular values, QR, pseudo-inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.ops.linalg.common import LinalgFunction, check_floats, check_matrices, check_square_floats, check_squares, failure
from gradcli.core.ops.linalg.decomposition_records import CHOLESKY, EIGH, OLD_CHOLESKY, PINV, QR, SVD
from gradcli.core.ops.linalg.linalg_records import is_vector
from gradcli.core.ops.linalg.products import matmul
from gradcli.core.ops.shape.squeeze import unsqueeze
from gradcli.core.ops.shape.transpose import mT
from gradcli.core.tensor.tensor import Tensor, wrap


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """L of input = L @ L.mT, for symmetric positive definite matrices."""
    check_square_floats("linalg.cholesky", input)
    return CHOLESKY(input, upper, "linalg.cholesky")  # type: ignore[no-any-return]


def _old_cholesky(input: Tensor, upper: bool = False) -> Tensor:

    warnings.emit(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
        "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
        "should be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all valid "
        "(symmetric positive definite) inputs. (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/BatchLinearAlgebra.cpp:1765.)",
        once="cholesky",
    )
    check_square_floats("cholesky", input)
    return OLD_CHOLESKY(input, upper, "cholesky")  # type: ignore[no-any-return]


def _eigh(A: Tensor, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    check_squares("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise failure(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if not A.dtype.is_floating_point:
        raise failure(f"\"linalg_eigh_cpu\" not implemented for '{A.dtype.torch_name}'", "NotImplementedError")
    check_floats("linalg.eigh", A)
    return EIGH(A, UPLO.upper() == "L")  # type: ignore[no-any-return]


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices."""
    return named("linalg_eigh", "eigenvalues", "eigenvectors")(_eigh(A, UPLO))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices, ascending."""
    return _eigh(A, UPLO)[0]


def svd_parts(A: Tensor, full_matrices: bool, name: str = "linalg.svd") -> tuple[Tensor, Tensor, Tensor]:
    """U, S and Vh of A = U @ diag(S) @ Vh."""
    check_matrices(name, A)
    check_floats(name, A)
    return SVD(A, full_matrices)  # type: ignore[no-any-return]


def svd(A: Tensor, full_matrices: bool = True, driver: str | None = None) -> Any:
    """Singular value decomposition."""
    return named("linalg_svd", "U", "S", "Vh")(svd_parts(A, full_matrices))


def _old_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    u, s, vh = svd_parts(input, not some)
    return named("svd", "U", "S", "V")((u, s, mT(vh)))


def svdvals(A: Tensor, driver: str | None = None) -> Tensor:
    """Singular values, descending."""
    return svd_parts(A, False)[1]


def _old_qr(input: Tensor, some: bool = True) -> Any:
    """The factorisation under its old name, with PyTorch's warning."""
    warnings.emit(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean parameter 'some' "
        "has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete') (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/BatchLinearAlgebra.cpp:2505.)",
        once="qr",
    )
    return named("qr", "Q", "R")(tuple(qr(input, "reduced" if some else "complete")))


def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R with A = Q @ R."""
    check_matrices("linalg.qr", A)
    check_floats("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise failure(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    return named("linalg_qr", "Q", "R")(QR(A, mode))


def pinv(A: Tensor, rcond: float | None = None) -> Tensor:
    """The Moore-Penrose inverse; singular values up to rcond times the largest count as 0."""
    if A.array.ndim < 2 or not A.dtype.is_floating_point:
        raise failure(
            f"linalg.pinv({A.dtype.torch_name}{{{list(A.array.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    check_matrices("linalg.pinv", A)
    if rcond is None:
        rcond = float(np.finfo(A.dtype.np).eps) * max(A.array.shape[-2:])
    return PINV(A, rcond)  # type: ignore[no-any-return]


def matrix_rank(input: Tensor, tol: float | None = None, hermitian: bool = False) -> Tensor:
    """How many singular values are larger than tol (eps * largest size * largest singular value)."""
    check_matrices("torch.linalg.matrix_rank", input, "input")
    check_floats("linalg.matrix_rank", input)
    values = np.linalg.svd(input.array, compute_uv=False)
    if tol is None:
        bound = values.max(-1, keepdims=True, initial=0) * np.finfo(input.dtype.np).eps * max(input.array.shape[-2:])
    else:
        bound = np.asarray(tol)
    return wrap(np.asarray((values > bound).sum(-1), np.int64))


def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, driver: str | None = None) -> Any:
    """X that makes the norm of input @ X - b smallest."""
    check_matrices("linalg.lstsq", input, "input")
    check_floats("linalg.lstsq", input)
    vector = is_vector(input.array.shape, b.array.shape)
    right = unsqueeze(b, -1) if vector else b
    solution = matmul(pinv(input), right)
    rank = matrix_rank(input)
    n, m = input.array.shape[-2:]
    empty = Tensor(np.zeros((0,), input.dtype.np), input.dtype)
    residuals = empty
    if n > m and bool((rank.array == m).all()):
        difference = np.matmul(input.array, solution.array) - right.array
        residuals = Tensor(np.square(difference).sum(-2), input.dtype)
    if vector:
        solution = catalog.function("squeeze")(solution, -1)
        residuals = empty
    result = named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
    return result((solution, residuals, rank, empty))


_A: Any = [[2.0, 0.5], [0.25, 3.0]]
_S: Any = [[2.0, 0.5], [0.5, 3.0]]
_M: Any = [[1.0, 2.0, 0.5], [0.5, -1.0, 3.0]]
_V: Any = [1.0, -2.0]
_X: Any = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]

FUNCTIONS = (
    LinalgFunction(
        "cholesky",
        ("Tensor input, *, bool upper=False", cholesky),
        doc="L of A = L @ L.mT, for symmetric positive definite matrices.",
        ops=(CHOLESKY,),
        samples=(Sample("torch.linalg.cholesky(x + x.mT)", lambda x: np.linalg.cholesky(x + x.T), x=_A),),
        out=True,
    ),
    Function(
        "cholesky",
        ("Tensor input, bool upper=False", _old_cholesky),
        doc="L of input = L @ L.mT; use linalg.cholesky.",
        ops=(OLD_CHOLESKY,),
        out=True,
    ),
    LinalgFunction(
        "eigh",
        ("Tensor input, str UPLO='L' |outs", eigh),
        doc="Eigenvalues, ascending, and eigenvectors of symmetric matrices.",
        ops=(EIGH,),
        samples=(
            Sample("torch.linalg.eigh(x + x.mT)[0]", lambda x: np.linalg.eigvalsh(x + x.T), x=_A),
            Sample("torch.linalg.eigh(x + x.mT)[1]**2", None, x=_A),
        ),
        out=True,
    ),
    LinalgFunction(
        "eigvalsh",
        ("Tensor input, str UPLO='L'", eigvalsh),
        doc="Eigenvalues of symmetric matrices, ascending.",
        samples=(Sample("torch.linalg.eigvalsh(x + x.mT)", lambda x: np.linalg.eigvalsh(x + x.T), x=_A),),
        out=True,
    ),
    LinalgFunction(
        "svd",
        ("Tensor A, bool full_matrices=True, *, str? driver=None |outs", svd),
        doc="Singular value decomposition A = U @ diag(S) @ Vh.",
        ops=(SVD,),
        samples=(
            Sample("torch.linalg.svd(x, full_matrices=False)[0]**2", None, x=_M),
            Sample("torch.linalg.svd(x, full_matrices=False)[2]**2", None, x=_M),
        ),
        out=True,
    ),
    Function(
        "svd",
        ("Tensor input, bool some=True, bool compute_uv=True |outs", _old_svd),
        doc="Singular value decomposition; use linalg.svd.",
        out=True,
    ),
    LinalgFunction(
        "svdvals",
        ("Tensor A, *, str? driver=None", svdvals),
        doc="Singular values, descending.",
        samples=(Sample("torch.linalg.svdvals(x)", lambda x: np.linalg.svd(x, compute_uv=False), x=_M),),
        out=True,
    ),
    LinalgFunction(
        "qr",
        ("Tensor A, str mode='reduced' |outs", qr),
        doc="Q with orthonormal columns and upper triangular R with A = Q @ R.",
        ops=(QR,),
        samples=(
            Sample("torch.linalg.qr(x)[0]", lambda x: np.linalg.qr(x)[0], x=_M),
            Sample("torch.linalg.qr(x)[1]", lambda x: np.linalg.qr(x)[1], x=_M),
        ),
        out=True,
    ),
    Function(
        "qr",
        ("Tensor input, bool some=True |outs", _old_qr),
        doc="An orthogonal and an upper triangular factor; deprecated.",
        samples=(Sample("torch.qr(x)[1]", lambda x: np.linalg.qr(x)[1], x=_M),),
        out=True,
    ),
    LinalgFunction(
        "pinv",
        ("Tensor A, float? rcond=None", pinv),
        doc="The Moore-Penrose inverse.",
        ops=(PINV,),
        samples=(
            Sample("torch.linalg.pinv(x)", np.linalg.pinv, x=_M),
            Sample("torch.linalg.pinv(x.t())", lambda x: np.linalg.pinv(x.T), x=_M),
        ),
    ),
    Function("pinverse", ("Tensor input, float rcond=1e-15", pinv), doc="The Moore-Penrose inverse."),
    LinalgFunction(
        "matrix_rank",
        ("Tensor input, float? tol=None, bool hermitian=False", matrix_rank),
        doc="How many singular values are not 0 up to rounding.",
    ),
    LinalgFunction(
        "lstsq",
        ("Tensor input, Tensor b, float? rcond=None, *, str? driver=None |outs", lstsq),
        doc="X that makes the norm of input @ X - b smallest.",
        samples=(Sample("torch.linalg.lstsq(x.t(), y)[0]", lambda x, y: np.linalg.lstsq(x.T, y)[0], x=_M, y=[[1.0], [2.0], [0.5]]),),
        out=True,
    ),
)
