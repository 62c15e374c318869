"""Statements that write in place, by a plan where one holds, else in the ordinary way, which is watched to make the next plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from gradcli.core.plans import update_plan
from gradcli.core.plans.update_plan import UpdatePlan, UpdateRepetition
from gradcli.core.plans.watching import may_watch, watch_writes
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.interpreter.compile_context import Context, Frame, Part, Repeated, Run
from gradcli.lang.interpreter.plans.expressions import KEPT, MISSES, TRIES, is_large, key_of, load_of, may_be_planned
from gradcli.lang.interpreter.plans.plannable import Updates
from gradcli.lang.syntax.nodes import Attribute


def planned_updates(run: Run, updates: Updates, drops: Sequence[Run], context: Context, part: Part | None) -> Run:
    """The closure of statements that write in place from their second time on; `run` carries them out in the ordinary way.

    `drops` are the closures of those among them that no plan carries out. `part` of the body of a loop gets a function that begins to
    repeat them.
    """
    operands = Counter(map(key_of, updates.operands))
    first = {key_of(name): name for name in (*updates.operands, *updates.others)}
    occurrences = [operands[key] for key in first]
    loads = [load_of(name, context) for name in first.values()]
    plans: list[UpdatePlan] = []
    tries, misses = TRIES, 0
    current: Run = run

    def update(frame: Frame) -> Any:
        try:
            values = [load(frame) for load in loads]
        except Exception:  # evaluation in the ordinary way raises the error, at the name
            return run(frame)
        for plan in plans:
            if plan.run(values):
                for drop in drops:
                    drop(frame)
                return None
        return without(frame, values)

    def without(frame: Frame, values: list[Any]) -> Any:
        nonlocal current, tries, misses
        misses += 1
        if misses > MISSES:
            current = run
        if not tries or is_large(values) or not may_watch() or not all(map(may_be_planned, values)):
            return run(frame)
        tries -= 1
        before = [value.array.copy("K") if type(value) is Tensor else None for value in values]
        _, watching = watch_writes(lambda: run(frame))
        plan = None if watching is None else update_plan.make(values, before, occurrences, watching)
        if plan is not None:
            if len(plans) == KEPT:
                del plans[0]
            plans.append(plan)
        return None

    if part is not None:
        owners = [(i, context.expression(name.value)) for i, name in enumerate(first.values()) if isinstance(name, Attribute)]

        def begin(frame: Frame) -> Repeated:
            values = [load(frame) for load in loads]
            return RepeatedUpdates(plans, values, [(i, owner(frame)) for i, owner in owners], drops)

        part.begin = begin
    current = update
    return lambda frame: current(frame)


class RepeatedUpdates:
    """Statements that write in place. Some values are gradients, each with the tensor whose gradient it is.

    Raises an error where no plan holds.
    """

    def __init__(
        self, plans: Sequence[UpdatePlan], values: list[Any], gradients: Sequence[tuple[int, Tensor]], drops: Sequence[Run]
    ) -> None:
        self._drops = drops
        self._run = self._repetition(plans, values, gradients).run

    @staticmethod
    def _repetition(plans: Sequence[UpdatePlan], values: list[Any], gradients: Sequence[tuple[int, Tensor]]) -> UpdateRepetition:
        for plan in plans:
            try:
                return UpdateRepetition(plan, values, gradients)
            except LookupError:
                pass
        raise LookupError

    def again(self, frame: Frame) -> bool:
        """Run once more; False, with nothing done, where the ordinary way has to."""
        if not self._run():
            return False
        for drop in self._drops:
            drop(frame)
        return True

    def settle(self, frame: Frame) -> None:
        """Nothing: no name gets another value."""
