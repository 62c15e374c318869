"""The bounds on what a program may use: their names and defaults, the strict set for untrusted text, and the checks.

One `Limits` is in force at a time: `limits.current`, which every check reads.
"""

from __future__ import annotations

import gc
import math
import os
import re
import sys
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from gradcli.errors import LimitError, UsageError

NONE = math.inf

#: thresholds of Python's garbage collector while a program runs, and in the process `gradcli`: to scan a large graph, or the modules
#: of a start, again and again would take much time. The limit on memory collects garbage before it refuses.
COLLECT = (100_000, 20, 10)

#: a call of `lasting` that makes more new objects than this lets them join the collector's oldest generation
_MANY = 50_000


def _three_quarters_of_memory() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4
    except (ValueError, OSError, AttributeError):
        return NONE


class Limits:
    """The bounds; `math.inf` stands for no bound.

    `source`, `bytes` and `output` are in bytes, `string` in characters, `time` in seconds, `work` in multiply-adds of one
    call. The others are counts: of levels, elements, items, digits, calls, nodes and steps.
    """

    __slots__ = (
        *("source", "nesting", "blocks", "elements", "bytes", "work", "string", "list", "digits", "calls", "nodes", "steps", "output"),
        *("time", "untrusted"),
    )

    def __init__(
        self,
        *,
        source: float = 16 * 2**20,
        nesting: float = 200,
        blocks: float = 100,
        elements: float = NONE,
        bytes: float = NONE,
        work: float = NONE,
        string: float = 64 * 2**20,
        list: float = NONE,
        digits: float = 4300,
        calls: float = 500,
        nodes: float = NONE,
        steps: float = NONE,
        output: float = NONE,
        time: float = NONE,
        untrusted: bool = False,
    ) -> None:
        self.source = source
        self.nesting = nesting
        self.blocks = blocks
        self.elements = elements
        self.bytes = bytes
        self.work = work
        self.string = string
        self.list = list
        self.digits = digits
        self.calls = calls
        self.nodes = nodes
        self.steps = steps
        self.output = output
        self.time = time
        self.untrusted = untrusted

    def changed(self, **values: float) -> Limits:
        """A copy with other values for some bounds; these bounds themselves for none."""
        if not values:
            return self
        kept: dict[str, float] = {name: getattr(self, name) for name in self.__slots__}
        return Limits(**{**kept, **values})  # type: ignore[arg-type]


def default() -> Limits:
    """The bounds of ordinary use, which no ordinary program reaches."""
    return Limits(bytes=_three_quarters_of_memory())


def strict() -> Limits:
    """The bounds of `--untrusted`."""
    return Limits(
        source=256 * 2**10,
        nesting=200,
        blocks=100,
        elements=1e7,
        bytes=256 * 2**20,
        work=2e10,
        string=2**20,
        list=1e6,
        digits=4300,
        calls=200,
        nodes=1e6,
        steps=1e6,
        output=16 * 2**20,
        time=8,
        untrusted=True,
    )


#: the names that `--limit` takes
NAMES = tuple(name for name in Limits.__slots__ if name != "untrusted")

current: Limits = Limits()


def use(limits: Limits) -> None:
    """Put `limits` in force."""
    global current
    if limits is current:
        return
    current = limits
    # CPython has a bound of its own on the conversion between integers and decimal text, which is at least 640
    sys.set_int_max_str_digits(0 if limits.digits > sys.maxsize >> 32 else max(640, int(limits.digits)))


_SUFFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "s": 1.0}
_VALUE = r"([0-9]{1,18}(?:\.[0-9]{1,18})?(?:e[0-9]{1,2})?)(k|M|G|KiB|MiB|GiB|s|)"


def parse(text: str) -> tuple[str, float]:
    """`NAME=VALUE` of `--limit` as a pair, with `math.inf` for `none`. Raises UsageError."""
    name, equals, value = text.partition("=")
    if name not in NAMES:
        raise UsageError(f"unknown limit {name!r}; the limits are {', '.join(NAMES)}", hints=["--limit takes NAME=VALUE, as in time=10s"])
    if value == "none":
        return name, NONE
    match = re.fullmatch(_VALUE, value)
    if not equals or match is None or (match[2] == "s") > (name == "time"):
        raise UsageError(f"the value of the limit {name!r} must be a number such as 1000, 64MiB or 8s, or none, not {value!r}")
    return name, float(match[1]) * _SUFFIXES[match[2]]


def with_options(options: list[str], *, untrusted: bool = False) -> Limits:
    """The bounds that `--untrusted` and the `--limit NAME=VALUE` options ask for. Raises UsageError."""
    base = strict() if untrusted else default()
    chosen = dict(parse(option) for option in options)
    for name, value in chosen.items():
        if untrusted and value == NONE:
            raise UsageError(f"--limit {name}=none cannot be used with --untrusted")
    return base.changed(**chosen)


def _uncounted() -> None:
    return None


class Evaluation:
    """How many evaluations of a program are under way. A guard allows less while there are any; they may be nested.

    `tick` counts one step of the program that runs; walks through values call it for every container. It raises LimitError.
    """

    __slots__ = ("depth", "tick")

    def __init__(self) -> None:
        self.depth = 0
        self.tick: Callable[[], None] = _uncounted

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *error: object) -> None:
        self.depth -= 1


evaluation = Evaluation()

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def evaluating(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """`function` with every call counted as an evaluation of a program."""

    @wraps(function)
    def evaluate(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        with evaluation:
            return function(*args, **kwargs)

    return evaluate


def lasting(make: Callable[[], _Result]) -> _Result:
    """What `make` makes, where that lives on and has no cycles that are garbage, such as trees and closures.

    The collector waits meanwhile. Many objects join its oldest generation, so that it need not look at them to find that they live.
    """
    collecting = gc.isenabled()
    gc.disable()
    before = gc.get_count()[0]
    try:
        return make()
    finally:
        if gc.get_count()[0] - before > _MANY:
            gc.freeze()
            gc.unfreeze()  # unfreezing puts the frozen objects into the oldest generation
        if collecting:
            gc.enable()


class Memory:
    """The memory that this process holds beyond what it held at `begin`, as the system counts it; 0 where it does not tell.

    Asking the system takes some time, so that `claim` asks only when an eighth of the bound was claimed since it last asked.
    """

    __slots__ = ("_claimed", "_process", "_statm", "baseline", "release")

    #: bytes that a process may grow by without any values: modules, tables, spare room of the allocators
    OWN = 32 * 2**20

    def __init__(self) -> None:
        self.baseline = 0
        self._claimed = 0.0
        self._statm = -1
        self._process = 0
        #: frees memory that is no longer referenced
        self.release: Callable[[], object] = gc.collect

    def begin(self) -> None:
        """Measure growth from now on, in this process."""
        self.baseline = self.measure()
        self._claimed = 0.0

    def measure(self) -> int:
        """All that this process holds, in bytes: a baseline to count from."""
        if self._process != os.getpid():
            self._open()
        return self.total()

    def _open(self) -> None:
        if self._statm >= 0:
            os.close(self._statm)
        self._process = os.getpid()
        try:
            self._statm = os.open("/proc/self/statm", os.O_RDONLY)
        except OSError:
            self._statm = -1

    def total(self) -> int:
        """The memory that this process holds, in bytes."""
        return 0 if self._statm < 0 else int(os.pread(self._statm, 200, 0).split()[1]) * _PAGE

    def held(self) -> int:
        """The growth since `begin`, in bytes."""
        return self.total() - self.baseline

    def claim(self, size: float) -> None:
        """Count `size` bytes that are about to be allocated. Raises LimitError when the bound is reached."""
        self._claimed += size
        if self._claimed > current.bytes / 8:
            self.check(size)

    def check(self, size: float = 0) -> None:
        """Refuse `size` bytes on top of what is held now. Raises LimitError."""
        self._claimed = size
        held = self.held()
        if held + size > current.bytes + self.OWN:
            self.release()
            held = self.held()
        if held + size > current.bytes + self.OWN:
            error = LimitError("bytes", f"{held + size:,.0f} bytes in use would be over the limit of {current.bytes:,.0f}")
            error.measured = True
            raise error


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
memory = Memory()


class Clock:
    """The bound on time, measured from the creation of the clock; for loops outside of programs."""

    __slots__ = ("_end",)

    def __init__(self) -> None:
        self._end = time.monotonic() + current.time if current.time < NONE else NONE

    def check(self) -> None:
        """Raise LimitError when the time is up."""
        if self._end < NONE and time.monotonic() > self._end:
            raise LimitError("time", f"this took longer than {current.time:g} s")


#: tensors of at most so many elements are not counted one by one
_LARGE = 1 << 14


def check_elements(count: int, item_size: int = 4) -> None:
    """Refuse a tensor of `count` elements of `item_size` bytes, also a view, before it is made. Raises LimitError."""
    if count > current.elements:
        raise LimitError("elements", f"a tensor of {count:,} elements is over the limit of {current.elements:,.0f}")
    if count * item_size > current.bytes:
        raise LimitError("bytes", f"a tensor of {count * item_size:,} bytes is over the limit of {current.bytes:,.0f}")
    if count > _LARGE:
        memory.claim(count * item_size)


def check_work(multiply_adds: float) -> None:
    """Refuse a call, such as a matrix product or a sort, that is predicted to take so many multiply-adds. Raises LimitError."""
    if multiply_adds > current.work:
        raise LimitError("work", f"a call of {multiply_adds:,.0f} multiply-adds is over the limit of {current.work:,.0f}")


def too_long(what: str) -> LimitError:
    """The error for what would take too long whatever the limits are."""
    return LimitError("work", f"{what} is more than gradcli computes")


def check_room(size: float) -> None:
    """Refuse a call that needs `size` bytes of its own. Raises LimitError.

    For library functions that would print to standard error when memory runs out.
    """
    if size > current.bytes:
        raise LimitError("bytes", f"a call that needs {size:,.0f} bytes is over the limit of {current.bytes:,.0f}")
    if size > _LARGE * 8:
        memory.check(size)


def check_string(length: int) -> None:
    """Refuse a string of `length` characters before it is made. Raises LimitError."""
    if length > current.string:
        raise LimitError("string", f"a string of {length:,} characters is over the limit of {current.string:,.0f}")


#: bytes that a tensor takes beside its elements
TENSOR = 512


def check_list(length: int, item_size: int = 0) -> None:
    """Refuse a list, tuple, set or dict of `length` items before it is made, whose items take `item_size` bytes. Raises LimitError."""
    if length > current.list:
        raise LimitError("list", f"a list of {length:,} items is over the limit of {current.list:,.0f}")
    if length * item_size > _LARGE:
        memory.claim(length * item_size)


def encoded_size(text: str) -> int:
    """The length of a text in UTF-8, in bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "backslashreplace"))


def check_output(size: int) -> None:
    """Refuse output of `size` bytes. Raises LimitError."""
    if size > current.output:
        raise LimitError("output", f"the output is longer than {current.output:,.0f} bytes")


_LOG2_10 = 3.3219280948873626


def check_digits(bits: float) -> None:
    """Refuse an integer of about `bits` bits before it is made; `check_integer` counts exactly. Raises LimitError."""
    if bits > current.digits * _LOG2_10 + 4:
        raise LimitError("digits", f"an integer of about {bits * 0.30103:,.0f} digits is over the limit of {current.digits:,.0f}")


def check_integer(value: int) -> None:
    """Refuse an integer of too many decimal digits. Raises LimitError."""
    bits = value.bit_length()
    if bits <= current.digits * _LOG2_10:
        return
    check_digits(bits)
    most = int(current.digits)
    if abs(value) >= 10**most:
        raise LimitError("digits", f"an integer of more than {most:,} digits is over the limit")
