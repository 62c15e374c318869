"""`traceback`: the text of an error. It has no frames: the files of PyTorch, which its frames name, are not there."""

from __future__ import annotations

from gradcli import limits
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.libraries.operator import Provided
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.calls import call
from gradcli.lang.values.execution import emit_error, execution
from gradcli.lang.values.managers import value_of
from gradcli.lang.values.special_methods import Instance
from gradcli.lang.values.value_classes import MISSING, Builtin

provided = Provided()

_HEADER = "Traceback (most recent call last):\n"
_CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
_DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"
#: the longest chain of causes that is written
_LONGEST = 100


def _error_of(value: Value) -> ProgramError:
    error = value.as_error() if isinstance(value, Instance) else value
    if not isinstance(error, ProgramError):
        raise type_error("Exception expected for value, {} found", value)
    return error


def _last_line(value: Value) -> str:
    error = _error_of(value)
    text = str(error.message)
    return f"{error.kind}: {text}\n" if text else f"{error.kind}\n"


def _lines(value: Value) -> list[str]:
    """The text of an error behind those of its causes, each with a line of its own."""
    parts: list[list[str]] = []
    while value is not None and len(parts) < _LONGEST:
        parts.append([_HEADER, _last_line(value)])
        held = value
        if held.cause is not None:
            value = held.cause
            parts.append([_CAUSED])
        else:
            value = None if held.suppresses else held.context
            parts += [[_DURING]] if value is not None else []
    found = [line for part in reversed(parts) for line in part]
    limits.check_string(sum(map(len, found)))
    return found


def _handled() -> Value:
    return value_of(execution.handling[-1]) if execution.handling else None


def _chosen(exc: Value, value: Value) -> Value:
    """The error among the arguments: alone, or behind its type."""
    return exc if value is MISSING else value


def _format_exc(limit: Value = None, chain: Value = True) -> str:
    error = _handled()
    return "NoneType: None\n" if error is None else "".join(_lines(error))


def _write(text: str, file: Value) -> None:
    if file is None:
        emit_error(text)
    else:
        call(provided.read_attribute(file, "write"), (text,), None)


def _print_exc(limit: Value = None, file: Value = None, chain: Value = True) -> None:
    _write(_format_exc(), file)


def _format_exception(exc: Value, /, value: Value = MISSING, tb: Value = None, limit: Value = None, chain: Value = True) -> list[str]:
    return _lines(_chosen(exc, value))


def _print_exception(
    exc: Value, /, value: Value = MISSING, tb: Value = None, limit: Value = None, file: Value = None, chain: Value = True
) -> None:
    _write("".join(_lines(_chosen(exc, value))), file)


def _format_exception_only(exc: Value, /, value: Value = MISSING) -> list[str]:
    return [_last_line(_chosen(exc, value))]


MEMBERS: dict[str, Value] = {
    "format_exc": Builtin("format_exc", _format_exc),
    "print_exc": Builtin("print_exc", _print_exc),
    "format_exception": Builtin("format_exception", _format_exception),
    "print_exception": Builtin("print_exception", _print_exception),
    "format_exception_only": Builtin("format_exception_only", _format_exception_only),
}
