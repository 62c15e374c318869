"""`__dict__` of instances of classes that programs define."""

from __future__ import annotations

from gradcli.core.calling.mappings import Mapping
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import type_error
from gradcli.core.tensor.text import shown
from gradcli.lang.python.object_protocol import Value


class AttributeTable(Mapping):
    """`__dict__` of an instance: what is put in or taken out is an attribute, or none any more."""

    __slots__ = ()

    def __repr__(self) -> str:
        return shown(self.table)

    def __setitem__(self, key: Value, value: Value) -> None:
        if type(key) is not str:
            raise type_error("the name of an attribute must be a str, not {}", key)
        self.table[key] = value

    def copy(self) -> Value:
        """The attributes as a dictionary of its own."""
        return dict(self.table)

    SCRIPT_METHODS = Mapping.SCRIPT_METHODS | {"__setitem__": Routine(__setitem__), "copy": Routine(copy)}
