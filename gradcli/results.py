"""What a session answers, as plain data: nothing in it runs a program or refers to a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.tensor.printing import PrintOptions, tensor_text, values_text
from gradcli.plain import Plain

Array = np.ndarray[Any, np.dtype[Any]]


class TensorValue(Plain):
    """A tensor: its numbers, the name of its dtype, and what its text depends on besides.

    `grad_fn` is the name of its node, `tangent` the text of its forward gradient, None for none. `options` are the print options
    and `default_dtype` the dtype that goes without saying when it was shown. With `uniform` a cell of equal elements says so.
    """

    array: Array
    dtype: str
    requires_grad: bool = False
    grad_fn: str | None = None
    is_parameter: bool = False
    tangent: str | None = None
    default_dtype: str = "float32"
    options: PrintOptions = PrintOptions()
    uniform: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self.array.shape)

    def repr(self) -> str:
        """PyTorch's own text. Raises LimitError where it would be too long, and ProgramError where PyTorch fails too."""
        return tensor_text(
            self.array,
            self.dtype,
            options=self.options,
            default_dtype=self.default_dtype,
            requires_grad=self.requires_grad,
            grad_fn=self.grad_fn,
            is_parameter=self.is_parameter,
            tangent=self.tangent,
        )

    def cell(self) -> str:
        """PyTorch's layout without `tensor(...)`, for tables. Raises what `repr` raises.

        Scientific only where the magnitude of a finite element is below 1e-4, and not 0, or from 1e6 on.
        """
        array = self.array
        if self.uniform and array.size > 1 and (array == array.flat[0]).all():
            one = self.replace(array=array.reshape(-1)[0]).cell()
            return f"all {one.rstrip('0') if '.' in one and 'e' not in one else one}"
        scientific = False
        if array.dtype.kind == "f":
            size = np.abs(array[np.isfinite(array) & (array != 0)])
            scientific = bool(size.size) and bool((size < 1e-4).any() or (size >= 1e6).any())
        return values_text(array, self.dtype, options=self.options.copy(sci_mode=scientific))


class PlainValue(Plain):
    """A value that is no tensor.

    `data` is it in lists, dicts, strings, numbers and None, tensors as nested lists; `text` is its repr, "" where nobody asked for it.
    """

    data: object
    type_name: str
    text: str = ""

    def repr(self) -> str:
        """The text."""
        return self.text


Value = TensorValue | PlainValue


class Evaluation(Plain):
    """The value of an expression; `grad_fn` is the node's name, or None."""

    expression: str
    value: Value
    grad_fn: str | None
    requires_grad: bool


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


class Variable(Plain):
    """A name of the prompt and its value; shape, requires_grad, grad_fn and grad are empty for what is no tensor."""

    name: str
    value: Value
    shape: str = ""
    requires_grad: str = ""
    grad_fn: str = ""
    grad: Value | None = None


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


class Description(Plain):
    """What is known of a name. `formulas` are (argument, derivative, remark); `example` is pairs of input and output."""

    name: str
    signatures: tuple[str, ...]
    doc: str
    grad_fns: tuple[str, ...]
    formulas: tuple[tuple[str, str, str], ...]
    example: tuple[tuple[str, str], ...]


class Completion(Plain):
    """One way to go on typing: `text` replaces the last `length` characters; `about` says what it is, "" where there are too many."""

    text: str
    length: int
    kind: str
    about: str


# --- explanations and graphs ---


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


class Comparison(Plain):
    """One element of a gradient, by rule and by differences. `output` is which element of the output, None for the only one."""

    at: tuple[int, ...]
    output: tuple[int, ...] | None
    analytic: float
    numeric: float
    remark: str = ""


class Origin(Plain):
    """Where a nan or an infinity was first made: the step, its line of text with the columns to mark, and what it saw.

    `place` is empty where the line alone is the whole text.
    """

    what: str
    grad_fn: str
    place: str
    line: str
    first: int
    last: int
    remark: str


class InputCheck(Plain):
    """The check of one input: the worst absolute and relative error, the element of the worst, and what is remarkable."""

    name: str
    shape: tuple[int, ...]
    absolute: float
    relative: float
    worst: Comparison | None
    wrong: tuple[Comparison, ...]
    kinks: tuple[Comparison, ...]
    checked: int


class CheckResult(Plain):
    """Analytic gradients against differences. `conditions` says how they were taken."""

    expression: str
    inputs: tuple[InputCheck, ...]
    origins: tuple[Origin, ...]
    conditions: str
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing disagrees."""
        return not any(one.wrong for one in self.inputs)


# --- whole matrices, and minima ---


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


# --- batches ---


class Answer(Plain):
    """The answer to a request of a batch: what its script printed, warnings, and what its expression gave of what it wanted."""

    output: str | None
    warnings: tuple[str, ...]
    evaluation: Evaluation | None
    gradients: GradientTable | None
    jacobian: Derivatives | None
    hessian: Derivatives | None
    want: tuple[str, ...]


# --- the reference ---


class Derivative(Plain):
    """What reaches one argument of an operation: the formula, or words after `= `; `note` is on points without derivative."""

    grad_fn: str
    argument: str
    formula: str
    note: str


class Entry(Plain):
    """A function, type, routine or constant of torch's. `name` is its full one, `aliases` are others, `kind` is what it is.

    `example` has pairs of what is typed and what is printed; it is empty where nobody asked for examples.
    """

    name: str
    family: str
    kind: str
    signatures: tuple[str, ...]
    doc: str
    aliases: tuple[str, ...] = ()
    grad_fns: tuple[str, ...] = ()
    derivatives: tuple[Derivative, ...] = ()
    is_method: bool = False
    inplace: bool = False
    takes_out: bool = False
    example: tuple[tuple[str, str], ...] = ()


# --- plots ---


class Curve(Plain):
    """A function of one variable at the points of a plot. `order` is 0 for values, 1 and 2 for derivatives.

    `joined` says of each pair of neighbours whether a line may go from one to the other: not over a jump, a pole or a nan.
    `defined` says of each point whether there is something to be shown: derivatives are not, where the function has no value.
    """

    label: str
    order: int
    values: Array
    joined: Array
    defined: Array


class Curves(Plain):
    """Curves over one variable. `low` and `high` are the values to be shown, less than all where a pole would flatten the rest.

    `at_once` says that one evaluation gave all points, as the expression works element by element.
    """

    expression: str
    name: str
    points: Array
    curves: tuple[Curve, ...]
    low: float
    high: float
    notes: tuple[str, ...]
    at_once: bool


class HeatMap(Plain):
    """A function of two variables on a grid, first axis `names[1]`, second `names[0]`; gradients in the order of `names`, or none."""

    expression: str
    names: tuple[str, str]
    xs: Array
    ys: Array
    values: Array
    gradients: tuple[Array, ...]
    low: float
    high: float
    notes: tuple[str, ...]
    at_once: bool


# --- reports ---


class Report(Plain):
    """All that a page shows of an expression or a script. `of` is the name of the script that is looked at, "" for an expression.

    `explanation` is None where no graph leads to the value, `value` where a script has none to be looked at. `others` are the texts
    of names that were bound to expressions. `printed` is what a script printed.
    """

    source: str
    text: str
    of: str
    value: Value | None
    explanation: Explanation | None
    others: tuple[tuple[str, str], ...]
    plots: tuple[Curves | HeatMap, ...]
    printed: str
    notes: tuple[str, ...]
