"""Computations on numpy arrays, in the order of operations that PyTorch uses. They know neither tensors nor gradients."""

from collections.abc import Sequence
from typing import Any

import numpy as np

#: an array of any shape and dtype
Array = np.ndarray[Any, Any]
#: one axis, several, or all for None
Axes = int | Sequence[int] | None


def broadcasts_to(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether an array of a shape can be repeated to the shape `wanted`, or one of `wanted` summed to it."""
    lead = len(wanted) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, wanted[lead:], strict=True))


def half_to_single(x: Array) -> Array:
    """The array in float32 where it has float16, in which PyTorch computes half precision; else the array itself."""
    return x.astype(np.float32) if x.dtype == np.float16 else x
