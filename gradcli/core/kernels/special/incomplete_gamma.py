"""The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), on arrays, in double precision.

The power series (DLMF 8.11.4) where x is not much above a, the continued fraction of Legendre (DLMF 8.9.2) beyond, and for
large a with x near it Temme's uniform expansion (DLMF 8.12.3 to 8.12.11).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.special.erf import erfc
from gradcli.core.kernels.special.gamma import lgamma

_EPS = 2.0**-53
#: from this a on Temme's expansion is exact to double precision, for x within _AROUND of a
_LARGE, _AROUND = 100.0, 0.4
_ORDERS, _POWERS = 8, 28
#: more steps than any argument outside of Temme's region takes
_STEPS = 2000
#: coefficients of the logarithm of Gamma(a) / (sqrt(2 pi / a) (a / e)^a), in powers of 1 / a^2 (A&S 6.1.40)
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


@cache
def _temme() -> list[list[float]]:
    """The Taylor coefficients of c_k(eta) of DLMF 8.12.9, from those of lambda(eta) - 1 and the recurrence 8.12.10."""
    n = _POWERS + 2 * _ORDERS + 2
    # mu of mu - log(1 + mu) = eta^2 / 2, by mu * mu' = eta * (1 + mu): the powers of eta one after another
    mu = [Fraction(0), Fraction(1)]
    for k in range(2, n + 2):
        known = sum((mu[i] * mu[k + 1 - i] for i in range(2, k)), Fraction(0))
        mu.append(mu[k - 1] / (k + 1) - known / 2)
    # 1 / mu - 1 / eta: the reciprocal of mu / eta without its constant
    inverse = [Fraction(1)]
    for k in range(1, n):
        inverse.append(-sum((mu[i + 1] * inverse[k - i] for i in range(1, k + 1)), Fraction(0)))
    first = inverse[1:]
    found = [first]
    # eta c_k = d/deta c_(k-1) + gamma_k eta / mu, where gamma_k makes the right side 0 at eta = 0
    for _ in range(1, _ORDERS):
        last = found[-1]
        slope = [(i + 1) * last[i + 1] for i in range(len(last) - 1)]
        constant = -slope[0]
        found.append([slope[i + 1] + constant * inverse[i + 1] for i in range(min(len(slope), len(inverse)) - 1)])
    return [[float(c) for c in row[:_POWERS]] for row in found]


def _excess(a: Array, x: Array) -> Array:
    """mu - log(1 + mu) of mu = x / a - 1, exact for small mu too."""
    mu = (x - a) / a
    near = np.abs(mu) < 0.4
    held = np.where(near, mu, 0.0)
    # with r = mu / (2 + mu): log(1 + mu) = 2 (r + r^3 / 3 + ...), and mu - 2 r = mu r
    r = held / (2 + held)
    square = r * r
    total = np.zeros_like(r)
    for k in range(41, 1, -2):
        total = total * square + 1 / k
    return np.where(near, held * r - 2 * r * square * total, mu - np.log(x / a))


def _uniform(a: Array, x: Array) -> tuple[Array, Array]:
    """P and Q by Temme's expansion."""
    half = np.maximum(_excess(a, x), 0.0)
    eta = np.sign(x - a) * np.sqrt(2 * half)
    total = np.zeros_like(a)
    for row in reversed(_temme()):
        c = np.zeros_like(eta)
        for coefficient in reversed(row):
            c = c * eta + coefficient
        total = total / a + c
    rest = np.exp(-a * half) / np.sqrt(2 * np.pi * a) * total
    turn = eta * np.sqrt(a / 2)
    return 0.5 * erfc(-turn) - rest, 0.5 * erfc(turn) + rest


def _factor(a: Array, x: Array) -> Array:
    """x^a exp(-x) / Gamma(a + 1)."""
    large = a >= 10
    held = np.where(large, a, 10.0)
    correction = np.zeros_like(a)
    for c in reversed(_STIRLING):
        correction = correction / (held * held) + c
    far = np.exp(-held * _excess(held, x) - correction / held) / np.sqrt(2 * np.pi * held)
    small = np.where(large, 1.0, a)
    near = np.exp(small * np.log(x) - x - lgamma(small + 1))
    return np.where(large, far, near)


def _series(a: Array, x: Array) -> Array:
    """P by its power series."""
    term = np.ones_like(a)
    total = np.ones_like(a)
    for k in range(1, _STEPS):
        term = term * x / (a + k)
        total = total + term
        if not (term > total * _EPS).any():
            break
    return total * _factor(a, x)


def _fraction(a: Array, x: Array) -> Array:
    """Q by its continued fraction, evaluated by Lentz's method."""
    tiny = 1e-300
    b = x + 1 - a
    c = np.full_like(a, 1 / tiny)
    d = 1 / np.where(b == 0, tiny, b)
    value = d
    for k in range(1, _STEPS):
        step = k * (a - k)
        b = b + 2
        d = step * d + b
        d = 1 / np.where(d == 0, tiny, d)
        c = b + step / c
        c = np.where(c == 0, tiny, c)
        change = c * d
        value = value * change
        if not (np.abs(change - 1) > _EPS).any():
            break
    return value * _factor(a, x) * a


def _small(a: Array, x: Array, kept: Any) -> Array:
    """Q for x up to about 1 and smaller a, without the cancellation of 1 - P: DLMF 8.7.3 around a = 0.

    Numbers of single precision go by its rounding of a + 1, which leaves out small a, as in PyTorch.
    """
    term = np.ones_like(a)
    total = np.zeros_like(a)
    for k in range(1, 60):
        term = -term * x / k
        total = total - term / (a + k)
    power = a * np.log(x)
    # 1 - x^a / Gamma(a + 1) + x^a / Gamma(a) total
    return np.asarray(-np.expm1(power - lgamma((1 + a.astype(kept)).astype(np.float64))) + np.exp(power - lgamma(a)) * total)


def _both(a: Array, x: Array, kept: Any, upper: bool) -> tuple[Array, Array]:
    """P and Q of positive finite arguments, which come from numbers of the dtype `kept`, in the way of PyTorch for P or for Q (`upper`)."""
    p, q = np.empty_like(a), np.empty_like(a)
    uniform = (a > _LARGE) & (np.abs(x - a) < _AROUND * a)
    tail = np.where(x > 1.1, x < a, np.where(x <= 0.5, -0.4 / np.log(x) < a, 1.1 * x < a))
    series = ~uniform & (tail if upper else tail | (x <= 1) | (x <= a))
    small = ~uniform & ~series & (x <= 1.1)
    fraction = ~(uniform | series | small)
    for where, run, of_p in ((series, _series, True), (small, lambda a, x: _small(a, x, kept), False), (fraction, _fraction, False)):
        if where.any():
            found = np.clip(run(a[where], x[where]), 0.0, 1.0)
            p[where], q[where] = (found, 1 - found) if of_p else (1 - found, found)
    if uniform.any():
        p[uniform], q[uniform] = _uniform(a[uniform], x[uniform])
    return p, q


def _share(a: Any, x: Any, upper: bool) -> Array:
    dtype = a.dtype
    wide, far = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    out = np.full(wide.shape, np.nan)
    inside = (wide > 0) & (far > 0) & np.isfinite(wide) & np.isfinite(far)
    if inside.any():
        out[inside] = _both(wide[inside], far[inside], dtype, upper)[upper]
    none, all_ = (1.0, 0.0) if upper else (0.0, 1.0)
    edges = (
        ((wide < 0) | (far < 0), np.nan),
        (wide == 0, np.where(far > 0, all_, np.nan)),
        (far == 0, none),
        (np.isinf(wide), np.where(np.isinf(far), np.nan, none)),
        (np.isinf(far), all_),
    )
    out = np.select([case for case, _ in edges], [np.broadcast_to(value, out.shape) for _, value in edges], out)
    return out.astype(dtype)


def lower(a: Any, x: Any) -> Array:
    """P(a, x); nan for negative arguments."""
    return _share(a, x, False)


def upper(a: Any, x: Any) -> Array:
    """Q(a, x); nan for negative arguments."""
    return _share(a, x, True)
