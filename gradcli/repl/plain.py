"""Input without escape codes: for dumb terminals, and where standard output is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable

from gradcli.repl.history import HistoryFile

PROMPT, CONTINUED = ">>> ", "... "


class PlainReader:
    """Reads with the terminal's own line editing. `is_complete` says when an input has all its lines."""

    def __init__(self, history: HistoryFile, is_complete: Callable[[str], bool]) -> None:
        self._history = history
        self._is_complete = is_complete

    def read(self) -> str:
        """The next input. Raises EOFError at the end, KeyboardInterrupt for Ctrl-C."""
        text = self._line(PROMPT)
        while not self._is_complete(text):
            text += "\n" + self._line(CONTINUED)
        if text.strip():
            self._history.append(text)
        return text

    @staticmethod
    def _line(prompt: str) -> str:
        # prompts do not belong into output that goes to a file or a pipe
        stream = sys.stdout if sys.stdout.isatty() else sys.stderr
        stream.write(prompt)
        stream.flush()
        line = sys.stdin.readline()
        if not line:
            stream.write("\n")
            raise EOFError
        return line.removesuffix("\n")
