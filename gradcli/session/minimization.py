"""Minimising an expression over the bound variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gradcli import limits
from gradcli.analysis.minimize import METHODS, Descent, Progress
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import GradcliError
from gradcli.results.derivatives import Found, Minimum
from gradcli.session.gradients import locate_error
from gradcli.session.result_values import tensor_value
from gradcli.source import Span

__all__ = ["METHODS", "Progress", "minimum"]


def minimum(
    expression: str,
    span: Span,
    evaluate: Callable[[], Tensor],
    variables: Mapping[str, Tensor],
    *,
    method: str,
    lr: float | None,
    steps: int,
    tolerance: float,
    progress: Progress,
) -> Minimum:
    """Move the variables, in place, to where `evaluate` is smallest.

    `progress` gets the number of each step, the value and the norm of the gradient. Raises what `evaluate` and backward raise.
    """
    clock = limits.Clock()
    latest: list[Tensor] = []

    def timed() -> Tensor:
        clock.check()
        latest[:] = [evaluate()]
        return latest[0]

    starts = {name: tensor_value(wrap(np.array(variable.array), variable.dtype)) for name, variable in variables.items()}
    try:
        descent = Descent(timed, variables, method, lr)
        failure = descent.run(steps, tolerance, progress)
    except GradcliError as error:
        if error.span is None and latest:
            locate_error(error, latest[0], span)
        raise
    found = []
    for name, variable in variables.items():
        gradient = None if variable.grad is None else tensor_value(variable.grad)
        found.append(Found(name, starts[name], tensor_value(wrap(variable.array, variable.dtype)), gradient))
    return Minimum(expression, method, tuple(found), tensor_value(descent.value), descent.norm, descent.steps, failure, descent.diverged)
