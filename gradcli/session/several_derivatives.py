"""Several kinds of derivatives of one value, so that an expression with random numbers is evaluated once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gradcli import limits
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import GradcliError
from gradcli.results import Derivatives, GradientTable
from gradcli.session import derivatives, gradients
from gradcli.source import Source, Span


class Wanted(NamedTuple):
    """Which derivatives."""

    gradient: bool
    jacobian: bool
    hessian: bool


def derived(
    source: Source, span: Span, out: Tensor, weights: Tensor | None, variables: Mapping[str, Tensor], wanted: Wanted
) -> tuple[GradientTable | None, Derivatives | None, Derivatives | None]:
    """What is wanted of `out`, the value of `source`; the gradient last, as its walk frees the graph. Raises what walking raises."""
    leaves = list(variables.values())
    first = second = None
    try:
        if wanted.jacobian:
            blocks = derivatives.jacobian(out, leaves, limits.Clock())
            first = derivatives.jacobian_result(source, out, variables, blocks)
        if wanted.hessian:
            _, squares = derivatives.hessian(out, leaves, limits.Clock())
            second = derivatives.hessian_result(source, out, variables, None, squares)
    except GradcliError as error:
        gradients.explain(error, out, span)
        raise
    table = None
    if wanted.gradient:
        table = gradients.gradient_table(source, span, out, [] if weights is None else [weights], variables)
    return table, first, second
