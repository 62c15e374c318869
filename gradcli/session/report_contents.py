"""The contents of a report of an expression or a script: the value, the explanation, and plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.analysis.recorder import Recorder, recorded
from gradcli.analysis.sampling import visible
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import GradcliError, LimitError, ProgramError, UsageError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax import parser
from gradcli.lang.syntax.nodes import origin_text
from gradcli.lang.values.value_classes import MISSING
from gradcli.results.explanations import Explanation
from gradcli.results.plots import Curve, Curves, HeatMap
from gradcli.results.reports import Report
from gradcli.session import explanation_subject, plotting
from gradcli.session.bindings import Bindings
from gradcli.session.explanation_subject import Subject, Walks, newest
from gradcli.session.result_values import result_value
from gradcli.source import Source, Span

Weigh = Callable[[Tensor], Tensor | None]

_POINTS, _GRID = 241, 41
#: at most so many variables have a plot each
_MOST_PLOTS = 4


def expression(interpreter: Interpreter, source: Source, weigh: Weigh, bindings: Bindings) -> Report:
    """The report of an expression. Raises LanguageError, ProgramError, LimitError."""
    evaluate, span = bindings.function(source)
    recorder, tree = Recorder(), parser.parse_expression(source)
    with recorded(recorder):
        value = interpreter.evaluate(tree)
    told: Explanation | None = None
    notes: tuple[str, ...] = ()
    if type(value) is Tensor and value.requires_grad:
        told = _explained(Subject(value, source, tree, recorder), interpreter, weigh)
    else:
        notes = ("no variable that requires grad leads to this value, so that there is no graph",)
    shown = result_value(value, interpreter.text, interpreter.text)
    ranges = {name: (start, end) for name, (start, end, _) in bindings.ranges.items()}
    plots = _plots(told, source.text.strip(), span, evaluate, bindings.variables, ranges)
    if at := ", ".join(f"{name} = {bindings.variables[name].item():.6g}" for name in ranges):
        notes += (f"graph and gradients are those at {at}",)
    computed = tuple((name, tree.source.text) for name, tree in bindings.computed.items())
    return Report(source.name, source.text, "", shown, told, computed, plots, "", notes)


def script(interpreter: Interpreter, source: Source, of: str | None, weigh: Weigh) -> Report:
    """The report of a script: of the name `of`; without it of the tensor of the last `backward()`, else of the newest with a graph.

    Raises LanguageError, ProgramError, LimitError, UsageError.
    """
    program = parser.parse_file(source)
    recorder, names = Walks(), _Watched()
    interpreter.move(names)
    with recorded(recorder):
        interpreter.run_file(program)
    root = recorder.root
    value: object = root
    name = None if root is None else _name_of(root, interpreter)
    if of is not None or root is None:
        name = newest(interpreter) if of is None else of
        value = MISSING if name is None else interpreter.get(name)

    def weights(out: Tensor) -> Tensor | None:
        given = weigh(out)
        return recorder.weights if given is None and out is root else given

    if of is not None and value is MISSING:
        raise UsageError(f"--of {of}: the script has no such name; it has {', '.join(interpreter.names()) or 'none'}")
    plots = tuple(_course(one, values) for one, values in names.courses.items() if len(values) > 2)[:_MOST_PLOTS]
    told: Explanation | None = None
    notes: tuple[str, ...] = ()
    if type(value) is Tensor and value.requires_grad:
        told = _explained(Subject(value, source, program, recorder), interpreter, weights)
    elif name is None:
        notes = ("no name of the script has a value with a graph",)
    else:
        notes = (f"{name} does not require grad, so that there is no graph",)
    known = None if name is None or value is MISSING else result_value(value, interpreter.text, interpreter.text)
    return Report(source.name, source.text, name or "", known, told, (), plots, "", notes)


def _name_of(value: Tensor, interpreter: Interpreter) -> str:
    """A name that is bound to the tensor, else the text of the operation that made it."""
    for name, one in interpreter.variables.items():
        if one is value and name.strip("_"):
            return name
    return "" if value.node is None else origin_text(value.node.origin)


def _explained(found: Subject, interpreter: Interpreter, weigh: Weigh) -> Explanation:
    names = {name: value for name, value in interpreter.variables.items() if name.strip("_")}
    return explanation_subject.explanation(found, names, weigh, full=False, gradients=True, drawn=False, strict=False)


# --- the course of a script's values -----------------------------------------------------------------


class _Watched(dict[str, Any]):
    """The names of a script. For each name it keeps the numbers with a graph that were assigned to it, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.courses: dict[str, list[float]] = {}

    def __setitem__(self, name: str, value: object) -> None:
        super().__setitem__(name, value)
        if type(value) is Tensor and value.grad_fn is not None and value.array.size == 1:
            self.courses.setdefault(name, []).append(float(value.array.reshape(())))


def _course(name: str, values: list[float]) -> Curves:
    numbers = np.asarray(values)
    defined = np.isfinite(numbers)
    low, high, _ = visible([numbers], False)
    curve = Curve(name, 0, numbers, defined[:-1] & defined[1:], defined)
    return Curves(f"{name}, each time that it is assigned", "time", np.arange(1.0, len(values) + 1), (curve,), low, high, (), False)


# --- plots of an expression -----------------------------------------------------------------------


def _plots(
    told: Explanation | None,
    text: str,
    span: Span,
    evaluate: plotting.Evaluate,
    variables: Mapping[str, Tensor],
    ranges: Mapping[str, tuple[float, float]],
) -> tuple[Curves | HeatMap, ...]:
    """A curve for each range or, without ranges, for each 0-d variable; a heat map for two; and the value along the gradient.

    Raises LimitError; a plot that fails otherwise is left out.
    """
    spans = dict(ranges) or {name: _around(value) for name, value in variables.items() if value.array.size == 1 and value.array.ndim == 0}
    kept = dict(variables)
    drawn: list[Curves | HeatMap] = []
    makers: list[Callable[[], Curves | HeatMap]] = []
    for name, ends in list(spans.items())[:_MOST_PLOTS]:
        makers.append(_curve_of(text, span, evaluate, name, ends))
    if len(spans) == 2:
        makers.append(_map_of(text, span, evaluate, spans))
    if not ranges and len(spans) < len(variables) and told is not None:
        leaves = [made for step in told.steps if step.is_leaf for made in step.outputs]
        gradients = {made.name: made.gradient.array for made in leaves if made.gradient is not None}
        moved = {name: value for name, value in kept.items() if name in gradients}
        if (reach := _reach(moved, gradients)) > 0:
            makers.append(_descent(text, span, evaluate, moved, gradients, reach))
    for make in makers:
        try:
            drawn.append(make())
        except LimitError:
            raise
        except GradcliError:
            # an expression that is not one number for each point cannot be drawn
            continue
        finally:
            evaluate(kept)
    return tuple(drawn)


def _around(value: Tensor) -> tuple[float, float]:
    number = float(value.array)
    wide = max(3.0, 2 * abs(number)) if np.isfinite(number) else 3.0
    return (number - wide, number + wide) if np.isfinite(number) else (-wide, wide)


def _curve_of(text: str, span: Span, evaluate: plotting.Evaluate, name: str, ends: tuple[float, float]) -> Callable[[], Curves]:
    return lambda: plotting.curves(text, span, evaluate, name, plotting.interval(*ends, None, _POINTS), 1)


def _map_of(text: str, span: Span, evaluate: plotting.Evaluate, spans: Mapping[str, tuple[float, float]]) -> Callable[[], HeatMap]:
    (first, of_first), (second, of_second) = spans.items()
    axes = (plotting.interval(*of_first, None, _GRID), plotting.interval(*of_second, None, _GRID))
    return lambda: plotting.heat_map(text, span, evaluate, (first, second), *axes, 1)


def _reach(moved: Mapping[str, Tensor], gradients: Mapping[str, Any]) -> float:
    """The largest step of gradient descent that is drawn; 0 where a gradient is 0 or not finite."""
    steepest = max((float(np.abs(gradients[name]).max(initial=0.0)) for name in moved), default=0.0)
    largest = max((float(np.abs(value.array).max(initial=0.0)) for value in moved.values()), default=1.0)
    return 2 * max(largest, 1.0) / steepest if np.isfinite(steepest) and np.isfinite(largest) and steepest else 0.0


def _descent(
    text: str, span: Span, evaluate: plotting.Evaluate, moved: Mapping[str, Tensor], gradients: Mapping[str, Any], reach: float
) -> Callable[[], Curves]:
    """A plot of the value after one step of gradient descent, over learning rates up to `reach`."""

    def after(values: Mapping[str, Tensor]) -> Tensor:
        if values["lr"].array.ndim:
            raise ProgramError("RuntimeError", "one step at a time")
        size = float(values["lr"].array)
        return evaluate({name: _stepped(value, gradients[name], size) for name, value in moved.items()})

    title = f"{text} after one step of gradient descent"
    return lambda: plotting.curves(title, span, after, "lr", plotting.interval(0.0, reach, None, 121), 0)


def _stepped(value: Tensor, gradient: Any, size: float) -> Tensor:
    made = wrap(np.asarray(dtypes.cast(value.array - size * gradient, value.dtype)), value.dtype)
    made.requires_grad = True
    return made
