"""Entering and leaving context managers: those of the program's classes, and those that are built in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling.type_errors import type_error
from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError
from gradcli.lang.values.special_methods import Instance, special, truth
from gradcli.lang.values.types import type_of

#: leaves a manager after an error or without one; whether the error ends there
Leave = Callable[[ProgramError | None], bool]


def value_of(error: ProgramError) -> Any:
    """What programs see of an error: the instance that was raised, if its class is one of theirs."""
    return error if error.instance is None else error.instance


def enter(manager: Any, place: Any) -> tuple[Any, Leave | None]:
    """Enter a manager: the value for `as`, and what leaves it, None for one that only has `exit()`. Raises TypeError for other values."""
    if not isinstance(manager, Instance):
        if not hasattr(type(manager), "enter"):
            raise type_error("'{}' object does not support the context manager protocol", manager)
        return manager.enter(), manager.leave if hasattr(type(manager), "leave") else None
    begin, leave = special(manager, "__enter__"), special(manager, "__exit__")
    if begin is None or leave is None:
        missed = " (missed __exit__ method)" if begin is not None else ""
        raise type_error(f"'{{}}' object does not support the context manager protocol{missed}", manager)

    def left(error: ProgramError | None) -> bool:
        if error is None:
            leave(None, None, None)
            return False
        state.origin = place
        caught = value_of(error)
        return truth(leave(type_of(caught), caught, None))

    return begin(), left
