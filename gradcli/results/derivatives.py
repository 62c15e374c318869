"""Gradients, Jacobians, Hessians and minima of an expression."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gradcli.plain import Plain
from gradcli.results.values import Array, TensorValue

#: gradients by the names of variables, None where there is none
Gradients = dict[str, Array | None]


class Row(Plain):
    """One tensor of a gradient table: the output, an intermediate value or a variable.

    `gradients` has one entry for each vector, None where no gradient reaches the tensor.
    """

    name: str
    expression: str
    grad_fn: str
    value: TensorValue
    gradients: tuple[TensorValue | None, ...]


class RowCount(Plain):
    """Over how many rows of the files behind a name an expression was evaluated, and in how many pieces."""

    name: str
    count: int
    pieces: int


class GradientTable(Plain):
    """`v^T J` for every vector v: for the output, the intermediate values, the last computed first, and the variables.

    `over` is there where the expression was evaluated by rows.
    """

    output: Row
    intermediates: tuple[Row, ...]
    variables: tuple[Row, ...]
    over: RowCount | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in the order in which they are shown."""
        return (self.output, *self.intermediates, *self.variables)

    @property
    def vectors(self) -> int:
        """How many gradients every row has."""
        return len(self.output.gradients)


class Block(Plain):
    """The derivatives of `row` by the variable `column`: of the shape of the first followed by the shape of the second."""

    row: str
    column: str
    value: TensorValue


class Derivatives(Plain):
    """A Jacobian, with a block for each variable, or a Hessian, with a block for each pair. The rows may have gradients."""

    kind: str
    output: Row
    variables: tuple[Row, ...]
    blocks: tuple[Block, ...]

    @property
    def with_gradient(self) -> bool:
        """Whether the rows have gradients."""
        return bool(self.output.gradients)


class Found(Plain):
    """A variable of a minimisation: its start, its end, and the gradient there, None where the expression does not use it."""

    name: str
    start: TensorValue
    minimum: TensorValue
    gradient: TensorValue | None


class Minimum(Plain):
    """The end of a minimisation. `failure` says why it is no minimum, "" where it is one; `diverged`: a value was not finite.

    `kind` is "a maximum", "a saddle point" or "no minimum" where the gradient is nearly zero and the value falls; `restart` has texts
    of starts for the variables from where the same method finds a minimum. `note` is a remark on a minimum. `over` is there where the
    expression was evaluated by rows.
    """

    expression: str
    method: str
    variables: tuple[Found, ...]
    value: TensorValue
    gradient_norm: float
    steps: int
    failure: str
    diverged: bool
    kind: str = ""
    restart: Mapping[str, str] = MappingProxyType({})
    note: str = ""
    over: RowCount | None = None

    @property
    def verdict(self) -> str:
        """Why it is no minimum, as a sentence of its own."""
        return self.failure if self.kind or not self.failure else f"did not converge: {self.failure}"
