"""`operator`: the operators as functions, and functions that read items and attributes."""

from __future__ import annotations

from collections.abc import Callable

from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import operators, subscripts
from gradcli.lang.values.calls import call
from gradcli.lang.values.object_operations import index_of
from gradcli.lang.values.special_methods import truth
from gradcli.lang.values.value_classes import Builtin


class Provided:
    """What the module of attributes, which is above this one, fills in: `read_attribute(value, name)`."""

    __slots__ = ("read_attribute",)

    read_attribute: Callable[[Value, str], Value]


provided = Provided()


def _binary(function: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    def run(a: Value, b: Value, /) -> Value:
        return function(a, b)

    return run


def _unary(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    def run(a: Value, /) -> Value:
        return function(a)

    return run


_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_IN_PLACE = {"iadd": "+", "isub": "-", "imul": "*", "itruediv": "/", "ifloordiv": "//", "imod": "%", "ipow": "**", "imatmul": "@"}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "is_": "is", "is_not": "is not"}
_UNARY = {"neg": "-", "pos": "+", "invert": "~", "inv": "~"}


def _itemgetter(*items: Value) -> Builtin:
    if not items:
        raise ProgramError("TypeError", "itemgetter expected 1 argument, got 0")

    def read(value: Value, /) -> Value:
        found = [subscripts.getitem(value, item) for item in items]
        return found[0] if len(found) == 1 else tuple(found)

    return Builtin("itemgetter", read)


def _attrgetter(*names: Value) -> Builtin:
    if not names or not all(type(name) is str for name in names):
        raise ProgramError("TypeError", "attribute name must be a string" if names else "attrgetter expected 1 argument, got 0")

    def read_one(value: Value, name: str) -> Value:
        for part in name.split("."):
            value = provided.read_attribute(value, part)
        return value

    def read(value: Value, /) -> Value:
        found = [read_one(value, name) for name in names]
        return found[0] if len(found) == 1 else tuple(found)

    return Builtin("attrgetter", read)


def _methodcaller(name: Value, /, *args: Value, **kwargs: Value) -> Builtin:
    if type(name) is not str:
        raise ProgramError("TypeError", "method name must be a string")
    return Builtin("methodcaller", lambda value: call(provided.read_attribute(value, name), args, None, kwargs))


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _binary(operators.BINARY[symbol]) for name, symbol in _BINARY.items()},
    **{name: _binary(operators.INPLACE[symbol]) for name, symbol in _IN_PLACE.items()},
    **{name: _binary(operators.COMPARE[symbol]) for name, symbol in _COMPARE.items()},
    **{name: _unary(operators.UNARY[symbol]) for name, symbol in _UNARY.items()},
    "concat": _binary(operators.BINARY["+"]),
    "contains": lambda container, item, /: operators.contains(item, container),
    "getitem": _binary(subscripts.getitem),
    "setitem": lambda container, index, value, /: subscripts.setitem(container, index, value),
    "delitem": lambda container, index, /: subscripts.delitem(container, index),
    "not_": lambda value, /: not truth(value),
    "truth": lambda value, /: truth(value),
    "index": lambda value, /: index_of(value),
    "itemgetter": _itemgetter,
    "attrgetter": _attrgetter,
    "methodcaller": _methodcaller,
}

MEMBERS: dict[str, Value] = {name: Builtin(name, function) for name, function in _FUNCTIONS.items()}
