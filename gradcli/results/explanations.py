"""The steps behind a value, and the nodes of its graph."""

from __future__ import annotations

from gradcli.plain import Plain
from gradcli.results.values import TensorValue


class Arithmetic(Plain):
    """One computation written out: what was computed, the same with numbers, what came out."""

    formula: str
    numbers: str
    result: str


class Made(Plain):
    """One output of a step. `name` is `#3`, `#3[0]` where there are several, or a variable's name.

    `came` says how the gradient came from the consumers'. What is not known is None. In mathematics: `name_latex`,
    `barred_latex` for the gradient and, where all was asked for, `came_latex` and for small tensors `value_latex`, `gradient_latex`.
    """

    name: str
    shape: tuple[int, ...]
    value: TensorValue | None
    gradient: TensorValue | None
    came: str
    came_latex: str
    arithmetic: tuple[Arithmetic, ...] = ()
    name_latex: str = ""
    barred_latex: str = ""
    value_latex: str = ""
    gradient_latex: str = ""


class Link(Plain):
    """An edge of the graph: input `argument` is output `output` of the step `name`."""

    name: str
    output: int
    argument: str


class StepResult(Plain):
    """A node of the graph. `expression` is the user's text with `#k` for earlier steps, `variable` the name it was given.

    `start` and `end` are its place in the text called `source`, -1 where it has none.
    """

    name: str
    grad_fn: str
    expression: str
    expression_latex: str
    variable: str
    is_leaf: bool
    outputs: tuple[Made, ...]
    inputs: tuple[Link, ...]
    start: int = -1
    end: int = -1
    arithmetic: tuple[Arithmetic, ...] = ()
    source: str = ""


class Explanation(Plain):
    """Every step behind a value, in backward order, leaves last; `notes` say why gradients are missing, and what is left out."""

    text: str
    steps: tuple[StepResult, ...]
    notes: tuple[str, ...]
    total: int


class GraphNode(Plain):
    """A node of the graph behind a value: what made it, and the gradient that reaches it; None is unknown or none."""

    name: str
    expression: str
    grad_fn: str
    shape: str
    value: TensorValue | None
    gradients: tuple[TensorValue | None, ...]


class GraphNodes(Plain):
    """Every node behind a value, newest first. `note` says what the gradients are of, or why there are none."""

    nodes: tuple[GraphNode, ...]
    note: str
