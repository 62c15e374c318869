"""`matplotlib.pyplot`: functions that draw into the current figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.errors import ProgramError
from gradcli.lang.libraries.system import Environment
from gradcli.lang.plotting.figures import Artist, Axes, Figure
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.execution import emit, emit_error, execution
from gradcli.lang.values.object_operations import index_of
from gradcli.lang.values.representation import str_text
from gradcli.lang.values.value_classes import Builtin

#: figures that are open at the same time
_MOST_FIGURES = 200


def _hand_on(figure: Figure, name: str | None) -> None:
    """Draw a figure, or save it under a name. What comes back is printed."""
    draw = execution.outside.draw
    if draw is not None:
        emit(draw(figure, name))
    elif name is not None:
        emit_error(f"savefig: {name} is not written\n")


def _figure(*args: Value, **options: Value) -> Figure:
    made = Figure(_hand_on)
    execution.outside.figures.append(made)
    if len(execution.outside.figures) > _MOST_FIGURES:
        raise ProgramError("RuntimeError", f"more than {_MOST_FIGURES} figures are open: plt.close() closes them")
    return made


def _current() -> Figure:
    found = execution.outside.figures
    figure: Figure = found[-1] if found else _figure()  # type: ignore[assignment]
    return figure


def _axes() -> Axes:
    return _current().axes()


def _subplots(nrows: Value = 1, ncols: Value = 1, *, squeeze: Value = True, **options: Value) -> Value:
    figure = _figure()
    rows, columns = index_of(nrows), index_of(ncols)
    figure.lay_out(rows, columns)
    grid = [[figure.axes(row * columns + column) for column in range(columns)] for row in range(rows)]
    figure.current = 0
    if squeeze is not False and rows * columns == 1:
        return figure, grid[0][0]
    if squeeze is not False and 1 in (rows, columns):
        return figure, Panels([one for row in grid for one in row], (rows * columns,))
    return figure, Panels([one for row in grid for one in row], (rows, columns))


class Panels(Scripted):
    """The axes of `subplots`: an array of one or two dimensions."""

    __slots__ = ("__weakref__", "held", "shape")

    SCRIPT_NAME = "ndarray"

    def __init__(self, held: list[Axes], shape: tuple[int, ...]) -> None:
        self.held = held
        self.shape = shape

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Value]:
        return (self[at] for at in range(self.shape[0]))

    def __getitem__(self, index: Value) -> Value:
        places = [index_of(one) for one in (index if type(index) is tuple else (index,))]
        if len(places) > len(self.shape):
            raise ProgramError("IndexError", f"too many indices for array: array is {len(self.shape)}-dimensional")
        for at, size in zip(places, self.shape, strict=False):
            if not -size <= at < size:
                raise ProgramError("IndexError", f"index {at} is out of bounds for axis 0 with size {size}")
        first = places[0] % self.shape[0]
        if len(self.shape) == 1:
            return self.held[first]
        row = self.held[first * self.shape[1] : (first + 1) * self.shape[1]]
        return row[places[1]] if len(places) == 2 else Panels(row, (len(row),))

    def flatten(self) -> Panels:
        """All axes in a row."""
        return Panels(self.held, (len(self.held),))

    SCRIPT_ATTRIBUTES = {"shape": lambda panels: panels.shape, "flat": lambda panels: panels.flatten()}
    SCRIPT_METHODS = {
        "ravel": Routine(flatten, "ravel", hide_first=True),
        **{method.__name__: Routine(method, method.__name__, hide_first=True) for method in (__len__, __iter__, __getitem__, flatten)},
    }


def _subplot(*args: Value, **options: Value) -> Axes:
    return _current().add_subplot(*args, **options)


def show(*args: Value, **options: Value) -> None:
    """Show the figures that are open, and close them."""
    figures, execution.outside.figures[:] = list(execution.outside.figures), []
    for figure in figures:
        assert isinstance(figure, Figure)
        if any(axes.drawn for axes in figure.panels.values()):
            _hand_on(figure, None)


def _close(fig: Value = None) -> None:
    figures = execution.outside.figures
    if fig == "all":
        figures.clear()
    elif isinstance(fig, Figure):
        figures[:] = [one for one in figures if one is not fig]
    elif figures:
        figures.pop()


def _savefig(fname: Value, **options: Value) -> None:
    _hand_on(_current(), str_text(fname))


def _on_axes(name: str, method: str) -> Builtin:
    routine = Axes.SCRIPT_METHODS[method]
    return Builtin(name, lambda *args, **kwargs: routine(_axes(), *args, **kwargs))


def _nothing(*args: Value, **options: Value) -> Artist:
    return Artist()


def _clear() -> None:
    figure = _current()
    figure.panels.clear()
    figure.current = 0


_DRAWING = (
    *("plot", "scatter", "bar", "hist", "imshow", "axhline", "axvline", "fill_between", "errorbar", "semilogy", "semilogx", "loglog"),
    *("legend", "grid", "axis", "cla", "text", "annotate", "margins", "tick_params", "quiver"),
)
_SETTING = ("title", "xlabel", "ylabel", "xlim", "ylim", "xscale", "yscale", "xticks", "yticks")
_IGNORED = ("tight_layout", "colorbar", "subplots_adjust", "ion", "ioff", "pause", "draw", "rc", "set_cmap", "gray")

_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "figure": _figure,
    "subplots": _subplots,
    "subplot": _subplot,
    "gca": _axes,
    "gcf": _current,
    "show": show,
    "close": _close,
    "clf": _clear,
    "savefig": _savefig,
    "suptitle": lambda t, **options: _current().suptitle(t),
    **dict.fromkeys(_IGNORED, _nothing),
}

#: colour maps by name, as `cmap=` takes them
CM: dict[str, Value] = {name: name for name in ("viridis", "plasma", "inferno", "magma", "jet", "rainbow", "hot", "gray", "Blues")}
STYLE: dict[str, Value] = {"use": Builtin("use", _nothing)}
MATPLOTLIB: dict[str, Value] = {"use": Builtin("use", _nothing), "__version__": "3.10"}
MEMBERS: dict[str, Value] = {
    # programs may assign settings, which change nothing
    "rcParams": Environment(),
    **{name: Builtin(name, function) for name, function in _FUNCTIONS.items()},
    **{name: _on_axes(name, name) for name in _DRAWING},
    **{name: _on_axes(name, f"set_{name}") for name in _SETTING},
}
