"""Errors of a session's methods get repairs: what to type instead."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from gradcli.errors import LanguageError, ProgramError
from gradcli.lang.interpreter.interpreter import Interpreter


class HasInterpreter(Protocol):
    """What runs programs with the names of an interpreter."""

    _interpreter: Interpreter


_Owner = TypeVar("_Owner", bound=HasInterpreter)
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def repairing(method: Callable[Concatenate[_Owner, _Parameters], _Result]) -> Callable[Concatenate[_Owner, _Parameters], _Result]:
    """`method`, whose errors about expressions get repairs."""

    @wraps(method)
    def run(self: _Owner, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            return method(self, *args, **kwargs)
        except (ProgramError, LanguageError) as error:
            if not error.repairs:
                from gradcli.session import slips  # most expressions are right

                error.repairs = slips.repairs(error, self._interpreter.variables)
            raise

    return run
