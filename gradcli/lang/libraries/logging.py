"""`logging`: messages of a level, written to standard error as `LEVEL:name:message`, or as a program says, from a level on."""

from __future__ import annotations

import time
from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.errors import ProgramError
from gradcli.lang.libraries.system import Stream
from gradcli.lang.libraries.time import trusted
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.execution import emit_error, execution
from gradcli.lang.values.operators import BINARY
from gradcli.lang.values.representation import repr_text, str_text
from gradcli.lang.values.value_classes import Builtin

#: characters of a format
_LONGEST = 500
LEVELS = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}


def _checked(level: Value) -> int:
    found = LEVELS.get(level) if type(level) is str else level
    if type(found) is not int:
        raise ProgramError("ValueError", f"Unknown level: {repr_text(level)}")
    return found


class Logger(Scripted):
    """What writes messages under a name. Its level is 0 where that of the root logger holds."""

    __slots__ = ("__weakref__", "configured", "form", "level", "name", "out")

    SCRIPT_NAME = "Logger"
    SCRIPT_ATTRIBUTES = {"name": lambda one: one.name, "level": lambda one: one.level}

    def __init__(self, name: Value, level: Value = 0) -> None:
        if type(name) is not str:
            raise ProgramError("TypeError", "A logger name must be a string")
        self.name = name
        self.level = _checked(level)
        #: of the root logger: the template of lines and of times, and what writes them
        self.form = ("%(levelname)s:%(name)s:%(message)s", "")
        self.configured = False
        self.out: Callable[[str], None] = emit_error

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
            root = logger()
            form, times = root.form
            fields = {"levelname": name, "name": self.name, "message": text, "levelno": _checked(level)}
            if "%(asctime)" in form:
                fields["asctime"] = _now(times)
            root.out(str_text(BINARY["%"](form, fields)) + "\n")

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


def _now(form: str) -> str:
    """The time of a message."""
    trusted()
    return time.strftime(form) if form else f"{time.strftime('%Y-%m-%d %H:%M:%S')},{time.time() % 1 * 1000:03.0f}"


def _configure(
    *, level: Value = None, format: Value = None, datefmt: Value = None, stream: Value = None, force: Value = False, **options: Value
) -> None:
    """Set the level, the format and the stream of the root logger, the first time or with `force`; files have no effect."""
    root = logger()
    if root.configured and not force:
        return
    root.configured = True
    if level is not None:
        root.setLevel(level)
    given = [root.form[0] if format is None else format, datefmt or ""]
    if any(type(text) is not str or len(text) > _LONGEST for text in given):
        raise ProgramError("TypeError", f"formats of messages are texts of at most {_LONGEST} characters")
    root.form = (given[0], given[1])
    if type(stream) is Stream:
        root.out = stream.out


def _of_root(name: str) -> Builtin:
    return Builtin(name, lambda msg, *args: _BY_LEVEL[name](logger(), msg, *args))


MEMBERS: dict[str, Value] = {
    **LEVELS,
    "getLogger": Builtin("getLogger", logger),
    "basicConfig": Builtin("basicConfig", _configure),
    "Logger": script_type(Logger, "logging"),
    **{name: _of_root(name) for name in _BY_LEVEL},
}
