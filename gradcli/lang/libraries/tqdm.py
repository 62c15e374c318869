"""`tqdm`: progress bars on standard error, which whoever runs the program draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, ScriptType
from gradcli.core.calling.type_errors import type_error
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.execution import emit, execution
from gradcli.lang.values.object_operations import index_of, iterate
from gradcli.lang.values.representation import str_text
from gradcli.lang.values.special_methods import special
from gradcli.lang.values.types import RANGE
from gradcli.lang.values.value_classes import Builtin


def _length(value: Value) -> int | None:
    """The number of items, where it is known."""
    methods = getattr(type(value), "SCRIPT_METHODS", {})
    if "__len__" in methods:
        return int(methods["__len__"](value))
    own = special(value, "__len__")
    if own is not None:
        return int(own())
    return len(value) if isinstance(value, list | tuple | dict | set | str | range) else None


class Progress(Scripted):
    """`tqdm(iterable, desc, total)`: goes through the items and shows how far it is."""

    __slots__ = ("__weakref__", "description", "disabled", "iterable", "move", "n", "postfix", "total")

    SCRIPT_NAME = "tqdm"

    def __init__(
        self, iterable: Value = None, desc: Value = None, total: Value = None, leave: Value = True, disable: Value = False, **more: Value
    ) -> None:
        self.iterable = iterable
        self.description = "" if desc is None else str_text(desc)
        self.total = _length(iterable) if total is None else total
        self.disabled = bool(disable)
        self.n = 0
        self.postfix = ""
        self.move: Callable[[float | None, str], None] | None = None

    def _show(self, place: float | None) -> None:
        begin = execution.outside.progress
        if begin is None or self.disabled:
            return
        if self.move is None:
            self.move = begin(self.total)
        self.move(place, ", ".join(part for part in (self.description, self.postfix) if part))
        if place is None:
            self.move = None

    def __iter__(self) -> Iterator[Value]:
        if self.iterable is None:
            raise type_error("'{}' object is not iterable", None)
        self._show(self.n)
        try:
            for item in iterate(self.iterable):
                yield item
                self.n += 1
                self._show(self.n)
        finally:
            self._show(None)

    def __len__(self) -> int:
        return int(self.total or 0)

    def update(self, n: Value = 1) -> None:
        """Go on by `n`."""
        self.n += n
        self._show(self.n)

    def set_description(self, desc: Value = None, refresh: Value = True) -> None:
        """The text in front of the bar."""
        self.description = "" if desc is None else str_text(desc)
        self._show(self.n)

    def set_postfix(self, ordered_dict: Value = None, refresh: Value = True, **kwargs: Value) -> None:
        """Names and values behind the bar."""
        given = {**(ordered_dict or {}), **kwargs}
        texts = {name: f"{value:.3g}" if type(value) is float else str_text(value) for name, value in given.items()}
        self.postfix = ", ".join(f"{name}={text}" for name, text in texts.items())
        self._show(self.n)

    def set_postfix_str(self, s: Value = "", refresh: Value = True) -> None:
        """A text behind the bar."""
        self.postfix = str_text(s)
        self._show(self.n)

    def reset(self, total: Value = None) -> None:
        """Begin anew."""
        self.n = 0
        self.total = self.total if total is None else total

    def refresh(self) -> None:
        """Show how far it is."""
        self._show(self.n)

    def close(self) -> None:
        """The bar is at its end."""
        self._show(None)

    def enter(self) -> Value:
        """The bar itself."""
        return self

    def exit(self) -> None:
        """Close it."""
        self.close()

    SCRIPT_ATTRIBUTES = {"n": lambda one: one.n, "total": lambda one: one.total, "desc": lambda one: one.description}
    SCRIPT_METHODS = {
        method.__name__: Routine(method, f"tqdm.{method.__name__}", hide_first=True)
        for method in (__iter__, __len__, update, set_description, set_postfix, set_postfix_str, reset, refresh, close)
    }


def _write(s: Value, file: Value = None, end: Value = "\n", nolock: Value = False) -> None:
    emit(str_text(s) + str_text(end))


def _trange(*bounds: Value, **options: Value) -> Progress:
    return Progress(RANGE(*[index_of(bound) for bound in bounds]), **options)


class TqdmType(ScriptType):
    """The type `tqdm`, with `tqdm.write(text)`."""

    __slots__ = ()

    SCRIPT_NAME = "type"
    SCRIPT_ATTRIBUTES = {"write": lambda made: Builtin("write", _write)}


_TYPE = TqdmType("tqdm", "tqdm", Progress, lambda value: type(value) is Progress)
Progress.SCRIPT_TYPE = _TYPE  # type: ignore[attr-defined]

MEMBERS: dict[str, Value] = {"tqdm": _TYPE, "trange": Builtin("trange", _trange)}
