"""The normal distribution on arrays: exp(x^2) erfc(x), the logarithm of the distribution function and its inverse, in double precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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
    # the rounding error of the square stays, as in PyTorch's kernel
    left = 2 * np.exp(np.minimum(size * size, 1e4)) - np.where(size > 6.1, 0, right)
    return np.where(x >= 0, right, np.where(np.isnan(x), x, np.where(size > 26.7, np.inf, left)))


#: from here on PyTorch takes one term of the continued fraction, before five, in the precision of the argument
_ONE_TERM, _FIVE_TERMS = 5e7, 50.0
_ROOT = 0.56418958354775628694807945156


def _scaled_in_single(x: Array) -> Array:
    """exp(x^2) erfc(x) in single precision: PyTorch's kernel rounds squares, and the argument of its polynomials, 400 / (4 + |x|)."""
    wide, at = _wide(x), np.float32(400) / (np.float32(4) + np.abs(x))
    right = _wide(_scaled(400 / _wide(at) - 4).astype(np.float32))
    left = np.where(wide < -26.7, np.inf, 2 * np.exp(_wide(np.where(x < 0, x * x, 0))) - np.where(wide < -6.1, 0, right))
    return np.where(x < 0, left, right)


def erfcx(x: Array) -> Array:
    """exp(x^2) erfc(x) in the steps of PyTorch's kernel, so that the cancellation in its derivative leaves the same."""
    near = _scaled_in_single(x) if x.dtype == np.float32 else _scaled(x)
    far = x > _FIVE_TERMS
    if not far.any():
        return near.astype(x.dtype)
    root, held = _wide(x.dtype.type(_ROOT)), np.where(far, x, 1)
    square = _wide(np.where(held > _ONE_TERM, 1, held * held).astype(x.dtype))
    below = _wide((square * (square + 5)).astype(x.dtype))
    five = root * (square * (square + 4.5) + 2) / (_wide(held) * (below + 3.75))
    return np.where(far, np.where(held > _ONE_TERM, root / held, five), near).astype(x.dtype)


def log_ndtr(x: Array) -> Array:
    """The logarithm of the normal distribution function at x, its tail in the precision of the argument, as PyTorch's kernel."""
    t = x * x.dtype.type(math.sqrt(0.5))
    low = x < -1
    held = np.where(low, t, -1).astype(x.dtype)
    tail = np.log(erfcx(-held) / 2) - held * held
    right = np.log1p(-erfc(_wide(np.where(low, 1, t))).astype(x.dtype) / 2)
    return np.asarray(np.where(low, tail, right))


def ndtri(p: Array) -> Array:
    """The inverse of the normal distribution function: -inf at p = 0, inf at p = 1, nan outside of [0, 1].

    In the middle it comes from the inverse of erf, in the tails from Newton's steps on the logarithm of the tail's
    probability, which begin at its asymptotic form.
    """
    wide = _wide(p)
    inside = (wide > 0) & (wide < 1)
    held = np.where(inside, wide, 0.5)
    tail = np.minimum(held, 1 - held)
    middle = math.sqrt(2) * _wide(erfinv(2 * held - 1))
    low = tail < 0.1
    target = np.log(np.where(low, tail, 0.05))
    r = np.sqrt(-2 * target)
    x = r - np.log(r * math.sqrt(2 * math.pi)) / r
    for _ in range(6):
        ratio = _scaled(x * math.sqrt(0.5))  # the tail's probability is exp(-x^2 / 2) ratio / 2
        x = x + (np.log(ratio / 2) - x * x / 2 - target) * ratio * math.sqrt(math.pi / 2)
    outer = np.where(held < 0.5, -x, x)
    value = np.where(low, outer, middle)
    edges = np.where(wide == 0, -np.inf, np.where(wide == 1, np.inf, np.nan))
    return np.where(inside, value, edges).astype(p.dtype)
