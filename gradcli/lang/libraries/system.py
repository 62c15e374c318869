"""`sys` and `os` as far as they tell of the language: no process, no environment is reached."""

from __future__ import annotations

import sys
from collections.abc import Callable

from gradcli.core.calling.named_tuples import named_tuple
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.execution import emit, emit_error, execution
from gradcli.lang.values.types import make_error
from gradcli.lang.values.value_classes import Builtin


class Stream(Scripted):
    """`sys.stdout` or `sys.stderr`: `write(text)`, and what `print(file=...)` takes."""

    __slots__ = ("__weakref__", "name", "out")

    SCRIPT_NAME = "TextIOWrapper"

    def __init__(self, name: str, out: Callable[[str], None]) -> None:
        self.name = name
        self.out = out

    def __repr__(self) -> str:
        return f"<_io.TextIOWrapper name='<{self.name}>' mode='w' encoding='utf-8'>"

    def write(self, text: Value) -> int:
        """Write a text; its length."""
        if type(text) is not str:
            raise type_error("write() argument must be str, not {}", text)
        self.out(text)
        return len(text)

    def flush(self) -> None:
        """Nothing: what is written is shown in its time."""

    def isatty(self) -> bool:
        """False: programs print the same wherever it goes."""
        return False

    SCRIPT_METHODS = {method.__name__: Routine(method, method.__name__, hide_first=True) for method in (write, flush, isatty)}


def _exit(status: Value = None, /) -> Value:
    raise make_error("SystemExit", () if status is None else (status,))


_Version = named_tuple("sys.version_info", lambda *values: values, "major", "minor", "micro", "releaselevel", "serial")
#: the Python whose language programs are written in
_PYTHON = (3, 11, 0, "final", 0)

SYS: dict[str, Value] = {
    "version_info": _Version(_PYTHON),
    "version": "3.11.0 (gradcli)",
    "platform": "linux",
    "byteorder": "little",
    "maxsize": sys.maxsize,
    "float_info": named_tuple("sys.float_info", lambda *values: values, "max", "min", "dig", "epsilon")(
        (sys.float_info.max, sys.float_info.min, sys.float_info.dig, sys.float_info.epsilon)
    ),
    # sessions share it, so that it cannot change
    "argv": ("-",),
    "stdout": Stream("stdout", emit),
    "stderr": Stream("stderr", emit_error),
    "exit": Builtin("exit", _exit),
    "getrecursionlimit": Builtin("getrecursionlimit", lambda: int(execution.max_depth)),
    "setrecursionlimit": Builtin("setrecursionlimit", lambda limit, /: None),
}


def _no_environment(name: Value, default: Value = None, /) -> Value:
    return default


class Environment(Scripted):
    """`os.environ`, which is empty; what a program assigns is forgotten."""

    __slots__ = ("__weakref__",)

    SCRIPT_NAME = "_Environ"

    def __repr__(self) -> str:
        return "environ({})"

    def __getitem__(self, name: Value) -> Value:
        raise ProgramError("KeyError", repr(name) if type(name) is str else "", args=(name,))

    def __setitem__(self, name: Value, value: Value) -> None:
        """Nothing: libraries read settings there, which gradcli has not."""

    def __contains__(self, name: Value) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def get(self, name: Value, default: Value = None) -> Value:
        """The default."""
        return default

    def setdefault(self, name: Value, default: Value = None) -> Value:
        """The default."""
        return default

    SCRIPT_METHODS = {
        method.__name__: Routine(method, method.__name__) for method in (__getitem__, __setitem__, __contains__, __len__, get, setdefault)
    }


OS: dict[str, Value] = {
    "environ": Environment(),
    "getenv": Builtin("getenv", _no_environment),
    "sep": "/",
    "linesep": "\n",
    "name": "posix",
}


def _nothing_to_collect(generation: Value = 2) -> int:
    return 0


GC: dict[str, Value] = {name: Builtin(name, _nothing_to_collect) for name in ("collect", "enable", "disable")}
#: `from __future__ import ...`: the language has them all
FUTURE: dict[str, Value] = dict.fromkeys(("annotations", "absolute_import", "division", "print_function", "unicode_literals"), True)
