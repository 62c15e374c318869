"""Mappings of torch's that print their own type's name: the OrderedDict of a state_dict, the defaultdict of `optimizer.state`."""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Iterator
from functools import partial
from operator import attrgetter
from typing import Any

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, live, sequence_of
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import unsupported_operands
from gradcli.core.tensor.text import shown
from gradcli.errors import ProgramError

#: the parts of a repr: texts, and values in tuples of one, which the language writes for values of its own
Pieces = tuple[str | tuple[Any], ...]


def joined(pieces: Pieces) -> str:
    """The text of the parts of a repr."""
    return "".join([piece if isinstance(piece, str) else shown(piece[0]) for piece in pieces])


class MappingView(Scripted):
    """`keys()`, `values()` or `items()` of a mapping, as it is at any time."""

    __slots__ = ("name", "found")

    SCRIPT_NAME = "mapping_view"
    #: a mark: the language takes the name for that of the type, and makes a view of a dict of it where sets are compared
    SHOWS_MAPPING = True

    def __init__(self, name: str, found: Collection[Any]) -> None:
        self.name = name
        self.found = found

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return f"{self.name}(", (list(self.found),), ")"

    def __repr__(self) -> str:
        return joined(self.pieces())

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Any]:
        return live(iter(self.found))

    def __contains__(self, item: Any) -> bool:
        return any(found is item or language.equal(found, item) for found in self.found)

    def __reversed__(self) -> Iterator[Any]:
        return iter(tuple(self.found)[::-1])

    def isdisjoint(self, other: Any) -> bool:
        """Whether no item of another iterable is in the view."""
        return not any(item in self for item in sequence_of(other))

    def COMPARED(self) -> dict[Any, Any]:
        """What `==` compares: the keys or the items, whatever their order; values are equal to themselves alone."""
        if self.name.endswith("_values"):
            return {id(self): None}
        return dict(self.found) if self.name.endswith("_items") else dict.fromkeys(self.found)

    SCRIPT_METHODS = {method.__name__: Routine(method) for method in (__len__, __iter__, __contains__, __reversed__, isdisjoint)}


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
        limits.check_list(len(self.table))

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

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of a key, which is the default from now on where there is none."""
        if _hashable(key) not in self.table:
            self[key] = default
        return self.table[key]

    def popitem(self, last: Any = True) -> tuple[Any, Any]:
        """Take out the last pair, or the first."""
        if not self.table:
            raise ProgramError("KeyError", "'dictionary is empty'", args=("dictionary is empty",))
        key = next(reversed(self.table) if last else iter(self.table))
        return key, self.table.pop(key)

    def clear(self) -> None:
        """Take everything out."""
        self.table.clear()

    def update(self, other: Any = (), **more: Any) -> None:
        """Put in what another mapping, or pairs, and keywords hold."""
        for key, value in {**table_of(other), **more}.items():
            self[key] = value

    def copy(self) -> Mapping:
        """A shallow copy."""
        return type(self)(dict(self.table))

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self.keys())

    def __or__(self, other: Any) -> Any:
        return self.merged("|", self, other)

    def __ror__(self, other: Any) -> Any:
        return self.merged("|", other, self)

    def __ior__(self, other: Any) -> Mapping:
        self.update(other)
        return self

    def merged(self, symbol: str, first: Any, second: Any) -> Any:
        """A mapping of this kind with the items of two. TypeError where one is no mapping."""
        if not all(isinstance(one, (Mapping, dict)) for one in (first, second)):
            raise unsupported_operands(symbol, first, second)
        made = self.copy()
        made.clear()
        for one in (first, second):
            made.update(one)
        return made

    def special(self, name: str) -> Callable[..., Any] | None:
        """The method of an operator; None for another name."""
        method = _OPERATORS.get(name)
        return None if method is None else partial(method, self)

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return ((self.table,),)

    def __repr__(self) -> str:
        return joined(self.pieces())

    def keys(self) -> MappingView:
        """The keys."""
        return MappingView(f"{self.VIEWS}_keys", self.table.keys())

    def values(self) -> MappingView:
        """The values."""
        return MappingView(f"{self.VIEWS}_values", self.table.values())

    def items(self) -> MappingView:
        """Pairs of key and value."""
        return MappingView(f"{self.VIEWS}_items", self.table.items())

    SCRIPT_METHODS = {
        method.__name__: Routine(method)
        for method in (
            *(__len__, __iter__, __contains__, __getitem__, __setitem__, __delitem__, __reversed__),
            *(get, pop, update, copy, keys, values, items, setdefault, popitem, clear),
        )
    }


_OPERATORS: dict[str, Callable[..., Any]] = {name: vars(Mapping)[name] for name in ("__or__", "__ror__", "__ior__")}


class Metadata(Mapping):
    """`grad_fn.metadata`: what a script keeps with a node, by key only."""

    __slots__ = ()

    SCRIPT_METHODS = {name: method for name, method in Mapping.SCRIPT_METHODS.items() if name not in ("setdefault", "popitem", "clear")}


class OrderedDict(Mapping):
    """`collections.OrderedDict`, which `state_dict()` of a module returns."""

    __slots__ = ("metadata",)

    SCRIPT_NAME = "OrderedDict"
    VIEWS = "odict"

    def __init__(self, table: dict[Any, Any] | None = None) -> None:
        super().__init__(collections.OrderedDict(table or ()))  # which notices changes while it is iterated over

    def move_to_end(self, key: Any, last: Any = True) -> None:
        """Make a key the last one, or the first."""
        value = self[key]
        del self.table[key]
        others = {} if last else dict(self.table)
        if others:
            self.table.clear()
        self.table[key] = value
        self.table.update(others)

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return ("OrderedDict(", (list(self.table.items()),), ")") if self.table else ("OrderedDict()",)

    SCRIPT_METHODS = {**Mapping.SCRIPT_METHODS, "move_to_end": Routine(move_to_end)}


def _from_keys(iterable: Any, value: Any = None) -> OrderedDict:
    return OrderedDict({_hashable(key): value for key in sequence_of(iterable)})


OrderedDict.SCRIPT_STATIC = {"fromkeys": Routine(_from_keys, "OrderedDict.fromkeys")}


class SavedState(OrderedDict):
    """What `state_dict()` of a module returns. Its modules have versions, which a copy by `dict(...)` or a comprehension loses."""

    __slots__ = ()

    SCRIPT_ATTRIBUTES = {"_metadata": attrgetter("metadata")}

    def __init__(self, table: dict[Any, Any] | None = None) -> None:
        super().__init__(table)
        #: the versions of the modules by dotted name
        self.metadata = OrderedDict()

    def copy(self) -> Mapping:
        """A shallow copy, without versions as in PyTorch."""
        return OrderedDict(dict(self.table))

    SCRIPT_METHODS = {**OrderedDict.SCRIPT_METHODS, "copy": Routine(copy)}


class Counter(Mapping):
    """`collections.Counter`, in the state of a schedule with milestones: 0 for a key that is not there."""

    __slots__ = ()

    SCRIPT_NAME = "Counter"

    def pieces(self) -> Pieces:
        """The parts of the repr: the most frequent keys first."""
        often = sorted(self.table.items(), key=lambda item: -item[1])
        return ("Counter(", (dict(often),), ")") if often else ("Counter()",)

    def absent(self, key: Any) -> Any:
        return 0


class DefaultDict(Mapping):
    """`collections.defaultdict(dict)`, the state of an optimiser: reading a key that is not there makes an empty dict."""

    __slots__ = ()

    SCRIPT_NAME = "defaultdict"

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return "defaultdict(<class 'dict'>, ", (self.table,), ")"

    def absent(self, key: Any) -> Any:
        made: dict[Any, Any] = {}
        self.table[key] = made
        return made


def _hashable(key: Any) -> Any:
    """The key itself. TypeError for a list and its like, LimitError for a tuple that is nested deeply or has many parts."""
    language.check_hashable(key)
    return key


def table_of(value: object) -> dict[Any, Any]:
    """The dictionary behind a mapping of either kind. TypeError for anything else."""
    if isinstance(value, Mapping):
        return value.table
    if isinstance(value, dict):
        return value
    items = language.as_mapping(value)
    return {_hashable(key): item for key, item in sequence_of(value)} if items is None else items
