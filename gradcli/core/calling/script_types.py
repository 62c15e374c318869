"""What the core offers to scripts besides tensors and tensor functions: types, and objects with tables.

A class whose instances are script values declares, as class attributes,

    SCRIPT_NAME         type(v).__name__
    SCRIPT_TYPE         type(v), where scripts know the class: a ScriptType
    SCRIPT_ATTRIBUTES   name -> getter(value)
    SCRIPT_SETTERS      name -> setter(value, new)
    SCRIPT_METHODS      name -> Routine; called with the value first
    SCRIPT_STATIC       name -> Routine; read from the type itself, such as nn.Embedding.from_pretrained
    SCRIPT_CLASS        name -> getter(class); read from the type itself, such as Normal.has_rsample

and nothing else of it can be reached. `v(...)` works where it has the method "__call__" in SCRIPT_METHODS.
A class that programs may derive classes from says with BASE_OF what these are, such as "modules". What the objects of a class with
COPIED_BY_FIELD hold is copied with them by `copy.deepcopy`; a class with a method `copied(deep)` makes its copies itself.
Enter and exit of `with` are methods `enter()` and `exit()`.

Further names in SCRIPT_METHODS that only the language calls, never scripts by name: "__len__", "__iter__", "__getitem__",
"__setitem__", "__delitem__", "__contains__" (value, item), "__next__" (ends with StopIteration) and "__add__" (value, other).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from gradcli.core.calling.routines import Constructor, Routine
from gradcli.core.calling.signature import language
from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError


class Scripted:
    """A base for classes whose instances are script values: tables without entries, which a class replaces by its own."""

    __slots__ = ()

    SCRIPT_ATTRIBUTES: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})
    SCRIPT_SETTERS: Mapping[str, Callable[[Any, Any], None]] = MappingProxyType({})
    SCRIPT_METHODS: Mapping[str, Routine] = MappingProxyType({})
    SCRIPT_STATIC: Mapping[str, Routine] = MappingProxyType({})
    SCRIPT_CLASS: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})


class ScriptType:
    """A class that scripts can call and test with isinstance: an optimiser, a module, torch.Tensor ...

    `test(value)` says whether a value is an instance. `construct` None means it cannot be called.
    """

    __slots__ = ("name", "module", "construct", "instances", "test")

    def __init__(self, name: str, module: str, construct: Callable[..., Any] | None, test: Callable[[Any], bool]) -> None:
        self.name = name
        self.module = module
        #: wrong calls are reported as Python reports them for `NAME.__init__`
        self.construct: Routine | None = None
        if construct is not None:
            init = f"{name}.__init__"
            # in PyTorch the `__init__` may be that of a base class
            self.construct = (
                Constructor(construct, getattr(construct, "INIT_NAME", name))
                if isinstance(construct, type)
                else Routine(construct, init, hide_first=True)
            )
        self.test = test
        #: the class whose instances belong to the type, if there is one
        self.instances: type | None = None

    def __repr__(self) -> str:
        return f"<class '{self.module}.{self.name}'>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self.construct is None:
            raise ProgramError("TypeError", f"cannot create '{self.name}' instances")
        return self.construct(*args, **kwargs)


def script_type(made: Any, module: str, exact: bool = False) -> ScriptType:
    """The type of a class of ours, under the name that the class declares; `exact`: subclasses do not belong to it."""
    test: Callable[[Any], bool] = (lambda value: type(value) is made) if exact else lambda value: isinstance(value, made)
    made.SCRIPT_TYPE = ScriptType(made.SCRIPT_NAME, module, made, test)
    made.SCRIPT_TYPE.instances = made
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


def live(source: Iterator[Any]) -> Iterator[Any]:
    """The elements of an iterator over a dictionary. Raises RuntimeError where the dictionary is changed meanwhile, as Python does."""
    while True:
        try:
            item = next(source)
        except StopIteration:
            return
        except RuntimeError as error:
            raise ProgramError("RuntimeError", str(error)) from None
        yield item


class Hooks:
    """Functions to call at a point, in the order of registration."""

    __slots__ = ("functions",)

    def __init__(self) -> None:
        self.functions: dict[int, Callable[..., Any]] = {}

    def add(self, function: Callable[..., Any], first: object = False) -> Removable:
        """Register a function, to be called last or first."""
        others = dict(self.functions) if first else {}
        if first:
            self.functions.clear()
        number = state.next_hook()
        self.functions[number] = function
        self.functions.update(others)
        return Removable(self.functions, number)

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(list(self.functions.values()))

    def __len__(self) -> int:
        return len(self.functions)


class Removable(Scripted):
    """What registering a hook returns: `remove()` takes the hook away, and so does the end of a block."""

    __slots__ = ("functions", "number", "__weakref__")

    SCRIPT_NAME = "torch.utils.hooks.RemovableHandle"
    SCRIPT_ATTRIBUTES = {"id": lambda handle: handle.number}

    def __init__(self, functions: dict[int, Callable[..., Any]], number: int) -> None:
        self.functions = functions
        self.number = number

    def remove(self) -> None:
        """Take the hook away; a second time does nothing."""
        self.functions.pop(self.number, None)

    def enter(self) -> Removable:
        """Begin a block, for the duration of which the hook is there."""
        return self

    def exit(self) -> None:
        """End the block."""
        self.remove()

    SCRIPT_METHODS = {"remove": Routine(remove)}


def sequence_of(value: object) -> tuple[Any, ...]:
    """`tuple(value)`; Python's error for what cannot be iterated."""
    return tuple(value) if isinstance(value, (tuple, list)) else tuple(language.collect(value))
