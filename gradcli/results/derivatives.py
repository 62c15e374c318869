"""Gradients, Jacobians, Hessians and minima of an expression."""

from __future__ import annotations

from gradcli.plain import Plain
from gradcli.results.values import TensorValue


class Row(Plain):
    """One tensor of a gradient table: the output, an intermediate value or a variable.

    `gradients` has one entry for each vector; None is what PyTorch leaves when no gradient reaches the tensor.
    """

    name: str
    expression: str
    grad_fn: str
    value: TensorValue
    gradients: tuple[TensorValue | None, ...]


class GradientTable(Plain):
    """`v^T J` for every vector: the output, the intermediate values from the output backwards, the variables."""

    output: Row
    intermediates: tuple[Row, ...]
    variables: tuple[Row, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows in the order in which they are shown."""
        return (self.output, *self.intermediates, *self.variables)

    @property
    def vectors(self) -> int:
        """How many gradients every row has."""
        return len(self.output.gradients)


class Block(Plain):
    """The derivatives of what `row` names by the variable `column`: of the shape of the first followed by that of the second."""

    row: str
    column: str
    value: TensorValue


class Derivatives(Plain):
    """A Jacobian (one block for each variable) or a Hessian (one for each pair). The rows of a Hessian's table have gradients."""

    kind: str
    output: Row
    variables: tuple[Row, ...]
    blocks: tuple[Block, ...]

    @property
    def with_gradient(self) -> bool:
        """Whether the gradient is to be shown too."""
        return bool(self.output.gradients)


class Found(Plain):
    """A variable of a minimisation: where it began, where it ended, the gradient there (None: the expression does not use it)."""

    name: str
    start: TensorValue
    minimum: TensorValue
    gradient: TensorValue | None


class Minimum(Plain):
    """How a minimisation ended. `failure` says why it did not converge, "" where it did; `diverged` that something was not finite."""

    expression: str
    method: str
    variables: tuple[Found, ...]
    value: TensorValue
    gradient_norm: float
    steps: int
    failure: str
    diverged: bool
