"""From an expression and ranges of its variables to curves and heat maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gradcli import limits
from gradcli.analysis.sampling import MOST_CURVES, Sampler, Table, visible
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, UsageError
from gradcli.results.plots import Curve, Curves, HeatMap
from gradcli.results.values import Array
from gradcli.source import Span

Evaluate = Callable[[Mapping[str, Tensor]], Tensor]

_TIMES = ("", "d", "d²")


@limits.evaluating
def curves(expression: str, span: Span, evaluate: Evaluate, name: str, points: Array, order: int) -> Curves:
    """The values at `points` of the variable `name`, with derivatives up to `order`. Raises ProgramError, LimitError."""
    sampler = Sampler(evaluate, [name], order, limits.Clock().check)
    table = _sampled(sampler, [points], span)
    joined, poles = sampler.joined(points, table)
    notes = _notes(sampler, [name])
    orders = range(order + 1 if sampler.has_graph else 1)
    found = []
    for of in orders:
        for number, row in enumerate(table):
            # a derivative is shown, and joined to its neighbour, only where the function and its lower derivatives are
            whole = np.logical_and.reduce(joined[number][: of + 1])
            defined = np.logical_and.reduce([np.isfinite(values) for values in row[: of + 1]])
            label = _label(number, len(table), of, name)
            found.append(Curve(label, of, row[of], whole, defined))
            gone = np.isnan(row[of]) & np.logical_not(sum(map(np.isnan, row[:of]), np.zeros(len(points), bool)))
            if gone.any() and not sampler.missing:
                notes.append(_where_nan(label, points, gone, name))
    low, high, cut = visible([curve.values[curve.defined] for curve in found], poles)
    if cut:
        notes.append(f"shown from {low:.4g} to {high:.4g}: there is a pole")
    return Curves(expression, name, points, tuple(found), low, high, tuple(notes), sampler.at_once)


@limits.evaluating
def heat_map(expression: str, span: Span, evaluate: Evaluate, names: tuple[str, str], xs: Array, ys: Array, order: int) -> HeatMap:
    """The values on the grid of `xs` and `ys`, and with `order` 1 the gradient. Raises ProgramError, LimitError."""
    sampler = Sampler(evaluate, names, order, limits.Clock().check)
    grid = np.meshgrid(xs, ys)
    table = _sampled(sampler, [axis.ravel() for axis in grid], span)
    if len(table) > 1:
        raise _several(sampler, span)
    values, *gradients = (column.reshape(len(ys), len(xs)) for column in table[0])
    notes = _notes(sampler, names)
    if (missing := int(np.isnan(values).sum())) and not sampler.missing:
        notes.append("every value is nan" if missing == values.size else f"{missing:,} of {values.size:,} values are nan")
    low, high, cut = visible([values.ravel()], bool(np.isinf(values).any()), margin=0.0)
    if cut:
        notes.append(f"shown from {low:.4g} to {high:.4g}: there is a pole")
    drawn = tuple(gradients) if sampler.has_graph else ()
    return HeatMap(expression, names, xs, ys, values, drawn, low, high, tuple(notes), sampler.at_once)


def _sampled(sampler: Sampler, points: Sequence[Array], span: Span) -> Table:
    limits.check_elements(len(points[0]), dtypes.get_default().np.itemsize)
    try:
        table = sampler.sample(points)
    except ProgramError as error:
        error.span = error.span or span
        raise
    if len(table) > MOST_CURVES:
        raise _several(sampler, span)
    return table


def _several(sampler: Sampler, span: Span) -> ProgramError:
    text = f"a plot needs one number for each point, and this has shape {sampler.shape}"
    return ProgramError("RuntimeError", text, span=span, hints=["sum(...), mean(...) or an index make one number of it"])


def _label(number: int, count: int, order: int, name: str) -> str:
    which = f"f[{number}]" if count > 1 else "f"
    return which if not order else f"{_TIMES[order]}{which}/d{name}{'²' if order > 1 else ''}"


def _notes(sampler: Sampler, names: Sequence[str]) -> list[str]:
    notes = []
    if sampler.missing:
        points = "point has" if sampler.missing == 1 else "points have"
        notes.append(f"{sampler.missing:,} {points} no value: {sampler.reason}")
    if sampler.order and not sampler.has_graph:
        notes.append(f"no gradient: none leads from the value back to {' or '.join(names)}")
    return notes


def _where_nan(label: str, points: Array, gone: Array, name: str) -> str:
    """Where a curve has no value, by the flags of the points."""
    if gone.all():
        return f"{label} is nan everywhere"
    places = np.flatnonzero(gone)
    if places[-1] - places[0] + 1 > len(places):
        return f"{label} is nan at {len(places):,} of {len(points):,} points"
    first, last = points[places[0]], points[places[-1]]
    return f"{label} is nan at {name} = {first:.4g}" + ("" if first == last else f" to {last:.4g}")


def ends(low: object, high: object, name: str) -> tuple[float, float]:
    """The ends of a range as numbers, in ascending order. Raises UsageError."""
    start, end = sorted([_number(low, name), _number(high, name)])
    if start == end:
        raise UsageError(f"the range of {name} is a single point")
    return start, end


def interval(start: float, end: float, count: int | None, usual: int) -> Array:
    """`count` evenly spaced points, `usual` for None, in the default dtype. Raises UsageError."""
    count = usual if count is None else count
    if count < 2:
        raise UsageError("a range needs two points at least")
    limits.check_elements(count, dtypes.get_default().np.itemsize)
    if end - start > np.finfo(dtypes.get_default().np).max:
        raise UsageError(f"the range from {start:g} to {end:g} is wider than {dtypes.get_default().name} can tell")
    return np.asarray(dtypes.cast(np.linspace(start, end, count), dtypes.get_default()))


def _number(value: object, name: str) -> float:
    if type(value) is Tensor and value.array.size == 1:
        value = float(value.array.reshape(()))
    if not isinstance(value, (bool, int, float)) or not np.isfinite(value):
        raise UsageError(f"the range of {name} must go from one finite number to another")
    return float(value)
