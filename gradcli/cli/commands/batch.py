"""`gradcli batch`: one JSON request a line in, one JSON answer a line out."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli.options import Shared
from gradcli.errors import DataError, GradcliError, InternalFault, LimitError, UsageError

if TYPE_CHECKING:
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
    from gradcli.batch.pool import Batch
    from gradcli.cli.progress import progress

    if schema:
        return _write_schema(words or [], shared)
    name = _input_name(words or [], shared, trusted)
    if not hasattr(os, "fork"):
        raise UsageError("batch needs a system on which processes can be forked")
    bounds = limits.with_options(shared.limit or [], untrusted=not trusted)
    limits.use(bounds)
    with _opened(name) as source, _Output(shared.path, name, resume) as target:
        skip = target.resume_after()
        lines = Lines(source, bounds.bytes / _LINE_SHARE, skip)
        status = os.fstat(source)
        with progress(status.st_size if stat.S_ISREG(status.st_mode) else None, shared, remaining=True) as tell:
            given = 0

            def watch(more: int) -> None:
                nonlocal given
                given += more
                tell(lines.read, f"{given:,} answers")

            Batch(lines, make_job(bounds, shared), jobs, target.write, watch).run()
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


def make_job(bounds: Limits, shared: Shared) -> Job:
    """How lines are answered; everything that evaluation loads is loaded now, once for all workers."""
    from gradcli import limits
    from gradcli.batch import answers, messages, pool, requests
    from gradcli.cli import guard

    guard.preload()

    start = 0

    def prepare() -> None:
        nonlocal start
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
        except GradcliError as error:
            text = answers.failure_json(_identity(line), number, error)
            spoiled = isinstance(error, InternalFault) or (isinstance(error, LimitError) and error.limit in ("time", "bytes"))
        except Exception as error:
            text = answers.failure_json(_identity(line), number, _fault(error))
            spoiled = True
        if spoiled or grown():
            raise pool.Leave(text.encode())
        return text.encode()

    def grown() -> bool:
        return limits.memory.total() - start > max(bounds.bytes / _GROWTH_SHARE, limits.memory.OWN)

    def failed(number: int, line: bytes, error: GradcliError) -> bytes:
        return answers.failure_json(_identity(line), number, error).encode()

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


def _identity(line: bytes) -> object:
    from gradcli.batch import messages

    with suppress(GradcliError):
        return messages.decode(line, messages.Identity).id
    return None


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


class _Output:
    """Where answers go: standard output, or a file that is written line by line.

    An older file stays as it is until the last line is answered: what is new grows in FILE.partial.
    """

    def __init__(self, path: str | None, source: str, resume: bool) -> None:
        self._path = path
        self._resume = resume
        self._partial = f"{path}.partial"
        self._growing: str | None = None
        self._descriptor = -1
        if path is not None and source != "-" and os.path.exists(path) and os.path.samefile(path, source):
            raise DataError(f"cannot write {path}: it is an input of this command")

    def __enter__(self) -> _Output:
        if self._path is not None:
            old = os.path.isfile(self._path) and os.path.getsize(self._path) > 0
            beside = os.path.exists(self._partial) if self._resume else old
            self._growing = self._partial if beside else self._path
            mode = os.O_RDWR | os.O_CREAT | os.O_APPEND | (0 if self._resume else os.O_TRUNC)
            with self._writing():
                self._descriptor = os.open(self._growing, mode, 0o666)
        return self

    def __exit__(self, *error: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"cannot write {self._path or 'to standard output'}: {error.strerror}") from None

    def resume_after(self) -> int:
        """The number of the last line that is answered already; a torn answer behind it is cut off."""
        from gradcli.batch.lines import answered

        if not self._resume:
            return 0
        if self._path is not None:
            line, end = answered(self._descriptor)
            with self._writing():
                os.truncate(self._descriptor, end)
            return line
        return self._resume_stdout()

    def _resume_stdout(self) -> int:
        """Standard output can be gone on with when it is a file that can be read."""
        from gradcli.batch.lines import answered

        try:
            out = sys.stdout.fileno()
            if not stat.S_ISREG(os.fstat(out).st_mode):
                raise OSError
            again = os.open(f"/dev/fd/{out}", os.O_RDONLY)
        except (OSError, ValueError, AttributeError):
            hints = ["try --resume -o answers.jsonl"]
            raise UsageError("--resume needs -o FILE, or standard output that is appended to a file with >>", hints=hints) from None
        try:
            line, end = answered(again)
        finally:
            os.close(again)
        with self._writing():
            os.truncate(out, end)
            os.lseek(out, 0, os.SEEK_END)
        return line

    def write(self, answers: bytes) -> None:
        """Write whole answers. Raises Stop, DataError."""
        if self._path is None:
            from gradcli.cli import output

            output.write_stdout(answers.decode(), safe=True)
            return
        rest = memoryview(answers)
        with self._writing():
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def finish(self) -> None:
        """Everything is answered."""
        if self._path is None:
            return
        with self._writing():
            if stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                os.fsync(self._descriptor)
            if self._growing == self._partial:
                os.replace(self._partial, self._path)
