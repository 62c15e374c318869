"""Assignments and the `.backward()` of their last result in one plan.

A `BackwardPlan` carries out the steps of a `Plan`, and its backward steps right after them. Nothing can have happened in between, so no
node is walked through and no version is compared. Gradients that are the same each time, as those that a mean gives, are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from gradcli.core.graph.accumulation import accumulate
from gradcli.core.graph.namespaces import numeric
from gradcli.core.kernels import summation
from gradcli.core.plans.folded_node import gradients, is_quiet
from gradcli.core.plans.plan import Back, Plan, carry_out, packed
from gradcli.core.tensor.node import AccumulateGrad, Edge
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor

#: fewer elements are summed in another order
_LEAST = 8
#: two sums of fewer elements take less time one by one
_LARGE = 256


class BackwardPlan:
    """The plan of assignments, and of a backward pass from the last result, which has one element. Raises what a step raises."""

    __slots__ = ("_alike", "_back", "_blank", "_last", "_order", "_places", "_steps", "_together", "plan")

    def __init__(self, plan: Plan, slots: list[Any]) -> None:
        self._begin(plan)
        self._steps = plan.steps
        #: the constants and gradients of the backward pass, whose slots follow those of the forward pass
        self._blank: list[Any] = []
        self._back: tuple[Back, ...] = ()
        #: gradients that leave the plan and are summed together: the place of each among these, and the shape of its sum
        self._together: list[list[tuple[int, tuple[int, ...]]]] = []
        #: what is summed for the last result, with the last of these; None where it is computed before the backward pass
        self._last: _Total | None = None
        self._number(slots)

    def _begin(self, plan: Plan) -> None:
        self.plan = plan
        #: for each gradient that leaves the plan, the place of its leaf in `plan.outer`
        self._places = [*range(len(plan.outer))] if plan.outward is None else plan.outward
        #: the places of the leaves, in the order in which the last gradient reaches each, as two leaves may have one tensor as `.grad`
        self._order = [*dict.fromkeys(reversed(self._places))][::-1]
        kinds = [plan.kinds[i] for i in plan.outer]
        #: whether two leaves are of one kind, and so may be one tensor with two names
        self._alike = len({*kinds}) < len(kinds)

    def _number(self, found: list[Any]) -> None:
        """Number the slots of the backward steps behind `found`, those of a forward pass, and carry out the steps.

        The steps between constants are not carried out again.
        """
        plan = self.plan
        start, kept = len(found), len(plan.kept)
        slots = [*plan.kept, *range(start, start + len(plan.blank))]
        content = [*found, *plan.blank]
        content[slots[plan.root]] = _constant(np.ones(plan.shape, plan.dtype.np))
        constant = {*slots[kept:]} - {slots[to] for *_, to in plan.backward if to >= 0}
        #: the sums that vary, with what constants give to them first
        begun: dict[int, Any] = {}
        back: list[Back] = []
        #: by size, the gradients that may be summed together: the places of their steps and their own, and the shapes of the sums
        groups: dict[int, list[tuple[int, int, tuple[int, ...]]]] = {}
        leaving = 0
        for function, first, second, shape, to in plan.backward:
            given = [slots[at] for at in (first if second == -2 else (first,) if second < 0 else (first, second))]
            place = slots[to] if to >= 0 else -1
            value = content[given[0]] if function is None else function(*[content[at] for at in given])
            result = value if shape is None else numeric.sum_to(value, shape)
            varies = place in begun or not constant.issuperset(given)
            if varies:
                if shape is not None and place < 0 and _may_be_summed_together(value, shape):
                    groups.setdefault(value.size, []).append((len(back), leaving, shape))
                back.append((function, *packed(given), shape, place))
            elif place < 0:
                back.append((None, len(content), -1, None, -1))
                content.append(_constant(result))
            if place < 0:
                leaving += 1
                continue
            known = content[place]
            if varies:
                begun.setdefault(place, known)
                constant.discard(place)
            else:
                constant.add(place)
            result = result if known is None else known + result
            content[place] = result if varies else _constant(result)
        last = _total_of(plan, found)
        if last is not None:
            groups[last.size] = groups.pop(last.size, [])  # the group of the last one moves to the end
        for size, places in groups.items():
            is_last = last is not None and size == last.size
            count = len(places) + is_last
            if places and (count > 2 or (count == 2 and size > _LARGE)):
                self._together.append([(own, shape) for _, own, shape in places])
                for step, _, _ in places:
                    back[step] = (*back[step][:3], None, -1)
                if is_last:
                    self._last = last
                    self._steps = plan.steps[:-1]
        self._back = tuple(back)
        for slot in range(start, start + len(plan.blank)):
            if slot not in constant:
                content[slot] = begun.get(slot)
        self._blank = content[start:]

    def run(self, values: Sequence[Any], between: Callable[[], object] | None = None) -> list[Tensor] | None:
        """The results, after the backward pass from the last, from the values of names; None where the plan does not hold.

        `between` takes gradients away before the backward pass. Raises no error, and leaves all else as it was where it gives None.
        """
        slots = self._forward(values)
        if slots is None:
            return None
        if between is not None:
            try:
                between()
            except Exception:  # evaluation in the ordinary way raises the error, with its place
                return None
        edges = self.edges(values, slots)
        if edges is None:
            return None
        try:
            totals = self.totals(slots)
        except Exception:  # evaluation in the ordinary way raises the error, with its place
            return None
        self.accumulate(values, totals)
        return self.results(values, edges, slots)

    def results(self, values: Sequence[Any], edges: list[Edge], slots: list[Any]) -> list[Tensor]:
        """The results after the passes."""
        plan = self.plan
        made = plan.results(slots)
        made[-1].node = plan.freed_node(made, edges) if plan.frees else plan.node(made, values, edges, slots)
        made[-1].requires_grad = True
        return made

    def accumulate(self, values: Sequence[Any], totals: Sequence[Any]) -> None:
        """Add the gradients to those of the leaves."""
        outer = self.plan.outer
        for place in self._order:
            accumulate(values[outer[place]], totals[place], False)

    def edges(self, values: Sequence[Any], slots: Sequence[Any]) -> list[Edge] | None:
        """The edges to the accumulators of the leaves; None where somebody sees when a gradient is added to one."""
        plan = self.plan
        leaves = [values[i] for i in plan.outer]
        if self._alike and len({*map(id, leaves)}) < len(leaves):
            return None  # a walk adds the sum of all gradients of a tensor at once
        edges: list[Edge] = []
        exposed: list[Any] | None = None
        for leaf in leaves:
            sink = receiver(leaf)
            if sink is None:
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
        return edges

    def _forward(self, values: Sequence[Any]) -> list[Any] | None:
        """The slots of the forward pass; None where the plan does not hold."""
        slots = self.plan.slots(values)
        try:
            return None if slots is None else self.forward(slots)
        except Exception:  # evaluation in the ordinary way raises the error, with its place
            return None

    def forward(self, slots: list[Any]) -> list[Any]:
        """The slots of names, numbers and constants, which are given, and behind them those of the results. Raises what a step raises."""
        carry_out(self._steps, slots)
        if self._last is not None:
            slots.append(None)
        return slots

    def totals(self, slots: list[Any]) -> list[Any]:
        """The gradients of the leaves, arrays that nothing else refers to."""
        found = gradients(self._back, slots + self._blank)
        for places in self._together:
            arrays = [found[place] for place, _ in places]
            if self._last is not None and places is self._together[-1]:
                sums = summation.totals([*arrays, slots[self._last.slot]])
                slots[-1] = np.asarray(self._last.result(sums[-1], self._last.size))
            else:
                sums = summation.totals(arrays)
            for i, (place, shape) in enumerate(places):
                own = sums[i : i + 1].copy()
                found[place] = own if own.shape == shape else own.reshape(shape)
        totals: list[Any] = [None] * len(self.plan.outer)
        for place, value in zip(self._places, found, strict=True):
            known = totals[place]
            totals[place] = value if known is None else known + value
        return totals


class BackwardRepetition:
    """A `BackwardPlan` that runs for the same values, while nothing but plans and the like runs in between.

    What it holds for is checked once: nothing can change it but what `run` looks at. The results of the last run are made when somebody may
    read them. Raises LookupError where the plan does not hold.
    """

    __slots__ = ("_begun", "_edges", "_held", "_last", "_plan", "_values")

    def __init__(self, plan: BackwardPlan, values: Sequence[Any]) -> None:
        self._plan = plan
        begun = plan.plan.slots(values) if type(plan) is BackwardPlan and plan.plan.frees else None
        edges = None if begun is None else plan.edges(values, begun)
        if begun is None or edges is None:
            raise LookupError
        self._begin(values, begun)
        self._edges = edges
        #: the slots of the last pass, until its results are made
        self._last: list[Any] | None = None

    def _begin(self, values: Sequence[Any], begun: list[Any]) -> None:
        self._values, self._begun = values, begun
        self._held = [(value, value.array) for value in values if type(value) is Tensor]

    def replace(self, values: Sequence[Any]) -> bool:
        """Take other values, with the same leaves. False where the plan does not hold for them."""
        if all(map(is_, values, self._values)):
            return True
        if any(values[i] is not self._values[i] for i in self._plan.plan.outer):
            return False
        begun = self._plan.plan.slots(values)
        if begun is not None:
            self._begin(values, begun)
        return begun is not None

    def run(self, between: Callable[[], object] | None) -> bool:
        """Run once more, as `BackwardPlan.run` does. False, with all as it was, where the plan does not hold."""
        plan, count = self._plan, self._plan.plan.count
        skipped = 0 if self._last is None else count
        if state.sequence + skipped + count > state.recount:
            return False
        for tensor, array in self._held:
            if tensor.array is not array:
                return False
        try:
            slots = plan.forward(self._begun.copy())
            if between is not None:
                between()
            totals = plan.totals(slots)
        except Exception:  # evaluation in the ordinary way raises the error, with its place
            return False
        state.sequence += skipped
        self._last = slots
        plan.accumulate(self._values, totals)
        return True

    def value(self) -> Tensor:
        """The value of the whole expression in the last run, without node."""
        assert self._last is not None
        return Tensor(self._last[-1], self._plan.plan.dtype)

    def results(self) -> list[Tensor]:
        """The results of the last run; none where they have been made."""
        slots, self._last = self._last, None
        return [] if slots is None else self._plan.results(self._values, self._edges, slots)


def receiver(leaf: Tensor) -> AccumulateGrad | None:
    """The accumulator of a leaf that a gradient reaches as it is: without hooks, and with the shape and dtype of the graphs that use it."""
    if leaf.node is not None or leaf.view is not None:
        return None
    sink = leaf.sink()
    return sink if sink.takes_as_is() else None


class _Total(NamedTuple):
    """A result that is made of the sum of all elements of an array."""

    #: the slot of the array, and its number of elements
    slot: int
    size: int
    #: gives the result from the sum and that number
    result: Callable[[Any, int], Any]


def _total_of(plan: Plan, found: list[Any]) -> _Total | None:
    """How the last result of a forward pass comes of a sum that can be made after the backward pass; None where it cannot."""
    slot, result = plan.steps[-1][1], plan.nodes[-1].op.of_total
    if result is None or len(found) - 1 in plan.kept or not _may_be_summed_together(found[slot], ()):
        return None
    last = _Total(slot, found[slot].size, result)
    return last if np.asarray(result(summation.total(found[slot]), last.size)).tobytes() == found[-1].tobytes() else None


def _may_be_summed_together(value: Any, shape: tuple[int, ...]) -> bool:
    """Whether a gradient is summed to one element in the order of `summation.totals`."""
    if math.prod(shape) != 1 or value.dtype != np.float32 or not _LEAST <= value.size <= summation.LARGEST:
        return False
    return bool(type(value) is ndarray and value.flags.c_contiguous)


def _constant(value: Any) -> Any:
    """A gradient that no step may write to."""
    if type(value) is ndarray:
        value.flags.writeable = False
    return value
