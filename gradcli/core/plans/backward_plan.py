"""Assignments and the `.backward()` of their last result in one plan.

A `BackwardPlan` carries out the steps of a `Plan`, and its backward steps right after them. Nothing can have happened in between, so no
node is walked through and no version is compared. Gradients that are the same each time, as those that a mean gives, are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from gradcli.core.graph.accumulation import accumulate
from gradcli.core.graph.namespaces import numeric
from gradcli.core.kernels import summation
from gradcli.core.plans.folded_node import gradients, is_quiet
from gradcli.core.plans.plan import Back, Plan, packed
from gradcli.core.tensor.tensor import Tensor

#: fewer elements are summed in another order
_LEAST = 8
#: two sums of fewer elements take less time one by one
_LARGE = 256


class BackwardPlan:
    """The plan of assignments, and of a backward pass from the last result, which has one element. Raises what a step raises."""

    __slots__ = ("_alike", "_back", "_blank", "_order", "_places", "_plan", "_together")

    def __init__(self, plan: Plan, slots: list[Any]) -> None:
        self._begin(plan)
        #: the constants and gradients of the backward pass, whose slots follow those of the forward pass
        self._blank: list[Any] = []
        self._back: tuple[Back, ...] = ()
        #: gradients that leave the plan and are summed together: their places among these, and the shape of the sums
        self._together: list[tuple[list[int], tuple[int, ...]]] = []
        self._number(slots)

    def _begin(self, plan: Plan) -> None:
        self._plan = plan
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
        plan = self._plan
        start, kept = len(found), len(plan.kept)
        slots = [*plan.kept, *range(start, start + len(plan.blank))]
        content = [*found, *plan.blank]
        content[slots[plan.root]] = _constant(np.ones(plan.shape, plan.dtype.np))
        constant = {*slots[kept:]} - {slots[to] for *_, to in plan.backward if to >= 0}
        #: the sums that vary, with what constants give to them first
        begun: dict[int, Any] = {}
        back: list[Back] = []
        #: by size and shape, the gradients that may be summed together: the places of their steps, and their own
        groups: dict[tuple[int, tuple[int, ...]], list[tuple[int, int]]] = {}
        leaving = 0
        for function, first, second, shape, to in plan.backward:
            given = [slots[at] for at in (first if second == -2 else (first,) if second < 0 else (first, second))]
            place = slots[to] if to >= 0 else -1
            value = content[given[0]] if function is None else function(*[content[at] for at in given])
            result = value if shape is None else numeric.sum_to(value, shape)
            varies = place in begun or not constant.issuperset(given)
            if varies:
                if shape is not None and place < 0 and _may_be_summed_together(value, shape):
                    groups.setdefault((value.size, shape), []).append((len(back), leaving))
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
        for (size, shape), places in groups.items():
            if len(places) > 2 or (len(places) == 2 and size > _LARGE):
                self._together.append(([own for _, own in places], shape))
                for step, _ in places:
                    back[step] = (*back[step][:3], None, -1)
        self._back = tuple(back)
        for slot in range(start, start + len(plan.blank)):
            if slot not in constant:
                content[slot] = begun.get(slot)
        self._blank = content[start:]

    def run(self, values: Sequence[Any], between: Callable[[], object] | None = None) -> list[Tensor] | None:
        """The results, after the backward pass from the last, from the values of names; None where the plan does not hold.

        `between` takes gradients away before the backward pass. Raises no error, and leaves all else as it was where it gives None.
        """
        plan = self._plan
        slots = self._forward(values)
        if slots is None:
            return None
        if between is not None:
            try:
                between()
            except Exception:  # the ordinary way raises it with its place
                return None
        leaves = [values[i] for i in plan.outer]
        if self._alike and len({*map(id, leaves)}) < len(leaves):
            return None  # a walk adds the sum of all gradients of a tensor at once
        exposed: list[Any] | None = None
        for leaf in leaves:
            if not takes_gradients(leaf):
                return None
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
            totals = self._backward(slots)
        except Exception:  # the ordinary way raises it with its place
            return None
        for place in self._order:
            accumulate(leaves[place], totals[place], False)
        if plan.frees:
            made[-1].node = plan.freed_node(made, leaves)
        else:
            made[-1].node = plan.node(made, values, [(leaf.sink(), 0) for leaf in leaves], slots)
        made[-1].requires_grad = True
        return made

    def _forward(self, values: Sequence[Any]) -> list[Any] | None:
        """The slots of the forward pass; None where the plan does not hold."""
        return self._plan.forward(values)

    def _backward(self, slots: list[Any]) -> list[Any]:
        """The gradients of the leaves, arrays that nothing else refers to."""
        found = gradients(self._back, slots + self._blank)
        for places, shape in self._together:
            for place, value in zip(places, summation.totals([found[place] for place in places]), strict=True):
                found[place] = np.asarray(value).reshape(shape)
        totals: list[Any] = [None] * len(self._plan.outer)
        for place, value in zip(self._places, found, strict=True):
            known = totals[place]
            totals[place] = value if known is None else known + value
        return totals


def takes_gradients(leaf: Tensor) -> bool:
    """Whether a gradient reaches the leaf without hooks, and without the error for a leaf that got another shape meanwhile."""
    if leaf.node is not None or leaf.view is not None:
        return False
    sink = None if leaf.accumulator is None else leaf.accumulator()
    return sink is None or (sink.hooks is None and sink.shape == leaf.array.shape)


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
