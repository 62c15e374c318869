"""Elementwise steps over large arrays, carried out block by block, on all cores.

A program works on numbered places. An array that is read or written in full is cut into blocks; what only later steps need stands in a
buffer of one block, so that it stays in the cache; a single number is the same for each block.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.kernels import Array

#: cores that share the work
workers = max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)

#: the work of one thread at least, as elements of a sum; for less it costs more to wake it up
SHARE = 2_400_000
#: functions that take about as long as a sum, and how many sums any other function takes
_QUICK = frozenset((np.add, np.subtract, np.multiply, np.divide, np.negative, np.maximum, np.minimum, np.square, np.abs))
_SLOW = 6


class Step(NamedTuple):
    """`function(*operands, out=out)`; operands and `out` are places."""

    function: Callable[..., Any]
    operands: tuple[int, ...]
    out: int
    dtype: np.dtype[Any]


class Reduction(NamedTuple):
    """A reduction of all elements at a place: of each block first, then of what the blocks gave."""

    ufunc: Any
    place: int
    dtype: np.dtype[Any]


class BlockProgram:
    """Steps for arrays of one size. The places in `cut` have flat arrays of this size; results at other places have buffers."""

    __slots__ = ("_buffers", "_cost", "_cut", "_lines", "_reductions")

    def __init__(self, steps: Sequence[Step], cut: Sequence[int], reductions: Sequence[Reduction] = ()) -> None:
        self._cut = tuple(cut)
        self._lines = [(step.function, step.operands, step.out) for step in steps]
        self._reductions = tuple(reductions)
        self._cost = sum(1 if step.function in _QUICK else _SLOW for step in steps)
        self._buffers = _buffers(steps, {*cut}, {one.place for one in reductions})

    def run(self, values: Sequence[Any], size: int, block: int, even: bool = False) -> list[Any]:
        """Carry out the steps over arrays of `size` elements, and give the reductions. `values` has the arrays and numbers by place.

        `block` is the number of elements of a block; if `even`, blocks may have fewer, so that all threads have as many.
        """
        share = min(workers, self._cost * size // SHARE) or 1
        if share == 1 and size <= block:
            return self._run_whole([*values], size)
        if even:
            block = -(-size // (share * -(-size // (share * block))))
        count = -(-size // block)
        share = min(share, count)
        parts = [np.empty(count, one.dtype) for one in self._reductions]
        bounds = [count * k // share for k in range(share + 1)]
        waiting = [
            helpers.begin(partial(self._work, values, range(start, stop), size, block, parts)) for start, stop in pairwise(bounds[1:])
        ]
        try:
            self._work(values, range(bounds[1]), size, block, parts)
        finally:
            errors = [error for done in waiting if (error := done.get()) is not None]
        if errors:
            raise errors[0]
        return [one.ufunc.reduce(part) for one, part in zip(self._reductions, parts, strict=True)]

    def _run_whole(self, values: list[Any], size: int) -> list[Any]:
        """Carry out the steps over all elements at once."""
        for places, dtype in self._buffers:
            buffer = np.empty(size, dtype)
            for place in places:
                values[place] = buffer
        with np.errstate(all="ignore"):
            for function, operands, out in self._lines:
                function(*[values[place] for place in operands], out=values[out])
            return [one.ufunc.reduce(values[one.place]) for one in self._reductions]

    def _work(self, values: Sequence[Any], blocks: range, size: int, block: int, parts: list[Array]) -> None:
        """Carry out the steps over some of the blocks."""
        local = [*values]
        made = [(places, np.empty(min(block, size), dtype)) for places, dtype in self._buffers]
        cut = [(place, values[place]) for place in self._cut]
        width = 0
        with np.errstate(all="ignore"):
            for number in blocks:
                start = number * block
                stop = min(start + block, size)
                for place, flat in cut:
                    local[place] = flat[start:stop]
                if stop - start != width:
                    width = stop - start
                    for places, buffer in made:
                        for place in places:
                            local[place] = buffer[:width]
                for function, operands, out in self._lines:
                    function(*[local[place] for place in operands], out=local[out])
                for part, one in zip(parts, self._reductions, strict=True):
                    part[number] = one.ufunc.reduce(local[one.place])


def _buffers(steps: Sequence[Step], cut: set[int], reduced: set[int]) -> list[tuple[list[int], np.dtype[Any]]]:
    """The buffers, each with the places that stand in it one after the other."""
    last_use = {place: i for i, step in enumerate(steps) for place in step.operands}
    last_use |= dict.fromkeys(reduced, len(steps))
    free: dict[np.dtype[Any], list[int]] = {}
    made: list[tuple[list[int], np.dtype[Any]]] = []
    chosen: dict[int, int] = {}
    for i, step in enumerate(steps):
        ended = [chosen[place] for place in {*step.operands} if last_use[place] == i and place in chosen]
        in_place = isinstance(step.function, np.ufunc)  # a function of numpy may write to its operand
        for number in ended if in_place else ():
            free[made[number][1]].append(number)
        if step.out not in cut:
            spare = free.setdefault(step.dtype, [])
            if spare:
                chosen[step.out] = spare.pop()
            else:
                chosen[step.out] = len(made)
                made.append(([], step.dtype))
            made[chosen[step.out]][0].append(step.out)
        for number in () if in_place else ended:
            free[made[number][1]].append(number)
    return made


class Helpers:
    """Threads that wait for work. A process that is forked begins without them."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[tuple[Callable[[], object], SimpleQueue[BaseException | None]]] = SimpleQueue()
        self._count = 0

    def begin(self, work: Callable[[], object]) -> SimpleQueue[BaseException | None]:
        """Have a thread do some work; the queue gets the error that it ends with, or None."""
        done: SimpleQueue[BaseException | None] = SimpleQueue()
        self._tasks.put((work, done))
        if self._count < workers - 1:
            try:
                Thread(target=self._serve, daemon=True).start()
                self._count += 1
            except RuntimeError:  # the system gives no more threads
                if not self._count:
                    self._finish(*self._tasks.get())
        return done

    def _serve(self) -> None:
        while True:
            self._finish(*self._tasks.get())

    @staticmethod
    def _finish(work: Callable[[], object], done: SimpleQueue[BaseException | None]) -> None:
        try:
            work()
        except BaseException as error:  # raised again in the thread that waits
            done.put(error)
        else:
            done.put(None)


helpers = Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=helpers.__init__)  # type: ignore[misc]
