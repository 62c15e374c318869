"""`batch` on a cluster: the inputs as blocks, in order; and the process beside a worker that answers them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gradcli import limits
from gradcli.cli import batch_files
from gradcli.cli.options import Shared
from gradcli.limits import Limits

if TYPE_CHECKING:
    from gradcli.batch.pool import Job
    from gradcli.cluster.blocks import Block
    from gradcli.cluster.connection import Place

#: at most so many outputs are open at a time
_OPEN = 100
#: answers are written together while more lines than this are waiting, which takes less time than one by one
_KEPT = 16
#: seconds after which a process that is asked nothing ends
_IDLE = 300


class Outputs:
    """The outputs that are open: those of blocks that are under way."""

    def __init__(self, bounds: Limits, shared: Shared, *, resume: bool) -> None:
        self._bounds = bounds
        self._shared = shared
        self._resume = resume
        self._open: list[ExitStack] = []

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, *error: object) -> None:
        for stack in self._open:
            stack.close()

    def blocks(self, pairs: Sequence[batch_files.Pair], most: float, size: int) -> Iterator[Block | None]:
        """The blocks of all inputs, of at most `size` lines of `most` bytes, in order; None where outputs have to be finished first.

        Raises DataError, UsageError.
        """
        from gradcli.cluster.blocks import Block, cut

        for name, path in pairs:
            while len(self._open) >= _OPEN:
                yield None
            stack = ExitStack()
            self._open.append(stack)
            with batch_files.opened(name, most) as source:
                target = batch_files.target(path, source, self._bounds, self._shared, resume=self._resume)
                stack.enter_context(target)
                yield from cut(source.lines(target.resume_after()), size, target.write)
            yield Block(0, [], target.write, self._ending(target.finish, stack))

    def _ending(self, finish: Callable[[], None], stack: ExitStack) -> Callable[[], None]:
        def end() -> None:
            finish()
            stack.close()
            self._open.remove(stack)

        return end


def run(
    pairs: Sequence[batch_files.Pair],
    place: Place,
    job: Job,
    bounds: Limits,
    shared: Shared,
    most: float,
    progress: Callable[[int], None],
    *,
    resume: bool,
) -> None:
    """Answer all inputs. Raises DataError, UsageError."""
    from gradcli.cluster import blocks
    from gradcli.cluster.connection import connected

    words = _words(bounds, shared)
    with connected(place) as client, Outputs(bounds, shared, resume=resume) as outputs:
        size = blocks.lines_of_block(sum(client.nthreads().values()))
        blocks.Dispatch(client, blocks.Job(words, job.failed), progress).run(outputs.blocks(pairs, most, size))


def _words(bounds: Limits, shared: Shared) -> list[str]:
    """The command line of the process that answers within the same bounds."""
    words = ["batch", "-", "--framed", *([] if bounds.untrusted else ["--trusted"])]
    for name in limits.NAMES:
        value = getattr(bounds, name)
        if value < limits.NONE:
            words += ["--limit", f"{name}={_number(value)}{'s' if name == 'time' else ''}"]
        elif not bounds.untrusted:
            words += ["--limit", f"{name}=none"]
    words += [] if shared.dtype is None else ["--dtype", shared.dtype]
    return words + ([] if shared.seed is None else ["--seed", str(shared.seed)])


def _number(value: float) -> str:
    """A bound as `--limit` takes it."""
    return f"{value:.15f}".rstrip("0").rstrip(".") if value < 1e17 else f"{value:.16e}".replace("+", "")


def serve(job: Job) -> None:
    """Answer the frames of standard input on standard output, until it ends, or until nothing is asked for a while."""
    from gradcli.batch.lines import Frames, Line
    from gradcli.batch.output import write_whole
    from gradcli.batch.pool import Batch
    from gradcli.cli import guard
    from gradcli.session.row_messages import READY

    under_way = 0
    kept = bytearray()

    class Counted(Frames):
        def more(self) -> Iterator[Line]:
            nonlocal under_way
            signal.alarm(0)
            for line in super().more():
                under_way += 1
                yield line

    def progress(given: int) -> None:
        nonlocal under_way
        under_way -= given
        if under_way <= _KEPT:
            write_whole(1, bytes(kept))
            kept.clear()
        if not under_way:
            signal.alarm(_IDLE)

    guard.end_with(os.getppid())
    write_whole(1, READY)
    signal.alarm(_IDLE)
    Batch(Counted(0), job, 1, kept.extend, progress).run()
