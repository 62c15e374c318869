"""Memory with the conjugates of other memory.

PyTorch's conjugate is a view whose numbers are conjugated when they are read. Here they lie in memory of their own, of the size of the
other one, and what is written to either is written to both: each follows the other.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.memory_format import address, followers, owner


class _Pair:
    """Memory and that of its conjugates, both as complex numbers in a row."""

    __slots__ = ("conjugates", "keys", "memory", "plain")

    def __init__(self, memory: Array, plain: Array, conjugates: Array) -> None:
        #: the array that owns the memory, and its numbers, which live as long as their conjugates do
        self.memory = memory
        self.plain = plain
        self.conjugates = weakref.ref(conjugates, self._forget)
        self.keys = id(memory), id(conjugates)
        for key in self.keys:
            _pairs[key] = self
            followers[key] = _follow

    def _forget(self, _: Any) -> None:
        for key in self.keys:
            del _pairs[key], followers[key]

    def rows(self, own: Array) -> tuple[Array, Array]:
        """The numbers in the memory that `own` owns, and those in the other."""
        conjugates = self.conjugates()
        assert conjugates is not None
        return (self.plain, conjugates) if own is self.memory else (conjugates, self.plain)


#: the pairs of arrays, by the identity of each of the two that own memory
_pairs: dict[int, _Pair] = {}


def conjugated(array: Array) -> Array:
    """The conjugates of complex numbers, or of their parts, in the other memory. Raises TypeError if that has another dtype."""
    array = np.asarray(array)
    if not array.size:
        return array
    own = owner(array)
    pair = _pairs.get(id(own))
    dtype = array.dtype if array.dtype.kind == "c" else np.dtype(f"c{2 * array.itemsize}")
    if pair is None:
        row = _in_a_row(own, dtype)
        conjugates = np.empty(row.shape, dtype)  # filled where they are asked for
        pair = _Pair(own, row, conjugates)
    here, other = pair.rows(own)
    if here.dtype is not dtype:
        raise TypeError(f"conjugates in {dtype} of memory that has others in {here.dtype} are not part of gradcli")
    if own is pair.memory:
        _follow(array)
    return _counterpart(array, here, other)


def _in_a_row(own: Array, dtype: np.dtype[Any]) -> Array:
    """The memory that an array owns as complex numbers."""
    last = sum((n - 1) * stride for n, stride in zip(own.shape, own.strides, strict=True))
    count = (last // own.itemsize + 1) * own.itemsize // dtype.itemsize * dtype.itemsize // own.itemsize
    return np.lib.stride_tricks.as_strided(own, (count,), (own.itemsize,), writeable=own.flags.writeable).view(dtype)


def _counterpart(array: Array, here: Array, other: Array) -> Array:
    made: Array = np.ndarray(array.shape, array.dtype, other, address(array) - address(here), array.strides)
    made.flags.writeable = array.flags.writeable
    return made


def _follow(array: Array) -> None:
    """Write what an array has now to the other memory."""
    own = owner(array)
    pair = _pairs[id(own)]
    here, other = pair.rows(own)
    if not array.size:
        return
    if array.dtype is here.dtype:
        _counterpart(array, here, other)[...] = np.conjugate(array)
    elif own is pair.memory:  # parts of its numbers, or others
        np.conjugate(here, out=other)
    else:  # the only views of conjugates are those of the imaginary parts
        _counterpart(array, here, other)[...] = -array


def fill(array: Array) -> None:
    """Fill all memory of conjugates that an array lies in, for a view of elements that have not been asked for."""
    own = owner(array)
    pair = _pairs.get(id(own))
    if pair is not None and own is not pair.memory:
        np.conjugate(pair.plain, out=own)


def plain(array: Array) -> Array:
    """Where PyTorch's view of the numbers lies: for an array in memory of conjugates, the same place in the other memory."""
    own = owner(array)
    pair = _pairs.get(id(own))
    return array if pair is None or own is pair.memory else _counterpart(array, *pair.rows(own))
