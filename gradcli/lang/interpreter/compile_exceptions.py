"""`try`, `raise` and `with`. An `except` clause catches errors of the program only, never limits or faults of gradcli."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.tensor.state import state
from gradcli.errors import LimitError, ProgramError
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.compile_names import delete, store
from gradcli.lang.interpreter.compile_statements import block
from gradcli.lang.interpreter.compile_targets import Put, assign_to
from gradcli.lang.syntax.nodes import Expr, Handler, Name, Raise, Try, With
from gradcli.lang.values.execution import execution, locate
from gradcli.lang.values.managers import Leave, enter, value_of
from gradcli.lang.values.special_methods import Instance
from gradcli.lang.values.types import derives, derives_from_exception
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.value_classes import ExceptionType


class Handling:
    """A compiled `except` clause."""

    __slots__ = ("body", "place", "put", "type", "unbind")

    def __init__(self, node: Handler, context: Context, body: Run | None = None) -> None:
        self.type = None if node.type is None else context.expression(node.type)
        self.place = node.type
        self.put = None if node.name is None else store(node.name, context)
        # Python unbinds the name when the clause ends
        name = Name(node.source, node.start, node.end, node.name) if node.name is not None else None
        self.unbind = None if name is None else delete(name, context, quiet=True)
        self.body = block(node.body, context) if body is None else body

    def catches(self, frame: Frame, error: ProgramError) -> bool:
        """Whether the clause catches the error. Raises TypeError where it names something that is no exception type."""
        if self.type is None:
            return True
        wanted = self.type(frame)
        state.origin = self.place
        for one in wanted if isinstance(wanted, tuple) else (wanted,):
            if type(one) is UserClass and type(one.native) is ExceptionType:
                if isinstance(error.instance, Instance) and one in error.instance.cls.mro:
                    return True
                continue
            if type(one) is not ExceptionType:
                raise ProgramError("TypeError", "catching classes that do not inherit from BaseException is not allowed")
            if derives(error.type_name, one.name):
                return True
            if isinstance(error.instance, Instance) and derives_from_exception(error.instance.cls, one):
                return True
        return False

    def run(self, frame: Frame, error: ProgramError) -> Any:
        """Bind the error, run the clause, and unbind the error's name."""
        if self.put is not None:
            self.put(frame, value_of(error))
        execution.handling.append(error)
        try:
            return self.body(frame)
        except ProgramError as raised:
            note_context(raised)
            raise
        finally:
            execution.handling.pop()
            if self.unbind is not None:
                self.unbind(frame)


def try_(node: Try, context: Context) -> Run:
    """`try` with `except`, `else` and `finally`."""
    guarded = _with_handlers(node, context) if node.handlers else block(node.body, context)
    if not node.finalbody:
        return guarded
    final = block(node.finalbody, context)

    def run(frame: Frame) -> Any:
        try:
            signal = guarded(frame)
        except LimitError:
            raise  # the limits are used up, so `finally` cannot run either
        except KeyboardInterrupt:
            final(frame)
            raise  # `continue`, `break` and `return` in `finally` do not swallow an interrupt
        except ProgramError as error:
            locate(error)
            leaving = final(frame)
            if leaving is not None:
                return leaving
            raise
        leaving = final(frame)
        return signal if leaving is None else leaving

    return run


def _with_handlers(node: Try, context: Context) -> Run:
    body = block(node.body, context)
    handlers = [Handling(handler, context) for handler in node.handlers]
    orelse = block(node.orelse, context) if node.orelse else None

    def run(frame: Frame) -> Any:
        depth = execution.depth
        try:
            signal = body(frame)
        except ProgramError as error:
            execution.depth = depth
            locate(error)
            # the traceback would keep the frames of Python alive, and with them all their tensors
            error.__traceback__ = error.__context__ = None
            caught = error
            note_context(caught)
        else:
            if signal is None and orelse is not None:
                return orelse(frame)
            return signal
        for handler in handlers:
            if handler.catches(frame, caught):
                return handler.run(frame, caught)
        raise caught

    return run


def raise_(node: Raise, context: Context) -> Run:
    """`raise`, `raise error`, `raise error from cause`."""
    if node.error is None:

        def run_again(frame: Frame) -> Any:
            state.origin = node
            if not execution.handling:
                raise ProgramError("RuntimeError", "No active exception to reraise")
            raise execution.handling[-1]

        return run_again
    error = context.expression(node.error)
    cause = None if node.cause is None else context.expression(node.cause)

    def run(frame: Frame) -> Any:
        value = error(frame)
        because = None
        if cause is not None:
            because = cause(frame)
            state.origin = node
            if because is not None and not isinstance(because, ProgramError | ExceptionType | Instance | UserClass):
                raise ProgramError("TypeError", "exception causes must derive from BaseException")
        state.origin = node
        if type(value) in (ExceptionType, UserClass):
            value = value()
        raised = value.as_error() if isinstance(value, Instance) else value
        if not isinstance(raised, ProgramError):
            raise ProgramError("TypeError", "exceptions must derive from BaseException")
        if cause is not None:
            held: Any = value_of(raised)
            held.cause, held.suppresses = because() if isinstance(because, ExceptionType | UserClass) else because, True
        note_context(raised)
        raise raised

    return run


def note_context(error: ProgramError) -> None:
    """Keep the error that is being handled as the `__context__` of one that has none."""
    if not execution.handling:
        return
    raised, handled = value_of(error), value_of(execution.handling[-1])
    if raised is not handled and raised.context is None:
        raised.context = handled


def with_(node: With, context: Context) -> Run:
    """`with a, b as c: body`."""
    run = block(node.body, context)
    for place, target in reversed(node.items):
        run = _with_one(place, target, run, context)
    return run


def _with_one(place: Expr, target: Expr | None, body: Run, context: Context) -> Run:
    manager_run = context.expression(place)
    put = None if target is None else assign_to(target, context)

    def run(frame: Frame) -> Any:
        manager = manager_run(frame)
        state.origin = place
        value, left = enter(manager, place)
        if left is not None:
            return _until_left(left, put, value, body, frame)
        try:
            if put is not None:
                put(frame, value)
            return body(frame)
        except ProgramError as error:
            locate(error)
            raise
        finally:
            manager.exit()

    return run


def entered(place: Expr, target: Expr | None, context: Context) -> Callable[[Frame], Leave]:
    """For the block of a generator: enters a manager, and gives the function that leaves it, which says whether the error ends."""
    manager_run = context.expression(place)
    put = None if target is None else assign_to(target, context)

    def run(frame: Frame) -> Leave:
        manager = manager_run(frame)
        state.origin = place
        value, left = enter(manager, place)
        if put is not None:
            put(frame, value)
        return left or (lambda error: bool(manager.exit()))

    return run


def _until_left(leave: Leave, put: Put | None, value: Any, body: Run, frame: Frame) -> Any:
    """The block of a manager that is told how the block ended, and may swallow its error."""
    depth = execution.depth
    try:
        if put is not None:
            put(frame, value)
        signal = body(frame)
    except ProgramError as error:
        locate(error)
        execution.depth = depth
        if leave(error):
            return None
        raise
    leave(None)
    return signal
