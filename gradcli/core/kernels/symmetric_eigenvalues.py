"""Eigenvalues and eigenvectors of small symmetric matrices, in the order of the library that PyTorch calls.

Eigenvectors are determined up to their signs, and these follow from the way of the computation: reflections make the matrix
tridiagonal, then the implicit QL algorithm of LAPACK (steqr) goes on, with LAPACK's older rule for the signs of rotations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.kernels import Array

#: larger matrices are divided first; for more elements in all the loops here would take too long
LARGEST_SIDE = 25
LARGEST = 1 << 12
_ITERATIONS = 30


def fits(a: Array) -> bool:
    """Whether this module is for the matrices: real, small, few and finite."""
    return a.dtype.kind == "f" and 2 < a.shape[-1] <= LARGEST_SIDE and 0 < a.size <= LARGEST and bool(np.isfinite(a).all())


def eigh(a: Array, lower: bool) -> tuple[Array, Array]:
    """The eigenvalues, ascending, and eigenvectors of each matrix, of which one triangle is read."""
    n = a.shape[-1]
    found = [_one(m, lower) for m in a.reshape(-1, n, n)]
    return np.stack([v for v, _ in found]).reshape(a.shape[:-1]), np.stack([z for _, z in found]).reshape(a.shape)


def _one(a: Array, lower: bool) -> tuple[Array, Array]:
    # the upper triangle is read from the end
    turn = slice(None, None, 1 if lower else -1)
    half = np.tril(a[turn, turn])
    scale = _scale(half)
    half = half * scale
    q, d, e = _tridiagonal(half + np.tril(half, -1).T)
    d, e, z = d[turn].copy(), e[turn].copy(), np.eye(len(a), dtype=a.dtype)
    _iterate(d, e, z)
    order = np.argsort(d, kind="stable")
    return d[order] / scale, (q[turn, turn] @ z)[:, order]


def _scale(a: Array) -> Any:
    """The factor that LAPACK multiplies a matrix by whose squares might overflow or underflow, 1 for others."""
    limits, largest = np.finfo(a.dtype), np.abs(a).max()
    least = np.sqrt(limits.tiny / limits.eps)
    bounded = largest and np.clip(largest, least, 1 / least)
    return bounded / largest if largest else largest + 1


def _tridiagonal(a: Array) -> tuple[Array, Array, Array]:
    """Orthogonal Q, the diagonal and the one below it of T in a = Q @ T @ Q.T."""
    n = len(a)
    q = np.eye(n, dtype=a.dtype)
    for i in range(n - 2):
        x = a[i + 1 :, i]
        rest = np.linalg.norm(x[1:])
        if not rest:
            continue
        kept = -np.copysign(np.hypot(x[0], rest), x[0])
        v, scale = x / (x[0] - kept), (kept - x[0]) / kept
        v[0] = 1
        a[i + 1 :] -= scale * np.outer(v, v @ a[i + 1 :])
        a[:, i + 1 :] -= scale * np.outer(a[:, i + 1 :] @ v, v)
        q[:, i + 1 :] -= scale * np.outer(q[:, i + 1 :] @ v, v)
    return q, np.diagonal(a).copy(), np.diagonal(a, -1).copy()


def _iterate(d: Array, e: Array, z: Array) -> None:
    """Make d the eigenvalues and z the eigenvectors; each block between zeros of e is taken from its smaller end."""
    n = len(d)
    eps = np.finfo(d.dtype).eps / 2
    start = 0
    while start < n:
        end = start
        while end < n - 1 and abs(e[end]) > math.sqrt(abs(d[end])) * math.sqrt(abs(d[end + 1])) * eps:
            end += 1
        if end < n - 1:
            e[end] = 0
        block = slice(start, end + 1)
        turned = abs(d[end]) < abs(d[start])
        turn = slice(None, None, -1 if turned else 1)
        _block(d[block][turn], e[start:end][turn], z[:, block][:, turn], turned, eps)
        start = end + 1


def _block(d: Array, e: Array, z: Array, turned: bool, eps: float) -> None:
    """The QL algorithm for one block."""
    low, left = 0, _ITERATIONS * len(d)
    while low < len(d) and left:
        end = low
        while end < len(d) - 1 and float(e[end]) ** 2 > eps * eps * float(abs(d[end])) * float(abs(d[end + 1])):
            end += 1
        if end < len(d) - 1:
            e[end] = 0
        if end == low:
            low += 1
        elif end == low + 1:
            i, j = (end, low) if turned else (low, end)
            d[i], d[j], c, s = _two(d[i], e[low], d[j])
            z[:, i], z[:, j] = s * z[:, j] + c * z[:, i], c * z[:, j] - s * z[:, i]
            e[low] = 0
            low += 2
        else:
            _sweep(d, e, z, low, end)
            left -= 1


def _sweep(d: Array, e: Array, z: Array, low: int, end: int) -> None:
    """One step with a shift, from `end` to `low`."""
    one = d.dtype.type(1)
    g = (d[low + 1] - d[low]) / (2 * e[low])
    g = d[end] - d[low] + e[low] / (g + np.copysign(np.hypot(g, one), g))
    s = c = one
    p = one * 0
    turns = []
    for i in range(end - 1, low - 1, -1):
        f, b = s * e[i], c * e[i]
        c, s, r = _rotation(g, f)
        if i != end - 1:
            e[i + 1] = r
        g = d[i + 1] - p
        r = (d[i] - g) * s + 2 * c * b
        p = s * r
        d[i + 1] = g + p
        g = c * r - b
        turns.append((i, c, s))
    for i, c, s in turns:
        z[:, i], z[:, i + 1] = c * z[:, i] - s * z[:, i + 1], s * z[:, i] + c * z[:, i + 1]
    d[low] -= p
    e[low] = g


def _rotation(f: Any, g: Any) -> tuple[Any, Any, Any]:
    """c, s and r of the rotation that turns (f, g) into (r, 0)."""
    one = type(f)(1)
    if g == 0:
        return one, one * 0, f
    if f == 0:
        return one * 0, one, g
    r = np.hypot(f, g)
    c, s = f / r, g / r
    return (-c, -s, -r) if abs(f) > abs(g) and c < 0 else (c, s, r)


def _two(a: Any, b: Any, c: Any) -> tuple[Any, Any, Any, Any]:
    """The eigenvalues of [[a, b], [b, c]], the larger in size first, and the eigenvector (cs, sn) of that (LAPACK's laev2)."""
    total, apart, twice = a + c, a - c, b + b
    large, small = (a, c) if abs(a) > abs(c) else (c, a)
    root = np.hypot(apart, twice)
    sign = -1 if total < 0 else 1
    first = (total + sign * root) / 2
    second = (large / first) * small - (b / first) * b if total else -root / 2
    other = 1 if apart >= 0 else -1
    cs = apart + other * root
    one = type(a)(1)
    if abs(cs) > abs(twice):
        t = -twice / cs
        sn = one / np.sqrt(1 + t * t)
        cs = t * sn
    elif twice == 0:
        cs, sn = one, one * 0
    else:
        t = -cs / twice
        cs = one / np.sqrt(1 + t * t)
        sn = t * cs
    return (first, second, -sn, cs) if sign == other else (first, second, cs, sn)
