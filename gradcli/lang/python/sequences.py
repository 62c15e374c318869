"""The methods of lists, tuples and ranges, and `sorted`, `min` and `max`.

`METHODS[type][name](ops, value, *args, **kwargs)` calls a method of any host type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gradcli import limits
from gradcli.lang.python import arguments, dicts_and_sets, strings
from gradcli.lang.python.comparing import in_range, same
from gradcli.lang.python.object_protocol import Ops, TorchVersion, Value, hosted_method, type_error, value_error

Method = Callable[..., Value]


# --- filling ------------------------------------------------------------------------------------------------


def elements(ops: Ops, source: Value) -> list[Value]:
    """A new list of the items of `source`. Raises LimitError if it is longer than the limit on lists."""
    if isinstance(source, (list, tuple, set, frozenset, dict, range)):
        limits.check_list(_length(source))
    made: list[Value] = []
    if type(source) in (list, tuple, range):
        made.extend(source)
    else:
        _fill(made, ops.iterate(source))
    return made


def _length(source: Value) -> int:
    # len() of a range fails where the length does not fit a C integer
    return dicts_and_sets.range_length(source) if type(source) is range else len(source)


def _fill(values: list[Value], source: Iterable[Value]) -> None:
    most = limits.current.list
    for item in source:
        if len(values) >= most:
            limits.check_list(len(values) + 1)
        values.append(item)


# --- list ---------------------------------------------------------------------------------------------------


def _append(ops: Ops, value: list[Value], /, *args: Value, **kwargs: Value) -> None:
    item = arguments.one("list.append", args, kwargs)
    if len(value) >= limits.current.list:
        limits.check_list(len(value) + 1)
    value.append(item)


def _extend(ops: Ops, value: list[Value], /, *args: Value, **kwargs: Value) -> None:
    extend(ops, value, arguments.one("list.extend", args, kwargs))


def extend(ops: Ops, value: list[Value], source: Value) -> None:
    """`value.extend(source)`, also for `value += source`."""
    if isinstance(source, (list, tuple, set, frozenset, dict, range)):
        limits.check_list(len(value) + _length(source))
    if type(source) in (list, tuple, range):
        value.extend(source)
    else:
        _fill(value, ops.iterate(source))


_insert_primitive = hosted_method(list.insert)


def _insert(ops: Ops, value: list[Value], /, *args: Value, **kwargs: Value) -> None:
    limits.check_list(len(value) + 1)
    _insert_primitive(ops, value, *args, **kwargs)


def _copy(ops: Ops, value: list[Value], /, *args: Value, **kwargs: Value) -> list[Value]:
    arguments.none("list.copy", args, kwargs)
    limits.check_list(len(value))
    return list(value)


def _remove(ops: Ops, value: list[Value], /, *args: Value, **kwargs: Value) -> None:
    item = arguments.one("list.remove", args, kwargs)
    at = _position(ops, value, item, 0, len(value))
    if at is None:
        raise value_error("list.remove(x): x not in list")
    del value[at]


def _position(ops: Ops, value: list[Value] | tuple[Value, ...], item: Value, start: int, stop: int) -> int | None:
    for at in range(start, stop):
        if at >= len(value):  # a comparison may have made it shorter
            break
        if same(ops, value[at], item):
            return at
    return None


def _index_of(kind: str, missing: Callable[[Ops, Value], str]) -> Method:
    name = f"{kind}.index"

    def method(ops: Ops, value: list[Value] | tuple[Value, ...], /, *args: Value, **kwargs: Value) -> int:
        arguments.between(name, args, kwargs, 1, 3)
        for bound in args[1:]:
            if not isinstance(bound, int):
                raise type_error("slice indices must be integers or have an __index__ method")
        start, stop, _ = slice(args[1] if len(args) > 1 else 0, args[2] if len(args) > 2 else None).indices(len(value))
        at = _position(ops, value, args[0], start, stop)
        if at is None:
            raise value_error(missing(ops, args[0]))
        return at

    return method


def _count_of(kind: str) -> Method:
    name = f"{kind}.count"

    def method(ops: Ops, value: list[Value] | tuple[Value, ...], /, *args: Value, **kwargs: Value) -> int:
        item = arguments.one(name, args, kwargs)
        return sum(1 for element in value if same(ops, element, item))

    return method


# --- sorted, min and max ---------------------------------------------------------------------------------------

_NUMBERS = frozenset({int, float, bool})


class _Ordered:
    """A sort key that is compared by `Ops.less`; Python's `sorted` uses only `<`."""

    __slots__ = ("key", "ops")

    def __init__(self, ops: Ops, key: Value) -> None:
        self.ops = ops
        self.key = key

    def __lt__(self, other: _Ordered) -> bool:
        return self.ops.less(self.key, other.key)


def _is_plain(keys: list[Value]) -> bool:
    """Whether Python can compare the keys itself: all are numbers, or all are strings."""
    kinds = set(map(type, keys))
    return kinds <= _NUMBERS or kinds == {str}


def _sort(ops: Ops, value: list[Value], /, *args: Value, **kwargs: Value) -> None:
    if args:
        raise type_error("sort() takes no positional arguments")
    sort(ops, value, kwargs)


def sort(ops: Ops, value: list[Value], kwargs: dict[str, Value]) -> None:
    """`value.sort(key=..., reverse=...)`: stable; the list is empty while keys are computed and compared, as in Python."""
    for name in kwargs:
        if name not in ("key", "reverse"):
            raise type_error(f"'{name}' is an invalid keyword argument for sort()")
    reverse = kwargs.get("reverse", False)
    if not isinstance(reverse, int):
        kind = ops.type_name(reverse)
        raise type_error(f"'{kind}' object cannot be interpreted as an integer", kind)
    items = value[:]
    value.clear()
    try:
        items = _sorted(ops, items, kwargs.get("key"), bool(reverse))
        if value:
            raise value_error("list modified during sort")
    finally:
        value[:] = items


def _sorted(ops: Ops, items: list[Value], key: Value, reverse: bool) -> list[Value]:
    keys = items if key is None else [ops.call(key, (item,), {}) for item in items]
    if len(items) < 2:
        return items
    # positions are sorted, so that each key is computed once and an error leaves the items as they were
    places: Value = keys if _is_plain(keys) else [_Ordered(ops, each) for each in keys]
    if places is items:
        return sorted(items, reverse=reverse)
    return [items[at] for at in sorted(range(len(items)), key=places.__getitem__, reverse=reverse)]


def sorted_list(ops: Ops, /, *args: Value, **kwargs: Value) -> list[Value]:
    """The builtin `sorted`."""
    if len(args) != 1:
        raise type_error(f"sorted expected 1 argument, got {len(args)}")
    made = elements(ops, args[0])
    sort(ops, made, kwargs)
    return made


def smallest(ops: Ops, /, *args: Value, **kwargs: Value) -> Value:
    """The builtin `min`: the first of the smallest items."""
    return _extreme(ops, "min", ops.less, args, kwargs)


def largest(ops: Ops, /, *args: Value, **kwargs: Value) -> Value:
    """The builtin `max`: the first of the largest items."""
    return _extreme(ops, "max", ops.greater, args, kwargs)


def _extreme(ops: Ops, name: str, wins: Callable[[Value, Value], bool], args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    if not args:
        raise type_error(f"{name} expected at least 1 argument, got 0")
    for given in kwargs:
        if given not in ("key", "default"):
            raise type_error(f"'{given}' is an invalid keyword argument for {name}()")
    if len(args) > 1 and "default" in kwargs:
        raise type_error(f"Cannot specify a default for {name}() with multiple positional arguments")
    key = kwargs.get("key")
    source: Value = args if len(args) > 1 else args[0]
    if key is None and isinstance(source, range) and source:
        ascending = (source.step > 0) is (name == "min")
        return source[0] if ascending else source[-1]
    values: Iterator[Value] = iter(source) if len(args) > 1 else ops.iterate(source)
    best = best_key = _NOTHING
    for value in values:
        value_key = value if key is None else ops.call(key, (value,), {})
        if best is _NOTHING or wins(value_key, best_key):
            best, best_key = value, value_key
    if best is not _NOTHING:
        return best
    if "default" in kwargs:
        return kwargs["default"]
    raise value_error(f"{name}() arg is an empty sequence")


_NOTHING: Value = object()


# --- range --------------------------------------------------------------------------------------------------


def _range_index(ops: Ops, value: range, /, *args: Value, **kwargs: Value) -> int:
    item = arguments.one("range.index", args, kwargs)
    if not in_range(ops, value, item):
        if isinstance(item, int):
            raise value_error(f"{ops.repr_of(item)} is not in range")
        raise value_error("sequence.index(x): x not in sequence")
    if isinstance(item, (int, float)):
        return (int(item) - value.start) // value.step
    return next(at for at, element in enumerate(ops.iterate(value)) if ops.equal(element, item))


def _range_count(ops: Ops, value: range, /, *args: Value, **kwargs: Value) -> int:
    return int(in_range(ops, value, arguments.one("range.count", args, kwargs)))


METHODS: dict[type, dict[str, Method]] = {
    str: strings.METHODS,
    TorchVersion: strings.METHODS,
    list: {
        "append": _append,
        "clear": hosted_method(list.clear),
        "copy": _copy,
        "count": _count_of("list"),
        "extend": _extend,
        "index": _index_of("list", lambda ops, item: f"{ops.repr_of(item)} is not in list"),
        "insert": _insert,
        "pop": hosted_method(list.pop),
        "remove": _remove,
        "reverse": hosted_method(list.reverse),
        "sort": _sort,
    },
    tuple: {
        "count": _count_of("tuple"),
        "index": _index_of("tuple", lambda ops, item: "tuple.index(x): x not in tuple"),
    },
    range: {"count": _range_count, "index": _range_index},
    dict: dicts_and_sets.DICT,
    set: dicts_and_sets.SET,
    frozenset: dicts_and_sets.FROZENSET,
}
