"""Named tuples that functions return, such as `torch.return_types.max`: data only, the language prints them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.signature import language
from gradcli.errors import ProgramError


class NamedResult(tuple[Any, ...]):
    """A tuple whose places have names; each kind is a subclass made by `named`.

    It prints as `torch.return_types.TYPE_NAME(`, then `field=value` on a line each, separated by commas, then `)`.
    """

    __slots__ = ()

    type_name: ClassVar[str] = ""
    fields: ClassVar[tuple[str, ...]] = ()
    SCRIPT_NAME: ClassVar[str] = ""
    SCRIPT_ATTRIBUTES: ClassVar[dict[str, Callable[[Any], Any]]] = {}


class NamedTuple(NamedResult):
    """A named tuple of Python's, made by `named_tuple`: prints as `NAME(field=value, ...)`."""

    __slots__ = ()

    SCRIPT_TYPE: ClassVar[ScriptType]


def named_tuple(path: str, construct: Callable[..., tuple[object, ...]], *fields: str) -> type[NamedTuple]:
    """A class `path` of named tuples; scripts call it with the arguments of `construct`, which gives the values."""
    module, _, name = path.rpartition(".")
    attributes: dict[str, Callable[[Any], Any]] = {field: itemgetter(i) for i, field in enumerate(fields)}
    attributes |= {
        "_fields": lambda value: fields,
        "_asdict": lambda value: Routine(lambda: dict(zip(fields, value, strict=True)), "_asdict"),
        "_replace": lambda value: Routine(lambda **changes: replaced(value, changes), "_replace"),
    }
    table: dict[str, Any] = {"__slots__": (), "type_name": name, "fields": fields, "SCRIPT_NAME": name, "SCRIPT_ATTRIBUTES": attributes}
    table["SCRIPT_STATIC"] = {"_fields": fields, "_make": Routine(lambda iterable: made_of(language.collect(iterable)), "_make")}
    attributes["_make"] = lambda value: table["SCRIPT_STATIC"]["_make"]

    def made_of(values: Sequence[Any]) -> NamedTuple:
        if len(values) != len(fields):
            raise ProgramError("TypeError", f"Expected {len(fields)} arguments, got {len(values)}")
        return kind(values)

    def replaced(value: NamedTuple, changes: dict[str, Any]) -> NamedTuple:
        if unknown := [one for one in changes if one not in fields]:
            raise ProgramError("ValueError", f"Got unexpected field names: {unknown}")
        return kind([changes.get(field, item) for field, item in zip(fields, value, strict=True)])

    def make(*args: Any, **kwargs: Any) -> NamedTuple:
        return kind(routine(*args, **kwargs))

    kind: type[NamedTuple] = type(name, (NamedTuple,), table)
    routine = Routine(construct, f"{name}.__new__", hide_first=True)
    kind.SCRIPT_TYPE = ScriptType(name, module, None, lambda value: type(value) is kind)
    kind.SCRIPT_TYPE.construct = Routine(make, name)
    kind.SCRIPT_TYPE.instances = kind
    return kind


@cache
def named(type_name: str, *fields: str) -> type[NamedResult]:
    """The kind of result called `torch.return_types.TYPE_NAME`; call it with a tuple of values in the order of `fields`."""
    attributes = {name: itemgetter(i) for i, name in enumerate(fields)}
    table = {"__slots__": (), "type_name": type_name, "fields": fields, "SCRIPT_NAME": type_name, "SCRIPT_ATTRIBUTES": attributes}
    return type(type_name, (NamedResult,), table)
