"""Chebyshev, Hermite, Laguerre and Legendre polynomials by their recurrences (A&S 22.7), on arrays, in the dtype of x.

As PyTorch has it: degrees are whole numbers (others lose their fraction), 0 is given for negative ones, within (-1, 1)
Chebyshev polynomials of a higher degree go by their trigonometric form (A&S 22.3.15, 22.3.16), and a nan ends a recurrence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.kernels import Array, elementary

Forward = Callable[[Any, Any], Array]
#: the next polynomial from x, the last two, and the index of the step
Step = Callable[[Array, Array, Array, int], Array]
#: what a step of few elements takes, in multiply-adds
_STEP = 10_000
#: the highest degree, of polynomials that have not ended at a nan after so many steps
_MOST, _SOME = 1_000_000, 1 << 16


def _degrees(x: Any, n: Any) -> tuple[Array, Array]:
    """`x` and `n` broadcast to one shape, the degrees as whole numbers; what 64 bits do not hold becomes negative, as in PyTorch."""
    whole = np.trunc(np.asarray(n, np.float64))
    whole = np.where(np.abs(whole) < 2.0**63, whole, -1.0)
    return np.broadcast_arrays(x, np.clip(whole, -1, 2**62).astype(np.int64))  # type: ignore[return-value]


def _recurred(x: Array, n: Array, first: Array, step: Step, until: Array) -> Array:
    """The polynomial of each element's degree; where `until` is false the recurrence ends at degree 1."""
    last, here = np.ones_like(x), np.asarray(first, x.dtype)
    out = np.where(n == 1, here, np.ones_like(x))
    todo = (n > 1) & until
    highest = int(n[todo].max(initial=1)) if n.size else 1
    limits.check_work(highest * (8.0 * x.size + _STEP))
    clock = limits.Clock()
    for k in range(1, highest):
        last, here = here, np.asarray(step(x, here, last, k), x.dtype)
        out = np.where(todo & (n == k + 1), here, out)
        ended = todo & np.isnan(here) & (n > k)
        if ended.any():
            out = np.where(ended, here, out)
            todo = todo & ~ended
            if not (todo & (n > k + 1)).any():
                break
        if not k & 1023:
            clock.check()
        if k == _SOME and highest > _MOST:
            raise limits.too_long(f"a polynomial of degree {highest:,}")
    return out


def _double(x: Array, here: Array, last: Array, k: int) -> Array:
    return np.asarray(elementary.fused(x + x, here, -last))


def _odd(n: Array) -> Array:
    return np.asarray(n % 2 == 1)


def _at_ends(n: Array, dtype: Any, right: str, left: str) -> tuple[Array, Array]:
    """The values at 1 and at -1: "1", "n + 1" or "2 n + 1", at -1 with the sign of the degree."""
    sizes = {"1": np.ones_like(n), "n + 1": n + 1, "2 n + 1": n + n + 1}
    return sizes[right].astype(dtype), np.where(_odd(n), -sizes[left], sizes[left]).astype(dtype)


def _waves(kind: str, x: Array, n: Array) -> Array:
    """The trigonometric forms."""
    angle = elementary.arccos(x)
    m = n.astype(x.dtype)
    if kind == "t":
        return np.asarray(elementary.cos(m * angle))
    if kind == "u":
        return np.asarray(elementary.sin((m + 1) * angle) / elementary.sin(angle))
    half = angle / x.dtype.type(2)
    turn = (m + x.dtype.type(0.5)) * angle
    if kind == "v":
        return np.asarray(elementary.cos(turn) / elementary.cos(half))
    return np.asarray(elementary.sin(turn) / elementary.sin(half))


#: values at 1 and -1, and the polynomial of degree 1
_ENDS = {"t": ("1", "1"), "u": ("n + 1", "n + 1"), "v": ("1", "2 n + 1"), "w": ("2 n + 1", "1")}
_FIRST: dict[str, Callable[[Array], Array]] = {"t": lambda x: x, "u": lambda x: x + x, "v": lambda x: x + x - 1, "w": lambda x: x + x + 1}


def chebyshev(kind: str, beyond: int, shifted: bool = False) -> Forward:
    """The polynomials of the first to fourth kind, "t" to "w"; of 2x - 1 where shifted.

    Polynomials of a degree above `beyond` go by their trigonometric form within (-1, 1).
    """

    def compute(x: Any, n: Any) -> Array:
        a, degree = _degrees(x, n)
        y = a + a - 1 if shifted else a
        waving = (degree > beyond) & (np.abs(y) < 1)
        ends = np.abs(y) == 1 if not shifted else (a == 1) | (a == 0)
        out = _recurred(y, degree, _FIRST[kind](y), _double, ~(waving | ends))
        if waving.any():
            out = np.where(waving, _waves(kind, np.where(waving, y, y.dtype.type(0.5)), degree), out)
        right, left = _at_ends(degree, a.dtype, *_ENDS[kind])
        out = np.where(ends, np.where(y > 0, right, left), out)
        return np.where(degree < 0, 0, out).astype(a.dtype)

    return compute


#: beyond these degrees PyTorch gives nan
_HIGHEST = {np.dtype(np.float32): 128, np.dtype(np.float64): 512}


def _hermite(first: Callable[[Array], Array], step: Step) -> Forward:
    def compute(x: Any, n: Any) -> Array:
        a, degree = _degrees(x, n)
        high = degree > _HIGHEST[a.dtype]
        out = np.where(high, np.nan, _recurred(a, degree, first(a), step, ~high))
        return np.where(degree < 0, 0, out).astype(a.dtype)

    return compute


hermite_h = _hermite(lambda x: x + x, lambda x, here, last, k: elementary.fused(x + x, here, -(2 * k * last)))
hermite_he = _hermite(lambda x: x, lambda x, here, last, k: elementary.fused(x, here, -(k * last)))


def laguerre(x: Any, n: Any) -> Array:
    """Laguerre's polynomials."""
    a, degree = _degrees(x, n)
    out = _recurred(a, degree, 1 - a, lambda x, here, last, k: elementary.fused(k + k + (1 - x), here, -(k * last)) / (k + 1), a != 0)
    return np.where(degree < 0, 0, np.where(a == 0, 1, out)).astype(a.dtype)


def legendre(x: Any, n: Any) -> Array:
    """Legendre's polynomials."""
    a, degree = _degrees(x, n)
    ends = np.abs(a) == 1
    out = _recurred(a, degree, a, lambda x, here, last, k: elementary.fused((k + k + 1) * x, here, -(k * last)) / (k + 1), ~ends)
    right, left = _at_ends(degree, a.dtype, "1", "1")
    return np.where(degree < 0, 0, np.where(ends, np.where(a > 0, right, left), out)).astype(a.dtype)
