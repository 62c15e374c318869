"""Files and standard input: opening, reading within bounds, and finding out what is in them. Nothing in them is run or unpickled.

A reference is what stands behind `NAME=` on the command line: `@data.csv`, `@data.csv:column` (a name, or an index from 0, or
several of them with commas), `@data.json`, `@weights.npy`, `@file.npz:member`, `@-` (standard input). A table gives float64 of shape
(rows, columns), or (rows,) for one column, a JSON array float64 of its shape; npy and npz files keep their dtype.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO
from weakref import WeakKeyDictionary

from gradcli import limits
from gradcli.data.bounded import read_bounded, too_large
from gradcli.data.form import ORDINARY, Form
from gradcli.errors import DataError

if TYPE_CHECKING:
    from gradcli.data.arrays import Array

ReadStdin = Callable[[], bytes]

#: what was read of streams, which can be read only once
_contents: WeakKeyDictionary[BinaryIO, bytes] = WeakKeyDictionary()


def stdin_reader(stream: BinaryIO | None, *, is_source: bool = False) -> ReadStdin:
    """A function that reads all of `stream` when it is first called and returns the same bytes in every call.

    It is bounded as memory is or, with `is_source`, where the stream holds nothing but a program, as programs are. The function
    raises DataError and LimitError.
    """

    def read() -> bytes:
        if stream is None:
            raise DataError("standard input is closed")
        if stream not in _contents:
            now = limits.current
            bound, limit = (now.source, "source") if is_source else (now.bytes, "bytes")
            _contents[stream] = read_bounded(stream, "standard input", bound, limit)
        return _contents[stream]

    return read


def content_of(stream: BinaryIO | None) -> bytes:
    """What was read of a stream; nothing before."""
    return b"" if stream is None else _contents.get(stream, b"")


class Loaded:
    """The array in a file. A table with a header has the names of its `columns`, and of those `left_out` because they are text."""

    __slots__ = ("array", "columns", "is_table", "left_out")

    def __init__(self, array: Array, columns: Sequence[str] = (), left_out: Sequence[str] = (), *, is_table: bool = False) -> None:
        self.array = array
        self.columns = columns
        self.left_out = left_out
        self.is_table = is_table


def load(reference: str, read_stdin: ReadStdin, form: Form = ORDINARY) -> Loaded:
    """What `reference`, with or without its `@`, names. `form` says how tables are written.

    Raises DataError for a file that cannot be read or makes no sense, LimitError for one that is too large.
    """
    name, part = _split(reference.removeprefix("@"))
    if name == "-":
        return _decode(io.BytesIO(read_stdin()), "standard input", part, form)
    try:
        with open_regular(name) as file:
            return _decode(file, name, part, form)
    except OSError as error:
        # /proc has regular files that cannot be read
        raise DataError(f"cannot read {name}: {error.strerror or error}") from None


def read_source(name: str, read_stdin: ReadStdin) -> str:
    """The text of the program file `name`, where `-` is standard input. It is UTF-8, with one byte order mark at most.

    Raises DataError, LimitError.
    """
    if name == "-":
        content = read_stdin()
        if len(content) > limits.current.source:
            too_large("standard input", limits.current.source, "source")
    else:
        with open_regular(name) as file:
            content = read_bounded(file, name, limits.current.source, "source")
    text = _text(content, name)
    if text.startswith("\ufeff"):
        raise DataError(f"{name} begins with more than one byte order mark")
    return text


def _split(reference: str) -> tuple[str, str | None]:
    """The file's name, and the column or member; a name with a colon is all of it where such a file exists."""
    head, colon, part = reference.rpartition(":")
    if not colon or not head or os.path.lexists(reference):
        return reference, None
    return head, part


#: directories with a name for each descriptor of this process
_DESCRIPTORS = ("/dev/fd", "/proc/self/fd")


def descriptor_of(path: str) -> int | None:
    """The descriptor that `path` names, as `/dev/stdin` and the shell's `<(...)` do; None for any other path."""
    places = {os.path.realpath(place) for place in _DESCRIPTORS}
    for _ in range(40):  # links that lead in a circle end here
        directory, name = os.path.split(path)
        if name.isdecimal() and os.path.realpath(directory) in places:
            return int(name)
        try:
            path = os.path.join(directory, os.readlink(path))
        except (OSError, ValueError, AttributeError):
            return None
    return None


def open_pipe(name: str) -> BinaryIO | None:
    """The pipe that this process already has open and that `name` names; None for everything else."""
    descriptor = descriptor_of(name)
    try:
        if descriptor is None or not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return None
        return open(os.dup(descriptor), "rb")
    except OSError:
        return None


def open_regular(name: str) -> BinaryIO:
    """The regular file `name`, open for reading; a FIFO is refused without waiting for it. Raises DataError.

    Of a pipe that this process already has open, all bytes are read.
    """
    if (pipe := open_pipe(name)) is not None:
        with pipe:
            return io.BytesIO(read_bounded(pipe, name, limits.current.bytes, "bytes"))
    try:
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror}") from None
    except ValueError:
        raise DataError(f"cannot read {name!r}: no such file") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DataError(f"cannot read {name}: it is not a regular file")
    return open(descriptor, "rb")


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}: line {line} is not UTF-8 text (byte 0x{content[error.start]:02x})") from None


def _decode(file: BinaryIO, name: str, part: str | None, form: Form) -> Loaded:
    """What is in `file`. Its first bytes tell the format, as its name may not."""
    from gradcli.data import arrays, tables

    start = file.read(len(arrays.NPY_MAGIC))
    file.seek(0)
    if start == arrays.NPY_MAGIC:
        if part is not None:
            raise DataError(f"{name}: an npy file has one array and no part {part!r}")
        return Loaded(arrays.load_npy(file, name, file.seek(0, io.SEEK_END)))
    if start.startswith(arrays.ZIP_MAGICS):
        return Loaded(arrays.load_npz(file, name, part))
    text = _text(read_bounded(file, name, limits.current.bytes, "bytes"), name)
    if text.lstrip().startswith(("[", "{")):
        from gradcli.data import json_numbers

        array, columns, left_out = json_numbers.load(text, name, part, form)
    else:
        array, columns, left_out = tables.load(text, name, part, form)
    return Loaded(array, columns, left_out, is_table=True)
