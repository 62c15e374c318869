"""`json`: plain values as text, and back."""

from __future__ import annotations

import json
from typing import Any

from gradcli import limits
from gradcli.core.calling.mappings import Mapping
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import HOST_ERRORS, TorchVersion, Value, from_host
from gradcli.lang.values.calls import call
from gradcli.lang.values.execution import tick
from gradcli.lang.values.types import exception_type
from gradcli.lang.values.value_classes import Builtin

_DEEPEST = 200
_KEYS = (str, TorchVersion, int, float, bool, type(None))


class _Plain:
    """A conversion under way. `default` makes plain values of others."""

    def __init__(self, default: Value) -> None:
        self.default = default
        self.size = 0
        #: the containers that are being converted
        self.open: set[int] = set()

    def of(self, value: Value) -> Any:
        """The value, made of Python's own types. TypeError for what JSON has not, ValueError for what holds itself."""
        self.size += 1
        if not self.size & 255:
            tick()
            limits.check_string(self.size)
            limits.memory.check()
        if type(value) in _KEYS:
            return value
        if id(value) in self.open:
            raise ProgramError("ValueError", "Circular reference detected")
        if len(self.open) >= _DEEPEST:
            raise ProgramError("RecursionError", "maximum recursion depth exceeded while encoding a JSON object")
        self.open.add(id(value))
        try:
            return self._converted(value)
        finally:
            self.open.discard(id(value))

    def _converted(self, value: Value) -> Any:
        if isinstance(value, (list, tuple)):
            return [self.of(item) for item in value]
        table = value.table if isinstance(value, Mapping) else value
        if isinstance(table, dict):
            for key in table:
                if type(key) not in _KEYS:
                    raise type_error("keys must be str, int, float, bool or None, not {}", key)
            return {key: self.of(item) for key, item in table.items()}
        if self.default is not None:
            return self.of(call(self.default, (value,), None))
        raise type_error("Object of type {} is not JSON serializable", value)


def _dumps(
    obj: Value,
    *,
    indent: Value = None,
    separators: Value = None,
    sort_keys: Value = False,
    ensure_ascii: Value = True,
    default: Value = None,
) -> str:
    plain = _Plain(default).of(obj)
    if not (indent is None or (type(indent) is int and indent <= _DEEPEST) or (type(indent) is str and len(indent) <= _DEEPEST)):
        raise ProgramError("ValueError", f"indent is a number or a text of at most {_DEEPEST} characters")
    try:
        made = json.dumps(plain, indent=indent, separators=separators, sort_keys=bool(sort_keys), ensure_ascii=bool(ensure_ascii))
    except HOST_ERRORS as error:
        raise from_host(error) from None
    limits.check_string(len(made))
    return made


def _loads(s: Value) -> Value:
    if type(s) is not str:
        raise type_error("the JSON object must be str, bytes or bytearray, not {}", s)
    try:
        return json.loads(s)
    except json.JSONDecodeError as error:
        raise ProgramError("JSONDecodeError", str(error)) from None
    except RecursionError:
        raise ProgramError("RecursionError", "maximum recursion depth exceeded while decoding a JSON array") from None
    except ValueError as error:
        raise from_host(error) from None


MEMBERS: dict[str, Value] = {
    "dumps": Builtin("dumps", _dumps),
    "loads": Builtin("loads", _loads),
    "JSONDecodeError": exception_type("JSONDecodeError"),
}
