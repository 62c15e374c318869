"""Mappings of torch's that print their own type's name: the OrderedDict of a state_dict, the defaultdict of `optimizer.state`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, sequence_of
from gradcli.core.calling.type_errors import type_error
from gradcli.core.tensor.text import shown
from gradcli.errors import ProgramError

Pairs = list[tuple[Any, Any]]


class MappingView(Scripted):
    """`keys()`, `values()` or `items()` of a mapping, as it is when asked for."""

    __slots__ = ("name", "found")

    SCRIPT_NAME = "mapping_view"

    def __init__(self, name: str, found: list[Any]) -> None:
        self.name = name
        self.found = found

    def __repr__(self) -> str:
        return f"{self.name}({shown(self.found)})"

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.found)

    def __contains__(self, item: Any) -> bool:
        return item in self.found

    SCRIPT_METHODS = {method.__name__: Routine(method) for method in (__len__, __iter__, __contains__)}


class Mapping(Scripted):
    """A dictionary with the methods of dict that scripts use."""

    __slots__ = ("table",)

    SCRIPT_NAME = "dict"
    #: the prefix of the views' names
    VIEWS = "dict"

    def __init__(self, table: dict[Any, Any] | None = None) -> None:
        self.table: dict[Any, Any] = {} if table is None else table

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __contains__(self, key: Any) -> bool:
        return _hashable(key) in self.table

    def __getitem__(self, key: Any) -> Any:
        if _hashable(key) not in self.table:
            return self.absent(key)
        return self.table[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.table[_hashable(key)] = value

    def __delitem__(self, key: Any) -> None:
        if _hashable(key) not in self.table:
            raise ProgramError("KeyError", shown(key), args=(key,))
        del self.table[key]

    def absent(self, key: Any) -> Any:
        """What reading a key gives that is not there."""
        raise ProgramError("KeyError", shown(key), args=(key,))

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return self.table.get(_hashable(key), default)

    def pop(self, key: Any, *default: Any) -> Any:
        """Take a key out; the default where there is none."""
        if _hashable(key) in self.table or not default:
            value = self[key]
            self.table.pop(key, None)
            return value
        return default[0]

    def update(self, other: Any) -> None:
        """Put in what another mapping holds."""
        self.table.update(table_of(other))

    def copy(self) -> Mapping:
        """A shallow copy."""
        return type(self)(dict(self.table))

    def keys(self) -> MappingView:
        """The keys."""
        return MappingView(f"{self.VIEWS}_keys", list(self.table))

    def values(self) -> MappingView:
        """The values."""
        return MappingView(f"{self.VIEWS}_values", list(self.table.values()))

    def items(self) -> MappingView:
        """Pairs of key and value."""
        return MappingView(f"{self.VIEWS}_items", list(self.table.items()))

    SCRIPT_METHODS = {
        method.__name__: Routine(method)
        for method in (
            *(__len__, __iter__, __contains__, __getitem__, __setitem__, __delitem__),
            *(get, pop, update, copy, keys, values, items),
        )
    }


class Metadata(Mapping):
    """`grad_fn.metadata`: what a script keeps with a node."""

    __slots__ = ()

    def __repr__(self) -> str:
        return shown(self.table)


class OrderedDict(Mapping):
    """`collections.OrderedDict`, which `state_dict()` of a module returns."""

    __slots__ = ()

    SCRIPT_NAME = "OrderedDict"
    VIEWS = "odict"

    def __repr__(self) -> str:
        return f"OrderedDict({shown(list(self.table.items()))})" if self.table else "OrderedDict()"


class Counter(Mapping):
    """`collections.Counter`, in the state of a schedule with milestones: 0 for a key that is not there."""

    __slots__ = ()

    SCRIPT_NAME = "Counter"

    def __repr__(self) -> str:
        often = sorted(self.table.items(), key=lambda item: -item[1])
        return f"Counter({shown(dict(often))})" if often else "Counter()"

    def absent(self, key: Any) -> Any:
        return 0


class DefaultDict(Mapping):
    """`collections.defaultdict(dict)`, the state of an optimiser: reading a key that is not there makes an empty dict."""

    __slots__ = ()

    SCRIPT_NAME = "defaultdict"

    def __repr__(self) -> str:
        return f"defaultdict(<class 'dict'>, {shown(self.table)})"

    def absent(self, key: Any) -> Any:
        made: dict[Any, Any] = {}
        self.table[key] = made
        return made


def _hashable(key: Any) -> Any:
    """The key itself. TypeError for a list and its like."""
    try:
        hash(key)
    except TypeError:
        raise type_error("unhashable type: '{}'", key) from None
    return key


def table_of(value: object) -> dict[Any, Any]:
    """The dictionary behind a mapping of either kind. TypeError for anything else."""
    if isinstance(value, Mapping):
        return value.table
    if isinstance(value, dict):
        return value
    return dict(sequence_of(value))
