"""The singular value decomposition with the signs of the library that PyTorch calls.

Singular vectors are determined up to their signs, and these follow from the way of the computation. numpy's library factorises
matrices first that are 11/6 times as high as wide, or as wide as high. PyTorch's begins at 3/2 for high matrices, and never does
so for wide ones, which it makes bidiagonal directly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.summation import in_order

#: beyond this size the signs are numpy's: the loops here would take too long
LARGEST_SIDE = 24


def svd(a: Array, full: bool) -> tuple[Array, Array, Array]:
    """U, S and the transpose of V of each matrix; with `full`, U and V are square."""
    m, n = a.shape[-2:]
    if min(m, n) == 1:
        a = a + a.dtype.type(0)  # the library takes -0 for a negative number, PyTorch's does not
    way = None
    if 3 * n // 2 <= m < 11 * n // 6 and n > 1:
        way = _high
    elif 11 * m // 6 <= n and 1 < m <= LARGEST_SIDE:
        way = _wide
    if way is None or not a.size or a.dtype.kind == "c":
        return np.linalg.svd(a, full)
    # in double precision, so that what is 0 in exact arithmetic is at most a rest of rounding of PyTorch's
    made = [[part.astype(a.dtype) for part in way(matrix.astype(np.float64), full)] for matrix in a.reshape(-1, m, n)]
    u, s, vh = (np.stack(parts).reshape(a.shape[:-2] + parts[0].shape) for parts in zip(*made, strict=True))
    return u, s, vh


def _high(a: Array, full: bool) -> tuple[Array, Array, Array]:
    """The decomposition of a matrix with more rows than columns, by that of its triangular factor."""
    n = a.shape[1]
    q, r = np.linalg.qr(a, "complete" if full else "reduced")
    u, s, vh = np.linalg.svd(r[:n])
    q[:, :n] = q[:, :n] @ u
    return q, s, vh


def _wide(a: Array, full: bool) -> tuple[Array, Array, Array]:
    """By reflections of columns and rows that leave two diagonals, and rotations that move the lower of them up."""
    rows, square, columns = _bidiagonal(a)
    m = len(square)
    for i in range(m - 1):
        f, g = square[i, i], square[i + 1, i]
        r = np.copysign(np.hypot(f, g), f)
        turn = np.array([[f, g], [-g, f]]) / r if r else np.eye(2, dtype=a.dtype)
        square[i : i + 2] = turn @ square[i : i + 2]
        rows[:, i : i + 2] = rows[:, i : i + 2] @ turn.T
        square[i + 1, i] = 0
    u, s, vh = np.linalg.svd(np.triu(square) - np.triu(square, 2))
    transposed = columns.T[: None if full else m].copy()
    transposed[:m] = vh @ transposed[:m]
    return rows @ u, s, transposed


def _bidiagonal(a: Array) -> tuple[Array, Array, Array]:
    """Orthogonal U and V, and the first columns of the B of a = U @ B @ V.T that has a diagonal and the one below it."""
    b = np.array(a)
    m, n = b.shape
    u, v = np.eye(m, dtype=b.dtype), np.eye(n, dtype=b.dtype)
    for i in range(m):
        x, scale = _reflection(b[i, i:])
        for rows in (b[i:, i:], v[:, i:]):
            rows += in_order(np.array((rows * x).T))[:, None] * (-scale * x)
        b[i, i + 1 :] = 0
        if i + 1 < m:
            x, scale = _reflection(b[i + 1 :, i])
            b[i + 1 :] += x[:, None] * (-scale * in_order(x[:, None] * b[i + 1 :]))
            u[:, i + 1 :] -= scale * np.outer(u[:, i + 1 :] @ x, x)
            b[i + 2 :, i] = 0
    return u, b[:, :m].copy(), v


def _reflection(x: Array) -> tuple[Array, Any]:
    """v and t of the reflection 1 - t * v @ v.T that leaves the first element of x alone, with v[0] = 1; by the steps of LAPACK."""
    rest = x.dtype.type(np.linalg.norm(x[1:].astype(np.float64)))
    if not rest:
        return x * 0, rest
    large, small = max(abs(x[0]), rest), min(abs(x[0]), rest)
    kept = -np.copysign(large * np.sqrt(1 + (small / large) ** 2), x[0])
    v = x * (x.dtype.type(1) / (x[0] - kept))
    v[0] = 1
    return v, (kept - x[0]) / kept
