"""`operator`: the operators as functions, and functions that read items and attributes; `heapq` and `bisect`: lists in order."""

from __future__ import annotations

from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.python.sequences import sorted_list
from gradcli.lang.values import operators, subscripts
from gradcli.lang.values.calls import call
from gradcli.lang.values.object_operations import OPS, collect, index_of
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


# --- lists in order -------------------------------------------------------------------------------


def _heap(value: Value) -> list[Value]:
    if type(value) is not list:
        raise type_error("heap argument must be a list, not {}", value)
    return value


def _sift(heap: list[Value], at: int) -> None:
    """Let the item at a place sink below its smaller children, then rise to where it belongs."""
    start, item, size = at, heap[at], len(heap)
    while (child := 2 * at + 1) < size:
        if child + 1 < size and not OPS.less(heap[child], heap[child + 1]):
            child += 1
        heap[at] = heap[child]
        at = child
    heap[at] = item
    _rise(heap, start, at)


def _rise(heap: list[Value], start: int, at: int) -> None:
    item = heap[at]
    while at > start and OPS.less(item, heap[above := (at - 1) >> 1]):
        heap[at] = heap[above]
        at = above
    heap[at] = item


def _heappush(heap: Value, item: Value, /) -> None:
    rows = _heap(heap)
    rows.append(item)
    limits.check_list(len(rows))
    _rise(rows, 0, len(rows) - 1)


def _heappop(heap: Value, /) -> Value:
    rows = _heap(heap)
    if not rows:
        raise ProgramError("IndexError", "index out of range")
    last = rows.pop()
    return _heapreplace(rows, last) if rows else last


def _heapreplace(heap: Value, item: Value, /) -> Value:
    rows = _heap(heap)
    if not rows:
        raise ProgramError("IndexError", "index out of range")
    first, rows[0] = rows[0], item
    _sift(rows, 0)
    return first


def _heappushpop(heap: Value, item: Value, /) -> Value:
    rows = _heap(heap)
    return _heapreplace(rows, item) if rows and OPS.less(rows[0], item) else item


def _heapify(heap: Value, /) -> None:
    rows = _heap(heap)
    for at in reversed(range(len(rows) // 2)):
        _sift(rows, at)


def _smallest(n: Value, iterable: Value, key: Value = None) -> list[Value]:
    return sorted_list(OPS, collect(iterable), key=key)[: max(0, index_of(n))]


def _largest(n: Value, iterable: Value, key: Value = None) -> list[Value]:
    return sorted_list(OPS, collect(iterable), key=key, reverse=True)[: max(0, index_of(n))]


def _place(right: bool) -> Callable[..., int]:
    def run(a: Value, x: Value, lo: Value = 0, hi: Value = None, *, key: Value = None) -> int:
        rows = a if type(a) is list else collect(a)
        low, high = index_of(lo), len(rows) if hi is None else min(index_of(hi), len(rows))
        if low < 0:
            raise ProgramError("ValueError", "lo must be non-negative")
        while low < high:
            middle = (low + high) // 2
            item = rows[middle] if key is None else call(key, (rows[middle],), None)
            if not OPS.less(x, item) if right else OPS.less(item, x):
                low = middle + 1
            else:
                high = middle
        return low

    return run


def _insort(right: bool) -> Callable[..., None]:
    def run(a: Value, x: Value, lo: Value = 0, hi: Value = None, *, key: Value = None) -> None:
        if type(a) is not list:
            raise type_error("insort() argument must be a list, not {}", a)
        wanted = x if key is None else call(key, (x,), None)
        a.insert(_place(right)(a, wanted, lo, hi, key=key), x)
        limits.check_list(len(a))

    return run


_HEAPS: dict[str, Callable[..., Value]] = {
    "heappush": _heappush,
    "heappop": _heappop,
    "heapify": _heapify,
    "heapreplace": _heapreplace,
    "heappushpop": _heappushpop,
    "nsmallest": _smallest,
    "nlargest": _largest,
}
HEAPQ: dict[str, Value] = {name: Builtin(name, function) for name, function in _HEAPS.items()}
BISECT: dict[str, Value] = {
    **{name: Builtin(name, _place(name != "bisect_left")) for name in ("bisect", "bisect_left", "bisect_right")},
    **{name: Builtin(name, _insort(name != "insort_left")) for name in ("insort", "insort_left", "insort_right")},
}
