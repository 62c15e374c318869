"""What running programs share: where output goes, how deep calls are, what has been used of the bounds.

There is one `runtime`; an interpreter puts its own output, warnings and counters in it for as long as it runs.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradcli import limits
from gradcli.core.tensor.node import state
from gradcli.errors import DataError, GradcliError, Label, LimitError, ProgramError
from gradcli.lang.syntax.nodes import Attribute, ExprStmt, Node
from gradcli.source import Span

Display = Callable[[ExprStmt, Any], None]


def _nowhere(text: str) -> None:
    return None


class Addresses:
    """Gives each object a small number of its own, for `<MulBackward0 object at 0x1>` and `id(x)`."""

    __slots__ = ("_next", "_numbers")

    def __init__(self) -> None:
        #: by host id; an entry goes when its object does, so that a new object at the same place gets a new number
        self._numbers: dict[int, tuple[int, Any]] = {}
        self._next = 1

    def of(self, value: object) -> int:
        """The number of `value`."""
        key = id(value)
        known = self._numbers.get(key)
        if known is not None:
            return known[0]
        number = self._next
        self._next += 1
        numbers = self._numbers
        try:
            kept: Any = weakref.ref(value, lambda _: numbers.pop(key, None))
        except TypeError:
            kept = value  # no weak references to it: kept alive, so that its id is not used again
        numbers[key] = (number, kept)
        return number


class Execution:
    """The state of the program that runs."""

    __slots__ = ("addresses", "deadline", "depth", "display", "handling", "max_depth", "max_steps", "steps", "write", "written")

    def __init__(self) -> None:
        self.write: Callable[[str], None] = _nowhere
        #: gets values of expression statements within blocks, as Python's prompt shows them; None elsewhere
        self.display: Display | None = None
        self.depth = 0
        self.max_depth: float = 500
        self.steps = 0
        self.max_steps: float = math.inf
        #: on time.monotonic's clock
        self.deadline: float = math.inf
        #: bytes of output so far
        self.written = 0
        self.addresses = Addresses()
        #: errors whose `except` blocks run now, innermost last
        self.handling: list[ProgramError] = []


execution = Execution()


def counting() -> bool:
    """Whether loops have to count: only then is the counting code chosen."""
    now = limits.current
    return min(now.steps, now.time, now.list) < math.inf


def tick() -> None:
    """One step of a loop, or one call. Raises LimitError when steps or time are used up."""
    execution.steps += 1
    if execution.steps > execution.max_steps:
        raise LimitError("steps", f"the program took more than {execution.max_steps:,.0f} steps")
    if not execution.steps & 63:
        limits.memory.check()
    check_time()


def check_time() -> None:
    """Raise LimitError when the time is up."""
    if execution.deadline < math.inf and time.monotonic() > execution.deadline:
        raise LimitError("time", f"the program ran for more than {limits.current.time:g} s")


def ticking(values: Iterable[Any]) -> Iterator[Any]:
    """The same values, each of them a step."""
    for value in values:
        tick()
        yield value


def too_deep() -> LimitError:
    """The error of calls nested too deeply."""
    return LimitError("calls", f"calls are nested more than {execution.max_depth:,.0f} deep")


def emit(text: str) -> None:
    """Write to the program's output."""
    count_output(text)
    execution.write(text)


def count_output(text: str) -> None:
    """Count what is written. Raises LimitError."""
    execution.written += limits.encoded_size(text)
    limits.check_output(execution.written)


def locate(error: GradcliError) -> None:
    """Give an error that has no place the place of the operation that ran last.

    One from a backward walk is labelled with the forward text whose rule failed, too.
    """
    place = state.origin
    if isinstance(error, DataError):
        return  # about a file or an output, not about the text
    if error.span is None and isinstance(place, Node):
        # what is wrong with `value.name` is the name
        error.span = Span(place.source, place.name_start, place.end) if type(place) is Attribute else place.span
        forward = error.backward_origin
        if isinstance(forward, Node) and forward is not place:
            error.labels.append(Label(forward.span, "the backward of this failed"))
