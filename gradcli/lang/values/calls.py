"""Calling any value, and grad modes as decorators."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial

from gradcli.core.autograd import backward
from gradcli.core.autograd.grad_mode import Decorating, GradMode
from gradcli.core.calling.script_types import Scripted
from gradcli.core.calling.type_errors import not_callable
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import special
from gradcli.lang.values.user_functions import UserFunction, invoke
from gradcli.lang.values.value_classes import NO_KEYWORDS, IteratorValue, register


class Decorated:
    """A function that runs in a grad mode, as the decorator `@torch.no_grad()` makes it."""

    __slots__ = ("__weakref__", "function", "mode")

    SCRIPT_NAME = "function"
    #: as an attribute of a class it is a method
    BINDS = True

    def __init__(self, mode: Decorating, function: Value) -> None:
        self.function = function
        self.mode = mode

    @property
    def name(self) -> str:
        """`__name__` of the decorated function."""
        return str(getattr(self.function, "name", "decorate_context"))

    def read(self, name: str, default: Value) -> Value:
        """An attribute of the decorated function, or this function itself as `__wrapped__`."""
        if name == "__wrapped__":
            return self.function
        return self.function.read(name, default) if isinstance(self.function, UserFunction | Decorated) else default

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        if type(self.function) is UserFunction and self.function.code.generates:
            made = call(self.function, args, state.origin, kwargs)
            return IteratorValue("generator", _in_blocks(self.mode, made.host), (made,), made.name)
        mode = self.mode.copy()
        mode.enter()
        try:
            return call(self.function, args, state.origin, kwargs)
        finally:
            mode.exit()

    SCRIPT_METHODS = {"__getattr__": read}


register(Decorated, GradMode)


def _in_blocks(mode: Decorating, steps: Generator[Value, Value, Value]) -> Generator[Value, Value, Value]:
    """A generator each of whose steps runs in a block of its own, so that the mode is not in force where its values are used."""
    step: Callable[[], Value] = partial(steps.send, None)
    while True:
        block = mode.copy()
        block.enter()
        try:
            value = step()
        except StopIteration as stop:
            return stop.value
        finally:
            block.exit()
        try:
            step = partial(steps.send, (yield value))
        except GeneratorExit:
            steps.close()
            raise
        except ProgramError as error:
            step = partial(steps.throw, error)


def call(callee: Value, args: tuple[Value, ...], place: object, kwargs: Mapping[str, Value] = NO_KEYWORDS) -> Value:
    """Call a value; `place` is the syntax node of the call. Raises TypeError for a value that is not callable."""
    if type(callee) is UserFunction:
        return invoke(callee, args, kwargs, place)
    state.origin = place
    if callable(callee):
        return callee(*args, **kwargs)
    if isinstance(callee, Decorating) and len(args) == 1 and not kwargs:
        return decorate(callee, args[0])
    if isinstance(callee, Node) and not isinstance(callee, Scripted) and not kwargs:  # those of custom functions cannot be called
        return backward.call_node(callee, args)
    method = getattr(type(callee), "SCRIPT_METHODS", NO_KEYWORDS).get("__call__")
    if method is not None:
        return method(callee, *args, **kwargs)
    own = special(callee, "__call__")
    if own is not None:
        return own(*args, **kwargs)
    raise not_callable(callee)


def is_callable(value: Value, /) -> bool:
    """`callable(value)`."""
    if callable(value) or isinstance(value, Decorating | Node) or "__call__" in getattr(type(value), "SCRIPT_METHODS", ()):
        return True
    return special(value, "__call__") is not None


def decorate(mode: Decorating, function: Value) -> Decorated:
    """`mode(function)`: a function that enters the mode each time it is called. Raises TypeError."""
    if not is_callable(function):
        raise not_callable(function)
    if isinstance(mode, GradMode) and mode.kind == "set_grad_enabled":
        mode.exit()  # set_grad_enabled acts as soon as it is made, but as a decorator only during calls
    return Decorated(mode, function)
