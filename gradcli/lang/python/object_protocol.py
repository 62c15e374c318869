"""The protocol by which Python's own types handle values of any type, and how errors of Python become errors of the program.

Host values are the values that are plain Python: numbers, strings, containers (`HOST_TYPES`). The modules of this folder
implement their methods and operators. A container may hold other values, such as tensors: these are compared, printed and
called through `Ops`, which the interpreter implements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from gradcli.errors import GradcliError, LimitError, ProgramError, of_python

#: containers nested deeper than this are not printed or compared, as in CPython with its default recursion limit
MAX_DEPTH = 1000

#: the errors that Python's own functions raise for wrong arguments
HOST_ERRORS = (TypeError, ValueError, LookupError, ArithmeticError)

#: a value of the language, of any type: a host value, a tensor, a function ...
Value = Any


def _comparing(name: str) -> Callable[[Any, Any], Any]:
    def method(self: TorchVersion, other: object) -> Any:
        from gradcli.lang.python.torch_version import compared  # most programs do not ask

        return compared(name, self, other)

    return method


class TorchVersion(str):
    """`torch.__version__`. Beside a str, a tuple or a list it is compared as a version, and as a str beside what is none."""

    __slots__ = ()

    SCRIPT_NAME = "torch.torch_version.TorchVersion"

    __eq__ = _comparing("__eq__")
    __lt__ = _comparing("__lt__")
    __le__ = _comparing("__le__")
    __gt__ = _comparing("__gt__")
    __ge__ = _comparing("__ge__")
    __hash__ = str.__hash__


#: the types of host values
HOST_TYPES = frozenset(
    {type(None), bool, int, float, complex, str, TorchVersion, list, tuple, dict, set, frozenset, range, slice, type(...)}
)


class Ops(Protocol):
    """CPython's object protocol for values of any type. Every method raises ProgramError only."""

    def equal(self, a: Value, b: Value) -> bool:
        """The truth of `a == b`."""

    def less(self, a: Value, b: Value) -> bool:
        """The truth of `a < b`."""

    def greater(self, a: Value, b: Value) -> bool:
        """The truth of `a > b`."""

    def truth(self, value: Value) -> bool:
        """`bool(value)`."""

    def hashable(self, value: Value) -> None:
        """Raise "unhashable type: 'list'" unless the value may be a key; `comparing.check_hashable` does it for host values."""

    def iterate(self, value: Value) -> Iterator[Value]:
        """The value's elements; raises "'int' object is not iterable"."""

    def call(self, function: Value, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> Value:
        """Call a function value."""

    def repr_of(self, value: Value) -> str:
        """`repr(value)`."""

    def str_of(self, value: Value) -> str:
        """`str(value)`."""

    def format_of(self, value: Value, spec: str) -> str:
        """`format(value, spec)` of a value that is not a host value; the width in `spec` is within the limit."""

    def to_number(self, value: Value) -> int | float:
        """The number in a 0-d tensor; raises "must be real number, not X" for other values. Never called with a host value."""

    def to_index(self, value: Value) -> int:
        """The integer that a tensor stands for as an index; raises a TypeError for a float or several elements."""

    def type_name(self, value: Value) -> str:
        """The name that `type(value).__name__` shows."""


def from_host(error: Exception, ops: Ops | None = None, args: tuple[Value, ...] = ()) -> GradcliError:
    """The program's error for `error`, which a function of Python raised. With `ops`, types of `args` get the names users know."""
    text = str(error)
    if text.startswith("Exceeds the limit ("):
        return LimitError("digits", "an integer and its decimal text: too many digits")
    if ops is not None:
        for value in args:
            text = text.replace(type(value).__name__, ops.type_name(value))
    return of_python(error, text)


def hosted(function: Callable[..., Value], *args: Value) -> Value:
    """`function(*args)`, where `function` is Python's own. Its errors become errors of the program."""
    try:
        return function(*args)
    except HOST_ERRORS as error:
        raise from_host(error) from None


def hosted_call(function: Callable[..., Value], args: Sequence[Value], kwargs: Mapping[str, Value], ops: Ops | None = None) -> Value:
    """`function(*args, **kwargs)`, as `hosted` does it; with `ops`, messages name the types of the arguments as users know them."""
    try:
        return function(*args, **kwargs)
    except HOST_ERRORS as error:
        raise from_host(error, ops, (*args, *kwargs.values())) from None


def hosted_method(primitive: Callable[..., Value]) -> Callable[..., Value]:
    """A method that Python's own function implements: it compares no items, and its result is no longer than its object."""

    def method(ops: Ops, /, *args: Value, **kwargs: Value) -> Value:
        return hosted_call(primitive, args, kwargs, ops)

    return method


def type_error(text: str, *names: str) -> ProgramError:
    """A TypeError of the program; `names` are the types that the text names."""
    return ProgramError("TypeError", text, names=names)


def value_error(text: str) -> ProgramError:
    """A ValueError of the program."""
    return ProgramError("ValueError", text)


def key_error(ops: Ops, key: Value) -> ProgramError:
    """A KeyError: its text is the key's repr."""
    return ProgramError("KeyError", ops.repr_of(key), args=(key,))
