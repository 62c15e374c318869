"""Values added to an array at positions that may repeat."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.kernels import Array

#: the number of values below which computing positions is not worth it
_MANY = 1 << 10


def add_at(array: Array, places: Any, values: Any) -> None:
    """`np.add.at`: many values at flat positions, for which numpy has a faster loop, and which it adds in the same order."""
    key = places if isinstance(places, tuple) else (places,)
    flat = _positions(array, key) if array.ndim > 1 and array.flags.c_contiguous and np.size(values) >= _MANY else None
    if flat is None:
        np.add.at(array, places, values)
    else:
        np.add.at(array.reshape(-1), flat.reshape(-1), np.broadcast_to(values, flat.shape).reshape(-1))


def _positions(array: Array, key: tuple[Any, ...]) -> Array | None:
    """The flat positions of an index of integers for each dimension, or of one vector and whole dimensions; None for any other."""
    vectors = [one for one in key if not (isinstance(one, slice) and one == slice(None))]
    for one in vectors:
        if not isinstance(one, np.ndarray) or one.dtype.kind not in "iu" or not one.flags.c_contiguous or not one.size:
            return None
    rank = array.ndim
    grid = len(vectors) == 1 and vectors[0].ndim == 1 and len(key) <= rank
    if not grid and len(vectors) != rank:
        return None
    made: Any = 0
    step = array.size
    for at, size in enumerate(array.shape):
        one = key[at] if at < len(key) else slice(None)
        step //= size
        places = np.arange(size) if isinstance(one, slice) else one
        if not isinstance(one, slice):
            low, high = one.min(), one.max()
            if high >= size or low < -size:
                return None
            if low < 0:
                places = np.where(one < 0, one + size, one)
        places = places * step
        made = made + (places.reshape([-1 if d == at else 1 for d in range(rank)]) if grid else places)
    return np.asarray(made)
