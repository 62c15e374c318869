"""Statements that write to tensors in place while nothing is recorded, such as `w -= lr * w.grad` and `w.grad.zero_()`, in one plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.core.graph.in_place import ZERO
from gradcli.core.kernels import Array, blocks
from gradcli.core.plans.plan import Plan, Step
from gradcli.core.plans.slots import NoPlanError, Slots, require
from gradcli.core.plans.watching import Watching, Write
from gradcli.core.tensor.tensor import Tensor


class UpdatePlan:
    """The steps of such statements. A step without function writes its second slot to the first, which is that of a name."""

    __slots__ = ("_plan", "_steps", "_written")

    def __init__(self, plan: Plan, steps: Sequence[Step], written: Mapping[int, int]) -> None:
        self._plan = plan
        self._steps = tuple(steps)
        #: the slots that are written to, and how often
        self._written = tuple(written.items())

    def run(self, values: Sequence[Any]) -> bool:
        """Carry out the statements for the values of names; False, with nothing written, where the plan does not hold."""
        slots = self._plan.slots(values)
        if slots is None:
            return False
        for i, _ in self._written:
            if values[i].view is not None or not slots[i].flags.writeable:
                return False
        blocks.settle()
        carry_out(self._steps, slots)
        for i, times in self._written:
            values[i].counter().count += times
        return True


def carry_out(steps: Sequence[Step], slots: list[Any]) -> None:
    """Run the steps. They compute from arrays of known kinds, as they did when the plan was made, so that no step fails."""
    for function, first, second, is_scalar in steps:
        if function is None:
            slots[first][...] = slots[second]
            continue
        if second >= 0:
            result = function(slots[first], slots[second])
        elif second == -1:
            result = function(slots[first])
        else:
            result = function(*[slots[i] for i in first])
        slots.append(np.asarray(result) if is_scalar else result)


def make(values: Sequence[Any], before: Sequence[Array | None], occurrences: Sequence[int], watching: Watching) -> UpdatePlan | None:
    """The plan of statements that were watched, None where there can be none.

    `values` are those of their names, `before` copies of the arrays of these as they were, `occurrences` how often each is an operand.
    """
    try:
        return _Updates(values, before, occurrences, watching).made
    except NoPlanError:
        return None


class _Updates(Slots):
    """Makes the steps, which are carried out on the copies."""

    def __init__(self, values: Sequence[Any], before: Sequence[Array | None], occurrences: Sequence[int], watching: Watching) -> None:
        tensors = [value for value in values if type(value) is Tensor]
        require(bool(tensors) and tensors[0].dtype.is_plain and bool(watching.writes))
        super().__init__(values, watching.ran, tensors[0].dtype)
        self.content[: len(before)] = [value if array is None else array for value, array in zip(values, before, strict=True)]
        self.writes = [*watching.writes]
        uses = Counter(id(one) for ran in self.ran for one in ran.inputs if type(one) is Tensor)
        for write in self.writes:
            self._find_alias(write, uses)
        self.check_uses(occurrences, uses)
        self.number_constants()
        zero = np.zeros((), self.plan.dtype.np)
        self.plan.constants.append(zero)
        self.content.append(zero)
        self.steps: list[Step] = []
        self.written: dict[int, int] = {}
        self._zeros(0)
        for i, (ran, places) in enumerate(zip(self.ran, self.arguments, strict=True)):
            require(not ran.op.view and ran.outs[0].node is None)
            self.steps.append(self.step(ran, places))
            if self.writes and self.writes[0].after == i + 1 and self.writes[0].op is None:
                self._write(self.writes.pop(0).tensor, len(self.content) - 1)
            self._zeros(i + 1)
        require(not self.writes)
        for slot in self.written:
            require(self.content[slot].tobytes() == values[slot].array.tobytes() and values[slot].view is None)
        self.made = UpdatePlan(self.plan, self.steps, self.written)

    def _find_alias(self, write: Write, uses: Counter[int]) -> None:
        """An operation that writes its result was given an alias of the tensor, which counts as the tensor."""
        require(id(write.tensor) in self.slots and (write.op is None or write.op is ZERO))
        if write.op is None:
            require(write.after > 0)
            alias = self.ran[write.after - 1].inputs[0]
            require(type(alias) is Tensor and alias is not write.tensor and alias.array is write.tensor.array)
            self.slots[id(alias)] = self.slots[id(write.tensor)]
            uses[id(write.tensor)] += 1

    def _zeros(self, after: int) -> None:
        """The steps of the writes of zeros that came after so many operations."""
        while self.writes and self.writes[0].after == after and self.writes[0].op is ZERO:
            self._write(self.writes.pop(0).tensor, len(self.values) + len(self.plan.constants) - 1)

    def _write(self, tensor: Tensor, source: int) -> None:
        slot = self.slots[id(tensor)]
        self.steps.append((None, slot, source, False))
        self.content[slot][...] = self.content[source]
        self.written[slot] = self.written.get(slot, 0) + 1
