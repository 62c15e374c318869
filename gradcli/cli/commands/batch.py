"""`gradcli batch`: one JSON request a line in, one JSON answer a line out."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

import gradcli
from gradcli.cli.options import Shared
from gradcli.errors import DataError, GradcliError, InternalFault, LimitError, UsageError

if TYPE_CHECKING:
    from gradcli.batch.output import AnswerFile, AnswerStream, Source
    from gradcli.batch.pool import Job
    from gradcli.limits import Limits

EXAMPLES = """\
echo '{"id": 1, "expr": "(x**2).sum()", "vars": {"x": [1, 2]}}' | gradcli batch -
gradcli batch requests.jsonl -o answers.jsonl --jobs 4
gradcli batch requests.jsonl -o answers.jsonl --resume"""

HELP = """Answer requests, each a JSON object on a line of FILE (- is standard input), each with a JSON object on a line, in order.

A request has expr or script, and may have id, vars, vector, wrt, want (value, grad, grad_fn, jacobian, hessian), seed, dtype and
limits. Requests know nothing of each other. They are not trusted, unless with --trusted: the bounds are those of --untrusted,
for each of them. A line that cannot be answered has an error for an answer, and the exit code is 0 all the same.

-o FILE is written line by line, so that --resume can go on where an earlier run was ended.
"""

FORMATS = ("json",)
WITHOUT = ("file", "json", "precision")

#: a request's line may be as long as this part of the bound on bytes
_LINE_SHARE = 64
#: a worker that has grown by this part of the bound on bytes is replaced
_GROWTH_SHARE = 2


def _positive(value: int) -> int:
    if value < 1:
        raise UsageError(f"--jobs takes a number from 1 on, not {value}")
    return value


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="FILE.jsonl|-", hidden=True)] = None,
    *,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", callback=_positive, help="Answer with N processes; 1 unless given.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the last line that the output answers.")] = False,
    trusted: Annotated[bool, typer.Option("--trusted", help="The ordinary bounds instead of those of --untrusted.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of requests and answers, and answer nothing.")] = False,
    shared: Shared,
) -> int:
    """Answer every line."""
    from gradcli import limits
    from gradcli.batch.lines import Lines
    from gradcli.batch.output import Source
    from gradcli.batch.pool import Batch
    from gradcli.cli.progress import progress

    if schema:
        return _write_schema(words or [], shared)
    name = _input_name(words or [], shared, trusted)
    if not hasattr(os, "fork"):
        raise UsageError("batch needs a system on which processes can be forked")
    bounds = limits.with_options(shared.limit or [], untrusted=not trusted)
    limits.use(bounds)
    most = bounds.bytes / _LINE_SHARE
    with _opened(name) as source, _target(shared, Source(source, most), bounds, resume=resume) as target:
        lines = Lines(source, most, target.resume_after())
        status = os.fstat(source)
        with progress(status.st_size if stat.S_ISREG(status.st_mode) else None, shared, remaining=True) as tell:
            given = 0

            def watch(more: int) -> None:
                nonlocal given
                given += more
                tell(lines.read, f"{given:,} answers")

            Batch(lines, make_job(bounds, shared, target.descriptors), jobs, target.write, watch).run()
        target.finish()
    return 0


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


def _input_name(words: list[str], shared: Shared, trusted: bool) -> str:
    """The one FILE. Raises UsageError for it, and for options that make no sense here."""
    if len(words) != 1:
        what = "FILE is missing" if not words else f"unexpected argument {words[1]!r}"
        raise UsageError(f"{what}; - is standard input", hints=["try gradcli batch requests.jsonl"])
    if shared.file is not None:
        raise UsageError("batch takes its file as a word, without -f", hints=[f"try gradcli batch {shared.file}"])
    if shared.format not in (None, "json"):
        raise UsageError("batch answers in JSON: there is no other format")
    if trusted and shared.untrusted:
        raise UsageError("--trusted and --untrusted contradict each other")
    return words[0]


# --- answering ---


def make_job(bounds: Limits, shared: Shared, private: Sequence[int] = ()) -> Job:
    """How lines are answered; everything that evaluation loads is loaded now, once for all workers.

    Workers close the `private` descriptors.
    """
    from gradcli import limits
    from gradcli.batch import answers, messages, pool, requests
    from gradcli.cli import guard

    guard.preload()

    start, parent = 0, os.getpid()

    def prepare() -> None:
        nonlocal start
        guard.end_with(parent)
        for descriptor in private:
            os.close(descriptor)
        if bounds.untrusted:
            guard.seal()
        guard.bound_memory(bounds)
        limits.memory.begin()
        start = limits.memory.total()

    def work(number: int, line: bytes) -> bytes:
        spoiled = False
        limits.use(bounds)  # not those of the request before
        try:
            request = messages.decode(line, messages.Request)
            requests.check(request)
            tight = requests.tightened(request, bounds)

            def found() -> str:
                return answers.answer_json(request.id, number, requests.answer(request, tight, dtype=shared.dtype, seed=shared.seed))

            text = _timed(tight, found)
            limits.check_output(len(text))
        except Exception as error:
            ours = error if isinstance(error, GradcliError) else _fault(error)
            text = answers.failure_json(messages.identity(line), number, _steady(ours))
            spoiled = isinstance(ours, InternalFault) or (isinstance(ours, LimitError) and ours.limit in ("time", "bytes"))
        if spoiled or grown():
            raise pool.Leave(text.encode())
        return text.encode()

    def grown() -> bool:
        return limits.memory.total() - start > max(bounds.bytes / _GROWTH_SHARE, limits.memory.OWN)

    def failed(number: int, line: bytes, error: GradcliError) -> bytes:
        return answers.failure_json(messages.identity(line), number, error).encode()

    def too_long(number: int) -> bytes:
        most = bounds.bytes / _LINE_SHARE
        return answers.failure_json(None, number, LimitError("bytes", f"a line of more than {most:,.0f} bytes is over the limit")).encode()

    return pool.Job(work, failed, too_long, prepare)


def _timed(bounds: Limits, make: Callable[[], str]) -> str:
    """What `make` makes, within the bound on time."""
    from gradcli import limits
    from gradcli.cli import guard

    limits.use(bounds)
    if bounds.time == limits.NONE:
        return make()
    guard.bound_processor(bounds.time)
    guard.set_alarm(bounds.time)
    try:
        return make()
    finally:
        guard.set_alarm(0)


def _fault(error: Exception) -> GradcliError:
    if isinstance(error, MemoryError):
        return LimitError("bytes", "there is not enough memory")
    if isinstance(error, RecursionError):
        return LimitError("nesting", "a value is nested too deeply")
    return InternalFault(f"{type(error).__name__}: {error}")


def _steady(error: GradcliError) -> GradcliError:
    """The error without the place that an alarm happened to find, which differs from run to run."""
    from gradcli import limits
    from gradcli.cli import guard

    return guard.time_error(limits.current.time) if isinstance(error, LimitError) and error.limit == "time" else error


# --- where requests come from and answers go ---


@contextmanager
def _opened(name: str) -> Iterator[int]:
    """The descriptor of the requests."""
    from gradcli import data

    if name == "-":
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None or stream.closed:
            raise DataError("standard input is closed")
        yield stream.fileno()
        return
    with data.open_pipe(name) or data.open_regular(name) as file:
        yield file.fileno()


def _target(shared: Shared, source: Source, bounds: Limits, *, resume: bool) -> AnswerFile | AnswerStream:
    """Where answers go. Raises DataError."""
    from gradcli import data, limits
    from gradcli.batch.output import AnswerFile, AnswerStream, write_whole

    path = shared.path
    if path is None:
        return AnswerStream(1 if sys.stdout is None else sys.stdout.fileno(), source, _write_stdout, resume=resume)
    descriptor = data.descriptor_of(path)
    try:
        if descriptor is None and os.path.exists(path) and not os.path.isfile(path):
            descriptor = os.open(path, os.O_WRONLY)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None
    if descriptor is None:
        options = {"dtype": shared.dtype, "seed": shared.seed, "limits": {name: repr(getattr(bounds, name)) for name in limits.NAMES}}
        return AnswerFile(path, source, gradcli.__version__, options, resume=resume)
    given = descriptor

    def write(answers: bytes) -> None:
        try:
            write_whole(given, answers)
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror}") from None

    return AnswerStream(descriptor, source, write, resume=resume)


def _write_stdout(answers: bytes) -> None:
    from gradcli.cli import output

    output.write_stdout(answers.decode(), safe=True)
