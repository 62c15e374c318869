"""Functions of numpy with declared parameters: each argument is converted by the kind of its parameter before numpy is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.core.calling.routines import check_arguments
from gradcli.lang.arrays import conversion
from gradcli.lang.arrays.running import HOST_ERRORS, check_size, converted_error, run, type_error
from gradcli.lang.arrays.values import NumpyArray, wrap
from gradcli.lang.python.object_protocol import Value

#: refuses a call whose result is too large; it gets the converted arguments by name
Check = Callable[[Mapping[str, Any]], None]


def _text(value: Value) -> Any:
    if value is None or type(value) is str:
        return value
    raise type_error("a string is wanted here")


def _array_or_none(value: Value) -> Any:
    return None if value is None else conversion.operand(value)


def _index_or_none(value: Value) -> int | None:
    return None if value is None else conversion.as_index(value)


def _target(value: Value) -> Any:
    if value is None:
        return None
    if type(value) is not NumpyArray:
        raise type_error("return arrays must be of ArrayType")
    return value.array


def _shape_or_none(value: Value) -> Any:
    return None if value is None else conversion.as_shape(value)


def _text_or_array(value: Value) -> Any:
    return value if type(value) is str else _array_or_none(value)


def _axes(value: Value) -> Any:
    return conversion.plain(value) if conversion.is_sequence(value) else conversion.as_index(value)


def _order(value: Value) -> Any:
    return value if value is None or type(value) is str else conversion.operand(value)


#: by kind of parameter, what makes the argument for numpy
KINDS: dict[str, Callable[[Value], Any]] = {
    "array": _array_or_none,
    "arrays": conversion.as_arrays,
    "axis": conversion.as_axis,
    "int": _index_or_none,
    "shape": _shape_or_none,
    "decimals": conversion.as_decimals,
    "number": conversion.as_number,
    "bool": conversion.as_bool,
    "dtype": conversion.as_dtype,
    "str": _text,
    "order": _order,
    "axes": _axes,
    "bins": _text_or_array,
    "target": _target,
}


class Declared:
    """A function of numpy with its parameters: `array a, axis axis=, *, bool keepdims=`. Those with `=` may be missing.

    `check` refuses calls that are too large.
    """

    __slots__ = ("check", "function", "keywords", "kinds", "name", "names", "required")

    def __init__(self, name: str, function: Callable[..., Any], parameters: str, check: Check) -> None:
        self.name = name
        self.function = function
        self.check = check
        self.kinds: dict[str, str] = {}
        positional: list[str] = []
        keywords: list[str] = []
        self.required = 0
        target = positional
        for part in parameters.split(", ") if parameters else ():
            if part == "*":
                target = keywords
                continue
            kind, _, key = part.partition(" ")
            self.required += not key.endswith("=") and target is positional
            key = key.removesuffix("=")
            self.kinds[key] = kind
            target.append(key)
        self.names = tuple(positional)
        self.keywords = tuple(keywords)

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        if kwargs or not self.required <= len(args) <= len(self.names):
            check_arguments(self.name, self.names, self.required, args, kwargs, self.keywords)
        given = dict(zip(self.names, args, strict=False))
        if kwargs:
            given |= kwargs
        kinds = self.kinds
        converted = {key: KINDS[kinds[key]](value) for key, value in given.items()}
        try:
            self.check(converted)
        except HOST_ERRORS as error:  # a size that is no number
            raise converted_error(error) from None
        first = [converted[key] for key in self.names[: len(args)]]
        rest = {key: converted[key] for key in kwargs}
        found = run(self.function, *first, **rest)
        out = given.get("out")
        return out if out is not None and found is out.array else wrap(found)


def sizes(converted: Mapping[str, Any]) -> int:
    """The elements of all arrays among the arguments."""
    total = 0
    for one in converted.values():
        total += sum(getattr(part, "size", 1) for part in one) if isinstance(one, list) else getattr(one, "size", 1)
    return total


def moderate(converted: Mapping[str, Any]) -> None:
    """The check of functions whose result is no larger than their arguments."""
    check_size(sizes(converted))


def repeats(converted: Mapping[str, Any]) -> None:
    """The check of `repeat`, as a function of `a` or as a method."""
    counts = np.asarray(converted["repeats"])
    most = max(0, int(np.nan_to_num(counts.max(initial=0)))) if counts.dtype.kind in "iubf" else 0
    check_size(np.size(converted.get("a", converted.get("self"))) * most)
