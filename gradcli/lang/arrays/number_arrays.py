"""`array`: rows of numbers of one kind, which share their memory with tensors that `torch.frombuffer` makes of them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator

import numpy as np

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.kernels import Array
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value, hosted

#: the kinds of numbers: whole ones of a size, and floats
_CODES = "bBhHiIlLqQfd"
#: bytes of the largest number
_WIDEST = 8


class NumberArray(Scripted):
    """`array.array(typecode, numbers)`."""

    __slots__ = ("__weakref__", "host")

    SCRIPT_NAME = "array"
    SCRIPT_ATTRIBUTES = {"typecode": lambda held: held.host.typecode, "itemsize": lambda held: held.host.itemsize}
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, typecode: Value, initializer: Value = (), /) -> None:
        if type(typecode) is not str or len(typecode) != 1:
            raise type_error("array() argument 1 must be a unicode character, not {}", typecode)
        if typecode not in _CODES:
            raise ProgramError("ValueError", "bad typecode (must be b, B, u, h, H, i, I, l, L, q, Q, f or d)")
        self.host = array(typecode)
        self.extend(initializer)

    def extend(self, numbers: Value, /) -> None:
        """Put numbers at the end. Raises Python's errors for what the kind does not hold, and for an array that a tensor shares."""
        items = [self._number(item) for item in language.collect(numbers)]
        limits.check_list(len(self.host) + len(items))
        limits.check_room(_WIDEST * (len(self.host) + len(items)))
        self._grow(self.host.extend, hosted(array, self.host.typecode, items))

    def append(self, number: Value, /) -> None:
        """Put a number at the end, as `extend`."""
        limits.check_list(len(self.host) + 1)
        self._grow(self.host.append, self._number(number))

    def _grow(self, method: Callable[[Value], None], added: Value) -> None:
        try:
            hosted(method, added)
        except BufferError as error:
            raise ProgramError("BufferError", str(error)) from None

    def _number(self, item: Value) -> Value:
        plain = language.plain(item)
        if type(plain) in (int, bool, float):
            return plain
        if self.host.typecode in "fd":
            raise type_error("must be real number, not {}", item)
        raise type_error("'{}' object cannot be interpreted as an integer", item)

    def tolist(self) -> list[Value]:
        """The numbers in a list."""
        return self.host.tolist()

    def memory(self) -> Array:
        """The numbers as an array that shares their memory."""
        return np.frombuffer(self.host, self.host.typecode) if self.host else np.empty(0, self.host.typecode)

    def __len__(self) -> int:
        return len(self.host)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.host.tolist())

    def __contains__(self, item: Value) -> bool:
        return type(item) in (int, bool, float) and item in self.host

    def __getitem__(self, place: Value) -> Value:
        found = hosted(self.host.__getitem__, place)
        return found if type(found) is not array else NumberArray(found.typecode, found.tolist())

    def __setitem__(self, place: Value, number: Value) -> None:
        if type(place) is slice:
            raise type_error('can only assign array (not "{}") to array slice', number)
        hosted(self.host.__setitem__, place, self._number(number))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberArray) and self.host == other.host

    def __repr__(self) -> str:
        limits.check_string(32 * len(self.host))
        return repr(self.host)

    SCRIPT_METHODS = {
        **{method.__name__: Routine(method, method.__name__) for method in (extend, append, tolist)},
        **{method.__name__: Routine(method) for method in (__len__, __iter__, __contains__, __getitem__, __setitem__)},
    }


_ARRAY = script_type(NumberArray, "array")
MEMBERS: dict[str, Value] = {"array": _ARRAY, "ArrayType": _ARRAY, "typecodes": _CODES}
