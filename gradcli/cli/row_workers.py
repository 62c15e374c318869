"""Forks of this process that evaluate pieces of rows."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from gradcli.cli import guard

if TYPE_CHECKING:
    from gradcli.session.by_rows import Array, ByRows, Evaluate, Part


def one_thread() -> None:
    """Have numpy's linear algebra use one thread, so that sums do not depend on how many there are; before numpy is loaded."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


class _Process:
    """A fork that evaluates pieces."""

    def __init__(self, by_rows: ByRows, others: Sequence[_Process]) -> None:
        theirs, self.requests = os.pipe()
        self.answers, mine = os.pipe()
        parent = os.getpid()
        self.number = os.fork()
        if self.number == 0:
            private = (self.requests, self.answers, *(pipe for one in others for pipe in (one.requests, one.answers)))
            _become_worker(by_rows, parent, theirs, mine, private)
        os.close(theirs)
        os.close(mine)

    def close(self) -> None:
        """End the process."""
        with suppress(OSError):
            os.kill(self.number, signal.SIGKILL)
            os.waitpid(self.number, 0)
        os.close(self.requests)
        os.close(self.answers)


def _become_worker(by_rows: ByRows, parent: int, requests: int, answers: int, private: Sequence[int]) -> None:
    from gradcli.session import row_messages

    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # the parent ends its workers
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        guard.end_with(parent)
        for descriptor in private:
            os.close(descriptor)
        row_messages.serve(by_rows, requests, answers)
        code = 0
    finally:
        os._exit(code)


@contextmanager
def forks(by_rows: ByRows, jobs: int) -> Iterator[Evaluate]:
    """Evaluation by so many processes of this machine: of N each one has every N-th piece."""
    from gradcli.session import row_messages

    processes: list[_Process] = []

    def evaluate(values: Sequence[Array]) -> Iterator[Part]:
        for at, process in enumerate(processes):
            with suppress(BrokenPipeError):  # reading its answers will tell
                row_messages.write(process.requests, row_messages.request(by_rows.pieces[at::jobs], values))
        for at, piece in enumerate(by_rows.pieces):
            yield row_messages.part(by_rows, piece, partial(row_messages.read, processes[at % jobs].answers))

    try:
        for _ in range(jobs):
            processes.append(_Process(by_rows, processes))
        yield evaluate
    finally:
        for process in processes:
            process.close()
