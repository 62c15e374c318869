"""Numbers that stand for objects' addresses: counted per session, in the order in which objects are first printed."""

from __future__ import annotations

import weakref
from typing import Any


class Addresses:
    """Gives each object a small number of its own, for `<MulBackward0 object at 0x1>` and `id(x)`."""

    __slots__ = ("_next", "_numbers")

    def __init__(self) -> None:
        #: by host id; an entry goes when its object does, so that a new object at the same place gets a new number
        self._numbers: dict[int, tuple[int, Any]] = {}
        self._next = 1

    def of(self, value: object) -> int:
        """The number of `value`."""
        key = id(value)
        known = self._numbers.get(key)
        if known is not None:
            return known[0]
        number = self._next
        self._next += 1
        numbers = self._numbers
        try:
            kept: Any = weakref.ref(value, lambda _: numbers.pop(key, None))
        except TypeError:
            kept = value  # no weak references to it: kept alive, so that its id is not used again
        numbers[key] = (number, kept)
        return number
