"""erf, erfc and the inverse of erf on arrays.

Near 0, erf(x) = x * s(2x^2 - 1); beyond 1, erfc(x) = exp(-x^2) * b(u) / (x + K) with u running from -1 at x = 1 to 1 at
infinity. s and b are Chebyshev series, whose coefficients were computed with 50 digits from the definition
c_j = 2/N sum f(cos t_k) cos(j t_k); the error is below 2e-16 relative.
"""

from __future__ import annotations

import numpy as np

from gradcli.core.kernels import Array, elementary
from gradcli.core.kernels.blocks import in_pieces
from gradcli.core.kernels.special.chebyshev import series

_SMALL = (
    0.97547693938265409598,
    -0.14226120510371364238,
    0.010035582187599795576,
    -0.00057687646997674847651,
    0.000027419931252196061034,
    -1.1043175507344507604e-6,
    3.848875542034503695e-8,
    -1.180858253387546697e-9,
    3.2334215826050909646e-11,
    -7.9910159470045487582e-13,
    1.7990725113961455612e-14,
    -3.7186354878186926382e-16,
    7.1035990037142529712e-18,
)
_BIG = (
    0.94285672306277287978,
    -0.45400266241393291911,
    0.086501709854893205734,
    -0.012187349785163005854,
    0.0010229192207129903656,
    0.000012425477268497001607,
    -0.000015496891093239147065,
    1.1532352092978393736e-6,
    1.9763914423530824554e-7,
    -3.3862420897174322754e-8,
    -2.8971469540034254751e-9,
    8.7306323641693886535e-10,
    5.9010404724293915611e-11,
    -2.3451343691920642087e-11,
    -1.824414494427617154e-12,
    6.6118418449261249729e-13,
    7.4501410974780278261e-14,
    -1.8624741714216578353e-14,
    -3.3525938120451952982e-15,
    4.6803149766937010711e-16,
    1.5019979339981405635e-16,
)
_K = 2.5
_LOWEST = (1 - _K) / (1 + _K)


def _single(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    """The terms that single precision needs."""
    return tuple(c for c in coefficients if abs(c) > 1e-9)


_SERIES = {True: (_SMALL, _BIG), False: (_single(_SMALL), _single(_BIG))}


def _near(x: Array) -> Array:
    """erf for |x| < 1."""
    return np.asarray(x * series(_SERIES[x.dtype == np.float64][0], 2 * x * x - 1))


def _outer(x: Array) -> Array:
    """exp(x^2) erfc(x) (x + K) for x >= 1."""
    t = (x - _K) / (x + _K)
    t = np.where(x > 1e6, 1, t)
    return np.asarray(series(_SERIES[x.dtype == np.float64][1], ((t - _LOWEST) * (2 / (1 - _LOWEST)) - 1).astype(x.dtype, copy=False)))


def scaled_tail(x: Array) -> Array:
    """exp(x^2) erfc(x) for x >= 1."""
    return _outer(x) / (x + _K)


#: the digits of a float32 that float16 has not, and half of the first of them
_LOWER, _HALF = np.int32(0x1FFF), np.int32(0xFFF)


def _upper(x: Array) -> Array:
    """x rounded to the upper half of its digits, for 1 <= x <= 28."""
    if x.dtype == np.float64:
        return x.astype(np.float32).astype(np.float64)
    bits = x.view(np.int32)
    return ((bits + (_HALF + (bits >> 13 & 1))) & ~_LOWER).view(np.float32)


def _tail(x: Array) -> Array:
    """erfc for x >= 1."""
    # exp(-x^2) without the rounding error of x^2
    high = _upper(x)
    power = np.exp(-high * high) * np.exp(-(x - high) * (x + high))
    return np.where(x > 28, 0, power * _outer(x) / (x + _K))


@in_pieces
def erf(x: Array) -> Array:
    """The error function, elementwise, in the dtype of x."""
    if x.dtype == np.float16:
        return np.asarray(erf(x.astype(np.float32)), np.float16)
    size = np.abs(x)
    made = _near(x)
    far = (size >= 1).nonzero()[0]
    if far.size:
        made[far] = np.copysign(1 - _tail(size[far]), x[far])
    return made


#: the coefficients of Abramowitz and Stegun, formula 7.1.26
_HALF_POLYNOMIAL = (-1.453152027, 1.421413741, -0.284496736, 0.254829592)


@in_pieces
def erf_in_half(x: Array) -> Array:
    """erf of numbers of half precision, which are given in single: to 1.5e-7, as PyTorch's vector code has it."""
    size = np.abs(x)
    t = 1 / elementary.fused(size, 0.3275911, 1)
    polynomial: Array = np.full_like(x, 1.061405429)
    for coefficient in _HALF_POLYNOMIAL:
        polynomial = elementary.fused(polynomial, t, coefficient)
    return np.asarray(np.copysign(elementary.fused(-elementary.exp(-x * x) * t, polynomial, 1), x))


@in_pieces
def erfc(x: Array) -> Array:
    """1 - erf(x), accurate for large x."""
    if x.dtype == np.float16:
        return np.asarray(erfc(x.astype(np.float32)), np.float16)
    size = np.abs(x)
    made: Array = 1 - _near(x)
    far = (size >= 1).nonzero()[0]
    if far.size:
        tail = _tail(size[far])
        made[far] = np.where(x[far] > 0, tail, 2 - tail)
    return made


def _inverse(y: Array) -> Array:
    """The inverse of erf for 0 <= y < 1: Winitzki's closed approximation (2008), then Halley steps on erfc of the larger half."""
    logarithm = np.log1p(-y * y)
    a = 2 / (np.pi * 0.147) + logarithm / 2
    x: Array = np.sqrt(np.sqrt(a * a - logarithm / 0.147) - a)
    larger = (y >= 0.5).nonzero()[0]
    rest = 1 - y[larger]
    for _ in range(3):
        error = _near(x) - y
        error[larger] = rest - erfc(x[larger])
        step = error / (2 / np.sqrt(np.pi) * np.exp(-x * x))
        x = x - step / (1 + x * step)
    return x


@in_pieces
def erfinv(y: Array) -> Array:
    """The inverse of erf, elementwise, in the dtype of y."""
    size = np.abs(y.astype(np.float64))
    x = np.where(size < 1, _inverse(size), np.where(size == 1, np.inf, np.nan))
    return np.asarray(np.copysign(x, y), y.dtype)
