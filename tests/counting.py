"""What a piece of work costs, counted: its calls and its memory. Both are the same on every machine, which seconds are not."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any


def calls(work: Callable[[], object]) -> Counter[str]:
    """How often `work` calls each function of Python or C, by its name, on this thread; `.total()` for all of them."""
    found: Counter[str] = Counter()

    def see(frame: Any, event: str, function: Any) -> None:
        if event == "call":
            found[frame.f_code.co_name] += 1
        elif event == "c_call":
            found[function.__name__] += 1

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    # the call that ends the count
    found -= Counter(["setprofile"])
    return found


def peak(work: Callable[[], object]) -> int:
    """The most bytes that `work` holds at once, of memory that Python and numpy allocate."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
