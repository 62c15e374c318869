"""Jacobian and Hessian of an expression's value by the variables it was computed from.

torch.autograd.functional calls a function on fresh tensors. Here the value is there already, with its graph, so that variables
reached through other bindings (`y:=x*3`) count as well. The derivatives by a variable that the value does not depend on are
zeros, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from gradcli import limits
from gradcli.core.tensor.tensor import Tensor, ones_like, zeros_like
from gradcli.core.transforms import jacobians
from gradcli.errors import Code, GradcliError, runtime_error
from gradcli.results.derivatives import Block, Derivatives, Row
from gradcli.session.gradients import locate_error
from gradcli.session.result_values import tensor_value
from gradcli.source import Source, Span


@limits.evaluating
def jacobian(out: Tensor, variables: Sequence[Tensor], clock: limits.Clock) -> list[Tensor]:
    """For each variable d out / d variable, of the shape of `out` followed by the variable's. Raises LimitError when time is up."""
    return jacobians.jacobian(out, variables, check=lambda _: clock.check())


@limits.evaluating
def hessian(out: Tensor, variables: Sequence[Tensor], clock: limits.Clock) -> tuple[list[Tensor], list[list[Tensor]]]:
    """The gradient, and for each pair of variables the second derivatives; the shape is that of both variables together.

    Raises ProgramError when `out` has several elements.
    """
    if out.array.size != 1:
        text = "The Tensor returned by the function given to hessian should contain a single element"
        raise runtime_error(text, Code.HESSIAN_OF_MANY, shape=out.array.shape)
    found = jacobians.vjp((out,), variables, None, create_graph=True)
    slopes = [zeros_like(v) if slope is None else slope for slope, v in zip(found, variables, strict=True)]
    return slopes, [jacobian(slope, variables, clock) for slope in slopes]


def jacobian_result(source: Source, span: Span, out: Tensor, variables: Mapping[str, Tensor]) -> Derivatives:
    """All first derivatives of `out`, the value of `source`, as plain data. Raises what the backward passes raise."""
    with _located(out, span):
        blocks = jacobian(out, list(variables.values()), limits.Clock())
    named = tuple(Block("out", name, tensor_value(block)) for name, block in zip(variables, blocks, strict=True))
    return Derivatives("jacobian", _output(source, out, None), _leaves(variables, None), named)


def hessian_result(source: Source, span: Span, out: Tensor, variables: Mapping[str, Tensor], with_gradient: bool = False) -> Derivatives:
    """All second derivatives of `out` as plain data, with value and gradient where these are wanted. Raises what the walks raise."""
    with _located(out, span):
        found, blocks = hessian(out, list(variables.values()), limits.Clock())
    slopes = found if with_gradient else None
    named = tuple(
        Block(row, column, tensor_value(block))
        for row, of_row in zip(variables, blocks, strict=True)
        for column, block in zip(variables, of_row, strict=True)
    )
    return Derivatives("hessian", _output(source, out, slopes), _leaves(variables, slopes), named)


@contextmanager
def _located(out: Tensor, span: Span) -> Iterator[None]:
    """A block whose errors say where the expression failed."""
    try:
        yield
    except GradcliError as error:
        locate_error(error, out, span)
        raise


def _output(source: Source, out: Tensor, slopes: Sequence[Tensor] | None) -> Row:
    node = out.grad_fn
    ones = () if slopes is None else (tensor_value(ones_like(out)),)
    return Row("out", source.text.strip(), node.type_name if node else "-", tensor_value(out), ones)


def _leaves(variables: Mapping[str, Tensor], slopes: Sequence[Tensor] | None) -> tuple[Row, ...]:
    gradients = [()] * len(variables) if slopes is None else [(tensor_value(Tensor(slope.array, slope.dtype)),) for slope in slopes]
    return tuple(
        Row(name, "leaf", "AccumulateGrad", tensor_value(variable), of_one)
        for (name, variable), of_one in zip(variables.items(), gradients, strict=True)
    )
