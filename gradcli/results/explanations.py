"""The steps behind a value, and the nodes of its graph."""

from __future__ import annotations

from gradcli.plain import Plain
from gradcli.results.values import TensorValue


class Arithmetic(Plain):
    """One computation: its formula, the formula with numbers, and its result."""

    formula: str
    numbers: str
    result: str


class Made(Plain):
    """One output of a step. `name` is `#3`, `#3[0]` where there are several, or a variable's name.

    `came` says how the gradient was made of the consumers' gradients. A value or gradient that is not known is None. `name_latex` and
    `barred_latex`, for the gradient, are LaTeX; so are `came_latex`, `value_latex` and `gradient_latex`, which only a full explanation
    of small tensors has.
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
    """A node of the graph. `expression` is the user's text with `#k` for earlier steps, `variable` the name that it was assigned to.

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
    """The steps behind a value, newest first, leaves last, of `total` steps; `notes` say why gradients or steps are missing."""

    text: str
    steps: tuple[StepResult, ...]
    notes: tuple[str, ...]
    total: int


class GraphNode(Plain):
    """A node of the graph behind a value, with its value, None where it is not known, and the gradients that reach its outputs."""

    name: str
    expression: str
    grad_fn: str
    shape: str
    value: TensorValue | None
    gradients: tuple[TensorValue | None, ...]


class GraphNodes(Plain):
    """The nodes behind a value, newest first. `note` says what was differentiated, or why there are no gradients."""

    nodes: tuple[GraphNode, ...]
    note: str
