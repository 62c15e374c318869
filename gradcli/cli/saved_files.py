"""The files that programs save and load: those of one folder, which `--files DIR` names."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from gradcli import limits
from gradcli.data.bounded import read_bounded
from gradcli.errors import ProgramError

_LONGEST = 1000
_OUTSIDE = "{!r} is not in the folder of --files: names there are relative, without '..'"
_LINK = "{!r} is a link or no regular file, which programs neither read nor write"
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Folder:
    """Files by names relative to a folder. Links are not followed, and nothing outside is reached.

    Methods raise the errors that Python's `open` and its like raise, as errors of the program; PermissionError for other names.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        #: what was written
        self._saved: set[str] = set()

    def read(self, name: str) -> bytes:
        """All bytes of a regular file, within the limit on memory."""
        with _errors(name), self._opened(name) as (folder, last), open(_regular(name, last, folder), "rb") as file:
            return read_bounded(file, name, limits.current.bytes, "bytes")

    def write(self, name: str, content: bytes) -> None:
        """Replace a file by `content`: written beside, synced, renamed. No link and nothing that is no regular file is replaced."""
        with _errors(name), self._opened(name, made=True) as (folder, last):
            with contextlib.suppress(FileNotFoundError):
                _check(name, os.stat(last, dir_fd=folder, follow_symlinks=False))
            beside = f".{last[:100]}.{os.getpid()}.part"
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
            try:
                with open(descriptor, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(beside, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(beside, dir_fd=folder)
                raise
        self._saved.add("/".join(_parts(name)))

    def size(self, name: str) -> int:
        """The number of bytes of a file."""
        with _errors(name), self._opened(name) as (folder, last):
            found = os.stat(last, dir_fd=folder, follow_symlinks=False)
            _check(name, found)
            return found.st_size

    def kind(self, name: str) -> str:
        """What a name stands for: "file", "folder", or "" for nothing."""
        if not _parts(name):
            return "folder"
        try:
            with self._opened(name) as (folder, last):
                mode = os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode
        except OSError:
            return ""
        return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else ""

    def listed(self, name: str) -> list[str]:
        """The names in a folder, sorted."""
        if not _parts(name):
            with _errors(name):
                return sorted(os.listdir(self._path))
        with _errors(name), self._opened(name) as (folder, last):
            inner = os.open(last, _FOLDER, dir_fd=folder)
            try:
                return sorted(os.listdir(inner))
            finally:
                os.close(inner)

    def make_folder(self, name: str, parents: bool) -> None:
        """Make a folder, with `parents` those above it too. FileExistsError where there is one."""
        parts = _parts(name)
        for end in range(1 if parents else len(parts), len(parts)):
            above = "/".join(parts[:end])
            if self.kind(above) != "folder":
                self.make_folder(above, False)
        with _errors(name), self._opened(name, made=True) as (folder, last):
            os.mkdir(last, dir_fd=folder)

    def remove(self, name: str) -> None:
        """Delete a file that the programs of this run have written. PermissionError for another one."""
        with _errors(name), self._opened(name) as (folder, last):
            _check(name, os.stat(last, dir_fd=folder, follow_symlinks=False))
            if "/".join(_parts(name)) not in self._saved:
                raise ProgramError("PermissionError", f"{name!r} was not saved by this run, which deletes its own files only")
            os.unlink(last, dir_fd=folder)

    @contextlib.contextmanager
    def _opened(self, name: str, made: bool = False) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder that a name lies in, and its last part; `made` makes the folder of `--files` itself."""
        parts = _parts(name)
        if not parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if made:
            os.makedirs(self._path, exist_ok=True)
        folder = os.open(self._path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            for part in parts[:-1]:
                inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder, parts[-1]
        finally:
            os.close(folder)


def _parts(name: str) -> list[str]:
    """The parts of a name within the folder. PermissionError for a name that leads out of it, or that no file should have."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not name:
        raise ProgramError("FileNotFoundError", "[Errno 2] No such file or directory: ''")
    if name.startswith("/") or ".." in parts or "\\" in name or not name.isprintable() or len(name) > _LONGEST:
        raise ProgramError("PermissionError", _OUTSIDE.format(name[:_LONGEST]))
    return parts


def _check(name: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise ProgramError("PermissionError", _LINK.format(name))


def _regular(name: str, last: str, folder: int) -> int:
    descriptor = os.open(last, os.O_RDONLY | _FILE, dir_fd=folder)
    try:
        _check(name, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextlib.contextmanager
def _errors(name: str) -> Iterator[None]:
    """Python's errors of files, as errors of the program."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ProgramError("PermissionError", _LINK.format(name)) from None
        kind = type(error).__name__
        known = kind in ("FileNotFoundError", "FileExistsError", "PermissionError", "IsADirectoryError", "NotADirectoryError")
        raise ProgramError(kind if known else "OSError", f"[Errno {error.errno}] {error.strerror}: {name!r}") from None
