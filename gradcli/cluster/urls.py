"""Requests behind URLs, read by fsspec."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import fsspec

from gradcli.batch.lines import Lines
from gradcli.batch.output import Source
from gradcli.errors import DataError

_CHUNK = 1 << 20


def found(url: str) -> list[str]:
    """The URLs that a URL with `*`, `?` or `[` in it stands for, in order; any other one itself. Raises DataError."""
    with _reading(url):
        system, path = fsspec.core.url_to_fs(url)
        if not any(sign in path for sign in "*?["):
            return [url]
        return [system.unstrip_protocol(name) for name in sorted(system.glob(path))]


@contextmanager
def opened(url: str, most: float) -> Iterator[UrlSource]:
    """The requests behind a URL; a line has at most `most` bytes. Raises DataError."""
    with _reading(url):
        system, path = fsspec.core.url_to_fs(url)
        stamp = str(system.ukey(path))
        stream = system.open(path, "rb")
    with stream:
        yield UrlSource(-1, most, url, stream, stamp)


@contextmanager
def _reading(url: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise DataError(f"cannot read {url}: {error}") from None
    except (OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"cannot read {url}: {error or type(error).__name__}") from None


class UrlSource(Source):
    """A stream of requests, and what its storage says to tell whether it has changed."""

    url: str
    stream: Any
    stamp: str

    def checksum(self) -> str | None:
        """What changes when the requests do."""
        return self.stamp

    def check_is_last(self, answers: int, number: int, end: int) -> None:
        """The stream can be read only once: nothing is compared."""

    def check_is_not(self, descriptor: int, name: str) -> None:
        """A URL is no file that is written."""

    def lines(self, skip: int) -> Lines:
        """The lines without the first `skip`."""
        return _StreamLines(self, skip)


class _StreamLines(Lines):
    def __init__(self, source: UrlSource, skip: int) -> None:
        super().__init__(source.descriptor, source.most, skip)
        self._source = source

    def _chunk(self) -> bytes | None:
        with _reading(self._source.url):
            found: bytes = self._source.stream.read(_CHUNK)
        return found
