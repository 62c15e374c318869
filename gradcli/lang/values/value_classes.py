"""The classes of values that belong to the language: functions, types, exception types, modules, iterators.

The set of values is closed: None, bool, int, float, complex, str, list, tuple, dict, set, frozenset, range, slice, Ellipsis, program
errors, the classes of this module, and classes of core. No other Python object is ever a value, so that programs cannot reach Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.functions.function import Function, InplaceFunction
from gradcli.core.random.generator import Generator
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import LimitError, ProgramError, of_python
from gradcli.lang.python.dict_views import ItemsView, KeysView, ValuesView
from gradcli.lang.python.object_protocol import TorchVersion, Value

if TYPE_CHECKING:
    import numpy as np

#: whether the interpreter checks after every statement that all values belong to the closed set; tests set it
CHECK_VALUES = False

NO_KEYWORDS: Mapping[str, Value] = {}

#: classes of core whose instances are functions
FUNCTIONS = (Function, InplaceFunction, Routine)


class Builtin:
    """A built-in function."""

    __slots__ = ("__weakref__", "function", "name", "shown")

    def __init__(self, name: str, function: Callable[..., Value], shown: str | None = None) -> None:
        self.name = name
        self.function = function
        self.shown = shown or f"<built-in function {name}>"

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        try:
            return self.function(*args, **kwargs)
        except TypeError as error:
            raise wrong_call(self, error, args, kwargs) from None


def wrong_call(builtin: Builtin, error: TypeError, args: Sequence[Value], kwargs: Mapping[str, Value] = NO_KEYWORDS) -> Exception:
    """The program's TypeError, with Python's text, for arguments that a built-in function does not take.

    If Python failed to bind the arguments, the traceback has one frame. Any other TypeError is a fault of gradcli and is returned
    as it is.
    """
    trace = error.__traceback__
    code = getattr(builtin.function, "__code__", None)
    if trace is None or trace.tb_next is not None or code is None:
        return error
    return ProgramError("TypeError", _wrong_call_text(builtin, code, len(args), kwargs))


#: the functions that hand the arguments of a call on
_CALLING = ("run", "run_one", "call", "__call__", "<lambda>")
_MISCALL = r"[\w.<>]+\(\) (?:takes (?:from )?(\d+)(?: to (\d+))? positional arguments? but \d+ w|missing|got (an unexpected k|multiple))"


def miscalled(name: str, error: TypeError, count: int) -> Exception:
    """The program's TypeError for `count` arguments that no parameters of a method fit; `error` itself where its body raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if str(error).endswith("object is not callable") or str(error).startswith("unhashable type"):
        return of_python(error, str(error))
    match = re.match(_MISCALL, str(error))
    if match is None or trace is None or trace.tb_frame.f_code.co_name not in _CALLING:
        return error
    if match[3]:
        text = f"{name}() takes no keyword arguments"
    elif match[1] is None:
        text = f"{name}() takes more arguments ({count} given)"
    else:
        most = int(match[2] or match[1]) - 1
        how_many = f"at most {most} arguments" if most > 1 else "exactly one argument" if most else "no arguments"
        text = f"{name}() takes {how_many} ({count} given)"
    return ProgramError("TypeError", text)


def _wrong_call_text(builtin: Builtin, code: CodeType, count: int, kwargs: Mapping[str, Value]) -> str:
    name = builtin.name
    most = code.co_argcount
    least = most - len(builtin.function.__defaults__ or ())
    names = code.co_varnames[: most + code.co_kwonlyargcount]
    if code.co_posonlyargcount == most > 0:
        if kwargs:
            return f"{name}() takes no keyword arguments"
        if most == 1:
            return f"{name}() takes exactly one argument ({count} given)"
        which = "" if least == most else "at least " if count < least else "at most "
        bound = least if count < least else most
        return f"{name} expected {which}{bound} argument{'' if bound == 1 else 's'}, got {count}"
    for key in kwargs:
        if key not in names:
            return f"'{key}' is an invalid keyword argument for {name}()"
        if names.index(key) < count:
            return f"argument for {name}() given by name ('{key}') and position ({names.index(key) + 1})"
    if count > most:
        return f"{name}() takes at most {most} argument{'' if most == 1 else 's'} ({count} given)"
    return f"{name}() missing required argument '{names[count]}' (pos {count + 1})"


class BoundMethod:
    """A method read from a value and not called at once, such as `str.lower` of `"a".lower`."""

    __slots__ = ("__weakref__", "function", "name", "owner")

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

    `path` is the name as printed (`torch.Tensor`); `check` decides isinstance. An abstract type decides issubclass by `above`.
    `instances` is the class of ours that its values have, where it is known.
    """

    __slots__ = ("__weakref__", "above", "check", "instances", "make", "name", "path")

    def __init__(
        self,
        path: str,
        check: Callable[[Value], bool],
        make: Callable[..., Value] | None = None,
        above: Callable[[Value], bool] | None = None,
    ) -> None:
        self.path = path
        self.name = path.rpartition(".")[2]
        self.check = check
        self.make = make
        self.above = above
        self.instances: type | None = None

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        if self.make is None:
            raise ProgramError("TypeError", f"cannot create '{self.name}' instances")
        return self.make(*args, **kwargs)


class Plain:
    """What `object()` makes: a value that is equal to itself alone."""

    __slots__ = ("__weakref__",)

    SCRIPT_NAME = "object"


class ExceptionType:
    """A type of program errors; `make(name, args)` makes an error of this type."""

    __slots__ = ("__weakref__", "make", "name")

    def __init__(self, name: str, make: Callable[[str, tuple[Value, ...]], ProgramError]) -> None:
        self.name = name
        self.make = make

    def __call__(self, /, *args: Value, **kwargs: Value) -> ProgramError:
        if kwargs:
            raise ProgramError("TypeError", f"{self.name}() takes no keyword arguments")
        return self.make(self.name, args)


class Namespace:
    """A module, as `import` binds it: read-only names. `find` makes members when they are first asked for."""

    __slots__ = ("__weakref__", "find", "known", "members", "path")

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
        """All names but those with a leading underscore, for completion and for hints."""
        known = self.known() if self.known is not None else ()
        return sorted(name for name in {*self.members, *known} if not name.startswith("_"))


class Missing:
    """The type of the marker MISSING: no value at all."""

    __slots__ = ()


MISSING = Missing()
#: the content of a frame's slot before the local is bound
UNBOUND = Missing()


#: the longest chain of iterators that read from one another: Python advances and frees such a chain by unchecked recursion
_MAX_CHAIN = 200


class IteratorValue:
    """An iterator over values. It wraps a Python iterator, which programs never see; `kind` is the name of its type.

    `sources` are the values that it reads from. Raises LimitError for a chain of too many iterators.
    """

    __slots__ = ("__weakref__", "depth", "host", "kind", "name")

    def __init__(self, kind: str, host: Iterator[Value], sources: Iterable[Value] = (), name: str = "<genexpr>") -> None:
        self.kind = kind
        #: the qualified name of a generator's function
        self.name = name
        self.host = host
        self.depth: int = 1 + max([source.depth for source in sources if type(source) is IteratorValue], default=0)
        if self.depth > _MAX_CHAIN:
            raise LimitError("nesting", f"a chain of more than {_MAX_CHAIN} iterators is over the limit")

    def __iter__(self) -> Iterator[Value]:
        return self.host


class Special:
    """A value whose operators are special methods: an instance of a class of the program, or a value of numpy.

    `special(name)` of the class gives the bound method, or None.
    """

    __slots__ = ()

    def number(self) -> float | None:
        """The Python number that a scalar of numpy or a member of an IntEnum is equal to; None for other values."""
        return None

    def as_array(self) -> np.ndarray[Any, Any] | None:
        """The array itself, or a scalar as an array without dimensions; None for other values."""
        return None


class NumpyValue(Special):
    """An array, a scalar or a dtype of numpy; `gradcli.lang.arrays` has the classes."""

    __slots__ = ()

    def is_float(self) -> bool:
        """Whether this is a Python float too, as numpy's float64 is."""
        return False


#: every class whose instances are values; `register` adds those of the modules above
_CLASSES: set[type] = {
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    TorchVersion,
    list,
    tuple,
    dict,
    set,
    frozenset,
    range,
    slice,
    type(...),
    ProgramError,
    Builtin,
    BoundMethod,
    Plain,
    TypeValue,
    ExceptionType,
    Namespace,
    IteratorValue,
    KeysView,
    ValuesView,
    ItemsView,
    Tensor,
    DType,
    Generator,
    ScriptType,
}

#: classes whose subclasses are values too
_BASES = (Node, tuple, *FUNCTIONS)


def register(*classes: type) -> None:
    """Admit the instances of more classes as values."""
    _CLASSES.update(classes)


def is_value(value: object) -> bool:
    """Whether `value` belongs to the closed set of values; the items of a container were checked when they were made."""
    kind = type(value)
    return kind in _CLASSES or issubclass(kind, _BASES) or hasattr(kind, "SCRIPT_ATTRIBUTES")
