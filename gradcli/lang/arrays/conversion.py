"""Values as operands of numpy: arrays, nested lists, tensors, numbers; and arguments of functions such as axes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.autograd import tensor_state
from gradcli.core.calling import warnings
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import MOST_DIMENSIONS
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted, shown
from gradcli.errors import ProgramError
from gradcli.lang.arrays.running import check_size, refused, run, type_error
from gradcli.lang.arrays.values import KINDS, NumpyArray, NumpyDType, NumpyScalar
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import types
from gradcli.lang.values.execution import check_time
from gradcli.lang.values.object_operations import collect, index_of
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.value_classes import IteratorValue, TypeValue

ARRAY_COPY = (
    "__array__ implementation doesn't accept a copy keyword, so passing copy=False failed. __array__ must implement 'dtype' and "
    "'copy' keyword arguments. To learn more, see the migration guide "
    "https://numpy.org/devdocs/numpy_2_0_migration_guide.html#adapting-to-changes-in-the-copy-keyword"
)


def tensor_array(tensor: Tensor) -> Array:
    """The array of a tensor, whose memory is shared. Raises RuntimeError if it requires grad."""
    return np.asarray(tensor_state.to_numpy(tensor))


def number(value: Value) -> Any:
    """What numpy computes with for a number. Raises OverflowError for integers that 64 bits cannot hold."""
    if type(value) is int and not -(1 << 63) <= value < 1 << 64:
        raise ProgramError("OverflowError", "Python int too large to convert to C long")
    return value


def operand(value: Value) -> Any:
    """An array, scalar or number for numpy; lists become arrays. Raises TypeError for other values."""
    kind = type(value)
    if kind is NumpyArray:
        return value.array
    if kind is float or kind is int or kind is bool:
        return number(value)
    if isinstance(value, NumpyScalar):
        return value.generic()
    if kind is Tensor:
        return tensor_array(value)
    if is_sequence(value):
        return array_of(value)
    raise unsupported(value)


def unsupported(value: Value) -> ProgramError:
    """The error for a value that is no number."""
    if value is None or isinstance(value, str | dict | set | frozenset):
        return refused("arrays of strings" if isinstance(value, str) else "arrays of objects")
    return type_error(f"a value of the type {type_name(value)} cannot be made into an array of numbers")


def is_sequence(value: Value) -> bool:
    """Whether numpy takes the value for a sequence of elements."""
    return isinstance(value, list | tuple | range)


def array_of(value: Value, dtype: np.dtype[Any] | None = None, copy: bool = True) -> Array:
    """`np.array(value, dtype)`. With `copy` False the array or the memory of a tensor itself, where its dtype stays.

    Raises ValueError for lists of different lengths, TypeError for what is not a number.
    """
    kind = type(value)
    if kind is NumpyArray or kind is Tensor:
        if copy and kind is Tensor:
            warnings.emit(ARRAY_COPY, "DeprecationWarning")
        given = value.array if kind is NumpyArray else tensor_array(value)
        if not copy and (dtype is None or dtype == given.dtype):
            return given
        check_size(given.size, (dtype or given.dtype).itemsize)
        return run(np.array, given, dtype=dtype)  # type: ignore[no-any-return]
    made = run(np.array, plain(value), dtype=dtype)
    if made.dtype.kind not in KINDS:
        if made.dtype.kind == "O" and is_sequence(value):
            raise ProgramError("OverflowError", "Python int too large to convert to C long")
        raise unsupported(value)
    return made  # type: ignore[no-any-return]


def plain(value: Value) -> Any:
    """Nested lists of numbers and arrays for `np.array`. Raises TypeError for other items, LimitError."""
    counted = [0]
    return _plain(value, 0, counted)


def _plain(value: Value, depth: int, counted: list[int]) -> Any:
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        return number(value)
    if is_sequence(value):
        if depth >= MOST_DIMENSIONS:
            raise ProgramError("ValueError", f"setting an array element with a sequence: more than {MOST_DIMENSIONS} dimensions")
        counted[0] += 1 + len(value)
        check_time()
        limits.check_elements(counted[0], 8)
        if kind is not range and {int, float} >= set(map(type, value)):
            return [number(item) for item in value] if int in map(type, value) else list(value)
        return [_plain(item, depth + 1, counted) for item in value]
    if kind is NumpyArray or kind is Tensor:
        array = value.array if kind is NumpyArray else tensor_array(value)
        counted[0] += array.size
        limits.check_elements(counted[0], 8)
        return array if array.ndim else array[()]
    if isinstance(value, NumpyScalar):
        return value.generic()
    raise unsupported(value)


# --- dtypes ---

_TYPES = {types.FLOAT: "float64", types.INT: "int64", types.BOOL: "bool"}


def as_dtype(value: Value) -> np.dtype[Any] | None:
    """The dtype that an argument means; None for None. Raises TypeError."""
    if value is None:
        return None
    if type(value) is NumpyDType:
        return value.dtype
    host = getattr(getattr(value, "instances", None), "HOST", None)
    if host is not None:
        return np.dtype(host)  # type: ignore[no-any-return]
    if type(value) is str:
        return checked_dtype(_named_dtype(value))
    if type(value) is TypeValue and value in _TYPES:
        return np.dtype(_TYPES[value])
    text = shown(value) if isinstance(value, DType | int | float) else f"a value of the type {type_name(value)}"
    raise type_error(f"Cannot interpret '{text}' as a data type")


def _named_dtype(name: str) -> np.dtype[Any]:
    if len(name) > 20:
        raise type_error(f"data type {name[:20]!r} not understood")
    return run(np.dtype, name)  # type: ignore[no-any-return]


def checked_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype, if arrays may have it. Raises TypeError."""
    if dtype.kind not in KINDS or dtype.itemsize > 8 or not dtype.isnative:
        raise refused(f"arrays of dtype {dtype.name}")
    return dtype


# --- other arguments ---


def as_index(value: Value) -> int:
    """An integer argument. Raises TypeError."""
    return index_of(value)


def as_decimals(value: Value) -> int:
    """A number of decimals. numpy multiplies by ten so often, and no float has more."""
    return max(-400, min(400, as_index(value)))


def as_shape(value: Value) -> int | tuple[int, ...]:
    """A shape: an integer or a sequence of them. Raises TypeError."""
    if isinstance(value, NumpyArray):
        value = value.array.tolist()
    if isinstance(value, list | tuple | range):
        return tuple([as_index(one) for one in value])
    if isinstance(value, float) and not isinstance(value, NumpyScalar):
        raise type_error(f"expected a sequence of integers or a single integer, got '{formatted(value)}'")
    return as_index(value)


def as_axis(value: Value) -> int | tuple[int, ...] | None:
    """An axis, several, or None."""
    return None if value is None else as_shape(value)


def as_number(value: Value) -> Any:
    """A number, None, or an array where numpy broadcasts one."""
    return None if value is None else operand(value)


def as_bool(value: Value) -> bool:
    """A flag."""
    if type(value) is bool:
        return value
    return bool(operand(value)) if not isinstance(value, NumpyArray) else bool(run(bool, value.array))


def as_arrays(value: Value) -> list[Any]:
    """A sequence of arrays; the first axis of an array counts as a sequence. Raises TypeError."""
    if isinstance(value, NumpyArray):
        limits.check_list(len(value.array) if value.array.ndim else 1)
        return list(value.array) if value.array.ndim else [value.array]
    items = collect(value) if type(value) in (IteratorValue, Tensor) else value
    if not is_sequence(items):
        raise type_error("arrays to concatenate must be given as a sequence of arrays")
    return [np.asarray(operand(one)) for one in items]
