"""`logging`: messages of a level, written to standard error as `LEVEL:name:message` from the level on that a program sets."""

from __future__ import annotations

from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.execution import emit_error, execution
from gradcli.lang.values.operators import BINARY
from gradcli.lang.values.representation import repr_text, str_text
from gradcli.lang.values.value_classes import Builtin

LEVELS = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}


def _checked(level: Value) -> int:
    found = LEVELS.get(level) if type(level) is str else level
    if type(found) is not int:
        raise ProgramError("ValueError", f"Unknown level: {repr_text(level)}")
    return found


class Logger(Scripted):
    """What writes messages under a name. Its level is 0 where that of the root logger holds."""

    __slots__ = ("__weakref__", "level", "name")

    SCRIPT_NAME = "Logger"
    SCRIPT_ATTRIBUTES = {"name": lambda one: one.name, "level": lambda one: one.level}

    def __init__(self, name: Value, level: Value = 0) -> None:
        if type(name) is not str:
            raise ProgramError("TypeError", "A logger name must be a string")
        self.name = name
        self.level = _checked(level)

    def setLevel(self, level: Value) -> None:
        """Write messages of this level and of higher ones. ValueError for an unknown level."""
        self.level = _checked(level)

    def isEnabledFor(self, level: Value) -> bool:
        """Whether messages of the level are written."""
        return _checked(level) >= (self.level or logger().level)

    def log(self, level: Value, msg: Value, *args: Value) -> None:
        """Write a message, whose `%` fields the arguments fill."""
        if self.isEnabledFor(level):
            text = str_text(BINARY["%"](str_text(msg), args) if args else msg)
            name = next((name for name, number in LEVELS.items() if number == _checked(level)), f"Level {level}")
            emit_error(f"{name}:{self.name}:{text}\n")

    SCRIPT_METHODS = {method.__name__: Routine(method, method.__name__, hide_first=True) for method in (setLevel, isEnabledFor, log)}


def _at(name: str) -> Callable[..., None]:
    """`logger.info` and its like."""

    def write(self: Logger, msg: Value, *args: Value) -> None:
        self.log(LEVELS[name], msg, *args)

    return write


_BY_LEVEL = {name.lower(): _at(name) for name in LEVELS} | {"warn": _at("WARNING"), "exception": _at("ERROR")}
Logger.SCRIPT_METHODS |= {name: Routine(write, name, hide_first=True) for name, write in _BY_LEVEL.items()}


def logger(name: Value = None) -> Logger:
    """The logger of a name, always the same in a session; the root logger without one."""
    loggers = execution.loggers
    key = name if type(name) is str and name else "root"
    if key not in loggers:
        loggers[key] = Logger(name or "root", 0 if name else LEVELS["WARNING"])
        limits.check_list(len(loggers))
    return loggers[key]  # type: ignore[no-any-return]


def _configure(*, level: Value = None, **options: Value) -> None:
    """Set the level of the root logger; formats and files have no effect."""
    if level is not None:
        logger().setLevel(level)


def _of_root(name: str) -> Builtin:
    return Builtin(name, lambda msg, *args: _BY_LEVEL[name](logger(), msg, *args))


MEMBERS: dict[str, Value] = {
    **LEVELS,
    "getLogger": Builtin("getLogger", logger),
    "basicConfig": Builtin("basicConfig", _configure),
    "Logger": script_type(Logger, "logging"),
    **{name: _of_root(name) for name in _BY_LEVEL},
}
