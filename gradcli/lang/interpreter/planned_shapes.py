"""The plans of one shape of expressions, whose numbers are leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.core.plans import making
from gradcli.core.plans.making import Result
from gradcli.core.plans.plan import Plan
from gradcli.core.plans.watching import may_watch, watch
from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.compile_context import Compile, Context, Frame, Run
from gradcli.lang.interpreter.plannable import Leaves, is_number, value_of
from gradcli.lang.interpreter.planned import KEPT, TRIES, Parts, load_of, may_be_planned
from gradcli.lang.names import builtins
from gradcli.lang.syntax.nodes import Binary, Expr, Node, Step, children
from gradcli.lang.values.execution import execution


class Shape:
    """What the expressions of one shape have in common."""

    def __init__(self, leaves: Leaves, context: Context) -> None:
        parts = Parts([], [leaves], [None], [None])
        self._context = context
        self._loads = [load_of(name, context) for name in parts.first.values()]
        self._occurrences = [*parts.count.values()]
        # calls of bare `sum` and its like are noted at the prompt
        self._is_noted = context.one_off and not builtins.ONE_OFF.keys().isdisjoint(parts.first)
        self._plans: list[Plan] = []
        self._tries = TRIES

    def closure(self, node: Expr, leaves: Leaves, ordinary: Compile, context: Context) -> Run:
        """The closure of an expression of this shape, which is compiled when no plan holds for it."""
        numbers = [value_of(number) for number in leaves.numbers]
        loads, plans = self._loads, self._plans

        def run(frame: Frame) -> Any:
            if self._is_noted and execution.choices is not None:
                return ordinary(node, context.once())(frame)
            try:
                values = [load(frame) for load in loads]
            except Exception:  # the ordinary way raises it when it comes to the name
                return ordinary(node, context.once())(frame)
            origin = _last(node)
            for plan in plans:
                made = plan.run(values, numbers, origin)
                if made is not None:
                    return made[0]
            return self._without(ordinary(node, context.once()), frame, values, _Text(origin, leaves, numbers))

        return run

    def _without(self, run: Run, frame: Frame, values: Sequence[Any], text: _Text) -> Any:
        """The value of an expression for which no plan holds; one is made of its evaluation if it can be."""
        if not self._tries or not may_watch() or not all(map(may_be_planned, values)):
            return run(frame)
        self._tries -= 1
        value, ran = watch(lambda: run(frame))
        plan = None if ran is None else making.make(values, self._occurrences, ran, [Result(value, 0, True)], text)
        if plan is not None:
            self._plans.append(plan)
            del self._plans[:-KEPT]
            if compile_context.plans == "first":
                again = plan.run(values, text.numbers, text.last)
                value = value if again is None else again[0]
        return value


class _Text:
    """The numbers of an expression, and the places of its operations."""

    def __init__(self, last: Node, leaves: Leaves, numbers: Sequence[float]) -> None:
        self.last = last
        self.numbers = numbers
        self._literals = leaves.numbers
        self._places = _origins(last)

    def number_at(self, origin: Any, value: Any) -> int | None:
        """Which of the numbers is `value`, an operand of the operation with this origin; None where it is none of them."""
        operands = (origin.left, origin.right) if type(origin) is Step else ()
        for i, (literal, number) in enumerate(zip(self._literals, self.numbers, strict=True)):
            if any(operand is literal for operand in operands) and type(value) is type(number) and value == number:
                return i
        return None

    def place_of(self, origin: Any) -> int:
        """The place of an origin among those of the expression. Raises LookupError."""
        for i, one in enumerate(self._places):
            if one is origin or (type(one) is type(origin) is Step and one.right is origin.right):
                return i
        raise LookupError

    @staticmethod
    def origins(last: Node) -> list[Node]:
        """The places of the operations of an expression with the same shape from that of the last, which comes first."""
        return _origins(last)


def _last(node: Expr) -> Node:
    """The place of the last operation of an expression."""
    return node.steps()[-1] if type(node) is Binary else node


def _origins(last: Node) -> list[Node]:
    """The places of all operations of an expression from that of the last, in the same order for all expressions of one shape."""
    found: list[Node] = []
    stack = [last]
    while stack:
        at = stack.pop()
        if type(at) is Binary:
            at = _last(at)
        found.append(at)
        parts = (at.left, at.right) if type(at) is Step else children(at)
        stack += [part for part in parts if not is_number(part)]
    return found
