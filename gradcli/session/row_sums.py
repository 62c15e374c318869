"""An expression that is a sum or a mean over the rows of one name, evaluated piece by piece.

Each piece gives a value and gradients of its own; they are added up in the order of the pieces, in float64, so that the result does
not depend on who evaluated them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.autograd import backward
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.data.pieces import Piece, Rows
from gradcli.errors import GradcliError, ProgramError
from gradcli.session import input_values
from gradcli.session.bindings import Bindings
from gradcli.session.gradients import locate_error
from gradcli.source import Source

#: how many of the first rows tell whether the expression is a sum or a mean, and how many more where these do not tell
_FIRST, _FURTHER = 64, 16
#: how far the parts may be from the whole, in units of the last place
_ROUNDING = 4096

#: gets how many rows have been evaluated
Progress = Callable[[int], None]


class Part(NamedTuple):
    """What a piece gives: how many rows it has, its value, and the gradient of each variable."""

    rows: int
    value: float
    gradients: Sequence[Array]


#: the parts of all pieces in order, for these values of the variables
Evaluate = Callable[[Sequence[Array]], Iterable[Part]]


def _given(xp: Any, grad: Any, gradients: Sequence[Array]) -> list[Any]:
    if xp is not numeric:
        raise ProgramError("RuntimeError", "there are no second derivatives of what is evaluated by rows")
    return [np.asarray(grad * gradient, gradient.dtype) for gradient in gradients]


#: a value that was computed elsewhere, with its gradients
_ELSEWHERE = Op(
    "SumOverRows",
    lambda arrays, value, gradients: np.array(value, arrays[0].dtype),
    "variables",
    "value gradients",
    variadic=True,
    saved="",
    variables=Rule(_given, "grad * gradients[i]"),
)


class RowSum:
    """`source` as a function of the variables, where the name `name` stands for the rows of files."""

    def __init__(self, names: Bindings, name: str, rows: Rows, source: Source, variables: Mapping[str, Tensor], *, exact: bool) -> None:
        self.name = name
        self._exact = exact
        self.rows = rows
        self.count = 0
        self._evaluate, self.span = names.function(source)
        self._text = source.text.strip()
        self._variables = variables
        self._is_mean = False

    # --- one piece ---

    def load(self, piece: Piece) -> Tensor:
        """The rows of a piece as data. Raises DataError, LimitError."""
        return input_values.of_rows(self.rows.load(piece), self.rows, exact=self._exact)

    def part(self, data: Tensor) -> Part:
        """Value and gradients for some rows. Raises what evaluating and backward raise."""
        leaves = list(self._variables.values())
        for leaf in leaves:
            leaf.grad = None
        with recording(True):
            out = self._evaluate({self.name: data})
        try:
            if out.array.size != 1:
                raise ProgramError("RuntimeError", f"over rows a sum or a mean is taken, and this has shape {tuple(out.array.shape)}")
            backward.backward([out])
        except GradcliError as error:
            locate_error(error, out, self.span)
            raise
        gradients = [np.zeros_like(leaf.array) if leaf.grad is None else leaf.grad.array for leaf in leaves]
        return Part(data.array.shape[0], float(out.array.reshape(-1)[0]), gradients)

    def parts(self, pieces: Iterable[Piece]) -> Iterator[Part]:
        """The parts of pieces, one after the other; those without rows are left out of account by their number of rows."""
        for piece in pieces:
            data = self.load(piece)
            if data.array.shape[0]:
                yield self.part(data)
            else:
                yield Part(0, 0.0, [np.zeros_like(leaf.array) for leaf in self._variables.values()])

    def set(self, values: Sequence[Array]) -> None:
        """Give the variables these values."""
        for leaf, value in zip(self._variables.values(), values, strict=True):
            leaf.array[...] = value

    # --- sum or mean ---

    def examine(self) -> None:
        """Find out by the first rows whether the expression is a sum or a mean over rows. Raises ProgramError where it is neither."""
        data = next((found for piece in self.rows.pieces if (found := self.load(piece)).array.shape[0] > 1), None)
        self._is_mean = True
        if data is None:
            return
        most = data.array.shape[0]
        count = min(_FIRST, most)
        while True:
            cut = (count + 2) // 3
            whole, *halves = [self.part(_between(data, *ends)) for ends in ((0, count), (0, cut), (cut, count))]
            sums = _added(halves, [1.0, 1.0])
            means = _added(halves, [half.rows / count for half in halves])
            fits_sum, fits_mean = self._misfit(whole, sums) is None, self._misfit(whole, means) is None
            if fits_sum != fits_mean:
                self._is_mean = fits_mean
                return
            if not fits_sum:
                raise self._refusal(whole, sums, means, count)
            if count == most:
                return  # nothing but zeros
            count = min(count * _FURTHER, most)

    def _misfit(self, whole: Part, parts: tuple[float, list[Array]]) -> str | None:
        """What of the parts is not that of the whole: "" for the value, the name of a variable for its gradient."""
        pairs = [("", np.array(whole.value), np.array(parts[0]))]
        pairs += [(name, a.astype(np.float64), b) for name, a, b in zip(self._variables, whole.gradients, parts[1], strict=True)]
        eps = float(np.finfo(next(iter(self._variables.values())).array.dtype).eps)
        for name, one, other in pairs:
            same = (one == other) | (np.isnan(one) & np.isnan(other))
            size = max(np.abs(one[np.isfinite(one)]).max(initial=0), np.abs(other[np.isfinite(other)]).max(initial=0), abs(whole.value))
            with np.errstate(all="ignore"):
                if not (same | (np.abs(one - other) <= _ROUNDING * eps * size)).all():
                    return name
        return None

    def _refusal(self, whole: Part, sums: tuple[float, list[Array]], means: tuple[float, list[Array]], count: int) -> ProgramError:
        wrong = self._misfit(whole, means) or ""
        what = f"the gradient by {wrong}" if wrong else "it"
        at = list(self._variables).index(wrong) if wrong else -1
        shown = [part[1][at] if wrong else part[0] for part in ((whole.value, whole.gradients), sums, means)]
        one, added, weighed = [f"{float(np.asarray(number).reshape(-1)[0]):.7g}" for number in shown]
        text = (
            f"the expression is no sum and no mean over the rows of {self.name}: of the first {count} rows {what} is {one}, "
            f"and of two parts of them together {added} as a sum, {weighed} as a mean"
        )
        error = ProgramError("RuntimeError", text, hints=["without --by-rows all rows are evaluated at once"])
        error.span = self.span
        return error

    # --- all pieces ---

    def total(self, evaluate: Evaluate, progress: Progress) -> Tensor:
        """The value over all rows, with a node that has its gradients. Raises what `evaluate` raises."""
        leaves = list(self._variables.values())
        value = rows = 0.0
        gradients = [np.zeros(leaf.array.shape, np.float64) for leaf in leaves]
        for part in evaluate([leaf.array for leaf in leaves]):
            weight = float(part.rows) if self._is_mean else 1.0
            if part.rows:
                value += weight * part.value
                for sum_, gradient in zip(gradients, part.gradients, strict=True):
                    sum_ += weight * gradient.astype(np.float64)
            rows += part.rows
            progress(int(rows))
        self.count = int(rows)
        for leaf in leaves:
            leaf.grad = None
        if self._is_mean:
            value /= rows or 1.0
            gradients = [sum_ / (rows or 1.0) for sum_ in gradients]
        made = [gradient.astype(leaf.array.dtype) for gradient, leaf in zip(gradients, leaves, strict=True)]
        out: Tensor = _ELSEWHERE(leaves, value, made)
        return out


def _between(data: Tensor, start: int, stop: int) -> Tensor:
    made = wrap(data.array[start:stop], data.dtype)
    if columns := data.property_of("columns"):
        made.set_property("columns", columns)
    return made


def _added(parts: Sequence[Part], weights: Sequence[float]) -> tuple[float, list[Array]]:
    value = sum(weight * part.value for weight, part in zip(weights, parts, strict=True))
    gradients = [np.zeros(one.shape, np.float64) for one in parts[0].gradients]
    for weight, part in zip(weights, parts, strict=True):
        for sum_, gradient in zip(gradients, part.gradients, strict=True):
            sum_ += weight * gradient.astype(np.float64)
    return value, gradients
