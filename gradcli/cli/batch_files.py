"""The files of `batch`: where requests are read, and where their answers go."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import gradcli
from gradcli.cli.options import Shared
from gradcli.errors import DataError, UsageError

if TYPE_CHECKING:
    from gradcli.batch.output import AnswerFile, AnswerStream, Source
    from gradcli.limits import Limits

#: the name of an input, and the path of its answers, None for standard output
Pair = tuple[str, str | None]


def pairs(words: list[str], path: str | None, *, on_cluster: bool) -> list[Pair]:
    """Each input with its output: in the folder `path` under the input's own name where `path` is a folder or ends with a slash.

    Raises UsageError for several inputs and no folder, DataError for names that stand for nothing.
    """
    if not words:
        raise UsageError("FILE is missing; - is standard input", hints=["try gradcli batch requests.jsonl"])
    into_folder = path is not None and (path.endswith("/") or os.path.isdir(path))
    names = [name for word in words for name in _names(word, on_cluster)]
    if not into_folder or path is None:
        if len(names) != 1:
            hints = ["-o DIR/ answers each file in a file of its own"]
            raise UsageError(f"unexpected argument {names[1]!r}; - is standard input", hints=hints)
        return [(names[0], path)]
    found: dict[str, str] = {}
    for name in names:
        if name == "-":
            raise UsageError("standard input has no name for its answers in a folder", hints=["try -o FILE.jsonl"])
        target = os.path.join(path, name.partition("?")[0].rpartition("/")[2])
        if target in found:
            raise UsageError(f"{found[target]} and {name} would both be answered in {target}")
        found[target] = name
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make the folder {path}: {error.strerror}") from None
    return [(name, target) for target, name in found.items()]


def is_url(name: str) -> bool:
    """Whether a name is that of no local file."""
    return "://" in name


def _names(word: str, on_cluster: bool) -> list[str]:
    """The inputs that a word names, in order: patterns stand for the files that match."""
    if is_url(word):
        if not on_cluster:
            raise UsageError(f"{word} is a URL, which is read where --scheduler is given", hints=["try --scheduler local"])
        from gradcli.cluster import urls

        names = urls.found(word)
    elif any(sign in word for sign in "*?[") and not os.path.lexists(word):
        import glob

        names = sorted(glob.glob(word, recursive=True))
    else:
        return [word]
    if not names:
        raise DataError(f"no file is called {word}")
    return names


@contextmanager
def opened(name: str, most: float) -> Iterator[Source]:
    """The requests; a line has at most `most` bytes. Raises DataError."""
    from gradcli import data
    from gradcli.batch.output import Source

    if name == "-":
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None or stream.closed:
            raise DataError("standard input is closed")
        yield Source(stream.fileno(), most)
    elif is_url(name):
        from gradcli.cluster import urls

        with urls.opened(name, most) as source:
            yield source
    else:
        with data.open_pipe(name) or data.open_regular(name) as file:
            yield Source(file.fileno(), most)


def target(path: str | None, source: Source, bounds: Limits, shared: Shared, *, resume: bool) -> AnswerFile | AnswerStream:
    """Where answers go. Raises DataError."""
    from gradcli import data, limits
    from gradcli.batch.output import AnswerFile, AnswerStream, write_whole

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
