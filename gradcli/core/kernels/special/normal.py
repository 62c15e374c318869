"""exp(x^2) erfc(x), the normal distribution's logarithm and inverse, and Hurwitz's zeta function, on arrays, in double precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.kernels import Array
from gradcli.core.kernels.special.erf import erfc, erfinv, scaled_tail


def _wide(x: Any) -> Array:
    return np.asarray(x, np.float64)


def _scaled(x: Array) -> Array:
    """exp(x^2) erfc(x)."""
    size = np.abs(x)
    near = size < 1
    small = np.where(near, size, 0.0)
    inner = np.exp(small * small) * erfc(small)
    right = np.where(near, inner, scaled_tail(np.where(near, 1.0, size)))
    # exp(2 x^2) with the rounding of the square made good
    high = size.astype(np.float32).astype(np.float64)
    power = np.exp(np.minimum(high * high, 1e4)) * np.exp((size - high) * (size + high))
    left = 2 * np.where(size > 27, np.inf, power) - right
    return np.where(x >= 0, right, np.where(np.isnan(x), x, left))


def erfcx(x: Array) -> Array:
    """exp(x^2) erfc(x)."""
    return _scaled(_wide(x)).astype(x.dtype)


def log_ndtr(x: Array) -> Array:
    """The logarithm of the normal distribution's share below x."""
    wide = _wide(x)
    t = wide * math.sqrt(0.5)
    low = wide < -1
    held = np.where(low, t, -1.0)
    tail = np.log(_scaled(-held) / 2) - held * held
    return np.where(low, np.where(np.isinf(wide), -np.inf, tail), np.log1p(-erfc(np.where(low, 1.0, t)) / 2)).astype(x.dtype)


def ndtri(p: Array) -> Array:
    """Below which a share p of the normal distribution lies: -inf at 0, inf at 1, nan outside.

    In the middle by the inverse of erf; in the tails Newton's steps on the logarithm of the share, from its asymptotic form.
    """
    wide = _wide(p)
    inside = (wide > 0) & (wide < 1)
    share = np.where(inside, wide, 0.5)
    tail = np.minimum(share, 1 - share)
    middle = math.sqrt(2) * _wide(erfinv(2 * share - 1))
    low = tail < 0.1
    target = np.log(np.where(low, tail, 0.05))
    r = np.sqrt(-2 * target)
    x = r - np.log(r * math.sqrt(2 * math.pi)) / r
    for _ in range(6):
        ratio = _scaled(x * math.sqrt(0.5))  # the share of the tail is exp(-x^2 / 2) ratio / 2
        x = x + (np.log(ratio / 2) - x * x / 2 - target) * ratio * math.sqrt(math.pi / 2)
    outer = np.where(share < 0.5, -x, x)
    value = np.where(low, outer, middle)
    edges = np.where(wide == 0, -np.inf, np.where(wide == 1, np.inf, np.nan))
    return np.where(inside, value, edges).astype(p.dtype)


# --- Hurwitz's zeta function ---

#: from here on the asymptotic series are exact to double precision
_FAR = 12
#: terms below this part of the sum no longer count
_LEAST = 2.0**-56
#: B(2k) of the Bernoulli numbers, k = 1, 2, ... (A&S table 23.2)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def zeta(s: Any, q: Any) -> Array:
    """The sum of (q + k)^-s, k = 0, 1, ..., by Euler and Maclaurin (A&S 23.2.15 with 23.1.30).

    As PyTorch has it: inf for s = 1 and at the poles, nan for s < 1 and for negative q with an s that is not whole.
    """
    dtype = s.dtype
    power, start = np.broadcast_arrays(_wide(s), _wide(q))
    pole = (start <= 0) & (start == np.floor(start))
    wrong = (power < 1) | ((start <= 0) & ~pole & (power != np.floor(power))) | np.isnan(power) | np.isnan(start)
    legal = ~(wrong | pole | (power == 1)) & np.isfinite(start) & np.isfinite(power)
    held_s, held_q = np.where(legal, power, 2.0), np.where(legal, start, 1.0)
    limits.check_work(20.0 * held_q.size * (_FAR - held_q.min(initial=0.0)))
    # the terms themselves, until they no longer count or the series takes over
    total = np.zeros_like(held_q)
    more = np.ones(held_q.shape, bool)
    far = _FAR + held_s
    while (more & (held_q < far)).any():
        more &= held_q < far
        term = np.where(more, held_q**-held_s, 0.0)
        total = total + term
        more &= ~((held_q > 0) & (term <= _LEAST * total))
        held_q = np.where(more, held_q + 1, held_q)
    summed = (held_q > 0) & (held_q**-held_s <= _LEAST * total)
    base = total
    total = total + held_q ** (1 - held_s) / (held_s - 1) + 0.5 * held_q**-held_s
    rising = held_s
    for k, b in enumerate(_BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * rising * held_q ** (1 - held_s - 2 * k)
        rising = rising * (held_s + 2 * k - 1) * (held_s + 2 * k)
    limit = np.where(start < 1, np.inf, np.where(start == 1, 1.0, np.nan))
    value = np.where(legal, np.where(summed, base, total), limit)
    return np.where(power == 1, np.inf, np.where(power < 1, np.nan, np.where(pole, np.inf, np.where(wrong, np.nan, value)))).astype(dtype)
