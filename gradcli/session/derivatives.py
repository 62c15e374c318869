"""Whole matrices of derivatives of an expression's value by the variables it was computed from.

PyTorch's torch.autograd.functional calls a function on fresh tensors; here the value is there already, with its graph,
so that variables reached through other bindings (`y:=x*3`) count as well. What does not depend on a variable gives zeros,
as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gradcli import limits
from gradcli.core.autograd import backward
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.transforms import autograd_functional
from gradcli.errors import ProgramError
from gradcli.results import Block, Derivatives, Row
from gradcli.session.gradients import NOT_SCALAR
from gradcli.session.showing import shown
from gradcli.source import Source


@limits.evaluating
def jacobian(out: Tensor, variables: Sequence[Tensor], clock: limits.Clock) -> list[Tensor]:
    """For each variable d out / d variable, of the shape of `out` followed by the variable's: one backward pass for each element."""
    rows: list[list[Tensor]] = [[] for _ in variables]
    for variable in variables:
        limits.check_elements(out.array.size * variable.array.size, variable.array.itemsize)
    for unit in autograd_functional.one_hot_rows(out):
        clock.check()
        found: Sequence[Tensor | None] = [None] * len(variables)
        if out.requires_grad and variables:
            found = backward.grad([out], variables, [unit], retain_graph=True, allow_unused=True)
        for row, gradient, variable in zip(rows, found, variables, strict=True):
            row.append(autograd_functional.zeros_like(variable) if gradient is None else gradient)
    return [autograd_functional.stacked(row, out, variable, False) for row, variable in zip(rows, variables, strict=True)]


@limits.evaluating
def hessian(out: Tensor, variables: Sequence[Tensor], clock: limits.Clock) -> tuple[list[Tensor], list[list[Tensor]]]:
    """The gradient, and for each pair of variables the second derivatives; the shape is that of both variables together.

    Raises ProgramError when `out` has several elements.
    """
    if out.array.size != 1:
        raise ProgramError("RuntimeError", NOT_SCALAR)
    found: Sequence[Tensor | None] = [None] * len(variables)
    if out.requires_grad and variables:
        found = backward.grad([out], variables, create_graph=True, allow_unused=True)
    slopes = [autograd_functional.zeros_like(v) if slope is None else slope for slope, v in zip(found, variables, strict=True)]
    return slopes, [jacobian(slope, variables, clock) for slope in slopes]


def jacobian_result(source: Source, out: Tensor, variables: Mapping[str, Tensor], blocks: Sequence[Tensor]) -> Derivatives:
    """What `jacobian` found, to be shown."""
    named = tuple(Block("out", name, shown(block)) for name, block in zip(variables, blocks, strict=True))
    return Derivatives("jacobian", _output(source, out, None), _leaves(variables, None), named)


def hessian_result(
    source: Source, out: Tensor, variables: Mapping[str, Tensor], slopes: Sequence[Tensor] | None, blocks: Sequence[Sequence[Tensor]]
) -> Derivatives:
    """What `hessian` found, to be shown; `slopes` is None when the gradient is not wanted."""
    named = tuple(
        Block(row, column, shown(block))
        for row, of_row in zip(variables, blocks, strict=True)
        for column, block in zip(variables, of_row, strict=True)
    )
    return Derivatives("hessian", _output(source, out, slopes), _leaves(variables, slopes), named)


def _output(source: Source, out: Tensor, slopes: Sequence[Tensor] | None) -> Row:
    node = out.grad_fn
    ones = () if slopes is None else (shown(wrap(np.ones(out.array.shape, out.dtype.np), out.dtype)),)
    return Row("out", source.text.strip(), node.type_name if node else "-", shown(out), ones)


def _leaves(variables: Mapping[str, Tensor], slopes: Sequence[Tensor] | None) -> tuple[Row, ...]:
    gradients = [()] * len(variables) if slopes is None else [(shown(wrap(slope.array, slope.dtype)),) for slope in slopes]
    return tuple(
        Row(name, "leaf", "AccumulateGrad", shown(variable), of_one)
        for (name, variable), of_one in zip(variables.items(), gradients, strict=True)
    )
