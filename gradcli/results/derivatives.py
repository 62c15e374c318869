"""Gradients, Jacobians, Hessians and minima of an expression."""

from __future__ import annotations

from gradcli.plain import Plain
from gradcli.results.values import TensorValue


class Row(Plain):
    """One tensor of a gradient table: the output, an intermediate value or a variable.

    `gradients` has one entry for each vector, None where no gradient reaches the tensor.
    """

    name: str
    expression: str
    grad_fn: str
    value: TensorValue
    gradients: tuple[TensorValue | None, ...]


class GradientTable(Plain):
    """`v^T J` for every vector v: for the output, the intermediate values, the last computed first, and the variables."""

    output: Row
    intermediates: tuple[Row, ...]
    variables: tuple[Row, ...]

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
    """The end of a minimisation. `failure` says why it did not converge, "" where it did; `diverged`: a value was not finite."""

    expression: str
    method: str
    variables: tuple[Found, ...]
    value: TensorValue
    gradient_norm: float
    steps: int
    failure: str
    diverged: bool
