"""Exponentials and their kin in float32 as PyTorch's vector code computes them, with its roundings.

Each step that the processor does as one is done here in float64 and rounded once: a product of two float32 is exact there, so that only
the sum after it is rounded. What vector code carries in two float32 numbers, of 48 digits together, is carried in one float64. Formulas and
constants are those of Sleef (N. Shibata, F. Petrogalli, 2020), the library of PyTorch's vector code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SINGLE = np.float32
_DOUBLE = np.float64


def _constants(*values: float) -> tuple[Any, ...]:
    """Numbers rounded to float32, as arrays of float64, which numpy takes up faster than numbers."""
    return tuple(np.array(_SINGLE(value), _DOUBLE) for value in values)


#: exp(s) = 1 + s + s^2 * (1/2 + s/6 + ...), fitted for |s| <= log(2) / 2; from the highest power
_EXP = _constants(1.98527622e-4, 1.39304355e-3, 8.33336078e-3, 4.16664854e-2, 1.66666672e-1, 0.5)
#: the same series, whose first terms are taken with more digits
_EXP_HIGH = _constants(1.980960224e-4, 1.394256484e-3, 8.333456703e-3, 4.166637361e-2)
_SIXTH, _HALF = _constants(0.16666665941423424, 0.5)
#: log(1 + m) = 2 x + x^3 * (2/3 + 2/5 x^2 + ...) with x = m / (2 + m), fitted for 3/4 <= 1 + m <= 3/2; from the highest power
_LOG = _constants(0.3027294874, 0.3996108174, 0.6666694880)
_ONE, _TWO = _constants(1, 2)
_PER_LN2 = np.array(1 / np.log(2), _SINGLE)
_HALF_SINGLE, _ONE_SINGLE, _TWO_SINGLE, _FOUR_THIRDS, _HUNDRED = (np.array(value, _SINGLE) for value in (0.5, 1, 2, 4 / 3, 100))
#: log(2) in two float32: the first has few digits, so that its products with small whole numbers are exact, or as many as it can have
_LN2_HIGH, _LN2_LOW = _SINGLE(0.693145751953125), np.array(1.428606765330187e-06, _SINGLE)
_LN2_SHORT = np.array(_LN2_HIGH, _DOUBLE)
_LN2 = np.array(_LN2_HIGH, _DOUBLE) + _LN2_LOW
_LN2_NEAREST = np.array(_SINGLE(np.log(2)), _DOUBLE) + _SINGLE(np.log(2) - _DOUBLE(_SINGLE(np.log(2))))


def _series(terms: tuple[Any, ...], s: Any) -> Any:
    """A polynomial in s by Horner's rule. Each step but the last is rounded to float32."""
    made = s * terms[0]
    made += terms[1]
    for term in terms[2:]:
        made = np.multiply(made.astype(_SINGLE), s)
        made += term
    return made


def _holds(x: Any, low: float, high: float) -> bool:
    """Whether all elements are between two bounds; nan is not."""
    return bool(low < np.minimum.reduce(x, axis=None) and np.maximum.reduce(x, axis=None) < high)


def exp(x: Any) -> Any:
    """2^q exp(s) with a polynomial of degree 7 in the rest s."""
    if not _holds(x, -87, 88):
        return _exp_far(x)
    q = x * _PER_LN2
    np.rint(q, out=q)
    made = _exp_of_rest(x, q)
    # a power of 2 is added to the exponent
    bits = made.view(np.int32)
    bits += q.astype(np.int32) << 23
    return made


def _exp_far(x: Any) -> Any:
    """`exp` of numbers for which it may be infinite, 0 or denormal, and of nan."""
    q = np.rint(x * _PER_LN2)
    whole = np.clip(np.nan_to_num(q), -1000, 1000).astype(np.int32)
    return np.where(x < -104, _SINGLE(0), np.where(x > 104, _SINGLE(np.inf), np.ldexp(_exp_of_rest(x, q), whole)))


def _exp_of_rest(x: Any, q: Any) -> Any:
    """exp(x - q log(2))."""
    rest = np.subtract(x, np.multiply(q, _LN2, dtype=_DOUBLE)).astype(_SINGLE)
    s = rest.astype(_DOUBLE)
    made = np.multiply(_series(_EXP, s).astype(_SINGLE), rest * rest, dtype=_DOUBLE)
    made += s
    made = made.astype(_SINGLE)
    made += _ONE_SINGLE
    return made


def _expm1_in_two(x: Any) -> Any:
    """exp(x) - 1 with about twice the digits of float32, in float64; where it overflows, anything."""
    q = np.rint(x * _PER_LN2)
    s = x - np.multiply(q, _LN2_SHORT)
    s -= q * _LN2_LOW
    made = s * _series(_EXP_HIGH, s.astype(_SINGLE).astype(_DOUBLE)).astype(_SINGLE)
    made += _SIXTH
    made *= s
    made += _HALF
    made *= s * s
    made += s
    scale = np.ldexp(_ONE, q.astype(np.int32))
    made *= scale
    scale -= _ONE
    made += scale
    return made


def expm1(x: Any) -> Any:
    """exp(x) - 1."""
    made = _expm1_in_two(np.minimum(x, _HUNDRED)).astype(_SINGLE)
    return np.copysign(np.where(x < -16.635532, -_ONE_SINGLE, made), x)


def _exp_and_difference(size: Any) -> tuple[Any, Any]:
    """d = exp(size) and d - 1/d for sizes of float32, in float64."""
    t = _expm1_in_two(np.minimum(size, _HUNDRED))
    d = t + _ONE
    return d, t + t / d


def tanh(x: Any) -> Any:
    """(d - 1/d) / (d + 1/d) with d = exp(|x|)."""
    size = np.abs(x)
    d, difference = _exp_and_difference(size)
    made = (difference / (d + _ONE / d)).astype(_SINGLE)
    return np.copysign(np.where(size > 8.664339742, _ONE_SINGLE, made), x)


def sinh(x: Any) -> Any:
    """(d - 1/d) / 2 with d = exp(|x|)."""
    return np.copysign(_exp_and_difference(np.abs(x))[1].astype(_SINGLE) * _HALF_SINGLE, x)


def cosh(x: Any) -> Any:
    """(d + 1/d) / 2 with d = exp(|x|)."""
    d = _exp_and_difference(np.abs(x))[0]
    return (d + _ONE / d).astype(_SINGLE) * _HALF_SINGLE


def log1p(x: Any) -> Any:
    """log(1 + x) = e log(2) + log(1 + m), where 2^e scales 1 + x to between 3/4 and 3/2.

    The last step doubles, before which the smallest numbers lose a bit.
    """
    if not _holds(x, -1, 2e38):
        near = (x > -1) & (x < 2e38)
        return np.where(near, log1p(np.where(near, x, _ONE_SINGLE)), np.log1p(x, dtype=_DOUBLE).astype(_SINGLE))
    e = np.frexp((x + _ONE_SINGLE) * _FOUR_THIRDS)[1]
    e -= 1
    scale = np.ldexp(_ONE, -e)
    m = (x * scale + (scale - _ONE)).astype(_SINGLE)
    near = m * (_ONE_SINGLE / (_TWO_SINGLE + m))
    square = near * near
    s = m.astype(_DOUBLE)
    s /= s + _TWO
    s *= _TWO
    s += e * _LN2_NEAREST
    s += square * near * _series(_LOG, square.astype(_DOUBLE)).astype(_SINGLE)
    return np.copysign(s.astype(_SINGLE) * _HALF_SINGLE * _TWO_SINGLE, x)
