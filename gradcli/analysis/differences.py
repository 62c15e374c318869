"""Central differences with a step that fits each element, one-sided slopes, and the verdict on a gradient.

A central difference with step h is wrong by about f''' h^2 / 6 from the missing terms and by u |f| / h from rounding
(u: unit roundoff), least near h = (3u)^(1/3) times the scale on which f changes. That scale is not known, so several
steps are tried where the first does not settle the matter, each with its estimate of both errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gradcli.core.tensor import Array

#: a relative difference that is put down to the differences themselves
RELATIVE = 1e-5
#: steps tried, as multiples of the usual one
_STEPS = (1.0, 10.0, 0.1, 100.0, 0.01, 1e-3, 1e-4)
#: from one-sided slopes with steps of this ratio it is seen whether a gap between them stays
_SHRINK = 16.0

#: the outputs, each one number, as a function of how far one element is moved
Moved = Callable[[float], Array]


@dataclass(slots=True)
class Slope:
    """A derivative by differences, the error to be expected, and the step it was taken with; arrays over the outputs."""

    value: Array
    error: Array
    step: float


def central(moved: Moved, scale: float, unit: float, wanted: Array) -> Slope:
    """The best central difference. The first step that agrees with `wanted` is good enough."""
    usual = (3 * unit) ** (1 / 3)
    best: Slope | None = None
    tried = [usual * max(scale, 1.0) * factor for factor in _STEPS]
    if 0 < scale < 0.1:
        tried.append(usual * scale)
    for step in tried:
        slope = _central(moved, step, unit)
        if agrees(slope, wanted).all():
            return slope
        if best is None:
            best = slope
            continue
        better = (slope.error < best.error) | ~np.isfinite(best.value)
        best = Slope(np.where(better, slope.value, best.value), np.where(better, slope.error, best.error), step if better.all() else best.step)
    assert best is not None
    return best


def _central(moved: Moved, step: float, unit: float) -> Slope:
    """Steps h and h/2, combined by Richardson's extrapolation; their difference estimates the error."""
    low, high = moved(-step), moved(step)
    wide = (high - low) / (2 * step)
    near_low, near_high = moved(-step / 2), moved(step / 2)
    narrow = (near_high - near_low) / step
    rounding = 2 * unit * np.maximum(np.abs(high), np.abs(low)) / step
    return Slope(narrow + (narrow - wide) / 3, np.abs(narrow - wide) + rounding, step)


def agrees(slope: Slope, analytic: Array) -> Array:
    """Whether the analytic derivatives are what the differences say, output by output."""
    size = np.maximum(np.abs(slope.value), np.abs(analytic))
    allowed = RELATIVE * size + np.minimum(10 * slope.error, 1e-3 * size + 1e-7)
    same = np.isinf(analytic) & (analytic == slope.value)
    return (np.abs(slope.value - analytic) <= allowed) | same


@dataclass(slots=True)
class Sides:
    """Slopes to the left and to the right of one output; infinite where the value jumps, nan where it is not defined."""

    left: float
    right: float
    kinked: bool


def sides(moved: Moved, output: int, scale: float, unit: float) -> Sides:
    """The one-sided slopes, and whether they differ for good: at a smooth place the gap shrinks with the step."""
    step = unit**0.5 * max(scale, 1.0) * 64
    here = float(moved(0.0)[output])
    found = []
    for h in (step, step / _SHRINK):
        found.append(((here - float(moved(-h)[output])) / h, (float(moved(h)[output]) - here) / h))
    left, right = (_limit(found[0][k], found[1][k]) for k in (0, 1))
    if np.isnan(left) or np.isnan(right):
        return Sides(left, right, False)
    size = max(abs(s) for s in (left, right) if np.isfinite(s)) if np.isfinite(left) or np.isfinite(right) else 0.0
    noise = 8 * unit * abs(here) / (step / _SHRINK)
    wide, narrow = abs(found[0][1] - found[0][0]), abs(found[1][1] - found[1][0])
    stays = narrow > 0.5 * wide and narrow > 1e-4 * size + noise
    return Sides(left, right, bool(stays))


def _limit(wide: float, narrow: float) -> float:
    """The slope for a step going to 0: infinite where it grows as the step shrinks."""
    if np.isfinite(wide) and np.isfinite(narrow) and abs(narrow) > 2 * abs(wide) + 1e-9 and abs(narrow) > 1:
        return float(np.copysign(np.inf, narrow))
    return narrow
