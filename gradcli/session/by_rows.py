"""Gradients and minima of a sum or a mean over more rows than memory holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gradcli.core.kernels import Array
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.vocabulary.session_state import SessionState, in_force
from gradcli.data.pieces import Piece
from gradcli.errors import UsageError
from gradcli.results.derivatives import GradientTable, Minimum, RowCount
from gradcli.session import minimization
from gradcli.session.bindings import Bindings
from gradcli.session.gradients import gradient_table
from gradcli.session.minimization import Progress
from gradcli.session.row_sums import Evaluate, Part, RowSum
from gradcli.source import Source

__all__ = ["Array", "ByRows", "Evaluate", "Part", "Piece", "Progress"]

#: gets how many rows have been evaluated
Watch = Callable[[int], None]


class ByRows:
    """An expression over the rows of files, as a function of the variables. `pieces` are those of all files, in order."""

    def __init__(
        self,
        state: SessionState,
        bindings: Bindings,
        source: Source,
        name: str,
        reference: str,
        names: Sequence[str] | None,
        *,
        exact: bool,
    ) -> None:
        self.state = state
        self._source = source
        rows = bindings.bind_rows(name, reference, exact=exact)
        self._variables = bindings.chosen(names)
        if not self._variables:
            raise UsageError("there is nothing to differentiate by", hints=["NAME=VALUE makes a variable, as in w=1"])
        self._sum = RowSum(bindings, name, rows, source, self._variables, exact=exact)
        self.files = list(rows.names)
        self.pieces = rows.pieces

    @in_force
    def examine(self) -> None:
        """From the first rows, refuse an expression that is no sum and no mean over rows: ProgramError, and what evaluating raises."""
        self._sum.examine()

    @in_force
    def part(self, piece: Piece) -> Part:
        """Value and gradients of one piece. Raises what evaluating raises."""
        return next(self._sum.parts([piece]))

    def parts(self, values: Sequence[Array]) -> Iterator[Part]:
        """The parts of all pieces, evaluated here, for the variables as they are."""
        return self._sum.parts(self.pieces)

    @property
    def values(self) -> list[Array]:
        """The numbers of the variables."""
        return [variable.array for variable in self._variables.values()]

    def set(self, values: Iterable[Array]) -> None:
        """Give the variables these numbers."""
        self._sum.set(list(values))

    @in_force
    def gradient(self, evaluate: Evaluate, watch: Watch) -> GradientTable:
        """Value and gradients over all rows, of the parts that `evaluate` gives. Raises what it raises."""
        with recording(True):
            out = self._sum.total(evaluate, watch)
        return gradient_table(self._source, self._sum.span, out, [], self._variables).replace(over=self._over())

    @in_force
    def minimize(
        self, evaluate: Evaluate, watch: Watch, *, method: str, lr: float | None, steps: int, tolerance: float, progress: Progress
    ) -> Minimum:
        """Move the variables to where the value over all rows is smallest. The point where it ends is not examined."""

        def total() -> Tensor:
            return self._sum.total(evaluate, watch)

        def walk() -> Tensor:
            value = total()
            minimization.walk_back(value, self._sum.span)
            return value

        found = minimization.minimum(
            self._source.text.strip(),
            total,
            walk,
            self._variables,
            method=method,
            lr=lr,
            steps=steps,
            tolerance=tolerance,
            progress=progress,
            examined=False,
        )
        return found.replace(over=self._over())

    def _over(self) -> RowCount:
        return RowCount(self._sum.name, self._sum.count, len(self.pieces))
