"""Plots as SVG pictures of their own: no script, no font, light and dark by the reader's setting."""

from __future__ import annotations

import math

from gradcli.render.escape import markup
from gradcli.render.pictures.axes import shares, spread, strokes, tick_texts, ticks
from gradcli.results.plots import Curves, HeatMap

_WIDTH, _HEIGHT = 720.0, 400.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 16.0, 36.0, 44.0
_ROW = 18.0
#: the width of a character of the usual monospaced fonts at 12 pixels
_CHARACTER = 7.23
_DASHES = ("", "9 5", "2 4", "9 4 2 4", "4 7", "2 8", "14 4 4 4", "3 3")

_CURVES_LIGHT = ("#1f4fbf", "#b3261e", "#1b7a34", "#8a2da5", "#00707a", "#8a5a00", "#4a4fa8", "#a0366e")
_CURVES_DARK = ("#8ab4ff", "#ff8f85", "#7ddc96", "#e0a3f5", "#6fd9e3", "#f0c36a", "#b7baff", "#f79ac7")
#: dark blue over green to yellow: lightness grows all the way, so that it reads without colour too
_HEAT = (
    *("#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c", "#22a884"),
    *("#44bf70", "#7ad151", "#a5db36", "#bddf26", "#d2e21b", "#e9e51a", "#fde725"),
)

_STYLE = """
.plot text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; fill: #15181d; white-space: pre; }
.plot .head { font-weight: 600; }
.plot .paper { fill: #ffffff; }
.plot .frame { fill: none; stroke: #6a7280; }
.plot .grid { stroke: #dde1e7; }
.plot .zero { stroke: #9aa2ae; }
.plot .curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
.plot .unknown { fill: #c9ced6; }
.plot .field { stroke: #ffffff; stroke-width: 3.4; fill: none; stroke-linecap: round; }
.plot .needle { stroke: #15181d; stroke-width: 1.4; fill: none; stroke-linecap: round; }
"""
_DARK = """
.plot text { fill: #eef1f5; }
.plot .paper { fill: #14171c; }
.plot .frame { stroke: #99a1ae; }
.plot .grid { stroke: #2c323b; }
.plot .zero { stroke: #6c7583; }
.plot .unknown { fill: #4a515c; }
"""


def style() -> str:
    """The style sheet of both kinds of plots."""
    light = "".join(f".plot .c{i} {{ stroke: {colour}; }}\n.plot .d{i} {{ fill: {colour}; }}\n" for i, colour in enumerate(_CURVES_LIGHT))
    dark = "".join(f".plot .c{i} {{ stroke: {colour}; }}\n.plot .d{i} {{ fill: {colour}; }}\n" for i, colour in enumerate(_CURVES_DARK))
    heat = "".join(f".plot .h{i} {{ fill: {colour}; }}\n" for i, colour in enumerate(_HEAT))
    return f"{_STYLE}{light}{heat}@media (prefers-color-scheme: dark) {{{_DARK}{dark}}}\n"


def plot_svg(plot: Curves | HeatMap, *, styled: bool = True) -> str:
    """The picture; without its style sheet for a page that has it already."""
    legend = _legend(plot) if isinstance(plot, Curves) else _scale(plot)
    below = _BOTTOM + len(legend) * _ROW + len(plot.notes) * _ROW
    height = _HEIGHT + below - _BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="{_WIDTH:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" xml:space="preserve">',
        f"<title>{markup(plot.expression[:300])}</title>",
    ]
    if styled:
        out.append(f"<style>{style()}</style>")
    out.append(f'<rect class="paper" width="{_WIDTH:.0f}" height="{height:.0f}"/>')
    out.append(_text(_LEFT, 22, " ".join(plot.expression.split())[:88], "head"))
    out += _curves(plot) if isinstance(plot, Curves) else _heat(plot)
    at = _HEIGHT + 2
    for row in legend:
        out.append(f'<g transform="translate({_LEFT:.0f} {at:.0f})">{row}</g>')
        at += _ROW
    for note in plot.notes:
        out.append(_text(_LEFT, at + 9, note[:88]))
        at += _ROW
    return "\n".join([*out, "</svg>"]) + "\n"


def _text(x: float, y: float, text: str, look: str = "", anchor: str = "") -> str:
    more = (f' class="{look}"' if look else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{markup(text)}</text>'


class _Area:
    """Where numbers come to lie in the picture."""

    def __init__(self, left: float, right: float, low: float, high: float) -> None:
        self.left, self.right, self.low, self.high = left, right, low, high

    def x(self, value: float) -> float:
        """The horizontal place of a number."""
        return _LEFT + (value - self.left) / (self.right - self.left) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        """The vertical place of a number."""
        return _HEIGHT - _BOTTOM - (value - self.low) / (self.high - self.low) * (_HEIGHT - _BOTTOM - _TOP)

    def axes(self, name: str, upwards: str, *, grid: bool) -> list[str]:
        """Ticks with their numbers, grid lines, the frame, the names of the axes."""
        out = []
        bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        places = ticks(self.left, self.right, 9)
        for place, text in zip(places, tick_texts(places), strict=True):
            x = self.x(place)
            if grid:
                out.append(f'<path class="{"zero" if text == "0" else "grid"}" d="M{x:.1f} {_TOP}V{bottom}"/>')
            out.append(f'<path class="frame" d="M{x:.1f} {bottom}v5"/>{_text(x, bottom + 19, text, anchor="middle")}')
        places = ticks(self.low, self.high, 7)
        for place, text in zip(places, tick_texts(places), strict=True):
            y = self.y(place)
            if grid:
                out.append(f'<path class="{"zero" if float(text) == 0 else "grid"}" d="M{_LEFT} {y:.1f}H{right}"/>')
            out.append(f'<path class="frame" d="M{_LEFT} {y:.1f}h-5"/>{_text(_LEFT - 9, y + 4, text, anchor="end")}')
        out.append(f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}"/>')
        out.append(_text(right, bottom + 36, name, anchor="end"))
        return [*out, _text(_LEFT - 9, _TOP - 6, upwards, anchor="end")] if upwards else out


def _curves(plot: Curves) -> list[str]:
    area = _Area(float(plot.points[0]), float(plot.points[-1]), plot.low, plot.high)
    out = area.axes(plot.name, "", grid=True)
    for k, curve in reversed(list(enumerate(plot.curves))):
        lines = []
        for stroke in strokes(plot.points, curve, plot.low, plot.high):
            places = [f"{area.x(x):.1f} {area.y(y):.1f}" for x, y in stroke]
            if len(stroke) == 1:
                x, y = places[0].split()
                out.append(f'<circle class="d{k % 8}" cx="{x}" cy="{y}" r="2"/>')
            else:
                lines.append(f"M{'L'.join(places)}")
        dash = _DASHES[k % len(_DASHES)]
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        out.append(f'<path class="curve c{k % 8}"{dashes} d="{"".join(lines)}"><title>{markup(curve.label)}</title></path>')
    return out


def _legend(plot: Curves) -> list[str]:
    """Rows of line samples with their labels."""
    rows: list[str] = []
    at = _WIDTH
    for k, curve in enumerate(plot.curves if len(plot.curves) > 1 else ()):
        wide = 44 + len(curve.label) * _CHARACTER + 24
        if at + wide > _WIDTH - _LEFT:
            rows.append("")
            at = 0.0
        dash = _DASHES[k % len(_DASHES)]
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        rows[-1] += f'<path class="curve c{k % 8}"{dashes} d="M{at:.0f} 5h36"/>{_text(at + 44, 9, curve.label)}'
        at += wide
    return rows


def _heat(plot: HeatMap) -> list[str]:
    xs, ys = plot.xs.astype("float64"), plot.ys.astype("float64")
    half = ((xs[-1] - xs[0]) / (len(xs) - 1) / 2, (ys[-1] - ys[0]) / (len(ys) - 1) / 2)
    # a cell is around its point, so that the outer ones reach beyond the range
    area = _Area(float(xs[0] - half[0]), float(xs[-1] + half[0]), float(ys[0] - half[1]), float(ys[-1] + half[1]))
    parts = shares(plot.values, plot.low, plot.high)
    steps = [[-1 if part != part else min(int(part * len(_HEAT)), len(_HEAT) - 1) for part in row] for row in parts.tolist()]
    out = []
    for i, row in enumerate(steps):
        top, bottom = area.y(float(ys[i] + half[1])), area.y(float(ys[i] - half[1]))
        start = 0
        for j in range(1, len(row) + 1):
            if j == len(row) or row[j] != row[start]:
                left, right = area.x(float(xs[start] - half[0])), area.x(float(xs[j - 1] + half[0]))
                look = "unknown" if row[start] < 0 else f"h{row[start]}"
                # each cell is a little larger than its place, so that no seams show
                size = f'width="{right - left + 0.4:.2f}" height="{bottom - top + 0.4:.2f}"'
                out.append(f'<rect class="{look}" x="{left:.2f}" y="{top:.2f}" {size}/>')
                start = j
    # crisp edges leave no seams between the cells
    cells = ['<g shape-rendering="crispEdges">', *out, "</g>"]
    return [*cells, *_field(plot, area), *area.axes(plot.names[0], plot.names[1], grid=False)]


def _field(plot: HeatMap, area: _Area) -> list[str]:
    """Arrows of the gradient: as long as it is, compared with the longest, and never so short that they vanish."""
    if not plot.gradients:
        return []
    rows, columns = plot.values.shape
    wide = (_WIDTH - _LEFT - _RIGHT) / (area.right - area.left)
    high = (_HEIGHT - _BOTTOM - _TOP) / (area.high - area.low)
    chosen = [(i, j) for i in spread(rows, 11) for j in spread(columns, 17)]
    # directions as they appear: across the lines of equal value where both axes have one scale
    arrows = {(i, j): (float(plot.gradients[0][i, j]) * wide, float(plot.gradients[1][i, j]) * high) for i, j in chosen}
    lengths = [math.hypot(*arrow) for arrow in arrows.values() if math.isfinite(math.hypot(*arrow))]
    longest = max(lengths, default=0.0)
    out = []
    for (i, j), (dx, dy) in arrows.items():
        length = math.hypot(dx, dy)
        if not math.isfinite(length) or length <= 1e-12 * longest:
            continue
        size = 7 + 15 * math.sqrt(length / longest)
        x, y = area.x(float(plot.xs[j])), area.y(float(plot.ys[i]))
        u, v = dx / length, -dy / length
        ax, ay, bx, by = x - u * size / 2, y - v * size / 2, x + u * size / 2, y + v * size / 2
        tips = [(bx - 5 * (u * c - v * s), by - 5 * (u * s + v * c)) for c, s in ((0.82, 0.57), (0.82, -0.57))]
        path = f"M{ax:.1f} {ay:.1f}L{bx:.1f} {by:.1f}M{tips[0][0]:.1f} {tips[0][1]:.1f}L{bx:.1f} {by:.1f}L{tips[1][0]:.1f} {tips[1][1]:.1f}"
        out.append(f'<path class="field" d="{path}"/><path class="needle" d="{path}"/>')
    return out


def _scale(plot: HeatMap) -> list[str]:
    """The colours with the values at their ends."""
    low, high = f"{plot.low:.4g}", f"{plot.high:.4g}"
    start = len(low) * _CHARACTER + 8
    bar = "".join(f'<rect class="h{i}" x="{start + i * 16:.1f}" y="0" width="16.3" height="11"/>' for i in range(len(_HEAT)))
    after = start + len(_HEAT) * 16 + 8
    arrows = _text(after + (len(high) + 3) * _CHARACTER, 10, "arrows: the gradient, uphill") if plot.gradients else ""
    return [f"{_text(0, 10, low)}{bar}{_text(after, 10, high)}{arrows}"]
