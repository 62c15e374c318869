"""Equality, order, membership and hashability of host values, without recursion.

A `leaf` function of the caller, or `Ops`, compares elements that are not host values, and values of different types.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from gradcli import limits
from gradcli.core.calling.type_errors import type_error as unhashable
from gradcli.errors import LimitError, ProgramError
from gradcli.lang.python.dict_views import ItemsView, KeysView, ValuesView
from gradcli.lang.python.object_protocol import MAX_DEPTH, Ops, Value, hosted, type_error

#: keys with more parts are refused even where lists have no limit, because Python cannot be interrupted while it hashes a key
_MAX_KEY_PARTS = 10_000_000

Test = Callable[[Value, Value], bool]
#: whether two values are equal, or two containers that are to be compared in their place
Leaf = Callable[[Value, Value], "bool | tuple[Value, Value]"]

#: slices within slices: Python frees them by unchecked recursion, and nobody needs them
_MAX_SLICES = 3


def check_hashable(value: Value) -> None:
    """Raise TypeError unless a value may be a key, LimitError when its hash would take long or nest deeply.

    Python hashes and compares keys by recursion that nothing interrupts, and those with shared parts once for each path.
    """
    if not isinstance(value, tuple | frozenset):
        _check_part(value)
        return
    parts = 0
    most = min(limits.current.list, _MAX_KEY_PARTS)
    levels = [iter(value)]
    while levels:
        for part in levels[-1]:
            parts += 1
            if parts > most:
                raise LimitError("list", f"a key of more than {most:,.0f} parts is over the limit")
            if isinstance(part, tuple | frozenset):
                if len(levels) >= limits.current.nesting or len(levels) >= MAX_DEPTH // 2:
                    raise LimitError("nesting", f"a key nested more than {len(levels):,} levels deep is over the limit")
                levels.append(iter(part))
                break
            _check_part(part)
        else:
            levels.pop()


def _check_part(value: Value) -> None:
    kind = type(value)
    if kind.__hash__ is None or kind is slice:
        raise unhashable("unhashable type: '{}'", value)


def check_slice(value: slice, depth: int = 0) -> None:
    """Refuse a slice whose bounds are slices nested too deeply. Raises LimitError."""
    for bound in (value.start, value.stop, value.step):
        if type(bound) is slice:
            if depth >= _MAX_SLICES:
                raise LimitError("nesting", f"slices nested more than {_MAX_SLICES} levels deep are over the limit")
            check_slice(bound, depth + 1)


def _same_kind(a: Value, b: Value) -> type | None:
    """list, tuple or dict, if both values are instances of it; else None."""
    for kind in (list, tuple, dict):
        if isinstance(a, kind) and isinstance(b, kind):
            return kind
    return None


def equal(a: Value, b: Value, leaf: Leaf) -> bool:
    """`a == b` of two values, of which containers are compared element by element; identical elements are equal.

    `leaf(x, y)` compares what are not two lists, tuples or dicts, or tells which containers to compare instead. Containers that are
    shared are compared once. Raises RecursionError beyond MAX_DEPTH levels, LimitError.
    """
    levels: list[Iterator[tuple[Value, Value]]] = [iter(((a, b),))]
    open_pairs: list[tuple[Value, Value]] = [(a, b)]
    #: pairs of containers that are equal, by their identities; the pairs are kept so that no identity is used again
    known: dict[tuple[int, int], tuple[Value, Value]] = {}
    while levels:
        for x, y in levels[-1]:
            if x is y:
                continue
            pair = x, y
            kind = _same_kind(x, y)
            if kind is None:
                found = leaf(x, y)
                if type(found) is not tuple:
                    if not found:
                        return False
                    continue
                x, y = found
                kind = _same_kind(x, y)
            if (id(pair[0]), id(pair[1])) in known:
                continue
            if len(x) != len(y) or (kind is dict and any(key not in y for key in x)):
                return False
            if len(levels) > MAX_DEPTH:
                raise ProgramError("RecursionError", "maximum recursion depth exceeded in comparison")
            if len(levels) > 1:
                limits.evaluation.tick()
            levels.append(iter([(item, y[key]) for key, item in x.items()]) if kind is dict else zip(x, y, strict=False))
            open_pairs.append(pair)
            break
        else:
            levels.pop()
            x, y = open_pairs.pop()
            known[id(x), id(y)] = x, y
    return True


def order(a: Value, b: Value, same: Test, leaf: Test, at_end: Callable[[int, int], bool]) -> bool:
    """`a < b` of two lists or two tuples: the first elements that differ decide, by `leaf(x, y)`; else the lengths, by `at_end`.

    For `<`, `leaf(x, y)` is `x < y` and `at_end` is `operator.lt`; `same(x, y)` is `x == y`.
    """
    for _ in range(MAX_DEPTH):
        if _same_kind(a, b) not in (list, tuple):
            return leaf(a, b)
        for x, y in zip(a, b, strict=False):
            if x is not y and not same(x, y):
                a, b = x, y
                break
        else:
            return at_end(len(a), len(b))
    raise ProgramError("RecursionError", "maximum recursion depth exceeded in comparison")


def contains(ops: Ops, container: Value, item: Value) -> bool:
    """`item in container` for containers of host type and views of dictionaries."""
    if isinstance(container, str):
        if type(item) is not str:
            raise type_error(f"'in <string>' requires string as left operand, not {ops.type_name(item)}")
        return item in container
    if isinstance(container, (dict, set, frozenset, KeysView)):
        if type(item) is set and isinstance(container, (set, frozenset)):  # Python looks a set up by its content
            item = frozenset(item)
        ops.hashable(item)
        return hosted(operator.contains, container.mapping if isinstance(container, KeysView) else container, item)  # type: ignore[no-any-return]
    if isinstance(container, ItemsView):
        if not isinstance(item, tuple) or len(item) != 2:
            return False
        ops.hashable(item[0])
        mapping = container.mapping
        return hosted(operator.contains, mapping, item[0]) and same(ops, mapping[item[0]], item[1])
    if isinstance(container, range):
        return in_range(ops, container, item)
    if isinstance(container, (list, tuple, ValuesView)):
        return any(same(ops, element, item) for element in container)
    raise type_error(f"argument of type '{ops.type_name(container)}' is not iterable", ops.type_name(container))


def same(ops: Ops, a: Value, b: Value) -> bool:
    """`a is b or a == b`, by which containers find their elements."""
    return a is b or ops.equal(a, b)


def in_range(ops: Ops, values: range, item: Value) -> bool:
    """`item in range(...)`, without a loop for host values: CPython would compare a float with every element."""
    if isinstance(item, int):
        return item in values
    if type(item) is float:
        return item.is_integer() and int(item) in values
    if item is None or isinstance(item, (str, list, tuple, dict, set, frozenset, range, slice)):
        return False
    return any(ops.equal(element, item) for element in ops.iterate(values))
