"""A process beside a worker that answers blocks of lines: `gradcli batch`, with lines and their numbers in frames.

It is a process of its own because requests are answered by forks, and because a worker has threads.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from gradcli.batch.lines import frame

#: at most so many lines are with the helper: all of them are waited for when the time is up
_LEAD = 32
#: bytes of answers after which a block is left
_MOST = 1 << 25
_CHUNK = 1 << 18
#: what a helper writes when it can answer
READY = b"ready\n"


class Helper:
    """`gradcli WORDS`, which reads frames and writes lines; `starts` says whether it can."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gradcli", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._requests, self._answers = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._inbox = bytearray()
        self.starts = self._greeted()
        os.set_blocking(self._requests, False)

    def _greeted(self) -> bool:
        while not self._inbox.startswith(READY):
            if not self._receive():
                return False
        del self._inbox[: len(READY)]
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
