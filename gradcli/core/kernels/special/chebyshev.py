"""Chebyshev series on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.kernels import Array


def series(coefficients: tuple[float, ...], t: Array) -> Any:
    """The sum of coefficients[k] times the Chebyshev polynomial T_k(t), by Clenshaw's recurrence; `t` is within [-1, 1]."""
    twice = t + t
    ahead = np.zeros_like(t)
    here = np.full_like(t, coefficients[-1])
    next = np.empty_like(t)
    for c in coefficients[-2:0:-1]:
        np.multiply(twice, here, out=next)
        next -= ahead
        next += c
        ahead, here, next = here, next, ahead
    return t * here - ahead + coefficients[0]
