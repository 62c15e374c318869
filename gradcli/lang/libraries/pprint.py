"""`pprint`: containers that are too long for a line, with an item on each."""

from __future__ import annotations

from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.execution import emit, tick
from gradcli.lang.values.representation import repr_text
from gradcli.lang.values.value_classes import Builtin

_BRACKETS: dict[type, str] = {list: "[]", tuple: "()", dict: "{}", set: "{}"}
_DEEPEST = 50


class _Layout:
    """How a value is laid out in lines of `width` characters."""

    def __init__(self, indent: int, width: int, sort: bool) -> None:
        self.indent = indent
        self.width = width
        self.sort = sort

    def plain(self, value: Value) -> str:
        """The text on one line: keys in order."""
        return repr_text(self._ordered(value, 0))

    def _ordered(self, value: Value, depth: int) -> Value:
        if not self.sort or depth > _DEEPEST:
            return value
        if type(value) in _BRACKETS:
            tick()
        if type(value) is dict:
            return {key: self._ordered(value[key], depth + 1) for key in self._keys(value)}
        if type(value) in (list, tuple):
            return type(value)([self._ordered(item, depth + 1) for item in value])
        return value

    def _keys(self, value: dict[Value, Value]) -> list[Value]:
        try:
            return sorted(value) if self.sort and all(type(key) in (str, int, float) for key in value) else list(value)
        except TypeError:
            return list(value)

    def lines(self, value: Value, column: int, after: int, depth: int = 0) -> str:
        """The text from `column` on, with `after` characters behind it."""
        tick()  # what is shared is written at every place
        text = self.plain(value)
        kind = type(value)
        if len(text) + column + after <= self.width or kind not in _BRACKETS or not value or depth > _DEEPEST:
            return text
        opening, closing = _BRACKETS[kind][0], _BRACKETS[kind][1]
        inner = column + self.indent
        if kind is dict:
            named = [(f"{repr_text(key)}: ", value[key]) for key in self._keys(value)]
        else:
            named = [("", item) for item in (sorted(value, key=repr_text) if kind is set else value)]
        parts = []
        for at, (start, item) in enumerate(named):
            rest = after + 1 if at == len(named) - 1 else 1
            parts.append(start + self.lines(item, inner + len(start), rest, depth + 1))
        body = (",\n" + " " * inner).join(parts)
        return f"{opening}{' ' * (self.indent - 1)}{body}{',' if kind is tuple and len(value) == 1 else ''}{closing}"


def _pformat(object: Value, indent: Value = 1, width: Value = 80, depth: Value = None, *, compact: Value = False,
             sort_dicts: Value = True, underscore_numbers: Value = False) -> str:  # fmt: skip
    for number in (indent, width):
        if type(number) is not int or not 0 < number <= 10_000:
            raise ProgramError("ValueError", "indent and width must be between 1 and 10000")
    return _Layout(indent, width, bool(sort_dicts)).lines(object, 0, 0)


def _pprint(object: Value, stream: Value = None, **options: Value) -> None:
    emit(_pformat(object, **options) + "\n")


def _pp(object: Value, *args: Value, **options: Value) -> None:
    emit(_pformat(object, *args, **{"sort_dicts": False, **options}) + "\n")


def _display(*objs: Value, **options: Value) -> None:
    for value in objs:
        emit(repr_text(value) + "\n")


def _clear(wait: Value = False) -> None:
    """Nothing: what was printed stays."""


#: `IPython` itself has the module `display` only
IPYTHON: dict[str, Value] = {}
#: the names of `IPython.display`
DISPLAY: dict[str, Value] = {"display": Builtin("display", _display), "clear_output": Builtin("clear_output", _clear)}
MEMBERS: dict[str, Value] = {"pprint": Builtin("pprint", _pprint), "pformat": Builtin("pformat", _pformat), "pp": Builtin("pp", _pp)}
