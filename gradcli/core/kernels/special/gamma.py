"""The logarithm of the gamma function and its derivatives, on arrays, in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.kernels import Array, blocks
from gradcli.core.kernels.special.zeta import zeta

#: from here on the asymptotic series are exact to double precision
_FAR = 12
#: the Bernoulli numbers B(2k), k = 1, 2, ... (Abramowitz and Stegun, table 23.2)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _log_gamma(x: float) -> float:
    if math.isinf(x):
        return math.inf
    if x <= 0 and x == math.floor(x):
        return math.inf  # a pole
    return math.lgamma(x)


def _wide(x: Any) -> Array:
    return np.asarray(x, np.float64)


def _lgamma(x: Array) -> Array:
    made = np.array([_log_gamma(v) for v in _wide(x).reshape(-1).tolist()], np.float64)
    return made.reshape(x.shape).astype(x.dtype)


def _digamma(x: Array) -> Array:
    wide = _wide(x)
    left = wide < 0.5
    y = np.where(left, 1 - wide, wide)
    result = np.zeros_like(y)
    for _ in range(_FAR):
        near = y < _FAR
        result = np.where(near, result - 1 / np.where(near, y, 1), result)
        y = np.where(near, y + 1, y)
    result = result + np.log(y) - 0.5 / y
    for k, b in enumerate(_BERNOULLI, 1):
        result = result - b / (2 * k * y ** (2 * k))
    fraction = wide - np.round(wide)
    reflected = result - math.pi / np.tan(math.pi * fraction)
    result = np.where(left, reflected, result)
    result = np.where((wide < 0) & (fraction == 0), np.nan, result)
    return np.asarray(np.where(wide == 0, np.copysign(np.inf, -wide), result)).astype(x.dtype)


#: the steps by which arguments are raised; the product of as many of the largest float32 is within double precision
_STEPS = 7


def _reflected(x: Array) -> tuple[Array, Array, Array]:
    """Where arguments are to the left of 1/2, the arguments reflected to the right half, and the distance from the nearest integer."""
    left = x < 0.5
    return left, np.where(left, 1 - x, x), x - np.round(x)


def _series(y: Array, ratio: Callable[[int], float]) -> Array:
    """The sum of B(2k) / ratio(2k) / y^(2k), k = 1, 2, ..."""
    square = 1 / (y * y)
    total = np.zeros_like(y)
    for k, b in reversed([*enumerate(_BERNOULLI, 1)]):
        total += b / ratio(2 * k)
        total *= square
    return total


def _quick_lgamma(x: Array) -> tuple[Array, Array]:
    """log |gamma(x)| by Stirling's series (A&S 6.1.41), and a bound of its error."""
    left, y, fraction = _reflected(x)
    product = y.copy()
    for k in range(1, _STEPS):
        product *= y + k
    y += _STEPS
    line = (y - 0.5) * np.log(y)
    value = line - y + 0.5 * math.log(2 * math.pi) + _series(y, lambda n: n * (n - 1)) * y - np.log(product)
    if left.any():
        value = np.where(left, math.log(math.pi) - np.log(np.abs(np.sin(math.pi * fraction))) - value, value)
    return value, 1e-13 * (line + np.abs(value))


def _quick_digamma(x: Array) -> tuple[Array, Array]:
    """The derivative of lgamma in fewer steps, and a bound of its error."""
    left, y, fraction = _reflected(x)
    # the sum of 1 / (y + k) as a fraction
    above, below = np.ones_like(y), y.copy()
    for k in range(1, _STEPS):
        above *= y + k
        above += below
        below *= y + k
    y += _STEPS
    value: Array = np.log(y) - 0.5 / y - _series(y, lambda n: n) - above / below
    if left.any():
        value = np.where(left, value - math.pi / np.tan(math.pi * fraction), value)
    return value, 1e-13 * (np.abs(value) + 100)


def _rounded(quick: Callable[[Array], tuple[Array, Array]], exact: Callable[[Array], Array]) -> Callable[[Any], Array]:
    """What `exact` gives, for float32 from the values and bounds of `quick`.

    Where a value is not finite, or is rounded to single precision one way or the other within its bound, `exact` is asked.
    """

    @blocks.in_pieces
    def in_single(x: Array) -> Array:
        value, error = quick(x.astype(np.float64))
        made, other = (value - error).astype(np.float32), (value + error).astype(np.float32)
        doubt = ((made.view(np.int32) != other.view(np.int32)) | ~np.isfinite(made)).nonzero()[0]
        made[doubt] = exact(x[doubt])
        return made

    return lambda x: in_single(x) if x.dtype == np.float32 and x.size >= _MANY else exact(np.asarray(x))


#: the number of elements below which the exact steps are as fast
_MANY = 1 << 9
#: log |gamma(x)|, inf at the poles
lgamma = _rounded(_quick_lgamma, _lgamma)
#: the derivative of lgamma: reflected to the right half, raised to where its series holds (A&S 6.3.5, 6.3.7, 6.3.18)
digamma = _rounded(_quick_digamma, _digamma)


#: below this the sum would take too many terms one by one
_LOWEST = -1000.0


def _sums(power: int, x: Array) -> Array:
    """The sum of (x + k)^-power, k = 0, 1, ...; that of the terms far to the left is a difference of two such sums."""
    order, low = np.asarray(float(power)), x < _LOWEST
    if not low.any():
        return zeta(order, x)
    near = np.where(low, x + np.ceil(_LOWEST - x), x)
    far = zeta(order, np.where(low, 1 - near, 1.0)) - zeta(order, np.where(low, 1 - x, 1.0))
    return np.asarray(zeta(order, near) + (-1.0) ** power * far)


def polygamma(x: Array, n: int, narrowed: Callable[[Array], Array] | None = None) -> Array:
    """The n-th derivative of digamma; inf or nan at the poles.

    In half precision, to which `narrowed` rounds, PyTorch rounds the sum before it multiplies by a factor of single precision.

    PyTorch reflects the first derivative there: it has what the rounding of pi leaves of the poles.
    """
    if n == 0:
        return digamma(x)
    if n == 1 and x.dtype.itemsize <= 4:
        return _trigamma(x.astype(np.float32)).astype(x.dtype)
    wide = _wide(x)
    pole = (wide <= 0) & (wide == np.floor(wide))
    held = np.where(pole, np.nan, wide)
    # PyTorch's n! is exp(lgamma(n + 1)) in the dtype
    logarithm = math.log(math.factorial(n))
    factor = math.exp(logarithm) if x.dtype == np.float64 else float(np.float32(math.exp(np.float32(logarithm))))
    factor *= (-1.0) ** (n + 1)
    sums = _sums(n + 1, np.where(np.isnan(held), 1.0, held))
    if narrowed is not None and n > 1:
        sums = narrowed(sums)
    result = factor * np.where(np.isnan(held), np.nan, sums)
    result = np.where(pole, factor * np.inf, result)
    if n == 1:
        turned = math.pi * (math.pi / np.square(np.sin(math.pi * wide)))
        result = np.where(pole, turned, np.where(wide == np.inf, 0, result))
    return np.asarray(result).astype(x.dtype)


def _trigamma(x: Array) -> Array:
    """The derivative of digamma in single precision and the steps of PyTorch's kernel, whose reflection rounds near poles."""
    number = x.dtype.type
    left = x < 0.5
    turned = (number(math.pi) * number(math.pi)) / np.square(np.sin(number(math.pi) * x))
    y = np.where(left, 1 - x, x).astype(x.dtype)
    total = np.where(left, -turned, 0).astype(x.dtype)
    for _ in range(6):
        total = total + 1 / (y * y)
        y = y + 1
    square = 1 / (y * y)
    inner = number(1 / 6) - square * (number(1 / 30) - square * number(1 / 42))
    total = total + (1 + 1 / (2 * y) + square * inner) / y
    return np.asarray(np.where(left, -total, total))
