"""Statements that write to tensors in place while nothing is recorded, such as `w -= lr * w.grad` and `w.grad.zero_()`, in one plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.core.graph.in_place import ZERO
from gradcli.core.kernels import Array, blocks
from gradcli.core.kernels.memory_format import followers, tell_followers
from gradcli.core.plans.plan import Plan, Step, carry_out
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
        slots = self.slots(values)
        if slots is None:
            return False
        self.carry_out(values, slots)
        return True

    def slots(self, values: Sequence[Any]) -> list[Any] | None:
        """The slots of names and constants; None where the plan does not hold."""
        slots = self._plan.slots(values)
        if slots is None or any(values[i].view is not None or not slots[i].flags.writeable for i, _ in self._written):
            return None
        return slots

    def carry_out(self, values: Sequence[Any], slots: list[Any]) -> None:
        """Carry out the statements. They compute from arrays of known kinds, as they did when the plan was made, so that no step fails."""
        blocks.settle()
        carry_out(self._steps, slots)
        for i, times in self._written:
            values[i].counter().count += times
            if followers:
                tell_followers(values[i].array)


class UpdateRepetition:
    """An `UpdatePlan` that runs for the same names, as a `BackwardRepetition` does.

    The values of some are gradients, each with the tensor whose gradient it is. Raises LookupError where the plan does not hold.
    """

    __slots__ = ("_begun", "_gradients", "_held", "_plan", "_values")

    def __init__(self, plan: UpdatePlan, values: list[Any], gradients: Sequence[tuple[int, Tensor]]) -> None:
        self._plan = plan
        self._values = values
        self._gradients = gradients
        self._begin()

    def _begin(self) -> None:
        begun = self._plan.slots(self._values)
        if begun is None:
            raise LookupError
        self._begun = begun
        self._held = [(value, value.array) for value in self._values if type(value) is Tensor]

    def run(self) -> bool:
        """Run once more. False, with nothing written, where the plan does not hold."""
        values = self._values
        for tensor, array in self._held:
            if tensor.array is not array:
                return False
        other = False
        for i, owner in self._gradients:
            if owner.grad is not values[i]:
                values[i] = owner.grad
                other = True
        if other:
            try:
                self._begin()
            except LookupError:
                return False
        self._plan.carry_out(values, self._begun.copy())
        return True


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
