"""Calling any value, and host errors of wrong arguments turned into the program's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcli.core.graph import state
from gradcli.core.mode import GradMode
from gradcli.errors import ProgramError
from gradcli.lang.functions import NO_KEYWORDS, UserFunction, invoke


def call(callee: Any, args: tuple[Any, ...], place: Any, kwargs: Mapping[str, Any] = NO_KEYWORDS) -> Any:
    """Call a value; `place` is the node of the call. Raises "'int' object is not callable"."""
    if type(callee) is UserFunction:
        return invoke(callee, args, kwargs, place)
    state.origin = place
    if callable(callee):
        return callee(*args, **kwargs)
    if type(callee) is GradMode and len(args) == 1 and not kwargs:
        return decorate(callee, args[0])
    from gradcli.lang.types import type_name

    raise ProgramError("TypeError", f"'{type_name(callee)}' object is not callable")
