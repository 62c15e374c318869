"""Python's built-in functions that ask a value for its length or its items, such as `len`, `zip` and `iter`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradcli import limits
from gradcli.core.calling.script_types import Generated
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions import catalog
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.names import attributes
from gradcli.lang.python.dict_views import DictView
from gradcli.lang.python.dicts_and_sets import range_length
from gradcli.lang.python.object_protocol import HOST_TYPES, Value
from gradcli.lang.values import generators, operators
from gradcli.lang.values.calls import call, is_callable
from gradcli.lang.values.comparison import equal
from gradcli.lang.values.object_operations import index_of, iterate, stepping
from gradcli.lang.values.special_methods import length_from, special, truth
from gradcli.lang.values.value_classes import MISSING, IteratorValue


def length(value: Value, /) -> int:
    """`len(value)`."""
    if type(value) is Tensor:
        if value.array.ndim == 0:
            raise ProgramError("TypeError", "len() of a 0-d tensor")
        return int(value.array.shape[0])
    if type(value) is range:
        size = range_length(value)
        if size >= 1 << 63:
            raise ProgramError("OverflowError", "Python int too large to convert to C ssize_t")
        return size
    if isinstance(value, str | list | tuple | dict | set | frozenset | DictView):
        return len(value)
    own = special(value, "__len__")
    if own is not None:
        return length_from(own())
    method = attributes.hidden_method(value, "__len__")
    if method is None:
        raise type_error("object of type '{}' has no len()", value)
    return int(method(value))


def _sum(iterable: Value, /, start: Value = 0) -> Value:
    if type(start) is str:
        raise ProgramError("TypeError", "sum() can't sum strings [use ''.join(seq) instead]")
    place = state.origin
    total = start
    add = operators.BINARY["+"]
    for item in stepping(iterable):
        state.origin = place
        total = add(total, item)
    return total


def _any(iterable: Value, /) -> bool:
    return any(truth(item) for item in stepping(iterable))


def _all(iterable: Value, /) -> bool:
    return all(truth(item) for item in stepping(iterable))


def _enumerate(iterable: Value, start: Value = 0) -> IteratorValue:
    return IteratorValue("enumerate", enumerate(iterate(iterable), index_of(start)), (iterable,))


def _zip(*iterables: Value, strict: Value = False) -> IteratorValue:
    sources = [iterate(iterable) for iterable in iterables]
    host = _zip_strict(sources) if truth(strict) else zip(*sources, strict=False)
    return IteratorValue("zip", host, iterables)


def _zip_strict(sources: list[Iterator[Value]]) -> Iterator[Value]:
    while sources:
        items: list[Value] = []
        for at, source in enumerate(sources):
            item = next(source, MISSING)
            if item is MISSING and at > 0:
                raise _uneven(at, "shorter")
            if item is MISSING:
                for later in range(1, len(sources)):
                    if next(sources[later], MISSING) is not MISSING:
                        raise _uneven(later, "longer")
                return
            items.append(item)
        yield tuple(items)


def _uneven(at: int, how: str) -> ProgramError:
    before = "argument 1" if at == 1 else f"arguments 1-{at}"
    return ProgramError("ValueError", f"zip() argument {at + 1} is {how} than {before}")


def _map(function: Value, *iterables: Value) -> IteratorValue:
    if not iterables:
        raise ProgramError("TypeError", "map() must have at least two arguments.")
    place = state.origin
    sources = [iterate(iterable) for iterable in iterables]
    return IteratorValue("map", (call(function, args, place) for args in zip(*sources, strict=False)), iterables)


def _filter(function: Value, iterable: Value, /) -> IteratorValue:
    place = state.origin
    source = iterate(iterable)
    if function is None:
        return IteratorValue("filter", (item for item in source if truth(item)), (iterable,))
    host = (item for item in source if truth(call(function, (item,), place)))
    return IteratorValue("filter", host, (iterable,))


def _by_place(value: Value) -> Callable[[int], Value] | None:
    """What gives the item at a place, where a value of a class has `__getitem__` and `__len__` and is no mapping; else None."""
    item_at = special(value, "__getitem__")
    if item_at is not None and special(value, "__len__") is not None:
        return item_at
    own_item = attributes.hidden_method(value, "__getitem__")
    if own_item is None or not attributes.hidden_method(value, "__len__") or attributes.hidden_method(value, "keys"):
        return None
    return lambda at: own_item(value, at)


def as_sequence(value: Value) -> list[Value] | None:
    """The items of a value of a class with `__getitem__` and `__len__`, such as a deque; None for other values."""
    item_at = None if type(value) in HOST_TYPES else _by_place(value)
    if item_at is None:
        return None
    size = length(value)
    limits.check_list(size)
    return [item_at(at) for at in range(size)]


def _reversed(sequence: Value, /) -> Value:
    kind = type(sequence)
    if kind is Tensor:
        return catalog.function("flip")(sequence, (0,)) if sequence.array.ndim else sequence
    if isinstance(sequence, list | tuple | str | range):
        name = "list_reverseiterator" if kind is list else "range_iterator" if kind is range else "reversed"
        return IteratorValue(name, iter(reversed(sequence)))
    if isinstance(sequence, dict | DictView):
        return IteratorValue("dict_reversekeyiterator", iter(list(iterate(sequence))[::-1]))
    own = special(sequence, "__reversed__")
    if own is not None:
        return own()
    method = attributes.hidden_method(sequence, "__reversed__")
    if method is not None:
        return IteratorValue("list_reverseiterator", method(sequence))
    item_at = _by_place(sequence)
    if item_at is not None:
        return IteratorValue("reversed", (item_at(at) for at in reversed(range(length(sequence)))))
    raise type_error("'{}' object is not reversible", sequence)


_ITERATOR_NAMES = {
    list: "list_iterator",
    tuple: "tuple_iterator",
    str: "str_ascii_iterator",
    range: "range_iterator",
    dict: "dict_keyiterator",
    set: "set_iterator",
    frozenset: "set_iterator",
    Tensor: "tuple_iterator",
}


def _calls_until(function: Value, sentinel: Value) -> Iterator[Value]:
    while True:
        found = call(function, (), state.origin)
        if equal(found, sentinel):
            return
        yield found


def _iter(iterable: Value, /, *sentinel: Value) -> Value:
    if sentinel:
        if len(sentinel) > 1:
            raise ProgramError("TypeError", f"iter expected at most 2 arguments, got {1 + len(sentinel)}")
        if not is_callable(iterable):
            raise ProgramError("TypeError", "iter(v, w): v must be callable")
        return IteratorValue("callable_iterator", _calls_until(iterable, sentinel[0]), (iterable,))
    if type(iterable) is IteratorValue or isinstance(iterable, Generated):
        return iterable
    begin = special(iterable, "__iter__")
    if begin is not None:
        found = begin()
        if type(found) is not IteratorValue and special(found, "__next__") is None:
            raise type_error("iter() returned non-iterator of type '{}'", found)
        return found
    found = iterate(iterable)
    return found if isinstance(found, Generated) else IteratorValue(_ITERATOR_NAMES.get(type(iterable), "iterator"), found)


def _next(iterator: Value, default: Value = MISSING, /) -> Value:
    if type(iterator) is IteratorValue:
        return generators.advance(iterator, default)
    advance = special(iterator, "__next__")
    if advance is not None:
        try:
            return advance()
        except ProgramError as error:
            if default is MISSING or error.type_name != "StopIteration":
                raise
            return default
    if attributes.hidden_method(iterator, "__next__") is None:
        raise type_error("'{}' object is not an iterator", iterator)
    item = next(iterate(iterator), default)
    if item is MISSING:
        raise ProgramError("StopIteration", "", args=())
    return item


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "len": length,
    "sum": _sum,
    "any": _any,
    "all": _all,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "filter": _filter,
    "reversed": _reversed,
    "iter": _iter,
    "next": _next,
}
