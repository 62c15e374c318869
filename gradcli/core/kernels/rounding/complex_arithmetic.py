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
from gradcli.core.kernels.elementary import LARGEST, by_steps, expm1_one_by_one, fused

_SINGLE = np.dtype(np.complex64)
#: bytes that vector code takes at a time
_STEP = 64

#: by rule, dtype, shape and memory format of operands: which elements have every step rounded
_known: dict[Any, Any] = {}
#: the most entries of `_known`
_MOST_KNOWN = 1 << 8


def _in_vectors(strides: list[int]) -> bool:
    """Whether vector code takes a row: its operands are contiguous, but for one that may be a single number."""
    return strides.count(1) + strides.count(0) == len(strides) and strides.count(0) < 2


def _row_of_factors(size: int, strides: list[int], single: bool) -> Any:
    """Which elements of a row have every step of a product with a number rounded, which another product and a sum follow."""
    return np.arange(size) < (size - size % (_STEP // (8 if single else 16)) if _in_vectors(strides) else 0)


def _row_of_products(size: int, strides: list[int], single: bool) -> Any:
    """Which elements of a row have every step rounded, from the strides of the operands."""
    rounded = _row_of_factors(size, strides, single)
    first = int(np.count_nonzero(rounded))
    if single and 0 in strides and _in_vectors(strides):  # PyTorch takes one element by itself, and then four at a time
        rounded[first : first + 1] = True
        rounded[size - max(size - first - 1, 0) % 4 :] = True
    elif single and size % 2:
        rounded[-1] = True
    return rounded


def _row_of_squares(size: int, strides: list[int], single: bool) -> Any:
    """Which elements of a row have every step of a square rounded. Vector code takes two vectors at a time."""
    return np.arange(size) < (size - size % (_STEP // (4 if single else 8)) if _in_vectors(strides) else 0)


def _row_of_cubes(size: int, strides: list[int], single: bool) -> Any:
    """Which elements of a row have every step of the second product of a cube rounded: of complex64 also those that make no four."""
    rounded = _row_of_squares(size, strides, single)
    rounded[size - size % 4 :] |= single
    return rounded


def _row_of_terms(size: int, strides: list[int], single: bool) -> Any:
    """Which elements of a row have every step of a product rounded that is added to another number."""
    rounded = _row_of_factors(size, strides, single)
    together = 2 if strides.count(1) < len(strides) else 4
    rounded[size - size % together :] |= single
    return rounded


def _row_ends(size: int, _: list[int], single: bool) -> Any:
    """Which elements of a row of complex128 make no pair."""
    return np.arange(size) >= (size if single else size - size % 2)


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


def _product(x: Any, y: Any, rule: Callable[[int, list[int], bool], Any], operands: tuple[Any, ...]) -> Any:
    """The product, with roundings by the rule for a row of these operands."""
    made = np.asarray(x * y)
    if not 0 < made.size <= LARGEST:
        return made
    rounded = _rounded(rule, made.dtype, made.shape, operands)
    if rounded.any():
        np.copyto(made, by_steps(x, y), where=rounded)
    return made


def add_product(x: Any, y: Any, z: Any, number: complex) -> Any:
    """`x + number * y * z` of complex arrays of one dtype."""
    x, y, z = np.broadcast_arrays(x, y, z)
    scaled = _product(np.asarray(number, y.dtype), y, _row_of_factors, (x, y, z))
    return x + _product(scaled, z, _row_of_terms, (x, y, z))


def add_quotient(x: Any, y: Any, z: Any, number: complex) -> Any:
    """`x + number * y / z` of complex arrays of one dtype."""
    x, y, z = np.broadcast_arrays(x, y, z)
    return x + divide(_product(np.asarray(number, y.dtype), y, _row_of_factors, (x, y, z)), z)


def _times(grad: Any, slope: Any) -> Any:
    """The last step of the kernels for gradients of tanh and the logistic function."""
    made = _product(slope, grad, _row_of_cubes, (grad, slope))
    ends = _rounded(_row_ends, made.dtype, made.shape, (grad, slope))
    return np.where(ends, grad * slope, made) if ends.any() else made


def tanh_gradient(grad: Any, output: Any) -> Any:
    """`grad * (1 - output**2)`."""
    return _times(grad, 1 - _product(output, output, _row_of_squares, (grad, output)))


def logistic_gradient(grad: Any, output: Any) -> Any:
    """`grad * ((1 - output) * output)`."""
    return _times(grad, _product(1 - output, output, _row_of_squares, (grad, output)))


def square(x: Any) -> Any:
    """The square of a complex array."""
    return _product(x, x, _row_of_squares, (x,))


def cube(x: Any) -> Any:
    """The cube of a complex array, by its square."""
    return _product(square(x), x, _row_of_cubes, (x,))


def multiply(x: Any, y: Any) -> Any:
    """The product of complex arrays of one dtype, or of one and a number."""
    x, y = _operands(x, y)
    return _product(x, y, _row_of_products, (x, y))


def divide(x: Any, y: Any) -> Any:
    """The quotient of complex arrays of one dtype, or of one and a number."""
    x, y = _operands(x, y)
    made = np.asarray(x / y)
    if not 0 < made.size <= LARGEST:
        return made
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


#: bytes that a product of all elements takes at a time, in four parts
_REGISTERS = 128


def product_along(factors: Any, neighbours: bool) -> Any:
    """The product along the first dimension; of factors side by side in memory many at a time."""
    count, group = len(factors), _REGISTERS // factors.itemsize
    rows = factors.reshape(count, -1)
    made, first = np.ones(rows.shape[1:], rows.dtype), count - count % group if neighbours else 0
    if first:
        lanes = rows[:first].reshape(-1, 4, group // 4, rows.shape[1])
        whole = lanes[0]
        for more in lanes[1:]:
            whole = by_steps(whole, more)
        whole = by_steps(by_steps(whole[0], whole[1]), by_steps(whole[2], whole[3]))
        for at, lane in enumerate(whole):
            made = by_steps(made, lane) if at == 3 else made * lane
    for factor in rows[first:]:
        made = made * factor
    return made.reshape(factors.shape[1:])


def running_product(x: Any, dim: int) -> Any:
    """The products of the elements up to each one along a dimension, computed in double precision."""
    made = np.moveaxis(np.array(x, np.complex128), dim, 0)
    made[:1] *= 1  # PyTorch begins with 1, which makes a part beside an infinite one nan
    if not 0 < made.size <= LARGEST:
        return np.moveaxis(np.multiply.accumulate(made), 0, dim)
    rows = made.reshape(len(made), -1)
    for row, before in zip(rows[1:], rows, strict=False):
        row[...] = before * row
    return np.moveaxis(rows.reshape(made.shape), 0, dim)


def over(x: Any, number: float) -> Any:
    """A complex array whose parts are divided by a real number."""
    made = np.empty(x.shape, x.dtype)
    made.real, made.imag = x.real / x.real.dtype.type(number), x.imag / x.real.dtype.type(number)
    return made


def _c_product(x: Any, y: Any) -> Any:
    """The product of complex numbers as C has it: where both parts would be nan, an infinite operand or product makes them infinite."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    terms = a * c, b * d, a * d, b * c
    made = by_steps(x, y)
    lost = np.isnan(made.real) & np.isnan(made.imag)
    if not lost.any():
        return made
    wide = np.isinf(a) | np.isinf(b), np.isinf(c) | np.isinf(d)
    grown = np.any(np.isinf(terms), axis=0) & ~(wide[0] | wide[1])
    # an infinite operand counts by its signs, a nan beside it as 0
    parts = [np.where(wide[k // 2], np.copysign(np.isinf(p).astype(p.dtype), p), p) for k, p in enumerate((a, b, c, d))]
    spoilt = wide[1] | grown, wide[0] | grown
    a, b, c, d = (np.where(spoilt[k // 2] & np.isnan(p), np.copysign(p.dtype.type(0), p), p) for k, p in enumerate(parts))
    mended = np.empty_like(made)
    mended.real, mended.imag = np.inf * (a * c - b * d), np.inf * (a * d + b * c)
    return np.where(lost & (wide[0] | wide[1] | grown), mended, made)


def power(a: Any, b: Any) -> Any:
    """`a ** b` of complex arrays as the C library has it, nan for 0 to the power 0; numpy's function knows more special cases."""
    return np.exp(_c_product(*np.broadcast_arrays(b, np.log(a))))


def expm1(z: Any) -> Any:
    """exp(z) - 1 of complex numbers in PyTorch's steps: `expm1(x) cos(y) - 2 sin(y / 2)^2` and `exp(x) sin(y)`."""
    x, y = z.real, z.imag
    if z.size > LARGEST:
        return np.expm1(z)
    wide: Any = np.float64 if x.itemsize == 4 else np.longdouble
    cos, sin, half, exp = (f(part, dtype=wide).astype(x.dtype) for f, part in ((np.cos, y), (np.sin, y), (np.sin, y / 2), (np.exp, x)))
    ahead = expm1_one_by_one(x)
    made = np.empty(z.shape, z.dtype)
    made.real, made.imag = fused(ahead, cos, -(2 * half * half)), exp * sin
    return made


def log1p(z: Any) -> Any:
    """log(1 + z) of complex numbers in PyTorch's steps: with u = 1 + z, `log(u) * (z / (u - 1))` (W. Kahan)."""
    u = np.array(z)
    u.real += 1  # the imaginary part keeps the sign of a zero
    rest = u.copy()
    rest.real -= 1
    logarithm = np.log(u)
    return np.where(u == 1, z, np.where(rest == z, logarithm, logarithm * divide(z, rest)))


def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) of complex numbers, as PyTorch's running sum adds."""
    spoilt_x, spoilt_y = np.isnan(x), np.isnan(y)
    first = x.real < y.real
    low, high = np.where(first, x, y), np.where(first, y, x)
    made = high + log1p(np.exp(low - high))
    ends = ~np.isfinite(low.real) & (low.real == high.real)
    made = np.where(ends, np.where(low.real < 0, low, np.log(np.exp(low) + np.exp(high))), made)
    return np.where(spoilt_x | spoilt_y, complex(np.nan, np.nan), made)
