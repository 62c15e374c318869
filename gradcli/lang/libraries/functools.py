"""`functools`: functions that are made of functions."""

from __future__ import annotations

from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.mappings import Pieces
from gradcli.core.calling.named_tuples import named_tuple
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.core.calling.type_errors import no_attribute, type_error
from gradcli.errors import ProgramError
from gradcli.lang.classes.creation import make_class
from gradcli.lang.python import comparing
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.calls import Decorated, call, is_callable
from gradcli.lang.values.comparison import COMPARE, equal
from gradcli.lang.values.object_operations import stepping
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED, Instance, special, truth
from gradcli.lang.values.user_classes import BoundUserMethod, NativeMethod, Property, UserClass
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import MISSING, Builtin


class Partial(Scripted):
    """`partial(function, *args, **keywords)`: a call with some arguments given beforehand."""

    __slots__ = ("__weakref__", "args", "func", "keywords")

    SCRIPT_NAME = "partial"
    COPIED_BY_FIELD = True

    def __init__(self, func: Value, /, *args: Value, **keywords: Value) -> None:
        if not is_callable(func):
            raise ProgramError("TypeError", "the first argument must be callable")
        inner = func if type(func) is Partial else None
        self.func: Value = func if inner is None else inner.func
        self.args: tuple[Value, ...] = args if inner is None else (*inner.args, *args)
        self.keywords: dict[str, Value] = keywords if inner is None else {**inner.keywords, **keywords}

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        return call(self.func, (*self.args, *args), None, {**self.keywords, **kwargs})

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        found: list[str | tuple[Value]] = ["functools.partial(", (self.func,)]
        for value in self.args:
            found += [", ", (value,)]
        for name, value in self.keywords.items():
            found += [f", {name}=", (value,)]
        return (*found, ")")

    SCRIPT_ATTRIBUTES = {"func": lambda one: one.func, "args": lambda one: one.args, "keywords": lambda one: dict(one.keywords)}


def _reduce(function: Value, sequence: Value, initial: Value = MISSING, /) -> Value:
    source = stepping(sequence)
    total = next(source, MISSING) if initial is MISSING else initial
    if total is MISSING:
        raise ProgramError("TypeError", "reduce() of empty iterable with no initial value")
    for item in source:
        total = call(function, (total, item), None)
    return total


def _wraps(wrapped: Value, assigned: Value = None, updated: Value = None) -> Builtin:
    return Builtin("update_wrapper", lambda wrapper: _named(wrapper, wrapped))


def _named(wrapper: Value, wrapped: Value, assigned: Value = None, updated: Value = None) -> Value:
    """The wrapper, under the name of what it wraps."""
    inner = wrapped.function if type(wrapped) is BoundUserMethod else wrapped
    if type(wrapper) is UserFunction and hasattr(inner, "name"):
        source = inner
        while type(source) is Decorated:
            source = source.function
        wrapper.shown = (str(inner.name), source.read("__qualname__", None) if type(source) is UserFunction else str(inner.name))
        if type(source) is UserFunction:
            own = {"__doc__": source.code.doc, **(source.fields or {}), "__wrapped__": inner}
            wrapper.fields = {**(wrapper.fields or {}), **own}
    return wrapper


CacheInfo = named_tuple("functools.CacheInfo", lambda hits, misses, maxsize, currsize: (hits, misses, maxsize, currsize),
                        "hits", "misses", "maxsize", "currsize")  # fmt: skip


class Cached(Scripted):
    """A function that keeps its results by the arguments of its calls, the last `maxsize` of them."""

    __slots__ = ("__weakref__", "function", "hits", "maxsize", "misses", "results")

    SCRIPT_NAME = "_lru_cache_wrapper"
    #: as an attribute of a class it is a method
    BINDS = True

    def __init__(self, function: Value, maxsize: int | None) -> None:
        self.function = function
        self.maxsize = maxsize
        self.results: dict[Value, Value] = {}
        self.hits = self.misses = 0

    @property
    def name(self) -> str:
        """`__name__` of the function."""
        return str(self.function.name)

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        key = (args, tuple(kwargs.items()))
        for part in (*args, *kwargs.values()):
            comparing.check_hashable(part)
        found = self.results.pop(key, MISSING)
        if found is MISSING:
            self.misses += 1
            found = call(self.function, args, None, kwargs)
        else:
            self.hits += 1
        if self.maxsize != 0:
            self.results[key] = found
        if self.maxsize is not None and len(self.results) > self.maxsize:
            del self.results[next(iter(self.results))]
        limits.check_list(len(self.results))
        return found

    def pieces(self) -> Pieces:
        """The parts of the repr."""
        return "<functools._lru_cache_wrapper of ", (self.function,), ">"

    def cache_info(self) -> Value:
        """Hits, misses, and how many results there may be and are."""
        return CacheInfo((self.hits, self.misses, self.maxsize, len(self.results)))

    def cache_clear(self) -> None:
        """Forget all results."""
        self.results.clear()
        self.hits = self.misses = 0

    SCRIPT_ATTRIBUTES = {"__name__": lambda one: one.name}
    SCRIPT_METHODS = {method.__name__: Routine(method, method.__name__, hide_first=True) for method in (cache_info, cache_clear)}


def _lru_cache(maxsize: Value = 128, typed: Value = False) -> Value:
    if maxsize is not None and type(maxsize) is not int:
        return Cached(_function(maxsize), 128)
    most = None if maxsize is None else max(0, maxsize)
    return Builtin("decorating_function", lambda function: Cached(_function(function), most))


def _function(value: Value) -> Value:
    if not is_callable(value) or not hasattr(value, "name"):
        raise ProgramError("TypeError", "Expected first argument to be an integer, a callable, or None")
    return value


def _cached_property(function: Value) -> Property:
    """A property that computes its value once, and keeps it in the instance."""
    key = str(function.name)

    def read(instance: Value) -> Value:
        if not isinstance(instance, Instance):
            raise type_error("cached_property is read from instances, not from '{}'", instance)
        if key not in instance.fields:
            instance.fields[key] = call(function, (instance,), None)
        return instance.fields[key]

    def write(instance: Value, value: Value) -> None:
        instance.fields[key] = value

    def forget(instance: Value) -> None:
        if key not in instance.fields:
            raise no_attribute(instance, key)
        del instance.fields[key]

    return Property(*(NativeMethod(key, one) for one in (read, write, forget)))


_ORDERS: dict[str, dict[str, Callable[[bool, bool], bool]]] = {
    "__lt__": {"__gt__": lambda x, same: not x and not same, "__le__": lambda x, same: x or same, "__ge__": lambda x, same: not x},
    "__le__": {"__ge__": lambda x, same: not x or same, "__lt__": lambda x, same: x and not same, "__gt__": lambda x, same: not x},
    "__gt__": {"__lt__": lambda x, same: not x and not same, "__ge__": lambda x, same: x or same, "__le__": lambda x, same: not x},
    "__ge__": {"__le__": lambda x, same: not x or same, "__gt__": lambda x, same: x and not same, "__lt__": lambda x, same: not x},
}


def _total_ordering(cls: Value) -> Value:
    if type(cls) is not UserClass:
        raise type_error("total_ordering() takes a class of the program, not '{}'", cls)
    root = next((name for name in _ORDERS if name in cls.fields), None)
    if root is None:
        raise ProgramError("ValueError", "must define at least one ordering operation: < > <= >=")
    cls.check_open(root)
    for name, combine in _ORDERS[root].items():
        if name not in cls.fields:
            cls.fields[name] = NativeMethod(name, _following(root, combine))
    return cls


def _following(root: str, combine: Callable[[bool, bool], bool]) -> Callable[[Value, Value], Value]:
    def compare(one: Value, other: Value) -> Value:
        method = special(one, root)
        found = NOT_IMPLEMENTED if method is None else method(other)
        return NOT_IMPLEMENTED if found is NOT_IMPLEMENTED else combine(truth(found), equal(one, other))

    return compare


def _cmp_to_key(mycmp: Value) -> UserClass:
    """`cmp_to_key(mycmp)`: a class of keys that compare as the function says: it gives a number below, at or above 0."""

    def ordering(symbol: str) -> NativeMethod:
        return NativeMethod("", lambda one, other: COMPARE[symbol](call(mycmp, (one.fields["obj"], other.fields["obj"]), None), 0))

    def initialise(one: Instance, obj: Value) -> None:
        one.fields["obj"] = obj

    symbols = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=", "__eq__": "=="}
    methods: dict[str, Value] = {name: ordering(symbol) for name, symbol in symbols.items()}
    return make_class("K", "K", (), {"__init__": NativeMethod("__init__", initialise), **methods}, {}, {})


MEMBERS: dict[str, Value] = {
    "cmp_to_key": Builtin("cmp_to_key", _cmp_to_key),
    "partial": script_type(Partial, "functools"),
    "reduce": Builtin("reduce", _reduce),
    "wraps": Builtin("wraps", _wraps),
    "update_wrapper": Builtin("update_wrapper", _named),
    "lru_cache": Builtin("lru_cache", _lru_cache),
    "cache": Builtin("cache", lambda user_function: Cached(_function(user_function), None)),
    "cached_property": Builtin("cached_property", _cached_property),
    "total_ordering": Builtin("total_ordering", _total_ordering),
}
