"""`collections`: dictionaries with an order, a default or counts, double-ended queues, named tuples."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from operator import attrgetter

from gradcli import limits
from gradcli.core.calling import mappings
from gradcli.core.calling.mappings import Mapping, Pieces
from gradcli.core.calling.named_tuples import named_tuple
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, ScriptType, script_type
from gradcli.errors import ProgramError
from gradcli.lang.python import comparing, dicts_and_sets, sequences
from gradcli.lang.python.dict_views import table_of
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import operators
from gradcli.lang.values.calls import call, is_callable
from gradcli.lang.values.object_operations import OPS, collect, index_of, stepping
from gradcli.lang.values.representation import repr_text
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED, truth
from gradcli.lang.values.user_functions import Code, UserFunction
from gradcli.lang.values.value_classes import Builtin, IteratorValue

# --- dictionaries -----------------------------------------------------------------------------------


def _filled(made: Mapping, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Mapping:
    if len(args) > 1:
        raise ProgramError("TypeError", f"{made.SCRIPT_NAME} expected at most 1 argument, got {len(args)}")
    dicts_and_sets.fill_dict(OPS, made.table, args, kwargs)
    return made


def _update(self: Mapping, /, *args: Value, **kwargs: Value) -> None:
    _filled(self, args, kwargs)


class DefaultDict(mappings.DefaultDict):
    """`defaultdict(factory, ...)`: reading a key that is not there puts in what the factory gives."""

    __slots__ = ("__weakref__", "default_factory")

    def __init__(self, default_factory: Value = None, /, *args: Value, **kwargs: Value) -> None:
        super().__init__()
        if default_factory is not None and not is_callable(default_factory):
            raise ProgramError("TypeError", "first argument must be callable or None")
        self.default_factory = default_factory
        _filled(self, args, kwargs)

    def absent(self, key: Value) -> Value:
        """What the factory gives; KeyError without one."""
        if self.default_factory is None:
            raise ProgramError("KeyError", repr_text(key), args=(key,))
        self[key] = call(self.default_factory, (), None)
        return self.table[key]

    def copy(self) -> DefaultDict:
        """A shallow copy."""
        return DefaultDict(self.default_factory, self.table)

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return "defaultdict(", (self.default_factory,), ", ", (self.table,), ")"

    SCRIPT_ATTRIBUTES = {"default_factory": lambda value: value.default_factory}
    SCRIPT_METHODS = {**mappings.DefaultDict.SCRIPT_METHODS, "update": Routine(_update, "update")}


class Counter(mappings.Counter):
    """`Counter(iterable)`: how often each value occurs."""

    __slots__ = ("__weakref__",)

    def __init__(self, iterable: Value = None, /, **kwargs: Value) -> None:
        super().__init__()
        self.update(iterable, **kwargs)

    def update(self, iterable: Value = None, /, **kwargs: Value) -> None:
        """Add counts: those of a mapping, or how often each item of an iterable occurs."""
        for table in (table_of(iterable), kwargs):
            if table and not self.table:
                self.table.update(table)
            else:
                self._count(table or {}, lambda before, count: operators.BINARY["+"](count, before))
        self._count_items(iterable, "+")

    def subtract(self, iterable: Value = None, /, **kwargs: Value) -> None:
        """Take counts away."""
        for table in (table_of(iterable), kwargs):
            self._count(table or {}, operators.BINARY["-"])
        self._count_items(iterable, "-")

    def _count(self, table: dict[Value, Value], combine: Callable[[Value, Value], Value]) -> None:
        for item, count in list(table.items()):
            self.table[item] = combine(self.table.get(item, 0), count)

    def _count_items(self, iterable: Value, symbol: str) -> None:
        if iterable is None or table_of(iterable) is not None:
            return
        for item in stepping(iterable):
            comparing.check_hashable(item)
            self.table[item] = operators.BINARY[symbol](self.table.get(item, 0), 1)

    def most_common(self, n: Value = None) -> list[Value]:
        """Pairs of value and count, the most frequent first."""
        found = sequences.sorted_list(OPS, list(self.table.items()), key=_COUNT_OF, reverse=True)
        return found if n is None else found[: max(0, index_of(n))]

    def pieces(self) -> Pieces:
        """The parts of the repr: the most frequent values first, where their counts can be compared."""
        try:
            often = dict(self.most_common())
        except ProgramError as error:
            if error.type_name != "TypeError":
                raise
            often = self.table
        return ("Counter(", (often,), ")") if often else ("Counter()",)

    def elements(self) -> IteratorValue:
        """Each value as often as it was counted."""
        host = (item for item, count in list(self.table.items()) for _ in range(index_of(count)))
        return IteratorValue("itertools.chain", host)

    def total(self) -> Value:
        """The sum of the counts."""
        return reduce(operators.BINARY["+"], self.table.values(), 0)

    def copy(self) -> Counter:
        """A shallow copy."""
        return Counter(self.table)

    def special(self, name: str) -> Callable[..., Value] | None:
        """The operators of counts: those that are not above 0 are left out of what `+`, `-`, `|` and `&` give."""
        function = _COUNTING.get(name) or _COMPARING.get(name)
        return None if function is None else partial(function, self)

    SCRIPT_METHODS = {
        **mappings.Counter.SCRIPT_METHODS,
        **{method.__name__: Routine(method, method.__name__) for method in (update, subtract, most_common, elements, total)},
    }


#: `pair[1]`, by which `most_common` sorts
_COUNT_OF = Builtin("itemgetter", lambda pair: pair[1])


def _compared(symbol: str, a: Value, b: Value) -> bool:
    return truth(operators.COMPARE[symbol](a, b))


def _above_0(pairs: Iterable[tuple[Value, Value]]) -> Counter:
    made = Counter()
    made.table.update({item: count for item, count in pairs if _compared(">", count, 0)})
    return made


def _combining(combine: Callable[[Value, Value], Value], alone: Callable[[Value], Value] | None) -> Callable[[Counter, Value], Value]:
    """An operator of two counters; `alone` gives the count of what only the second one has, None where that is left out."""

    def combined(first: Counter, second: Value) -> Value:
        if not isinstance(second, Counter):
            return NOT_IMPLEMENTED
        pairs = [(item, combine(count, second.table.get(item, 0))) for item, count in list(first.table.items())]
        if alone is not None:
            pairs += [(item, alone(count)) for item, count in list(second.table.items()) if item not in first.table]
        return _above_0(pairs)

    return combined


def _comparing(symbol: str) -> Callable[[Counter, Value], Value]:
    """A comparison of two counters: that of all counts, where one that is not there is 0."""

    def compared(first: Counter, second: Value) -> Value:
        if not isinstance(second, Counter):
            return NOT_IMPLEMENTED
        items = {**first.table, **second.table}
        pairs = [(first.table.get(item, 0), second.table.get(item, 0)) for item in items]
        return all(_compared(symbol[0] + "=", a, b) for a, b in pairs) and (
            symbol[-1] == "=" or any(_compared("!=", a, b) for a, b in pairs)
        )

    return compared


_COUNTING: dict[str, Callable[..., Value]] = {
    "__add__": _combining(operators.BINARY["+"], lambda count: count),
    "__sub__": _combining(operators.BINARY["-"], lambda count: operators.BINARY["-"](0, count) if _compared("<", count, 0) else 0),
    "__or__": _combining(lambda a, b: b if _compared("<", a, b) else a, lambda count: count),
    "__and__": _combining(lambda a, b: a if _compared("<", a, b) else b, None),
    "__pos__": lambda counter: _above_0(list(counter.table.items())),
    "__neg__": lambda counter: _COUNTING["__sub__"](Counter(), counter),
}
_COMPARING = {f"__{name}__": _comparing(symbol) for name, symbol in (("le", "<="), ("ge", ">="), ("lt", "<"), ("gt", ">"))}


def _ordered(*args: Value, **kwargs: Value) -> Mapping:
    return _filled(mappings.OrderedDict(), args, kwargs)


# --- queues -----------------------------------------------------------------------------------------


class Deque(Scripted):
    """`deque(iterable, maxlen)`: a list that grows at both ends, and drops items at the other end beyond `maxlen`."""

    __slots__ = ("__weakref__", "items", "maxlen")

    SCRIPT_NAME = "deque"
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, iterable: Value = (), maxlen: Value = None) -> None:
        self.items: list[Value] = []
        if maxlen is not None and type(maxlen) is not int:
            raise ProgramError("TypeError", "an integer is required")
        if maxlen is not None and maxlen < 0:
            raise ProgramError("ValueError", "maxlen must be non-negative")
        self.maxlen = maxlen
        self.extend(iterable)

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return "deque(", (self.items,), ")" if self.maxlen is None else f", maxlen={self.maxlen})"

    #: deques are equal if their items are
    COMPARED = attrgetter("items")

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Value]:
        size = len(self.items)
        for item in self.items:
            yield item
            if len(self.items) != size:
                raise ProgramError("RuntimeError", "deque mutated during iteration")

    def __contains__(self, item: Value) -> bool:
        return comparing.contains(OPS, self.items, item)

    def _place(self, index: Value) -> int:
        if type(index) is slice:
            raise ProgramError("TypeError", "sequence index must be integer, not 'slice'")
        at = index_of(index)
        if not -len(self.items) <= at < len(self.items):
            raise ProgramError("IndexError", "deque index out of range")
        return at

    def __getitem__(self, index: Value) -> Value:
        return self.items[self._place(index)]

    def __setitem__(self, index: Value, value: Value) -> None:
        self.items[self._place(index)] = value

    def __delitem__(self, index: Value) -> None:
        del self.items[self._place(index)]

    def append(self, item: Value) -> None:
        """Put an item at the right end."""
        self.items.append(item)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            del self.items[0]
        limits.check_list(len(self.items))

    def appendleft(self, item: Value) -> None:
        """Put an item at the left end."""
        self.items.insert(0, item)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            del self.items[-1]
        limits.check_list(len(self.items))

    def extend(self, iterable: Value) -> None:
        """Put items at the right end."""
        for item in list(self.items) if iterable is self else stepping(iterable):
            self.append(item)

    def extendleft(self, iterable: Value) -> None:
        """Put items at the left end, one after the other."""
        for item in list(self.items) if iterable is self else stepping(iterable):
            self.appendleft(item)

    def _taken(self, at: int) -> Value:
        if not self.items:
            raise ProgramError("IndexError", "pop from an empty deque")
        return self.items.pop(at)

    def pop(self) -> Value:
        """Take an item from the right end."""
        return self._taken(-1)

    def popleft(self) -> Value:
        """Take an item from the left end."""
        return self._taken(0)

    def rotate(self, n: Value = 1) -> None:
        """Move `n` items from the right end to the left."""
        if self.items:
            at = -index_of(n) % len(self.items)
            self.items[:] = self.items[at:] + self.items[:at]

    def clear(self) -> None:
        """Take everything out."""
        self.items.clear()

    def copy(self) -> Deque:
        """A shallow copy."""
        return Deque(self.items, self.maxlen)

    def count(self, item: Value) -> int:
        """How many items are equal to `item`."""
        return sum(comparing.same(OPS, one, item) for one in self.items)

    def index(self, item: Value) -> int:
        """The place of the first item that is equal."""
        for at, one in enumerate(self.items):
            if comparing.same(OPS, one, item):
                return at
        raise ProgramError("ValueError", f"{repr_text(item)} is not in deque")

    def insert(self, at: Value, item: Value) -> None:
        """Put an item at a place."""
        if self.maxlen is not None and len(self.items) >= self.maxlen:
            raise ProgramError("IndexError", "deque already at its maximum size")
        self.items.insert(index_of(at), item)

    def remove(self, item: Value) -> None:
        """Take out the first item that is equal."""
        for at, one in enumerate(self.items):
            if comparing.same(OPS, one, item):
                del self.items[at]
                return
        raise ProgramError("ValueError", f"{repr_text(item)} is not in deque")

    def reverse(self) -> None:
        """Turn the order round."""
        self.items.reverse()

    SCRIPT_ATTRIBUTES = {"maxlen": lambda value: value.maxlen}
    SCRIPT_METHODS = {
        method.__name__: Routine(method, f"deque.{method.__name__}", hide_first=True)
        for method in (
            *(__len__, __iter__, __contains__, __getitem__, __setitem__, __delitem__),
            *(append, appendleft, extend, extendleft, pop, popleft, rotate, clear, copy, count, index, insert, remove, reverse),
        )
    }


# --- named tuples -----------------------------------------------------------------------------------


def checked_fields(given: Value, rename: bool) -> list[str]:
    """The names of fields. Raises ValueError for those that Python refuses."""
    names = given.replace(",", " ").split() if type(given) is str else collect(given)
    limits.check_list(len(names))
    names = list(names)
    seen: set[str] = set()
    for at, name in enumerate(names):
        if type(name) is not str:
            raise ProgramError("TypeError", "Type names and field names must be strings")
        bad = not name.isidentifier() or not name.isascii() or keyword.iskeyword(name) or name.startswith("_") or name in seen
        if bad and rename:
            names[at] = f"_{at}"
            continue
        _check_name(name)
        if name.startswith("_"):
            raise ProgramError("ValueError", f"Field names cannot start with an underscore: {repr_text(name)}")
        if name in seen:
            raise ProgramError("ValueError", f"Encountered duplicate field name: {repr_text(name)}")
        seen.add(name)
    return names


def _check_name(name: Value) -> None:
    if type(name) is not str or not name.isidentifier() or not name.isascii():
        raise ProgramError("ValueError", f"Type names and field names must be valid identifiers: {repr_text(name)}")
    if keyword.iskeyword(name):
        raise ProgramError("ValueError", f"Type names and field names cannot be a keyword: {repr_text(name)}")


def make_named_tuple(
    name: Value, fields: list[str], defaults: tuple[Value, ...], members: dict[str, Callable[[Value], Value]] | None = None
) -> ScriptType:
    """A type of named tuples; calling it gives Python's errors for arguments that do not fit.

    `members` are further attributes, each a function of the value that it is read from.
    """
    if len(defaults) > len(fields):
        raise ProgramError("TypeError", "Got more default values than field names")
    code = Code("__new__", ("_cls", *fields), (), None, None)
    code.qualified = f"{name}.__new__"
    code.run = lambda frame: tuple(frame[2 : 2 + len(fields)])
    bind = UserFunction(code, {}, defaults, {}, ())
    kind = named_tuple(f"__main__.{name}", lambda: (), *fields)
    made: ScriptType = kind.SCRIPT_TYPE
    made.construct = Routine(lambda *args, **kwargs: kind(bind(None, *args, **kwargs)), name)
    kind.SCRIPT_ATTRIBUTES = kind.SCRIPT_ATTRIBUTES | (members or {})
    return made


def _namedtuple(typename: Value, field_names: Value, *, rename: Value = False, defaults: Value = None, module: Value = None) -> Value:
    _check_name(typename)
    return make_named_tuple(typename, checked_fields(field_names, truth(rename)), () if defaults is None else tuple(collect(defaults)))


def _ordered_type() -> ScriptType:
    made = ScriptType("OrderedDict", "collections", _ordered, lambda value: isinstance(value, mappings.OrderedDict))
    mappings.OrderedDict.SCRIPT_TYPE = made  # type: ignore[attr-defined]
    made.instances = mappings.OrderedDict
    return made


MEMBERS: dict[str, Value] = {
    "OrderedDict": _ordered_type(),
    "defaultdict": script_type(DefaultDict, "collections"),
    "Counter": script_type(Counter, "collections"),
    "deque": script_type(Deque, "collections"),
    "namedtuple": Builtin("namedtuple", _namedtuple),
}
