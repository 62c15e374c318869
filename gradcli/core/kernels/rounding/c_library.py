"""Exponentials and their kin in float32 as the C library computes them, whose scalar functions PyTorch calls where vector code does not go.

The exponential is rounded once. The others go by the formulas of fdlibm (Sun Microsystems, 1993), each step in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SINGLE = np.float32


def _constants(*values: float) -> tuple[Any, ...]:
    """Numbers rounded to float32, as arrays, which numpy takes up faster than numbers."""
    return tuple(np.array(value, _SINGLE) for value in values)


_ZERO, _ONE, _TWO, _THREE, _SIX, _HALF, _QUARTER, _INFINITY = _constants(0, 1, 2, 3, 6, 0.5, 0.25, np.inf)
#: beyond it tanh is 1, and sinh and cosh are half the exponential
_LARGEST = np.array(22, _SINGLE)
#: below it exp is 0
_LOWEST = np.array(-104, _SINGLE)
_PER_LN2 = np.array(1.4426950216, _SINGLE)
#: log(2) in two parts, the first short enough for exact products with small whole numbers
_LN2_HIGH, _LN2_LOW = _constants(6.9313812256e-01, 9.0580006145e-06)
_HALF_LN2 = np.array(0.5 * np.log(2), _SINGLE)
#: expm1 adds its terms in another order from 2^23 up to 2^56; the argument from which on it is infinite
_MANY, _MOST_K, _HIGHEST = _constants(23, 56, 88.72)
#: the arguments between which log1p needs no scaling: sqrt(1/2) - 1 and sqrt(2) - 1
_LEAST, _MOST = _constants(-0.29289323, 0.41421354)
#: bits of a float32: the number of digits, their mask, the exponent of 1, the bits of sqrt(1/2), and the distance from these to 1
_BITS, _DIGITS, _BIAS, _ROOT_HALF, _TO_ROOT = (np.array(value, np.int32) for value in (23, 0x7FFFFF, 127, 0x3F3504F7, 0x4AFB09))
#: exp(r log(2) / 32) = 1 + ..., from the highest power
_EXP = tuple(
    np.array(float.fromhex(c) / 32**n) for n, c in ((3, "0x1.c6af84b912394p-5"), (2, "0x1.ebfce50fac4f3p-3"), (1, "0x1.62e42ff0c52d6p-1"))
)
_PER_LN2_32, _PER_32, _WIDE_ONE = np.array(32 / np.log(2)), np.array(1 / 32), np.array(1.0)
#: series of log1p and expm1, from the highest power
_LOG = _constants(
    1.4798198640e-01, 1.5313838422e-01, 1.8183572590e-01, 2.2222198546e-01, 2.8571429849e-01, 4.0000000596e-01, 6.6666668653e-01
)
_EXPM1 = _constants(-2.0109921195e-07, 4.0082177293e-06, -7.9365076090e-05, 1.5873016091e-03, -3.3333335072e-02, 1)


def _series(terms: tuple[Any, ...], s: Any) -> Any:
    """A polynomial in s by Horner's rule."""
    made = terms[0]
    for term in terms[1:]:
        made = made * s + term
    return made


def exp(x: Any) -> Any:
    """2^(k / 32) exp(r) in float64 with a polynomial of degree 3, which decides how one element of thousands is rounded."""
    r = np.multiply(x, _PER_LN2_32, dtype=np.float64)  # no step writes to its operand, so that plans can trace them
    k = np.rint(r)
    r = np.fmin(r - k, _WIDE_ONE)  # the difference is nan for infinity
    made = r * _EXP[0]
    for term in _EXP[1:]:
        made = (made + term) * r
    made = (made + _WIDE_ONE) * np.exp2(k * _PER_32)
    return made.astype(_SINGLE)


def log1p(x: Any) -> Any:
    """log(1 + x) from log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)) with s = f / (2 + f), where 2^k scales 1 + x to 1 + f."""
    near = (x < _MOST) & (x > _LEAST)
    if np.count_nonzero(near) == x.size:
        half, s, rest = _log1p_parts(x)
        return np.copysign(x - (half - s * (half + rest)), x)
    u = _ONE + x
    np.putmask(u, near, _ONE)
    # the part of the sum that rounding has lost
    lost = x - (u - _ONE)
    np.putmask(lost, u >= _TWO, _ONE - (u - x))
    lost /= u
    bits = u.view(np.int32)
    bits += _TO_ROOT
    whole = bits >> _BITS
    whole -= _BIAS
    bits &= _DIGITS
    bits += _ROOT_HALF
    u -= _ONE
    np.putmask(u, near, x)
    np.putmask(lost, whole == 0, _ZERO)
    k = whole.astype(_SINGLE)
    lost += k * _LN2_LOW
    half, s, rest = _log1p_parts(u)
    rest += half
    rest *= s
    rest += lost
    half -= rest
    half -= u
    k *= _LN2_HIGH
    k -= half
    np.copysign(k, x, out=k)
    inside = (x > -_ONE) & (x < _INFINITY)
    return k if np.count_nonzero(inside) == x.size else np.where(inside, k, np.log1p(x))


def _log1p_parts(f: Any) -> tuple[Any, Any, Any]:
    s = f / (_TWO + f)
    square = s * s
    return _HALF * f * f, s, square * _series(_LOG, square)


def expm1(x: Any) -> Any:
    """exp(x) - 1 = 2^k ((1 - 2^-k) + exp(y) - 1) with a rational function of the rest y; from some k on terms are added in other orders."""
    x = np.maximum(x, _LOWEST)
    k = _PER_LN2 * x
    k += np.copysign(_HALF, x)
    np.trunc(k, out=k)
    high = x - k * _LN2_HIGH
    low = k * _LN2_LOW
    y = high - low
    high -= y
    high -= low  # the part of y that rounding has lost
    half = _HALF * y
    square = y * half
    r = _series(_EXPM1, square)
    t = r * half
    np.subtract(_THREE, t, out=t)
    r -= t
    t *= y
    np.subtract(_SIX, t, out=t)
    r /= t
    r *= square
    r -= high
    r *= y
    r -= high
    r -= square
    d = y - r
    whole = k.astype(np.int32)
    scale = np.ldexp(_ONE, -whole)
    made = _ONE - scale
    made += d
    np.ldexp(made, whole, out=made)
    if np.count_nonzero(far_below := k < -_ONE):
        np.putmask(made, far_below, np.ldexp(_ONE + d, whole) - _ONE)
    if np.count_nonzero(first := (k == _ONE) & (y < -_QUARTER)):
        np.putmask(made, first, -_TWO * (r - (y + _HALF)))
    if np.count_nonzero(far_above := k >= _MANY):
        np.putmask(made, far_above, np.where(k > _MOST_K, np.ldexp(_ONE + d, whole) - _ONE, np.ldexp((y - (r + scale)) + _ONE, whole)))
        made = np.where(x < _HIGHEST, made, np.expm1(x))
    return np.copysign(made, x, out=made)


def tanh(x: Any) -> Any:
    """1 - 2 / (t + 2) with t = exp(2 |x|) - 1; below 1, -t / (t + 2) with t = exp(-2 |x|) - 1."""
    size = np.minimum(np.abs(x), _LARGEST)
    far = size >= _ONE
    size *= np.where(far, _TWO, -_TWO)
    t = expm1(size)
    made = np.where(far, _TWO, -t)
    t += _TWO
    made /= t
    np.putmask(made, far, _ONE - made)
    return np.copysign(made, x, out=made)


def sinh(x: Any) -> Any:
    """(t + t / (t + 1)) / 2 with t = exp(|x|) - 1; below 1 with one rounding less."""
    size = np.abs(x)
    t = expm1(size)
    half = np.copysign(_HALF, x)
    value = np.where(size < 1, half * (_TWO * t - t * t / (t + _ONE)), half * (t + t / (t + _ONE)))
    return np.where(size > _LARGEST, _half_exp(size, half), value)


def cosh(x: Any) -> Any:
    """(e + 1 / e) / 2 with e = exp(|x|); near 0 from exp(|x|) - 1."""
    size = np.abs(x)
    t, e = expm1(size), exp(size)
    value = np.where(size < _HALF_LN2, _ONE + t * t / (_TWO * (_ONE + t)), _HALF * e + _HALF / e)
    return np.where(size > _LARGEST, _half_exp(size, _HALF), value)


def _half_exp(x: Any, half: Any) -> Any:
    """exp(x) / 2, which is finite beyond the largest exponential."""
    root = exp(_HALF * x)
    return np.where(x < 88.72283, half * exp(x), half * root * root)
