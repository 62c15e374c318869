"""Central differences: derivatives from values of a function at two points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import TypeVar

import numpy as np

from gradcli.core.kernels import Array

Value = TypeVar("Value")


def along(
    array: Array, where: tuple[int, ...] | EllipsisType, evaluate: Callable[[], Value], direction: float | Array = 1
) -> Callable[[float], Value]:
    """What `evaluate` returns, as a function of a distance: `array[where]` is moved by distance * direction meanwhile.

    `evaluate` reads the array and returns copies: what shares memory with the array or is computed later would not see the move.
    """
    before = np.array(array[where])

    def at(distance: float) -> Value:
        array[where] = before + distance * direction
        try:
            return evaluate()
        finally:
            array[where] = before

    return at


def central(outputs: Callable[[float], Sequence[Array]], step: float) -> list[Array]:
    """For each output (f(step) - f(-step)) / (2 step)."""
    low, high = outputs(-step), outputs(step)
    return [(b - a) / (2 * step) for a, b in zip(low, high, strict=True)]


def jacobians(array: Array, evaluate: Callable[[], Sequence[Array]], step: float) -> list[Array]:
    """For each output of `evaluate` its transposed Jacobian, of shape (elements of the array, elements of the output).

    The list is empty for an array without elements. The array is moved element by element, see `along`.
    """
    rows = [[slope.reshape(-1) for slope in central(along(array, at, evaluate), step)] for at in np.ndindex(array.shape)]
    return [np.stack(column) for column in zip(*rows, strict=True)]
