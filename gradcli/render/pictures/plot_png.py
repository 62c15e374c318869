"""Plots as PNG and PDF pictures, by matplotlib, which is installed only where somebody wants that."""

from __future__ import annotations

import io
from typing import Any

from gradcli.render.pictures.axes import spread, strokes
from gradcli.results.plots import Curves, HeatMap

_DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (3, 5)), (0, (1, 6)), (0, (9, 3, 3, 3)), (0, (2, 2)))


def plot_png(plot: Curves | HeatMap, format: str = "png") -> bytes:
    """The picture, in one of matplotlib's formats. Raises ImportError where matplotlib is not installed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.8), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    # user text is no formula, whatever dollar signs are in it
    axes.set_title(" ".join(plot.expression.split())[:100], parse_math=False, fontsize=10)
    if isinstance(plot, Curves):
        _curves(axes, plot)
    else:
        _heat(figure, axes, plot)
    if plot.notes:
        figure.supxlabel("\n".join(plot.notes), fontsize=8, parse_math=False)
    out = io.BytesIO()
    figure.savefig(out, format=format)
    return out.getvalue()


def _curves(axes: Any, plot: Curves) -> None:
    axes.set_xlabel(plot.name)
    axes.set_xlim(float(plot.points[0]), float(plot.points[-1]))
    axes.set_ylim(plot.low, plot.high)
    axes.grid(alpha=0.3)
    for k, curve in enumerate(plot.curves):
        label = curve.label
        for stroke in strokes(plot.points, curve, plot.low, plot.high):
            xs, ys = zip(*stroke, strict=True)
            marker = "." if len(stroke) == 1 else ""
            axes.plot(xs, ys, linestyle=_DASHES[k % len(_DASHES)], color=f"C{k}", marker=marker, label=label)
            label = "_nolegend_"
    if len(plot.curves) > 1:
        axes.legend(fontsize=9)


def _heat(figure: Any, axes: Any, plot: HeatMap) -> None:
    axes.set_xlabel(plot.names[0])
    axes.set_ylabel(plot.names[1])
    image = axes.pcolormesh(plot.xs, plot.ys, plot.values, vmin=plot.low, vmax=plot.high, cmap="viridis", shading="nearest")
    figure.colorbar(image)
    if plot.gradients:
        rows, columns = spread(len(plot.ys), 13), spread(len(plot.xs), 17)
        across, up = (gradient[rows][:, columns] for gradient in plot.gradients)
        axes.quiver(plot.xs[columns], plot.ys[rows], across, up, color="white", edgecolor="black", linewidth=0.5, angles="xy")
