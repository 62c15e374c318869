"""A function of one or two variables at many points: in one evaluation where it works element by element, else point by point.

It counts as elementwise when the shape of its value is that of the points, and when at some points the value and the derivatives
are those of an evaluation for that point alone. `sum(x)` and `x / x.norm()` are not elementwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, ones_like, wrap
from gradcli.core.transforms import jacobians
from gradcli.errors import ProgramError

#: at most so many numbers for each point are drawn
MOST_CURVES = 8
#: positions among the points, from 0 to 1, at which both kinds of evaluation are compared
_COMPARED = (0.0, 0.11, 0.309, 0.5, 0.618, 0.83, 1.0)
#: errors that mean that the function has no value at a point
_NO_VALUE = ("ValueError", "ZeroDivisionError", "OverflowError", "ArithmeticError")
#: steps larger than this part of the range are examined, by so many bisections
_STEP, _BISECTIONS = 0.03, 14

Evaluate = Callable[[Mapping[str, Tensor]], Tensor]
#: for each number of the output: its values, its derivatives by the variables, its second derivative
Table = list[list[Array]]


class Sampler:
    """Evaluates a function of `names` and its derivatives up to `order`, which is at most 1 for two variables.

    `check` is called before each evaluation; it raises LimitError when the time is up.
    """

    def __init__(self, evaluate: Evaluate, names: Sequence[str], order: int, check: Callable[[], None]) -> None:
        self._evaluate = evaluate
        self._names = names
        self._check = check
        self._dtype = dtypes.get_default()
        self.order = order
        self.shape: tuple[int, ...] | None = None
        self.at_once = False
        #: how many points have no value, and the reason for the first of them
        self.missing = 0
        self.reason = ""
        #: whether any value had a graph
        self.has_graph = False

    # --- many points ---

    def sample(self, points: Sequence[Array]) -> Table:
        """The table for points, given as one array for each variable; decides `at_once`. Raises ProgramError, LimitError."""
        count = len(points[0])
        chosen = sorted({round(part * (count - 1)) for part in _COMPARED})
        singles = {i: self._single([array[i] for array in points]) for i in chosen}
        if self.shape is None:
            # none of the points has a value
            raise ProgramError("ValueError", self.reason)
        table = self._at_once(points) if not self.missing else None
        self.at_once = table is not None and all(_agree(table, i, single) for i, single in singles.items())
        if table is None or not self.at_once:
            self.has_graph, self.missing = False, 0
            table = self._one_by_one(points)
        return table

    def again(self, points: Sequence[Array]) -> Table:
        """The table for further points, in the way that `sample` decided on. Raises what `sample` raises."""
        if self.at_once:
            table = self._at_once(points)
            if table is not None:
                return table
        return self._one_by_one(points)

    def _one_by_one(self, points: Sequence[Array]) -> Table:
        rows = [self._single([array[i] for array in points]) for i in range(len(points[0]))]
        return [[np.array([row[k][c] for row in rows]) for c in range(self._columns)] for k in range(self._numbers)]

    @property
    def _numbers(self) -> int:
        return int(np.prod(self.shape or ()))

    @property
    def _columns(self) -> int:
        return 1 + len(self._names) * (self.order > 0) + (self.order > 1)

    # --- one evaluation ---

    def _single(self, point: Sequence[Any]) -> list[list[float]]:
        """The table's numbers for one point; nan where the function has no value there."""
        self._check()
        leaves = self._leaves([np.asarray(number) for number in point])
        try:
            out = self._number(self._evaluate(dict(zip(self._names, leaves, strict=True))))
        except ProgramError as error:
            if error.type_name not in _NO_VALUE:
                raise
            self.missing += 1
            self.reason = self.reason or error.message
            return [[float("nan")] * self._columns for _ in range(self._numbers)]
        if self.shape is None:
            self.shape = tuple(out.array.shape)
        if tuple(out.array.shape) != self.shape:
            raise ProgramError("RuntimeError", f"the shape changes from point to point: {self.shape} and {tuple(out.array.shape)}")
        found = self._derived(out, leaves, ())
        return [[float(array) for array in row] for row in found]

    def _at_once(self, points: Sequence[Array]) -> Table | None:
        """The table from one evaluation for all points; None where the function is not elementwise."""
        self._check()
        count = len(points[0])
        leaves = self._leaves(points)
        try:
            out = self._number(self._evaluate(dict(zip(self._names, leaves, strict=True))))
        except ProgramError:
            return None
        shape = tuple(out.array.shape)
        if shape == () and self.shape == () and not out.requires_grad:
            # the value does not depend on the point
            return [[np.full(count, float(out.array)), *(np.zeros(count) for _ in range(self._columns - 1))]]
        return self._derived(out, leaves, (count,)) if shape == (*(self.shape or ()), count) else None

    def _leaves(self, arrays: Sequence[Array]) -> list[Tensor]:
        leaves = [wrap(np.array(dtypes.cast(array, self._dtype)), self._dtype) for array in arrays]
        for leaf in leaves:
            leaf.requires_grad = True
        return leaves

    def _number(self, out: Tensor) -> Tensor:
        if out.array.size == 0:
            raise ProgramError("RuntimeError", "there is no number to be drawn: the value has no elements")
        return out

    def _derived(self, out: Tensor, leaves: Sequence[Tensor], batch: tuple[int, ...]) -> Table:
        """The table of an output of shape (*shape, *batch): a row of arrays of shape `batch` for each number."""
        values = np.asarray(out.array, np.float64).reshape(-1, *batch)
        table: Table = [[value] for value in values]
        if not self.order:
            return table
        self.has_graph |= out.requires_grad
        for number, row in enumerate(table):
            weight = np.zeros(values.shape, out.dtype.np)
            weight[number] = 1
            weights = wrap(weight.reshape(out.array.shape), out.dtype)
            row += self._gradients(out, leaves, weights, batch)
        return table

    def _gradients(self, out: Tensor, leaves: Sequence[Tensor], weights: Tensor, batch: tuple[int, ...]) -> list[Array]:
        twice = self.order > 1
        slopes = jacobians.vjp((out,), leaves, (weights,), retain_graph=True, create_graph=twice)
        found = [np.zeros(batch) if slope is None else np.asarray(slope.array, np.float64) for slope in slopes]
        if twice:
            slope = slopes[0]
            bend = None if slope is None else jacobians.vjp((slope,), leaves, (ones_like(slope),), retain_graph=True)[0]
            found.append(np.zeros(batch) if bend is None else np.asarray(bend.array, np.float64))
        return found

    # --- jumps ---

    def joined(self, points: Array, table: Table) -> tuple[list[list[Array]], bool]:
        """For each column of the table of one variable, whether neighbours may be joined by a line; and whether there is a pole.

        Bisection moves both sides of a large step together: a step that stays large is a jump, one that grows is a pole.
        """
        poles = False
        found: list[list[Array]] = []
        for number, row in enumerate(table):
            found.append([])
            for column, values in enumerate(row):
                joined, grows = self._joined(points, values, number, column)
                poles |= grows
                found[-1].append(joined)
        return found, poles

    def _joined(self, points: Array, values: Array, number: int, column: int) -> tuple[Array, bool]:
        finite = np.isfinite(values)
        joined = finite[:-1] & finite[1:]
        poles = bool(np.isinf(values).any())
        if not joined.any():
            return joined, poles
        steps = np.abs(np.diff(np.where(finite, values, 0.0)))
        low, high = _quantile(values[finite], 0.05), _quantile(values[finite], 0.95)
        # steps as small as rounding errors are left out
        suspects = np.flatnonzero(joined & (steps > max(_STEP * (high - low), 1e-4 * float(np.abs(values[finite]).max()))))
        # where each point takes an evaluation, only the largest steps are examined
        suspects = suspects[np.argsort(-steps[suspects])][: None if self.at_once else 24]
        if not suspects.size:
            return joined, poles
        a, b = points[suspects].astype(np.float64), points[suspects + 1].astype(np.float64)
        at_a, at_b = values[suspects], values[suspects + 1]
        for _ in range(_BISECTIONS):
            middle = np.asarray(dtypes.cast((a + b) / 2, self._dtype), np.float64)
            at = self.again([middle])[number][column]
            left = ~(np.abs(at - at_a) < np.abs(at_b - at))
            inside = (middle > a) & (middle < b) & np.isfinite(at)
            a, at_a = np.where(inside & ~left, middle, a), np.where(inside & ~left, at, at_a)
            b, at_b = np.where(inside & left, middle, b), np.where(inside & left, at, at_b)
            joined[suspects[~np.isfinite(at)]] = False
        last = np.abs(at_b - at_a)
        joined[suspects[last > 0.5 * steps[suspects]]] = False
        return joined, poles or bool((last > 2 * steps[suspects]).any())


def _agree(table: Table, at: int, single: Sequence[Sequence[float]]) -> bool:
    """Whether the numbers of a single evaluation are those of the table at index `at`, up to rounding."""
    for row, alone in zip(table, single, strict=True):
        for column, number in zip(row, alone, strict=True):
            finite = np.abs(column[np.isfinite(column)])
            rounding = 1e-6 * float(finite.max()) if finite.size else 0.0
            if not np.isclose(column[at], number, rtol=1e-4, atol=rounding, equal_nan=True):
                return False
    return True


def _quantile(values: Array, part: float) -> float:
    """The quantile of `values` at `part`, from 0 to 1. np.quantile would import a package during an evaluation."""
    return float(np.sort(values)[round(part * (values.size - 1))])


def visible(values: Sequence[Array], poles: bool, margin: float = 0.02) -> tuple[float, float, bool]:
    """The lowest and the highest value to be shown, and whether values are cut off.

    With `poles` the largest values are cut off, so that the others do not become a flat line. `margin` is the part of the range
    that is added on either side.
    """
    every = np.concatenate([one[np.isfinite(one)] for one in values]) if values else np.zeros(0)
    if not every.size:
        return -1.0, 1.0, False
    low, high = float(every.min()), float(every.max())
    if poles:
        inner, outer = _quantile(every, 0.06), _quantile(every, 0.94)
        wide = outer - inner
        if wide > 0 and high - low > 3 * wide:
            return max(low, inner - wide / 4), min(high, outer + wide / 4), True
    if high - low <= 1e-6 * max(abs(low), abs(high)):
        # the values are constant up to rounding
        around = abs(high) / 2 or 1.0
        return low - around, high + around, False
    free = (high - low) * margin
    return low - free, high + free, False
