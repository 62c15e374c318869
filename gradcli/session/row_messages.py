"""What processes that evaluate pieces of rows are asked, and what they answer, as bytes.

A request is the pieces that are wanted and the numbers of the variables; each piece is answered by its rows, its value and its
gradients, as they lie in memory. A piece that fails ends the answer with a message.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Sequence

import numpy as np

from gradcli.core.kernels import Array
from gradcli.data.pieces import Piece
from gradcli.errors import DataError, GradcliError
from gradcli.session.by_rows import ByRows
from gradcli.session.row_sums import Part

#: before a request: how many pieces, the bytes of these and of the numbers; before an answer: rows and value, or -1 and the bytes of
#: a message
_REQUEST, _ANSWER = struct.Struct("<QQQ"), struct.Struct("<qd")

#: what a process writes when it can answer
READY = b"ready\n"

#: gets so many bytes of a stream; fewer at its end
Read = Callable[[int], bytes]


def read(descriptor: int, size: int) -> bytes:
    """Read a number of bytes; fewer at the end of the stream."""
    found = bytearray()
    while len(found) < size and (chunk := os.read(descriptor, min(size - len(found), 1 << 20))):
        found += chunk
    return bytes(found)


def write(descriptor: int, content: bytes) -> None:
    """All of `content`. Raises OSError."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def request(pieces: Sequence[Piece], values: Sequence[Array]) -> bytes:
    """What a process is asked."""
    wanted, numbers = json.dumps(pieces).encode(), _packed(values)
    return _REQUEST.pack(len(pieces), len(wanted), len(numbers)) + wanted + numbers


def _packed(arrays: Sequence[Array]) -> bytes:
    return b"".join(array.tobytes() for array in arrays)


def _unpacked(content: bytes, like: Sequence[Array]) -> list[Array]:
    found, at = [], 0
    for one in like:
        found.append(np.frombuffer(content, one.dtype, one.size, at).reshape(one.shape))
        at += one.nbytes
    return found


def serve(by_rows: ByRows, requests: int, answers: int) -> None:
    """Answer the requests of a descriptor until there are no more."""
    while len(header := read(requests, _REQUEST.size)) == _REQUEST.size:
        _, wanted, numbers = _REQUEST.unpack(header)
        pieces = json.loads(read(requests, wanted))
        by_rows.set(_unpacked(read(requests, numbers), by_rows.values))
        for piece in pieces:
            try:
                part = by_rows.part(Piece(*piece))
            except GradcliError as error:
                message = f"{error.kind}: {error.message}".encode()
                write(answers, _ANSWER.pack(-1, len(message)) + message)
                break
            write(answers, _ANSWER.pack(part.rows, part.value) + _packed(part.gradients))


def answer(asked: bytes, more: Read) -> bytes | None:
    """The whole answer to the request `asked`; None where the stream ends before."""
    count, _, numbers = _REQUEST.unpack_from(asked)
    found = []
    for _ in range(count):
        header = more(_ANSWER.size)
        if len(header) < _ANSWER.size:
            return None
        rows, size = _ANSWER.unpack(header)
        found += [header, more(numbers if rows >= 0 else int(size))]
        if rows < 0:
            break
    return b"".join(found)


def part(by_rows: ByRows, piece: Piece, more: Read) -> Part:
    """The next part of an answer, which is that of `piece`.

    A piece that has failed elsewhere is evaluated here, for an error with its place. Raises what that raises, and DataError.
    """
    header = more(_ANSWER.size)
    if len(header) < _ANSWER.size:
        raise DataError("a process that evaluates rows has ended", hints=["memory may have been used up: fewer --jobs may help"])
    rows, value = _ANSWER.unpack(header)
    if rows < 0:
        message = more(int(value)).decode()
        by_rows.part(piece)
        raise DataError(f"another process cannot evaluate rows of {piece.file}: {message}")
    values = by_rows.values
    return Part(rows, value, _unpacked(more(sum(one.nbytes for one in values)), values))
