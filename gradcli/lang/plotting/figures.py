"""Figures and axes: they keep what is plotted, as numbers and texts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.errors import ProgramError
from gradcli.lang.plotting.numbers import Numbers, flat, numbers, pair
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.object_operations import collect, index_of
from gradcli.lang.values.representation import str_text

#: a grid has at most so many rows and columns
_MOST_PANELS = 20
_MOST_BINS = 10_000


class Drawn:
    """One thing on the axes: `kind` is "line", "points", "bars" or "image". `names` are those of bars."""

    __slots__ = ("kind", "label", "names", "style", "xs", "ys")

    def __init__(self, kind: str, xs: Numbers, ys: Numbers, options: dict[str, Value], style: str = "") -> None:
        label = options.get("label")
        self.kind = kind
        self.xs = xs
        self.ys = ys
        self.label = "" if label is None else str_text(label)
        self.style = style
        self.names: tuple[str, ...] = ()


class Artist(Scripted):
    """What plotting returns: a line, bars, a text. Its settings change nothing."""

    __slots__ = ("__weakref__",)

    SCRIPT_NAME = "Artist"
    SCRIPT_METHODS = {
        name: Routine(lambda artist, *args, **kwargs: None, name)
        for name in ("set_data", "set_label", "set_color", "set_linewidth", "set_alpha", "remove", "set_rotation", "ax", "set_ydata")
    }


def _ignored(name: str) -> Routine:
    def run(self: Axes, *args: Value, **kwargs: Value) -> Artist:
        return Artist()

    return Routine(run, name, hide_first=True)


class Axes(Scripted):
    """One panel of a figure."""

    __slots__ = ("__weakref__", "drawn", "grid_shown", "legend_shown", "limits", "logarithmic", "shown", "texts")

    SCRIPT_NAME = "Axes"

    def __init__(self) -> None:
        self.cla()

    def cla(self) -> None:
        """Take everything away."""
        self.drawn: list[Drawn] = []
        #: title, label of the horizontal and of the vertical axis
        self.texts = {"title": "", "x": "", "y": ""}
        self.limits: dict[str, tuple[float, float] | None] = {"x": None, "y": None}
        self.logarithmic = {"x": False, "y": False}
        self.legend_shown = self.grid_shown = False
        self.shown = True

    def plot(self, *args: Value, **options: Value) -> list[Artist]:
        """Lines through points: `plot(y)`, `plot(x, y)`, `plot(x, y, "r--")`, and several of these in turn."""
        rest, made = list(args), []
        while rest:
            first = rest.pop(0)
            second = rest.pop(0) if rest and type(rest[0]) is not str else None
            style = rest.pop(0) if rest and type(rest[0]) is str else ""
            if second is None:
                first, second = None, first
            for column in _columns(second):
                xs, ys = (np.arange(float(len(column))), column) if first is None else pair(first, column.tolist())
                dots = style.strip("bgrcmykwC0123456789") in (".", "o", "x", "+", "*", "s", "^", "v", "D", ",") or (
                    options.get("linestyle", options.get("ls")) in ("", "None", "none", " ")
                )
                self.drawn.append(Drawn("points" if dots else "line", xs, ys, options, style))
                made.append(Artist())
        return made

    def scatter(self, x: Value, y: Value, s: Value = None, c: Value = None, **options: Value) -> Artist:
        """Points."""
        self.drawn.append(Drawn("points", *pair(x, y), options))
        return Artist()

    def _bars(self, x: Value, heights: Numbers, options: dict[str, Value]) -> list[Artist]:
        given = collect(x) if type(x) in (list, tuple) else x
        named = type(given) is list and bool(given) and all(type(item) is str for item in given)
        places = np.arange(float(len(heights))) if named else flat(given)
        if len(places) != len(heights):
            raise ProgramError("ValueError", "shape mismatch: objects cannot be broadcast to a single shape")
        one = Drawn("bars", places, heights, options)
        one.names = tuple(given) if named else ()
        self.drawn.append(one)
        return [Artist() for _ in range(len(heights))]

    def bar(self, x: Value, height: Value, width: Value = 0.8, **options: Value) -> list[Artist]:
        """Bars; `x` are numbers or names."""
        heights = flat(height)
        count = len(collect(x)) if type(x) in (list, tuple) else flat(x).size
        return self._bars(x, np.repeat(heights, count) if heights.size == 1 else heights, options)

    def hist(self, x: Value, bins: Value = 10, range: Value = None, density: Value = False, **options: Value) -> tuple[Value, ...]:
        """Bars that count values; counts, edges, bars."""
        edges = index_of(bins) if type(bins) is int else flat(bins)
        if type(edges) is int and not 0 < edges <= _MOST_BINS:
            raise ProgramError("ValueError", f"bins must be between 1 and {_MOST_BINS:,}")
        values = flat(x)
        between = None if range is None else (float(flat(range)[0]), float(flat(range)[1]))
        if not np.isfinite(values).all():
            raise ProgramError("ValueError", "autodetected range of [nan, nan] is not finite")
        counts, places = np.histogram(values, edges, between, density=bool(density))
        middles = (places[1:] + places[:-1]) / 2
        self.drawn.append(Drawn("bars", middles, counts.astype(np.float64), options))
        return counts.astype(np.float64).tolist(), places.tolist(), Artist()

    def imshow(self, X: Value, *args: Value, **options: Value) -> Artist:
        """A picture of numbers, the first row above; of colours the mean."""
        pixels = numbers(X)
        if pixels.ndim == 3 and pixels.shape[2] in (1, 3, 4):
            pixels = pixels[:, :, :3].mean(axis=2)
        if pixels.ndim != 2:
            raise ProgramError("TypeError", f"Invalid shape {pixels.shape} for image data")
        self.drawn.append(Drawn("image", np.zeros(0), pixels, options))
        return Artist()

    def axhline(self, y: Value = 0, *args: Value, **options: Value) -> Artist:
        """A line over the whole width."""
        self.drawn.append(Drawn("across", np.zeros(1), flat(y)[:1], options))
        return Artist()

    def axvline(self, x: Value = 0, *args: Value, **options: Value) -> Artist:
        """A line over the whole height."""
        self.drawn.append(Drawn("up", flat(x)[:1], np.zeros(1), options))
        return Artist()

    def fill_between(self, x: Value, y1: Value, y2: Value = 0, **options: Value) -> Artist:
        """The lines above and below an area."""
        xs, lower = flat(x), flat(y2)
        self.drawn.append(Drawn("line", *pair(xs.tolist(), y1), options))
        if lower.size == xs.size:
            self.drawn.append(Drawn("line", xs, lower, {}))
        return Artist()

    def errorbar(self, x: Value, y: Value, *args: Value, **options: Value) -> Artist:
        """The line without its errors."""
        self.drawn.append(Drawn("line", *pair(x, y), options))
        return Artist()

    def set_title(self, label: Value, **options: Value) -> None:
        """The text above."""
        self.texts["title"] = str_text(label)

    def set_xlabel(self, xlabel: Value, **options: Value) -> None:
        """The text of the horizontal axis."""
        self.texts["x"] = str_text(xlabel)

    def set_ylabel(self, ylabel: Value, **options: Value) -> None:
        """The text of the vertical axis."""
        self.texts["y"] = str_text(ylabel)

    def _limit(self, axis: str, args: tuple[Value, ...]) -> None:
        ends = flat(args[0] if len(args) == 1 and type(args[0]) in (tuple, list) else list(args)) if None not in args else np.zeros(0)
        if len(ends) == 2 and np.isfinite(ends).all() and ends[0] != ends[1]:
            self.limits[axis] = (float(ends.min()), float(ends.max()))

    def set_xlim(self, *args: Value, **options: Value) -> None:
        """The ends of the horizontal axis."""
        self._limit("x", args)

    def set_ylim(self, *args: Value, **options: Value) -> None:
        """The ends of the vertical axis."""
        self._limit("y", args)

    def set_xscale(self, value: Value, **options: Value) -> None:
        """ "log" or "linear"."""
        self.logarithmic["x"] = value == "log"

    def set_yscale(self, value: Value, **options: Value) -> None:
        """ "log" or "linear"."""
        self.logarithmic["y"] = value == "log"

    def semilogy(self, *args: Value, **options: Value) -> list[Artist]:
        """`plot`, upwards by logarithms."""
        self.logarithmic["y"] = True
        return self.plot(*args, **options)

    def semilogx(self, *args: Value, **options: Value) -> list[Artist]:
        """`plot`, across by logarithms."""
        self.logarithmic["x"] = True
        return self.plot(*args, **options)

    def loglog(self, *args: Value, **options: Value) -> list[Artist]:
        """`plot` by logarithms."""
        self.logarithmic = {"x": True, "y": True}
        return self.plot(*args, **options)

    def legend(self, labels: Value = None, *args: Value, **options: Value) -> None:
        """Show the labels; texts that are given take the place of the labels."""
        self.legend_shown = True
        if type(labels) in (list, tuple) and all(type(one) is str for one in labels):
            for one, text in zip(self.drawn, labels, strict=False):
                one.label = text

    def grid(self, visible: Value = True, *args: Value, **options: Value) -> None:
        """Show a grid."""
        self.grid_shown = visible is not False

    def axis(self, arg: Value = None, *args: Value, **options: Value) -> None:
        """`axis("off")`, `axis([x0, x1, y0, y1])`."""
        if type(arg) in (list, tuple) and len(arg) == 4:
            self._limit("x", tuple(arg[:2]))
            self._limit("y", tuple(arg[2:]))
        elif type(arg) is str or arg is False:
            self.shown = arg not in ("off", False)

    def set(self, **options: Value) -> None:
        """Several settings: `set(title=..., xlabel=...)`."""
        for name, value in options.items():
            method = self.SCRIPT_METHODS.get(f"set_{name}")
            if method is not None:
                method(self, value)

    SCRIPT_METHODS: dict[str, Routine] = {
        **{
            name: _ignored(name)
            for name in (
                *("set_xticks", "set_yticks", "set_xticklabels", "set_yticklabels", "tick_params", "set_aspect", "text", "annotate"),
                *("margins", "invert_yaxis", "invert_xaxis", "set_axis_off", "autoscale", "set_facecolor", "quiver"),
            )
        },
        **{
            method.__name__: Routine(method, f"Axes.{method.__name__}", hide_first=True)
            for method in (
                *(cla, plot, scatter, bar, hist, imshow, axhline, axvline, fill_between, errorbar, set_title, set_xlabel, set_ylabel),
                *(set_xlim, set_ylim, set_xscale, set_yscale, semilogy, semilogx, loglog, legend, grid, axis, set),
            )
        },
    }


def _columns(value: Value) -> list[Numbers]:
    """The curves in what is plotted: the columns of a matrix."""
    found = numbers(value)
    if found.ndim > 2:
        raise ProgramError("ValueError", f"x and y can be no greater than 2D, but have shapes {found.shape} and {found.shape}")
    return [found.reshape(-1)] if found.ndim < 2 else [found[:, at] for at in range(min(found.shape[1], _MOST_PANELS))]


class Figure(Scripted):
    """A grid of axes. `save` and `show` hand it on."""

    __slots__ = ("__weakref__", "columns", "current", "hand_on", "panels", "rows", "title")

    SCRIPT_NAME = "Figure"

    def __init__(self, hand_on: Callable[[Figure, str | None], None]) -> None:
        self.rows = self.columns = 1
        #: the axes by their place, counted along the rows
        self.panels: dict[int, Axes] = {}
        self.current = 0
        self.title = ""
        self.hand_on = hand_on

    def axes(self, at: int | None = None) -> Axes:
        """The axes at a place, by default the current ones."""
        self.current = self.current if at is None else at
        return self.panels.setdefault(self.current, Axes())

    def lay_out(self, rows: int, columns: int) -> None:
        """Set the size of the grid. Raises ValueError."""
        if not (0 < rows <= _MOST_PANELS and 0 < columns <= _MOST_PANELS):
            raise ProgramError("ValueError", f"a grid has between 1 and {_MOST_PANELS} rows and columns")
        self.rows, self.columns = max(self.rows, rows), max(self.columns, columns)

    def add_subplot(self, *args: Value, **options: Value) -> Axes:
        """The axes at a place: `add_subplot(rows, columns, number)`, `add_subplot(121)`."""
        rows, columns, number = (1, 1, 1) if not args else [index_of(one) for one in args] if len(args) == 3 else _digits(args)
        self.lay_out(rows, columns)
        if not 0 < number <= rows * columns:
            raise ProgramError("ValueError", f"num must be an integer with 1 <= num <= {rows * columns}, not {number}")
        return self.axes(number - 1)

    def suptitle(self, t: Value, **options: Value) -> None:
        """The text above all."""
        self.title = str_text(t)

    def gca(self) -> Axes:
        """The current axes."""
        return self.axes()

    def savefig(self, fname: Value, **options: Value) -> None:
        """Save the figure, where files are wanted."""
        self.hand_on(self, str_text(fname))

    def show(self, **options: Value) -> None:
        """Show the figure."""
        self.hand_on(self, None)

    def unchanged(self, *args: Value, **options: Value) -> Artist:
        """Settings that change nothing."""
        return Artist()

    SCRIPT_METHODS = {
        **dict.fromkeys(
            ("tight_layout", "colorbar", "subplots_adjust", "set_size_inches", "autofmt_xdate", "clf", "legend"),
            Routine(unchanged, "Figure.setting", hide_first=True),
        ),
        **{
            method.__name__: Routine(method, f"Figure.{method.__name__}", hide_first=True)
            for method in (add_subplot, suptitle, gca, savefig, show)
        },
    }


def _digits(args: tuple[Value, ...]) -> list[int]:
    number = index_of(args[0])
    if len(args) != 1 or not 100 <= number <= 999:
        raise ProgramError("ValueError", "Integer subplot specification must be a three-digit number")
    return [number // 100, number // 10 % 10, number % 10]
