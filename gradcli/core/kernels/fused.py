"""Products and sums that are rounded once, as processors with AVX2 compute them and compilers make of `a * b + c`.

numpy has no such operation: a product of two float32 is exact in float64, so the sum there, rounded to float32, gives it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.kernels import Array


def fma32(a: Array, b: Array | float, c: Array | float) -> Array:
    """a * b + c of float32 arrays (or numbers that float32 holds), rounded once."""
    wide = np.multiply(a, b, dtype=np.float64)
    wide += c
    return wide.astype(np.float32)


def fma64(a: Array, b: Array | float, c: Array | float) -> Array:
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


def difference_of_products(a: Array, b: Array, c: Array, d: Array) -> Array:
    """a * b - c * d as a compiler contracts it: float32 and float64 round the second product, and then the whole once."""
    if a.dtype == np.float32 and b.dtype == np.float32:
        return fma32(a, b, -(c * d))
    if a.dtype == np.float64 and b.dtype == np.float64:
        return fma64(a, b, -(c * d))
    return np.asarray(a * b - c * d)
