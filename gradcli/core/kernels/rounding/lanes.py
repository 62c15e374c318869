"""Exponentials and their kin in float32 as PyTorch's vector code computes them, with its roundings.

Each step that the processor does as one is done here in float64 and rounded once: a product of two float32 is exact there, so that only
the sum after it is rounded. What vector code carries in two float32 numbers, of 48 digits together, is carried in one float64. Formulas and
constants are those of Sleef (N. Shibata, F. Petrogalli, 2020), the library of PyTorch's vector code. Few arrays are made, and operands
are converted before an operation, not by it: for small arrays each call of numpy counts, for large ones the memory.
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
#: log(1 + m) / 2 = x + x^3 * (1/3 + 1/5 x^2 + ...) with x = m / (2 + m), fitted for 3/4 <= 1 + m <= 3/2; from the highest power
_LOG = tuple(term * _HALF for term in _constants(0.3027294874, 0.3996108174, 0.6666694880))
_ONE, _TWO = _constants(1, 2)
_HALF_SINGLE, _ONE_SINGLE, _TWO_SINGLE, _FOUR_THIRDS, _PER_LN2 = (np.array(value, _SINGLE) for value in (0.5, 1, 2, 4 / 3, 1 / np.log(2)))
#: beyond these exp is infinite, or 0; beyond the last tanh is 1, and expm1 is -1 below its negative
_HIGHEST, _LOWEST, _LOWEST_EXPM1, _LARGEST_TANH = (np.array(value, _SINGLE) for value in (100, -105, -16.635532, 8.664339742))
#: log(2) in two float32: the first has few digits, so that its products with small whole numbers are exact, or as many as it can have
_LN2_HIGH, _LN2_LOW = _SINGLE(0.693145751953125), np.array(1.428606765330187e-06, _SINGLE)
_LN2_SHORT = np.array(_LN2_HIGH, _DOUBLE)
_LN2 = np.array(_LN2_HIGH, _DOUBLE) + _LN2_LOW
_HALF_LN2 = np.array((_DOUBLE(_SINGLE(np.log(2))) + _SINGLE(np.log(2) - _DOUBLE(_SINGLE(np.log(2))))) / 2)
#: the exponent stands behind so many bits of a float32, and has so much added
_BITS, _BIAS = np.array(23, np.int32), np.array(127, np.int32)


def _series(terms: tuple[Any, ...], s: Any, rounded: Any) -> Any:
    """A polynomial in s by Horner's rule, in float64. Each step is rounded to float32; `rounded` is overwritten with the result."""
    made = s * terms[0]
    made += terms[1]
    for term in terms[2:]:
        rounded[...] = made
        made[...] = rounded
        made *= s
        made += term
    rounded[...] = made
    made[...] = rounded
    return made


def exp(x: Any) -> Any:
    """2^q exp(s) with a polynomial of degree 7 in the rest s = x - q log(2)."""
    x = np.minimum(x, _HIGHEST)
    np.maximum(x, _LOWEST, out=x)
    q = x * _PER_LN2
    np.rint(q, out=q)
    s, more = x.astype(_DOUBLE), q.astype(_DOUBLE)
    more *= _LN2
    s -= more
    x[...] = s
    s[...] = x
    square = x * x
    made = _series(_EXP, s, x)
    more[...] = square
    made *= more
    made += s
    x[...] = made
    x += _ONE_SINGLE
    # a sum beyond the exponents is infinite, 0 or denormal
    return np.ldexp(x, q.astype(np.int32), out=x)


def _expm1_in_two(x: Any) -> Any:
    """exp(x) - 1 with about twice the digits of float32, in float64. `x` is overwritten."""
    q = x * _PER_LN2
    np.rint(q, out=q)
    s, more = x.astype(_DOUBLE), q.astype(_DOUBLE)
    more *= _LN2_SHORT
    s -= more
    more[...] = q * _LN2_LOW
    s -= more
    x[...] = s
    more[...] = x
    made = _series(_EXP_HIGH, more, x)
    made *= s
    made += _SIXTH
    made *= s
    made += _HALF
    np.multiply(s, s, out=more)
    made *= more
    made += s
    np.ldexp(_ONE, q.astype(np.int32), out=more)
    made *= more
    more -= _ONE
    made += more
    return made


def expm1(x: Any) -> Any:
    """exp(x) - 1."""
    made = _expm1_in_two(np.minimum(x, _HIGHEST)).astype(_SINGLE)
    np.putmask(made, x < _LOWEST_EXPM1, -_ONE_SINGLE)
    return np.copysign(made, x, out=made)


def _exp_and_difference(x: Any) -> tuple[Any, Any]:
    """d = exp(|x|) and d - 1/d, in float64."""
    size = np.abs(x)
    t = _expm1_in_two(np.minimum(size, _HIGHEST, out=size))
    d = t + _ONE
    t += t / d
    return d, t


def tanh(x: Any) -> Any:
    """(d - 1/d) / (d + 1/d) with d = exp(|x|)."""
    d, difference = _exp_and_difference(x)
    d += _ONE / d
    difference /= d
    made = difference.astype(_SINGLE)
    np.putmask(made, np.abs(x) > _LARGEST_TANH, _ONE_SINGLE)
    return np.copysign(made, x, out=made)


def sinh(x: Any) -> Any:
    """(d - 1/d) / 2 with d = exp(|x|)."""
    made = _exp_and_difference(x)[1].astype(_SINGLE)
    made *= _HALF_SINGLE
    return np.copysign(made, x, out=made)


def cosh(x: Any) -> Any:
    """(d + 1/d) / 2 with d = exp(|x|)."""
    d = _exp_and_difference(x)[0]
    d += _ONE / d
    made = d.astype(_SINGLE)
    made *= _HALF_SINGLE
    return made


def log1p(x: Any) -> Any:
    """log(1 + x) = e log(2) + log(1 + m), where 2^e scales 1 + x to between 3/4 and 3/2.

    The last step doubles, before which the smallest numbers lose a bit.
    """
    if not (np.minimum.reduce(x, axis=None) > -1 and np.maximum.reduce(x, axis=None) < 2e38):
        near = (x > -1) & (x < 2e38)
        return np.where(near, log1p(np.where(near, x, _ONE_SINGLE)), np.log1p(x, dtype=_DOUBLE).astype(_SINGLE))
    rest = x + _ONE_SINGLE
    rest *= _FOUR_THIRDS
    e = rest.view(np.int32) >> _BITS
    np.subtract(_BIAS, e, out=e)
    s, scale = x.astype(_DOUBLE), np.ldexp(_ONE, e)
    s *= scale
    scale -= _ONE
    s += scale
    m = s.astype(_SINGLE)
    np.add(m, _TWO_SINGLE, out=rest)
    np.divide(_ONE_SINGLE, rest, out=rest)
    rest *= m
    square = rest * rest
    s[...] = m
    np.add(s, _TWO, out=scale)
    s /= scale
    scale[...] = e
    scale *= _HALF_LN2
    s -= scale
    scale[...] = square
    rest *= square
    _series(_LOG, scale, square)
    rest *= square
    scale[...] = rest
    s += scale
    m[...] = s
    m *= _TWO_SINGLE
    return np.copysign(m, x, out=m)
