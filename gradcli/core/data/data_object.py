"""What data sets, samplers and loaders have in common: their fields can be set, and programs may give them other attributes."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Scripted
from gradcli.core.calling.type_errors import no_attribute

_ABSENT = object()


class DataObject(Scripted):
    """The base of data sets, samplers and loaders."""

    #: classes of programs may derive from these
    BASE_OF = "datasets"
    COPIED_BY_FIELD = True

    def attribute(self, name: str, default: Any = _ABSENT) -> Any:
        """An attribute that the program has given. AttributeError unless there is a default."""
        found = vars(self).get("given", {}).get(name, default)
        if found is _ABSENT:
            raise no_attribute(self, name)
        return found

    def assign(self, name: str, value: Any) -> None:
        """Give it an attribute."""
        given = vars(self).setdefault("given", {})
        limits.check_list(len(given) + 1)
        given[name] = value

    @classmethod
    def open_fields(cls) -> None:
        """Let programs set the attributes that are plain fields."""
        plain = [name for name, getter in cls.SCRIPT_ATTRIBUTES.items() if isinstance(getter, attrgetter)]
        cls.SCRIPT_SETTERS = {**Attributes.write(" ".join(plain)), **vars(cls).get("SCRIPT_SETTERS", {})}

    SCRIPT_METHODS = {"__getattr__": Routine(attribute), "__setattr__": Routine(assign)}
