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


_ONE, _TWO, _THREE, _SIX, _HALF, _QUARTER = _constants(1, 2, 3, 6, 0.5, 0.25)
#: beyond it tanh is 1, and sinh and cosh are half the exponential
_LARGEST = np.array(22, _SINGLE)
#: below it exp is 0
_LOWEST = np.array(-104, _SINGLE)
_PER_LN2 = np.array(1.4426950216, _SINGLE)
#: log(2) in two parts, the first short enough for exact products with small whole numbers
_LN2_HIGH, _LN2_LOW = _constants(6.9313812256e-01, 9.0580006145e-06)
_HALF_LN2, _LN2_AND_HALF = _constants(0.5 * np.log(2), 1.5 * np.log(2))
#: from sqrt(1/2) to sqrt(2), where log1p needs no scaling
_LEAST, _MOST = _constants(-0.29289323, 0.41421354)
#: how the digits of sqrt(2) begin, without the leading 1
_ROOT_DIGITS, _DIGITS = 0x3504F7, 0x7FFFFF
#: exp(r log(2) / 32) = 1 + ..., from the highest power
_EXP = tuple(
    np.array(float.fromhex(c) / 32**n) for n, c in ((3, "0x1.c6af84b912394p-5"), (2, "0x1.ebfce50fac4f3p-3"), (1, "0x1.62e42ff0c52d6p-1"))
)
_PER_LN2_32, _PER_32 = np.array(32 / np.log(2)), np.array(1 / 32)
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
    r = np.multiply(x, _PER_LN2_32, dtype=np.float64)
    k = np.rint(r)
    r = np.fmin(r - k, _ONE)  # it is nan for infinity
    made = r * _EXP[0]
    for term in _EXP[1:]:
        made = (made + term) * r
    made = (made + _ONE) * np.exp2(k * _PER_32)
    return made.astype(_SINGLE)


def log1p(x: Any) -> Any:
    """log(1 + x) from log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)) with s = f / (2 + f), where 2^k scales 1 + x to 1 + f."""
    near = (x < _MOST) & (x > _LEAST)
    if near.all():
        half, s, rest = _log1p_parts(x)
        return np.copysign(x - (half - s * (half + rest)), x)
    u = np.where(near, _ONE, _ONE + x)
    scaled, k = np.frexp(u)
    scaled *= _TWO
    # what the sum has lost
    lost = np.where(k > 1, _ONE - (u - x), x - (u - _ONE)) / u
    upper = (scaled.view(np.int32) & _DIGITS) >= _ROOT_DIGITS
    f = np.where(near, x, np.where(upper, scaled * _HALF, scaled) - _ONE)
    k = (k + upper).astype(_SINGLE) - _ONE
    half, s, rest = _log1p_parts(f)
    made = k * _LN2_HIGH - ((half - (s * (half + rest) + (k * _LN2_LOW + np.where(k == 0, k, lost)))) - f)
    return np.where((x > -1) & (x < np.inf), np.copysign(made, x), np.log1p(x))


def _log1p_parts(f: Any) -> tuple[Any, Any, Any]:
    s = f / (_TWO + f)
    square = s * s
    return _HALF * f * f, s, square * _series(_LOG, square)


def expm1(x: Any) -> Any:
    """exp(x) - 1 = 2^k (exp(y) - 1) + (2^k - 1) with a rational function of the rest y."""
    x = np.maximum(x, _LOWEST)
    size = np.abs(x)
    k = np.where(size < _LN2_AND_HALF, np.copysign(size > _HALF_LN2, x), np.trunc(_PER_LN2 * x + np.copysign(_HALF, x)))
    high = x - k * _LN2_HIGH
    low = k * _LN2_LOW
    y = high - low
    lost = (high - y) - low
    half = _HALF * y
    square = y * half
    r = _series(_EXPM1, square)
    t = _THREE - r * half
    e = square * ((r - t) / (_SIX - y * t))
    e = (y * (e - lost) - lost) - square
    d = y - e
    if not k.any():
        return np.copysign(d, x)
    whole = k.astype(np.int32)
    made = np.where(k == 0, np.copysign(d, x), np.where(k == -1, _HALF * d - _HALF, np.ldexp(_ONE + d, whole) - _ONE))
    if np.maximum.reduce(k, axis=None) <= 0:
        return made
    scale = np.ldexp(_ONE, -whole)
    raised = np.ldexp(np.where(k < 23, (_ONE - scale) + d, (y - (e + scale)) + _ONE), whole)
    first = np.where(y < -_QUARTER, -_TWO * (e - (y + _HALF)), _ONE + _TWO * d)
    made = np.where((k < 1) | (k > 56), made, np.where(k == 1, first, raised))
    return np.where(size < 88.72, made, np.expm1(x))


def tanh(x: Any) -> Any:
    """1 - 2 / (t + 2) with t = exp(2 |x|) - 1; below 1, -t / (t + 2) with t = exp(-2 |x|) - 1."""
    size = np.minimum(np.abs(x), _LARGEST)
    far = size >= _ONE
    twice = _TWO * size
    t = expm1(np.where(far, twice, -twice))
    return np.copysign(np.where(far, _ONE - _TWO / (t + _TWO), -t / (t + _TWO)), x)


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
