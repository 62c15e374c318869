"""The methods of dictionaries and sets: `DICT[name](ops, value, *args, **kwargs)` and `SET[name](...)`."""

from __future__ import annotations

from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.signature import language
from gradcli.errors import ProgramError
from gradcli.lang.python import arguments
from gradcli.lang.python.dict_views import ItemsView, KeysView, ValuesView
from gradcli.lang.python.object_protocol import Ops, Value, hosted, key_error, type_error, value_error
from gradcli.lang.python.reprs import ordered

Method = Callable[..., Value]


def range_length(values: range) -> int:
    """The number of elements of a range of any size."""
    if values.step > 0:
        return max(0, (values.stop - values.start + values.step - 1) // values.step)
    return max(0, (values.start - values.stop - values.step - 1) // -values.step)


# --- dict ---------------------------------------------------------------------------------------------------


def _get(ops: Ops, value: dict[Value, Value], /, *args: Value, **kwargs: Value) -> Value:
    arguments.between("dict.get", args, kwargs, 1, 2)
    ops.hashable(args[0])
    return hosted(value.get, *args)


def _pop(ops: Ops, value: dict[Value, Value], /, *args: Value, **kwargs: Value) -> Value:
    arguments.between("dict.pop", args, kwargs, 1, 2)
    if value:  # CPython does not hash the key if the dictionary is empty
        ops.hashable(args[0])
    if value and hosted(value.__contains__, args[0]):
        return value.pop(args[0])
    if len(args) == 2:
        return args[1]
    raise key_error(ops, args[0])


def _popitem(ops: Ops, value: dict[Value, Value], /, *args: Value, **kwargs: Value) -> tuple[Value, Value]:
    arguments.none("dict.popitem", args, kwargs)
    if not value:
        raise key_error(ops, "popitem(): dictionary is empty")
    return value.popitem()


def _setdefault(ops: Ops, value: dict[Value, Value], /, *args: Value, **kwargs: Value) -> Value:
    arguments.between("dict.setdefault", args, kwargs, 1, 2)
    ops.hashable(args[0])
    if not hosted(value.__contains__, args[0]):
        limits.check_list(len(value) + 1)
    return value.setdefault(*args)


def _update(ops: Ops, value: dict[Value, Value], /, *args: Value, **kwargs: Value) -> None:
    if len(args) > 1:
        raise type_error(f"update expected at most 1 argument, got {len(args)}")
    fill_dict(ops, value, args, kwargs)


def fill_dict(ops: Ops, value: dict[Value, Value], args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
    """`value.update(*args, **kwargs)`; `args` holds at most one source. Raises TypeError, ValueError, LimitError."""
    for source in args:
        table = language.as_mapping(source)
        if table is not None:
            _grow(value, table)
        else:
            for at, pair in enumerate(ops.iterate(source)):
                key, item = _pair(ops, at, pair)
                ops.hashable(key)
                set_item(value, key, item)
    _grow(value, kwargs)


def _grow(value: dict[Value, Value], source: dict[Value, Value]) -> None:
    if len(value) + len(source) > limits.current.list:
        limits.check_list(len(value.keys() | source.keys()))
    value.update(source)


def _pair(ops: Ops, at: int, pair: Value) -> tuple[Value, Value]:
    try:
        parts: list[Value] = []
        for part in ops.iterate(pair):
            parts.append(part)
            limits.check_list(len(parts))
    except ProgramError as error:
        if error.type_name != "TypeError":
            raise
        raise type_error(f"cannot convert dictionary update sequence element #{at} to a sequence") from None
    if len(parts) != 2:
        raise value_error(f"dictionary update sequence element #{at} has length {len(parts)}; 2 is required")
    return parts[0], parts[1]


def set_item(value: dict[Value, Value], key: Value, item: Value) -> None:
    """`value[key] = item` with a key that is known to be hashable."""
    if len(value) >= limits.current.list and not hosted(value.__contains__, key):
        limits.check_list(len(value) + 1)
    hosted(value.__setitem__, key, item)


def _view(kind: type, name: str) -> Method:
    def method(ops: Ops, value: dict[Value, Value], /, *args: Value, **kwargs: Value) -> Value:
        arguments.none(f"dict.{name}", args, kwargs)
        return kind(value)

    return method


def _clear(kind: str) -> Method:
    def method(ops: Ops, value: dict[Value, Value] | set[Value], /, *args: Value, **kwargs: Value) -> None:
        arguments.none(f"{kind}.clear", args, kwargs)
        value.clear()

    return method


def _copy(kind: str) -> Method:
    def method(ops: Ops, value: dict[Value, Value] | set[Value], /, *args: Value, **kwargs: Value) -> Value:
        arguments.none(f"{kind}.copy", args, kwargs)
        limits.check_list(len(value))
        return value.copy()

    return method


DICT: dict[str, Method] = {
    "clear": _clear("dict"),
    "copy": _copy("dict"),
    "get": _get,
    "items": _view(ItemsView, "items"),
    "keys": _view(KeysView, "keys"),
    "pop": _pop,
    "popitem": _popitem,
    "setdefault": _setdefault,
    "update": _update,
    "values": _view(ValuesView, "values"),
}


# --- set ----------------------------------------------------------------------------------------------------


def make_set(ops: Ops, source: Value) -> set[Value]:
    """`set(source)`."""
    if type(source) is set or type(source) is frozenset:
        limits.check_list(len(source))
        return set(source)
    made: set[Value] = set()
    _add_all(ops, made, source)
    return made


def _add_all(ops: Ops, value: set[Value], source: Value) -> None:
    for item in ops.iterate(source):
        add(ops, value, item)


def add(ops: Ops, value: set[Value], item: Value) -> None:
    """`value.add(item)`."""
    ops.hashable(item)
    if len(value) >= limits.current.list and not hosted(value.__contains__, item):
        limits.check_list(len(value) + 1)
    hosted(value.add, item)


def _add(ops: Ops, value: set[Value], /, *args: Value, **kwargs: Value) -> None:
    add(ops, value, arguments.one("set.add", args, kwargs))


def _has(ops: Ops, value: set[Value], item: Value) -> bool:
    if type(item) is set:  # Python looks a set up by its content
        item = frozenset(item)
    ops.hashable(item)
    return bool(hosted(value.__contains__, item))


def _remove(ops: Ops, value: set[Value], /, *args: Value, **kwargs: Value) -> None:
    item = arguments.one("set.remove", args, kwargs)
    if not _has(ops, value, item):
        raise key_error(ops, item)
    value.remove(item)


def _discard(ops: Ops, value: set[Value], /, *args: Value, **kwargs: Value) -> None:
    item = arguments.one("set.discard", args, kwargs)
    if _has(ops, value, item):
        value.discard(item)


def _pop_element(ops: Ops, value: set[Value], /, *args: Value, **kwargs: Value) -> Value:
    arguments.none("set.pop", args, kwargs)
    if not value:
        raise key_error(ops, "pop from an empty set")
    first = ordered(value, ops.repr_of)[0]
    value.remove(first)
    return first


def _update_set(ops: Ops, value: set[Value], /, *args: Value, **kwargs: Value) -> None:
    arguments.no_keywords("set.update", kwargs)
    for source in args:
        _add_all(ops, value, list(source) if source is value else source)


def _union(ops: Ops, value: set[Value], /, *args: Value, **kwargs: Value) -> set[Value]:
    arguments.no_keywords("set.union", kwargs)
    made = make_set(ops, value)
    for source in args:
        _add_all(ops, made, source)
    return made


def _folded(name: str, combine: Callable[[set[Value], set[Value]], set[Value]]) -> Method:
    """The method `name`, intersection or difference, which takes any number of iterables."""

    def method(ops: Ops, value: set[Value], /, *args: Value, **kwargs: Value) -> set[Value]:
        arguments.no_keywords(f"set.{name}", kwargs)
        made = make_set(ops, value)
        for source in args:
            made = combine(made, make_set(ops, source))
        return made

    return method


def _symmetric_difference(ops: Ops, value: set[Value], /, *args: Value, **kwargs: Value) -> set[Value]:
    other = make_set(ops, arguments.one("set.symmetric_difference", args, kwargs))
    limits.check_list(len(value) + len(other) - 2 * len(value & other))
    return value ^ other


def _related(name: str, holds: Callable[[set[Value], set[Value]], bool]) -> Method:
    """The method `name`: issubset, issuperset or isdisjoint."""

    def method(ops: Ops, value: set[Value], /, *args: Value, **kwargs: Value) -> bool:
        return holds(value, make_set(ops, arguments.one(f"set.{name}", args, kwargs)))

    return method


SET: dict[str, Method] = {
    "add": _add,
    "clear": _clear("set"),
    "copy": _copy("set"),
    "difference": _folded("difference", set.difference),
    "discard": _discard,
    "intersection": _folded("intersection", set.intersection),
    "isdisjoint": _related("isdisjoint", set.isdisjoint),
    "issubset": _related("issubset", set.issubset),
    "issuperset": _related("issuperset", set.issuperset),
    "pop": _pop_element,
    "remove": _remove,
    "symmetric_difference": _symmetric_difference,
    "union": _union,
    "update": _update_set,
}


def _frozen(name: str) -> Method:
    """The method `name` of a set, for a set that does not change."""
    method = SET[name]

    def run(ops: Ops, value: frozenset[Value], /, *args: Value, **kwargs: Value) -> Value:
        found = method(ops, value if name == "symmetric_difference" else set(value), *args, **kwargs)
        return frozenset(found) if type(found) is set else found

    return run


_UNCHANGING = ("difference", "intersection", "isdisjoint", "issubset", "issuperset", "symmetric_difference", "union")
FROZENSET: dict[str, Method] = {"copy": lambda ops, value, /: value, **{name: _frozen(name) for name in _UNCHANGING}}
