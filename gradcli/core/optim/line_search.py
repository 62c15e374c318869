"""A line search for the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6).

Steps come from cubic interpolation, with the safeguards of Schmidt's minFunc, which PyTorch's search has too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.kernels import Array

#: the two constants of the Wolfe conditions, of sufficient decrease and of curvature
_DECREASE = 1e-4
_CURVATURE = 0.9


class Point(NamedTuple):
    """A place on the line: the step, the value, the gradient and the slope along the line."""

    step: Any
    value: float
    gradient: Array
    slope: Any


Evaluate = Callable[[Any], Point]


def cubic_minimum(a: Point, b: Point, low: Any, high: Any) -> Any:
    """The step of the minimum, within [low, high], of the cubic through two points and their slopes; without one, the middle."""
    first = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    square = first**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    root = np.sqrt(square)
    if a.step <= b.step:
        place = b.step - (b.step - a.step) * ((b.slope + root - first) / (b.slope - a.slope + 2 * root))
    else:
        place = a.step - (a.step - b.step) * ((a.slope + root - first) / (a.slope - b.slope + 2 * root))
    return min(max(place, low), high)


def search(evaluate: Evaluate, start: Point, step: Any, longest: Any, tolerance: float, most: int) -> tuple[Point, int]:
    """Search along a line; returns the point found and the number of evaluations.

    `step` is the first step to try, and `longest` the largest element of the direction; the search ends when the bracket
    moves no element by `tolerance`, or after `most` evaluations beyond the first.
    """
    bracket, tried, done = _bracket(evaluate, start, step, most)
    evaluations = tried + 1
    if not done and tried < most:
        bracket, zoomed = _zoom(evaluate, start, bracket, tried, longest, tolerance, most)
        evaluations += zoomed
    best = bracket[0] if bracket[0].value <= bracket[-1].value else bracket[-1]
    return best, evaluations


def _too_high(start: Point, point: Point) -> bool:
    return bool(point.value > start.value + _DECREASE * point.step * start.slope)


def _flat(start: Point, point: Point) -> bool:
    return bool(abs(point.slope) <= -_CURVATURE * start.slope)


def _bracket(evaluate: Evaluate, start: Point, step: Any, most: int) -> tuple[list[Point], int, bool]:
    """Take longer steps until a minimum lies between the last two points.

    Returns these points, or a point that meets the conditions; the number of steps beyond the first; whether the conditions are met.
    """
    before, point = Point(0, *start[1:]), evaluate(step)
    for tried in range(most):
        if _too_high(start, point) or (tried > 1 and point.value >= before.value):
            return [before, point], tried, False
        if _flat(start, point):
            return [point], tried, True
        if point.slope >= 0:
            return [before, point], tried, False
        low, high = point.step + 0.01 * (point.step - before.step), point.step * 10
        before, point = point, evaluate(cubic_minimum(before, point, low, high))
    return [Point(0, *start[1:]), point], most, False


def _zoom(
    evaluate: Evaluate, start: Point, bracket: list[Point], tried: int, longest: Any, tolerance: float, most: int
) -> tuple[list[Point], int]:
    """Narrow the bracket until an end meets the conditions; returns what is left of it and the number of evaluations."""
    evaluations = 0
    near_end = False
    low, high = (0, 1) if bracket[0].value <= bracket[1].value else (1, 0)
    while tried + evaluations < most and not abs(bracket[1].step - bracket[0].step) * longest < tolerance:
        left, right = sorted(p.step for p in bracket)
        step = cubic_minimum(bracket[0], bracket[1], left, right)
        margin = 0.1 * (right - left)
        if min(right - step, step - left) < margin:
            if near_end or step >= right or step <= left:
                step = right - margin if abs(step - right) < abs(step - left) else left + margin
                near_end = False
            else:
                near_end = True
        else:
            near_end = False
        point = evaluate(step)
        evaluations += 1
        if _too_high(start, point) or point.value >= bracket[low].value:
            bracket[high] = point
            low, high = (0, 1) if bracket[0].value <= bracket[1].value else (1, 0)
            continue
        if not _flat(start, point) and point.slope * (bracket[high].step - bracket[low].step) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
        if _flat(start, point):
            return [point], evaluations
    return [bracket[low]], evaluations
