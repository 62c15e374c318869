"""Objects to which programs give attributes of their own, such as data sets and schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.core.calling.type_errors import no_attribute, type_error

_ABSENT = object()


def checked_setter(name: str, fits: Callable[[Any], bool], wanted: str) -> Callable[[Any, Any], None]:
    """A setter of a field that takes the values that fit. TypeError for others, which says what is wanted."""

    def write(owner: Any, value: Any) -> None:
        if not fits(value):
            raise type_error(f"{name} has to be {wanted}, not '{{}}'", value)
        setattr(owner, name, value)

    return write


class Extensible(Scripted):
    """A base of objects that take any attribute; SCRIPT_METHODS of a subclass has those of this class."""

    def field_of(self, name: str) -> str | None:
        """The field behind an attribute that is neither in SCRIPT_ATTRIBUTES nor given by the program."""
        return None

    def attribute(self, name: str, default: Any = _ABSENT) -> Any:
        """An attribute that the program has given, or a field. AttributeError unless there is a default."""
        found = vars(self).get("given", {}).get(name, _ABSENT)
        if found is _ABSENT:
            found = vars(self).get(self.field_of(name) or "", default)
        if found is _ABSENT:
            raise no_attribute(self, name)
        return found

    def assign(self, name: str, value: Any) -> None:
        """Give it an attribute, or set a field."""
        field = self.field_of(name)
        if field is not None:
            setattr(self, field, value)
            return
        given = vars(self).setdefault("given", {})
        limits.check_list(len(given) + 1)
        given[name] = value

    SCRIPT_METHODS = {"__getattr__": Routine(attribute), "__setattr__": Routine(assign)}
