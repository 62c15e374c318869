"""The value of what is being typed, before it is entered: computed in a forked copy of the process.

The copy can change nothing here, and is killed when its time is up or the next key comes; keys never wait for it.
Where processes cannot be copied there is no preview.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import warnings
from collections.abc import Callable

from gradcli.errors import GradcliError

#: seconds without a key before a preview is begun, and seconds it may take
DELAY = 0.08
BUDGET = 0.3
#: bytes of a preview's text
_MOST_TEXT = 4096

Evaluate = Callable[[str], str]


class Preview:
    """The preview of what is being typed. `text` is shown; `changed` is called when it has changed."""

    def __init__(self, evaluate: Evaluate, changed: Callable[[], None]) -> None:
        self.text = ""
        self._evaluate = evaluate
        self._changed = changed
        self._task: asyncio.Task[None] | None = None
        self._dead: list[int] = []
        self.possible = hasattr(os, "fork")

    def typed(self, text: str) -> None:
        """The text is now `text`: forget the preview of what it was. Called within the event loop."""
        self.stop()
        if self.possible and text.strip() and not text.lstrip().startswith((":", "?")) and not text.rstrip().endswith("?"):
            self._task = asyncio.get_running_loop().create_task(self._begin(text))

    def stop(self) -> None:
        """Stop the evaluation, and show nothing."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self.text = ""

    async def _begin(self, text: str) -> None:
        await asyncio.sleep(DELAY)
        shown = await self._computed(text)
        if shown and shown != text.strip():
            self.text = shown
            self._changed()

    async def _computed(self, text: str) -> str:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        try:
            pid, pipe = _fork(lambda: self._evaluate(text))
        except OSError:
            self.possible = False
            return ""
        loop.add_reader(pipe, _finish, done)
        try:
            await asyncio.wait_for(done, BUDGET)
            return os.read(pipe, _MOST_TEXT).decode("utf-8", "replace")
        except TimeoutError:
            return ""
        finally:
            loop.remove_reader(pipe)
            os.close(pipe)
            self._end(pid)

    def _end(self, pid: int) -> None:
        """Kill a copy, and wait for those that have ended."""
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        self._dead = [one for one in [*self._dead, pid] if not _ended(one)]


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


def _ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except OSError:
        return True


def _fork(compute: Callable[[], str]) -> tuple[int, int]:
    """Start a copy of this process that computes a text; its number, and the pipe that the text will come through."""
    receiving, sending = os.pipe()
    with warnings.catch_warnings():
        # Python warns of forks while there are threads: here those of numpy's library, which expects forks
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            pid = os.fork()
        except OSError:
            os.close(receiving)
            os.close(sending)
            raise
    if pid == 0:
        _live(compute, sending)
    os.close(sending)
    return pid, receiving


def _live(compute: Callable[[], str], sending: int) -> None:
    """What a copy does: detach from the terminal, set small bounds, compute one text, exit."""
    import resource  # this module exists only on systems with fork

    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH):
            signal.signal(number, signal.SIG_IGN if number is signal.SIGWINCH else signal.SIG_DFL)
        # ends the copy where the process that should kill it has ended before
        resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        with contextlib.suppress(GradcliError):
            os.write(sending, compute().encode("utf-8", "replace")[:_MOST_TEXT])
    finally:
        os._exit(0)
