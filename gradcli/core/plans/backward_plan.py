"""Assignments and the `.backward()` of their last result in one plan.

A `BackwardPlan` carries out the steps of a `Plan`, and its backward steps right after them. Nothing can have happened in between, so no
node is walked through and no version is compared. Gradients that are the same each time, as those that a mean gives, are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from gradcli.core.graph.accumulation import accumulate
from gradcli.core.graph.namespaces import numeric
from gradcli.core.plans.folded_node import gradients, is_quiet
from gradcli.core.plans.plan import Back, Plan, packed
from gradcli.core.tensor.node import Edge
from gradcli.core.tensor.tensor import Tensor


class BackwardPlan:
    """The plan of assignments, and of a backward pass from the last result, which has one element. Raises what a step raises."""

    __slots__ = ("_back", "_blank", "_order", "_places", "_plan")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        #: for each gradient that leaves the plan, the place of its leaf in `plan.outer`
        self._places = [*range(len(plan.outer))] if plan.outward is None else plan.outward
        #: the places of the leaves, in the order in which gradients reach them
        self._order = [*dict.fromkeys(self._places)]
        #: the constants and gradients of the backward pass, whose slots follow those of the forward pass
        self._blank: list[Any] = []
        self._back: tuple[Back, ...] = ()
        self._number()

    def _number(self) -> None:
        """Number the slots of the backward steps behind those of the forward pass, and carry out the steps between constants."""
        plan = self._plan
        start, kept = len(plan.kinds) + len(plan.constants) + len(plan.steps), len(plan.kept)
        slots = [*plan.kept, *range(start, start + len(plan.blank))]
        sums = {slots[to] for *_, to in plan.backward if to >= 0}
        known = {slot: value for slot, value in zip(slots[kept:], plan.blank, strict=True) if slot not in sums}
        known[slots[plan.root]] = _constant(np.ones(plan.shape, plan.dtype.np))
        #: what constants give to sums whose other terms vary
        begun: dict[int, Any] = {}
        back: list[Back] = []
        for function, first, second, shape, to in plan.backward:
            given = [slots[at] for at in (first if second == -2 else (first,) if second < 0 else (first, second))]
            place = slots[to] if to >= 0 else -1
            if place in begun or not all(at in known for at in given):
                if place >= 0:
                    begun.setdefault(place, known.pop(place, None))
                back.append((function, *packed(given), shape, place))
                continue
            result = known[given[0]] if function is None else function(*[known[at] for at in given])
            result = _constant(result if shape is None else numeric.sum_to(result, shape))
            if place < 0:
                place = slots[-1] + 1
                slots.append(place)
                back.append((None, place, -1, None, -1))
            elif place in known:
                result = _constant(known[place] + result)
            known[place] = result
        self._back = tuple(back)
        self._blank = [known[slot] if slot in known else begun.get(slot) for slot in slots[kept:]]

    def run(self, values: Sequence[Any], between: Callable[[], object] | None = None) -> list[Tensor] | None:
        """The results, after the backward pass from the last, from the values of names; None where the plan does not hold.

        `between` takes gradients away before the backward pass. Raises no error, and leaves all else as it was where it gives None.
        """
        plan = self._plan
        slots = plan.forward(values)
        if slots is None:
            return None
        if between is not None:
            try:
                between()
            except Exception:  # the ordinary way raises it with its place
                return None
        leaves = [values[i] for i in plan.outer]
        edges: list[Edge] = []
        exposed: list[Any] | None = None
        for leaf in leaves:
            if leaf.node is not None or leaf.view is not None:
                return None
            sink = leaf.sink()
            if sink.hooks is not None:
                return None
            edges.append((sink, 0))
            grad = leaf.grad
            if grad is None and leaf.meta is None:
                continue
            if grad is not None:
                array = grad.array
                if (
                    type(array) is not ndarray
                    or grad.dtype is not leaf.dtype
                    or array.shape != leaf.array.shape
                    or not array.flags.writeable
                ):
                    return None
            if exposed is None:
                exposed = [slots[i] for i in plan.kept_leaves]
            if not is_quiet(leaf, exposed):
                return None
        made = plan.results(slots)
        try:
            found = gradients(self._back, slots + self._blank)
        except Exception:  # the ordinary way raises it with its place
            return None
        totals: list[Any] = [None] * len(leaves)
        for place, value in zip(self._places, found, strict=True):
            known = totals[place]
            totals[place] = value if known is None else known + value
        del found, value, known  # so that a leaf may take an array without a copy
        for place in self._order:
            accumulate(leaves[place], totals[place], False)
        made[-1].node = plan.freed_node(made, edges) if plan.frees else plan.node(made, values, edges, slots)
        made[-1].requires_grad = True
        return made


def _constant(value: Any) -> Any:
    """A gradient that no step may write to."""
    if type(value) is ndarray:
        value.flags.writeable = False
    return value
