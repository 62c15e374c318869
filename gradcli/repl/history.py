"""The history file. Each entry is appended in one write before it runs, so that no crash loses it.

The format is prompt_toolkit's: a comment line with the time, then the lines of the input, each behind a plus sign.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

#: older entries are dropped at the next start, unless the user wants another number
MOST_ENTRIES = 10_000
_MOST_BYTES = 32 * 2**20


def default_path() -> Path:
    """Where the history is kept: the user's directory for state, or what GRADCLI_STATE_DIR names."""
    named = os.environ.get("GRADCLI_STATE_DIR")
    if named:
        return Path(named) / "history"
    from platformdirs import user_state_path

    return user_state_path("gradcli") / "history"


class HistoryFile:
    """The file, readable by its owner only and never opened through a link. `most` entries are kept in it, with 0 nothing is.

    The first failure is one warning; then memory only.
    """

    def __init__(self, path: Path, warn: Callable[[str], None], most: int = MOST_ENTRIES) -> None:
        self.path = path
        self._most = most
        self._warn = warn
        self._broken = not most  # a history of no lines is never written

    def load(self) -> list[str]:
        """The entries, oldest first; cuts the file down when it has become too long."""
        if not self._most:
            return []
        try:
            descriptor = self._open(os.O_RDONLY)
        except FileNotFoundError:
            return []
        except OSError as error:
            self._fail(error)
            return []
        try:
            with open(descriptor, "rb") as file:
                size = os.fstat(descriptor).st_size
                file.seek(max(0, size - _MOST_BYTES))
                content = file.read()
        except OSError as error:
            self._fail(error)
            return []
        entries = _entries(content.decode("utf-8", "replace"))
        if len(entries) > self._most or size > _MOST_BYTES:
            entries = entries[-self._most :]
            self._rewrite(entries)
        return entries

    def append(self, text: str) -> None:
        """Add one entry, whole, at the end."""
        if self._broken:
            return
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = self._open(os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                os.write(descriptor, _encoded(text))
            finally:
                os.close(descriptor)
        except OSError as error:
            self._fail(error)

    def _open(self, flags: int) -> int:
        more = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self.path, flags | more, 0o600)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise OSError(0, "it is not a regular file")
        if stat.S_IMODE(status.st_mode) & 0o077 and hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
        return descriptor

    def _rewrite(self, entries: list[str]) -> None:
        """Replace the file by one with these entries: written beside and renamed."""
        beside = ""
        try:
            descriptor, beside = tempfile.mkstemp(prefix=".history.", dir=self.path.parent)
            with open(descriptor, "wb") as file:
                file.writelines(map(_encoded, entries))
            os.replace(beside, self.path)
        except OSError:
            # the file stays longer than it should be
            with contextlib.suppress(OSError):
                os.unlink(beside)

    def _fail(self, error: OSError) -> None:
        if not self._broken:
            self._broken = True
            self._warn(f"history is not kept: {self.path}: {error.strerror}")


def _encoded(text: str) -> bytes:
    lines = "".join(f"+{line}\n" for line in text.split("\n"))
    return f"\n# {datetime.now()}\n{lines}".encode("utf-8", "replace")


def _entries(text: str) -> list[str]:
    found: list[str] = []
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("+"):
            lines.append(line[1:])
        elif lines:
            found.append("\n".join(lines))
            lines = []
    if lines:
        found.append("\n".join(lines))
    return found
