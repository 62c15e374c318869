"""`contextlib`: context managers that are made of generators, that do nothing, or that swallow errors."""

from __future__ import annotations

from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.core.calling.type_errors import type_error
from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError
from gradcli.lang.classes.creation import make_class
from gradcli.lang.libraries.operator import Provided
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.calls import call, is_callable
from gradcli.lang.values.execution import execution
from gradcli.lang.values.generators import as_error
from gradcli.lang.values.managers import Leave, enter
from gradcli.lang.values.types import is_subclass, type_of
from gradcli.lang.values.user_classes import NativeMethod
from gradcli.lang.values.value_classes import MISSING, Builtin, IteratorValue

provided = Provided()


def _begin(manager: Value, /) -> Value:
    return manager.enter()


def _end(manager: Value, kind: Value, error: Value, traceback: Value, /) -> Value:
    if not hasattr(manager, "leave"):
        return manager.exit()
    return bool(manager.leave(None if error is None else as_error(error)))


class _Manager(Scripted):
    """A manager that programs may also begin and end by hand."""

    __slots__ = ()

    SCRIPT_METHODS = {"__enter__": Routine(_begin, "__enter__", hide_first=True), "__exit__": Routine(_end, "__exit__", hide_first=True)}


def _decorated(function: Value, begin: Callable[[], Leave]) -> Builtin:
    """`function` inside a manager, which `begin` enters."""
    if not is_callable(function):
        raise type_error("'{}' object is not callable", function)

    def run(*args: Value, **kwargs: Value) -> Value:
        leave = begin()
        try:
            found = call(function, args, None, kwargs)
        except ProgramError as error:
            if leave(error):
                return None
            raise
        leave(None)
        return found

    return Builtin(getattr(function, "name", "function"), run)


def _as_decorator(manager: Value, function: Value, /) -> Builtin:
    """`__call__` of classes that derive from ContextDecorator."""

    def begin() -> Leave:
        leave = enter(manager, state.origin)[1]
        assert leave is not None
        return leave

    return _decorated(function, begin)


class Managed(_Manager):
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

        def begin() -> Leave:
            manager = Managed(*self.again)
            manager.enter()
            return manager.leave

        return _decorated(function, begin)

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


class Null(_Manager):
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


class Suppress(_Manager):
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


class ExitStack(_Manager):
    """Managers and functions that are left and called when the block ends, the latest first."""

    __slots__ = ("__weakref__", "leaves")

    SCRIPT_NAME = "ExitStack"

    def __init__(self) -> None:
        self.leaves: list[Leave] = []

    def enter(self) -> ExitStack:
        """The stack itself."""
        return self

    def leave(self, error: ProgramError | None) -> bool:
        """Leave all managers; whether one of them swallows the error."""
        current = error
        while self.leaves:
            try:
                if self.leaves.pop()(current):
                    current = None
            except ProgramError as raised:
                current = raised
        if current is not None and current is not error:
            raise current
        return error is not None and current is None

    def enter_context(self, cm: Value) -> Value:
        """Enter a manager; what it gives."""
        value, leave = enter(cm, state.origin)
        self._add(leave or (lambda error: bool(cm.exit())))
        return value

    def callback(self, callback: Value, /, *args: Value, **kwds: Value) -> Value:
        """Call a function when the block ends; the function."""

        def run(error: ProgramError | None) -> bool:
            call(callback, args, state.origin, kwds)
            return False

        self._add(run)
        return callback

    def close(self) -> None:
        """Leave all managers now."""
        self.leave(None)

    def _add(self, leave: Leave) -> None:
        limits.check_list(len(self.leaves) + 1)
        self.leaves.append(leave)

    SCRIPT_METHODS = {
        **_Manager.SCRIPT_METHODS,
        **{method.__name__: Routine(method, method.__name__, hide_first=True) for method in (enter_context, callback, close)},
    }


class RedirectStdout(_Manager):
    """`redirect_stdout(target)`: within the block, what is printed goes to the `write` of the target."""

    __slots__ = ("__weakref__", "before", "target")

    SCRIPT_NAME = "redirect_stdout"

    def __init__(self, new_target: Value) -> None:
        self.target = new_target
        self.before: list[Callable[[str], None]] = []

    def enter(self) -> Value:
        """The target, which gets what is printed from now on."""
        self.before.append(execution.write)
        execution.write = lambda text: self._write(text)
        return self.target

    def _write(self, text: str) -> None:
        # what the target itself prints is not for it
        inside, execution.write = execution.write, self.before[-1]
        try:
            if self.target is not None:
                call(provided.read_attribute(self.target, "write"), (text,), state.origin)
        finally:
            execution.write = inside

    def exit(self) -> None:
        """Print as before the block."""
        if not self.before:
            raise ProgramError("IndexError", "pop from empty list")
        execution.write = self.before.pop()


def _contextmanager(func: Value) -> NativeMethod:
    if not is_callable(func):
        raise type_error("'{}' object is not callable", func)
    return NativeMethod(getattr(func, "name", "contextmanager"), lambda *args, **kwargs: Managed(func, args, kwargs))


MEMBERS: dict[str, Value] = {
    "contextmanager": Builtin("contextmanager", _contextmanager),
    "nullcontext": script_type(Null, "contextlib"),
    "ExitStack": script_type(ExitStack, "contextlib"),
    "redirect_stdout": script_type(RedirectStdout, "contextlib"),
    "suppress": script_type(Suppress, "contextlib"),
    "ContextDecorator": make_class(
        "ContextDecorator", "ContextDecorator", (), {"__call__": NativeMethod("__call__", _as_decorator)}, {}, {}
    ),
    "AbstractContextManager": make_class("AbstractContextManager", "AbstractContextManager", (), {}, {}, {}),
}
