"""Elements added, multiplied or compared into places of an array that may occur several times."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.kernels import Array
from gradcli.core.kernels.scattering import add_at
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType

Places = tuple[Any, ...]
#: additions that take as long as one turn of `in_turn`
_TURN = 4000.0


def _combine(made: Array, places: Places, values: Any, how: Any) -> None:
    if how is np.add:
        add_at(made, places, values)
    else:
        how.at(made, places, values)


def combined_at(made: Array, places: Places, values: Any, how: Any = np.add) -> Array:
    """`made` with values added at the places, or combined by the ufunc `how`; numbers of half precision are rounded once."""
    wide = made.astype(np.float32) if made.dtype == np.float16 else made
    _combine(wide, places, values, how)
    return wide.astype(made.dtype, copy=False)


def in_turn(made: Array, places: Places, values: Any, combine: Callable[[Array, Array], Array]) -> None:
    """Write `combine(element, value)` to the places in place, the values for one place one after the other."""
    at = np.arange(made.size).reshape(made.shape)[places]
    values = np.broadcast_to(values, at.shape).ravel()
    at = at.ravel()
    order = np.argsort(at, kind="stable")
    begins = np.flatnonzero(np.diff(at[order], prepend=-1))
    turns = np.empty_like(at)
    turns[order] = np.arange(at.size) - np.repeat(begins, np.diff(begins, append=at.size))
    limits.check_work(_TURN * (int(turns.max(initial=0)) + 1))
    for chosen in np.split(np.argsort(turns, kind="stable"), np.cumsum(np.bincount(turns))[:-1]):
        made.flat[at[chosen]] = combine(made.flat[at[chosen]], values[chosen])


def combined_in_steps(made: Array, places: Places, values: Any, how: Any = np.add) -> Array:
    """As `combined_at`, but in place, and each result is rounded to the dtype of the array."""
    _combine(made, places, values, how)
    return made


def added_in_half(shape: tuple[int, ...], places: Array, values: Array, dtype: DType) -> Array:
    """Zeros of half precision, to which values are added at places of the flat array, one after the other, with a rounding of each sum."""
    combine = combined_in_bfloat16 if dtype is dtypes.bfloat16 else combined_in_steps
    return combine(np.zeros(math.prod(shape), dtype.np), (places.ravel(),), values.ravel()).reshape(shape)


def combined_in_bfloat16(made: Array, places: Places, values: Any, how: Any = np.add) -> Array:
    """As `combined_in_steps`, for arrays of bfloat16 numbers."""
    in_turn(made, places, values, lambda old, new: dtypes.round_bfloat16(how(old, new)))
    return made
