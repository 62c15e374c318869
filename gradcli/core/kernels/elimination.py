"""Gaussian elimination of small matrices in the order of the library that PyTorch calls, so that the last digit agrees.

Rows are exchanged for the largest pivot, columns below a pivot are multiplied by its reciprocal (the last one of up to
four is divided), and substitution takes sums of products away: ascending below the diagonal, descending above it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.elementary import by_steps, complex_product_along
from gradcli.core.kernels.summation import in_order

#: beyond this size, or for more elements in all, the order no longer shows in printed digits
LARGEST_SIDE = 8
LARGEST = 1 << 9

#: up to this size the last column of a square matrix is divided
_DIVIDED = 4


def fits(a: Array) -> bool:
    """Whether this module is for the matrices: real, small and few."""
    return a.dtype.char in "fd" and is_small(a)


def is_small(a: Array) -> bool:
    """Whether matrices of any dtype are small and few."""
    return 0 < a.shape[-1] <= LARGEST_SIDE and 0 < a.size <= LARGEST


def sizes(a: Array) -> Array:
    """The absolute values of elements; of complex ones those of both parts, added up, by which the library compares pivots."""
    return np.asarray(np.abs(a) if a.dtype.kind != "c" else np.abs(a.real) + np.abs(a.imag))


def pivot_row(column: Array) -> int:
    """The row of the largest element; a nan is larger than none, and none is larger than a nan that comes first."""
    size = sizes(column)
    best = int(size.argmax())
    if size[best] == size[best]:
        return best
    return 0 if size[0] != size[0] else int(np.where(np.isnan(size), -1, size).argmax())


def factors(matrix: Array) -> tuple[Array, list[int]]:
    """Both triangular factors in one matrix of any shape, and the row that each row was exchanged with; a zero pivot stays."""
    a = np.array(matrix)
    n, columns = a.shape
    complex = a.dtype.kind == "c"
    rows = []
    for k in range(min(n, columns)):
        best = k + pivot_row(a[k:, k])
        rows.append(best)
        if best != k:
            a[[k, best]] = a[[best, k]]
        if k + 1 < n:
            below = a[k + 1 :, k]
            if a[k, k] != 0 and columns == n <= _DIVIDED and k == n - 2 and not complex:
                below /= a[k, k]
            elif a[k, k] != 0:
                below[...] = by_steps(below, _reciprocal(a[k, k])) if complex else below * _reciprocal(a[k, k])
            a[k + 1 :, k + 1 :] -= (by_steps if complex else np.multiply)(below[:, None], a[k, k + 1 :])
    return a, rows


def _reciprocal(pivot: Any) -> Any:
    """1 over a number of numpy's, which for complex ones is rounded once."""
    kind = type(pivot)
    return kind(1) / pivot if not issubclass(kind, np.complexfloating) else kind(1 / np.clongdouble(pivot))


def _pivots(a: Array, singular: float | None) -> list[Any]:
    """The diagonal, with `singular` instead of zeros; LinAlgError for a zero where that is None."""
    pivots = [a[k, k] for k in range(len(a))]
    if all(pivots):
        return pivots
    if singular is None:
        raise np.linalg.LinAlgError
    return [p if p or not singular else a.dtype.type(singular) for p in pivots]


def substituted(a: Array, rows: list[int], right: Array, singular: float | None = None) -> Array:
    """The solution for the columns of `right`, lying column by column; `singular` stands for a zero pivot."""
    x = np.array(right)
    pivots = _pivots(a, singular)
    n, one = len(a), a.dtype.type(1)
    for k, best in enumerate(rows):
        if best != k:
            x[[k, best]] = x[[best, k]]
    for i in range(1, n):
        x[i] -= in_order(a[i, :i, None] * x[:i])
    for i in range(n - 1, -1, -1):
        if i + 1 < n:
            x[i] -= in_order((a[i, i + 1 :, None] * x[i + 1 :])[::-1])
        x[i] *= one / pivots[i]
    return np.asfortranarray(x)


def substituted_transposed(a: Array, rows: list[int], right: Array, singular: float | None = None) -> Array:
    """The same for the transposed matrix, from the factors of the matrix itself."""
    x = np.array(right)
    pivots = _pivots(a, singular)
    n, one = len(a), a.dtype.type(1)
    for i in range(n):
        if i:
            x[i] -= in_order(a[:i, i, None] * x[:i])
        x[i] *= one / pivots[i]
    for i in range(n - 2, -1, -1):
        x[i] -= in_order((a[i + 1 :, i, None] * x[i + 1 :])[::-1])
    for k in range(n - 1, -1, -1):
        if rows[k] != k:
            x[[k, rows[k]]] = x[[rows[k], k]]
    return np.asfortranarray(x)


def _apart(a: Array) -> Array:
    """The matrices of a batch along one dimension."""
    return a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])


def inverse(a: Array) -> Array:
    """The inverse of each matrix."""
    return solve(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


def solve(a: Array, b: Array, transposed: bool = False, singular: float | None = None) -> Array:
    """x of a @ x = b for each matrix, or of a.mT @ x = b, lying column by column; `singular` stands for a zero pivot."""
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    lefts = _apart(np.broadcast_to(a, shape + a.shape[-2:]))
    rights = _apart(np.broadcast_to(b, shape + b.shape[-2:]))
    substitute = substituted_transposed if transposed else substituted
    made = [substitute(*factors(m), r, singular) for m, r in zip(lefts, rights, strict=True)]
    if not shape:
        return made[0]
    return np.stack([m.T for m in made]).reshape(*shape, b.shape[-1], b.shape[-2]).swapaxes(-1, -2)


def diagonals(a: Array) -> tuple[Array, Array]:
    """The sign of the row exchanges of each matrix, and the pivots; PyTorch factorises the transposed matrix of a contiguous real one."""
    turned = a.flags.c_contiguous and a.dtype.kind != "c"
    found = [factors(m.T if turned else m) for m in _apart(a)]
    signs = np.array([(-1) ** sum(best != k for k, best in enumerate(rows)) for _, rows in found], a.dtype)
    pivots = np.diagonal(np.stack([m for m, _ in found]), axis1=-2, axis2=-1)
    return signs.reshape(a.shape[:-2]), pivots.reshape(*a.shape[:-2], -1)


def determinant(a: Array) -> Array:
    """The determinant of each matrix: the sign, then the pivots one after another; of complex numbers the sign at the end."""
    signs, pivots = diagonals(a)
    if a.dtype.kind == "c":
        return np.asarray(by_steps(signs, complex_product_along(np.moveaxis(pivots, -1, 0), False)))
    return np.array(np.multiply.accumulate(np.concatenate([signs[..., None], pivots], -1), axis=-1)[..., -1], order="C")
