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


Method = Callable[Concatenate[_Owner, _Parameters], _Result]


def repairing(*, statements: bool = False) -> Callable[[Method[_Owner, _Parameters, _Result]], Method[_Owner, _Parameters, _Result]]:
    """A decorator of methods, whose errors about expressions, or about inputs with `statements`, get repairs."""

    def decorate(method: Method[_Owner, _Parameters, _Result]) -> Method[_Owner, _Parameters, _Result]:
        @wraps(method)
        def run(self: _Owner, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            try:
                return method(self, *args, **kwargs)
            except (ProgramError, LanguageError) as error:
                if not error.repairs:
                    from gradcli.session import slips  # most expressions are right

                    error.repairs = slips.repairs(error, self._interpreter.variables, statements=statements)
                raise

        return run

    return decorate
