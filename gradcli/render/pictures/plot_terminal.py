"""Plots in the terminal: curves of braille dots, two variables as a heat map with the gradient as arrows.

Curves are told apart by their dashes, and by colour where there is one. Without Unicode the dots are letters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradcli.plain import Plain
from gradcli.render.drawing.folding import cut
from gradcli.render.escape import escape, width
from gradcli.render.look import Look
from gradcli.render.pictures.axes import pieces, shares, strokes, tick_texts, ticks
from gradcli.results.plots import Curves, HeatMap

if TYPE_CHECKING:
    from rich.box import Box

#: dashes of the curves in dots: on, off, on, off
DASHES: tuple[tuple[float, ...], ...] = ((), (7, 5), (1, 3), (9, 3, 1, 3), (3, 6), (1, 6), (12, 3, 3, 3), (2, 2))
_MARKERS = "*o+x#@%&"
#: colours of the terminal, readable on light and dark
_COLOURS = ("bright_blue", "red", "green", "magenta", "cyan", "yellow", "blue", "bright_magenta")
_BLANK = "\u2800"
#: numbers of the 256 colours, from violet through green to yellow, each lighter than the one before
_HEAT = (53, 54, 55, 60, 24, 31, 37, 36, 72, 77, 113, 149, 185, 227)
_DENSITY = " .:-=+*#%@"
_ARROWS = "→↗↑↖←↙↓↘"
_PLAIN_ARROWS = ">/^\\</v\\"


class Area(Plain):
    """The place of a plot: the columns of the whole, the rows of the drawing area, and the look."""

    columns: int
    rows: int
    look: Look


def curves_text(plot: Curves, area: Area) -> str:
    """A title, the curves with their axes, a legend, and notes."""
    places = ticks(plot.low, plot.high, max(2, area.rows // 4))
    labels = tick_texts(places)
    margin = max(map(len, labels), default=0) + 1
    wide = area.columns - margin - 2 - len(plot.name)
    cells = _cells(plot, area, wide)
    body = _framed(cells, places, labels, (plot.low, plot.high), margin, area)
    start, end = float(plot.points[0]), float(plot.points[-1])
    head = escape(" ".join(plot.expression.split()))
    lines = [f"{'':{margin}} {cut(head, wide)}", *body, *_bottom(start, end, plot.name, margin, wide, area)]
    lines += _legend(plot, margin, area) + [f"{'':{margin}} {escape(note)}" for note in plot.notes]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _box(area: Area) -> Box:
    """The lines of the axes."""
    from rich.box import ASCII2, SQUARE

    return SQUARE if area.look.unicode else ASCII2


def _cells(plot: Curves, area: Area, wide: int) -> list[list[str]]:
    """The characters of the drawing area, row by row from above."""
    grid = [[" "] * wide for _ in range(area.rows)]
    drawn = [(k, _curve_cells(plot, k, area, wide)) for k in range(len(plot.curves))]
    for k, rows in reversed(drawn):
        for y, row in enumerate(rows):
            for x, char in enumerate(row):
                if char not in (" ", _BLANK):
                    before = _dots(grid[y][x])
                    joined = chr(ord(char) | before) if area.look.unicode else char
                    grid[y][x] = area.look.paint(joined, _COLOURS[k % len(_COLOURS)])
    if plot.low < 0 < plot.high:
        at = area.rows - 1 - int((0 - plot.low) / (plot.high - plot.low) * area.rows)
        zero = area.look.paint("\u2804" if area.look.unicode else ".", "dim")
        grid[at] = [zero if char == " " else char for char in grid[at]]
    return grid


def _dots(cell: str) -> int:
    """The dots of a cell that is drawn already, as bits of its character."""
    return next((ord(char) for char in cell if "\u2800" <= char <= "\u28ff"), 0x2800) if cell != " " else 0x2800


def _curve_cells(plot: Curves, k: int, area: Area, wide: int) -> list[str]:
    """One curve alone; lines of characters from above."""
    from plotille import Canvas

    dots = (2 * wide - 1, 4 * area.rows - 1)
    start, end = float(plot.points[0]), float(plot.points[-1])
    scale = (dots[0] / (end - start), dots[1] / (plot.high - plot.low))
    canvas = Canvas(wide, area.rows, 0, 0, 1, 1)
    for stroke in strokes(plot.points, plot.curves[k], plot.low, plot.high):
        for a, b in pieces(stroke, DASHES[k % len(DASHES)], scale):
            ends = [((x - start) / (end - start), (y - plot.low) / (plot.high - plot.low)) for x, y in (a, b)]
            canvas.line(*ends[0], *ends[1])
    rows = str(canvas.plot(linesep="\n")).split("\n")
    if area.look.unicode:
        return rows
    marker = _MARKERS[k % len(_MARKERS)]
    return ["".join(" " if char in (" ", _BLANK) else marker for char in row) for row in rows]


def _framed(
    cells: Sequence[Sequence[str]], places: Sequence[float], labels: Sequence[str], ends: tuple[float, float], margin: int, area: Area
) -> list[str]:
    """The rows with the vertical axis and its ticks before them."""
    box = _box(area)
    line, tick = box.head_left, box.row_right
    rows = len(cells)
    low, high = ends
    at = {rows - 1 - min(int((place - low) / (high - low) * rows), rows - 1): text for place, text in zip(places, labels, strict=True)}
    return [f"{at.get(y, ''):>{margin}}{tick if y in at else line}{''.join(row)}" for y, row in enumerate(cells)]


def _bottom(start: float, end: float, name: str, margin: int, wide: int, area: Area) -> list[str]:
    """The horizontal axis: a line with ticks, and their numbers below."""
    box = _box(area)
    corner, line, tick = box.bottom_left, box.top, box.top_divider
    places = ticks(start, end, max(2, wide // 10))
    axis = [line] * wide
    texts = [" "] * (wide + margin + 12)
    for place, text in zip(places, tick_texts(places), strict=True):
        column = min(int((place - start) / (end - start) * wide), wide - 1)
        axis[column] = tick
        first = max(margin + 1 + column - (len(text) - 1) // 2 - (text[0] == "-"), 0)
        texts[first : first + len(text)] = text
    return [f"{'':{margin}}{corner}{''.join(axis)} {name}", "".join(texts)]


def _legend(plot: Curves, margin: int, area: Area) -> list[str]:
    """The legend: a sample of each line with its label, in as many lines as it takes."""
    if len(plot.curves) == 1:
        return []
    lines, used = [f"{'':{margin}} "], margin + 1
    for k, curve in enumerate(plot.curves):
        sample = _sample(k) if area.look.unicode else _MARKERS[k % len(_MARKERS)] * 3
        entry = f"{sample} {curve.label if area.look.unicode else curve.label.replace('²', '2')}   "
        if used + width(entry) > area.columns and used > margin + 1:
            lines.append(f"{'':{margin}} ")
            used = margin + 1
        lines[-1] += area.look.paint(sample, _COLOURS[k % len(_COLOURS)]) + entry[len(sample) :]
        used += width(entry)
    return lines


def _sample(k: int) -> str:
    """Six cells of a curve's dashes."""
    pattern = DASHES[k % len(DASHES)]
    on = [True] * 12
    if pattern:
        flat = [i % 2 == 0 for i, length in enumerate(pattern) for _ in range(int(length))]
        on = [flat[i % len(flat)] for i in range(12)]
    # the dots of the second row from below
    return "".join(chr(0x2800 + 0x04 * on[i] + 0x20 * on[i + 1]) for i in range(0, 12, 2)).replace(_BLANK, " ")


# --- two variables --------------------------------------------------------------------------------


def heat_text(plot: HeatMap, area: Area) -> str:
    """A title, the map with its axes, the scale, notes. A row of the text is a row of the grid."""
    rows, columns = plot.values.shape
    places = ticks(float(plot.ys[0]), float(plot.ys[-1]), max(2, rows // 4))
    labels = tick_texts(places)
    margin = max(map(len, labels), default=0) + 1
    parts = shares(plot.values, plot.low, plot.high)
    arrows = _field(plot, area)
    cells = [[_cell(parts[y, x], arrows.get((y, x), " "), arrows, (y, x), area) for x in range(columns)] for y in reversed(range(rows))]
    ends = (float(plot.ys[0]), float(plot.ys[-1]))
    lines = [f"{'':{margin}} {cut(escape(' '.join(plot.expression.split())), columns)}", f"{plot.names[1]:>{margin}}"]
    lines += _framed(cells, places, labels, ends, margin, area)
    lines += _bottom(float(plot.xs[0]), float(plot.xs[-1]), plot.names[0], margin, columns, area)
    lines += [f"{'':{margin}} {_scale(plot, area)}"]
    if arrows:
        lines.append(f"{'':{margin}} arrows: where the gradient points, uphill")
    lines += [f"{'':{margin}} {escape(note)}" for note in plot.notes]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def heat_size(area: Area, names: Sequence[str]) -> tuple[int, int]:
    """How many columns and rows of the grid fit."""
    return max(area.columns - 8 - max(map(len, names)), 10), area.rows


def _field(plot: HeatMap, area: Area) -> dict[tuple[int, int], str]:
    """Arrows of the gradient on some cells. A cell is twice as high as wide, which turns the directions on the screen."""
    if not plot.gradients:
        return {}
    rows, columns = plot.values.shape
    across = (float(plot.xs[-1]) - float(plot.xs[0])) / columns
    up = (float(plot.ys[-1]) - float(plot.ys[0])) / rows
    found = {}
    for y in range(1, rows, 3):
        for x in range(3, columns - 1, 6):
            dx, dy = float(plot.gradients[0][y, x]) / across, 2 * float(plot.gradients[1][y, x]) / up
            found[y, x] = _arrow(dx, dy, area)
    return found


def _arrow(dx: float, dy: float, area: Area) -> str:
    if not (math.isfinite(dx) and math.isfinite(dy)):
        return " "
    if dx == dy == 0:
        return "·" if area.look.unicode else "o"
    return (_ARROWS if area.look.unicode else _PLAIN_ARROWS)[round(math.atan2(dy, dx) / (math.pi / 4)) % 8]


def _cell(part: float, char: str, arrows: dict[tuple[int, int], str], at: tuple[int, int], area: Area) -> str:
    if math.isnan(part):
        return "?" if char == " " else char
    if area.look.colour:
        ink = 231 if part < 0.55 else 16
        return area.look.paint(char, f"color({ink}) on color({_HEAT[_step(part, len(_HEAT))]})")
    if char != " ":
        return char
    y, x = at
    # blanks on both sides set an arrow off
    if (y, x - 1) in arrows or (y, x + 1) in arrows:
        return " "
    return _DENSITY[_step(part, len(_DENSITY))]


def _step(part: float, count: int) -> int:
    return min(int(part * count), count - 1)


def _scale(plot: HeatMap, area: Area) -> str:
    """The scale of shades, with the least and the greatest value."""
    shades = [area.look.paint("  ", f"on color({code})") for code in _HEAT] if area.look.colour else [char * 2 for char in _DENSITY]
    unknown = "   ? no value" if bool((plot.values != plot.values).any()) else ""
    return f"{plot.low:.4g} [{''.join(shades)}] {plot.high:.4g}{unknown}"
