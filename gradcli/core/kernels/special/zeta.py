"""Hurwitz's zeta function on arrays, in double precision."""

from __future__ import annotations

import math

import numpy as np

from gradcli import limits
from gradcli.core.kernels import Array

#: from here on the asymptotic series is exact to double precision
_FAR = 12
#: terms below this part of the sum are negligible
_LEAST = 2.0**-56
#: B(2k) of the Bernoulli numbers, k = 1, 2, ... (A&S table 23.2)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def zeta(s: Array, q: Array) -> Array:
    """The sum of (q + k)^-s, k = 0, 1, ..., by Euler and Maclaurin (A&S 23.2.15 with 23.1.30).

    As PyTorch has it: inf for s = 1 and at the poles, nan for s < 1 and for negative q with an s that is not whole.
    """
    dtype = s.dtype
    power, start = np.broadcast_arrays(np.asarray(s, np.float64), np.asarray(q, np.float64))
    pole = (start <= 0) & (start == np.floor(start))
    wrong = (power < 1) | ((start <= 0) & ~pole & (power != np.floor(power))) | np.isnan(power) | np.isnan(start)
    legal = ~(wrong | pole | (power == 1)) & np.isfinite(start) & np.isfinite(power)
    held_s, held_q = np.where(legal, power, 2.0), np.where(legal, start, 1.0)
    limits.check_work(20.0 * held_q.size * (_FAR - held_q.min(initial=0.0)))
    # the terms one by one, until they are negligible or the asymptotic series is exact
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
