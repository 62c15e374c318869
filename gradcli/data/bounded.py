"""Reading streams within bounds."""

from __future__ import annotations

from typing import BinaryIO, NoReturn

from gradcli.errors import DataError, LimitError

_CHUNK = 1 << 20


def too_large(name: str, bound: float, limit: str) -> NoReturn:
    raise LimitError(limit, f"{name} is larger than the limit of {bound:,.0f} bytes")


def read_bounded(stream: BinaryIO, name: str, bound: float, limit: str) -> bytes:
    """All bytes of `stream`. Raises LimitError as soon as there are more than `bound`, and DataError."""
    chunks = []
    size = 0
    try:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > bound:
                too_large(name, bound, limit)
            chunks.append(chunk)
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror}") from None
    return b"".join(chunks)
