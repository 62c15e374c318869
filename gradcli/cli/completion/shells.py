"""Answers to the completion scripts: the words out of what a shell hands over, the candidates as it takes them."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence

from gradcli.cli.completion.candidates import Candidate, candidates
from gradcli.plain import Plain


def answer(environ: Mapping[str, str], arguments: Sequence[str]) -> None:
    """Write the candidates for an unfinished command line to standard output. Never raises, and writes to standard error never."""
    # a fault would show up as text in the middle of the command line
    with contextlib.suppress(Exception):
        text = _answered(environ, arguments)
        sys.stdout.buffer.write(os.fsencode(text))
        sys.stdout.buffer.flush()


def _answered(environ: Mapping[str, str], arguments: Sequence[str]) -> str:
    instruction = environ["_GRADCLI_COMPLETE"]
    if instruction == "bash":
        line = split_line(environ.get("_GRADCLI_LINE", ""), environ.get("_GRADCLI_BREAKS", ""))
        return _for_bash(candidates(line.words[1:], line.typed), line)
    if instruction == "complete_bash":
        # typer's own script
        words = shlex.split(environ.get("COMP_WORDS", ""))
        at = int(environ.get("COMP_CWORD", "0"))
        found = candidates(words[1:at], words[at] if at < len(words) else "")
        return "".join(f"{one.value}\n" for one in found)
    *words, typed = arguments or [""]
    if instruction == "zsh":
        return "".join(f"{one.kind}\t{one.prefix}\t{one.value[one.prefix :]}\t{_line(one.about)}\n" for one in candidates(words, typed))
    if instruction == "fish":
        # fish hands over the word as it was typed
        parsed = split_line(typed, "").typed
        return "".join(f"{one.value}\t{_line(one.about)}\n" for one in candidates(words, parsed))
    return ""


def _for_bash(found: Sequence[Candidate], line: Line) -> str:
    """A flag, then the rest of each candidate: readline replaces only what stands behind the last character that breaks words."""
    flag = "open" if {one.kind for one in found} & {"open", "directory"} else ""
    values = [one.value for one in found]
    if line.quote and flag and len(values) == 1 and not values[0].endswith("/"):
        # behind a single candidate readline would close the quotation
        values.append(f"{values[0]}(")
    return f"{flag}\n" + "".join(f"{_quoted(value[line.kept :], line.quote)}\n" for value in values)


def _quoted(text: str, quote: str) -> str:
    """The text as it stands in a command line of bash, behind the open quotation mark `quote` if there is one."""
    if quote == "'":
        return text.replace("'", "'\\''")
    special = r'(["\\$`])' if quote else r"([^\w@%+=:,./~-])"
    return re.sub(special, r"\\\1", text)


def _line(text: str) -> str:
    return " ".join(text.split())


class Line(Plain):
    """A command line up to the cursor: the finished words, the unfinished one without quotes, how many of its characters readline leaves
    alone, and the quotation mark that is open in it, "" for none."""

    words: list[str]
    typed: str
    kept: int
    quote: str


def split_line(text: str, breaks: str) -> Line:
    """A line of bash. `breaks` are the characters at which readline begins a word, COMP_WORDBREAKS."""
    words: list[str] = []
    word, quote, kept, before, started = "", "", 0, 0, False
    rest = iter(text)
    for char in rest:
        if not quote and char in " \t\n":
            if started:
                words.append(word)
            word, kept, started = "", 0, False
            continue
        started = True
        if char == quote:
            quote, kept = "", before
        elif not quote and char in "'\"":
            before, quote, kept = kept, char, len(word)
        elif char == "\\" and quote != "'":
            following = next(rest, "")
            word += following if not quote or following in '"\\$`' else f"\\{following}"
        else:
            word += char
            if not quote and char in breaks:
                # readline hands an @ over with what follows it
                kept = len(word) - (char == "@")
    return Line(words, word, kept, quote)
