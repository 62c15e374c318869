"""What programs plot, as arrays of float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.object_operations import collect, to_number

Numbers = np.ndarray[Any, np.dtype[Any]]

_REQUIRES_GRAD = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
#: sequences nest this deep: rows of pixels with colours
_DEEPEST = 3


def numbers(value: Value, depth: int = 0) -> Numbers:
    """The numbers in a tensor, an array, or an iterable of these. Raises TypeError, ValueError."""
    if type(value) is Tensor:
        if value.requires_grad:
            raise ProgramError("RuntimeError", _REQUIRES_GRAD, code=Code.NUMPY_OF_REQUIRES_GRAD)
        return _real(value.array)
    held = getattr(value, "array", None)
    if isinstance(held, np.ndarray | np.generic):
        return _real(held)
    if type(value) in (int, float, bool):
        return np.asarray(value, np.float64)
    if depth >= _DEEPEST or type(value) is str:
        return np.asarray(to_number(value), np.float64)
    try:
        parts = [numbers(item, depth + 1) for item in collect(value)]
    except ProgramError as error:
        if depth or error.code is not Code.NOT_ITERABLE:
            raise
        return np.asarray(to_number(value), np.float64)
    if any(part.shape != parts[0].shape for part in parts):
        raise ProgramError("ValueError", "setting an array element with a sequence. The requested array has an inhomogeneous shape")
    return np.stack(parts) if parts else np.zeros(0)


def _real(array: np.ndarray[Any, Any] | np.generic) -> Numbers:
    if array.dtype.kind == "c":
        raise ProgramError("TypeError", "complex numbers are not plotted in gradcli")
    return np.array(array, np.float64)


def flat(value: Value) -> Numbers:
    """The numbers in one row."""
    return numbers(value).reshape(-1)


def pair(first: Value, second: Value) -> tuple[Numbers, Numbers]:
    """The places along both axes. Raises ValueError for different lengths."""
    xs, ys = flat(first), flat(second)
    if len(xs) != len(ys):
        text = f"x and y must have same first dimension, but have shapes ({len(xs)},) and ({len(ys)},)"
        raise ProgramError("ValueError", text)
    return xs, ys
