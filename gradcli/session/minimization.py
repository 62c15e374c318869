"""Minimising an expression over the bound variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gradcli import limits
from gradcli.analysis.minimize import METHODS, Descent, Progress
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import GradcliError
from gradcli.results import Found, Minimum
from gradcli.session.gradients import explain
from gradcli.session.result_values import shown
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
    """Move the variables, in place, to where `evaluate` gives the smallest value. Raises what evaluating raises."""
    clock = limits.Clock()
    latest: list[Tensor] = []

    def timed() -> Tensor:
        clock.check()
        latest[:] = [evaluate()]
        return latest[0]

    starts = {name: shown(wrap(np.array(variable.array), variable.dtype)) for name, variable in variables.items()}
    try:
        descent = Descent(timed, variables, method, lr)
        failure = descent.run(steps, tolerance, progress)
    except GradcliError as error:
        if error.span is None and latest:
            explain(error, latest[0], span)
        raise
    found = [
        Found(name, starts[name], shown(wrap(variable.array, variable.dtype)), None if variable.grad is None else shown(variable.grad))
        for name, variable in variables.items()
    ]
    return Minimum(expression, method, tuple(found), shown(descent.value), descent.norm, descent.steps, failure)
