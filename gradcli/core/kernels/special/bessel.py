"""Bessel functions and modified Bessel functions of order 0 and 1, and the Airy function, on arrays.

All are computed from Chebyshev series as arranged in Abramowitz and Stegun, chapters 9 and 10, with PyTorch's values at the
edges. As in PyTorch, modified Bessel functions are computed in the dtype of x; the others in double precision, with the
phase in the dtype of x.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.kernels import Array, elementary, half_to_single
from gradcli.core.kernels.special import bessel_series as tables
from gradcli.core.kernels.special.chebyshev import series

#: squares of the first two zeros of J0 and J1
_J0_ZEROS = (5.783185962946784521, 30.47126234366208640)
_J1_ZEROS = (14.68197064212389326, 49.21845632169460367)
_NEAR, _SQUARE = 5.0, 25.0


def _wide(x: Any) -> Array:
    return np.asarray(x, np.float64)


def _chebyshev(coefficients: tuple[float, ...], y: Array, terms: int | None = None) -> Array:
    """A Chebyshev series of y / 2, with y from -2 to 2, rounded step by step as PyTorch's own loop rounds it."""
    kind = y.dtype.type
    held = [kind(c) for c in coefficients[:terms]]
    held[0] *= 2
    here, last, before = np.full_like(y, held[-1]), np.zeros_like(y), np.zeros_like(y)
    for c in held[-2::-1]:
        before, last = last, here
        here = elementary.fused(y, last, -before) + c
    return np.asarray(kind(0.5) * (here - before))


#: PyTorch's single precision takes fewer terms for exp(-|x|) I1(x), near and far, than for the modified Bessel function itself
_FEWER = {np.dtype(np.float32): (17, 7)}


def _parts(a: Array, order: int, fewer: bool = False) -> tuple[Array, Array, Array, Array]:
    """For a >= 0: exp(-a) I(a) / a^order for a <= 8, exp(-a) I(a) sqrt(a) for a >= 8, sqrt(a) of the latter, and whether a <= 8."""
    near, far = _FEWER.get(a.dtype, (None, None)) if fewer else (None, None)
    small, large = np.minimum(a, a.dtype.type(8)), np.maximum(a, a.dtype.type(8))
    inner = _chebyshev(tables.I1_NEAR if order else tables.I0_NEAR, small / 2 - 2, near)
    outer = _chebyshev(tables.I1_FAR if order else tables.I0_FAR, 32 / large - 2, far)
    return inner, outer, np.sqrt(large), a <= 8


def _with_sign(x: Array, value: Any) -> Array:
    return np.asarray(np.where(x < 0, -value, value))


def i0e(x: Array) -> Array:
    """exp(-|x|) I0(x)."""
    inner, outer, root, near = _parts(np.abs(half_to_single(x)), 0)
    return np.where(near, inner, outer / root).astype(x.dtype)


def i1e(x: Array) -> Array:
    """exp(-|x|) I1(x)."""
    a = np.abs(half_to_single(x))
    inner, outer, root, near = _parts(a, 1, True)
    return _with_sign(x, np.where(near, inner * a, outer / root)).astype(x.dtype)


def _i0(x: Array) -> Array:
    a = np.abs(x)
    power = elementary.exp(a)
    inner, outer, root, near = _parts(a, 0)
    return np.asarray(np.where(near, power * inner, power * outer / root))


def _i1(x: Array, fewer: bool = False) -> Array:
    a = np.abs(x)
    power = elementary.exp(a)
    inner, outer, root, near = _parts(a, 1, fewer)
    return _with_sign(x, np.where(near, power * a * inner if fewer else inner * a * power, power * outer / root))


def i0(x: Array) -> Array:
    """I0(x); inf where exp(|x|) is, nan at the infinities."""
    return _i0(half_to_single(x)).astype(x.dtype)


def i1(x: Array) -> Array:
    """I1(x); infinite where exp(|x|) is, nan at the infinities."""
    return _i1(half_to_single(x), True).astype(x.dtype)


def modified_i1(x: Array) -> Array:
    """I1(x), with all terms in single precision too."""
    return _i1(x)


def _k_near(x: Array, order: int) -> Array:
    """K(x) for 0 < x <= 2."""
    half = elementary.log(x.dtype.type(0.5) * x)
    if order == 0:
        return np.asarray(_chebyshev(tables.K0_NEAR, x * x - 2) - half * _i0(x))
    return np.asarray(half * _i1(x) + _chebyshev(tables.K1_NEAR, x * x - 2) / x)


def _modified_k(order: int, scaled: bool) -> Callable[[Array], Array]:
    far = tables.K1_FAR if order else tables.K0_FAR

    def compute(x: Array) -> Array:
        one, two = x.dtype.type(1), x.dtype.type(2)
        small = np.where((x > 0) & (x <= 2), x, one)
        inner = _k_near(small, order)
        large = np.where(x > 2, x, two)
        outer = _chebyshev(far, 8 / large - 2)
        if scaled:
            inner = inner * elementary.exp(small)
        else:
            outer = elementary.exp(-large) * outer
        value = np.where(x > 2, outer / np.sqrt(large), inner)
        return np.where(x > 0, value, np.where(x == 0, np.inf, np.nan)).astype(x.dtype)

    return compute


k0, k1 = _modified_k(0, False), _modified_k(1, False)
scaled_k0, scaled_k1 = _modified_k(0, True), _modified_k(1, True)


# --- oscillating functions ---


def _phase(x: Array, part: float) -> tuple[Array, Array]:
    """cos and sin of x - part * pi, the difference rounded as PyTorch's dtype rounds it."""
    work = half_to_single(x)
    angle = _wide(work - work.dtype.type(part * math.pi))
    return np.cos(angle), np.sin(angle)


def _hankel(x: Array, order: int) -> tuple[Array, Array]:
    """J and Y of x > 5 by Hankel's expansion (A&S 9.2.5, 9.2.6)."""
    wide = _wide(x)
    t = 2 * _SQUARE / (wide * wide) - 1
    p = series(tables.P1 if order else tables.P0, t)
    q = series(tables.Q1 if order else tables.Q0, t) / wide
    cos, sin = _phase(x, 0.75 if order else 0.25)
    scale = np.sqrt(2 / (np.pi * wide))
    return scale * (p * cos - q * sin), scale * (p * sin + q * cos)


def _j_near(x: Array, order: int) -> Array:
    z = x * x
    first, second = _J1_ZEROS if order else _J0_ZEROS
    value = (z - first) * (z - second) * series(tables.J1_NEAR if order else tables.J0_NEAR, z * (2 / _SQUARE) - 1)
    return np.asarray(value * x if order else value)


def _bessel_j(order: int) -> Callable[[Array], Array]:
    def compute(x: Array) -> Array:
        size = np.abs(x)
        wide = _wide(size)
        near = wide <= _NEAR
        inner = _j_near(np.where(near, _wide(x), 1.0), order)
        outer, _ = _hankel(np.where(near, x.dtype.type(_NEAR), size), order)
        return np.where(near, inner, _with_sign(x, outer) if order else outer).astype(x.dtype)

    return compute


def _bessel_y(order: int) -> Callable[[Array], Array]:
    def compute(x: Array) -> Array:
        wide = _wide(x)
        near = wide <= _NEAR
        small = np.where(near & (wide > 0), wide, 1.0)
        t = small * small * (2 / _SQUARE) - 1
        logarithm = np.log(small)
        if order:
            inner = small * series(tables.Y1_NEAR, t) + 2 / np.pi * (logarithm * _j_near(small, 1) - 1 / small)
        else:
            inner = series(tables.Y0_NEAR, t) + 2 / np.pi * logarithm * _j_near(small, 0)
        _, outer = _hankel(np.where(near, x.dtype.type(_NEAR), x), order)
        value = np.where(near, inner, outer)
        return np.where(wide == 0, -np.inf, np.where(wide < 0, np.nan, value)).astype(x.dtype)

    return compute


j0, j1 = _bessel_j(0), _bessel_j(1)
y0, y1 = _bessel_y(0), _bessel_y(1)


def spherical_j0(x: Array) -> Array:
    """sin(x) / x; 1 at 0 and 0 at the infinities."""
    wide = _wide(x)
    held = np.where((wide == 0) | np.isinf(wide), 1.0, wide)
    return np.where(np.isinf(wide), 0.0, np.where(wide == 0, 1.0, np.sin(held) / held)).astype(x.dtype)


#: beyond this Ai(x) is 0
_AIRY_END = 103.892


def airy_ai(x: Array) -> Array:
    """The Airy function Ai (A&S 10.4.59 and 10.4.60 with the series made exact); nan at the infinities."""
    wide = _wide(x)
    near = series(tables.AI_NEAR, (np.clip(wide, -5.0, 2.0) + 1.5) / 3.5)
    right = np.clip(wide, 2.0, _AIRY_END)
    z = right * np.sqrt(right) * (2 / 3)
    t = 2 * (2 / 3 * 2**1.5) / z - 1
    falling = series(tables.AI_FAR, t) * np.exp(-z) / (2 * math.sqrt(math.pi) * np.sqrt(np.sqrt(right)))
    y = np.where(wide < -5, -x, x.dtype.type(5))
    # the phase is rounded as PyTorch's dtype rounds it
    turn = 2 * y * np.sqrt(y) / y.dtype.type(3)
    cos, sin = _phase(turn, -0.25)
    z = _wide(turn)
    t = 2 * (2 / 3 * 5**1.5 / z) ** 2 - 1
    waving = (series(tables.AI_F, t) * sin - series(tables.AI_G, t) / z * cos) / (math.sqrt(math.pi) * np.sqrt(np.sqrt(_wide(y))))
    value = np.where(wide > 2, np.where(wide > _AIRY_END, 0.0, falling), np.where(wide < -5, waving, near))
    return np.where(np.isfinite(wide), value, np.nan).astype(x.dtype)
