"""Normals from uniforms, and fused multiply-adds, to the last bit as PyTorch computes them on x86-64 with AVX2.

The float32 logarithm, sine and cosine are the polynomials of the Cephes Mathematical Library (S. Moshier; logf, sinf and
cosf), which PyTorch evaluates with each multiplication and following addition rounded once. numpy has no such operation:
a product of two float32 is exact in float64, so the sum there, rounded to float32, gives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.kernels import Array

_BLOCK_ROWS = 1024  # intermediates of a block stay in the cache

_LOG = tuple(
    float(np.float32(c))
    for c in (
        *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
        *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
    )
)
#: The coefficients of sine and cosine side by side, for the two to be evaluated together.
_SIN_COS = tuple(
    np.array(pair, np.float32).astype(np.float64).reshape(2, 1, 1)
    for pair in (
        (-1.9515295891e-4, 2.443315711809948e-5),
        (8.3321608736e-3, -1.388731625493765e-3),
        (-1.6666654611e-1, 4.166664568298827e-2),
    )
)
#: pi / 4 in three parts, each short enough that its multiples by small integers are exact.
_QUARTER_PI = (0.78515625, 2.4187564849853515625e-4, float(np.float32(3.77489497744594108e-8)))
#: log 2 in two parts.
_LOG2_LOW, _LOG2_HIGH = np.float32(-2.12194440e-4), 0.693359375
_HALF_ROOT = np.float32(0.5**0.5)
_FOUR_OVER_PI = np.float32(4 / math.pi)
_TAU = np.float32(math.tau)


def fma32(a: Array, b: Array | float, c: Array | float) -> Array:
    """a * b + c of float32 arrays (or numbers that float32 holds), rounded once."""
    wide = np.multiply(a, b, dtype=np.float64)
    wide += c
    return wide.astype(np.float32)


def fma64(a: Array, b: float, c: float) -> Array:
    """a * b + c in float64, rounded once (but for ties of the last bit that need more than 106 bits to tell).

    The rounding errors of the product (Dekker) and of the sum (Knuth) are computed exactly and added at the end.
    """
    with np.errstate(all="ignore"):
        product = a * b
        high = _upper_half(a)
        b_high = _upper_half(np.float64(b))
        low, b_low = a - high, b - b_high
        product_error = ((high * b_high - product) + high * b_low + low * b_high) + low * b_low
        total = product + c
        rest = total - product
        sum_error = (product - (total - rest)) + (c - rest)
        exact: Array = total + (product_error + sum_error)
    return np.where(np.isfinite(exact), exact, total)


def _upper_half(x: Any) -> Any:
    scaled = x * 134217729.0  # 2**27 + 1 (Veltkamp)
    return scaled - (scaled - x)


def each(function: Callable[[float], float], values: Array) -> Array:
    """The C library's `function` of every element: numpy's own vector functions differ from it in the last bit."""
    return np.fromiter(map(function, values.ravel().tolist()), np.float64, values.size).reshape(values.shape)


def box_muller32(uniforms: Array, mean: float, std: float) -> Array:
    """float32 normals from as many uniforms (a multiple of 16): in each run of 16 eight radii, then eight angles."""
    rows = uniforms.reshape(-1, 16)
    out = np.empty_like(rows)
    for at in range(0, len(rows), _BLOCK_ROWS):
        block, target = rows[at : at + _BLOCK_ROWS], out[at : at + _BLOCK_ROWS]
        radius = np.sqrt(np.float32(-2) * _log(np.float32(1) - block[:, :8]))
        sine, cosine = _sin_cos(_TAU * block[:, 8:])
        target[:, :8] = _placed(radius * cosine, mean, std)
        target[:, 8:] = _placed(radius * sine, mean, std)
    return out.reshape(-1)


def _placed(normals: Array, mean: float, std: float) -> Array:
    if mean == 0.0 and std == 1.0:
        return normals + np.float32(0)  # makes -0 a 0, as the fused addition does
    return fma32(normals, float(np.float32(std)), float(np.float32(mean)))


def box_muller64(uniforms: Array, mean: float, std: float) -> Array:
    """`box_muller32` in float64, with the C library's functions."""
    rows = uniforms.reshape(-1, 16)
    radius = np.sqrt(-2.0 * each(math.log, 1.0 - rows[:, :8]))
    angle = math.tau * rows[:, 8:]
    normals = np.concatenate([radius * each(math.cos, angle), radius * each(math.sin, angle)], 1)
    return fma64(normals, std, mean).reshape(-1)


def _polynomial(x: Array, coefficients: tuple[Any, ...]) -> Array:
    """The polynomial by Horner's rule, each step rounded once to float32."""
    wide = x.astype(np.float64)
    step = wide * coefficients[0]
    step += coefficients[1]
    value: Array = step.astype(np.float32)
    for coefficient in coefficients[2:]:
        np.multiply(value, wide, step)
        step += coefficient
        value[...] = step
    return value


def _log(x: Array) -> Array:
    """The natural logarithm of float32 in (0, 1]."""
    bits = x.view(np.int32)
    exponent = (bits >> 23) - 126
    bits = bits & 0x7FFFFF
    bits |= 0x3F000000
    fraction = bits.view(np.float32)  # this is in [1/2, 1)
    small = fraction < _HALF_ROOT
    exponent -= small
    e = exponent.astype(np.float32)
    x = fraction - np.float32(1)
    x += fraction * small
    y = _polynomial(x, _LOG)
    y *= x
    square = x * x
    y = fma32(y, square, e * _LOG2_LOW)
    y -= square * np.float32(0.5)
    y += x
    return fma32(e, _LOG2_HIGH, y)


def _sin_cos(x: Array) -> tuple[Array, Array]:
    """Sine and cosine of float32 in [0, 2 pi]."""
    octant = (x * _FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= ~1  # the nearest even one
    steps = octant.astype(np.float64)
    for part in _QUARTER_PI:
        x = (x - steps * part).astype(np.float32)
    square = x * x
    both = np.stack((square, square))
    values = _polynomial(both, _SIN_COS)
    values *= both
    sine = fma32(values[0], x, x)
    cosine = fma32(values[1], square, square * np.float32(-0.5))
    cosine += np.float32(1)
    swapped = (octant & 2) != 0
    of_sine, of_cosine = np.where(swapped, cosine, sine), np.where(swapped, sine, cosine)
    signs = np.int32(-(2**31))
    octant <<= 29
    of_sine.view(np.int32)[...] ^= octant & signs
    octant += np.int32(1 << 30)  # two octants on
    of_cosine.view(np.int32)[...] ^= octant & signs
    return of_sine, of_cosine
