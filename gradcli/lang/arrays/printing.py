"""The text of numpy's arrays and scalars, with the print options of the session."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.script_types import Scripted
from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError
from gradcli.lang.arrays import session
from gradcli.lang.arrays.conversion import operand
from gradcli.lang.arrays.running import run, type_error
from gradcli.lang.arrays.values import NumpyArray, NumpyScalar
from gradcli.lang.python import formatting
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.object_operations import OPS
from gradcli.lang.values.type_names import type_name

#: the print options that programs may set
_OPTIONS = ("precision", "threshold", "edgeitems", "linewidth", "suppress", "nanstr", "infstr", "sign", "floatmode")


def _options() -> dict[str, Any]:
    return {} if state.numpy is None else dict(state.numpy.options)


def _check(array: np.ndarray[Any, Any], options: dict[str, Any]) -> None:
    """Refuse a text that is too long: an array of many dimensions may show many elements even where it is summarised."""
    edge = options.get("edgeitems", 3)
    shown = array.size
    if array.size > options.get("threshold", 1000):
        shown = math.prod(min(n, 2 * edge + 1) for n in array.shape)
    limits.check_string(min(shown, 1 << 62) * (4 + options.get("precision", 0)))


def _text(show: Any, array: np.ndarray[Any, Any]) -> str:
    options = _options()
    _check(array, options)
    with np.printoptions(**options):
        return str(run(show, array))


def array_repr(value: Value) -> str:
    """`repr(array)`."""
    return _text(repr, value.array)


def array_str(value: Value) -> str:
    """`str(array)`."""
    return _text(str, value.array)


def array_format(value: Value, spec: str) -> str:
    """`format(array, spec)`: that of the number in an array without dimensions; for others only the empty spec is known."""
    if not value.array.ndim:
        return formatting.format_value(OPS, value.array.item(), spec)
    if spec:
        raise type_error(f"unsupported format string passed to {type_name(value)}.__format__")
    return array_str(value)


def scalar_format(value: Value, spec: str) -> str:
    """`format(scalar, spec)`, as that of the Python number."""
    return formatting.format_value(OPS, value.number(), spec)


def set_options(*args: Value, **kwargs: Value) -> None:
    """`np.set_printoptions`."""
    names = _OPTIONS[:5]
    given = dict(zip(names, args, strict=False)) | kwargs
    if len(args) > len(names):
        raise type_error(f"set_printoptions() takes at most {len(names)} positional arguments here")
    checked = _checked(given, "set_printoptions")
    kept = session.current()
    kept.options = {**kept.options, **checked}


class PrintOptions(Scripted):
    """`np.printoptions(...)`: a block with print options of its own."""

    __slots__ = ("__weakref__", "before", "given")

    SCRIPT_NAME = "contextlib._GeneratorContextManager"

    def __init__(self, *args: Value, **kwargs: Value) -> None:
        self.given = args, kwargs
        self.before: dict[str, Any] = {}

    def enter(self) -> Value:
        """Set the options; all that are in force."""
        self.before = session.current().options
        set_options(*self.given[0], **self.given[1])
        return get_options()

    def exit(self) -> None:
        """Set the options that were in force."""
        session.current().options = self.before


def _checked(given: dict[str, Value], function: str) -> dict[str, Any]:
    """The options, taken by numpy. Raises TypeError, ValueError."""
    options: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _OPTIONS:
            raise type_error(f"{function}() got an unexpected keyword argument '{name}'")
        if value is None:
            continue
        if isinstance(value, str):
            limits.check_string(len(value) * 1000)
        elif not isinstance(value, int | float):
            raise type_error(f"{function}(): {name} must be a number or a string")
        options[name] = value.number() if isinstance(value, NumpyScalar) else value
    for name in ("precision", "linewidth", "edgeitems"):
        if isinstance(options.get(name), str):
            raise type_error(f"{function}(): {name} must be a number")
    if options.get("precision", 0) > 1000 or options.get("linewidth", 0) > 100_000 or options.get("edgeitems", 0) > 1_000_000:
        raise ProgramError("ValueError", "print options this large are not part of gradcli")
    run(_try, options)
    return options


def _try(options: dict[str, Any]) -> None:
    with np.printoptions(**options):
        repr(np.array([1.0, 2.5]))


def array2string(a: Value, **kwargs: Value) -> str:
    """`np.array2string(a, precision=..., separator=...)`."""
    separator = kwargs.pop("separator", " ")
    if not isinstance(separator, str):
        raise type_error("separator must be a string")
    kwargs = {{"max_line_width": "linewidth", "suppress_small": "suppress"}.get(name, name): value for name, value in kwargs.items()}
    options = {**_options(), **_checked(kwargs, "array2string")}
    array = np.asarray(operand(a))
    _check(array, options)
    limits.check_string(min(array.size, 1 << 40) * len(separator))
    with np.printoptions(**options):
        return str(run(np.array2string, array, separator=separator))


def get_options() -> dict[Value, Value]:
    """`np.get_printoptions()`."""
    with np.printoptions(**_options()):
        found: dict[str, Any] = dict(np.get_printoptions())
    return {name: found[name] for name in _OPTIONS}


def array_text(a: Value) -> str:
    """`np.array_repr(a)`."""
    return array_repr(NumpyArray(np.asarray(operand(a))))


def array_plain_text(a: Value) -> str:
    """`np.array_str(a)`."""
    return array_str(NumpyArray(np.asarray(operand(a))))
