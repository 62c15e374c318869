"""Figures of a program as plain results."""

from __future__ import annotations

from gradcli.lang.plotting.figures import Axes, Figure
from gradcli.results.figures import Drawn, Panel, Picture


def picture(figure: object) -> Picture:
    """What a program has drawn."""
    assert isinstance(figure, Figure)
    panels = [_panel(place, axes) for place, axes in sorted(figure.panels.items()) if axes.drawn or len(figure.panels) == 1]
    return Picture(figure.title, figure.rows, figure.columns, tuple(panels))


def _panel(place: int, axes: Axes) -> Panel:
    return Panel(
        place,
        axes.texts["title"],
        axes.texts["x"],
        axes.texts["y"],
        tuple([Drawn(one.kind, one.xs, one.ys, one.label, one.style, one.names) for one in axes.drawn]),
        axes.legend_shown,
        axes.grid_shown,
        axes.limits["x"],
        axes.limits["y"],
        axes.logarithmic["x"],
        axes.logarithmic["y"],
        axes.shown,
    )
