"""The values that are ours and not core's: functions, types, exception types, namespaces, iterators, cells of numpy text.

The set of values is closed: None, bool, int, float, str, list, tuple, dict, set, range, slice, Ellipsis, program errors,
the classes of this module and of core. No object of the host that could lead further is ever a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gradcli.errors import ProgramError

if TYPE_CHECKING:
    import numpy as np

#: checked after every statement while the tests run
CHECK_VALUES = False

Value = Any


class Builtin:
    """A function of the language itself, opaque but for its name."""

    __slots__ = ("name", "function", "shown", "__weakref__")

    def __init__(self, name: str, function: Callable[..., Value], shown: str | None = None) -> None:
        self.name = name
        self.function = function
        self.shown = shown or f"<built-in function {name}>"

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        try:
            return self.function(*args, **kwargs)
        except TypeError as error:
            raise wrong_call(self.name, error) from None


def wrong_call(name: str, error: TypeError) -> Exception:
    """The program's TypeError for arguments that a host function could not bind; other TypeErrors are faults and stay.

    Where binding failed, the innermost frame of the traceback is the caller's own.
    """
    trace = error.__traceback__
    if trace is None or trace.tb_next is not None:
        return error
    text = str(error)
    _, call, rest = text.partition("()")
    return ProgramError("TypeError", f"{name}(){rest}" if call else text)


class BoundMethod:
    """A method read from a value and not called at once, such as `str.lower` of `"a".lower`."""

    __slots__ = ("owner", "name", "function", "__weakref__")

    def __init__(self, owner: Value, name: str, function: Callable[..., Value]) -> None:
        self.owner = owner
        self.name = name
        self.function = function

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        return self.function(self.owner, *args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundMethod) and self.owner is other.owner and self.name == other.name

    def __hash__(self) -> int:
        return hash((id(self.owner), self.name))


class TypeValue:
    """A type: what `type(x)` gives and `isinstance` takes; calling it makes a value, where that is possible.

    `path` is the name as printed (`torch.Tensor`); `check` decides isinstance.
    """

    __slots__ = ("name", "path", "make", "check", "__weakref__")

    def __init__(
        self,
        path: str,
        check: Callable[[Value], bool],
        make: Callable[..., Value] | None = None,
    ) -> None:
        self.path = path
        self.name = path.rpartition(".")[2]
        self.check = check
        self.make = make

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        if self.make is None:
            raise ProgramError("TypeError", f"cannot create '{self.name}' instances")
        return self.make(*args, **kwargs)


class ExceptionType:
    """A type of program errors, by name."""

    __slots__ = ("name", "__weakref__")

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, /, *args: Value, **kwargs: Value) -> ProgramError:
        if kwargs:
            raise ProgramError("TypeError", f"{self.name}() takes no keyword arguments")
        return make_error(self.name, args)


class Namespace:
    """What `import` binds: a read-only set of names. `find` supplies members that are made when first asked for."""

    __slots__ = ("path", "members", "find", "known", "__weakref__")

    def __init__(
        self,
        path: str,
        members: dict[str, Value],
        find: Callable[[str], Value] | None = None,
        known: Callable[[], list[str]] | None = None,
    ) -> None:
        self.path = path
        self.members = members
        self.find = find
        self.known = known

    def get(self, name: str) -> Value:
        """A member, or MISSING."""
        value = self.members.get(name, MISSING)
        if value is MISSING and self.find is not None:
            value = self.find(name)
            if value is not MISSING:
                self.members[name] = value
        return value

    def names(self) -> list[str]:
        """All names, for completion and for hints."""
        return sorted({*self.members, *(self.known() if self.known is not None else ())})


class Missing:
    """The type of the marker MISSING: no value at all."""

    __slots__ = ()


MISSING = Missing()
#: what a slot of a frame holds before the local is bound
UNBOUND = Missing()


class IteratorValue:
    """An iterator: a lazily advanced host iterator over values, never handed out itself. `kind` names it for printing."""

    __slots__ = ("kind", "host", "__weakref__")

    def __init__(self, kind: str, host: Iterator[Value]) -> None:
        self.kind = kind
        self.host = host

    def __iter__(self) -> Iterator[Value]:
        return self.host


class NumpyArray:
    """What `tensor.numpy()` gives: an array that prints as numpy prints. It takes no part in arithmetic."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __repr__(self) -> str:
        return repr(self.array)

    def __str__(self) -> str:
        return str(self.array)


def make_error(name: str, args: tuple[Value, ...]) -> ProgramError:
    """`name(*args)` as a value to raise; its text is what Python's `str` gives."""
    from gradcli.lang import text

    if not args:
        message = ""
    elif len(args) > 1:
        message = text.repr_text(args)
    elif name == "KeyError":
        message = text.repr_text(args[0])
    else:
        message = text.str_text(args[0])
    return ProgramError(name, message, args=args)


#: filled by `register`: every class whose instances may be values
_CLASSES: set[type] = {
    type(None),
    bool,
    int,
    float,
    str,
    list,
    tuple,
    dict,
    set,
    range,
    slice,
    type(...),
    ProgramError,
    Builtin,
    BoundMethod,
    TypeValue,
    ExceptionType,
    Namespace,
    IteratorValue,
    NumpyArray,
}


def register(*classes: type) -> None:
    """Admit the instances of more classes as values."""
    _CLASSES.update(classes)


def is_value(value: object) -> bool:
    """Whether `value` belongs to the closed set (itself; what containers hold was checked when it was made)."""
    kind = type(value)
    if kind in _CLASSES:
        return True
    return hasattr(kind, "SCRIPT_ATTRIBUTES") or hasattr(kind, "SCRIPT_METHODS")
