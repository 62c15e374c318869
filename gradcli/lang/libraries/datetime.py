"""`datetime`: points in time, days, and differences between them, without time zones."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, ScriptType
from gradcli.errors import ProgramError
from gradcli.lang.libraries.time import trusted
from gradcli.lang.python.object_protocol import Value, hosted
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED
from gradcli.lang.values.value_classes import MISSING, Builtin

_FORMAT_LENGTH = 200
_OPERATORS = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "floordiv", "neg", "eq", "ne", "lt", "le", "gt", "ge", "hash", "abs")


class Held(Scripted):
    """A value of Python's module: `host` is never seen by programs."""

    __slots__ = ("__weakref__", "host")

    SCRIPT_NAME = "datetime"

    def __init__(self, host: Any) -> None:
        self.host = host

    def __repr__(self) -> str:
        return repr(self.host)

    def __str__(self) -> str:
        return str(self.host)

    def __hash__(self) -> int:
        return hash(self.host)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and bool(self.host == other.host)

    def special(self, name: str) -> Callable[..., Value] | None:
        """Operators, `str` and formats, as Python's own values have them."""
        if name == "__str__":
            return lambda: str(self.host)
        if name == "__format__":
            return lambda spec: str(self.host) if not spec else _strftime(self, spec)
        if name.strip("_") not in _OPERATORS:
            return None
        operate = getattr(self.host, name, None)
        if operate is None:
            return None

        def run(*others: Value) -> Value:
            found = hosted(operate, *[other.host if isinstance(other, Held) else other for other in others])
            return NOT_IMPLEMENTED if found is NotImplemented else _held(found)

        return run


class Moment(Held):
    """`datetime.datetime`."""

    __slots__ = ()


class Day(Held):
    """`datetime.date`."""

    __slots__ = ()
    SCRIPT_NAME = "date"


class Delta(Held):
    """`datetime.timedelta`."""

    __slots__ = ()
    SCRIPT_NAME = "timedelta"


def _held(found: Any) -> Value:
    """A value of Python's module as one of the language's."""
    if isinstance(found, datetime.datetime):
        return Moment(found)
    if isinstance(found, datetime.date):
        return Day(found)
    return Delta(found) if isinstance(found, datetime.timedelta) else found


def _strftime(value: Held, format: Value, /) -> str:
    if type(format) is not str or len(format) > _FORMAT_LENGTH:
        raise ProgramError("TypeError", f"strftime() takes a text of at most {_FORMAT_LENGTH} characters")
    return str(hosted(value.host.strftime, format))


def _method(name: str) -> Routine:
    def run(value: Held, /, *args: Value, **kwargs: Value) -> Value:
        given = [arg.host if isinstance(arg, Held) else arg for arg in args]
        return _held(hosted(lambda: getattr(value.host, name)(*given, **kwargs)))

    return Routine(run, name, hide_first=True)


def _field(name: str) -> Callable[[Any], Value]:
    return lambda value: _held(getattr(value.host, name))


def _tables(kind: type[Held], fields: str, methods: str) -> None:
    kind.SCRIPT_ATTRIBUTES = {name: _field(name) for name in fields.split()}
    kind.SCRIPT_METHODS = {name: _method(name) for name in methods.split()}
    if "isoformat" in kind.SCRIPT_METHODS:
        kind.SCRIPT_METHODS = {**kind.SCRIPT_METHODS, "strftime": Routine(_strftime, "strftime", hide_first=True)}


_DAY, _DAY_METHODS = "year month day", "isoformat weekday isoweekday toordinal replace ctime"
_tables(Moment, f"{_DAY} hour minute second microsecond", f"{_DAY_METHODS} timestamp date")
_tables(Day, _DAY, _DAY_METHODS)
_tables(Delta, "days seconds microseconds", "total_seconds")


class MadeType(ScriptType):
    """A type with further functions of its own, such as `datetime.now`."""

    __slots__ = ("__weakref__", "functions")

    SCRIPT_NAME = "type"

    def __init__(self, kind: type[Held], host: Callable[..., Any], functions: dict[str, Callable[..., Value]]) -> None:
        super().__init__(kind.SCRIPT_NAME, "datetime", None, lambda value: isinstance(value, kind))
        self.construct = Routine(lambda *args, **kwargs: kind(hosted(lambda: host(*args, **kwargs))), kind.SCRIPT_NAME)
        self.functions = {name: Builtin(name, function) for name, function in functions.items()}
        kind.SCRIPT_TYPE = self  # type: ignore[attr-defined]

    SCRIPT_ATTRIBUTES: dict[str, Callable[[Any], Value]] = {}


def _function(name: str) -> Callable[[Any], Value]:
    return lambda made: made.functions.get(name, MISSING)


def _of_clock(read: Callable[[], Any]) -> Callable[..., Value]:
    def run(tz: Value = None) -> Value:
        trusted()
        if tz is not None:
            raise ProgramError("TypeError", "time zones are not part of gradcli's datetime")
        return _held(read())

    return run


def _parsed(text: Value, format: Value, /) -> Value:
    if type(text) is not str or type(format) is not str or max(len(text), len(format)) > _FORMAT_LENGTH:
        raise ProgramError("TypeError", "strptime() takes two short texts")
    return _held(hosted(datetime.datetime.strptime, text, format))


def _converting(convert: Callable[[Any], Any]) -> Callable[[Value], Value]:
    return lambda value: _held(hosted(convert, value))


_FUNCTIONS: dict[str, dict[str, Callable[..., Value]]] = {
    "datetime": {
        "now": _of_clock(datetime.datetime.now),
        "today": _of_clock(datetime.datetime.today),
        "utcnow": _of_clock(datetime.datetime.utcnow),
        "fromtimestamp": _converting(datetime.datetime.fromtimestamp),
        "fromisoformat": _converting(datetime.datetime.fromisoformat),
        "strptime": _parsed,
    },
    "date": {"today": _of_clock(datetime.date.today), "fromisoformat": _converting(datetime.date.fromisoformat)},
}
MadeType.SCRIPT_ATTRIBUTES = {name: _function(name) for table in _FUNCTIONS.values() for name in table}

MEMBERS: dict[str, Value] = {
    "datetime": MadeType(Moment, datetime.datetime, _FUNCTIONS["datetime"]),
    "date": MadeType(Day, datetime.date, _FUNCTIONS["date"]),
    "timedelta": MadeType(Delta, datetime.timedelta, {}),
}
