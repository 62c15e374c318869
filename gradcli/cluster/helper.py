"""A process beside a worker: `gradcli batch`, which gets lines with their numbers in frames, or a command that evaluates rows.

It is a process of its own because requests are answered by forks, and a worker has threads.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from gradcli.batch.lines import frame
from gradcli.session import row_messages

#: at most so many lines are with the helper: all of them are waited for when the time is up
_LEAD = 32
#: bytes of answers after which a block is left
_MOST = 1 << 25
_CHUNK = 1 << 18


class Helper:
    """`gradcli WORDS`, started in a folder; `starts` says whether it can answer."""

    def __init__(self, words: Sequence[str], folder: str | None = None) -> None:
        #: the words and the folder that it was started with
        self.key = (*words, folder)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gradcli", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            cwd=folder,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._requests, self._answers = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._inbox = bytearray()
        self.starts = self._greeted()

    def _greeted(self) -> bool:
        while not self._inbox.startswith(row_messages.READY):
            if not self._receive():
                return False
        del self._inbox[: len(row_messages.READY)]
        return True

    def said(self) -> str:
        """What it wrote to standard error before it ended."""
        assert self._process.stderr
        return self._process.stderr.read().decode("utf-8", "backslashreplace").strip()[-2000:]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _receive(self) -> bool:
        chunk = os.read(self._answers, _CHUNK)
        self._inbox += chunk
        return bool(chunk)

    def answer(self, first: int, lines: Sequence[bytes | None], until: float) -> tuple[bytes, int, bool]:
        """The answers to the first of `lines`, whose numbers begin at `first`, how many these are, and whether the process lives on.

        Only the first line is begun after `until` on the monotonic clock, or with many bytes of answers.
        """
        os.set_blocking(self._requests, False)
        outbox = bytearray()
        sent = given = seen = 0
        while given < len(lines):
            more = not sent or (len(self._inbox) < _MOST and time.monotonic() < until)
            while more and sent < len(lines) and sent - given < _LEAD and len(outbox) < _CHUNK:
                outbox += frame(first + sent, lines[sent])
                sent += 1
            if sent == given and not outbox:
                break
            if not self._exchange(outbox):
                end = self._inbox.rfind(b"\n") + 1
                return bytes(self._inbox[:end]), given, False
            given += self._inbox.count(b"\n", seen)
            seen = len(self._inbox)
        found = bytes(self._inbox)
        self._inbox.clear()
        return found, given, True

    def relay(self, asked: bytes) -> bytes | None:
        """The answer to a request for pieces of rows; None where the process has ended."""
        try:
            row_messages.write(self._requests, asked)
        except OSError:
            return None
        return row_messages.answer(asked, partial(row_messages.read, self._answers))

    def _exchange(self, outbox: bytearray) -> bool:
        """Wait, then write of `outbox` or read answers, whichever can be done; False where the process has ended."""
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        if outbox:
            poll.register(self._requests, select.POLLOUT)
        for descriptor, _ in poll.poll():
            if descriptor == self._answers:
                return self._receive()
            try:
                del outbox[: os.write(descriptor, memoryview(outbox)[:_CHUNK])]
            except BlockingIOError:
                pass
            except OSError:
                outbox.clear()  # the process has ended; reading its answers will tell
        return True
