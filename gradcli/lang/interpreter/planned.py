"""Evaluating an expression by a plan where one holds, else in the ordinary way, which is watched to make the next plan."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gradcli.core.functions.function import Function
from gradcli.core.plans import making
from gradcli.core.plans.plan import Plan
from gradcli.core.plans.watching import may_watch, watch
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.plannable import FUNCTIONS
from gradcli.lang.names import builtins
from gradcli.lang.syntax.nodes import Attribute, Expr, Name
from gradcli.lang.values.execution import execution
from gradcli.lang.values.value_classes import Builtin, Namespace

#: how many plans an expression keeps, and how often it is watched at most: values of changing kinds are left to the ordinary way
_KEPT, _TRIES = 4, 12
#: after so many evaluations without a plan, plans are no longer looked for
_MISSES = 256

_MODULES = frozenset(("torch", "torch.nn", "torch.nn.functional"))
_PLAIN = frozenset((int, float, bool, str, type(None), Tensor))


def planned(run: Run, names: list[Expr], context: Context) -> Run:
    """The closure of an expression from its second evaluation on; `run` is the ordinary one."""
    count = Counter(_key(name) for name in names)
    first: dict[str, Expr] = {}
    for name in names:
        first.setdefault(_key(name), name)
    loads = [_load(name, context) for name in first.values()]
    occurrences = list(count.values())
    plans: list[Plan] = []
    tries, misses = _TRIES, 0
    current: Run = run
    # calls of bare `sum` and its like are noted at the prompt
    is_noted = context.one_off and not builtins.ONE_OFF.keys().isdisjoint(first)

    def evaluate(frame: Frame) -> Any:
        if is_noted and execution.choices is not None:
            return run(frame)
        try:
            values = [load(frame) for load in loads]
        except Exception:  # the ordinary way raises it when it comes to the name
            return run(frame)
        for plan in plans:
            made = plan.run(values)
            if made is not None:
                return made
        return without(frame, values)

    def without(frame: Frame, values: list[Any]) -> Any:
        nonlocal current, tries, misses
        misses += 1
        if misses > _MISSES:
            current = run
        if not tries or not may_watch() or not all(map(_may_be_planned, values)):
            return run(frame)
        tries -= 1
        result, ran = watch(lambda: run(frame))
        plan = None if ran is None else making.make(values, occurrences, ran, result)
        if plan is None:
            return result
        if len(plans) == _KEPT:
            del plans[0]
        plans.append(plan)
        if compile_context.plans != "first":
            return result
        again = plan.run(values)
        return result if again is None else again

    current = evaluate
    return lambda frame: current(frame)


def _key(name: Expr) -> str:
    return name.id if isinstance(name, Name) else f"{name.value.id}.grad"  # type: ignore[attr-defined]


def _load(name: Expr, context: Context) -> Run:
    if not isinstance(name, Attribute):
        return context.expression(name)
    owner = context.expression(name.value)

    def load(frame: Frame) -> Any:
        tensor = owner(frame)
        return tensor.grad if type(tensor) is Tensor else tensor

    return load


def _may_be_planned(value: Any) -> bool:
    """Whether a plan may hold for a value: a tensor, a number, or one of torch's functions or modules that only compute."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is Namespace:
        return value.path in _MODULES
    if kind is Builtin:
        return value is builtins.ONE_OFF.get(value.name)
    return kind is Function and value.name in FUNCTIONS
