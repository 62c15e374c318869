"""Calling numpy: its warnings and errors become those of the program, and its sizes are within the limits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings as program_warnings
from gradcli.core.kernels import blocks
from gradcli.errors import ProgramError, of_python

#: what numpy computes with: arrays, scalars, Python's numbers
Operand = Any

#: errors of numpy whose names Python prints with the module
_OWN_ERRORS = ("AxisError", "LinAlgError", "UFuncTypeError")
HOST_ERRORS = (TypeError, ValueError, LookupError, ArithmeticError, np.linalg.LinAlgError)


def run(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)` of numpy. Raises the program's errors; numpy's warnings are handed to the program's sink."""
    blocks.settle()  # chains that wait read arrays that a call may write
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            with np.errstate(divide="warn", over="warn", invalid="warn", under="ignore"):
                result = function(*args, **kwargs)
        except HOST_ERRORS as error:
            raise converted_error(error) from None
        finally:
            for one in found:
                program_warnings.emit(str(one.message), one.category.__name__)
    return result


def converted_error(error: Exception) -> ProgramError:
    """The program's error for one that numpy raised."""
    name = type(error).__name__
    if name in _OWN_ERRORS:
        return ProgramError(name, str(error))
    return of_python(error, str(error))


def count_of(shape: Any) -> int:
    """How many elements a shape has, or one length; 0 where a length is negative."""
    return math.prod(max(n, 0) for n in (shape if isinstance(shape, tuple) else (shape,)))


def check_size(count: float, item_size: int = 8) -> None:
    """Refuse an array of `count` elements before numpy makes it. Raises LimitError."""
    limits.check_elements(int(count), item_size)


def check_work(count: float) -> None:
    """Refuse a call of about `count` steps. Raises LimitError."""
    limits.check_work(count)


def broadcast_size(operands: Iterable[Operand]) -> int:
    """The number of elements that operands broadcast to, or 0 where they do not: numpy then raises its error."""
    sizes = [operand.shape for operand in operands if hasattr(operand, "shape")]
    if len(sizes) == 1:
        return math.prod(sizes[0])
    try:
        return math.prod(np.broadcast_shapes(*sizes))
    except ValueError:
        return 0


def type_error(text: str) -> ProgramError:
    """A TypeError of the program."""
    return ProgramError("TypeError", text)


def refused(what: str) -> ProgramError:
    """The error for what numpy has and gradcli leaves out."""
    return ProgramError("TypeError", f"{what} are not part of gradcli: numpy's arrays have numbers and booleans here")
