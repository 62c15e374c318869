"""Minimising an expression over the bound variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gradcli import limits
from gradcli.analysis.minimize import METHODS, Descent, Progress
from gradcli.analysis.stationary import Kind, Point, has_curvatures
from gradcli.core.autograd import backward
from gradcli.core.kernels import Array
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import GradcliError, ProgramError
from gradcli.results.derivatives import Found, Minimum
from gradcli.session.derivatives import hessian
from gradcli.session.gradients import locate_error
from gradcli.session.result_values import tensor_value
from gradcli.source import Span

__all__ = ["METHODS", "Progress", "minimum"]

#: the most steps for which another start is tried, and the most numbers of a start that is written out
_TRIED, _WRITTEN = 2000, 16
#: what is said of a point that no step lowers, though the gradient is not zero
_REST = "no small step lowers the value, though the gradient's norm is"


def minimum(
    expression: str,
    evaluate: Callable[[], Tensor],
    walk: Callable[[], Tensor],
    variables: Mapping[str, Tensor],
    *,
    method: str,
    lr: float | None,
    steps: int,
    tolerance: float,
    progress: Progress,
    examined: bool = True,
) -> Minimum:
    """Move the variables, in place, to where `evaluate` is smallest; `walk` evaluates and walks back from the value.

    `progress` gets the number of each step, the value and the norm of the gradient. Unless the end is `examined`, a point where the
    gradient is nearly zero is taken for a minimum. Raises what these raise.
    """
    clock = limits.Clock()

    def timed() -> Tensor:
        clock.check()
        return evaluate()

    def timed_walk() -> Tensor:
        clock.check()
        return walk()

    starts = {name: tensor_value(wrap(np.array(variable.array), variable.dtype)) for name, variable in variables.items()}
    descent = Descent(timed_walk, variables, method, lr)
    failure = descent.run(steps, tolerance, progress)
    kind, way, note = "", None, ""
    if examined and (not failure or descent.at_rest):
        kind, way = _kind(timed, descent, list(variables.values()), clock)
    found = []
    for name, variable in variables.items():
        gradient = None if variable.grad is None else tensor_value(variable.grad)
        found.append(Found(name, starts[name], tensor_value(wrap(np.array(variable.array), variable.dtype)), gradient))
    if descent.at_rest and not kind:
        failure, note = "", f"{_REST} {descent.norm:.3g}"
    elif not failure and kind:
        failure = f"this is {kind}: the gradient is nearly zero, and the value falls {_direction(found, way)}"
    else:
        kind = ""
    value = tensor_value(descent.value)
    restart = _restart(timed, timed_walk, variables, method, lr, tolerance, way, clock) if kind and way is not None else {}
    return Minimum(expression, method, tuple(found), value, descent.norm, descent.steps, failure, descent.diverged, kind, restart, note)


def walk_back(value: Tensor, span: Span) -> None:
    """Add gradients to the variables that `value` was computed from at `span`. Raises what `backward` raises, with its place."""
    try:
        backward.backward([value])
    except GradcliError as error:
        if error.span is None:
            locate_error(error, value, span)
        raise


def _kind(evaluate: Callable[[], Tensor], descent: Descent, variables: Sequence[Tensor], clock: limits.Clock) -> Kind:
    """What kind of point the variables are at, and the direction in which the value falls."""
    point = Point(evaluate, variables)
    curvatures = None
    if has_curvatures(variables) and not descent.at_rest:
        try:
            _, blocks = hessian(evaluate(), variables, clock)
        except ProgramError:
            pass  # an operation without second derivatives: steps along the axes tell
        else:
            sizes = [variable.array.size for variable in variables]
            rows = [[block.array.reshape(m, n) for block, n in zip(row, sizes, strict=True)] for row, m in zip(blocks, sizes, strict=True)]
            curvatures = np.block(rows).astype(np.float64)
    return point.kind(0.0 if descent.at_rest else descent.norm, curvatures)


def _direction(found: Sequence[Found], way: Array | None) -> str:
    """Where the value falls, in words; for a single number the sign tells."""
    if way is None or len(found) != 1 or way.size != 1:
        return "in a direction near by"
    return f"towards a {'larger' if way[0] > 0 else 'smaller'} {found[0].name}"


def _restart(
    evaluate: Callable[[], Tensor],
    walk: Callable[[], Tensor],
    variables: Mapping[str, Tensor],
    method: str,
    lr: float | None,
    tolerance: float,
    way: Array,
    clock: limits.Clock,
) -> dict[str, str]:
    """Other starts, as the command line takes them, from where the same method finds a minimum; none where it does not soon."""
    leaves = list(variables.values())
    point = Point(evaluate, leaves)
    if point.start.size > _WRITTEN:
        return {}
    try:
        for start in point.other_starts(way):
            point.move(start)
            texts = {name: _text(variable.array) for name, variable in variables.items()}
            descent = Descent(walk, variables, method, lr)
            failed = descent.run(_TRIED, tolerance, lambda step, value, norm: None)
            if not failed and not _kind(evaluate, descent, leaves, clock)[0]:
                return texts
    except ProgramError:
        pass  # this start leads to where the expression has no value
    finally:
        point.move(point.start)
    return {}


def _text(array: Array) -> str:
    """Numbers as the command line takes them."""
    if array.ndim == 0:
        return f"{float(array):.6g}"
    if array.ndim == 1 and array.size > 1:
        return ",".join(f"{number:.6g}" for number in array.tolist())
    return "[" + ",".join(_text(part) for part in array) + "]"
