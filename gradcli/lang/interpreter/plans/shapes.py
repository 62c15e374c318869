"""The plans of one shape of expressions, whose numbers are leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.plans import making
from gradcli.core.plans.making import Result
from gradcli.core.plans.plan import Plan
from gradcli.core.plans.watching import may_watch, watch
from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.plans.expressions import KEPT, TRIES, Parts, is_large, load_of, may_be_planned
from gradcli.lang.interpreter.plans.plannable import Leaves, is_number, leaves_of
from gradcli.lang.names import builtins
from gradcli.lang.syntax.nodes import Binary, Expr, Node, Step, children
from gradcli.lang.values.execution import execution


class Shape:
    """What the expressions of one shape have in common."""

    def __init__(self, leaves: Leaves, context: Context) -> None:
        parts = Parts([], [leaves], [None], [None])
        self._loads = [load_of(name, context) for name in parts.first.values()]
        self._occurrences = [*parts.count.values()]
        # calls of bare `sum` and its like are noted at the prompt
        self._is_noted = context.one_off and not builtins.ONE_OFF.keys().isdisjoint(parts.first)
        self._plans: list[Plan] = []
        self._tries = TRIES

    def closure(self, node: Expr, numbers: Sequence[float], ordinary: Callable[[], Run]) -> Run:
        """The closure of an expression of this shape with these numbers; `ordinary` compiles it, where no plan holds."""

        def run(frame: Frame) -> Any:
            if self._is_noted and execution.choices is not None:
                return ordinary()(frame)
            try:
                values = [load(frame) for load in self._loads]
            except Exception:  # evaluation in the ordinary way raises the error, at the name
                return ordinary()(frame)
            for plan in self._plans:
                made = plan.run(values, numbers, node)
                if made is not None:
                    return made[0]
            value, new = self._without(ordinary(), frame, values, _Text(node, numbers))
            again = new.run(values, numbers, node) if new is not None and compile_context.plans == "first" else None
            return value if again is None else again[0]

        return run

    def _without(self, run: Run, frame: Frame, values: Sequence[Any], text: _Text) -> tuple[Any, Plan | None]:
        """The value of an expression for which no plan holds, and the plan that was made of its evaluation, if any."""
        if not self._tries or is_large(values) or not may_watch() or not all(map(may_be_planned, values)):
            return run(frame), None
        self._tries -= 1
        value, ran = watch(lambda: run(frame))
        plan = None if ran is None else making.make(values, self._occurrences, ran, [Result(value, 0, True)], text)
        if plan is not None:
            self._plans.append(plan)
            del self._plans[:-KEPT]
        return value, plan


class _Text:
    """The numbers of an expression, and the places of its operations."""

    def __init__(self, node: Expr, numbers: Sequence[float]) -> None:
        leaves = leaves_of(node, modules=False)
        self.numbers = numbers
        self._literals = leaves.numbers if leaves else ()
        self._places = self.origins(node)

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
    def origins(node: Node) -> list[Node]:
        """The places of the operations, that of the last first, in the same order for all expressions of one shape."""
        found: list[Node] = []
        stack = [node]
        while stack:
            at = stack.pop()
            if type(at) is Binary:
                at = at.steps()[-1]
            found.append(at)
            parts = (at.left, at.right) if type(at) is Step else children(at)
            stack += [part for part in parts if not is_number(part)]
        return found
