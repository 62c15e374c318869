"""Graphs as PNG and PDF pictures, by matplotlib, which is installed only where somebody wants that."""

from __future__ import annotations

import io
from typing import Any

from gradcli.render.escape import escape
from gradcli.render.pictures.graph_svg import LINE, PAD_X, PAD_Y, arranged
from gradcli.render.pictures.layout import Box, Edge
from gradcli.render.pictures.node_labels import kind
from gradcli.results.explanations import Explanation

#: pixels of the layout to an inch of paper; letters of 12 pixels are 9 points high then
_PIXELS = 96.0
#: by kind of node, the colours of the box and of its border: those of the SVG picture on white
_COLOURS = {"leaf": ("#dcefdd", "#2f6b3a"), "result": ("#fdebcf", "#9a5b00"), "again": ("#ffffff", "#6a7280"), "": ("#dfe9f7", "#3b5f8f")}


def graph_png(explanation: Explanation, format: str, *, values: bool = False, grads: bool = False) -> bytes:
    """The picture, in one of matplotlib's formats. Raises ImportError where matplotlib is not installed."""
    from matplotlib.figure import Figure

    texts, drawing = arranged(explanation, values, grads)
    steps = explanation.steps
    notes = [escape(note) for note in explanation.notes[:8]]
    high = drawing.height + (len(notes) * LINE + 8 if notes else 0)
    figure = Figure(figsize=(drawing.width / _PIXELS, high / _PIXELS), dpi=min(192.0, 30000 / max(drawing.width, high) * _PIXELS))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(high, 0)  # y grows downwards, as in the layout
    for edge in drawing.edges:
        _edge(axes, edge)
    for i, box in enumerate(drawing.boxes):
        if i < len(steps):
            _box(axes, box, texts[i], kind(steps[i], i == 0))
        else:
            _box(axes, box, [steps[box.of].name], "again")
    for i, note in enumerate(notes):
        _text(axes, note, 16, drawing.height + (i + 0.5) * LINE)
    out = io.BytesIO()
    figure.savefig(out, format=format)
    return out.getvalue()


def _box(axes: Any, box: Box, lines: list[str], look: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    inside, border = _COLOURS.get(look, _COLOURS[""])
    left, top = box.x - box.width / 2, box.y - box.height / 2
    style = f"round,pad=0,rounding_size={10 if look in ('leaf', 'again') else 3}"
    width = 2.0 if look == "result" else 1.0
    axes.add_patch(FancyBboxPatch((left, top), box.width, box.height, boxstyle=style, facecolor=inside, edgecolor=border, linewidth=width))
    for i, line in enumerate(lines):
        weight = "bold" if i == 0 else "normal"
        _text(axes, escape(line), left + PAD_X, top + PAD_Y + (i + 0.5) * LINE, weight)


def _text(axes: Any, line: str, x: float, y: float, weight: str = "normal") -> None:
    # user text is no formula, whatever dollar signs are in it
    axes.text(x, y, line, family="monospace", fontsize=8.7, weight=weight, va="center", parse_math=False)


def _edge(axes: Any, edge: Edge) -> None:
    """A curve along the way of an edge, with a tip, and the number of the output beside that."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points, codes = [edge.way[0]], [Path.MOVETO]
    for a, b in zip(edge.way, edge.way[1:], strict=False):
        if a[0] == b[0]:
            points.append(b)
            codes.append(Path.LINETO)
        else:
            middle = (a[1] + b[1]) / 2
            points += [(a[0], middle), (b[0], middle), b]
            codes += [Path.CURVE4] * 3
    axes.add_patch(PathPatch(Path(points, codes), fill=False, edgecolor="#6a7280", linewidth=0.9))
    x, y = edge.way[-1]
    axes.fill([x, x - 3.5, x + 3.5], [y, y - 7, y - 7], color="#6a7280", linewidth=0)
    if edge.number:
        axes.text(x + 5, y - 5, escape(edge.number), fontsize=7, color="#4a515c", parse_math=False)
