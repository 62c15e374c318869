"""The factorisation A = L @ D @ L.mT of symmetric matrices, or A = L @ D @ L.mH of Hermitian ones, by Bunch and Kaufman, as in LAPACK."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.elimination import sizes

#: the threshold of the pivots of Bunch and Kaufman
_ALPHA = (1 + 17**0.5) / 8


def factorized(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
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
            if hermitian:
                np.einsum("ii->i", matrix).imag = 0
            k += _eliminate(matrix, places, k, hermitian)
            if not info[number] and places[k - 1] > 0 and matrix[k - 1, k - 1] == 0:
                info[number] = k
    return made.reshape(a.shape), pivots.reshape(*batch, n), info.reshape(batch)


def _eliminate(a: Array, pivots: Array, k: int, hermitian: bool) -> int:
    """One step at column k of the lower triangle, in place; returns the size of the block of D."""
    n = len(a)
    size, row, best = 1, k, 0
    diagonal = sizes(a[k, k])
    column = sizes(a[k + 1 :, k])
    largest = column.max(initial=0)
    if max(diagonal, largest) == 0:
        pivots[k] = k + 1
        return 1
    if diagonal < _ALPHA * largest:
        best = k + 1 + int(column.argmax())
        others = max(sizes(a[best, k:best]).max(initial=0), sizes(a[best + 1 :, best]).max(initial=0))
        if diagonal < _ALPHA * largest * (largest / others):
            row = best
            size = 1 if sizes(a[best, best]) >= _ALPHA * others else 2
    last = k + size - 1
    if row != last:
        _exchange(a, k, last, row, hermitian)
    pivots[k : k + size] = row + 1 if size == 1 else -(row + 1)
    if size == 1:
        if k + 1 < n:
            below = a[k + 1 :, k]
            scaled = below * (1 / a[k, k])
            a[k + 1 :, k + 1 :] -= np.tril(np.outer(below, scaled.conj() if hermitian else scaled))
            below[...] = scaled
    elif k + 2 < n:
        below = a[k + 2 :, k : k + 2].copy()
        block = a[k : k + 2, k : k + 2]
        scaled = _block_solved(block.conj() if hermitian else block, below.T, hermitian).T
        a[k + 2 :, k + 2 :] -= np.tril(scaled @ (below.conj() if hermitian else below).T)
        a[k + 2 :, k : k + 2] = scaled
    return size


def _block_solved(block: Array, right: Array, hermitian: bool) -> Any:
    """The solution of a symmetric system of two rows, whose lower triangle is held, scaled by the elements beside the diagonal."""
    below = block[1, 0]
    above = below.conj() if hermitian else below
    first, second = block[0, 0] / above, block[1, 1] / below
    x, y = right[0] / above, right[1] / below
    return np.array([second * x - y, first * y - x]) / (first * second - 1)


def _exchange(a: Array, k: int, i: int, j: int, hermitian: bool) -> None:
    """Exchange the rows and columns i < j of the part of a symmetric matrix from k on, of which the lower triangle is held."""
    full = a[k:, k:]
    i, j = i - k, j - k
    low = np.tril(full, -1)
    whole = np.tril(full) + (low.conj() if hermitian else low).T
    whole[[i, j]] = whole[[j, i]]
    whole[:, [i, j]] = whole[:, [j, i]]
    full[...] = np.tril(whole)


def solved(factors: Array, pivots: Array, right: Array, hermitian: bool) -> Array:
    """The solution X of A @ X = right for one matrix, from its factors and pivots, each of which is a row counted from 1 or from -1."""
    n = len(pivots)
    adjoint = (factors.conj() if hermitian else factors).T
    x, k = right.copy(), 0
    while k < n:
        size = 1 if pivots[k] > 0 or k + 1 == n else 2
        last = k + size - 1
        row = abs(int(pivots[last])) - 1
        x[[last, row]] = x[[row, last]]
        x[k + size :] -= factors[k + size :, k : k + size] @ x[k : k + size]
        x[k : k + size] = x[k] / factors[k, k] if size == 1 else _block_solved(factors[k : k + 2, k : k + 2], x[k : k + 2], hermitian)
        k += size
    k = n - 1
    while k >= 0:
        first = k if pivots[k] > 0 or not k else k - 1
        row = abs(int(pivots[k])) - 1
        x[first : k + 1] -= adjoint[first : k + 1, k + 1 :] @ x[k + 1 :]
        x[[k, row]] = x[[row, k]]
        k = first - 1
    return x
