"""Products of Householder's reflections, and the symmetric factorisation of Bunch and Kaufman, step by step as LAPACK."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.summation import in_order

#: the threshold of the pivots of Bunch and Kaufman
_ALPHA = (1 + 17**0.5) / 8


def product(reflectors: Array, tau: Array) -> Array:
    """The first columns of H_1 @ H_2 @ ..., where H_i = 1 - tau_i * v_i @ v_i.mH and v_i is column i below its one on the diagonal.

    The shapes are (..., m, n) and (..., k).
    """
    *_, m, n = reflectors.shape
    made = np.broadcast_to(np.eye(m, n, dtype=reflectors.dtype), reflectors.shape).copy()
    for i in reversed(range(tau.shape[-1])):
        v, t = reflectors[..., i:, i : i + 1].copy(), tau[..., i, None, None]
        v[..., 0, :] = 1
        rest = made[..., i:, i + 1 :]
        # a factor 0, and zeros at the end of a reflector, leave infinite numbers and signs of zeros alone
        used = np.logical_or.accumulate(v[..., ::-1, :] != 0, -2)[..., ::-1, :]
        inner = in_order(v.conj() * np.where(used, rest, 0), -2)[..., None, :]
        np.copyto(rest, rest + v * (-t * inner), where=(t != 0) & used)
        made[..., i, i] = 1 - tau[..., i]
        made[..., i + 1 :, i : i + 1] = -t * v[..., 1:, :]
    return made


def applied(reflectors: Array, tau: Array, other: Array, transposed: bool) -> Array:
    """Q @ other, where Q is the product of all reflections, or, if `transposed`, Q.mH @ other."""
    made = np.array(other)
    for i in range(tau.shape[-1])[:: 1 if transposed else -1]:
        v, t = reflectors[..., i:, i : i + 1].copy(), tau[..., i, None, None]
        v[..., 0, :] = 1
        rest = made[..., i:, :]
        rest -= v * ((t.conj() if transposed else t) * in_order(v.conj() * rest, -2)[..., None, :])
    return made


def symmetric_factors(a: Array) -> tuple[Array, Array, Array]:
    """The lower factor with the blocks of D on its diagonal, the pivots, and the number of the first zero block (0 for none).

    A pivot k > 0 is the row exchanged, counted from 1; two equal pivots below 0 belong to a block of two rows.
    """
    batch, n = a.shape[:-2], a.shape[-1]
    made = np.tril(a).reshape(math.prod(batch), n, n)
    pivots = np.zeros((len(made), n), np.int32)
    info = np.zeros(len(made), np.int32)
    for matrix, places, number in zip(made, pivots, range(len(made)), strict=True):
        k = 0
        while k < n:
            k += _eliminate(matrix, places, k)
            if not info[number] and places[k - 1] > 0 and matrix[k - 1, k - 1] == 0:
                info[number] = k
    columns = np.ascontiguousarray(made.swapaxes(-1, -2)).swapaxes(-1, -2)
    return columns.reshape(a.shape), pivots.reshape(*batch, n), info.reshape(batch)


def _eliminate(a: Array, pivots: Array, k: int) -> int:
    """One step at column k of the lower triangle, in place; returns the size of the block of D."""
    n = len(a)
    size, row, best = 1, k, 0
    diagonal = abs(a[k, k])
    column = np.abs(a[k + 1 :, k])
    largest = column.max(initial=0)
    if max(diagonal, largest) == 0:
        pivots[k] = k + 1
        return 1
    if diagonal < _ALPHA * largest:
        best = k + 1 + int(column.argmax())
        others = max(np.abs(a[best, k:best]).max(initial=0), np.abs(a[best + 1 :, best]).max(initial=0))
        if diagonal < _ALPHA * largest * (largest / others):
            row = best
            size = 1 if abs(a[best, best]) >= _ALPHA * others else 2
    last = k + size - 1
    if row != last:
        _exchange(a, k, last, row)
    pivots[k : k + size] = row + 1 if size == 1 else -(row + 1)
    if size == 1:
        if k + 1 < n:
            below = a[k + 1 :, k]
            scaled = below * (1 / a[k, k])
            a[k + 1 :, k + 1 :] -= np.tril(np.outer(below, scaled))
            below[...] = scaled
    elif k + 2 < n:
        below = a[k + 2 :, k : k + 2].copy()
        scaled = _block_solved(a[k : k + 2, k : k + 2], below.T).T
        a[k + 2 :, k + 2 :] -= np.tril(scaled @ below.T)
        a[k + 2 :, k : k + 2] = scaled
    return size


def _block_solved(block: Array, right: Array) -> Any:
    """The solution of a symmetric system of two rows, whose lower triangle is held, scaled by the element beside the diagonal."""
    between = block[1, 0]
    first, second = block[0, 0] / between, block[1, 1] / between
    x, y = right[0] / between, right[1] / between
    return np.array([second * x - y, first * y - x]) / (first * second - 1)


def _exchange(a: Array, k: int, i: int, j: int) -> None:
    """Exchange the rows and columns i < j of the part of a symmetric matrix from k on, of which the lower triangle is held."""
    full = a[k:, k:]
    i, j = i - k, j - k
    whole = np.tril(full) + np.tril(full, -1).T
    whole[[i, j]] = whole[[j, i]]
    whole[:, [i, j]] = whole[:, [j, i]]
    full[...] = np.tril(whole)


def solved(factors: Array, pivots: Array, right: Array) -> Array:
    """The solution X of A @ X = right for one matrix, from its factors and pivots, each of which is a row counted from 1 or from -1."""
    n = len(pivots)
    x, k = right.copy(), 0
    while k < n:
        size = 1 if pivots[k] > 0 or k + 1 == n else 2
        last = k + size - 1
        row = abs(int(pivots[last])) - 1
        x[[last, row]] = x[[row, last]]
        x[k + size :] -= factors[k + size :, k : k + size] @ x[k : k + size]
        x[k : k + size] = x[k] / factors[k, k] if size == 1 else _block_solved(factors[k : k + 2, k : k + 2], x[k : k + 2])
        k += size
    k = n - 1
    while k >= 0:
        first = k if pivots[k] > 0 or not k else k - 1
        row = abs(int(pivots[k])) - 1
        x[first : k + 1] -= factors[k + 1 :, first : k + 1].T @ x[k + 1 :]
        x[[k, row]] = x[[row, k]]
        k = first - 1
    return x
