"""The lines of the requests as they arrive, and where an earlier run ended in its output."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from gradcli.batch.messages import Number, decode
from gradcli.errors import DataError, GradcliError, UsageError

#: the number of a line, from 1, and its bytes; None for a line that was too long to be kept
Line = tuple[int, bytes | None]

_CHUNK = 1 << 18


class Lines:
    """The lines of a descriptor as they arrive, without the first `skip`. Lines over `most` bytes are counted but not kept."""

    def __init__(self, descriptor: int, most: float, skip: int = 0) -> None:
        self.descriptor = descriptor
        self.ended = False
        #: bytes read so far
        self.read = 0
        self._most = most
        self._skip = skip
        self._number = 0
        self._parts: list[bytes] = []
        self._size = 0

    def more(self) -> Iterator[Line]:
        """The lines that the next read completes; sets `ended` at the end of the input. Raises DataError."""
        chunk = self._chunk()
        if chunk is None:
            return
        self.read += len(chunk)
        if not chunk:
            self.ended = True
            if self._size:
                yield from self._complete()
            return
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._keep(part)
            yield from self._complete()
        self._keep(rest)

    def _chunk(self) -> bytes | None:
        """What can be read now: empty at the end of the input, None where nothing has arrived yet. Raises DataError."""
        try:
            return os.read(self.descriptor, _CHUNK)
        except BlockingIOError:
            return None
        except OSError as error:
            raise DataError(f"cannot read the requests: {error.strerror}") from None

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._most:
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _complete(self) -> Iterator[Line]:
        self._number += 1
        line = None if self._size > self._most else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if self._number > self._skip:
            yield self._number, line


#: what stands before a line in a frame: its number and its length, -1 for a line that was too long to be kept
_FRAME = struct.Struct("<Qq")


def frame(number: int, line: bytes | None) -> bytes:
    """A line as `Frames` reads it."""
    return _FRAME.pack(number, -1 if line is None else len(line)) + (line or b"")


class Frames(Lines):
    """Lines that arrive with their numbers, each in a frame."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, 0)
        self._rest = bytearray()

    def more(self) -> Iterator[Line]:
        """The lines that the next read completes; sets `ended` at the end of the input. Raises DataError."""
        chunk = self._chunk()
        if chunk is None:
            return
        self.ended = not chunk
        self._rest += chunk
        at = 0
        while len(self._rest) >= at + _FRAME.size:
            number, size = _FRAME.unpack_from(self._rest, at)
            end = at + _FRAME.size + max(size, 0)
            if len(self._rest) < end:
                break
            yield number, None if size < 0 else bytes(self._rest[at + _FRAME.size : end])
            at = end
        del self._rest[:at]


# --- resuming ---


def answered(descriptor: int, base: int = 0) -> tuple[int, int]:
    """The number of the last line that a partial output answers, and the offset where its answer ends; 0 and `base` for none.

    The answers begin at the offset `base`. Raises UsageError for an output that is no batch's, and DataError.
    """
    try:
        end = os.lseek(descriptor, 0, os.SEEK_END)
        while end > base:
            line, start = _last_line(descriptor, end, base)
            if line is None:
                end = start
                continue
            number = _number_of(line)
            if number is not None:
                return number, end
            if start == base:
                break
            end = start
    except OSError as error:
        raise DataError(f"cannot read the partial output: {error.strerror}") from None
    if end > base:
        raise UsageError("--resume: the output has no answers of gradcli batch")
    return 0, base


def last_answer(descriptor: int, end: int) -> bytes:
    """The line that ends at the offset `end`. Raises OSError."""
    return _last_line(descriptor, end, 0)[0] or b""


def _last_line(descriptor: int, end: int, base: int) -> tuple[bytes | None, int]:
    """The last line between `base` and `end`, with its start; None for a line without a newline at its end."""
    size, piece = 1 << 12, b""
    while True:
        start = max(base, end - size)
        piece = os.pread(descriptor, end - start, start)
        cut = piece.rfind(b"\n", 0, len(piece) - 1)
        if cut >= 0 or start == base:
            break
        size *= 8
    line = piece[cut + 1 :]
    return (line if line.endswith(b"\n") else None), start + cut + 1


def _number_of(line: bytes) -> int | None:
    try:
        number = decode(line, Number).line
    except GradcliError:
        return None
    return number if number > 0 else None
