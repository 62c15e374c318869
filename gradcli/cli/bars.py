"""Progress bars of programs (`tqdm`) on standard error, one below the other."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradcli.cli import output

if TYPE_CHECKING:
    from rich.progress import Progress

Move = Callable[[float | None, str], None]

#: bars are drawn anew after this many seconds
_REDRAW = 0.1


class Bars:
    """The bars that are under way. Calling it begins a bar; it gives the function that moves it, and ends it where told None."""

    def __init__(self, colour: str | None) -> None:
        self._colour = colour
        self._drawn: Progress | None = None
        self._active = 0
        self._last = 0.0

    def __call__(self, total: float | None) -> Move:
        drawn = self._drawn or self._begin()
        task = drawn.add_task("", total=total)
        self._active += 1

        def move(place: float | None, text: str) -> None:
            now = time.monotonic()
            shown = "".join([char if char.isprintable() else "?" for char in text])
            if place is None:
                self._active -= 1
                drawn.stop_task(task)
            else:
                drawn.update(task, completed=place, description=shown)
            if place is None or now - self._last > _REDRAW:
                self._last = now
                drawn.refresh()
            if not self._active:
                drawn.stop()
                self._drawn = None

        return move

    def _begin(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        from gradcli.render.drawing.console import open_console

        console = open_console(sys.stderr, output.look_of(sys.stderr, self._colour))
        words = TextColumn("{task.description}", style="none", markup=False)
        columns = (words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._drawn = Progress(*columns, console=console, auto_refresh=False)
        self._drawn.start()
        return self._drawn
