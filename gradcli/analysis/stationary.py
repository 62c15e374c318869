"""What kind of point a minimisation has come to: small steps in several directions tell whether the value falls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor

#: lengths of steps, as parts of the largest element of the point, or of 1 where that is larger
_LENGTHS = (1e-2, 1e-3, 1e-4)
#: the rounding of a value, in units of the last place
_ROUNDING = 32
#: in more dimensions than this there are no second derivatives, and only so many directions are tried
_MOST = 32
#: how far away other starts are, in the same parts
_AWAY = (0.1, 0.5, 1.0)


#: what a point is, "" for a minimum; and the direction in which the value falls most, None at a minimum
Kind = tuple[str, Array | None]


class Point:
    """The variables where they are, as one vector, and the value as a function of it."""

    def __init__(self, evaluate: Callable[[], Tensor], variables: Sequence[Tensor]) -> None:
        self._evaluate = evaluate
        self._variables = variables
        self.start = self._flat()
        self.size = max(1.0, float(np.abs(self.start).max(initial=0)))
        self._eps = float(np.finfo(variables[0].dtype.np).eps)

    def _flat(self) -> Array:
        return np.concatenate([np.asarray(variable.array, np.float64).reshape(-1) for variable in self._variables])

    def move(self, to: Array) -> None:
        """Put the variables to `to`."""
        at = 0
        for variable in self._variables:
            array = variable.array
            array[...] = to[at : at + array.size].reshape(array.shape)
            at += array.size

    def value(self, to: Array) -> float:
        """The value at `to`."""
        self.move(to)
        with recording(False):
            return float(self._evaluate().array.reshape(-1)[0])

    def kind(self, slope: float, hessian: Array | None) -> Kind:
        """What kind of point it is. A fall is what the norm `slope` of the gradient does not explain.

        `hessian` has the second derivatives; None where there are none. The variables end where they were.
        """
        try:
            here = self.value(self.start)
            if not math.isfinite(here) or here != self.value(self.start):
                return "", None  # the value changes by itself
            sides = [[self._fall(here, way, slope) for way in (one, -one)] for one in self.directions(hessian)]
        finally:
            self.move(self.start)
        if not any(depth > 0 for pair in sides for depth, _ in pair):
            return "", None
        if all(depth > 0 for pair in sides for depth, _ in pair):
            name = "a maximum"
        elif self.start.size > 1 and any(pair[0][0] > 0 and pair[1][0] > 0 for pair in sides):
            name = "a saddle point"
        else:
            name = "no minimum"
        # the deepest sides together: from there no direction is at rest
        way = sum((max(pair, key=lambda fall: fall[0])[1] for pair in sides if max(pair[0][0], pair[1][0]) > 0), np.zeros(self.start.size))
        return name, way / (np.linalg.norm(way) or 1.0)

    def _fall(self, here: float, way: Array, slope: float) -> tuple[float, Array]:
        """How far the value falls in a direction, 0 where it does not; and the direction."""
        for part in _LENGTHS:
            length = part * self.size
            depths = [here - self.value(self.start + length / 2**k * way) for k in range(2)]
            allowed = slope * length + _ROUNDING * self._eps * max(abs(here), abs(here - depths[0]))
            # below half the step it has fallen too, but not as far: it falls here, and not behind a hill
            if depths[0] > allowed and 0 < depths[1] < depths[0]:
                return depths[0] / length, way
        return 0.0, way

    def directions(self, hessian: Array | None) -> list[Array]:
        """Directions of length 1: those of the curvatures, else the axes and what lies between two of them."""
        count = self.start.size
        if hessian is not None and np.isfinite(hessian).all():
            return list(np.linalg.eigh((hessian + hessian.T) / 2)[1].T)
        if count > _MOST:
            waves = np.cos(np.outer(np.arange(1, _MOST + 1), np.arange(1, count + 1)))
            return list(waves / np.linalg.norm(waves, axis=1, keepdims=True))
        axes = np.eye(count)
        between = [(axes[i] + sign * axes[i + 1]) / math.sqrt(2) for i in range(count - 1) for sign in (1, -1)]
        return [*axes, *between]

    def other_starts(self, way: Array) -> list[Array]:
        """Points in the direction `way`, near and far, of numbers with few digits."""
        return [np.array([float(f"{one:.6g}") for one in self.start + part * self.size * way]) for part in _AWAY]


def has_curvatures(variables: Sequence[Tensor]) -> bool:
    """Whether the variables are few enough for second derivatives."""
    return sum(variable.array.size for variable in variables) <= _MOST
