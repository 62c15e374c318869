"""Rows of files in pieces: npy arrays by a memory map, tables read from one end of a line to another. No file is held whole.

The cuts depend on the files alone, so that what is added up piece by piece is the same wherever the pieces are read.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

import numpy as np

from gradcli.data import arrays, tables
from gradcli.data.arrays import Array
from gradcli.data.files import open_regular
from gradcli.data.form import ORDINARY, Form
from gradcli.errors import DataError

#: a piece has at most so many rows of an array, and about so many bytes
ROWS, BYTES = 1 << 18, 1 << 23
#: the bytes at the beginning of a table that tell its columns
_SAMPLE = 1 << 16
_CHUNK = 1 << 20


class Piece(NamedTuple):
    """Rows of a file: of an array those from `start` to `stop`, of a table the lines between these bytes, `line` lines below its top."""

    file: str
    start: int
    stop: int
    line: int = -1


class Rows:
    """The rows of one file or of several with the same columns, in pieces."""

    def __init__(self, reference: str, form: Form = ORDINARY) -> None:
        """`reference` is that of `load`, and may be a pattern of names. Raises DataError."""
        self.names, part = _files(reference.removeprefix("@"))
        self.pieces: list[Piece] = []
        self._form = form
        self._layout: tables.Layout | None = None
        #: the dtype of arrays, None for tables
        self.dtype: np.dtype[np.generic] | None = None
        shape: tuple[int, ...] | None = None
        for name in self.names:
            with open_regular(name) as file:
                is_array = file.read(len(arrays.NPY_MAGIC)) == arrays.NPY_MAGIC
                if name != self.names[0] and is_array != (self._layout is None):
                    raise DataError(f"{name} is of another kind than {self.names[0]}")
                if is_array:
                    shape = self._cut_array(file, name, part, shape)
                else:
                    self._cut_table(file, name, part)

    @property
    def is_table(self) -> bool:
        """Whether the rows are those of tables."""
        return self._layout is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of tables with a header."""
        return () if self._layout is None else self._layout.names

    def load(self, piece: Piece) -> Array:
        """The numbers of a piece: of the dtype of an array's file, float64 of a table. Raises DataError, LimitError."""
        with open_regular(piece.file) as file:
            if self._layout is None:
                return arrays.load_npy_rows(file, piece.file, file.seek(0, io.SEEK_END), piece.start, piece.stop)
            file.seek(piece.start)
            text = _decoded(file.read(piece.stop - piece.start), piece.file)
        label = f"{piece.file}, {piece.line} lines down" if piece.line else piece.file
        return tables.load_rows(text, label, self._layout, self._form)

    # --- cutting ---

    def _cut_array(self, file: BinaryIO, name: str, part: str | None, before: tuple[int, ...] | None) -> tuple[int, ...]:
        if part is not None:
            raise DataError(f"{name}: an npy file has one array and no part {part!r}")
        header = arrays.npy_rows(file, name, file.seek(0, io.SEEK_END))
        if before is not None and (before != header.shape[1:] or self.dtype != header.dtype):
            raise DataError(f"{name} has other columns than {self.names[0]}")
        self.dtype = header.dtype
        size = math.prod(header.shape[1:]) * header.dtype.itemsize
        step = max(1, min(ROWS, BYTES // size))
        self.pieces += [Piece(name, at, min(at + step, header.shape[0])) for at in range(0, header.shape[0], step)]
        return header.shape[1:]

    def _cut_table(self, file: BinaryIO, name: str, part: str | None) -> None:
        file.seek(0)
        sample = file.read(_SAMPLE)
        whole = sample if len(sample) < _SAMPLE else sample[: sample.rfind(b"\n") + 1]
        if whole.startswith(arrays.ZIP_MAGICS) or whole.lstrip()[:1] in (b"[", b"{"):
            raise DataError(f"{name}: rows are read one after the other from npy files and tables alone")
        found = tables.layout(_decoded(whole, name), name, part, self._form)
        if self._layout is not None and self._layout[1:4] != found[1:4]:
            raise DataError(f"{name} has other columns than {self.names[0]}")
        self._layout = self._layout or found
        begin = 3 if sample.startswith(b"\xef\xbb\xbf") else 0
        line = 0
        if found.header:
            while sample[begin : sample.find(b"\n", begin)].strip() == b"":
                begin, line = sample.find(b"\n", begin) + 1, line + 1
            begin, line = sample.find(b"\n", begin) + 1, line + 1
        for start, stop, lines in _cuts(file, begin):
            self.pieces.append(Piece(name, start, stop, line))
            line += lines


def _cuts(file: BinaryIO, begin: int) -> Iterator[tuple[int, int, int]]:
    """(start, stop, lines) of pieces that end with a line."""
    file.seek(begin)
    at = start = begin
    lines = 0
    while chunk := file.read(_CHUNK):
        cut = chunk.rfind(b"\n") + 1
        if at + cut - start >= BYTES:
            count = chunk.count(b"\n", 0, cut)
            yield start, at + cut, lines + count
            start, lines = at + cut, chunk.count(b"\n", cut)
        else:
            lines += chunk.count(b"\n")
        at += len(chunk)
    if at > start:
        yield start, at, lines


def _files(reference: str) -> tuple[Sequence[str], str | None]:
    """The files that a reference names, in order, and the column."""
    import glob

    if reference == "-" or reference.startswith("-:"):
        raise DataError("standard input can be read only once: rows need a file")
    head, colon, part = reference.rpartition(":")
    for name, column in ((reference, None), (head, part)):
        if os.path.lexists(name):
            return [name], column
        if any(sign in name for sign in "*?[") and (found := sorted(glob.glob(name, recursive=True))):
            return found, column
    raise DataError(f"cannot read {head if colon and head else reference}: No such file or directory")


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text (byte 0x{content[error.start]:02x})") from None
