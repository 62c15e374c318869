"""The records of factorisations of batches of matrices, and of the pseudo-inverse.

Derivatives as in M. Giles, "An extended collection of matrix derivative results" (2008), in PyTorch's arrangement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.linalg.linalg_records import TRIANGULAR, by_columns, first_failure
from gradcli.core.ops.shape.diagonal import DIAG_EMBED, TRIL, TRIU
from gradcli.core.ops.shape.joining import CAT
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError


def _cholesky(a: Array, upper: bool, name: str) -> Array:
    try:
        lower = np.linalg.cholesky(
            np.tril(a) + np.tril(a, -1).swapaxes(-1, -2) if not upper else np.triu(a) + np.triu(a, 1).swapaxes(-1, -2)
        )
    except np.linalg.LinAlgError:
        where, m = first_failure(a, np.linalg.cholesky)
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
    A=Rule(
        _cholesky_rule,
        "L = out.mT if upper else out; p = (L.mT @ (grad.mT if upper else grad)).tril(); K = torch.linalg.inv(L); "
        "K.mT @ (p + p.tril(-1).mT) @ K / 2",
    ),
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
    A=Rule(
        _eigh_rule,
        "V = eigenvectors; p = V.mT @ grads[1]; a = (p - p.mT) / 2; d = eigenvalues[..., None, :] - eigenvalues[..., None]; "
        "V @ (torch.diag_embed(grads[0]) + (a / d).where(a != 0, 0)) @ V.mT",
    ),
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
    outputs="U S Vh",
    differentiable=3,
    A=Rule(_svd_rule, _SVD),
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
    A=Rule(
        _qr_rule,
        "k = Q.shape[-1]; r = R[..., :k]; h = grads[1][..., k:]; g = grads[0] + Q @ R[..., k:] @ h.mT; "
        "t = (grads[1][..., :k] @ r.mT - Q.mT @ g).triu(); "
        "torch.cat([(g + Q @ (t + t.triu(1).mT)) @ torch.linalg.inv(r).mT, Q @ h], -1)",
    ),
)


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
        lambda xp, grad, out, A: pinv_back(xp, grad, out, A),
        "g = grad.mT; -out.mT @ grad @ out.mT + (g - A @ out @ g) @ out @ out.mT + out.mT @ out @ (g - g @ out @ A)",
    ),
)
