"""Expressions and sentences in several lines: cut at blanks and at operators, never within a word or a number."""

from __future__ import annotations

import re
from textwrap import TextWrapper

from gradcli.render.escape import escape, width

#: A piece of text that is broken at operators only where it is longer than a line. It ends at a blank that does not follow an
#: opening bracket, or after a comma.
_END = r"(?<![\[(])(?=\s)|$|,"
#: Operators without blanks before them; a hyphen within a word and the sign of an exponent are none.
_OPERATOR = r"(?=(?:\*\*|//|[+*/@|&%]|(?<![A-Za-z]{2})-)(?<!\de[-+])[^\s=])"
_PIECE = r"(?:\S|(?<=[\[(])\s)+?"
_PIECES = re.compile(rf"(\s+|{_PIECE}(?:{_END}))")
_SMALL_PIECES = re.compile(rf"(\s+|{_PIECE}(?:{_END}|(?<=[\w)\]]){_OPERATOR}))")


#: longer expressions are cut in the middle; JSON has them whole
_LONGEST = 60


class _Expressions(TextWrapper):
    """The standard library's wrapper with other places to cut at."""

    wordsep_re = _PIECES


class _Operators(TextWrapper):
    """A wrapper that cuts at operators too."""

    wordsep_re = _SMALL_PIECES


def fold(text: str, columns: int, indent: int = 1) -> str:
    """`text` in lines of at most `columns`, if its pieces are not longer. Continued lines are indented by `indent` columns more."""
    return _folded(text, columns, indent, _Expressions, _Operators)


def fold_prose(text: str, columns: int, indent: int = 0) -> str:
    """Sentences as `fold` folds expressions, but at blanks alone: paths and addresses stay whole."""
    return _folded(text, columns, indent, _Expressions)


def _folded(text: str, columns: int, indent: int, *kinds: type[TextWrapper]) -> str:
    return "\n".join(part for line in text.split("\n") for part in _lines(line, columns, indent, kinds))


def _lines(line: str, columns: int, indent: int, kinds: tuple[type[TextWrapper], ...]) -> list[str]:
    if width(line) <= columns:
        return [line]
    lead = line[: len(line) - len(line.lstrip())]
    rest = lead + " " * min(indent, columns // 3)
    room = max(columns, len(rest) + 1)
    for kind in kinds:
        wrapper = kind(room, subsequent_indent=rest, break_long_words=False, expand_tabs=False, replace_whitespace=False)
        lines = wrapper.wrap(line)
        if all(width(part) <= room for part in lines):
            break
    return lines or [line]


def widest_piece(text: str, indent: int = 1) -> int:
    """The width of the widest piece of `text`, which is the least width that it can be folded to."""
    pieces = ([piece for piece in _SMALL_PIECES.findall(line) if piece.strip()] for line in text.split("\n"))
    return max((width(piece) + indent * (i > 0) for line in pieces for i, piece in enumerate(line)), default=0)


def cut(text: str, columns: int) -> str:
    """The beginning of `text` that there is room for, with dots after it; nothing where only dots would be left."""
    if width(text) <= columns:
        return text
    from rich.cells import set_cell_size

    kept = set_cell_size(text, max(columns - 3, 0)).rstrip()
    return f"{kept}..." if kept else ""


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Printable text on one line, cut in the middle; of `log_softmax(#5) in LONG` the long text around the step."""
    text = escape(" ".join(text.split()))
    if len(text) <= longest:
        return text
    step, _, around = text.partition(" in ")
    if around and len(step) + 16 <= longest:
        return f"{step} in {shortened(around, longest - len(step) - 4)}"
    half = (longest - 3) // 2
    ends = [match.end() for match in _SMALL_PIECES.finditer(text)]
    # a piece of half the length is cut itself
    first = max((end for end in ends if half // 2 < end <= half + 1), default=half + 1)
    last = min((end for end in ends if len(text) - half <= end < len(text) - half // 2), default=len(text) - half)
    return f"{text[:first]}...{text[last:]}"
