"""Singular value decomposition, and what rests on it: the pseudo-inverse, the rank, least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, singular_values
from gradcli.core.ops.linalg.eigen import differences
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matmul import matmul
from gradcli.core.ops.linalg.matrices import check_floats, check_matrices, is_vector, to_column_major
from gradcli.core.ops.linalg.samples import WIDE
from gradcli.core.ops.shape.diagonal import DIAG_EMBED
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.ops.shape.squeeze import squeeze_dim, unsqueeze
from gradcli.core.ops.shape.transpose import mT
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import shape_error


def square_bytes(a: Array) -> float:
    """The bytes of square matrices of the longer side of each matrix, which a complete factorisation returns."""
    short, long = sorted(a.shape[-2:])
    return a.nbytes * long / short if short else 0.0


def _svd(a: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    if full_matrices:
        limits.check_room(square_bytes(a))
    u, s, vh = singular_values.svd(a, full_matrices)
    return to_column_major(u), s, to_column_major(vh)


def _leading(xp: Any, x: Any, dim: int, count: int) -> Any:
    """The first `count` columns or rows; None for None."""
    return x if x is None or x.shape[dim] == count else xp.call(SLICE, x, dim, 0, count, 1)


def _svd_rule(xp: Any, grads: Any, U: Any, S: Any, Vh: Any) -> Any:
    """The gradient (M. Giles, "An extended collection of matrix derivative results", 2008), in PyTorch's order of operations."""
    k = S.shape[-1]
    m, n = U.shape[-2], Vh.shape[-1]
    u, vh = _leading(xp, U, -1, k), _leading(xp, Vh, -2, k)
    gu, gs, gvh = _leading(xp, grads[0], -1, k), grads[1], _leading(xp, grads[2], -2, k)
    if gu is None and gvh is None:
        if m >= n:
            return xp.matmul(u, xp.expand_dims(gs, -1) * vh)
        return xp.matmul(u * xp.expand_dims(gs, -2), vh)
    core: Any = None
    if gu is not None:
        inner = xp.matmul(xp.mT(u), gu)
        core = (inner - xp.mT(inner)) * xp.expand_dims(S, -2)
    if gvh is not None:
        inner = xp.matmul(vh, xp.mT(gvh))
        part = xp.expand_dims(S, -1) * (inner - xp.mT(inner))
        core = part if core is None else core + part
    core = core / differences(xp, S * S)
    if gs is not None:
        core = core + xp.call(DIAG_EMBED, gs, 0, -2, -1)
    if gu is not None and m > k:
        scaled = gu / xp.expand_dims(S, -2)
        return xp.matmul(xp.matmul(u, core) + scaled - xp.matmul(u, xp.matmul(xp.mT(u), scaled)), vh)
    if gvh is not None and n > k:
        scaled = gvh / xp.expand_dims(S, -1)
        return xp.matmul(u, xp.matmul(core, vh) + scaled - xp.matmul(xp.matmul(scaled, xp.mT(vh)), vh))
    return xp.matmul(u, xp.matmul(core, vh)) if m >= n else xp.matmul(xp.matmul(u, core), vh)


_SVD = (
    "k = S.shape[-1]; u = U[..., :k]; v = Vh[..., :k, :]; s = S[..., None, :]; gu = grads[0][..., :k]; gv = grads[2][..., :k, :]; "
    "a = u.mT @ gu; b = v @ gv.mT; t = (a - a.mT) * s + s.mT * (b - b.mT); "
    "core = torch.diag_embed(grads[1]) + (t / (s**2 - s.mT**2)).where(t != 0, 0); "
    "left = (gu - u @ a) / s @ v if U.shape[-2] > k else 0; right = u @ ((gv - b.mT @ v) / s.mT) if Vh.shape[-1] > k else 0; "
    "u @ core @ v + left + right"
)
SVD: Op = Op(
    "LinalgSvdBackward0",
    _svd,
    "A",
    "full_matrices",
    saved="S U Vh S_sym_argsize_minus_1=? full_matrices",
    outputs="U S Vh",
    differentiable=3,
    A=Rule(_svd_rule, _SVD),
)


def svd_parts(A: Tensor, full_matrices: bool) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and Vh of A = U @ diag(S) @ Vh. Raises RuntimeError for other shapes or dtypes."""
    check_matrices("linalg.svd", A)
    check_floats("linalg.svd", A)
    return SVD(A, full_matrices)  # type: ignore[no-any-return]


def svd(A: Tensor, full_matrices: bool = True, driver: str | None = None) -> Any:
    """U, S and Vh as named results; S is descending."""
    return named("linalg_svd", "U", "S", "Vh")(svd_parts(A, full_matrices))


def _old_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The older form, which returns V in place of its transpose."""
    u, s, vh = svd_parts(input, not some)
    return named("svd", "U", "S", "V")((u, s, mT(vh)))


def svdvals(A: Tensor, driver: str | None = None) -> Tensor:
    """Singular values, descending."""
    return svd_parts(A, False)[1]


# --- the pseudo-inverse ---


def _pinv_rule(xp: Any, grad: Any, out: Any, A: Any) -> Any:
    """The gradient of the pseudo-inverse (G. Golub and V. Pereyra, 1973), by products of the smaller side."""
    m, n = A.shape[-2:]
    ph, gh = xp.mT(out), xp.mT(grad)
    if m <= n:
        k = xp.matmul(gh, out)
        kp = xp.matmul(k, ph)
        first = -xp.mT(xp.matmul(out, k)) + kp
        return first - xp.matmul(xp.matmul(A, out), kp) + xp.matmul(xp.matmul(ph, out), gh - xp.matmul(k, A))
    k = xp.matmul(out, gh)
    pk = xp.matmul(ph, k)
    first = -xp.mT(xp.matmul(k, out)) + xp.matmul(xp.matmul(gh - xp.matmul(A, k), out), ph)
    return first + pk - xp.matmul(xp.matmul(pk, out), A)


PINV: Op = Op(
    "LinalgPinvBackward0",
    lambda a, rcond: np.linalg.pinv(a, rcond),
    "A",
    "rcond",
    saved="result self=A",
    A=Rule(_pinv_rule, "g = grad.mT; -out.mT @ grad @ out.mT + (g - A @ out @ g) @ out @ out.mT + out.mT @ out @ (g - g @ out @ A)"),
)


def pinv(A: Tensor, rcond: float | None = None) -> Tensor:
    """The Moore-Penrose inverse; singular values up to `rcond` times the largest count as 0.

    Raises RuntimeError for other shapes or dtypes.
    """
    if A.array.ndim < 2 or not A.dtype.is_floating_point:
        raise shape_error(
            f"linalg.pinv({A.dtype.torch_name}{{{list(A.array.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types",
        )
    check_matrices("linalg.pinv", A)
    if rcond is None:
        rcond = float(np.finfo(A.dtype.np).eps) * max(A.array.shape[-2:])
    return PINV(A, rcond)  # type: ignore[no-any-return]


def matrix_rank(input: Tensor, tol: float | None = None, hermitian: bool = False) -> Tensor:
    """The number of singular values above `tol`, by default eps * larger side * largest singular value."""
    check_matrices("torch.linalg.matrix_rank", input, "input")
    check_floats("linalg.matrix_rank", input)
    values = np.linalg.svd(input.array, compute_uv=False)
    if tol is None:
        bound = values.max(-1, keepdims=True, initial=0) * np.finfo(input.dtype.np).eps * max(input.array.shape[-2:])
    else:
        bound = np.asarray(tol)
    return wrap(np.asarray((values > bound).sum(-1), np.int64))


def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, driver: str | None = None) -> Any:
    """The X that makes the norm of input @ X - b smallest, residuals, rank. Raises RuntimeError for other shapes or dtypes."""
    check_matrices("linalg.lstsq", input, "input")
    check_floats("linalg.lstsq", input)
    vector = is_vector(input.array.shape, b.array.shape)
    right = unsqueeze(b, -1) if vector else b
    solution = matmul(pinv(input), right)
    rank = matrix_rank(input)
    n, m = input.array.shape[-2:]
    residuals = empty = Tensor(np.zeros((0,), input.dtype.np), input.dtype)
    if vector:
        solution = squeeze_dim(solution, -1)
    elif n > m and bool((rank.array == m).all()):
        difference = np.matmul(input.array, solution.array) - right.array
        residuals = Tensor(np.square(difference).sum(-2), input.dtype)
    result = named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
    return result((solution, residuals, rank, empty))


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "svd",
        ("Tensor A, bool full_matrices=True, *, str? driver=None |outs", svd),
        doc="Singular value decomposition A = U @ diag(S) @ Vh.",
        ops=(SVD,),
        samples=(
            Sample("torch.linalg.svd(x, full_matrices=False)[0]**2", None, x=WIDE),
            Sample("torch.linalg.svd(x, full_matrices=False)[2]**2", None, x=WIDE),
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
        samples=(Sample("torch.linalg.svdvals(x)", lambda x: np.linalg.svd(x, compute_uv=False), x=WIDE),),
        out=True,
    ),
    LinalgFunction(
        "pinv",
        ("Tensor A, float? rcond=None", pinv),
        doc="The Moore-Penrose inverse.",
        ops=(PINV,),
        samples=(
            Sample("torch.linalg.pinv(x)", np.linalg.pinv, x=WIDE),
            Sample("torch.linalg.pinv(x.t())", lambda x: np.linalg.pinv(x.T), x=WIDE),
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
        samples=(Sample("torch.linalg.lstsq(x.t(), y)[0]", lambda x, y: np.linalg.lstsq(x.T, y)[0], x=WIDE, y=[[1.0], [2.0], [0.5]]),),
        out=True,
    ),
)
