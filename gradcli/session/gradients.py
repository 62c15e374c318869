"""Walking backward from the value of an expression: gradients of the variables and of every step, errors with their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gradcli import limits
from gradcli.core.autograd import backward
from gradcli.core.autograd.walk import Capture
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.tensor import Tensor, ones_like, wrap
from gradcli.errors import Code, GradcliError, Label, ProgramError
from gradcli.lang.syntax.nodes import Node as Place
from gradcli.lang.syntax.nodes import origin_text
from gradcli.results.derivatives import Gradients, GradientTable, Row
from gradcli.session.result_values import tensor_value
from gradcli.source import Source, Span

#: recorded steps: nodes with their output tensors
Made = Sequence[tuple[Node, tuple[Tensor, ...]]]


@limits.evaluating
def walk(
    out: Tensor, weights: Sequence[Tensor | None], variables: Sequence[Tensor], span: Span, captured: bool
) -> tuple[list[Capture], list[list[Tensor | None]]]:
    """One backward pass for each of `weights`: for each pass the gradients that reached the nodes, for each variable its gradients.

    Unless `captured`, the gradients of nodes are not wanted, and may be left out.

    Raises what backward raises, with its place in the text.
    """
    captures: list[Capture] = []
    found: list[list[Tensor | None]] = [[] for _ in variables]
    for i, weight in enumerate(weights):
        for variable in variables:
            variable.grad = None
        captures.append({})
        try:
            capture = captures[-1] if captured or not out.dtype.is_plain else None
            backward.backward([out], [weight], retain_graph=i + 1 < len(weights), capture=capture)
        except GradcliError as error:
            locate_error(error, out, span, weight)
            raise
        for variable, gradients in zip(variables, found, strict=True):
            gradients.append(variable.grad)
    return captures, found


def gradients(out: Tensor, weights: Tensor | None, variables: Mapping[str, Tensor], span: Span) -> Gradients:
    """The gradients of `out` by the variables. Raises what backward raises."""
    for variable in variables.values():
        variable.grad = None
    try:
        with limits.evaluation:
            backward.backward([out], [weights], capture=None if out.dtype.is_plain else {})
    except GradcliError as error:
        locate_error(error, out, span, weights)
        raise
    return arrived(variables)


def arrived(variables: Mapping[str, Tensor]) -> Gradients:
    """The gradients that the variables have."""
    return {name: None if variable.grad is None else np.asarray(variable.grad.array) for name, variable in variables.items()}


def gradient_table(
    source: Source, span: Span, out: Tensor, given: Sequence[Tensor], variables: Mapping[str, Tensor], made: Made = ()
) -> GradientTable:
    """The gradients of `out`, the value of `source`, for each of the weights `given`; for 1 where none are given.

    Raises what backward raises.
    """
    captures, found = walk(out, given or [None], list(variables.values()), span, bool(made))
    weights = given or [ones_like(out)]
    node = out.grad_fn
    output = Row("out", source.text.strip(), node.type_name if node else "-", tensor_value(out), tuple(map(tensor_value, weights)))
    leaves = [
        Row(name, "leaf", "AccumulateGrad", tensor_value(variable), tuple(None if g is None else tensor_value(g) for g in gradients))
        for (name, variable), gradients in zip(variables.items(), found, strict=True)
    ]
    return GradientTable(output, tuple(steps(made, captures, node)), tuple(leaves))


def locate_error(error: GradcliError, out: Tensor, span: Span, weight: Tensor | None = None) -> None:
    """Give an error of a backward pass from `out` with `weight` its place in the text, and a label that tells the shape of `out`."""
    origin = error.backward_origin
    if error.span is None:
        error.span = origin.span if isinstance(origin, Place) else span
    shape = tuple(out.array.shape)
    if weight is not None and tuple(weight.array.shape) != shape and isinstance(error, ProgramError):
        error.code, error.shape = Code.WEIGHTS_SHAPE, shape
        error.labels.append(Label(span, f"this has shape {shape}, and the weights have {tuple(weight.array.shape)}"))
    code = error.code if isinstance(error, ProgramError) else None
    if code is Code.IMPLICIT_GRADIENT_OF_MANY:
        error.labels.append(Label(span, f"this has shape {shape}; backward needs one weight per element"))
    elif code is Code.HESSIAN_OF_MANY:
        error.labels.append(Label(span, f"this has shape {shape}; second derivatives are those of one number"))
    elif not out.requires_grad:
        error.labels.append(Label(span, "no variable that requires grad leads here; NAME=VALUE makes one"))


def steps(made: Made, captures: list[Capture], root: Node | None) -> list[Row]:
    """A row for each intermediate value that a gradient reached, the last computed first. They are numbered in the order of computation."""
    nodes = [(node, outs) for node, outs in made if node in captures[0] and node is not root]
    rows = []
    for number, (node, outs) in reversed(list(enumerate(nodes, 1))):
        for k, tensor in enumerate(outs):
            gradients = []
            for capture in captures:
                places = capture[node]
                array = places[k] if k < len(places) else None
                gradients.append(None if array is None else tensor_value(wrap(array, tensor.dtype)))
            name = f"#{number}" if len(outs) == 1 else f"#{number}[{k}]"
            rows.append(Row(name, origin_text(node.origin), node.type_name, tensor_value(tensor), tuple(gradients)))
    return rows
