"""Writing to standard output, standard error and files. A file is replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable
from typing import TextIO

from gradcli.errors import DataError, UsageError
from gradcli.render.escape import escape_lines, shortened
from gradcli.render.look import Look


class Stop(BaseException):
    """Leave with this exit code and without a message. It is no Exception, so that handlers of errors do not catch it."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def use_colour(stream: TextIO | None, choice: str | None) -> bool:
    """Whether to colour what goes to `stream`: `--color` first, then NO_COLOR, FORCE_COLOR, TERM and what the stream is."""
    if choice in ("always", "never"):
        return choice == "always"
    environ = os.environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return environ.get("TERM") != "dumb" and is_terminal(stream)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether `stream` is an open terminal."""
    return stream is not None and not stream.closed and stream.isatty()


def look_of(stream: TextIO | None, choice: str | None) -> Look:
    """How to draw what goes to `stream`: its colours as `use_colour` says, its encoding, its size where it is a terminal that tells it."""
    columns = rows = None
    if stream is not None and is_terminal(stream):
        with contextlib.suppress(OSError, ValueError):
            columns, rows = os.get_terminal_size(stream.fileno())
    return Look(columns or None, rows or None, use_colour(stream, choice), getattr(stream, "encoding", None) or "ascii")


def prepare_streams() -> None:
    """Let characters that the encoding lacks be written as escapes, and let every write be whole.

    With PYTHONUNBUFFERED a write that takes only a part of a text (the reader goes away, a limit on files) would drop the
    rest without an error.
    """
    own = sys.stdout
    # a stream that somebody else has put there stays as it is
    if own is sys.__stdout__ and isinstance(own, io.TextIOWrapper) and isinstance(own.buffer, io.RawIOBase):
        encoding, raw = own.encoding, own.detach()
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding, write_through=True)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def write_stdout(text: str, *, safe: bool = False) -> None:
    """Write and flush. Text that is not `safe` for a terminal is escaped when it goes to one.

    Raises Stop(141) when the reader has closed the pipe, DataError when the text cannot be written.
    """
    stream = sys.stdout
    if stream is None or stream.closed:
        raise DataError("cannot write to standard output: it is closed")
    try:
        stream.write(text if safe or not is_terminal(stream) else escape_lines(text))
        stream.flush()
    except OSError as error:
        raise _refused(stream, error) from None


def _refused(stream: TextIO, error: OSError) -> Stop | DataError:
    """What ends the program after standard output refused a text, which gets nothing more."""
    abandon(stream)
    return Stop(141) if isinstance(error, BrokenPipeError) else DataError(f"cannot write to standard output: {error.strerror}")


def page_stdout(text: str, choice: str | None) -> None:
    """Write text that is safe for a terminal, through `$PAGER` on a terminal that is too low for it. Raises what `write_stdout` does."""
    look = look_of(sys.stdout, choice)
    if look.rows is None or text.count("\n") < look.rows or not is_terminal(sys.stdin):
        write_stdout(text, safe=True)
        return
    from rich.console import Console
    from rich.text import Text

    # less shows colours where it is told to
    os.environ.setdefault("LESS", "-R")
    console = Console()
    with console.pager(styles=look.colour, links=False):
        console.print(Text.from_ansi(text, no_wrap=True, end=""), soft_wrap=True)


def write_stdout_bytes(content: bytes) -> None:
    """Write what is no text. Raises UsageError where standard output is a terminal, and what `write_stdout` raises."""
    stream = sys.stdout
    if is_terminal(stream):
        raise UsageError("this is no text for a terminal", hints=["-o FILE writes it to a file"])
    buffer = getattr(stream, "buffer", None)
    if buffer is None or stream.closed:
        raise DataError("cannot write to standard output: it is closed")
    try:
        stream.flush()
        buffer.write(content)
        buffer.flush()
    except OSError as error:
        raise _refused(stream, error) from None


def program_writer() -> Callable[[str], None]:
    """A `write_stdout` for a program's many small pieces: what standard output is, is looked at once."""
    if is_terminal(sys.stdout):
        return write_stdout
    return lambda text: write_stdout(text, safe=True)


def write_stderr(text: str) -> None:
    """Write a diagnostic; failures are ignored, as they cannot be reported."""
    stream = sys.stderr
    if stream is None or stream.closed:
        return
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        abandon(stream)


def warn(text: str) -> None:
    """A warning of gradcli itself on standard error, in one line."""
    write_stderr(shortened(escape_lines(text), 2000) + "\n")


#: streams that have been redirected to the null device
abandoned: list[TextIO] = []


def abandon(stream: TextIO) -> None:
    """Redirect the stream to the null device, so that the flush at exit does not fail again."""
    abandoned.append(stream)
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def write_file(path: str, content: bytes, inputs: Iterable[str] = ()) -> None:
    """Replace `path` by `content`: written beside, synced, renamed, so that on any failure the old file is whole.

    Refuses to write over one of `inputs`. What is no regular file, such as a pipe or `/dev/null`, and what names a descriptor of this
    process, such as `/dev/stdout`, is written to. Raises DataError.
    """
    # loads numpy, which whoever has something to write has loaded
    from gradcli.data import descriptor_of

    try:
        descriptor = descriptor_of(path)
        if descriptor is not None:
            _write_to(descriptor, content)
            return
        for name in inputs:
            if os.path.exists(name) and os.path.exists(path) and os.path.samefile(name, path):
                raise DataError(f"cannot write {path}: it is an input of this command")
        target = os.path.realpath(path)
        try:
            mode = os.stat(target).st_mode
        except FileNotFoundError:
            mode = None
        if mode is not None and not stat.S_ISREG(mode):
            with open(path, "wb") as device:
                device.write(content)
            return
        _replace(target, content, mode)
    except BrokenPipeError:
        raise Stop(141) from None
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None


def _write_to(descriptor: int, content: bytes) -> None:
    """Write behind what this process has written there already."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _replace(target: str, content: bytes, mode: int | None) -> None:
    # 5 ms
    import tempfile

    descriptor, beside = tempfile.mkstemp(prefix=f".{os.path.basename(target)[:100]}.", dir=os.path.dirname(target))
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is None:
            umask = os.umask(0)
            os.umask(umask)
            mode = 0o666 & ~umask
        os.chmod(beside, stat.S_IMODE(mode))
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def by_matplotlib(chosen: str, draw: Callable[[], bytes]) -> bytes:
    """What `draw` makes, a picture in the format `chosen`. Raises UsageError where matplotlib is not installed."""
    from gradcli.errors import UsageError

    try:
        return draw()
    except ImportError:
        text = f"{chosen.upper()} pictures are drawn by matplotlib, which is not installed"
        raise UsageError(text, hints=["pip install 'gradcli[plot]'", "-o FILE.svg needs nothing more"]) from None
