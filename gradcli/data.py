"""Files and standard input as arrays: CSV, npy and npz. Nothing in them is run or unpickled.

A reference is what stands behind `NAME=` on the command line: `@data.csv`, `@data.csv:column` (a name, or an index from 0),
`@weights.npy`, `@file.npz:member`, `@-` (standard input). A CSV gives float64 of shape (rows, columns), or (rows,) for
one column; npy and npz files keep their dtype.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, Protocol

import numpy as np

from gradcli import limits
from gradcli.errors import DataError, LimitError

if TYPE_CHECKING:
    import zipfile

Array = np.ndarray[Any, np.dtype[Any]]
ReadStdin = Callable[[], bytes]


class Rows(Protocol):
    """A reader of the csv module."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]:
        """The cells of each row. Raises csv.Error."""


_CHUNK = 1 << 20
_NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
#: characters of a header; numpy's own default
_MAX_HEADER = 10_000
_NUMBER = r"(?ia)[ \t]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf|infinity)[ \t]*"


def stdin_reader(stream: BinaryIO | None, *, is_source: bool = False) -> ReadStdin:
    """A function that reads all of `stream` when it is first called and returns the same bytes in every call.

    It is bounded as memory is or, with `is_source`, where the stream holds nothing but a program, as programs are. The function
    raises DataError and LimitError.
    """
    content: list[bytes] = []

    def read() -> bytes:
        if not content:
            if stream is None:
                raise DataError("standard input is closed")
            now = limits.current
            bound, limit = (now.source, "source") if is_source else (now.bytes, "bytes")
            content.append(_read_bounded(stream, "standard input", bound, limit))
        return content[0]

    return read


def load(reference: str, read_stdin: ReadStdin) -> Array:
    """The array that `reference`, with or without its `@`, names.

    Raises DataError for a file that cannot be read or makes no sense, LimitError for one that is too large.
    """
    name, part = _split(reference.removeprefix("@"))
    if name == "-":
        return _decode(io.BytesIO(read_stdin()), "standard input", part)
    with open_regular(name) as file:
        return _decode(file, name, part)


def read_source(name: str, read_stdin: ReadStdin) -> str:
    """The text of the program file `name`, where `-` is standard input. It is UTF-8, with one byte order mark at most.

    Raises DataError, LimitError.
    """
    if name == "-":
        content = read_stdin()
        if len(content) > limits.current.source:
            _too_large("standard input", limits.current.source, "source")
    else:
        with open_regular(name) as file:
            content = _read_bounded(file, name, limits.current.source, "source")
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


def open_regular(name: str) -> BinaryIO:
    """The regular file `name`, open for reading; a FIFO is refused without waiting for it. Raises DataError."""
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


def _too_large(name: str, bound: float, limit: str) -> NoReturn:
    raise LimitError(limit, f"{name} is larger than the limit of {bound:,.0f} bytes")


def _read_bounded(stream: BinaryIO, name: str, bound: float, limit: str) -> bytes:
    """All bytes of `stream`. Raises LimitError as soon as there are more than `bound`, and DataError."""
    chunks = []
    size = 0
    try:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > bound:
                _too_large(name, bound, limit)
            chunks.append(chunk)
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror}") from None
    return b"".join(chunks)


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}: line {line} is not UTF-8 text (byte 0x{content[error.start]:02x})") from None


def _decode(file: BinaryIO, name: str, part: str | None) -> Array:
    """The array in `file`. Its first bytes tell the format, as its name may not."""
    start = file.read(len(_NPY_MAGIC))
    file.seek(0)
    if start == _NPY_MAGIC:
        if part is not None:
            raise DataError(f"{name}: an npy file has one array and no part {part!r}")
        return _load_npy(file, name, file.seek(0, io.SEEK_END))
    if start.startswith(_ZIP_MAGICS):
        return _load_npz(file, name, part)
    return _load_csv(_text(_read_bounded(file, name, limits.current.bytes, "bytes"), name), name, part)


# --- npy and npz ---------------------------------------------------------------------------------


def _load_npy(file: BinaryIO, name: str, size: int) -> Array:
    """The npy array in `file` of `size` bytes. The size that its header declares is checked before the array is made."""
    file.seek(0)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(file)
        read_header = readers.get(version)
        shape, _, dtype = ((), False, np.dtype("O")) if read_header is None else read_header(file, max_header_size=_MAX_HEADER)
    except Exception:
        # numpy hands the header to ast and tokenize, each with errors of its own
        raise DataError(f"{name}: the header is not that of an npy file") from None
    if read_header is None:
        raise DataError(f"{name}: version {version[0]}.{version[1]} of the npy format is not supported")
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise DataError(f"{name}: an array of {dtype} is not supported; numbers or booleans are needed")
    if any(type(extent) is not int or extent < 0 for extent in shape):
        raise DataError(f"{name}: the header declares an impossible shape")
    count = math.prod(shape)
    limits.check_elements(count, dtype.itemsize)
    available = size - file.tell()
    if count * dtype.itemsize > available:
        raise DataError(f"{name}: the header declares {count * dtype.itemsize:,} bytes of data, the file has {available:,}")
    file.seek(0)
    try:
        array: Array = np.load(file, allow_pickle=False, max_header_size=_MAX_HEADER)
    except (ValueError, EOFError, OSError):
        raise DataError(f"{name}: the data is damaged") from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _load_npz(file: BinaryIO, name: str, part: str | None) -> Array:
    # 7 ms
    import zipfile
    from zlib import error as zlib_error

    try:
        with zipfile.ZipFile(file) as archive:
            info = _member(archive, name, part)
            limit = limits.current.bytes
            if info.file_size > limit:
                _too_large(f"{name}:{info.filename}", limit, "bytes")
            with archive.open(info) as stream:
                content = _read_bounded(stream, name, min(limit, info.file_size), "bytes")  # type: ignore[arg-type]
    except (zipfile.BadZipFile, zlib_error, NotImplementedError, EOFError, RuntimeError, ValueError, OSError):
        # RuntimeError is how zipfile speaks of encrypted members
        raise DataError(f"{name}: the archive is damaged or of an unsupported kind") from None
    label = f"{name}:{info.filename.removesuffix('.npy')}"
    if not content.startswith(_NPY_MAGIC):
        raise DataError(f"{label} is not an npy array")
    return _load_npy(io.BytesIO(content), label, len(content))


def _member(archive: zipfile.ZipFile, name: str, part: str | None) -> zipfile.ZipInfo:
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if part is None and len(members) == 1:
        return next(iter(members.values()))
    listing = ", ".join(list(members)[:20]) or "none"
    if part is None:
        raise DataError(f"{name} has {len(members)} arrays, say which: @{name}:NAME with one of {listing}")
    info = members.get(part.removesuffix(".npy"))
    if info is None:
        raise DataError(f"{name} has no array {part!r}; it has {listing}")
    return info


# --- CSV -----------------------------------------------------------------------------------------


def _load_csv(text: str, name: str, part: str | None) -> Array:
    """The numbers of a table with rows of equal length. A first row with a cell that is no number is a header."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = iter(_rows(reader, name))
    first = next(rows, None)
    if first is None:
        raise DataError(f"{name} is empty")
    width = len(first[1])
    header = None if all(re.fullmatch(_NUMBER, cell) for cell in first[1]) else [cell.strip() for cell in first[1]]
    numbers: list[float] = [] if header else [float(cell) for cell in first[1]]
    # float() takes underscores and the digits of other scripts too: where there are any, each cell is checked first
    body = text[text.find("\n") + 1 :]
    convert = float if body.isascii() and "_" not in body else _strict_float
    for line, cells in rows:
        if len(cells) != width:
            raise DataError(f"{name}: row {line} has {_count(len(cells), 'cell')}, the first row has {width}")
        try:
            numbers.extend(map(convert, cells))
        except ValueError:
            _bad_cell(name, line, cells, header)
        if len(numbers) > limits.current.elements:
            limits.check_elements(len(numbers), 8)
    if not numbers:
        raise DataError(f"{name} has a header and no rows of numbers")
    table = np.array(numbers, dtype=np.float64).reshape(-1, width)
    return table if part is None else np.ascontiguousarray(table[:, _column(part, header, width, name)])


def _rows(reader: Rows, name: str) -> Iterator[tuple[int, list[str]]]:
    """The line number and the cells of each row that is not blank. Raises DataError."""
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(f"{name}: row {reader.line_num}: {error}") from None


def _strict_float(cell: str) -> float:
    if not re.fullmatch(_NUMBER, cell):
        raise ValueError
    return float(cell)


def _bad_cell(name: str, line: int, cells: list[str], header: list[str] | None) -> NoReturn:
    index = next(i for i, cell in enumerate(cells) if not re.fullmatch(_NUMBER, cell))
    cell = cells[index]
    column = f"column {index}" + (f" ({header[index]})" if header else "")
    shown = "is empty" if not cell.strip() else f"is no number: {cell[:40]!r}"
    hints = ["cells are separated by commas"] if len(cells) == 1 and re.search(r"[;\t ]", cell.strip()) else []
    raise DataError(f"{name}: row {line}, {column} {shown}", hints=hints)


def _column(part: str, header: list[str] | None, width: int, name: str) -> int:
    """The index of the column `part`, which is a name or an index from 0. Raises DataError."""
    if header and header.count(part) > 1:
        raise DataError(f"{name} has {header.count(part)} columns called {part!r}")
    if header and part in header:
        return header.index(part)
    if re.fullmatch(r"[0-9]{1,9}", part) and int(part) < width:
        return int(part)
    if header is None:
        raise DataError(f"{name} has no header and {_count(width, 'column')}, counted from 0; {part!r} is none of them")
    from difflib import get_close_matches

    close = get_close_matches(part, header)
    raise DataError(
        f"{name} has no column {part!r}; it has {', '.join(header[:20])}",
        hints=[f"did you mean {', '.join(close)}?"] if close else [],
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
