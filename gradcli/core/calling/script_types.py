"""What the core offers to scripts besides tensors and tensor functions: routines, types and objects with tables.

A class whose instances are script values declares, as class attributes,

    SCRIPT_NAME         type(v).__name__
    SCRIPT_TYPE         type(v), where scripts know the class: a ScriptType
    SCRIPT_ATTRIBUTES   name -> getter(value)
    SCRIPT_SETTERS      name -> setter(value, new)
    SCRIPT_METHODS      name -> Routine; called with the value first

and nothing else of it can be reached. `v(...)` works where it has the method "__call__" in SCRIPT_METHODS.
Enter and exit of `with` are methods `enter()` and `exit()`.

Further names in SCRIPT_METHODS that only the language calls, never scripts by name: "__len__", "__iter__", "__getitem__",
"__setitem__", "__delitem__", "__contains__" (value, item), "__next__" (ends with StopIteration) and "__add__" (value, other).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from gradcli.core.calling.type_errors import not_iterable
from gradcli.errors import ProgramError, of_python

#: what Python raises for arguments of a wrong type or value, in words that PyTorch's users get too
_HOST_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


def from_host(error: Exception) -> ProgramError:
    """The program's error for one that Python raised inside a function that PyTorch writes in Python as well."""
    text = str(error).replace("'UserFunction'", "'function'")
    if "core tensors" in text:
        return ProgramError("TypeError", "a tensor stands where a number is wanted")
    return of_python(error, text)


class Routine:
    """A function of ours with Python's calling convention and Python's own errors for wrong calls."""

    __slots__ = ("name", "function", "positional", "required", "keyword_only", "variadic", "keywords", "shown_self")

    def __init__(self, function: Callable[..., Any], name: str = "", hide_first: bool = False) -> None:
        code = function.__code__
        self.function = function
        self.name = name or function.__name__
        self.positional = code.co_varnames[: code.co_argcount]
        self.required = code.co_argcount - len(function.__defaults__ or ())
        self.keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self.variadic = bool(code.co_flags & 0x04)
        self.keywords = bool(code.co_flags & 0x08)
        #: a leading self that the caller did not write is counted in messages, as Python counts it
        self.shown_self = hide_first

    def __repr__(self) -> str:
        return f"<function {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.check(args, kwargs)
        try:
            return self.function(*args, **kwargs)
        except _HOST_ERRORS as error:
            raise from_host(error) from error

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise Python's error where the arguments do not fit the parameters."""
        if kwargs or self.variadic or not self.required <= len(args) <= len(self.positional):
            self._check(args, kwargs)

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        extra = None if self.keywords else self.keyword_only
        check_arguments(self.name, self.positional, self.required, args, kwargs, extra, self.variadic)
        lacking = [n for n in self.keyword_only if n not in kwargs and n not in (self.function.__kwdefaults__ or {})]
        if lacking:
            raise ProgramError(
                "TypeError",
                f"{self.name}() missing {len(lacking)} required keyword-only argument{'' if len(lacking) == 1 else 's'}: {listed(lacking)}",
            )


def check_arguments(
    name: str,
    names: Sequence[str],
    required: int,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    keyword_only: Sequence[str] | None = (),
    variadic: bool = False,
) -> None:
    """Python's errors for a call whose arguments do not fit the parameters; `keyword_only` None takes any keyword."""
    for key in kwargs:
        if key in names[: len(args)]:
            raise ProgramError("TypeError", f"{name}() got multiple values for argument '{key}'")
        if keyword_only is not None and key not in names and key not in keyword_only:
            raise ProgramError("TypeError", f"{name}() got an unexpected keyword argument '{key}'")
    if len(args) > len(names) and not variadic:
        most = len(names)
        takes = f"{most} positional argument{'' if most == 1 else 's'}"
        if required != most:
            takes = f"from {required} to {most} positional arguments"
        raise ProgramError("TypeError", f"{name}() takes {takes} but {len(args)} {'was' if len(args) == 1 else 'were'} given")
    missing = [n for n in names[len(args) : required] if n not in kwargs]
    if missing:
        raise ProgramError(
            "TypeError",
            f"{name}() missing {len(missing)} required positional argument{'' if len(missing) == 1 else 's'}: {listed(missing)}",
        )


class Constructor(Routine):
    """A class as a routine: makes instances, and reports wrong calls as Python does for its `__init__`."""

    __slots__ = ("made",)

    def __init__(self, made: type, name: str) -> None:
        super().__init__(made.__init__, f"{name}.__init__")  # type: ignore[misc]
        self.made = made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or self.variadic or not self.required <= len(args) + 1 <= len(self.positional):
            self._check((None, *args), kwargs)  # None stands for self, which Python counts
        try:
            return self.made(*args, **kwargs)
        except _HOST_ERRORS as error:
            raise from_host(error) from error


def listed(names: list[str]) -> str:
    """`'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`: as Python lists arguments."""
    quoted = [f"'{n}'" for n in names]
    if len(quoted) <= 2:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


class Scripted:
    """A base for classes whose instances are script values: tables without entries, which a class replaces by its own."""

    __slots__ = ()

    SCRIPT_ATTRIBUTES: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})
    SCRIPT_SETTERS: Mapping[str, Callable[[Any, Any], None]] = MappingProxyType({})
    SCRIPT_METHODS: Mapping[str, Routine] = MappingProxyType({})


class ScriptType:
    """A class that scripts can call and test with isinstance: an optimiser, a module, torch.Tensor ...

    `test(value)` says whether a value is an instance. `construct` None means it cannot be called.
    """

    __slots__ = ("name", "module", "construct", "test")

    def __init__(self, name: str, module: str, construct: Callable[..., Any] | None, test: Callable[[Any], bool]) -> None:
        self.name = name
        self.module = module
        #: wrong calls are reported as Python reports them for `NAME.__init__`
        self.construct: Routine | None = None
        if construct is not None:
            init = f"{name}.__init__"
            # in PyTorch a base class may have it
            self.construct = (
                Constructor(construct, getattr(construct, "INIT_NAME", name))
                if isinstance(construct, type)
                else Routine(construct, init, hide_first=True)
            )
        self.test = test

    def __repr__(self) -> str:
        return f"<class '{self.module}.{self.name}'>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.construct is None:
            raise ProgramError("TypeError", f"cannot create '{self.name}' instances")
        return self.construct(*args, **kwargs)


def script_type(made: Any, module: str, exact: bool = False) -> ScriptType:
    """The type of a class of ours, under the name that the class declares; `exact`: subclasses do not belong to it."""
    test: Callable[[Any], bool] = (lambda value: type(value) is made) if exact else lambda value: isinstance(value, made)
    made.SCRIPT_TYPE = ScriptType(made.SCRIPT_NAME, module, made, test)
    return made.SCRIPT_TYPE  # type: ignore[no-any-return]


class Attributes:
    """Tables for attributes that are plain fields: `read("a b")` for SCRIPT_ATTRIBUTES, `write("a")` for SCRIPT_SETTERS."""

    @staticmethod
    def read(names: str) -> dict[str, Callable[[Any], Any]]:
        """Getters of the fields named."""
        return {name: attrgetter(name) for name in names.split()}

    @staticmethod
    def write(names: str) -> dict[str, Callable[[Any, Any], None]]:
        """Setters of the fields named."""

        def setter(name: str) -> Callable[[Any, Any], None]:
            return lambda value, new: setattr(value, name, new)

        return {name: setter(name) for name in names.split()}


class Generated(Scripted):
    """An iterator that a method of ours returns, such as `module.parameters()`."""

    __slots__ = ("host", "name", "__weakref__")

    SCRIPT_NAME = "generator"

    def __init__(self, host: Iterator[Any], name: str) -> None:
        self.host = host
        self.name = name

    def __iter__(self) -> Iterator[Any]:
        return self.host

    def __next__(self) -> Any:
        return next(self.host)

    SCRIPT_METHODS = {"__iter__": Routine(__iter__), "__next__": Routine(__next__)}


class Hooks:
    """Functions to call at a point, in the order of registration."""

    __slots__ = ("functions", "count")

    def __init__(self) -> None:
        self.functions: dict[int, Callable[..., Any]] = {}
        self.count = 0

    def add(self, function: Callable[..., Any]) -> Removable:
        """Register a function."""
        self.count += 1
        self.functions[self.count] = function
        return Removable(self.functions, self.count)

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(list(self.functions.values()))


class Removable(Scripted):
    """What registering a hook returns: `remove()` takes the hook away."""

    __slots__ = ("functions", "number", "__weakref__")

    SCRIPT_NAME = "RemovableHandle"

    def __init__(self, functions: dict[int, Callable[..., Any]], number: int) -> None:
        self.functions = functions
        self.number = number

    def remove(self) -> None:
        """Take the hook away; a second time does nothing."""
        self.functions.pop(self.number, None)

    SCRIPT_METHODS = {"remove": Routine(remove)}


def sequence_of(value: Any) -> tuple[Any, ...]:
    """A tuple or list as a tuple; Python's error for what cannot be iterated."""
    if isinstance(value, (tuple, list)):
        return tuple(value)
    raise not_iterable(value)
