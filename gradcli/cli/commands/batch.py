"""`gradcli batch`: one JSON request a line in, one JSON answer a line out."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli.clusters import Workers
from gradcli.cli.options import Shared
from gradcli.errors import GradcliError, InternalFault, LimitError, UsageError

if TYPE_CHECKING:
    from gradcli.batch.pool import Job
    from gradcli.cli.batch_files import Pair
    from gradcli.cli.progress import Tell
    from gradcli.limits import Limits

EXAMPLES = """\
echo '{"id": 1, "expr": "(x**2).sum()", "vars": {"x": [1, 2]}}' | gradcli batch -
gradcli batch requests.jsonl -o answers.jsonl --jobs 4
gradcli batch requests.jsonl -o answers.jsonl --resume
gradcli batch 'requests-*.jsonl' -o answers/ --scheduler tcp://host:8786"""

HELP = """Answer requests, each a JSON object on a line of FILE (- is standard input), each with a JSON object on a line, in order.

A request has expr or script, and may have id, vars, vector, wrt, want (value, grad, grad_fn, jacobian, hessian), seed, dtype and
limits. Requests know nothing of each other. They are not trusted, unless with --trusted: the bounds are those of --untrusted,
for each of them. A line that cannot be answered has an error for an answer, and the exit code is 0 all the same.

-o FILE is written line by line, so that --resume can go on where an earlier run was ended. Several files, or a pattern in
quotes, are answered with -o DIR/, each in a file of its name. --scheduler has a Dask cluster answer (pip install 'gradcli[dask]').
"""

FORMATS = ("json",)
WITHOUT = ("file", "json", "precision")

#: a request's line may be as long as this part of the bound on bytes
_LINE_SHARE = 64
#: a worker that has grown by this part of the bound on bytes is replaced
_GROWTH_SHARE = 2
#: seconds in which a process cannot fill as much memory as would count
_UNMEASURED = 0.002
#: the most bytes of a request that are read without counting their memory
_SHORT = 1 << 16


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="FILE.jsonl...|-", hidden=True)] = None,
    *,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the last line that the output answers.")] = False,
    trusted: Annotated[bool, typer.Option("--trusted", help="The ordinary bounds instead of those of --untrusted.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of requests and answers, and answer nothing.")] = False,
    framed: Annotated[bool, typer.Option("--framed", hidden=True, help="Read lines in frames, for a cluster.")] = False,
    workers: Workers,
    shared: Shared,
) -> int:
    """Answer every line."""
    from gradcli import limits
    from gradcli.cli import batch_files, batch_on_cluster
    from gradcli.cli.progress import progress

    if schema:
        return _write_schema(words or [], shared)
    _check_options(shared, trusted)
    workers.refuse_loose()
    if not hasattr(os, "fork"):
        raise UsageError("batch needs a system on which processes can be forked")
    place = workers.place() if workers.on_cluster else None
    bounds = limits.with_options(shared.limit or [], untrusted=not trusted)
    limits.use(bounds)
    if framed:
        batch_on_cluster.serve(make_job(bounds, shared))
        return 0
    pairs = batch_files.pairs(words or [], shared.path, on_cluster=place is not None)
    most = bounds.bytes / _LINE_SHARE
    with progress(_size(pairs), shared, remaining=True) as tell:
        if place is not None:
            watch = _counter(tell)
            batch_on_cluster.run(pairs, place, make_job(bounds, shared), bounds, shared, most, watch, resume=resume)
            return 0
        for pair in pairs:
            _answer_file(pair, bounds, shared, workers.jobs, tell, resume=resume)
    return 0


def _answer_file(pair: Pair, bounds: Limits, shared: Shared, jobs: int, tell: Tell, *, resume: bool) -> None:
    """Answer one input by processes of this machine. Raises DataError, UsageError."""
    from gradcli.batch.pool import Batch
    from gradcli.cli import batch_files

    name, path = pair
    with (
        batch_files.opened(name, bounds.bytes / _LINE_SHARE) as source,
        batch_files.target(path, source, bounds, shared, resume=resume) as target,
    ):
        lines = source.lines(target.resume_after())
        watch = _counter(lambda _, words: tell(lines.read, words))
        Batch(lines, make_job(bounds, shared, target.descriptors), jobs, target.write, watch).run()
        target.finish()


def _counter(tell: Tell) -> Callable[[int], None]:
    """A function that adds up how many answers there are, and tells."""
    given = 0

    def watch(more: int) -> None:
        nonlocal given
        given += more
        tell(given, lambda: f"{given:,} answers")

    return watch


def _size(pairs: Sequence[Pair]) -> float | None:
    """The bytes of a single input; None for several, and for what has no size before it is read."""
    try:
        status = os.stat(0 if pairs[0][0] == "-" else pairs[0][0])
    except OSError:
        return None
    return status.st_size if len(pairs) == 1 and stat.S_ISREG(status.st_mode) else None


def _write_schema(words: list[str], shared: Shared) -> int:
    from gradcli.batch import messages
    from gradcli.cli import output

    if words:
        raise UsageError(f"unexpected argument {words[0]!r}; --schema answers nothing")
    if shared.output is None:
        output.write_stdout(messages.schema(), safe=True)
    else:
        output.write_file(shared.output, messages.schema().encode())
    return 0


def _check_options(shared: Shared, trusted: bool) -> None:
    """Refuse options that make no sense here. Raises UsageError."""
    if shared.file is not None:
        raise UsageError("batch takes its file as a word, without -f", hints=[f"try gradcli batch {shared.file}"])
    if shared.format not in (None, "json"):
        raise UsageError("batch answers in JSON: there is no other format")
    if trusted and shared.untrusted:
        raise UsageError("--trusted and --untrusted contradict each other")


# --- answering ---


def make_job(bounds: Limits, shared: Shared, private: Sequence[int] = ()) -> Job:
    """How lines are answered; everything that evaluation loads is loaded now, once for all workers.

    Workers close the `private` descriptors.
    """
    from gradcli import limits
    from gradcli.batch import answers, messages, pool, requests
    from gradcli.cli import guard

    guard.preload()

    #: the memory that the process held at its start, and when it was measured last, at `measured` on time.monotonic's clock
    start = held = 0
    measured = 0.0
    parent = os.getpid()

    def prepare() -> None:
        nonlocal start, held
        guard.end_with(parent)
        for descriptor in private:
            os.close(descriptor)
        if bounds.untrusted:
            guard.seal()
        guard.bound_memory(bounds)
        guard.handle_alarm()
        limits.memory.begin()
        start = held = limits.memory.total()

    def work(number: int, line: bytes) -> bytes:
        nonlocal held, measured
        spoiled = False
        limits.use(bounds)  # the request before may have had other bounds
        try:
            request = messages.decode(line, messages.Request)
            requests.check(request)
            tight = requests.tightened(request, bounds)
            limits.use(tight)
            guard.bound_processor(tight.time)
            guard.set_alarm(tight.time)
            try:
                known = held if len(line) < _SHORT else None
                found = requests.answer(request, tight, dtype=shared.dtype, seed=shared.seed, held=known)
                text = answers.answer_json(request.id, number, found)
            finally:
                guard.set_alarm(0)
            limits.check_output(len(text))
        except Exception as error:
            ours = error if isinstance(error, GradcliError) else _fault(error)
            text = answers.failure_json(messages.identity(line), number, _steady(ours))
            spoiled = isinstance(ours, InternalFault) or (isinstance(ours, LimitError) and ours.limit in ("time", "bytes"))
        now = time.monotonic()
        if spoiled or now > measured + _UNMEASURED:
            held, measured = limits.memory.total(), now
        if spoiled or held - start > max(bounds.bytes / _GROWTH_SHARE, limits.memory.OWN):
            raise pool.Leave(text.encode())
        return text.encode()

    def failed(number: int, line: bytes, error: GradcliError) -> bytes:
        return answers.failure_json(messages.identity(line), number, error).encode()

    def too_long(number: int) -> bytes:
        most = bounds.bytes / _LINE_SHARE
        return answers.failure_json(None, number, LimitError("bytes", f"a line of more than {most:,.0f} bytes is over the limit")).encode()

    return pool.Job(work, failed, too_long, prepare)


def _fault(error: Exception) -> GradcliError:
    if isinstance(error, MemoryError):
        return _out_of_memory()
    if isinstance(error, RecursionError):
        return LimitError("nesting", "a value is nested too deeply")
    return InternalFault(f"{type(error).__name__}: {error}")


def _steady(error: GradcliError) -> GradcliError:
    """The error without the place and the figures of an alarm or of a measurement, which differ from run to run."""
    from gradcli import limits
    from gradcli.cli import guard

    if not isinstance(error, LimitError):
        return error
    if error.limit == "time":
        return guard.time_error(limits.current.time)
    return _out_of_memory() if error.measured else error


def _out_of_memory() -> LimitError:
    from gradcli import limits

    return LimitError("bytes", f"the program needs more than {limits.current.bytes:,.0f} bytes")
