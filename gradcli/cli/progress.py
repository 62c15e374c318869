"""A progress bar on standard error, drawn by rich while a command takes long."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradcli.cli import output

if TYPE_CHECKING:
    from rich.progress import Progress

    from gradcli.cli.options import Shared

#: a function of how much is done, and of what makes a few words to show
Tell = Callable[[float, Callable[[], str]], None]

#: a bar appears after this many seconds, and is drawn anew after as many
_AFTER, _REDRAW = 0.5, 0.1


@contextmanager
def progress(total: float | None, shared: Shared, *, remaining: bool = False) -> Iterator[Tell]:
    """A function to be told how much of `total` is done; with `remaining` the time that the rest takes is estimated.

    The bar is drawn where standard error is a terminal that can move its cursor, and goes away at the end. Nothing is drawn with
    `--quiet`, nor in the first half second.
    """
    if shared.quiet or not output.is_terminal(sys.stderr) or os.environ.get("TERM") == "dumb":
        yield _silent
        return
    started = drawn = time.monotonic()
    bar: Progress | None = None

    def tell(done: float, words: Callable[[], str]) -> None:
        nonlocal bar, drawn
        now = time.monotonic()
        if now - started < _AFTER or now - drawn < _REDRAW:
            return
        drawn = now
        if bar is None:
            bar = _started(total, shared, remaining)
        bar.update(bar.task_ids[0], completed=done, words=words(), refresh=True)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


def _silent(done: float, words: Callable[[], str]) -> None:
    """Draw nothing."""


def _started(total: float | None, shared: Shared, remaining: bool) -> Progress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from gradcli.render.drawing.console import open_console

    console = open_console(sys.stderr, output.look_of(sys.stderr, shared.color))
    moving = BarColumn(complete_style="green", finished_style="green", pulse_style="green")
    words = TextColumn("{task.fields[words]}", style="none", markup=False)
    columns = (moving, TaskProgressColumn(style="none"), words, *([TimeRemainingColumn()] if remaining else []))
    bar = Progress(*columns, console=console, transient=True, auto_refresh=False)
    bar.add_task("", total=total, words="")
    bar.start()
    return bar
