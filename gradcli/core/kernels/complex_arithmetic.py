"""Products and quotients of complex numbers with PyTorch's roundings.

Its vector code, 64 bytes at a time, rounds every product and every sum. What its compiler makes of the loop over the other elements fuses
one product of each part with the sum, as numpy does: the parts of (a + bi)(c + di) are then `a * c - round(b * d)` and
`a * d + round(b * c)`, rounded once. Of complex64 that loop takes several elements at a time, and rounds again what is left of a row.
Quotients are computed by Smith's formulas (R. Smith, 1962) everywhere, with fused products but for the last of an odd row of complex64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.kernels import memory_format
from gradcli.core.kernels.elementary import LARGEST, fused

_SINGLE = np.dtype(np.complex64)
#: bytes that vector code takes at a time
_STEP = 64

#: by rule, dtype, shape and memory format of operands: which elements have every step rounded
_known: dict[Any, Any] = {}
#: so many of them are known at most
_MOST_KNOWN = 1 << 8


def _row_of_products(size: int, strides: list[int], single: bool) -> Any:
    """Which elements of a row have every step rounded, from the strides of the operands."""
    rounded = np.zeros(size, np.bool_)
    repeated = strides.count(0)
    in_vectors = strides.count(1) + repeated == len(strides) and repeated < 2
    first = size - size % (_STEP // (8 if single else 16)) if in_vectors else 0
    rounded[:first] = True
    if single and in_vectors and repeated:  # one element by itself, and then four at a time
        rounded[first : first + 1] = True
        rounded[size - max(size - first - 1, 0) % 4 :] = True
    elif single and size % 2:
        rounded[-1] = True
    return rounded


def _row_of_quotients(size: int, _: list[int], single: bool) -> Any:
    """Which elements of a row have the last two sums rounded apart from their products."""
    rounded = np.zeros(size, np.bool_)
    rounded[size - size % 2 :] = single
    return rounded


def _rounded(rule: Callable[[int, list[int], bool], Any], dtype: Any, shape: tuple[int, ...], operands: tuple[Any, ...]) -> Any:
    """Which elements of a result have every step rounded, by the rule for a row."""
    key = (rule, dtype.char, shape, *[(operand.shape, operand.strides) for operand in operands])
    known = _known.get(key)
    if known is None:
        inner, strides = memory_format.inner_loop(shape, operands)
        outer_first = inner[::-1]
        sizes = [shape[d] for d in outer_first]
        row = rule(math.prod(sizes), strides or [1], dtype is _SINGLE).reshape(sizes).transpose(np.argsort(outer_first))
        known = np.broadcast_to(row.reshape([n if d in inner else 1 for d, n in enumerate(shape)]), shape)
        if len(_known) == _MOST_KNOWN:
            _known.clear()
        _known[key] = known
    return known


def _operands(x: Any, y: Any) -> tuple[Any, Any]:
    """The operands as arrays; a number has the dtype of the array beside it."""
    return np.asarray(x, getattr(y, "dtype", None)), np.asarray(y, getattr(x, "dtype", None))


def multiply(x: Any, y: Any) -> Any:
    """The product of complex arrays of one dtype, or of one and a number."""
    x, y = _operands(x, y)
    made = np.asarray(x * y)
    if not 0 < made.size <= LARGEST:
        return made
    rounded = _rounded(_row_of_products, made.dtype, made.shape, (x, y))
    a, b, c, d = x.real, x.imag, y.real, y.imag
    np.copyto(made.real, a * c - b * d, where=rounded)
    np.copyto(made.imag, a * d + b * c, where=rounded)
    return made


def divide(x: Any, y: Any) -> Any:
    """The quotient of complex arrays of one dtype, or of one and a number."""
    x, y = _operands(x, y)
    made = np.asarray(x / y)
    if not 0 < made.size <= LARGEST:
        return made
    rounded = _rounded(_row_of_quotients, made.dtype, made.shape, (x, y))
    c, d = y.real, y.imag
    wide = np.abs(c) >= np.abs(d)
    low, high = np.where(wide, d, c), np.where(wide, c, d)
    ratio = low / high
    scale = 1 / fused(low, ratio, high)
    # the numerator for a divisor with the larger real part is `a + b * ratio`, `b - a * ratio`, else `a * ratio + b`, `b * ratio - a`
    a, b = x.real, x.imag
    first, second = np.where(wide, a, b), np.where(wide, b, a)
    other, last = np.where(wide, -a, b), np.where(wide, b, -a)
    real, imag = fused(second, ratio, first), fused(other, ratio, last)
    rounded = _rounded(_row_of_quotients, made.dtype, made.shape, (x, y))
    if rounded.any():
        real, imag = np.where(rounded, second * ratio + first, real), np.where(rounded, other * ratio + last, imag)
    finite = (c != 0) | (d != 0)  # numpy divides by zero as PyTorch
    np.copyto(made.real, real * scale, where=finite)
    np.copyto(made.imag, imag * scale, where=finite)
    return made
