"""Many requests, one a line, answered in order by worker processes.

A `Job` says how a line is answered, also one whose worker died. Workers are forked from a process that has everything loaded,
so that a new one takes a few milliseconds. A worker that has grown too large, or was interrupted, leaves after its answer, and
another takes its place.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from gradcli import limits
from gradcli.batch.lines import Lines
from gradcli.errors import GradcliError, InternalFault, LimitError

_CHUNK = 1 << 18
#: the header of a request: the line's number and its length; the header of an answer: its length
_REQUEST, _ANSWER = struct.Struct("<QQ"), struct.Struct("<Q")
#: at most so many lines wait for one worker, and at most so many bytes where they are several
_QUEUE, _QUEUE_BYTES = 32, 1 << 20
#: seconds for which the parent sleeps while all workers have enough lines, at most
_NAP = 0.005
#: at most so many answers for each worker, and so many bytes in all, wait for an earlier answer
_WINDOW, _WINDOW_BYTES = 256, 1 << 25
#: seconds beyond the bound on time in which a worker may still answer that the bound was reached
GRACE = 1.0


class Leave(Exception):
    """Raised by `work` with its last answer: the worker is not used again."""

    def __init__(self, answer: bytes) -> None:
        super().__init__("leave")
        self.answer = answer


@dataclass(slots=True)
class _Worker:
    """A process and the lines that it has not answered yet, the current one first."""

    process: int
    requests: int
    answers: int
    lines: deque[tuple[int, bytes]] = field(default_factory=deque)
    #: the bytes of these lines
    held: int = 0
    outbox: bytearray = field(default_factory=bytearray)
    inbox: bytearray = field(default_factory=bytearray)
    since: float = 0.0
    #: seconds that each of the last lines took
    pace: float = 0.0
    #: how many answers it has given
    given: int = 0
    overdue: bool = False


@dataclass(slots=True, frozen=True)
class Job:
    """How lines are answered.

    `work` answers a line in a worker, `failed` a line whose worker died, `too_long` a line that was not kept. `prepare` is called in
    every new worker.
    """

    work: Callable[[int, bytes], bytes]
    failed: Callable[[int, bytes, GradcliError], bytes]
    too_long: Callable[[int], bytes]
    prepare: Callable[[], None]


class Batch:
    """Answers lines with `jobs` processes.

    `write` gets the answers in the order of the lines, and `progress` each time the number of lines that were answered.
    """

    def __init__(self, lines: Lines, job: Job, jobs: int, write: Callable[[bytes], None], progress: Callable[[int], None]) -> None:
        self._lines = lines
        self._job = job
        self._jobs = jobs
        self._write = write
        self._progress = progress
        self._workers: list[_Worker] = []
        #: lines that no worker has yet
        self._waiting: deque[tuple[int, bytes]] = deque()
        #: answers that wait for an earlier one
        self._ready: dict[int, bytes] = {}
        self._ready_bytes = 0
        #: numbers of the lines whose worker was ended from outside once: they are answered again
        self._again: set[int] = set()
        #: numbers of the lines that are not written yet, in order
        self._order: deque[int] = deque()
        self._seconds = limits.current.time

    def run(self) -> None:
        """Answer all lines. Raises DataError, and what `write` raises."""
        try:
            while not self._lines.ended or self._order:
                self._assign()
                self._turn()
                self._flush()
        finally:
            self._end()

    # --- one turn ---

    def _wants_lines(self) -> bool:
        room = len(self._order) < _WINDOW * self._jobs and self._ready_bytes < _WINDOW_BYTES
        return room and len(self._waiting) < _QUEUE * self._jobs and not self._lines.ended

    def _turn(self) -> None:
        """Wait for lines, answers, room for requests, or the end of a worker's time, and handle what came first."""
        if nap := self._nap():
            time.sleep(nap)
        poll = select.poll()
        if self._wants_lines():
            poll.register(self._lines.descriptor, select.POLLIN)
        by_answers = {worker.answers: worker for worker in self._workers}
        by_requests = {worker.requests: worker for worker in self._workers if worker.outbox}
        for descriptor in by_answers:
            poll.register(descriptor, select.POLLIN)
        for descriptor in by_requests:
            poll.register(descriptor, select.POLLOUT)
        for descriptor, _ in poll.poll(self._patience()):
            if descriptor == self._lines.descriptor:
                self._take_lines()
            elif descriptor in by_requests:
                self._send(by_requests[descriptor])
            else:
                self._receive(by_answers[descriptor])
        self._check_time()

    def _nap(self) -> float:
        """Seconds for which nothing has to be done: a wake for each answer would take processor time from the workers."""
        if len(self._workers) < self._jobs or any(len(one.lines) < _QUEUE // 2 or one.outbox for one in self._workers):
            return 0.0
        return min(_NAP, *(one.pace * _QUEUE / 4 for one in self._workers))

    def _take_lines(self) -> None:
        for number, line in self._lines.more():
            self._order.append(number)
            if line is None:
                self._answer(number, self._job.too_long(number))
            else:
                self._waiting.append((number, line))

    def _assign(self) -> None:
        """Give each waiting line to the worker with the fewest lines; start a worker where all are busy and there may be more."""
        while self._waiting:
            free = [worker for worker in self._workers if self._has_room(worker, len(self._waiting[0][1]))]
            idle = [worker for worker in free if not worker.lines]
            if not idle and len(self._workers) < self._jobs:
                idle = [self._start()]
            if not free and not idle:
                return
            worker = idle[0] if idle else min(free, key=lambda one: len(one.lines))
            number, line = self._waiting.popleft()
            if not worker.lines:
                worker.since = time.monotonic()
            worker.lines.append((number, line))
            worker.held += len(line)
            worker.outbox += _REQUEST.pack(number, len(line)) + line
            if len(worker.lines) == 1:
                self._send(worker)

    @staticmethod
    def _has_room(worker: _Worker, size: int) -> bool:
        return not worker.lines or (len(worker.lines) < _QUEUE and worker.held + size < _QUEUE_BYTES)

    def _send(self, worker: _Worker) -> None:
        try:
            sent = os.write(worker.requests, memoryview(worker.outbox)[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            worker.outbox.clear()  # the process has ended; reading its answers will tell
            return
        del worker.outbox[:sent]

    def _receive(self, worker: _Worker) -> None:
        try:
            chunk = os.read(worker.answers, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self._ended(worker)
            return
        worker.inbox += chunk
        inbox, at, before = worker.inbox, 0, worker.given
        while len(inbox) >= at + _ANSWER.size:
            end = at + _ANSWER.size + _ANSWER.unpack_from(inbox, at)[0]
            if len(inbox) < end:
                break
            number, line = worker.lines.popleft()
            worker.held -= len(line)
            worker.given += 1
            self._answer(number, bytes(inbox[at + _ANSWER.size : end]))
            at = end
        if at:
            del inbox[:at]
            now = time.monotonic()
            worker.pace = (now - worker.since) / (worker.given - before)
            worker.since = now

    def _answer(self, number: int, answer: bytes) -> None:
        self._again.discard(number)
        self._ready[number] = answer
        self._ready_bytes += len(answer)

    def _flush(self) -> None:
        """Write the answers that no earlier line is missing before, in one piece."""
        out = []
        while self._order and self._order[0] in self._ready:
            out.append(self._ready.pop(self._order.popleft()))
        if out:
            text = b"".join(out)
            self._ready_bytes -= len(text)
            self._write(text)
            self._progress(len(out))

    # --- time ---

    def _patience(self) -> float | None:
        """Milliseconds until a worker is overdue; None for no limit."""
        busy = [worker.since for worker in self._workers if worker.lines and not worker.overdue]
        if not busy or self._seconds == limits.NONE:
            return None
        return max(0.0, (min(busy) + self._seconds + GRACE - time.monotonic()) * 1000) + 1

    def _check_time(self) -> None:
        if self._seconds == limits.NONE:
            return
        now = time.monotonic()
        for worker in self._workers:
            if worker.lines and not worker.overdue and now > worker.since + self._seconds + GRACE:
                worker.overdue = True
                os.kill(worker.process, signal.SIGKILL)

    # --- processes ---

    def _start(self) -> _Worker:
        theirs, requests = os.pipe()
        answers, mine = os.pipe()
        process = os.fork()
        if process == 0:
            self._become_worker(theirs, mine, requests, answers)
        os.close(theirs)
        os.close(mine)
        os.set_blocking(requests, False)
        worker = _Worker(process, requests, answers)
        self._workers.append(worker)
        return worker

    def _become_worker(self, theirs: int, mine: int, *others: int) -> None:
        code = 1
        try:
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # the parent ends its workers
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            for descriptor in (*others, self._lines.descriptor):
                os.close(descriptor)
            for worker in self._workers:
                os.close(worker.requests)
                os.close(worker.answers)
            self._job.prepare()
            _serve(theirs, mine, self._job.work)
            code = 0
        except BaseException:
            code = code or 1
        finally:
            os._exit(code)

    def _ended(self, worker: _Worker) -> None:
        """A worker has ended: its lines wait for another one; the current line is answered with the cause where it ended two workers."""
        status = os.waitstatus_to_exitcode(os.waitpid(worker.process, 0)[1])
        os.close(worker.requests)
        os.close(worker.answers)
        self._workers.remove(worker)
        number, line = worker.lines[0] if worker.lines else (0, b"")
        timely = not worker.overdue and status != -signal.SIGXCPU
        if number and timely and number not in self._again and (status != 0 or not worker.given):
            self._again.add(number)
        elif number and (status != 0 or not worker.given):
            worker.lines.popleft()
            self._answer(number, self._job.failed(number, line, self._cause(worker, status)))
        self._waiting.extendleft(reversed(worker.lines))

    def _cause(self, worker: _Worker, status: int) -> GradcliError:
        if worker.overdue or status == -signal.SIGXCPU:
            return LimitError("time", f"the program ran for more than {self._seconds:g} s")
        if status == -signal.SIGKILL:
            return LimitError("bytes", "the system ended the program, as it does when memory is used up")
        return InternalFault(f"the process of this request ended with status {status}")

    def _end(self) -> None:
        for worker in self._workers:
            with suppress(OSError):
                os.kill(worker.process, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(worker.process, 0)
            os.close(worker.requests)
            os.close(worker.answers)
        self._workers.clear()


def _serve(requests: int, answers: int, work: Callable[[int, bytes], bytes]) -> None:
    """Read requests and write their answers until there are no more."""
    with open(requests, "rb") as stream:
        while len(header := stream.read(_REQUEST.size)) == _REQUEST.size:
            number, size = _REQUEST.unpack(header)
            line = stream.read(size)
            if len(line) < size:
                return
            try:
                _write_whole(answers, work(number, line))
            except Leave as last:
                _write_whole(answers, last.answer)
                return


def _write_whole(descriptor: int, answer: bytes) -> None:
    data = memoryview(_ANSWER.pack(len(answer)) + answer)
    while data:
        data = data[os.write(descriptor, data) :]
