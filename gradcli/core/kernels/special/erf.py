"""erf, erfc and the inverse of erf on arrays.

Near 0, erf(x) = x * s(2x^2 - 1); beyond 1, erfc(x) = exp(-x^2) * b(u) / (x + K) with u running from -1 at x = 1 to 1 at
infinity. s and b are Chebyshev series, whose coefficients were computed with 50 digits from the definition
c_j = 2/N sum f(cos t_k) cos(j t_k); the error is below 2e-16 relative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.kernels import Array
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


def _sum(coefficients: tuple[float, ...], t: Array) -> Array:
    """The Chebyshev series at `t`; single precision needs fewer terms."""
    if t.dtype != np.float64:
        coefficients = tuple(c for c in coefficients if abs(c) > 1e-9)
    return np.asarray(series(coefficients, t))


def _outer(x: Array) -> Array:
    """exp(x^2) erfc(x) (x + K) for x >= 1."""
    t = (x - _K) / (x + _K)
    t = np.where(x > 1e6, 1, t)
    return _sum(_BIG, ((t - _LOWEST) * (2 / (1 - _LOWEST)) - 1).astype(x.dtype))


def scaled_tail(x: Array) -> Array:
    """exp(x^2) erfc(x) for x >= 1."""
    return _outer(x) / (x + _K)


def _tail(x: Array) -> Array:
    """erfc for x >= 1."""
    # exp(-x^2) without the rounding error of x^2: high is x with the lower half of its digits cut off
    high = x.astype(np.float32 if x.dtype == np.float64 else np.float16).astype(x.dtype)
    power = np.exp(-high * high) * np.exp(-(x - high) * (x + high))
    return np.where(x > 28, 0, power * _outer(x) / (x + _K))


def _working(x: Any) -> tuple[Array, Any]:
    x = np.asarray(x)
    wide = np.float32 if x.dtype == np.float16 else x.dtype
    return x.astype(wide, copy=False).reshape(-1), x


def erf(x: Array) -> Array:
    """The error function, elementwise, in the dtype of x."""
    flat, x = _working(x)
    out = np.empty_like(flat)
    size = np.abs(flat)
    near = ~(size >= 1)
    inner = flat[near]
    out[near] = inner * _sum(_SMALL, 2 * inner * inner - 1)
    outer = ~near
    out[outer] = np.copysign(1 - _tail(size[outer]), flat[outer])
    return out.reshape(x.shape).astype(x.dtype, copy=False)


def erfc(x: Any) -> Array:
    """1 - erf(x), accurate for large x."""
    flat, x = _working(x)
    out = np.empty_like(flat)
    size = np.abs(flat)
    near = ~(size >= 1)
    inner = flat[near]
    out[near] = 1 - inner * _sum(_SMALL, 2 * inner * inner - 1)
    outer = ~near
    tail = _tail(size[outer])
    out[outer] = np.where(flat[outer] > 0, tail, 2 - tail)
    return out.reshape(x.shape).astype(x.dtype, copy=False)


def erfinv(y: Any) -> Array:
    """The inverse of erf: Winitzki's closed approximation (2008), then Halley steps on erfc of the larger half."""
    y = np.asarray(y)
    size = np.abs(y.astype(np.float64))
    logarithm = np.log1p(-size * size)
    a = 2 / (np.pi * 0.147) + logarithm / 2
    x = np.sqrt(np.sqrt(a * a - logarithm / 0.147) - a)
    for _ in range(3):
        error = np.where(size < 0.5, erf(x) - size, (1 - size) - erfc(x))
        step = error / (2 / np.sqrt(np.pi) * np.exp(-x * x))
        x = x - step / (1 + x * step)
    x = np.where(size < 1, x, np.where(size == 1, np.inf, np.nan))
    return np.asarray(np.copysign(x, y), y.dtype)
