"""Fixtures for tests of Python's own types: an interpreter's side for plain values, and outcomes to compare with CPython's."""

from __future__ import annotations

import pytest

from gradcli import limits
from gradcli.errors import LimitError, ProgramError
from gradcli.lang.python import comparing, reprs


class HostOps:
    """The interpreter's side for plain Python values."""

    def equal(self, a, b):
        return a == b

    def less(self, a, b):
        try:
            return a < b
        except TypeError as error:
            raise ProgramError("TypeError", str(error)) from None

    def greater(self, a, b):
        try:
            return a > b
        except TypeError as error:
            raise ProgramError("TypeError", str(error)) from None

    def truth(self, value):
        return bool(value)

    def hashable(self, value):
        comparing.check_hashable(value)

    def iterate(self, value):
        if isinstance(value, Opaque) or not hasattr(value, "__iter__"):
            raise ProgramError("TypeError", f"'{self.type_name(value)}' object is not iterable")
        if isinstance(value, set):
            return reprs.iterate_set(value, self.repr_of)
        return iter(value)

    def call(self, function, args, kwargs):
        if not callable(function):
            raise ProgramError("TypeError", f"'{type(function).__name__}' object is not callable")
        return function(*args, **kwargs)

    def repr_of(self, value):
        return f"<{value.label}>" if isinstance(value, Opaque) else reprs.repr_host(value, self.repr_of)

    def str_of(self, value):
        return f"str<{value.label}>" if isinstance(value, Opaque) else reprs.str_host(value, self.repr_of)

    def format_of(self, value, spec):
        return f"format<{value.label}:{spec}>"

    def to_number(self, value):
        if isinstance(value, Opaque) and value.number is not None:
            return value.number
        raise ProgramError("TypeError", f"must be real number, not {self.type_name(value)}")

    to_index = to_number

    def type_name(self, value):
        return "Tensor" if isinstance(value, Opaque) else type(value).__name__


class Opaque:
    """A value of the interpreter, like a tensor of several elements: it has no truth value, so that comparing it fails."""

    def __init__(self, label, number=None):
        self.label = label
        self.number = number

    def __eq__(self, other):
        raise ProgramError("RuntimeError", "Boolean value of Tensor with more than one value is ambiguous")

    __hash__ = object.__hash__


def outcome(function, *args, **kwargs):
    """The result with its type, or the error's type and text."""
    try:
        result = function(*args, **kwargs)
    except ProgramError as error:
        return error.type_name, error.message
    except LimitError as error:
        return "LimitError", error.limit
    except RecursionError:
        raise
    except Exception as error:
        return type(error).__name__, str(error)
    return type(result), repr(result)


@pytest.fixture(scope="session", name="ops")
def _ops():
    return HostOps()


@pytest.fixture(scope="session", name="opaque")
def _opaque():
    return Opaque


@pytest.fixture(scope="session", name="outcome")
def _outcome():
    return outcome


@pytest.fixture
def bounded():
    """Puts bounds in force for one test."""
    before = limits.current
    yield lambda **values: limits.use(limits.default().changed(**values))
    limits.use(before)
