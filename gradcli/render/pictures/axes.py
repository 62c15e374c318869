"""Axes: round numbers for ticks and their texts. Curves are clipped to the visible range."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gradcli.results.plots import Curve
from gradcli.results.values import Array

Point = tuple[float, float]

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


def ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` round numbers within [low, high], evenly spaced."""
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low]
    size = 10.0 ** math.floor(math.log10(span / max(most, 1)))
    for step in (one * size * ten for ten in (1.0, 10.0) for one in _ROUND):
        first = math.ceil(low / step - 1e-9)
        count = math.floor(high / step + 1e-9) - first + 1
        if count <= most:
            break
    return [(first + i) * step for i in range(count)]


def tick_texts(places: Sequence[float]) -> list[str]:
    """The ticks as texts with the same number of digits after the point; very large and small ones with exponents."""
    if not places:
        return []
    largest = max(map(abs, places))
    step = min((abs(b - a) for a, b in pairwise(places)), default=largest or 1.0)
    if largest >= 1e6 or (0 < largest < 1e-3):
        return [f"{place:.6g}" if abs(place) > step * 1e-6 else "0" for place in places]
    digits = max(0, min(12, -math.floor(math.log10(step) + 1e-9)))
    # 2.5 needs one digit more than its size says
    if round(step * 10**digits, 6) % 1:
        digits += 1
    texts = [f"{place:.{digits}f}" for place in places]
    return [text.removeprefix("-") if float(text) == 0 else text for text in texts]


def strokes(points: Array, curve: Curve, low: float, high: float) -> Iterator[list[Point]]:
    """The polylines of a curve within [low, high]; a single point is a line of one."""
    current: list[Point] = []
    for i in range(len(points)):
        if not curve.defined[i]:
            if current:
                yield current
            current = []
            continue
        here = (float(points[i]), float(curve.values[i]))
        if i and current and not curve.joined[i - 1]:
            yield current
            current = []
        before = (float(points[i - 1]), float(curve.values[i - 1])) if i and curve.joined[i - 1] and curve.defined[i - 1] else None
        if before is None:
            current = [here] if low <= here[1] <= high else []
            continue
        piece = _clipped(before, here, low, high)
        if piece is None:
            if current:
                yield current
            current = []
            continue
        if not current or current[-1] != piece[0]:
            if current:
                yield current
            current = [piece[0]]
        if piece[1] != piece[0]:
            current.append(piece[1])
    if current:
        yield current


def _clipped(a: Point, b: Point, low: float, high: float) -> tuple[Point, Point] | None:
    """The part of a line between two values; None when all is outside."""
    if max(a[1], b[1]) < low or min(a[1], b[1]) > high:
        return None
    return _at(a, b, low, high), _at(b, a, low, high)


def _at(a: Point, b: Point, low: float, high: float) -> Point:
    """The end `a` of a line, moved along it to the range."""
    bound = min(max(a[1], low), high)
    if bound == a[1]:
        return a
    part = (bound - a[1]) / (b[1] - a[1])
    return (a[0] + part * (b[0] - a[0]), bound)


def pieces(stroke: Sequence[Point], pattern: Sequence[float], to_dots: tuple[float, float]) -> Iterator[tuple[Point, Point]]:
    """The dashes of a polyline; `pattern` has their lengths (on, off, on, off ...), and () draws all of it.

    `to_dots` has the factors from coordinates to dots.
    """
    if not pattern or len(stroke) == 1:
        yield from pairwise(stroke) if len(stroke) > 1 else [(stroke[0], stroke[0])]
        return
    at, left = 0, pattern[0]
    for a, b in pairwise(stroke):
        length = math.hypot((b[0] - a[0]) * to_dots[0], (b[1] - a[1]) * to_dots[1])
        done = 0.0
        while done < length:
            step = min(left, length - done)
            if at % 2 == 0:
                yield _between(a, b, done / length), _between(a, b, (done + step) / length)
            done += step
            left -= step
            if left <= 1e-9:
                at = (at + 1) % len(pattern)
                left = pattern[at]


def _between(a: Point, b: Point, part: float) -> Point:
    return (a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1]))


def shares(values: Array, low: float, high: float) -> Array:
    """`values` scaled so that `low` is 0 and `high` is 1, and clipped; nan stays."""
    return ((values - low) / ((high - low) or 1.0)).clip(0.0, 1.0)


def spread(count: int, most: int) -> list[int]:
    """At most `most` - 2 of `count` places, evenly spread, the outermost left out."""
    most = min(count, most)
    return sorted({round(i * (count - 1) / max(most - 1, 1)) for i in range(1, most - 1)})
