"""Figures of programs in the terminal: braille dots, one panel below the other."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rich.box import SQUARE as BOX

from gradcli.render.drawing.folding import cut
from gradcli.render.escape import escape
from gradcli.render.look import Look
from gradcli.render.pictures.axes import tick_texts
from gradcli.results.figures import Drawn, Panel, Picture, Point

if TYPE_CHECKING:
    from plotille import Canvas

_COLOURS = ("bright_blue", "red", "green", "magenta", "cyan", "yellow")
_MARKERS = "*o+x#@"
_BLANK = "\u2800"
_SHADES = " .:-=+*#%@"
_ROWS = 14
#: pictures are shown with at most so many columns and rows
_PIXELS = (64, 32)


def figure_text(picture: Picture, look: Look) -> str:
    """The figure as text that ends with a line break."""
    columns = max(30, min(look.columns or 80, 100))
    lines = [cut(escape(picture.title), columns)] if picture.title else []
    for panel in picture.panels:
        lines += _panel(panel, columns, look)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _panel(panel: Panel, columns: int, look: Look) -> list[str]:
    image = next((one for one in panel.drawn if one.kind == "image"), None)
    if image is not None:
        title = [cut(escape(panel.title), columns)] if panel.title else []
        return [*title, *_image(image)]
    ends = panel.ends()
    if ends is None:
        return [cut(escape(panel.title), columns)] if panel.title else []
    (left, right), (low, high) = ends
    labels = tick_texts([panel.number(value, "y") for value in (low, high)])
    margin = max(map(len, labels)) + 1
    wide = columns - margin - 1
    bar = BOX.mid_left if look.unicode else "|"
    rows = _cells(panel, wide, (left, right), (low, high), look)
    lines = [f"{'':{margin}} {cut(escape(panel.title), wide)}"] if panel.title else []
    for at, row in enumerate(rows):
        label = labels[1] if not at else labels[0] if at == len(rows) - 1 else ""
        lines.append(f"{label:>{margin - 1}} {bar}{row}")
    line = (BOX.bottom_left + BOX.bottom * wide) if look.unicode else "+" + "-" * wide
    start, end = tick_texts([panel.number(value, "x") for value in (left, right)])
    middle = cut(escape(panel.xlabel), max(1, wide - len(start) - len(end) - 2)).center(max(1, wide - len(start) - len(end)))
    lines += [f"{'':{margin}}{line}", f"{'':{margin}} {start}{middle}{end}"]
    names = [f"{at}: {escape(name)}" for one in panel.drawn for at, name in enumerate(one.names)]
    if names:
        lines.append(f"{'':{margin}} {cut(', '.join(names), wide)}")
    return lines + _legend(panel, margin, wide, look)


def _cells(panel: Panel, wide: int, across: tuple[float, float], up: tuple[float, float], look: Look) -> list[str]:
    """The rows of the drawing area, from above. A curve that comes later lies above."""
    grid = [[" "] * wide for _ in range(_ROWS)]
    for number, one in enumerate(panel.drawn):
        for y, row in enumerate(_curve(one, panel, wide, across, up)):
            for x, char in enumerate(row[:wide]):
                if char not in (" ", _BLANK):
                    shown = char if look.unicode else _MARKERS[number % len(_MARKERS)]
                    grid[y][x] = look.paint(shown, _COLOURS[number % len(_COLOURS)])
    return ["".join(row) for row in grid]


def _curve(one: Drawn, panel: Panel, wide: int, across: tuple[float, float], up: tuple[float, float]) -> list[str]:
    from plotille import Canvas

    # the ends of the axes are so that the number 1 falls on the last dot
    canvas = Canvas(wide, _ROWS, 0, 0, 2 * wide / (2 * wide - 1), 4 * _ROWS / (4 * _ROWS - 1))
    points = panel.points(one, across, up)
    if one.kind == "bars":
        bottom = min(1.0, max(0.0, (0.0 - up[0]) / (up[1] - up[0])))
        half = 0.4 * one.step / (across[1] - across[0])
        for x, y in points:
            _bar(canvas, (max(0.0, x - half), min(1.0, x + half)), bottom, min(1.0, max(0.0, y)), int(8 * half * wide))
    elif one.kind == "points":
        for x, y in points:
            if 0 <= x <= 1 and 0 <= y <= 1:
                canvas.point(x, y)
    else:
        for a, b in pairwise(points):
            _line(canvas, a, b)
    return str(canvas.plot(linesep="\n")).split("\n")


def _bar(canvas: Canvas, sides: tuple[float, float], bottom: float, top: float, strokes: int) -> None:
    for at in range(max(1, strokes)):
        place = sides[0] + (sides[1] - sides[0]) * at / max(1, strokes - 1)
        canvas.line(place, bottom, place, top)


def _line(canvas: Canvas, start: Point, stop: Point) -> None:
    """The part of a line that is within the axes."""
    begin, end = 0.0, 1.0
    for a, b in zip(start, stop, strict=True):
        if a != a or b != b:
            return  # a place that is no number
        if a == b:
            if not 0 <= a <= 1:
                return
            continue
        first, last = sorted(((0 - a) / (b - a), (1 - a) / (b - a)))
        begin, end = max(begin, first), min(end, last)
    if begin <= end:
        places = [a + share * (b - a) for share in (begin, end) for a, b in zip(start, stop, strict=True)]
        canvas.line(*[min(1.0, max(0.0, place)) for place in places])


def _image(one: Drawn) -> list[str]:
    """Shades from low to high, two characters for a pixel."""
    rows = one.shares(_PIXELS[1], _PIXELS[0] // 2)
    return ["".join(_SHADES[int(share * (len(_SHADES) - 1))] * 2 for share in row) for row in rows]


def _legend(panel: Panel, margin: int, wide: int, look: Look) -> list[str]:
    lines = []
    for number, one in enumerate(panel.drawn):
        if panel.legend and one.label and not one.label.startswith("_"):
            mark = look.paint(BOX.bottom * 2 if look.unicode else _MARKERS[number % len(_MARKERS)] * 2, _COLOURS[number % len(_COLOURS)])
            lines.append(f"{'':{margin}} {mark} {cut(escape(one.label), wide - 4)}")
    return lines
