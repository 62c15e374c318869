"""Assignments and the `.backward()` of their last result in one pass over large arrays.

A `BackwardPlan` for large arrays, whose forward and backward steps are known as operations of numpy (`symbols.py`). What both need is
computed once. All operations between two reductions run together, block by block (`kernels/block_program.py`), so that few results are
written to memory: gradients, values of names, and what has to be reduced as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.core.kernels import Array, blocks
from gradcli.core.kernels.block_program import BlockProgram, Reduction, Step
from gradcli.core.plans.backward_plan import BackwardPlan, receiver
from gradcli.core.plans.making import Backward, Forward, Result
from gradcli.core.plans.slots import NoPlanError, StepError, require
from gradcli.core.plans.symbols import EXPAND, RESHAPE, Given, NotTraceableError, Reduce, Symbol, Symbolic, Trace
from gradcli.core.plans.watching import Ran
from gradcli.core.tensor.tensor import Tensor

#: arrays of fewer elements are summed and computed in PyTorch's order, which is no single operation of numpy
LEAST = (1 << 14) + 1


def large_shape(values: Sequence[Any]) -> tuple[int, ...] | None:
    """The shape of the large tensors among the values of names; None where there are none, or several shapes."""
    shapes = {one.array.shape for one in values if type(one) is Tensor and one.array.size >= LEAST}
    return shapes.pop() if len(shapes) == 1 else None


def make(values: Sequence[Any], occurrences: Sequence[int | None], ran: list[Ran], results: Sequence[Result]) -> list[FusedPass]:
    """The pass for assignments that were seen to run, as a list; an empty one where there can be none. Arguments are those of a plan.

    Raises StepError where a function is no operation of numpy on symbols, as it will be none the next time.
    """
    shape = large_shape(values)
    if shape is None:
        return []
    _carry_out(values)
    try:
        forward = _SymbolicForward(Trace(shape), values, occurrences, ran, results)
        require(forward.nodes and math.prod(forward.plan.shape) == 1)
        backward = _SymbolicBackward(forward)
        require(forward.plan.frees and not any(values[i].node is not None for i in forward.plan.outer))
        return [FusedPass(forward, backward.leaving)]
    except Exception as error:  # a function that is no such operation fails in many ways
        if type(error) is NoPlanError:
            return []
        raise StepError from error


def _carry_out(values: Sequence[Any]) -> None:
    """Carry out the chains that tensors wait for."""
    for value in values:
        array: Any = value.array if type(value) is Tensor else None
        if type(array) is blocks.Deferred:
            value.array = array.force()


class _SymbolicForward(Forward):
    """Makes the plan with symbols instead of arrays."""

    def __init__(
        self, trace: Trace, values: Sequence[Any], occurrences: Sequence[int | None], ran: list[Ran], results: Sequence[Result]
    ) -> None:
        self.trace = trace
        super().__init__(values, occurrences, ran, results, None)

    def check_array(self, array: Any) -> None:
        """Any size: symbols tell which arrays fit."""

    def given(self, array: Any, slot: int) -> Any:
        """The symbol of the array."""
        return self.trace.given(slot, array)

    def result(self, ran: Ran, given: list[int], arguments: list[Any], result: Any) -> Any:
        """Note the symbol."""
        array = ran.outs[0].array
        if type(result) is not Symbol or ran.op.view or result.shape != array.shape or result.dtype != array.dtype:
            raise NotTraceableError
        self.content.append(result)
        return ran.op.forward


class _SymbolicBackward(Backward):
    """Makes the backward steps with symbols."""

    xp = Symbolic()
    arrays = (Symbol, np.ndarray, np.generic)


class FusedPass(BackwardPlan):
    """The pass. `leaving` are the gradients that leave the plan, each with the number of its leaf."""

    __slots__ = ("_count", "_given", "_in_blocks", "_named", "_phases", "_root", "_size", "_symbols", "_totals")

    def __init__(self, forward: _SymbolicForward, leaving: Sequence[tuple[int, Any]]) -> None:
        plan, trace = forward.plan, forward.trace
        self._begin(plan)
        totals: list[Any] = [None] * len(plan.outer)
        for place, value in leaving:
            known = totals[place]
            totals[place] = value if known is None else known + value
        self._totals = [trace.lifted(total) for total in totals]
        self._root = forward.content[-1]
        self._named = [forward.content[one.slot] for one in plan.named]
        plan.backward, plan.blank = (), []
        #: the numbers of slots and symbols, and for the array of each name its slot and symbol
        self._count, self._symbols = len(forward.content), len(trace.symbols)
        self._given = [(one.step.slot, one) for one in trace.symbols if type(one.step) is Given]
        self._size = math.prod(trace.shape)
        self._in_blocks = self._size >= blocks.threshold
        self._phases = _phases(trace, [*self._totals, self._root, *self._named])

    def _forward(self, values: Sequence[Any]) -> list[Any] | None:
        """The slots of names and results, and behind them the gradients."""
        _carry_out(values)
        slots = self.plan.slots(values)
        if slots is None or any(receiver(values[i]) is None for i in self.plan.outer):
            return None
        content: list[Any] = [None] * self._symbols
        for slot, one in self._given:
            content[one.number] = slots[slot] if one.size > 1 else slots[slot].reshape(())
        try:
            for phase in self._phases:
                phase.run(content, self._size, self._in_blocks)
            totals = [_value(total, content) for total in self._totals]
            last, *named = _own([self._root, *self._named], content)
        except Exception:  # evaluation in the ordinary way raises the error, with its place
            return None
        made = _Slots(slots)
        made += [None] * (self._count - len(slots))
        for name, value in zip(self.plan.named, named, strict=True):
            made[name.slot] = value
        made[-1] = last
        made.totals = totals
        return made

    def totals(self, slots: list[Any]) -> list[Any]:
        """The gradients, which the forward pass has given."""
        assert type(slots) is _Slots
        totals, slots.totals = slots.totals, []
        return totals


class _Slots(list[Any]):
    """Slots, and the gradients of the leaves."""

    totals: list[Any]


class _Phase:
    """What happens between two reductions: single numbers first, then the large arrays, then the reductions that end it."""

    def __init__(self, numbers: list[Symbol], large: list[Symbol], written: set[int], inside: list[Symbol], whole: list[Symbol]) -> None:
        """`large` are the arrays to be computed, `written` those of them that are written to memory.

        The reductions `inside` are made block by block, those called `whole` of an array in memory.
        """
        self._numbers = numbers
        self._whole = whole
        self._inside = inside
        #: constants by place; places that are read from earlier symbols; places that are written
        self._values: list[Any] = []
        self._read: list[tuple[int, int, bool]] = []
        self._write: list[tuple[int, Symbol]] = []
        self._places: dict[Any, int] = {}
        computed = {one.number for one in large}
        steps = []
        for one in large:
            operands = tuple([self._place(operand, computed) for operand in one.inputs])
            place = self._places[one.number] = len(self._values)
            self._values.append(None)
            steps.append(Step(one.step, operands, place, one.dtype))
            if one.number in written:
                self._write.append((place, one))
        cut = [place for place, _, is_large in self._read if is_large] + [place for place, _ in self._write]
        reductions = [Reduction(one.step.ufunc, self._places[one.inputs[0].number], one.dtype) for one in inside]
        self._program = BlockProgram(steps, cut, reductions) if steps else None

    def _place(self, operand: Any, computed: set[int]) -> int:
        """The place of an operand."""
        key = operand.number if type(operand) is Symbol else ("constant", id(operand))
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self._values)
            self._values.append(None if type(operand) is Symbol else operand)
            if type(operand) is Symbol:
                assert operand.number not in computed
                self._read.append((place, operand.number, operand.size > 1))
        return place

    def run(self, content: list[Any], size: int, in_blocks: bool) -> None:
        """Compute the content of symbols by number: arrays, and numbers as arrays without dimensions."""
        for one in self._numbers:
            content[one.number] = value = np.empty((), one.dtype)
            one.step(*[content[operand.number] if type(operand) is Symbol else operand for operand in one.inputs], out=value)
        if self._program is not None:
            values = [*self._values]
            for place, number, is_large in self._read:
                values[place] = content[number].reshape(-1) if is_large else content[number]
            for place, one in self._write:
                content[one.number] = array = np.empty(one.shape, one.dtype)
                values[place] = array.reshape(-1)
            for one, total in zip(self._inside, self._program.run(values, size, blocks.BLOCK, not in_blocks), strict=True):
                content[one.number] = np.asarray(total)
        for one in self._whole:
            array = content[one.inputs[0].number]
            content[one.number] = np.asarray(
                blocks.reduced(one.step.ufunc, array) if in_blocks else one.step.ufunc.reduce(array, axis=one.step.axis)
            )


def _phases(trace: Trace, outputs: Sequence[Any]) -> list[_Phase]:
    """The phases that give some symbols.

    What a later phase needs of an earlier one is written to memory where the arrays are small enough for the cache. Larger arrays are
    computed again, and their sums are made of the sums of blocks, as in the ordinary way.
    """
    needed = _ancestors([one for one in outputs if type(one) is Symbol])
    in_blocks = math.prod(trace.shape) >= blocks.threshold
    computed = [one for one in needed if _is_computed(one)]
    reductions = [one for one in needed if type(one.step) is Reduce]
    inside = {one.number for one in reductions if in_blocks and _is_computed(one.inputs[0]) and one.step.ufunc in blocks.FUSED}
    written = {one.number for one in outputs if type(one) is Symbol and _is_computed(one)}
    written |= {one.inputs[0].number for one in reductions if one.number not in inside and _is_computed(one.inputs[0])}
    if not in_blocks:
        written |= {operand.number for one in computed for operand in one.inputs if _is_computed(operand) and operand.level < one.level}
    phases = []
    for level in range(max(one.level for one in needed) + 1):
        numbers = [one for one in needed if one.level == level and one.size == 1 and callable(one.step)]
        ending = [one for one in reductions if one.level == level + 1]
        ends = [one for one in computed if one.number in written and one.level == level]
        ends += [one.inputs[0] for one in ending if one.number in inside]
        done = {one.number for one in computed if one.number in written and one.level < level}
        large = [one for one in _ancestors(ends, done) if _is_computed(one) and one.number not in done]
        parts = [one for one in ending if one.number in inside]
        phases.append(_Phase(numbers, large, written, parts, [one for one in ending if one.number not in inside]))
    return phases


def _is_computed(one: Any) -> bool:
    """Whether a symbol is a large array that an operation gives."""
    return type(one) is Symbol and one.size > 1 and callable(one.step)


def _ancestors(ends: Iterable[Symbol], done: Iterable[int] = ()) -> list[Symbol]:
    """Symbols and all that they are made of, in the order of making, but for what comes before those that are done."""
    found: dict[int, Symbol] = {}
    waiting = [*ends]
    while waiting:
        one = waiting.pop()
        if one.number not in found:
            found[one.number] = one
            if one.number not in done:
                waiting += [operand for operand in one.inputs if type(operand) is Symbol]
    return [found[number] for number in sorted(found)]


def _own(outputs: Sequence[Symbol], content: list[Any]) -> list[Array]:
    """The arrays of outputs that the program can write to: no two of them share memory, with each other or with what was handed over."""
    made: list[Array] = []
    taken: set[int] = set()
    for one in outputs:
        base = one.inputs[0] if one.step is RESHAPE else one
        shared = base.step is EXPAND or type(base.step) is Given or base.number in taken
        taken.add(base.number)
        value = _value(one, content)
        made.append(np.array(value) if shared else value)
    return made


def _value(output: Any, content: list[Any]) -> Array:
    """The array of an output."""
    if type(output) is not Symbol:
        return np.asarray(output)
    if output.step is EXPAND:
        return np.broadcast_to(_value(output.inputs[0], content), output.shape)
    if output.step is RESHAPE:
        return _value(output.inputs[0], content).reshape(output.shape)
    value: Array = content[output.number]
    return value if value.shape == output.shape else value.reshape(output.shape)
