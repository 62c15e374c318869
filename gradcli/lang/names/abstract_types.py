"""`collections.abc`: the abstract types, which `isinstance` tests by the special methods that values have; `numbers`."""

from __future__ import annotations

import collections.abc
import numbers
from collections.abc import Callable

from gradcli.errors import ProgramError
from gradcli.lang.names import attributes
from gradcli.lang.names.builtins import has_method
from gradcli.lang.python.dict_views import DictView, ItemsView, KeysView, ValuesView
from gradcli.lang.python.object_protocol import HOST_TYPES, Value
from gradcli.lang.values import types
from gradcli.lang.values.special_methods import Instance, hash_method, special
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.value_classes import MISSING, IteratorValue, TypeValue


def _has(value: Value, name: str) -> bool:
    if isinstance(value, Instance):
        return special(value, name) is not None
    return has_method(value, name) or (type(value) is IteratorValue and name in ("__iter__", "__next__"))


def _is_hashable(value: Value) -> bool:
    if not isinstance(value, Instance):
        return type(value).__hash__ is not None and not types.DICT.check(value)
    try:
        hash_method(value)
    except ProgramError:
        return False
    return True


def _has_named(value: Value, names: str) -> bool:
    """Whether a value that is no instance of a class of the program has methods that programs call."""
    return not isinstance(value, Instance) and all(attributes.find_attribute(value, name) is not MISSING for name in names.split())


#: abstract types that have no methods which only they have: what their values are, besides those of Python's types
_BY_KIND: dict[str, Callable[[Value], bool]] = {
    "Hashable": _is_hashable,
    "Sequence": lambda value: _has_named(value, "index count"),
    "MutableSequence": lambda value: _has_named(value, "index count append"),
    "Mapping": types.DICT.check,
    "MutableMapping": types.DICT.check,
    **dict.fromkeys(("Set", "MutableSet"), lambda value: False),
    "Generator": lambda value: type(value) is IteratorValue and value.kind == "generator",
}
#: abstract types of all values that have certain methods
_BY_METHODS = {
    "Callable": "__call__",
    "Collection": "__len__ __iter__ __contains__",
    "Container": "__contains__",
    "Iterable": "__iter__",
    "Iterator": "__iter__ __next__",
    "Sized": "__len__",
}


def _made(name: str) -> TypeValue:
    methods = _BY_METHODS.get(name, "").split()
    host: type = getattr(collections.abc, name)

    def check(value: Value) -> bool:
        if type(value) in HOST_TYPES:
            return isinstance(value, host)
        if isinstance(value, DictView):
            return issubclass(_VIEWS[type(value)], host)
        return _BY_KIND[name](value) if name in _BY_KIND else all(_has(value, method) for method in methods)

    def above(kind: Value) -> bool:
        if isinstance(kind, UserClass):
            return bool(methods) and all(kind.find(method) is not MISSING for method in methods)
        return issubclass(_HOSTS.get(kind.name, object), host)

    return TypeValue(f"collections.abc.{name}", check, above=above)


_HOSTS = {kind.__name__: kind for kind in HOST_TYPES}
_VIEWS = {KeysView: type({}.keys()), ValuesView: type({}.values()), ItemsView: type({}.items())}
MEMBERS: dict[str, Value] = {name: _made(name) for name in sorted({*_BY_KIND, *_BY_METHODS})}


def _kind_of_numbers(name: str) -> TypeValue:
    host: type = getattr(numbers, name)

    def check(value: Value) -> bool:
        return issubclass(getattr(value, "HOST", object) if type(value) not in HOST_TYPES else type(value), host)

    return TypeValue(f"numbers.{name}", check, above=lambda kind: issubclass(_HOSTS.get(kind.name, object), host))


#: the types of numbers: numpy's scalars are values of them too, tensors are not
NUMBERS: dict[str, Value] = {name: _kind_of_numbers(name) for name in ("Number", "Complex", "Real", "Rational", "Integral")}
