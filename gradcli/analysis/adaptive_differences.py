"""Central differences with a step that fits each element, one-sided slopes, and the verdict on a gradient.

A central difference with step h is wrong by about f''' h^2 / 6 from the missing terms and by u |f| / h from rounding
(u: unit roundoff), least near h = (3u)^(1/3) times the scale on which f changes. That scale is not known, so several
steps are tried where the first does not settle the matter, each with its estimate of both errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gradcli.core.kernels import Array

#: a relative difference that is put down to the differences themselves
RELATIVE = 1e-5
#: steps tried, as multiples of the usual one
_STEPS = (1.0, 10.0, 0.1, 100.0, 0.01, 1e-3, 1e-4)
#: slopes with steps of this ratio show whether a gap between them stays
_SHRINK = 16.0
#: slopes of both sides that differ by this part of their size are looked at closely
_BEND = 1e-2

#: the outputs, each one number, as a function of how far one element is moved
Moved = Callable[[float], Array]


class Slope(NamedTuple):
    """A derivative by differences, and the error to be expected; arrays over the outputs.

    `bent`: the slopes of both sides differ, as at a kink, or at a smooth extremum.
    """

    value: Array
    error: Array
    bent: Array


def central(moved: Moved, scale: float, unit: float, wanted: Array, here: Array) -> Slope:
    """The best central difference. The first step that agrees with `wanted` is good enough. `here` are the outputs, unmoved."""
    usual = (3 * unit) ** (1 / 3)
    best: Slope | None = None
    tried = [usual * max(scale, 1.0) * factor for factor in _STEPS]
    if 0 < scale < 0.1:
        tried.append(usual * scale)
    for step in tried:
        slope = _central(moved, step, unit, here)
        if agrees(slope, wanted).all():
            return slope
        if best is None:
            best = slope
            continue
        better = (slope.error < best.error) | ~np.isfinite(best.value)
        best = Slope(*(np.where(better, new, old) for new, old in zip(slope, best, strict=True)))
    assert best is not None
    return best


def _central(moved: Moved, step: float, unit: float, here: Array) -> Slope:
    """Steps h and h/2, combined by Richardson's extrapolation; their difference estimates the error."""
    low, high = moved(-step), moved(step)
    wide = (high - low) / (2 * step)
    near_low, near_high = moved(-step / 2), moved(step / 2)
    narrow = (near_high - near_low) / step
    rounding = 2 * unit * np.maximum(np.abs(high), np.abs(low)) / step
    gap, spread = np.abs(high + low - 2 * here), np.abs(high - here) + np.abs(here - low)
    bent = (gap > _BEND * spread) & (gap > 64 * rounding * step)
    return Slope(narrow + (narrow - wide) / 3, np.abs(narrow - wide) + rounding, bent)


def agrees(slope: Slope, analytic: Array) -> Array:
    """Whether the analytic derivatives are what the differences say, output by output."""
    size = np.maximum(np.abs(slope.value), np.abs(analytic))
    allowed = RELATIVE * size + np.minimum(10 * slope.error, 1e-3 * size + 1e-7)
    agreed: Array = (np.abs(slope.value - analytic) <= allowed) | (np.isinf(analytic) & (analytic == slope.value))
    return agreed


class Sides(NamedTuple):
    """One output around an element: the slopes of the pieces to the left and to the right, nan where it is not defined.

    `jumps`: the value itself is another one on one side. `kinked`: it jumps, or the slopes differ for good. `steep` is inf or
    -inf where a slope grows without end towards the element, else 0.
    """

    here: float
    left: float
    right: float
    jumps: bool
    kinked: bool
    steep: float


def sides(moved: Moved, output: int, scale: float, unit: float) -> Sides:
    """Look at both sides. At a smooth place the gap between the slopes shrinks with the step; at a kink it stays."""
    wide = unit**0.5 * max(scale, 1.0) * 64
    narrow = wide / _SHRINK
    here = float(moved(0.0)[output])

    def slopes(h: float) -> tuple[float, float, float, float]:
        left, far_left, right, far_right = (float(moved(distance)[output]) for distance in (-h, -2 * h, h, 2 * h))
        return (left - far_left) / h, (far_right - right) / h, here - left, right - here

    wide_left, wide_right, wide_step_left, wide_step_right = slopes(wide)
    left, right, step_left, step_right = slopes(narrow)
    size = max((abs(s) for s in (left, right) if np.isfinite(s)), default=0.0)
    noise = 8 * unit * abs(here) / narrow
    # a step that the slope does not account for
    slack = 16 * unit * abs(here) + unit**0.5
    jumps = any(abs(step - slope * narrow) > 0.5 * abs(slope) * narrow + slack for step, slope in ((step_left, left), (step_right, right)))
    gap, wide_gap = abs(right - left), abs(wide_right - wide_left)
    stays = gap > 0.5 * wide_gap and gap > 1e-4 * size + noise
    steep = 0.0
    for far, near in ((wide_step_left, step_left), (wide_step_right, step_right)):
        if abs(near) > 2 * abs(far) / _SHRINK and abs(near) > slack:
            steep = float(np.copysign(np.inf, near))
    return Sides(here, left, right, bool(jumps), bool(jumps or stays), steep)
