"""The values of `dict.keys()`, `.values()` and `.items()`: live views of one dictionary."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import live, sequence_of
from gradcli.core.calling.signature import language
from gradcli.lang.python.object_protocol import Value


class DictView:
    """A view of a dictionary."""

    __slots__ = ("mapping",)
    # views that are like sets compare by content, so they are unhashable, as sets are
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, mapping: dict[Value, Value]) -> None:
        self.mapping = mapping

    def __len__(self) -> int:
        return len(self.mapping)

    def _source(self) -> Iterator[Value]:
        return iter(self.mapping)

    def __iter__(self) -> Iterator[Value]:
        return live(self._source())


class KeysView(DictView):
    """`dict_keys`."""

    __slots__ = ()
    SCRIPT_NAME = "dict_keys"

    def isdisjoint(self, other: Value) -> bool:
        """Whether no item of an iterable is a key."""
        items = sequence_of(other)
        for item in items:
            language.check_hashable(item)
        return self.mapping.keys().isdisjoint(items)

    SCRIPT_METHODS = {"isdisjoint": Routine(isdisjoint)}


class ValuesView(DictView):
    """`dict_values`."""

    __slots__ = ()
    SCRIPT_NAME = "dict_values"
    __hash__ = object.__hash__  # type: ignore[assignment]

    def _source(self) -> Iterator[Value]:
        return iter(self.mapping.values())


class ItemsView(DictView):
    """`dict_items`."""

    __slots__ = ()
    SCRIPT_NAME = "dict_items"

    def _source(self) -> Iterator[Value]:
        return iter(self.mapping.items())


def table_of(value: Value) -> dict[Value, Value] | None:
    """The dict itself, or the dict behind a mapping such as an OrderedDict; None for other values."""
    if isinstance(value, dict):
        return value
    return value.table if hasattr(type(value), "VIEWS") else None


def set_like(value: Value) -> Value:
    """The keys or the items of a mapping such as an OrderedDict as a view of a dict; other values as they are."""
    if not hasattr(type(value), "SHOWS_MAPPING") or value.name.endswith("_values"):
        return value
    table = value.COMPARED()
    return ItemsView(table) if value.name.endswith("_items") else KeysView(table)
