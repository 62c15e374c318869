"""Classes derived from dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gradcli.core.calling import mappings
from gradcli.errors import ProgramError
from gradcli.lang.classes.hosts import HostedObject
from gradcli.lang.python import dicts_and_sets
from gradcli.lang.python.dict_views import table_of
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import types
from gradcli.lang.values.attribute_table import AttributeTable
from gradcli.lang.values.comparison import equal
from gradcli.lang.values.object_operations import OPS
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED, ClassOfInstances, Instance, run
from gradcli.lang.values.user_classes import bind
from gradcli.lang.values.value_classes import MISSING, IteratorValue


def _of_table(name: str) -> Callable[..., Value]:
    """A method of dict, on the table of the instance."""
    method = dicts_and_sets.DICT[name]
    return lambda one, *args, **kwargs: method(OPS, one.table, *args, **kwargs)


def _equal(one: Value, other: Value) -> Value:
    table = table_of(other)
    return NOT_IMPLEMENTED if table is None else equal(one.table, table)


def _joined(one: Value, other: Value, *, swapped: bool = False) -> Value:
    table = table_of(other)
    if table is None:
        return NOT_IMPLEMENTED
    made: dict[Value, Value] = {}
    dicts_and_sets.fill_dict(OPS, made, (table, one.table) if swapped else (one.table, table), {})
    return made


def _extended(one: Value, other: Value) -> Value:
    dicts_and_sets.fill_dict(OPS, one.table, (other,), {})
    return one


class DictObject(HostedObject, mappings.Mapping, types.DictBase):  # type: ignore[override]
    """An instance of a class that derives from dict: `table` has the items."""

    MADE = mappings.Mapping
    UNHASHABLE = True
    #: what the class defines comes before the methods of dict
    SCRIPT_METHODS = {}
    SPECIAL = {
        **{name: _of_table(name) for name in dicts_and_sets.DICT},
        "__iter__": lambda one: iter(OPS.iterate(one.table)),
        "__reversed__": lambda one: IteratorValue("dict_reversekeyiterator", reversed(one.table), (one,)),
        "__eq__": _equal,
        "__or__": _joined,
        "__ror__": partial(_joined, swapped=True),
        "__ior__": _extended,
    }

    @classmethod
    def new(cls, user_class: ClassOfInstances, args: tuple[Value, ...]) -> Instance:
        made: Any = super().new(user_class, args)
        made.table = {}
        return made  # type: ignore[no-any-return]

    def initialise(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> None:
        if len(args) > 1:
            raise ProgramError("TypeError", f"dict expected at most 1 argument, got {len(args)}")
        dicts_and_sets.fill_dict(OPS, self.table, args, dict(kwargs))

    def attributes(self) -> Value:
        return AttributeTable(self.fields)

    def absent(self, key: Any) -> Any:
        """What `__missing__` of the class gives; KeyError without one."""
        own = self.cls.find("__missing__")
        return super().absent(key) if own is MISSING else run(bind(own, self, self.cls), (key,))

    def copy(self) -> Any:
        """The instance that `copy.copy` makes."""
        made: Any = self.new(self.cls, ())
        made.table.update(self.table)
        made.fields.update(self.fields)
        return made


def host_of(native: Value) -> type[Instance]:
    """The class of the instances of classes with this base."""
    return DictObject
