"""Figures that programs draw: panels on a grid, each with lines, points, bars and pictures."""

from __future__ import annotations

import numpy as np

from gradcli.plain import Plain
from gradcli.results.values import Array

Ends = tuple[float, float]
Point = tuple[float, float]


class Drawn(Plain):
    """One thing on a panel. `kind` is "line", "points", "bars", "image" (`ys` are rows of numbers), "across" or "up" (a whole line).

    `names` are those of bars, empty where they stand at numbers.
    """

    kind: str
    xs: Array
    ys: Array
    label: str
    style: str
    names: tuple[str, ...]

    @property
    def step(self) -> float:
        """The least distance of two bars; 1 for a single one."""
        apart = np.diff(np.unique(self.xs))
        return float(apart.min()) if apart.size else 1.0

    def shares(self, rows: int, columns: int) -> list[list[float]]:
        """An image of at most so many rows and columns: each pixel from 0, the lowest, to 1, the highest."""
        steps = [max(1, -(-size // most)) for size, most in zip(self.ys.shape, (rows, columns), strict=True)]
        shown = self.ys[:: steps[0], :: steps[1]]
        usable = shown[np.isfinite(shown)]
        low, high = (float(usable.min()), float(usable.max())) if usable.size else (0.0, 1.0)
        found: list[list[float]] = np.clip(np.nan_to_num((shown - low) / ((high - low) or 1.0)), 0, 1).tolist()
        return found


class Panel(Plain):
    """A pair of axes. `place` counts along the rows; `xlim` and `ylim` are None where the data decide."""

    place: int
    title: str
    xlabel: str
    ylabel: str
    drawn: tuple[Drawn, ...]
    legend: bool
    grid: bool
    xlim: Ends | None
    ylim: Ends | None
    xlog: bool
    ylog: bool
    axes: bool

    def _scaled(self, values: Array, axis: str) -> Array:
        """The values on the scale of an axis; what has no place there is nan or infinite."""
        if not (self.xlog if axis == "x" else self.ylog):
            return values
        with np.errstate(all="ignore"):
            return np.log10(values)

    def number(self, place: float, axis: str) -> float:
        """The number at a place of an axis."""
        return float(10.0**place) if (self.xlog if axis == "x" else self.ylog) else place

    def ends(self) -> tuple[Ends, Ends] | None:
        """The ends of both axes, on their scales; None where there is nothing to be shown."""
        found = []
        for axis, given, without in (("x", self.xlim, "across"), ("y", self.ylim, "up")):
            if given is None:
                parts = [self._extent(one, axis) for one in self.drawn if one.kind != without]
                every = np.concatenate([np.zeros(0), *parts])
            else:
                every = self._scaled(np.array(given), axis)
            every = every[np.isfinite(every)]
            if not every.size:
                return None
            low, high = float(every.min()), float(every.max())
            found.append((low, high) if high > low else (low - 0.5, high + 0.5))
        return found[0], found[1]

    def _extent(self, one: Drawn, axis: str) -> Array:
        values = one.xs if axis == "x" else one.ys
        if one.kind == "bars" and values.size:
            edges = [values.min() - one.step / 2, values.max() + one.step / 2] if axis == "x" else [0.0]
            values = np.append(values, edges)
        return self._scaled(values, axis)

    def points(self, one: Drawn, across: Ends, up: Ends) -> list[Point]:
        """The points as shares of the axes between these ends; what has no place is nan."""
        xs, ys = self._scaled(one.xs, "x"), self._scaled(one.ys, "y")
        if one.kind == "across":
            xs, ys = np.array(across), np.repeat(ys[:1], 2)
        elif one.kind == "up":
            xs, ys = np.repeat(xs[:1], 2), np.array(up)
        xs, ys = (xs - across[0]) / (across[1] - across[0]), (ys - up[0]) / (up[1] - up[0])
        usable = np.isfinite(xs) & np.isfinite(ys)
        if one.kind in ("bars", "points"):
            xs, ys = xs[usable], ys[usable]
        else:
            xs, ys = np.where(usable, xs, np.nan), np.where(usable, ys, np.nan)
        return list(zip(xs.tolist(), ys.tolist(), strict=True))


class Picture(Plain):
    """A whole figure."""

    title: str
    rows: int
    columns: int
    panels: tuple[Panel, ...]
