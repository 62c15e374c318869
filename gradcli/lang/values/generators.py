"""Running the body of a generator: depth and steps are counted each time that it goes on, and `send`, `throw` and `close`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from gradcli.core.calling.type_errors import type_error
from gradcli.core.tensor.state import state
from gradcli.errors import GradcliError, ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.execution import execution, locate, tick, too_deep
from gradcli.lang.values.representation import str_text
from gradcli.lang.values.special_methods import Instance
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.value_classes import MISSING, ExceptionType, IteratorValue

Steps = Generator[Value, Value, Value]


def running(body: Steps, counting: bool) -> Steps:
    """The values of a body. An error that the body raises gets its place; StopIteration becomes RuntimeError, as in Python."""
    sent: Value = None
    thrown: ProgramError | None = None
    program = execution.addresses
    while True:
        if counting:
            tick()
        execution.depth += 1
        try:
            if execution.depth > execution.max_depth:
                raise too_deep()
            value = body.send(sent) if thrown is None else body.throw(thrown)
        except StopIteration as stop:
            return stop.value
        except ValueError as error:  # the generator advances itself
            raise ProgramError("ValueError", str(error)) from None
        except GradcliError as error:
            locate(error)
            if isinstance(error, ProgramError) and error.type_name == "StopIteration":
                raised = ProgramError("RuntimeError", "generator raised StopIteration", span=error.span)
                raised.cause = raised.context = error if error.instance is None else error.instance
                raise raised from None
            raise
        finally:
            execution.depth -= 1
        thrown = None
        try:
            sent = yield value
        except ProgramError as error:
            thrown = error
        except GeneratorExit:
            if execution.addresses is program:
                _abandon(body)
            raise


def _abandon(body: Steps) -> None:
    """Nothing refers to the generator any more: its `yield` raises GeneratorExit. What the body raises then is lost, as in Python."""
    place, depth = state.origin, execution.depth
    try:
        body.throw(ProgramError("GeneratorExit", "", args=()))
    except (GradcliError, StopIteration):
        pass
    finally:
        state.origin, execution.depth = place, depth


def stopped(value: Value) -> ProgramError:
    """The StopIteration of an iterator that ended; `value` is what its generator returned."""
    return ProgramError("StopIteration", "" if value is None else partial(str_text, value), args=() if value is None else (value,))


def advance(iterator: IteratorValue, default: Value = MISSING) -> Value:
    """`next(iterator, default)`. Raises StopIteration with what the generator returned."""
    try:
        return next(iterator.host)
    except StopIteration as stop:
        if default is MISSING:
            raise stopped(stop.value) from None
        return default
    except ValueError as error:  # the generator advances itself
        raise ProgramError("ValueError", str(error)) from None


def _host(iterator: Value, name: str) -> Any:
    if type(iterator) is not IteratorValue or iterator.kind != "generator" or not hasattr(iterator.host, "send"):
        raise ProgramError("AttributeError", f"'{type_name(iterator)}' object has no attribute '{name}'")
    return iterator.host


def send(iterator: Value, /, *values: Value) -> Value:
    """`generator.send(value)`: the value of the `yield` where it stands, then on to the next."""
    host = _host(iterator, "send")
    if len(values) != 1:
        raise ProgramError("TypeError", f"generator.send() takes exactly one argument ({len(values)} given)")
    try:
        return host.send(values[0])
    except StopIteration as stop:
        raise stopped(stop.value) from None
    except TypeError as error:
        raise ProgramError("TypeError", str(error)) from None


def as_error(error: Value) -> ProgramError:
    """The error that `raise error` raises. Raises TypeError for other values."""
    made = error() if type(error) in (ExceptionType, UserClass) else error
    if isinstance(made, Instance):
        made = made.as_error()
    if not isinstance(made, ProgramError):
        raise type_error("exceptions must be classes or instances deriving from BaseException, not {}", error)
    return made


def throw(iterator: Value, /, *args: Value, **kwargs: Value) -> Value:
    """`generator.throw(error)`, or of a type and its argument: the `yield` where it stands raises the error."""
    host = _host(iterator, "throw")
    if kwargs:
        raise ProgramError("TypeError", "generator.throw() takes no keyword arguments")
    if not 1 <= len(args) <= 3:
        bound = "at least 1 argument" if not args else "at most 3 arguments"
        raise ProgramError("TypeError", f"throw expected {bound}, got {len(args)}")
    error, value, _ = (*args, None, None)[:3]
    if value is not None and type(error) in (ExceptionType, UserClass):
        error = error(*value) if type(value) is tuple else error(value)
    try:
        return host.throw(as_error(error))
    except StopIteration as stop:
        raise stopped(stop.value) from None


def close(iterator: Value, /) -> None:
    """`generator.close()`: the `yield` where it stands raises GeneratorExit, so that `finally` clauses run."""
    host = _host(iterator, "close")
    frame = getattr(host, "gi_frame", None)
    if frame is None:
        return
    place = state.origin
    leaving = ProgramError("GeneratorExit", "", args=())
    try:
        if host.gi_yieldfrom is None and not _begun(host):
            host.close()
            return
        host.throw(leaving)
    except StopIteration:
        return
    except ProgramError as error:
        if error.type_name == "GeneratorExit":
            return
        raise
    finally:
        state.origin = place
    raise ProgramError("RuntimeError", "generator ignored GeneratorExit")


def _begun(host: Any) -> bool:

    return bool(host.gi_frame.f_lasti >= 0)


METHODS: dict[str, Callable[..., Value]] = {"send": send, "throw": throw, "close": close}
