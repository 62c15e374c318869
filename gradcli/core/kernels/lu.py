"""Gaussian elimination with row exchanges of batches of matrices of any shape, and substitution with the factors.

A zero pivot stays, and what is divided by it becomes infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.kernels import Array, elimination, memory_format


def factorized(a: Array) -> tuple[Array, Array, Array]:
    """The factors, the exchanged rows counted from 1, and for each matrix the first zero on U's diagonal counted from 1, or 0."""
    *batch, m, n = a.shape
    packed = np.empty(_apart(a, 2).shape, a.dtype)
    pivots = np.empty((len(packed), min(m, n)), np.int32)
    info = np.zeros(len(packed), np.int32)
    for i, matrix in enumerate(_apart(a, 2)):
        packed[i], rows = elimination.factors(matrix)
        pivots[i] = np.array(rows, np.int32) + 1
        zeros = np.flatnonzero(np.diagonal(packed[i]) == 0)
        info[i] = zeros[0] + 1 if zeros.size else 0
    # LAPACK leaves them column by column
    columns = memory_format.contiguous(np.ascontiguousarray(packed.swapaxes(-1, -2))).swapaxes(-1, -2)
    return columns.reshape(a.shape), pivots.reshape(*batch, min(m, n)), info.reshape(batch)


def _apart(a: Array, rank: int) -> Array:
    """A batch as one dimension, before the last `rank`."""
    return a.reshape(int(np.prod(a.shape[: a.ndim - rank], dtype=int)), *a.shape[a.ndim - rank :])


def order(pivots: Array, rows: int) -> Array:
    """For each matrix the row that ends up in each place after the exchanges."""
    flat = _apart(pivots, 1)
    if not rows:
        return np.zeros((*pivots.shape[:-1], 0), int)
    made = np.tile(np.arange(rows), (len(flat), 1))
    for places, exchanges in zip(made, flat, strict=True):
        for k, best in enumerate(exchanges):
            places[[k, best - 1]] = places[[best - 1, k]]
    return made.reshape(*pivots.shape[:-1], rows)


def permutation(pivots: Array, rows: int, dtype: Any) -> Array:
    """P of A = P @ L @ U."""
    places = order(pivots, rows)
    made = np.zeros((*places.shape, rows), dtype)
    np.put_along_axis(made, places[..., None], 1, -1)
    return np.ascontiguousarray(made.swapaxes(-1, -2))


def _substituted(a: Array, x: Array, lower: bool, unit: bool) -> None:
    """The solution for a triangle, written over the right side."""
    n = len(a)
    for i in range(n) if lower else range(n - 1, -1, -1):
        others = slice(0, i) if lower else slice(i + 1, n)
        x[i] -= a[i, others] @ x[others]
        if not unit:
            x[i] /= a[i, i]


def solved(packed: Array, pivots: Array, right: Array, adjoint: bool) -> Array:
    """x of A @ x = right, or of A.mH @ x = right, from the factors of A."""
    n = packed.shape[-1]
    batch = np.broadcast_shapes(packed.shape[:-2], right.shape[:-2])
    factors = _apart(np.broadcast_to(packed, (*batch, n, n)), 2)
    rights = np.array(_apart(np.broadcast_to(right, (*batch, *right.shape[-2:])), 2))
    exchanges = _apart(np.broadcast_to(pivots, (*batch, n)), 1)
    out = np.empty_like(rights)
    for i, (a, x, rows) in enumerate(zip(factors, rights, exchanges, strict=True)):
        places = order(rows, n)
        if elimination.fits(a):
            substitute = elimination.substituted_transposed if adjoint else elimination.substituted
            out[i] = substitute(a, (rows - 1).tolist(), x, 0.0)
        elif adjoint:
            _substituted(a.T.conj(), x, True, False)
            _substituted(a.T.conj(), x, False, True)
            out[i][places] = x
        else:
            held = x[places]
            _substituted(a, held, True, True)
            _substituted(a, held, False, False)
            out[i] = held
    return out.reshape(*batch, *right.shape[-2:])


def _kept(number: int, turned: bool) -> Callable[..., Array]:
    """The factors, or the pivots, of a matrix; if `turned`, of the transposed one where that of real numbers lies in rows."""

    def run(a: Array, *_: Any) -> Array:
        return factorized(a.swapaxes(-1, -2) if turned and a.flags.c_contiguous and a.dtype.kind != "c" else a)[number]

    return run


#: what the nodes of `det` and `slogdet`, and that of `solve`, keep beside the matrix, by PyTorch's names
KEPT_BY_DET = {"LU": _kept(0, True), "pivots": _kept(1, True)}
KEPT_BY_SOLVE = {"LU": _kept(0, False), "pivots": _kept(1, False)}
