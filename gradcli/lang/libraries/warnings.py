"""`warnings`: giving warnings, and filters by category and by how a message begins."""

from __future__ import annotations

from gradcli.core.calling import warnings
from gradcli.core.calling.script_types import Attributes, Scripted, script_type
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.execution import WarningKey, admits, execution, warning_place
from gradcli.lang.values.representation import repr_text, str_text
from gradcli.lang.values.types import derives, exception_type
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.value_classes import Builtin, ExceptionType
from gradcli.source import Span

_ACTIONS = ("error", "ignore", "always", "all", "default", "module", "once")


def _category(given: Value) -> str:
    if type(given) is UserClass:
        given = given.native
    if type(given) is not ExceptionType or not derives(given.name, "Warning"):
        raise ProgramError("TypeError", "category must be a Warning subclass, not a " + ("str" if type(given) is str else "type"))
    return given.name


def _filter(
    action: Value, message: Value = "", category: Value = None, module: Value = "", lineno: Value = 0, append: Value = False
) -> None:
    if action not in _ACTIONS:
        raise ProgramError("AssertionError", f"invalid action: {str_text(action)!r}")
    if type(message) is not str:
        raise ProgramError("AssertionError", "message must be a string")
    # a message is a regular expression in Python: here it is how the text begins, up to the first sign with a meaning of its own
    start = message.removeprefix(".*") and message.split(".*")[0].replace("\\", "")
    one = (action, "Warning" if category is None else _category(category), start)
    execution.filters.insert(0 if append else len(execution.filters), one)


def _simple(action: Value, category: Value = None, lineno: Value = 0, append: Value = False) -> None:
    _filter(action, "", category, "", lineno, append)


def _reset() -> None:
    execution.filters.clear()


def _warn(message: Value, category: Value = None, stacklevel: Value = 1, source: Value = None) -> None:
    if type(message) is ProgramError:
        warnings.emit(str(message.message), message.type_name)
        return
    if type(message) is not str:
        raise type_error("a warning is a text or a Warning, not '{}'", message)
    warnings.emit(message, "UserWarning" if category is None else _category(category))


class Caught(Scripted):
    """A warning that `catch_warnings(record=True)` collected."""

    __slots__ = ("__weakref__", "category", "span", "text")

    SCRIPT_NAME = "WarningMessage"

    def __init__(self, category: str, text: str, span: Span | None) -> None:
        self.category = category
        self.text = text
        self.span = span

    @property
    def message(self) -> ProgramError:
        """The warning itself."""
        return ProgramError(self.category, self.text)

    @property
    def filename(self) -> str:
        """The name of the program."""
        return "" if self.span is None else self.span.source.name

    @property
    def lineno(self) -> int:
        """The line of the program, from 1 on."""
        return 0 if self.span is None else self.span.source.position(self.span.start)[0]

    def __str__(self) -> str:
        text = f"{{message : {repr_text(self.message)}, category : {self.category!r}, "
        return f"{text}filename : {self.filename!r}, lineno : {self.lineno}, line : None}}"

    SCRIPT_ATTRIBUTES = {
        "category": lambda one: exception_type(one.category),
        **Attributes.read("message filename lineno"),
        **dict.fromkeys(("line", "file", "source"), lambda one: None),
    }


script_type(Caught, "warnings")


class CatchWarnings(Scripted):
    """`with catch_warnings():` puts the filters back at its end; with `record` the warnings go to a list."""

    __slots__ = ("__weakref__", "filters", "record", "sink")

    SCRIPT_NAME = "catch_warnings"

    def __init__(self, *, record: Value = False, module: Value = None, action: Value = None, category: Value = None) -> None:
        self.record = bool(record)
        self.filters: list[tuple[str, str, str]] = []
        self.sink: warnings.Sink | None = None

    def enter(self) -> Value:
        """Keep the filters, and begin to collect."""
        self.filters = list(execution.filters)
        if not self.record:
            return None
        found: list[Value] = []
        given: set[WarningKey] = set()

        def keep(category: str, message: str, inside: str) -> None:
            if admits(category, message, inside, given):
                found.append(Caught(category, message, warning_place()))

        self.sink = warnings.set_sink(keep)
        return found

    def exit(self) -> None:
        """Put everything back."""
        execution.filters[:] = self.filters
        if self.sink is not None:
            warnings.set_sink(self.sink)


MEMBERS: dict[str, Value] = {
    "warn": Builtin("warn", _warn),
    "filterwarnings": Builtin("filterwarnings", _filter),
    "simplefilter": Builtin("simplefilter", _simple),
    "resetwarnings": Builtin("resetwarnings", _reset),
    "catch_warnings": script_type(CatchWarnings, "warnings"),
}
