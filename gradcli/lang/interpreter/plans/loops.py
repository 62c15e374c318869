"""Running the body of a loop by plans, without checking in each iteration what the others cannot have changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.lang.interpreter.compile_context import Frame, Part, Repeated, Run
from gradcli.lang.interpreter.plans.expressions import NUMBERS, find_zero_grad
from gradcli.lang.names.attributes import finder

_find_step = finder("step")

#: after so many iterations in a row that were not repeated as a whole, a loop is left to the ordinary way
_MISSES = 16


class RepeatedBody:
    """The body of a loop while it runs. `is_plain`: the iteration runs nothing of the program."""

    def __init__(self, parts: Sequence[Part], is_plain: bool) -> None:
        self._parts = parts
        self._misses = 0 if is_plain else _MISSES
        self._repeated: list[Repeated] = []

    def run(self, frame: Frame) -> Any:
        """Carry it out once; gives the signal of the first statement that has one."""
        if self._misses == _MISSES:
            return self._rest(0, frame)
        repeated = self._repeated
        for i, part in enumerate(self._parts):
            if i == len(repeated):
                if part.begin is None:
                    return self._rest(i, frame)
                try:
                    repeated.append(part.begin(frame))
                except Exception:  # evaluation in the ordinary way raises the error
                    return self._rest(i, frame)
            if part.shown:
                for one in repeated:
                    one.settle(frame)
            if not repeated[i].again(frame):
                return self._rest(i, frame)
        self._misses = 0
        return None

    def _rest(self, start: int, frame: Frame) -> Any:
        """Carry out the parts from `start` on in the ordinary way."""
        if self._misses < _MISSES:
            self._misses += 1
        if self._repeated:
            self.settle(frame)
        for part in self._parts[start:] if start else self._parts:
            signal = part.run(frame)
            if signal is not None:
                return signal
        return None

    def settle(self, frame: Frame) -> None:
        """Give the names that the body assigns their values."""
        repeated, self._repeated = self._repeated, []
        for one in repeated:
            one.settle(frame)


class RepeatedCall:
    """`step` of an optimiser, `zero_grad`, or `append` of a list. Raises LookupError where a class of the program or a hook is called."""

    def __init__(self, run: Run, owner: Any, method: str) -> None:
        from gradcli.core.optim.optimizer import Optimizer  # programs without optimisers do not load it

        self._run = run
        if method == "append":
            fits = type(owner) is list
        elif method == "zero_grad":
            fits = find_zero_grad(type(owner)) is not None
        else:
            fits = isinstance(owner, Optimizer) and _find_step(type(owner)) is not None and not [*owner.before, *owner.after]
        if not fits:
            raise LookupError

    def again(self, frame: Frame) -> bool:
        """Call it."""
        self._run(frame)
        return True

    def settle(self, frame: Frame) -> None:
        """Nothing: no name gets another value."""


class RepeatedTest:
    """An `if` whose test has nothing but names and numbers, as long as the test is false."""

    def __init__(self, test: Run, names: Sequence[Run]) -> None:
        self._test = test
        self._names = names

    def again(self, frame: Frame) -> bool:
        """Whether the test is false."""
        try:
            return all(type(name(frame)) in NUMBERS for name in self._names) and not self._test(frame)
        except Exception:  # evaluation in the ordinary way raises the error
            return False

    def settle(self, frame: Frame) -> None:
        """Nothing: no name gets another value."""
