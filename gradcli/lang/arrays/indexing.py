"""Subscripts of numpy's arrays: reading, assignment, iteration, length, membership."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.arrays.conversion import is_sequence, operand, plain, tensor_array
from gradcli.lang.arrays.running import broadcast_size, check_size, run, type_error
from gradcli.lang.arrays.values import NumpyArray, NumpyScalar, wrap
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.object_operations import index_of, to_number
from gradcli.lang.values.value_classes import IteratorValue

_WRONG_INDEX = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"


def _item(value: Value) -> Any:
    """One item of an index, for numpy. Raises IndexError."""
    kind = type(value)
    if value is None or value is Ellipsis or kind is int or kind is bool:
        return value
    if kind is slice:
        return slice(*[None if one is None else index_of(one) for one in (value.start, value.stop, value.step)])
    if kind is NumpyArray:
        return value.array
    if kind is Tensor:
        given = tensor_array(value)
        return given if given.ndim else given[()]
    if isinstance(value, NumpyScalar):
        return value.generic()
    if is_sequence(value):
        found = run(np.array, plain(value))
        return found if found.size else found.astype(np.intp)
    raise ProgramError("IndexError", _WRONG_INDEX)


def host_index(array: Array, index: Value) -> Any:
    """The index as numpy takes it; what it selects is within the limits. Raises IndexError, LimitError."""
    if type(index) is int:
        return index
    found = tuple([_item(one) for one in index]) if isinstance(index, tuple) else _item(index)
    given = [one for one in (found if isinstance(found, tuple) else (found,)) if isinstance(one, np.ndarray)]
    if given:
        picked = [np.empty(int(np.count_nonzero(one)), bool) if one.dtype.kind == "b" else one for one in given]
        taken = sum(one.ndim if one.dtype.kind == "b" else 1 for one in given)
        rest = sorted(array.shape)[taken:] if taken <= array.ndim else []
        check_size(broadcast_size(picked) * math.prod(rest), array.itemsize)
    return found


def getitem(value: Value, index: Value) -> Value:
    """`array[index]`: a scalar, a view, or a copy."""
    return wrap(run(operator.getitem, value.array, host_index(value.array, index)))


def setitem(value: Value, index: Value, new: Value) -> None:
    """`array[index] = new`."""
    if type(new) is Tensor:
        new = to_number(new) if new.array.size == 1 else NumpyArray(tensor_array(new))
    if isinstance(new, str | dict | set | frozenset):
        raise type_error("only numbers and booleans can be assigned to elements of numpy's arrays in gradcli")
    given = plain(new) if is_sequence(new) else None if new is None else operand(new)
    run(operator.setitem, value.array, host_index(value.array, index), given)


def delitem(value: Value, index: Value) -> None:
    """`del array[index]`, which numpy refuses."""
    raise ProgramError("ValueError", "cannot delete array elements")


def length(value: Value) -> int:
    """`len(array)`. Raises TypeError for an array without dimensions."""
    if not value.array.ndim:
        raise type_error("len() of unsized object")
    return int(value.array.shape[0])


def iterate(value: Value) -> IteratorValue:
    """An iterator over the first axis. Raises TypeError for an array without dimensions."""
    if not value.array.ndim:
        raise type_error("iteration over a 0-d array")
    return IteratorValue("iterator", _rows(value.array))


def _rows(array: Array) -> Iterator[Value]:
    for at in range(len(array)):
        yield wrap(array[at])


def contains(value: Value, item: Value) -> bool:
    """`item in array`: whether any element is equal."""
    other = operand(item)
    check_size(broadcast_size((value.array, other)), 1)
    return bool(run(lambda: bool((value.array == other).any())))


def scalar_item(value: Value, index: Value) -> Value:
    """`scalar[index]`, which only `()` and `...` may do."""
    if index is Ellipsis or (type(index) is tuple and not index):
        return value if index is not Ellipsis else NumpyArray(np.asarray(value.generic()))
    raise ProgramError("IndexError", "invalid index to scalar variable.")
