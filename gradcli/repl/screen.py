"""Where the prompt writes. The command line provides the functions, as it knows streams, pipes and encodings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradcli.render.look import PLAIN, Look


@dataclass(slots=True)
class Screen:
    """`raw` writes text of programs with control characters escaped, `safe` text of gradcli as it is, `error` writes to standard error."""

    raw: Callable[[str], None]
    safe: Callable[[str], None]
    error: Callable[[str], None]
    #: the terminal as it is now
    look: Callable[[], Look] = lambda: PLAIN
    #: whether a program left its line unfinished
    within_line: bool = False

    def program(self, text: str) -> None:
        """What a program prints."""
        if text:
            self.within_line = not text.endswith("\n")
            self.raw(text)

    def result(self, text: str) -> None:
        """A value, which may hold a program's text; ends with a line end."""
        self.fresh_line()
        self.raw(text)

    def show(self, text: str) -> None:
        """A table or a remark of ours."""
        self.fresh_line()
        self.safe(text)

    def fresh_line(self) -> None:
        """End the line that a program has left unfinished."""
        if self.within_line:
            self.within_line = False
            self.safe("\n")
