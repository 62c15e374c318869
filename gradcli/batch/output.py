"""Where the answers of a batch go: a descriptor, or a file that a later run can go on with.

While a run is under way, FILE.partial stands beside FILE, and is locked. Its first line is a header: what the answers depend on. The
answers grow in FILE; where FILE has content, they grow behind the header, and FILE stays as it is until the last line is answered.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from gradcli.batch.lines import Lines, answered, last_answer
from gradcli.batch.messages import identity
from gradcli.errors import DataError, UsageError

_CHUNK = 1 << 20
#: bytes; a longer first line is no header
_LONGEST_HEADER = 1 << 16


class Header(Struct):
    """What the answers of a partial output depend on, and whether they stand behind the header or in FILE."""

    gradcli_batch: str
    input: str | None
    options: dict[str, Any]
    inside: bool


def copied(descriptor: int, at: int, write: Callable[[bytes], object]) -> None:
    """Hand the content of a file from the offset `at` on to `write`, piece by piece."""
    while chunk := os.pread(descriptor, _CHUNK, at):
        write(chunk)
        at += len(chunk)


def write_whole(descriptor: int, content: bytes) -> None:
    """Write all of `content`. Raises OSError."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class Source(Struct):
    """Where requests are read: a descriptor, and the bytes that a line may have."""

    descriptor: int
    most: float

    def checksum(self) -> str | None:
        """The checksum of a regular file from its present offset on; None for what can be read only once."""
        if not stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            return None
        import hashlib

        found = hashlib.blake2b(digest_size=16)
        copied(self.descriptor, os.lseek(self.descriptor, 0, os.SEEK_CUR), found.update)
        return found.hexdigest()

    def answered(self, answers: int, base: int = 0) -> tuple[int, int]:
        """What `lines.answered` says of the descriptor `answers`. Raises UsageError where its last answer is to another request.

        A request has the `id` of its answer. Nothing is compared where the requests can be read only once.
        """
        number, end = answered(answers, base)
        if number:
            self.check_is_last(answers, number, end)
        return number, end

    def check_is_last(self, answers: int, number: int, end: int) -> None:
        """Compare the request `number` with the answer that ends at the offset `end`. Raises UsageError."""
        if not stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            return
        begin = os.lseek(self.descriptor, 0, os.SEEK_CUR)
        lines = self.lines(number - 1)
        found: list[bytes | None] = []
        while not found and not lines.ended:
            found = [line for _, line in islice(lines.more(), 1)]
        os.lseek(self.descriptor, begin, os.SEEK_SET)
        if not found or identity(found[0] or b"") != identity(last_answer(answers, end)):
            raise UsageError("--resume: the output answers other requests than these")

    def lines(self, skip: int) -> Lines:
        """The lines without the first `skip`."""
        return Lines(self.descriptor, self.most, skip)

    def check_is_not(self, descriptor: int, name: str) -> None:
        """Refuse to write to the file that the requests are read from. Raises DataError."""
        one, other = os.fstat(descriptor), os.fstat(self.descriptor)
        if stat.S_ISREG(one.st_mode) and os.path.samestat(one, other):
            raise DataError(f"cannot write {name}: it is an input of this command")


class AnswerStream:
    """A descriptor that this process has been given; `write` writes to it."""

    descriptors: tuple[int, ...] = ()

    def __init__(self, descriptor: int, source: Source, write: Callable[[bytes], None], *, resume: bool) -> None:
        self._descriptor = descriptor
        self._source = source
        self._resume = resume
        self.write = write

    def __enter__(self) -> AnswerStream:
        with suppress(OSError):
            self._source.check_is_not(self._descriptor, "to standard output")
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is to be closed."""

    def resume_after(self) -> int:
        """The number of the last line that is answered already. Raises UsageError for what is no file that can be read."""
        if not self._resume:
            return 0
        out = self._descriptor
        try:
            if not stat.S_ISREG(os.fstat(out).st_mode):
                raise OSError
            again = os.open(f"/dev/fd/{out}", os.O_RDONLY)
        except OSError:
            hints = ["try --resume -o answers.jsonl"]
            raise UsageError("--resume needs -o FILE, or standard output that is appended to a file with >>", hints=hints) from None
        try:
            line, end = self._source.answered(again)
            os.truncate(out, end)
            os.lseek(out, 0, os.SEEK_END)
        except OSError as error:
            raise DataError(f"cannot write to standard output: {error.strerror}") from None
        finally:
            os.close(again)
        return line

    def finish(self) -> None:
        """Nothing remains to be done."""


class AnswerFile:
    """FILE and FILE.partial, between the beginning and the end of a run.

    The answers depend on the input, on the `version` of gradcli and on `options`.
    """

    def __init__(self, path: str, source: Source, version: str, options: Mapping[str, Any], *, resume: bool) -> None:
        self._path = path
        self._beside = f"{path}.partial"
        self._source = source
        self._resume = resume
        self._wanted = Header(version, None, dict(options), inside=False)
        #: FILE.partial, and where the answers grow
        self._partial = self._answers = -1
        self._base = 0
        self._begun = False

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What workers close, so that no lock outlives this process."""
        return tuple({self._partial, self._answers})

    def __enter__(self) -> AnswerFile:
        try:
            with self._writing():
                self._begin()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._partial >= 0 and not self._begun and not os.fstat(self._partial).st_size:
            with suppress(OSError):
                os.unlink(self._beside)
        for descriptor in {self._partial, self._answers} - {-1}:
            os.close(descriptor)
        self._partial = self._answers = -1

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"cannot write {self._path}: {error.strerror}") from None

    # --- beginning ---

    def _begin(self) -> None:
        if os.path.islink(self._path):
            raise DataError(f"cannot write {self._path}: it is a symbolic link")
        self._partial = self._locked()
        self._source.check_is_not(self._partial, self._beside)
        before = self._header()
        with suppress(FileNotFoundError):
            self._answers = self._opened(self._path, os.O_APPEND)
            self._source.check_is_not(self._answers, self._path)
        self._wanted.input = self._source.checksum()
        if self._resume and before is not None:
            self._compare(before)
            self._wanted.inside = before.inside
        else:
            self._wanted.inside = not self._resume and self._answers >= 0 and os.fstat(self._answers).st_size > 0
            if self._resume and self._answers >= 0:
                self._source.answered(self._answers)
            os.ftruncate(self._partial, 0)
            write_whole(self._partial, msgspec.json.encode(self._wanted) + b"\n")
        self._begun = True
        if self._wanted.inside:
            if self._answers >= 0:
                os.close(self._answers)
            self._answers, self._base = self._partial, self._header_size()
        elif self._answers < 0:
            self._answers = self._opened(self._path, os.O_APPEND | os.O_CREAT)

    @staticmethod
    def _opened(path: str, flags: int) -> int:
        """A file that is no link, for reading and writing. Raises OSError."""
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o666)

    def _locked(self) -> int:
        """FILE.partial, locked. Raises DataError where another run has it, and OSError."""
        import fcntl

        if os.path.islink(self._beside):
            raise DataError(f"cannot write {self._beside}: it is a symbolic link")
        while True:
            descriptor = self._opened(self._beside, os.O_APPEND | os.O_CREAT | os.O_NONBLOCK)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise DataError(f"cannot write {self._beside}: it is not a regular file")
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # a run that has ended since removed the file that was opened
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), os.lstat(self._beside)):
                        return descriptor
            except BlockingIOError:
                os.close(descriptor)
                raise DataError(f"cannot write {self._path}: another run writes it") from None
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _header_size(self) -> int:
        return os.pread(self._partial, _LONGEST_HEADER, 0).find(b"\n") + 1

    def _header(self) -> Header | None:
        """The header of FILE.partial; None for an empty file. Raises UsageError for another text, which is left as it is."""
        text = os.pread(self._partial, _LONGEST_HEADER, 0)
        if not text:
            return None
        line, newline, _ = text.partition(b"\n")
        try:
            if newline:
                return msgspec.json.decode(line, type=Header)
        except msgspec.MsgspecError:
            pass
        self._begun = True
        raise UsageError(f"{self._beside} is no partial output of gradcli batch", hints=["move it, or choose another -o FILE"])

    def _compare(self, before: Header) -> None:
        """Refuse to go on with answers that depend on something else. Raises UsageError."""
        wanted = self._wanted
        what = ""
        if before.gradcli_batch != wanted.gradcli_batch:
            what = f"gradcli {before.gradcli_batch}"
        elif None not in (before.input, wanted.input) and before.input != wanted.input:
            what = "another input"
        elif before.options != wanted.options:
            differ = [name for name in wanted.options if before.options.get(name) != wanted.options[name]]
            what = f"other options ({', '.join(differ) or 'unknown here'})"
        if what:
            raise UsageError(f"--resume: {self._beside} was begun with {what}", hints=["without --resume all lines are answered again"])

    # --- going on, and the end ---

    def resume_after(self) -> int:
        """The number of the last line that is answered already; a torn answer behind it is cut off. Raises UsageError."""
        if not self._resume:
            return 0
        with self._writing():
            number, end = self._source.answered(self._answers, self._base)
            os.ftruncate(self._answers, end)
        return number

    def write(self, answers: bytes) -> None:
        """Write whole answers. Raises DataError."""
        with self._writing():
            write_whole(self._answers, answers)

    def finish(self) -> None:
        """Everything is answered: FILE has all answers, and FILE.partial goes. Raises DataError."""
        with self._writing():
            if self._wanted.inside:
                self._replace()
            else:
                os.fsync(self._answers)
            os.unlink(self._beside)

    def _replace(self) -> None:
        descriptor, beside = tempfile.mkstemp(prefix=".", suffix=".answers", dir=os.path.dirname(self._path) or ".")
        try:
            with open(descriptor, "wb") as file:
                copied(self._partial, self._base, file.write)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, stat.S_IMODE(os.fstat(self._partial).st_mode))
            os.replace(beside, self._path)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise
