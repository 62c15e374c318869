"""Truth, equality and order of values of any type."""

from __future__ import annotations

import operator
from collections.abc import Callable

from gradcli.core.calling.type_errors import not_ordered
from gradcli.core.ops import operators as core
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.python import comparing, numbers
from gradcli.lang.python.dict_views import DictView, ItemsView, KeysView
from gradcli.lang.python.object_protocol import HOST_TYPES, Value

_NUMBERS = (int, float, bool)


def truth(value: Value) -> bool:
    """`bool(value)`."""
    if type(value) is Tensor:
        return core.truth(value)
    if type(value) in HOST_TYPES or isinstance(value, tuple | DictView):
        return bool(value)
    methods = getattr(type(value), "SCRIPT_METHODS", None)
    if methods is not None and "__len__" in methods:
        return bool(methods["__len__"](value))
    return True


def equal(a: Value, b: Value) -> bool:
    """The truth of `a == b`."""
    if type(a) is Tensor or type(b) is Tensor:
        return truth(core.COMPARE["=="](a, b))
    return _equal_plain(a, b)


def _equal_plain(a: Value, b: Value) -> bool:
    """`a == b` where neither is a tensor."""
    if isinstance(a, list | tuple | dict):
        if type(a) is type(b) or isinstance(b, list | tuple | dict):
            return comparing.equal(a, b, _equal_leaf)
        return False
    return _equal_leaf(a, b)


def _equal_leaf(a: Value, b: Value) -> bool:
    if type(a) is Tensor or type(b) is Tensor:
        return truth(core.COMPARE["=="](a, b))
    if isinstance(a, KeysView | ItemsView) and isinstance(b, set | KeysView | ItemsView):
        return bool(numbers.BINARY["^"](a, b) == set())
    if isinstance(a, list | tuple | dict) or isinstance(b, list | tuple | dict):
        return False  # of the same kind they were compared element by element
    return bool(a == b)


def _equality(wanted: bool) -> Callable[[Value, Value], Value]:
    for_tensors = core.COMPARE["==" if wanted else "!="]

    def compare(a: Value, b: Value) -> Value:
        if type(a) is Tensor or type(b) is Tensor:
            return for_tensors(a, b)
        return _equal_plain(a, b) is wanted

    return compare


def _ordering(symbol: str, primitive: Callable[[Value, Value], bool]) -> Callable[[Value, Value], Value]:
    for_tensors = core.COMPARE[symbol]

    def leaf(a: Value, b: Value) -> Value:
        if type(a) is Tensor or type(b) is Tensor:
            return for_tensors(a, b)
        numeric = type(a) in _NUMBERS and type(b) in _NUMBERS
        if numeric or (isinstance(a, str) and isinstance(b, str)) or (isinstance(a, set) and isinstance(b, set)):
            return primitive(a, b)
        raise not_ordered(symbol, a, b)

    def compare(a: Value, b: Value) -> Value:
        if (isinstance(a, list) and isinstance(b, list)) or (isinstance(a, tuple) and isinstance(b, tuple)):
            return comparing.order(a, b, equal, leaf, primitive)
        return leaf(a, b)

    return compare


COMPARE: dict[str, Callable[[Value, Value], Value]] = {
    "==": _equality(True),
    "!=": _equality(False),
    "<": _ordering("<", operator.lt),
    "<=": _ordering("<=", operator.le),
    ">": _ordering(">", operator.gt),
    ">=": _ordering(">=", operator.ge),
}
