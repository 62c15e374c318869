"""Errors as a diagnostic on standard error, or as JSON on standard output."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

from gradcli.cli import output
from gradcli.errors import GradcliError, ProgramError, Verdict
from gradcli.plain import Plain


class Reporter(Plain):
    """How errors are shown. It is read from the unparsed words, as parsing may be what fails."""

    colour: str | None
    as_json: bool
    debug: bool

    def report(self, error: GradcliError) -> int:
        """Show the error; its exit code."""
        from gradcli.render.diagnostic import diagnostic, error_json

        if self.debug:
            output.write_stderr("".join(traceback.format_exception(error)))
        if self.as_json and not isinstance(error, Verdict) and sys.stdout not in output.abandoned:
            try:
                output.write_stdout(error_json(error), safe=True)
            except GradcliError:
                pass
            else:
                return error.exit_code
        output.write_stderr(diagnostic(error, output.look_of(sys.stderr, self.colour)))
        return error.exit_code


def exit_status(error: GradcliError) -> int | None:
    """What a program that ends itself by `sys.exit(status)` says, as in Python: a text is shown, and is 1. None for other errors."""
    if not isinstance(error, ProgramError) or error.type_name != "SystemExit":
        return None
    status = error.args_[0] if len(error.args_) == 1 else error.args_ or None
    if status is None or isinstance(status, int):
        return int(status or 0) & 0xFF
    output.write_stderr(f"{error.message}\n")
    return 1


def reporter(words: Sequence[str]) -> Reporter:
    """What the words of a command line say about errors."""
    as_json = "--json" in words or _after(words, "--format") == "json"
    return Reporter("never" if "--no-color" in words else _after(words, "--color"), as_json, "--debug" in words)


def _after(words: Sequence[str], option: str) -> str | None:
    for i, word in enumerate(words):
        if word == option:
            return words[i + 1] if i + 1 < len(words) else None
        if word.startswith(option + "="):
            return word.partition("=")[2]
    return None
