"""The records of linear algebra: inverses, determinants, solutions and factorisations of batches of matrices.

Derivatives as in M. Giles, "An extended collection of matrix derivative results" (2008), in PyTorch's arrangement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core import elementary, elimination
from gradcli.core.ops import scalars
from gradcli.core.ops.arranging import DIAG_EMBED, TRIL, TRIU
from gradcli.core.ops.gathering_records import INDEX_FILL_TENSOR
from gradcli.core.ops.shape_records import SQUEEZE_DIM
from gradcli.core.ops.slicing import CAT, SLICE
from gradcli.core.record import Op, Rule
from gradcli.core.summation import total
from gradcli.core.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError


def by_columns(a: Array) -> Array:
    """The same matrices with each lying column by column in memory, as LAPACK leaves them."""
    return np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)


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


def _first_failure(a: Array, run: Any) -> tuple[str, Array]:
    """The first matrix of a batch for which `run` fails, and how messages speak of it."""
    for i, m in enumerate(a.reshape(-1, *a.shape[-2:])):
        try:
            run(m)
        except np.linalg.LinAlgError:
            return (f"(Batch element {i}): " if a.ndim > 2 else ""), m
    return "", a


def _inverse(a: Array) -> Array:
    try:
        return elimination.inverse(a) if elimination.fits(a) else by_columns(np.linalg.inv(a))
    except np.linalg.LinAlgError:
        where, m = _first_failure(a, np.linalg.inv)
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


# --- systems of equations ---


def is_vector(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether the right side of a system is a vector, or a batch of vectors."""
    return len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])


def _solved(a: Array, b: Array) -> Array:
    vector = is_vector(a.shape, b.shape)
    try:
        right = b[..., None] if vector else b
        x = (
            elimination.solve(a, right)
            if elimination.fits(a) and right.size <= elimination.LARGEST
            else by_columns(np.linalg.solve(a, right))
        )
    except np.linalg.LinAlgError:
        where, _ = _first_failure(a, lambda m: np.linalg.solve(m, m))
        raise ProgramError("_LinAlgError", f"torch.linalg.solve: {where}The solver failed because the input matrix is singular.") from None
    return np.asarray(x[..., 0] if vector else x)


def _back_solved(xp: Any, grad: Any, A: Any, vector: bool) -> Any:
    right = xp.expand_dims(grad, -1) if vector else grad
    if type(A) is not Tensor and elimination.fits(A) and right.size <= elimination.LARGEST:
        return elimination.solve(A, right, transposed=True)
    return xp.call(SOLVE, xp.mT(A), right)


def _solve_left(xp: Any, grad: Any, A: Any, B_shape: Any, out: Any) -> Any:
    vector = is_vector(A.shape, out.shape)
    back = _back_solved(xp, grad, A, vector)
    return -xp.matmul(back, xp.mT(xp.expand_dims(out, -1) if vector else out))


def _solve_right(xp: Any, grad: Any, A: Any) -> Any:
    vector = is_vector(A.shape, grad.shape)
    back = _back_solved(xp, grad, A, vector)
    return xp.call(SQUEEZE_DIM, back, -1) if vector else back


SOLVE: Op = Op(
    "LinalgSolveExBackward0",
    _solved,
    "A B",
    A=Rule(_solve_left, "= -torch.linalg.solve(A.mT, grad) @ out.mT"),
    B=Rule(_solve_right, "torch.linalg.solve(A.mT, grad)"),
)


def _solved_triangle(a: Array, b: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    triangle = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        n = a.shape[-1]
        triangle[..., np.arange(n), np.arange(n)] = 1
    try:
        if left:
            return np.linalg.solve(triangle, b)
        return np.ascontiguousarray(np.linalg.solve(triangle.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2))
    except np.linalg.LinAlgError:
        # a zero on the diagonal divides, as substitution does
        shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:]
        return np.full(shape, np.inf, b.dtype)


def _triangle_left(xp: Any, grad: Any, A: Any, out: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    back = xp.call(TRIANGULAR, xp.mT(A), grad, not upper, left, unitriangular)
    whole = -xp.matmul(back, xp.mT(out)) if left else -xp.matmul(xp.mT(out), back)
    inside = 1 if unitriangular else 0
    return xp.call(TRIU, whole, inside) if upper else xp.call(TRIL, whole, -inside)


TRIANGULAR: Op = Op(
    "LinalgSolveTriangularBackward0",
    _solved_triangle,
    "A B",
    "upper left unitriangular",
    A=Rule(_triangle_left, "= the triangle of -solve(A.mT, grad) @ out.mT"),
    B=Rule(
        lambda xp, grad, A, upper, left, unitriangular: xp.call(TRIANGULAR, xp.mT(A), grad, not upper, left, unitriangular),
        "= the solution with A.mT for grad",
    ),
)


# --- determinants ---


def _adjugate(xp: Any, A: Any) -> Any:
    """The cofactors, transposed, also of singular matrices: by products, which can be differentiated again (Faddeev and LeVerrier)."""
    n = A.shape[-1]
    eye = np.eye(n, dtype=xp.plain(A).dtype)
    unit = xp.broadcast_to(wrap(eye) if type(A) is Tensor else eye, A.shape)
    power = unit
    for k in range(1, n):
        product = xp.matmul(A, power)
        trace = xp.sum(xp.sum(product * unit, -1), -1)
        power = product - unit * xp.expand_dims(xp.expand_dims(trace, -1), -1) / float(k)
    return power if n % 2 else -power


def _on_diagonal(values: Any, a: Array) -> Array:
    """Diagonal matrices of the shape of `a`, one value each."""
    made = np.zeros_like(a)
    np.einsum("...ii->...i", made)[...] = np.asarray(values)[..., None]
    return made


def _det_rule(xp: Any, grad: Any, A: Any, out: Any) -> Any:
    if type(A) is not Tensor and elimination.fits(A):
        # PyTorch divides the 0 that a zero pivot leaves by the smallest step instead: no gradient where A is singular
        return elimination.solve(xp.mT(A), _on_diagonal(grad * out, A), singular=np.finfo(A.dtype).eps)
    if (xp.plain(out) == 0).any() or not np.isfinite(xp.plain(out)).all():
        wide = xp.expand_dims(xp.expand_dims(grad, -1), -1)
        return wide * (xp.mT(_adjugate(xp, A)) if type(A) is Tensor else np.zeros_like(A))
    n = A.shape[-1]
    wide = xp.broadcast_to(xp.expand_dims(grad * out, -1), (*out.shape, n))
    return xp.call(SOLVE, xp.mT(A), xp.mT(xp.call(DIAG_EMBED, wide, 0, -2, -1)))


DET: Op = Op(
    "LinalgDetBackward0",
    lambda a: elimination.determinant(a) if elimination.fits(a) else np.linalg.det(a),
    "A",
    A=Rule(_det_rule, "= grad * out * inv(A).mT; 0 where A is singular, as in PyTorch"),
)


def _slogdet(a: Array) -> tuple[Array, Array]:
    if elimination.fits(a):
        signs, pivots = elimination.diagonals(a)
        return np.prod(np.sign(pivots), -1) * signs, np.asarray(total(elementary.log(np.abs(pivots)), -1))
    sign, logarithm = np.linalg.slogdet(a)
    return np.asarray(sign, a.dtype), np.asarray(logarithm, a.dtype)


def _slogdet_rule(xp: Any, grads: Any, A: Any, sign: Any) -> Any:
    grad = grads[1]
    if grad is None:
        return None
    if type(A) is not Tensor and elimination.fits(A):
        return elimination.solve(xp.mT(A), _on_diagonal(grad, A), singular=0.0)
    if (xp.plain(sign) == 0).any():
        return scalars.times_data(xp, xp.expand_dims(xp.expand_dims(grad, -1), -1), np.full(A.shape, np.inf, xp.plain(A).dtype))
    n = A.shape[-1]
    wide = xp.broadcast_to(xp.expand_dims(grad, -1), (*grad.shape, n))
    return xp.call(SOLVE, xp.mT(A), xp.mT(xp.call(DIAG_EMBED, wide, 0, -2, -1)))


SLOGDET: Op = Op(
    "LinalgSlogdetBackward0",
    _slogdet,
    "A",
    outputs="sign logabsdet",
    differentiable=2,
    A=Rule(_slogdet_rule, "= the gradient of logabsdet times inv(A).mT"),
)


# --- factorisations ---


def _cholesky(a: Array, upper: bool, name: str) -> Array:
    try:
        lower = np.linalg.cholesky(
            np.tril(a) + np.tril(a, -1).swapaxes(-1, -2) if not upper else np.triu(a) + np.triu(a, 1).swapaxes(-1, -2)
        )
    except np.linalg.LinAlgError:
        where, m = _first_failure(a, np.linalg.cholesky)
        raise ProgramError(
            "_LinAlgError",
            f"{name}: {where}The factorization could not be completed because the input is not positive-definite (the leading minor of "
            f"order {_bad_minor(m)} is not positive-definite).",
        ) from None
    # as PyTorch leaves it in memory: both triangles column by column
    return np.asarray(by_columns(lower.swapaxes(-1, -2)) if upper else by_columns(lower))


def _bad_minor(m: Array) -> int:
    for k in range(1, m.shape[0] + 1):
        try:
            np.linalg.cholesky(m[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return int(m.shape[0])


def _cholesky_rule(xp: Any, grad: Any, out: Any, upper: bool) -> Any:
    lower, gradient = (xp.mT(out), xp.mT(grad)) if upper else (out, grad)
    phi = xp.matmul(xp.mT(lower), gradient)
    half = xp.call(TRIL, phi, 0)
    both = scalars.times(xp, half + xp.mT(xp.call(TRIL, half, -1)), 0.5)
    inner = xp.call(TRIANGULAR, xp.mT(lower), both, True, True, False)
    return xp.call(TRIANGULAR, lower, inner, False, False, False)


CHOLESKY: Op = Op(
    "LinalgCholeskyExBackward0",
    _cholesky,
    "A",
    "upper name",
    A=Rule(_cholesky_rule, "= L.mT^-1 @ p(L.mT @ grad) @ L^-1, p: the lower triangle, made symmetric and halved"),
)
OLD_CHOLESKY: Op = Op("CholeskyBackward0", _cholesky, "A", "upper name", A=CHOLESKY.rules["A"])


def _eigh(a: Array, lower: bool) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(a, "L" if lower else "U")
    return values, vectors


def _differences(xp: Any, values: Any) -> Any:
    """value_j - value_i, with ones on the diagonal where there is nothing to divide."""
    n = values.shape[-1]
    eye = np.eye(n, dtype=xp.plain(values).dtype)
    between = xp.expand_dims(values, -2) - xp.expand_dims(values, -1)
    return between + (wrap(eye) if type(values) is Tensor else eye)


def _eigh_rule(xp: Any, grads: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    values, vectors = grads
    V = eigenvectors
    if vectors is None:
        return xp.matmul(V * xp.expand_dims(values, -2), xp.mT(V))
    inner = xp.matmul(xp.mT(V), vectors)
    core = scalars.times(xp, inner - xp.mT(inner), 0.5) / _differences(xp, eigenvalues)
    if values is not None:
        core = core + xp.call(DIAG_EMBED, values, 0, -2, -1)
    return xp.matmul(V, xp.matmul(core, xp.mT(V)))


EIGH: Op = Op(
    "LinalgEighBackward0",
    _eigh,
    "A",
    "lower",
    outputs="eigenvalues eigenvectors",
    differentiable=2,
    A=Rule(_eigh_rule, "= V @ (diag(grad of eigenvalues) + skew(V.mT @ grad of V) / differences of eigenvalues) @ V.mT"),
)


def _square_bytes(a: Array) -> float:
    """The size of square factors as large as the longer side of each matrix."""
    short, long = sorted(a.shape[-2:])
    return a.nbytes * long / short if short else 0.0


def _svd(a: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    if full_matrices:
        limits.check_room(_square_bytes(a))
    u, s, vh = np.linalg.svd(a, full_matrices)
    return u, s, vh


def _leading(xp: Any, x: Any, dim: int, count: int) -> Any:
    return x if x is None or x.shape[dim] == count else xp.call(SLICE, x, dim, 0, count, 1)


def _svd_rule(xp: Any, grads: Any, U: Any, S: Any, Vh: Any) -> Any:
    k = S.shape[-1]
    m, n = U.shape[-2], Vh.shape[-1]
    u, vh = _leading(xp, U, -1, k), _leading(xp, Vh, -2, k)
    gu, gs, gvh = _leading(xp, grads[0], -1, k), grads[1], _leading(xp, grads[2], -2, k)
    if gu is None and gvh is None:
        if m >= n:
            return xp.matmul(u, xp.expand_dims(gs, -1) * vh)
        return xp.matmul(u * xp.expand_dims(gs, -2), vh)
    distance = _differences(xp, S * S)
    core: Any = None
    if gu is not None:
        inner = xp.matmul(xp.mT(u), gu)
        core = (inner - xp.mT(inner)) * xp.expand_dims(S, -2) / distance
    if gvh is not None:
        inner = xp.matmul(vh, xp.mT(gvh))
        part = xp.expand_dims(S, -1) * (inner - xp.mT(inner)) / distance
        core = part if core is None else core + part
    if gs is not None:
        core = core + xp.call(DIAG_EMBED, gs, 0, -2, -1)
    total = xp.matmul(u, xp.matmul(core, vh))
    if gu is not None and m > k:
        scaled = gu / xp.expand_dims(S, -2)
        total = total + xp.matmul(scaled - xp.matmul(u, xp.matmul(xp.mT(u), scaled)), vh)
    if gvh is not None and n > k:
        scaled = gvh / xp.expand_dims(S, -1)
        total = total + xp.matmul(u, scaled - xp.matmul(xp.matmul(scaled, xp.mT(vh)), vh))
    return total


SVD: Op = Op(
    "LinalgSvdBackward0",
    _svd,
    "A",
    "full_matrices",
    outputs="U S Vh",
    differentiable=3,
    A=Rule(_svd_rule, "= U @ (diag(grad of S) + what the changes of U and Vh add) @ Vh"),
)


def _qr(a: Array, mode: str) -> tuple[Array, Array]:
    if mode == "r":
        return np.empty((0,), a.dtype), np.asarray(np.linalg.qr(a, "r"))
    if mode == "complete":
        limits.check_room(_square_bytes(a))
    q, r = np.linalg.qr(a, "complete" if mode == "complete" else "reduced")
    return q, r


def _square_qr_rule(xp: Any, Q: Any, R: Any, gq: Any, gr: Any) -> Any:
    core: Any = None
    if gr is not None:
        core = xp.matmul(gr, xp.mT(R))
    if gq is not None:
        inner = xp.matmul(xp.mT(Q), gq)
        core = -inner if core is None else core - inner
    upper = xp.call(TRIU, core, 0)
    total = xp.matmul(Q, upper + xp.mT(xp.call(TRIU, upper, 1)))
    if gq is not None:
        total = total + gq
    return xp.call(TRIANGULAR, xp.mT(R), total, False, False, False)


def _qr_rule(xp: Any, grads: Any, Q: Any, R: Any, mode: str, A_dtype: Any) -> Any:
    gq, gr = grads
    if mode == "r":
        raise ProgramError(
            "RuntimeError",
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if you "
            "are going to differentiate through linalg.qr.",
        )
    m, n = Q.shape[-2], R.shape[-1]
    if mode == "complete" and m > n:
        raise ProgramError("RuntimeError", "The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    if m >= n:
        return _square_qr_rule(xp, Q, R, gq, gr)
    # a wide matrix: its first columns are a square problem, the others only pass through Q
    left = xp.call(SLICE, R, -1, 0, m, 1)
    if gr is None:
        square = _square_qr_rule(xp, Q, left, gq, None)
        return xp.call(CAT, [square, xp.zeros((*R.shape[:-1], n - m), A_dtype)], -1, (m, n - m))
    rest = xp.call(SLICE, gr, -1, m, n, 1)
    # A = Q @ R, so the columns on the right are Q @ (those of R)
    columns = xp.matmul(Q, xp.call(SLICE, R, -1, m, n, 1))
    through = xp.matmul(columns, xp.mT(rest))
    square = _square_qr_rule(xp, Q, left, through if gq is None else gq + through, xp.call(SLICE, gr, -1, 0, m, 1))
    return xp.call(CAT, [square, xp.matmul(Q, rest)], -1, (m, n - m))


QR: Op = Op(
    "LinalgQrBackward0",
    _qr,
    "A",
    "mode",
    outputs="Q R",
    differentiable=2,
    A=Rule(_qr_rule, "= (grad of Q + Q @ symmetric(triu(grad of R @ R.mT - Q.mT @ grad of Q))) @ R.mT^-1"),
)


# --- pseudo-inverse, trace, cross product ---


def pinv_back(xp: Any, grad: Any, pinv: Any, A: Any) -> Any:
    """The gradient of A from that of its pseudo-inverse (Golub and Pereyra, 1973)."""
    m, n = A.shape[-2:]
    ph, gh = xp.mT(pinv), xp.mT(grad)
    if m <= n:
        k = xp.matmul(gh, pinv)
        kp = xp.matmul(k, ph)
        first = -xp.mT(xp.matmul(pinv, k)) + kp
        return first - xp.matmul(xp.matmul(A, pinv), kp) + xp.matmul(xp.matmul(ph, pinv), gh - xp.matmul(k, A))
    k = xp.matmul(pinv, gh)
    pk = xp.matmul(ph, k)
    first = -xp.mT(xp.matmul(k, pinv)) + xp.matmul(xp.matmul(gh - xp.matmul(A, k), pinv), ph)
    return first + pk - xp.matmul(xp.matmul(pk, pinv), A)


def _pinv(a: Array, rcond: float) -> Array:
    return np.linalg.pinv(a, rcond)


PINV: Op = Op(
    "LinalgPinvBackward0",
    _pinv,
    "A",
    "rcond",
    A=Rule(
        lambda xp, grad, out, A: pinv_back(xp, grad, out, A), "= -(out @ grad.mT @ out).mT + what changes of rank-deficient directions add"
    ),
)


def _trace_rule(xp: Any, grad: Any, input_shape: Any, input_dtype: Any) -> Any:
    n, m = input_shape
    places = np.arange(min(n, m)) * (m + 1)
    return xp.reshape(xp.call(INDEX_FILL_TENSOR, xp.zeros((n * m,), input_dtype), grad, 0, places), input_shape)


TRACE: Op = Op(
    "TraceBackward0",
    lambda a: np.trace(a, dtype=None if a.dtype.kind == "f" else np.int64),
    "input",
    input=Rule(_trace_rule, "zeros_like(input).diagonal_scatter(grad.expand(min(input.shape)))"),
)


def _cross(a: Array, b: Array, dim: int) -> Array:
    x, y = np.moveaxis(a, dim, -1), np.moveaxis(b, dim, -1)
    parts = [x[..., (i + 1) % 3] * y[..., (i + 2) % 3] - x[..., (i + 2) % 3] * y[..., (i + 1) % 3] for i in range(3)]
    return np.ascontiguousarray(np.moveaxis(np.stack(parts, -1), -1, dim))


CROSS: Op = Op(
    "LinalgCrossBackward0",
    _cross,
    "input other",
    "dim",
    input=Rule(lambda xp, grad, other, dim: xp.call(CROSS, other, grad, dim), "torch.linalg.cross(other, grad, dim=dim)"),
    other=Rule(lambda xp, grad, input, dim: xp.call(CROSS, grad, input, dim), "torch.linalg.cross(grad, input, dim=dim)"),
)
