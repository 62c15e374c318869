"""`repr` and `str` of host values. Containers are visited without recursion, and the size of the text is checked on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.lang.python.dict_views import ItemsView, KeysView, ValuesView
from gradcli.lang.python.object_protocol import MAX_DEPTH, TorchVersion, Value

ReprOf = Callable[[Value], str]
Pairs = Iterator[tuple[str, Value]]

_CHUNK = 1 << 16


def int_text(value: int) -> str:
    """The decimal digits of an integer. Raises LimitError beyond the limit on digits."""
    if not -(1 << 63) < value < 1 << 63:
        limits.check_integer(value)
    return int.__repr__(value)


def str_repr(value: str) -> str:
    """`repr` of a string. Escapes can make it ten times as long, so its size is checked first. Raises LimitError."""
    if len(value) * 10 > limits.current.string:
        limits.check_string(2 + sum(len(repr(value[at : at + _CHUNK])) - 2 for at in range(0, len(value), _CHUNK)))
    return repr(value)


def _range_repr(value: range) -> str:
    step = "" if value.step == 1 else f", {int_text(value.step)}"
    return f"range({int_text(value.start)}, {int_text(value.stop)}{step})"


_LEAVES: dict[type, Callable[[Value], str]] = {
    int: int_text,
    float: float.__repr__,
    bool: repr,
    type(None): repr,
    str: str_repr,
    range: _range_repr,
    type(...): repr,
}

#: by type of container: the opening text, the closing text, and the text of a container inside itself
_CONTAINERS: dict[type, tuple[str, str, str]] = {
    list: ("[", "]", "[...]"),
    tuple: ("(", ")", "(...)"),
    dict: ("{", "}", "{...}"),
    set: ("{", "}", "set(...)"),
    frozenset: ("frozenset({", "})", "frozenset(...)"),
    slice: ("slice(", ")", "..."),
    KeysView: ("dict_keys([", "])", "..."),
    ValuesView: ("dict_values([", "])", "..."),
    ItemsView: ("dict_items([", "])", "..."),
}

_EMPTY: dict[type, str] = {set: "set()", frozenset: "frozenset()"}


def _items(value: Value, repr_of: ReprOf) -> Pairs:
    """The elements, each with the text that stands before it."""
    if type(value) is dict:
        separator = ""
        for key, item in list(value.items()):  # a repr of the program may change the dict
            yield separator, key
            yield ": ", item
            separator = ", "
        return
    elements = value
    if type(value) is set or type(value) is frozenset:
        elements = ordered(value, repr_of)
    elif type(value) is slice:
        elements = (value.start, value.stop, value.step)
    separator = ""
    for item in elements:
        yield separator, item
        separator = ", "


class _Writer:
    """Collects text. Raises LimitError when it grows over the limit on strings."""

    __slots__ = ("pieces", "size")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.size = 0

    def add(self, text: str) -> None:
        self.size += len(text)
        if self.size > limits.current.string:
            limits.check_string(self.size)
        self.pieces.append(text)


def _too_deep() -> ProgramError:
    return ProgramError("RecursionError", "maximum recursion depth exceeded while getting the repr of an object")


#: how many calls of `repr_host` are nested, through the `repr_of` of values that hold containers
_nested = 0
_MAX_NESTED = 50


def repr_host(value: Value, repr_of: ReprOf) -> str:
    """`repr(value)`; `repr_of` does the values that are not host values.

    Raises RecursionError beyond MAX_DEPTH levels, LimitError when the text passes the limit on strings.
    """
    global _nested
    leaf = _LEAVES.get(type(value))
    if leaf is not None:
        return leaf(value)
    if type(value) not in _CONTAINERS:
        return repr_of(value)
    if _nested >= _MAX_NESTED:
        raise _too_deep()
    _nested += 1
    try:
        return _repr_container(value, repr_of)
    finally:
        _nested -= 1


def _repr_container(root: Value, repr_of: ReprOf) -> str:
    writer = _Writer()
    if type(root) in _EMPTY and not root:
        return _EMPTY[type(root)]
    # a frame keeps its container alive: a view yields new tuples, and an id must not be used again
    frames: list[tuple[Value, Pairs]] = [(root, _items(root, repr_of))]
    active = {id(root)}
    writer.add(_CONTAINERS[type(root)][0])
    while frames:
        container, items = frames[-1]
        entered = _next_container(items, writer, active, repr_of)
        if entered is not None:
            if len(frames) >= MAX_DEPTH:
                raise _too_deep()
            active.add(id(entered))
            frames.append((entered, _items(entered, repr_of)))
            writer.add(_CONTAINERS[type(entered)][0])
            continue
        if type(container) is tuple and len(container) == 1:
            writer.add(",")
        writer.add(_CONTAINERS[type(container)][1])
        active.discard(id(container))
        frames.pop()
    return "".join(writer.pieces)


def _next_container(items: Pairs, writer: _Writer, active: set[int], repr_of: ReprOf) -> Value:
    """Write elements up to the next container and return that container; None at the end."""
    for separator, item in items:
        if separator:
            writer.add(separator)
        leaf = _LEAVES.get(type(item))
        if leaf is not None:
            writer.add(leaf(item))
        elif type(item) not in _CONTAINERS:
            writer.add(repr_of(item))
        elif id(item) in active:
            writer.add(_CONTAINERS[type(item)][2])
        elif type(item) in _EMPTY and not item:
            writer.add(_EMPTY[type(item)])
        else:
            return item
    return None


def str_host(value: Value, repr_of: ReprOf) -> str:
    """`str(value)` of a host value."""
    return str(value) if type(value) is str or type(value) is TorchVersion else repr_host(value, repr_of)


def ascii_text(text: str) -> str:
    """`text` with everything beyond ASCII escaped, as `ascii` does to a repr."""
    if text.isascii():
        return text
    limits.check_string(sum(1 if c < "\x80" else 4 if c < "\u0100" else 6 if c < "\U00010000" else 10 for c in text))
    return text.encode("ascii", "backslashreplace").decode("ascii")


# --- the order of sets ----------------------------------------------------------------------------------


def _has_steady_hash(value: Value) -> bool:
    if type(value) is tuple:
        return all(type(item) in (int, bool) or (type(item) is float and item == item) for item in value)
    return type(value) in (int, bool) or (type(value) is float and value == value)


def ordered(values: set[Value] | frozenset[Value], repr_of: ReprOf) -> list[Value]:
    """The elements of a set in an order that is the same in every run.

    Sets of numbers keep CPython's order. The hashes of other values change with the hash seed or the address, so their sets
    are sorted: numbers and other values by their repr, then strings.
    """
    if len(values) < 2 or all(_has_steady_hash(value) for value in values):
        return list(values)
    return sorted(values, key=lambda value: (1, value) if type(value) is str else (0, repr_host(value, repr_of)))


def iterate_set(values: set[Value] | frozenset[Value], repr_of: ReprOf) -> Iterator[Value]:
    """The elements of a set in order; raises RuntimeError when its size changes on the way."""
    size = len(values)
    for value in ordered(values, repr_of):
        if len(values) != size:
            raise ProgramError("RuntimeError", "Set changed size during iteration")
        yield value
    if len(values) != size:
        raise ProgramError("RuntimeError", "Set changed size during iteration")
