"""`contextlib`: context managers that are made of generators, that do nothing, or that swallow errors."""

from __future__ import annotations

from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.classes.creation import make_class
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.calls import call, is_callable
from gradcli.lang.values.types import is_subclass, type_of
from gradcli.lang.values.user_classes import NativeMethod
from gradcli.lang.values.value_classes import MISSING, Builtin, IteratorValue


class Managed(Scripted):
    """What a function with `@contextmanager` returns: its generator runs to the `yield`, and goes on when the block ends."""

    __slots__ = ("__weakref__", "again", "generator")

    SCRIPT_NAME = "contextlib._GeneratorContextManager"

    def __init__(self, function: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
        self.again = function, args, kwargs
        self.generator: Value = call(function, args, None, kwargs)
        if type(self.generator) is not IteratorValue:
            raise type_error("'{}' object is not an iterator", self.generator)

    def __call__(self, function: Value, /) -> Value:
        """The manager as a decorator."""
        if not is_callable(function):
            raise type_error("'{}' object is not callable", function)

        def run(*args: Value, **kwargs: Value) -> Value:
            manager = Managed(*self.again)
            manager.enter()
            try:
                found = call(function, args, None, kwargs)
            except ProgramError as error:
                if manager.leave(error):
                    return None
                raise
            manager.leave(None)
            return found

        return Builtin(getattr(function, "name", "function"), run)

    def enter(self) -> Value:
        """Run up to the `yield`; what it yields."""
        found = next(self.generator.host, MISSING)
        if found is MISSING:
            raise ProgramError("RuntimeError", "generator didn't yield")
        return found

    def leave(self, error: ProgramError | None) -> bool:
        """Go on after the `yield`, with the error of the block; whether the generator swallows it."""
        host = self.generator.host
        if error is None:
            if next(host, MISSING) is not MISSING:
                raise ProgramError("RuntimeError", "generator didn't stop")
            return False
        try:
            host.throw(error)
        except StopIteration:
            return True
        except ProgramError as raised:
            if raised is error:
                return False
            raise
        raise ProgramError("RuntimeError", "generator didn't stop after throw()")


class Null(Scripted):
    """`nullcontext(value)`: a manager that does nothing."""

    __slots__ = ("__weakref__", "value")

    SCRIPT_NAME = "nullcontext"

    def __init__(self, enter_result: Value = None) -> None:
        self.value = enter_result

    def enter(self) -> Value:
        """The value."""
        return self.value

    def exit(self) -> None:
        """Nothing."""


class Suppress(Scripted):
    """`suppress(*types)`: errors of these types end the block, and no more."""

    __slots__ = ("__weakref__", "types")

    SCRIPT_NAME = "suppress"

    def __init__(self, *exceptions: Value) -> None:
        self.types = exceptions

    def enter(self) -> Value:
        """Nothing."""
        return None

    def leave(self, error: ProgramError | None) -> bool:
        """Whether the error is of one of the types."""
        if error is None:
            return False
        return any(is_subclass(type_of(error if error.instance is None else error.instance), one) for one in self.types)


def _contextmanager(func: Value) -> NativeMethod:
    if not is_callable(func):
        raise type_error("'{}' object is not callable", func)
    return NativeMethod(getattr(func, "name", "contextmanager"), lambda *args, **kwargs: Managed(func, args, kwargs))


MEMBERS: dict[str, Value] = {
    "contextmanager": Builtin("contextmanager", _contextmanager),
    "nullcontext": script_type(Null, "contextlib"),
    "suppress": script_type(Suppress, "contextlib"),
    "ContextDecorator": make_class("ContextDecorator", "ContextDecorator", (), {}, {}, {}),
    "AbstractContextManager": make_class("AbstractContextManager", "AbstractContextManager", (), {}, {}, {}),
}
