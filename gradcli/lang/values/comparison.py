"""Equality and order of values of any type."""

from __future__ import annotations

import operator
from collections.abc import Callable

from gradcli.core.calling.type_errors import not_ordered
from gradcli.core.ops import operators as core
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.python import comparing, numbers
from gradcli.lang.python.dict_views import ItemsView, KeysView, set_like, table_of
from gradcli.lang.python.object_protocol import TorchVersion, Value, hosted
from gradcli.lang.values import special_methods
from gradcli.lang.values.special_methods import truth
from gradcli.lang.values.value_classes import MISSING, Special

_NUMBERS = (int, float, bool)
_SIMPLE = (str, int, float, bool, type(None))


def equal(a: Value, b: Value) -> bool:
    """The truth of `a == b`."""
    if isinstance(a, Special) or isinstance(b, Special):
        return _equal_special(a, b)
    if type(a) is Tensor or type(b) is Tensor:
        return truth(core.COMPARE["=="](a, b))
    return _equal_plain(a, b)


def _equal_plain(a: Value, b: Value) -> bool:
    """`a == b` where neither is a tensor."""
    if type(a) in _NUMBERS and type(b) in _NUMBERS:
        return bool(a == b)
    return comparing.equal(a, b, _equal_leaf)


def _equal_special(a: Value, b: Value) -> bool:
    """`a == b` by special methods; values that no method compares are equal if they are the same."""
    found = special_methods.compare("==", a, b)
    return a is b if found is MISSING else truth(found)


def _equal_leaf(a: Value, b: Value) -> bool | tuple[Value, Value]:
    """Whether two values are equal that are not two lists, tuples or dicts, or what their elements are in."""
    if isinstance(a, Special) or isinstance(b, Special):
        return _equal_special(a, b)
    if type(a) is Tensor or type(b) is Tensor:
        return truth(core.COMPARE["=="](a, b))
    kind = type(a)
    if kind is type(b) and kind in _SIMPLE:
        return bool(a == b)
    a, b = set_like(a), set_like(b)
    if isinstance(a, ItemsView) and isinstance(b, ItemsView):
        return a.mapping, b.mapping
    if all(isinstance(one, set | frozenset | KeysView | ItemsView) for one in (a, b)):
        return not numbers.BINARY["^"](a, b)
    own_a, own_b = table_of(a), table_of(b)
    if own_a is not None and own_b is not None:
        ordered = all(getattr(type(one), "VIEWS", "") == "odict" for one in (a, b))
        return (list(own_a.items()), list(own_b.items())) if ordered else (own_a, own_b)
    if kind is slice and type(b) is slice:
        return (a.start, a.stop, a.step), (b.start, b.stop, b.step)
    items = getattr(kind, "COMPARED", None)
    if items is not None and kind is type(b):
        return items(a), items(b)
    if isinstance(a, list | tuple | dict) or isinstance(b, list | tuple | dict):
        return False  # of the same kind they were compared element by element
    return bool(a == b)


def _equality(wanted: bool) -> Callable[[Value, Value], Value]:
    for_tensors = core.COMPARE["==" if wanted else "!="]

    def compare(a: Value, b: Value) -> Value:
        if isinstance(a, Special) or isinstance(b, Special):
            found = special_methods.compare("==" if wanted else "!=", a, b)
            return (a is b) is wanted if found is MISSING else found
        if type(a) is Tensor or type(b) is Tensor:
            return for_tensors(a, b)
        return _equal_plain(a, b) is wanted

    return compare


def _elements(value: Value) -> Value:
    """A set, or a set of what a view of a dictionary shows."""
    return numbers.BINARY["|"](value, frozenset()) if isinstance(value, KeysView | ItemsView) else value


def _ordering(symbol: str, primitive: Callable[[Value, Value], bool]) -> Callable[[Value, Value], Value]:
    for_tensors = core.COMPARE[symbol]

    def leaf(a: Value, b: Value) -> Value:
        if isinstance(a, Special) or isinstance(b, Special) or hasattr(type(a), "special"):
            found = special_methods.compare(symbol, a, b)
            if found is MISSING:
                raise not_ordered(symbol, a, b)
            return found
        if type(a) is Tensor or type(b) is Tensor:
            return for_tensors(a, b)
        numeric = type(a) in _NUMBERS and type(b) in _NUMBERS
        if numeric or (isinstance(a, str) and isinstance(b, str)) or (isinstance(a, set | frozenset) and isinstance(b, set | frozenset)):
            return primitive(a, b)
        if type(a) is TorchVersion or type(b) is TorchVersion:
            return hosted(primitive, a, b)
        views = set_like(a), set_like(b)
        if all(isinstance(one, set | frozenset | KeysView | ItemsView) for one in views):
            return primitive(*map(_elements, views))
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
