"""Data classes that take little time to define: a command defines dozens of them when it starts."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar, dataclass_transform

_Self = TypeVar("_Self", bound="Plain")


@dataclass_transform(frozen_default=True)
class Plain:
    """A frozen data class: the annotations of a subclass are its fields, in order, with their defaults.

    Two objects of one class are equal when all their fields are. `dataclasses.dataclass` and `NamedTuple` generate and run
    source code for each class, which takes 0.3 ms and more.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()
    #: how many of the fields have no default
    NEEDED: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        cls.FIELDS = (*cls.FIELDS, *(name for name in vars(cls).get("__annotations__", ()) if name not in cls.FIELDS))
        cls.NEEDED = sum(not hasattr(cls, name) for name in cls.FIELDS)

    def __init__(self, *args: Any, **fields: Any) -> None:
        if self.NEEDED <= len(args) <= len(self.FIELDS) and not fields:
            self.__dict__.update(zip(self.FIELDS, args, strict=False))
            return
        if len(args) > len(self.FIELDS):
            raise TypeError(f"{type(self).__name__} has {len(self.FIELDS)} fields, {len(args)} were given")
        values = dict(zip(self.FIELDS, args, strict=False))
        wrong = [name for name in fields if name in values or name not in self.FIELDS]
        values |= fields
        wrong += [name for name in self.FIELDS if name not in values and not hasattr(type(self), name)]
        if wrong:
            raise TypeError(f"{type(self).__name__}: {', '.join(wrong)} unknown, missing or given twice")
        self.__dict__.update(values)

    def replace(self: _Self, **fields: Any) -> _Self:
        """A copy with other values for some fields. Raises TypeError for a name that is no field."""
        return type(self)(**{name: getattr(self, name) for name in self.FIELDS} | fields)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.FIELDS)})"
