"""Products of small vectors and matrices, added up in the order of the library that PyTorch calls.

PyTorch leaves products to MKL. Its code for few rows or columns, which runs on every processor, multiplies, rounds and then adds:
term by term, or in lanes of four where the terms are contiguous. Beyond, it fuses multiplication and addition, term by term. numpy's
library fuses in another order, which shows where terms cancel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.elementary import by_steps
from gradcli.core.kernels.summation import in_order

_LANES = 4
#: beyond this many multiplications the order no longer shows in printed digits
LARGEST = 1 << 13

#: the terms of an element up to which float64 is added up in order
_FEW = 8

#: the columns up to which products of complex matrices are added up in order
_COLUMNS = {"F": 3, "D": 8}
#: batches of complex matrices of fewer multiplications have PyTorch's own kernel
_OWN_KERNEL = 400

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_ZERO = np.float32(0)


def matmul(a: Array, b: Array) -> Array:
    """`np.matmul`; for small operands in the library's order."""
    if a.ndim == 2 and b.ndim == 2 and a.shape[1] == b.shape[0] == 1 and min(len(a), b.shape[1]) > 1 and a.dtype.char in "fd":
        return np.multiply(a, b, order="C")  # a single term is not added to 0: it may be -0
    if not _is_small(a, b):
        if a.dtype.kind == "c" and a.ndim == b.ndim == 3 and a.size and 0 < a[0].size * b.shape[-1] < _OWN_KERNEL:
            return _complex_terms(a, b)
        short = a.dtype.kind == b.dtype.kind == "c" and 0 < a.size * b.shape[-1] <= LARGEST and b.size
        if short and not (np.isfinite(a).all() and np.isfinite(b).all()):
            return _complex_terms(a, b)
        few = a.dtype.kind == "c" and a.dtype is b.dtype and a.ndim == b.ndim == 2 and 0 < a.shape[1] <= _FEW and a.size and b.size
        if few and b.shape[1] <= _COLUMNS[a.dtype.char]:
            return _complex_few(a, b)
        return np.asarray(np.matmul(a, b))
    if a.ndim == 1 and b.ndim == 1 and len(a) == len(b):
        return np.asarray(_dot(a, b))
    if a.ndim == 2 and b.ndim == 2 and a.shape[1] == b.shape[0]:
        return _by_terms(a, b, None)
    if a.ndim == 2 and b.ndim == 1 and a.shape[1] == len(b):
        return _by_terms(a, b[:, None], None)[:, 0]
    if a.ndim == 3 and b.ndim == 3 and a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1]:
        return np.asarray(in_order(np.multiply(np.moveaxis(a, -1, 0)[..., None], np.moveaxis(b, -2, 0)[:, :, None], order="C")) + _ZERO)
    return np.asarray(np.matmul(a, b))


def _complex_few(a: Array, b: Array) -> Array:
    """The product of complex matrices of few terms; that of a matrix and a column adds up products of parts apart."""
    if b.shape[1] > 1 or len(a) == 1:
        return np.asarray(in_order(by_steps(a.T[:, :, None], b[:, None, :])))
    parts = [in_order(np.multiply(x.T, y, order="C")) for x in (a.real, a.imag) for y in (b.real, b.imag)]
    made = np.empty((len(a), 1), a.dtype)
    made.real[:, 0], made.imag[:, 0] = parts[0] - parts[3], parts[1] + parts[2]
    return made


def _complex_terms(a: Array, b: Array) -> Array:
    """The product of complex operands that are not finite, term by term.

    The library multiplies one factor of a matrix product by 1 + 0j before, which makes a nan of the part beside an infinite one.
    """
    if a.ndim == 1 and b.ndim == 1:
        return np.asarray(in_order((a * b)[:, None])[0])
    if b.ndim == 1:
        return _complex_terms(a, b[:, None])[..., 0]
    if a.ndim == 1:
        return _complex_terms(a[None], b)[..., 0, :]
    one = a.dtype.type(1)
    if a.ndim == b.ndim == 2:
        a, b = (a, b * one) if b.shape[1] == 1 else (a * one, b)
    terms = by_steps(np.moveaxis(a, -1, 0)[..., None], np.moveaxis(b, -2, 0)[..., None, :])
    return np.asarray(in_order(terms) if len(terms) else np.matmul(a, b))


def _is_small(a: Array, b: Array) -> bool:
    """Whether the order of the terms shows: in float64 only where few terms cancel."""
    if a.dtype is not b.dtype or not 0 < a.size * b.shape[-1] <= LARGEST or not b.size:
        return False
    return a.dtype is _FLOAT32 or (a.dtype is _FLOAT64 and a.ndim > 1 and a.shape[-1] <= _FEW)


def matmul_onto(start: Array, a: Array, b: Array) -> Array:
    """`start + a @ b` for matrices; for small operands the sum begins with `start`, unless its terms are contiguous."""
    if start.dtype is not a.dtype or not _is_small(a, b):
        return np.asarray(start + matmul(a, b))
    rows, columns = a.shape[0], b.shape[1]
    if a.strides[1] < a.strides[0] if columns == 1 < rows else b.strides[0] < b.strides[1]:
        return np.asarray(start + matmul(a, b))
    return _by_terms(a, b, np.broadcast_to(start, (rows, columns)))


def _by_terms(a: Array, b: Array, start: Array | None, part: bool = False) -> Array:
    """The product of matrices, added up term by term; `start` is the first term. `part`: `a` has some rows of a matrix.

    From some rows and columns on the library's code fuses. Below, where the rows of `a` and the columns of `b` are contiguous,
    elements are added up in lanes.
    """
    fused = _fused_rows(a, b)
    if fused:
        made = _fused(a[:fused], b)
        if start is not None:
            made += start[:fused]
        if fused == len(a):
            return made
        return np.concatenate([made, _by_terms(a[fused:], b, None if start is None else start[fused:], part=True)])
    terms = np.multiply(a.T[:, :, None], b[:, None, :], order="C")
    if start is not None:
        return np.asarray(in_order(np.concatenate([start[None], terms])))
    made = np.asarray(in_order(terms))
    made += _ZERO
    if a.dtype is _FLOAT32:
        if not part and (len(a) == 1 or b.shape[1] == 1):
            _add_vector_product(a, b, terms, made)
        elif a.flags.c_contiguous and b.flags.f_contiguous and not b.flags.c_contiguous:
            _add_rows_in_lanes(terms, made)
        elif b.flags.c_contiguous:
            _add_ahead_of_vectors(terms, made)
    return made


#: rows and columns of a product from which the library's code fuses multiplication and addition
_ROWS, _COLUMNS_TO_FUSE = 4, 12
#: terms and columns beyond which threads share the rows: two of them, whatever the machine has, so that a script prints the same
#: everywhere; it is what PyTorch prints where there are two cores
_TERMS_ALONE, _TERMS_SHARED, _COLUMNS_SHARED = 4, 16, 16


def _fused_rows(a: Array, b: Array) -> int:
    """How many rows of a product, from the first on, the fused code computes; a thread with few rows has none of it."""
    rows, (count, columns) = len(a), b.shape
    if a.dtype is not _FLOAT32 or rows < _ROWS or columns < _COLUMNS_TO_FUSE:
        return 0
    if count <= _TERMS_ALONE or (count <= _TERMS_SHARED and columns <= _COLUMNS_SHARED):
        return rows
    first: int = -(-rows // (2 * _ROWS)) * _ROWS
    return rows if rows - first >= _ROWS else first


def _fused(a: Array, b: Array) -> Array:
    """The product of matrices, whose sums are rounded once after each term is multiplied and added."""
    terms = np.multiply(a.T[:, :, None].astype(_FLOAT64), b[:, None, :].astype(_FLOAT64), order="C")
    total, made = np.zeros(terms.shape[1:]), np.empty(terms.shape[1:], _FLOAT32)
    for term in terms:
        total += term
        made[...] = total
        total[...] = made
    return made


def _add_vector_product(a: Array, b: Array, terms: Array, made: Array) -> None:
    """The product of a matrix and a vector, where the terms of an element are contiguous, for four elements at a time.

    The terms that fill no vector, or those of one vector, are added up first. Elements that are not one of four take two vectors at a time.
    """
    matrix = a if b.shape[1] == 1 else b.T
    if len(terms) <= _LANES or not matrix.flags.c_contiguous:
        return
    count, whole = len(terms), len(matrix) - len(matrix) % _LANES
    elements, flat = made.reshape(-1), terms.reshape(len(terms), -1)
    if whole:
        elements[:whole] = _in_lanes(flat[:, :whole], (count - 1) % _LANES + 1, _LANES)
    if count >= 3 * _LANES:
        elements[whole:] = _in_lanes(flat[:, whole:], _LANES, 2 * _LANES)


def _add_rows_in_lanes(terms: Array, made: Array) -> None:
    """The product of contiguous rows and columns. The terms in front of a row's first whole vector are added up first.

    Columns that are not one of four take two vectors at a time.
    """
    count, rows, columns = terms.shape
    whole = columns - columns % _LANES
    period = _LANES // math.gcd(count, _LANES)  # rows that begin alike
    parts = [(slice(whole), _LANES)] if whole else []
    if whole < columns:
        parts.append((slice(whole, None), 2 * _LANES))
    for row in range(min(rows, period)):
        ahead = -row * count % _LANES
        for part, step in parts:
            if count - ahead >= step:
                made[row::period, part] = _in_lanes(terms[:, row::period, part], ahead, step)


def _add_ahead_of_vectors(terms: Array, made: Array) -> None:
    """The elements in front of a row's first whole vector in memory: of eight terms, the last four are added up before they are added."""
    count, rows, columns = terms.shape
    if count < 2 * _LANES:
        return
    period = _LANES // math.gcd(columns, _LANES)  # rows that begin alike
    for row in range(1, min(rows, period)):
        ahead = -row * columns % _LANES
        if columns - ahead >= _LANES:
            part = terms[:, row::period, :ahead]
            total = in_order(part[:_LANES])
            for k in range(_LANES, count - count % (2 * _LANES), _LANES):
                four = part[k : k + _LANES]
                total = total + in_order(four) if k % (2 * _LANES) else in_order(np.concatenate([total[None], four]))
            for k in range(count - count % (2 * _LANES), count):
                total = total + part[k]
            made[row::period, :ahead] = total


def _in_lanes(terms: Array, ahead: int, step: int) -> Any:
    """Sum along axis 0: what is ahead, then in four lanes of one or two vectors, folded in halves, then what is left over."""
    count = len(terms)
    end = count - (count - ahead) % step
    lanes = terms[ahead:end].reshape((end - ahead) // step, step // _LANES, _LANES, *terms.shape[1:])
    if ahead:
        lanes = lanes.copy()
        lanes[0, 0, 0] += in_order(terms[:ahead])
    lanes = in_order(in_order(lanes))
    made = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
    for k in range(end, count):
        made = made + terms[k]
    return made


def _dot(a: Array, b: Array) -> Any:
    """Two vectors: four runs of lanes, what is left over goes to the first lane."""
    terms = a * b
    count = len(terms)
    if count < _LANES:
        return in_order(terms) + _ZERO  # the sum begins with 0: it is never -0
    vectors = count // _LANES
    lanes = terms[: vectors * _LANES].reshape(-1, _LANES)
    runs = np.zeros((4, _LANES), _FLOAT32)
    at = 0
    for width in (4, 2, 1):
        while vectors - at >= width:
            runs[:width] += lanes[at : at + width]
            at += width
    for term in terms[vectors * _LANES :]:
        runs[0, 0] += term
    first, second, third, fourth = in_order(runs)
    return (first + third) + (second + fourth)
