"""Routines: functions of the core with Python's calling convention, and Python's errors for wrong calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradcli.errors import ProgramError, of_python

#: what Python raises for arguments of a wrong type or value, with messages that PyTorch's users see, too
_HOST_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


def from_host(error: Exception) -> ProgramError:
    """The ProgramError for an error that Python raised inside a function; PyTorch writes these in Python, too."""
    text = str(error)
    if "core tensors" in text:
        return ProgramError("TypeError", "a tensor stands where a number is wanted")
    return of_python(error, text)


class Routine:
    """A function of the core that is called as a function written in Python, with Python's errors for wrong calls."""

    __slots__ = ("name", "function", "positional", "required", "most", "keyword_only", "variadic", "keywords", "shown_self")

    def __init__(self, function: Callable[..., Any], name: str = "", hide_first: bool = False) -> None:
        code = function.__code__
        self.function = function
        self.name = name or function.__name__
        self.positional = code.co_varnames[: code.co_argcount]
        self.required = code.co_argcount - len(function.__defaults__ or ())
        self.keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self.variadic = bool(code.co_flags & 0x04)
        #: a call without keywords and with no more arguments than these needs no check. Where a keyword is required, Python's own error
        #: would name the function of the core.
        self.most = sys.maxsize if self.variadic else len(self.positional)
        if any(name not in (function.__kwdefaults__ or {}) for name in self.keyword_only):
            self.most = -1
        self.keywords = bool(code.co_flags & 0x08)
        #: a leading self that the caller did not write is counted in messages, as Python counts it
        self.shown_self = hide_first

    def __repr__(self) -> str:
        return f"<function {self.name}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs or not self.required <= len(args) <= self.most:
            self._check(args, kwargs)
        try:
            return self.function(*args, **kwargs)
        except _HOST_ERRORS as error:
            raise from_host(error) from error

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise Python's error where the arguments do not fit the parameters."""
        if kwargs or not self.required <= len(args) <= self.most:
            self._check(args, kwargs)

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        extra = None if self.keywords else self.keyword_only
        check_arguments(self.name, self.positional, self.required, args, kwargs, extra, self.variadic)
        lacking = [n for n in self.keyword_only if n not in kwargs and n not in (self.function.__kwdefaults__ or {})]
        if lacking:
            raise ProgramError(
                "TypeError",
                f"{self.name}() missing {len(lacking)} required keyword-only argument{'' if len(lacking) == 1 else 's'}: {listed(lacking)}",
            )


def check_arguments(
    name: str,
    names: Sequence[str],
    required: int,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    keyword_only: Sequence[str] | None = (),
    variadic: bool = False,
) -> None:
    """Python's errors for a call whose arguments do not fit the parameters; `keyword_only` None takes any keyword."""
    for key in kwargs:
        if key in names[: len(args)]:
            raise ProgramError("TypeError", f"{name}() got multiple values for argument '{key}'")
        if keyword_only is not None and key not in names and key not in keyword_only:
            raise ProgramError("TypeError", f"{name}() got an unexpected keyword argument '{key}'")
    if len(args) > len(names) and not variadic:
        most = len(names)
        takes = f"{most} positional argument{'' if most == 1 else 's'}"
        if required != most:
            takes = f"from {required} to {most} positional arguments"
        given, named = f"{len(args)}", sum(key in kwargs for key in keyword_only or ())
        if named:
            given += f" positional argument{'' if len(args) == 1 else 's'} (and {named} keyword-only argument{'' if named == 1 else 's'})"
        raise ProgramError("TypeError", f"{name}() takes {takes} but {given} {'was' if len(args) == 1 and not named else 'were'} given")
    missing = [n for n in names[len(args) : required] if n not in kwargs]
    if missing:
        raise ProgramError(
            "TypeError",
            f"{name}() missing {len(missing)} required positional argument{'' if len(missing) == 1 else 's'}: {listed(missing)}",
        )


class Constructor(Routine):
    """A class as a routine: makes instances, and reports wrong calls as Python does for its `__init__`."""

    __slots__ = ("made",)

    def __init__(self, made: type, name: str) -> None:
        super().__init__(made.__init__, f"{name}.__init__")  # type: ignore[misc]
        self.made = made

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs or not self.required <= len(args) + 1 <= self.most:
            self._check((None, *args), kwargs)  # None stands for self, which Python counts
        try:
            return self.made(*args, **kwargs)
        except _HOST_ERRORS as error:
            raise from_host(error) from error


def listed(names: list[str]) -> str:
    """`'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`: as Python lists arguments."""
    quoted = [f"'{n}'" for n in names]
    if len(quoted) <= 2:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
