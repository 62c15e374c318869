"""Files that are named at the prompt."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from gradcli.errors import UsageError

if TYPE_CHECKING:
    from gradcli.repl.loop import Prompt


def refuse_untrusted(prompt: Prompt, name: str) -> None:
    """Raise UsageError where files must not be used."""
    if prompt.session.state.bounds.untrusted:
        raise UsageError(f":{name} uses files, which --untrusted refuses")


def target(argument: str) -> tuple[str, str | None]:
    """What stands before a final `-o FILE`, and FILE; None without it."""
    match = re.fullmatch(r"(?s)(.*?)\s-o\s+(\S.*)", argument)
    return (argument, None) if match is None else (match[1].strip(), os.path.expanduser(match[2].strip()))


def write(prompt: Prompt, name: str, path: str, text: str) -> None:
    """Write the file, and say so. Raises UsageError, DataError."""
    refuse_untrusted(prompt, name)
    prompt.save(path, text.encode("utf-8", "backslashreplace"), prompt.inputs)
    prompt.screen.result(f"{path}: {len(text):,} characters\n")
