"""The state of the program that runs: where its output goes, how deep its calls are, and how much of the limits it has used.

There is one `execution`. An interpreter fills it in when it starts to run and puts the previous state back afterwards.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol

from gradcli import limits
from gradcli.core.tensor.state import state
from gradcli.errors import DataError, GradcliError, Label, LimitError, ProgramError, is_exception_subtype
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.syntax.nodes import Attribute, ExprStmt, Node
from gradcli.source import Span

Display = Callable[[ExprStmt, Value], None]


def _nowhere(text: str) -> None:
    return None


class Files(Protocol):
    """The files that a program may save and load, by names within a folder. Methods raise errors of the program."""

    def read(self, name: str) -> bytes:
        """All bytes of a file."""

    def write(self, name: str, content: bytes) -> None:
        """Replace a file."""

    def size(self, name: str) -> int:
        """The bytes of a file."""

    def kind(self, name: str) -> str:
        """What a name stands for: "file", "folder", or "" for nothing."""

    def make_folder(self, name: str, parents: bool) -> None:
        """Make a folder, with `parents` those above it too."""

    def listed(self, name: str) -> list[str]:
        """The names in a folder, sorted."""

    def remove(self, name: str) -> None:
        """Delete a file."""


class Outside:
    """What a program reaches beside its output, filled in by whoever runs it: standard error, progress bars, figures, files.

    `progress(total)` begins a bar and gives the function that is told how far it is, None at the end, and the text. `draw` gets
    figures that are to be shown, or saved under a name, and gives what is to be printed.
    """

    __slots__ = ("draw", "figures", "files", "progress", "write_error")

    def __init__(
        self,
        write_error: Callable[[str], None] = _nowhere,
        progress: Callable[[float | None], Callable[[float | None, str], None]] | None = None,
        draw: Callable[[object, str | None], str] | None = None,
        files: Files | None = None,
    ) -> None:
        #: the figures that are open, the current one last
        self.figures: list[object] = []
        self.write_error = write_error
        self.progress = progress
        self.draw = draw
        self.files = files


class Addresses:
    """Gives each object a small number of its own, for `<MulBackward0 object at 0x1>` and `id(x)`."""

    __slots__ = ("_next", "_numbers")

    def __init__(self) -> None:
        #: by `id` of the object; an entry goes with its object, so that a new object at the same address gets a new number
        self._numbers: dict[int, tuple[int, object]] = {}
        self._next = 1

    def of(self, value: object) -> int:
        """The number of `value`."""
        key = id(value)
        known = self._numbers.get(key)
        if known is not None:
            return known[0]
        number = self._next
        self._next += 1
        try:
            # called without code of Python, in which an interrupt would be lost
            kept: object = weakref.ref(value, partial(self._numbers.pop, key))
        except TypeError:
            kept = value  # it takes no weak references, so it is kept alive and its id is not used again
        self._numbers[key] = (number, kept)
        return number


class Execution:
    """The state of the program that runs. Limits that are not in force are infinite."""

    __slots__ = (
        *("addresses", "choices", "deadline", "depth", "display", "filters", "handling", "loggers", "max_depth", "max_steps", "outside"),
        *("steps", "walk", "write", "written"),
    )

    def __init__(self) -> None:
        self.write: Callable[[str], None] = _nowhere
        #: called with the values of expression statements within blocks at the prompt; None elsewhere
        self.display: Display | None = None
        self.depth = 0
        self.max_depth: float = 500
        self.steps = 0
        self.max_steps: float = math.inf
        #: on time.monotonic's clock
        self.deadline: float = math.inf
        #: walks back from the value of an expression that is evaluated for its gradients
        self.walk: Callable[[Value], object] | None = None
        #: bytes of output so far
        self.written = 0
        self.addresses = Addresses()
        #: by the node of a call of bare `sum`, `max` ...: the function that it called, "torch", "python" or "both"; None if not noted
        self.choices: dict[object, str] | None = None
        #: the errors whose `except` clauses are running, innermost last
        self.handling: list[ProgramError] = []
        #: what `warnings.filterwarnings` asked for, the latest last: action, category, what the message begins with
        self.filters: list[tuple[str, str, str]] = []
        #: by name, the loggers of the program
        self.loggers: dict[str, Value] = {}
        self.outside = Outside()

    def put(self, values: tuple[Any, ...]) -> None:
        """Set all fields, in the order of the slots."""
        (
            self.addresses,
            self.choices,
            self.deadline,
            self.depth,
            self.display,
            self.filters,
            self.handling,
            self.loggers,
            self.max_depth,
            self.max_steps,
            self.outside,
            self.steps,
            self.walk,
            self.write,
            self.written,
        ) = values


execution = Execution()


def files(purpose: str) -> Files:
    """The files that the program may save and load. PermissionError, which names the `purpose`, where there are none."""
    if execution.outside.files is None:
        text = f"{purpose}: programs read and write no files, but in a folder that `gradcli run --files DIR` names"
        raise ProgramError("PermissionError", text)
    return execution.outside.files


def counting() -> bool:
    """Whether loops must count their steps: the compiler chooses slower code then."""
    now = limits.current
    return min(now.steps, now.time, now.list) < math.inf


def tick() -> None:
    """Count one step of a loop, or one call. Raises LimitError when steps, time or memory are used up."""
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


def ticking(values: Iterable[Value]) -> Iterator[Value]:
    """The same values; each counts as a step."""
    for value in values:
        tick()
        yield value


def too_deep() -> LimitError:
    """The error for calls that are nested too deeply."""
    return LimitError("calls", f"calls are nested more than {execution.max_depth:,.0f} deep")


def emit(text: str) -> None:
    """Write to the program's output. Raises LimitError."""
    count_output(text)
    execution.write(text)


def emit_error(text: str) -> None:
    """Write to standard error. Raises LimitError."""
    count_output(text)
    execution.outside.write_error(text)


def count_output(text: str) -> None:
    """Count text that is written, in bytes. Raises LimitError."""
    execution.written += limits.encoded_size(text)
    limits.check_output(execution.written)


def locate(error: GradcliError) -> None:
    """Give an error without a span the span of the operation that ran last.

    An error in a backward pass also gets a label at the forward operation whose derivative failed.
    """
    place = state.origin
    if isinstance(error, DataError):
        return  # the error concerns a file, not the program's text
    if error.span is None and isinstance(place, Node):
        # the caret points at the name of `value.name`
        error.span = Span(place.source, place.name_start, place.end) if type(place) is Attribute else place.span
        forward = error.backward_origin
        if isinstance(forward, Node) and forward is not place:
            error.labels.append(Label(forward.span, "the backward of this failed"))


#: of a warning that has been given: its category and text, and its place
WarningKey = tuple[str, str, str, int]


def warning_place() -> Span | None:
    """The place of a warning in the program."""
    found = state.origin
    return found.span if isinstance(found, Node) else None


def admits(category: str, message: str, inside: str, given: set[WarningKey]) -> bool:
    """Whether a warning is to be given: once for each text and line, like Python's default filter, unless the program set other filters.

    `inside` is a place in PyTorch's own code, "" for the line of the program; `given` has the warnings before it, and gets this one. Raises
    the warning where a filter makes an error of it.
    """
    action = next((what for what, kind, start in reversed(execution.filters) if _covers(kind, start, category, message)), "default")
    if action == "ignore":
        return False
    if action == "error":
        raise ProgramError(category, message)
    span = warning_place()
    where = (inside, 0) if span is None or inside else (span.source.name, span.source.position(span.start)[0])
    key = (category, message, *(("", 0) if action == "once" else where))
    if key in given and action not in ("always", "all"):
        return False
    given.add(key)
    return True


def _covers(kind: str, start: str, category: str, message: str) -> bool:
    """Whether a filter for a category, and messages that begin with `start`, covers a warning."""
    return is_exception_subtype(category, kind) and message.lower().startswith(start.lower())
