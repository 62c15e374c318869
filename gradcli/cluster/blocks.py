"""Blocks of lines as tasks of a cluster: a bounded number under way, answers written in the order of the lines.

A task returns after some seconds with what it has answered, and the rest goes out again in halves. A block that ends its workers
goes out again line by line; a line that does so is answered with the cause.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import distributed

from gradcli.batch.lines import Lines
from gradcli.cluster import worker
from gradcli.cluster.versions import own_versions, refusal
from gradcli.errors import DataError, GradcliError, LimitError

#: lines and bytes of a block
LINES, BYTES = 512, 1 << 20
#: lines of a block for each thread of a cluster, at most so many: client and scheduler spend some 6 ms on a block
_LINES_FOR_EACH, _MOST_LINES = 20, 4096
#: blocks under way for each thread of the cluster, and beyond
_AHEAD, _SPARE = 2, 2
#: answers that wait for an earlier one, in bytes and in blocks for each one that may be under way
_WAITING_BYTES, _WAITING = 1 << 26, 16
#: seconds after which the threads of the cluster are counted again
_RECOUNT = 5.0

#: lines as a worker gets them, None for one that was too long to be kept
Content = Sequence[bytes | None]


@dataclass(slots=True, eq=False)
class Block:
    """Lines of one input, the first of which has the number `first`; `write` gets their answers, and `end` is called after that."""

    first: int
    lines: Content
    write: Callable[[bytes], None]
    end: Callable[[], None] | None = None
    answers: bytes | None = None


def lines_of_block(threads: int) -> int:
    """How many lines a block has on a cluster of so many threads."""
    return max(LINES, min(_MOST_LINES, _LINES_FOR_EACH * threads))


def cut(lines: Lines, most: int, write: Callable[[bytes], None]) -> Iterator[Block]:
    """The lines in blocks of at most `most`. Raises DataError."""
    kept: list[bytes | None] = []
    first = size = 0
    while not lines.ended:
        for number, line in lines.more():
            first = first or number
            kept.append(line)
            size += len(line or b"")
            if len(kept) >= most or size >= BYTES:
                yield Block(first, kept, write)
                kept, first, size = [], 0, 0
    if kept:
        yield Block(first, kept, write)


@dataclass(slots=True, frozen=True)
class Job:
    """`words` are the command line of the process that answers; `failed` answers a line that ends its workers."""

    words: Sequence[str]
    failed: Callable[[int, bytes, GradcliError], bytes]


class Dispatch:
    """Answers blocks on a cluster; `progress` gets the number of lines that were answered."""

    def __init__(self, client: distributed.Client, job: Job, progress: Callable[[int], None]) -> None:
        self._client = client
        self._job = job
        self._progress = progress
        self._versions = own_versions()
        self._under_way: dict[distributed.Future, Block] = {}
        self._completed = distributed.as_completed(loop=client.loop)
        #: blocks that are not written yet, in order
        self._order: deque[Block] = deque()
        self._ready_bytes = 0
        self._more = True
        self._most = 0
        self._counted = -_RECOUNT

    def run(self, blocks: Iterator[Block | None]) -> None:
        """Answer all blocks; None among them says that others have to be written first. Raises DataError, and what reading and
        writing raise.
        """
        self._more = True
        try:
            while self._more or self._order:
                while self._more and self._has_room() and (block := self._next(blocks)):
                    self._order.append(block)
                    self._submit(block)
                if self._under_way:
                    self._take(next(self._completed))
                self._flush()
        finally:
            if self._under_way:
                self._client.cancel(list(self._under_way), force=True)

    def _next(self, blocks: Iterator[Block | None]) -> Block | None:
        try:
            return next(blocks)
        except StopIteration:
            self._more = False
            return None

    def _has_room(self) -> bool:
        if time.monotonic() > self._counted + _RECOUNT:
            self._most = _AHEAD * sum(self._threads().values()) + _SPARE
            self._counted = time.monotonic()
        waiting = len(self._order) < _WAITING * self._most and self._ready_bytes < _WAITING_BYTES
        return len(self._under_way) < self._most and waiting

    def _threads(self) -> dict[str, int]:
        try:
            found: dict[str, int] = self._client.nthreads()
        except (OSError, TimeoutError):
            raise self._lost() from None
        return found

    def _submit(self, block: Block, priority: int = 0) -> None:
        if not block.lines:
            block.answers = b""
            return
        words, versions = self._job.words, self._versions
        future = self._client.submit(worker.answer, versions, words, block.first, block.lines, pure=False, priority=priority)
        self._under_way[future] = block
        self._completed.add(future)

    def _take(self, future: distributed.Future) -> None:
        """Handle a task that has ended, in whatever way. Raises DataError."""
        block = self._under_way.pop(future)
        if future.status in ("cancelled", "lost"):
            raise self._lost()
        try:
            answers, given = future.result()
        except worker.Refused as error:
            raise refusal(str(error)) from None
        except (distributed.KilledWorker, worker.HelperEnded):
            self._given_up(block)
            return
        except (OSError, TimeoutError, distributed.client.FutureCancelledError):
            raise self._lost() from None
        except Exception as error:
            raise DataError(f"a worker cannot answer: {type(error).__name__}: {error}") from None
        finally:
            future.release()
        self._ready_bytes += len(answers)
        if given < len(block.lines):
            rest = block.lines[given:]
            middle = len(rest) // 2 if len(self._under_way) < self._most else 0
            self._instead(block, [part for part in ((given, rest[:middle]), (given + middle, rest[middle:])) if part[1]])
            block.lines = block.lines[:given]
        block.answers = answers

    def _given_up(self, block: Block) -> None:
        """A block has ended its workers: each line goes out by itself; a single line is answered with the cause."""
        if len(block.lines) > 1:
            self._instead(block, [(at, [line]) for at, line in enumerate(block.lines)])
            block.lines, block.answers = [], b""
            return
        error = LimitError("bytes", "the system ended the program, as it does when memory is used up")
        block.answers = self._job.failed(block.first, block.lines[0] or b"", error)
        self._ready_bytes += len(block.answers)

    def _instead(self, block: Block, parts: Sequence[tuple[int, Content]]) -> None:
        """Put parts of a block, each with its distance from the first line, behind it, and submit them before all others."""
        at = self._order.index(block) + 1
        end, block.end = block.end, None
        for distance, lines in parts:
            part = Block(block.first + distance, lines, block.write)
            self._order.insert(at, part)
            at += 1
            self._submit(part, priority=1)
        self._order[at - 1].end = end

    def _flush(self) -> None:
        """Write the answers that no earlier line is missing before."""
        while self._order and self._order[0].answers is not None:
            block = self._order.popleft()
            answers = block.answers or b""
            if answers:
                self._ready_bytes -= len(answers)
                block.write(answers)
                self._progress(len(block.lines))
            if block.end is not None:
                block.end()

    def _lost(self) -> DataError:
        return DataError("the scheduler of the cluster was lost", hints=["--resume goes on where this run has ended"])
