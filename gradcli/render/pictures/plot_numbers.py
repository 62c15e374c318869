"""The numbers of a plot as CSV and JSON, all digits."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.render import csv_text
from gradcli.render.json_text import dump
from gradcli.results.plots import Curves, HeatMap


def plot_csv(plot: Curves | HeatMap) -> str:
    """A row for each point: the variables, the values, the derivatives."""
    if isinstance(plot, Curves):
        columns = [plot.points.tolist(), *(curve.values.tolist() for curve in plot.curves)]
        return csv_text.write([plot.name, *(_ascii(curve.label) for curve in plot.curves)], zip(*columns, strict=True))
    first, second = plot.names
    return csv_text.write([first, second, "f", *(f"df/d{name}" for name, _ in zip(plot.names, plot.gradients, strict=False))], _cells(plot))


def _cells(plot: HeatMap) -> Iterator[list[float]]:
    for i, y in enumerate(plot.ys.tolist()):
        for j, x in enumerate(plot.xs.tolist()):
            yield [x, y, float(plot.values[i, j]), *(float(gradient[i, j]) for gradient in plot.gradients)]


def _ascii(label: str) -> str:
    return label.replace("²", "2")


def plot_json(plot: Curves | HeatMap) -> str:
    """One line: the points and the columns, by label."""
    content: dict[str, object] = {"gradcli": 1, "ok": True, "expression": plot.expression}
    if isinstance(plot, Curves):
        content["points"] = [plot.points.tolist()]
        content["curves"] = [{"label": _ascii(curve.label), "order": curve.order, "values": curve.values.tolist()} for curve in plot.curves]
        content["variables"] = [plot.name]
    else:
        content |= {"points": [plot.xs.tolist(), plot.ys.tolist()], "values": plot.values.tolist(), "variables": list(plot.names)}
        content["gradients"] = {name: gradient.tolist() for name, gradient in zip(plot.names, plot.gradients, strict=False)}
    return dump(content | {"notes": list(plot.notes)})
