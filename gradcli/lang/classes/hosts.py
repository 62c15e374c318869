"""Classes derived from classes of core: what programs define in them is called by core too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gradcli.core.calling.extensible import Extensible
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import Instance, run
from gradcli.lang.values.user_classes import bind
from gradcli.lang.values.value_classes import MISSING, BoundMethod, IteratorValue


class HostedObject(Instance):
    """An instance of a class that derives from a class of core, MADE. Subclasses of this say what kind of class that is."""

    #: the class of the native base
    MADE: type[Any]
    #: special methods of the native base, which `super()` reaches
    SPECIAL: Mapping[str, Callable[..., Value]] = {}

    @property
    def SCRIPT_NAME(self) -> str:
        """The name of the class, as the repr shows it."""
        return self.cls.name

    def initialise(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> None:
        made = self.MADE.SCRIPT_TYPE.construct
        made.check((None, *args), kwargs)
        Routine(self.MADE.__init__, made.name)(self, *args, **kwargs)

    def native(self, name: str) -> Value:
        made = self.MADE
        getter = made.SCRIPT_ATTRIBUTES.get(name)
        if getter is not None:
            try:
                return getter(self)
            except AttributeError:
                return MISSING  # `__init__` of the base was not called
        method = self.SPECIAL.get(name) or made.SCRIPT_METHODS.get(name)
        if method is None or method in _OF_PLAIN:
            return MISSING
        return BoundMethod(self, name, method if name != "__iter__" else _as_value(method))

    def write(self, name: str, value: Value) -> None:
        setter = self.MADE.SCRIPT_SETTERS.get(name)
        if setter is None:
            self.fields[name] = value
        else:
            setter(self, value)

    def names(self) -> Iterable[str]:
        made = self.MADE
        return (*self.fields, *made.SCRIPT_ATTRIBUTES, *made.SCRIPT_METHODS)

    def own_repr(self, address: str) -> str:
        made: Any = self.MADE.__repr__
        plain = made in (object.__repr__, Scripted.__repr__)
        return super().own_repr(address) if plain else str(made(self))

    __hash__ = Instance.__hash__


#: how attributes of objects of core are read and assigned that programs give them: an instance keeps its own
_OF_PLAIN = tuple(Extensible.SCRIPT_METHODS.values())


def _as_value(iterate: Callable[[Any], Iterator[Value]]) -> Callable[[Any], Value]:
    return lambda owner: IteratorValue("iterator", iterate(owner), (owner,))


def overriding(name: str) -> Callable[..., Any]:
    """A method for core to call: the object's own if the program assigned one, else that of its class, else that of the native base."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in self.fields:
            return run(self.fields[name], args, kwargs)
        own = self.cls.find(name)
        return getattr(self.MADE, name)(self, *args, **kwargs) if own is MISSING else run(bind(own, self, self.cls), args, kwargs)

    return method
