"""Figures of programs as files, by matplotlib, which is installed only where somebody wants that."""

from __future__ import annotations

import io
from typing import Any

from gradcli.results.figures import Drawn, Panel, Picture


def figure_file(picture: Picture, format: str) -> bytes:
    """The picture in one of matplotlib's formats. Raises ImportError where matplotlib is not installed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.0 * picture.columns + 2.4, 3.0 * picture.rows + 1.8), dpi=100, layout="constrained")
    if picture.title:
        # user text is no formula, whatever dollar signs are in it
        figure.suptitle(picture.title, parse_math=False)
    for panel in picture.panels:
        axes = figure.add_subplot(picture.rows, picture.columns, min(panel.place, picture.rows * picture.columns - 1) + 1)
        _panel(axes, panel)
    out = io.BytesIO()
    figure.savefig(out, format=format)
    return out.getvalue()


def _panel(axes: Any, panel: Panel) -> None:
    for number, one in enumerate(panel.drawn):
        _draw(axes, one, f"C{number % 10}")
    axes.set_title(panel.title, parse_math=False)
    axes.set_xlabel(panel.xlabel, parse_math=False)
    axes.set_ylabel(panel.ylabel, parse_math=False)
    if panel.xlog:
        axes.set_xscale("log")
    if panel.ylog:
        axes.set_yscale("log")
    if panel.xlim is not None:
        axes.set_xlim(*panel.xlim)
    if panel.ylim is not None:
        axes.set_ylim(*panel.ylim)
    if panel.grid:
        axes.grid(alpha=0.3)
    labels = [one.label for one in panel.drawn if one.label and not one.label.startswith("_")]
    if panel.legend and labels:
        for text in axes.legend().get_texts():
            text.set_parse_math(False)
    if not panel.axes:
        axes.set_axis_off()


def _draw(axes: Any, one: Drawn, colour: str) -> None:
    label = one.label or None
    if one.kind == "image":
        axes.imshow(one.ys, aspect="equal")
    elif one.kind == "bars":
        axes.bar(one.xs, one.ys, 0.8 * one.step, color=colour, label=label)
        if one.names:
            for text in axes.set_xticks(one.xs, labels=one.names) and axes.get_xticklabels():
                text.set_parse_math(False)
    elif one.kind == "across":
        axes.axhline(float(one.ys[0]), color=colour, label=label)
    elif one.kind == "up":
        axes.axvline(float(one.xs[0]), color=colour, label=label)
    else:
        dashes = next((found for found in ("--", "-.", ":") if found in one.style), "-")
        points = one.kind == "points"
        marker = "o" if points else next((char for char in one.style if char in ".ox+*s^vD"), "")
        axes.plot(one.xs, one.ys, linestyle="" if points else dashes, marker=marker, color=colour, label=label)
