"""Expressions and sentences in several lines: cut at blanks and at operators, never within a word or a number."""

from __future__ import annotations

import re
from textwrap import TextWrapper

from gradcli.render.escape import width

#: A piece of text that is broken at operators only where it is longer than a line. It ends at a blank that does not follow an
#: opening bracket, or after a comma.
_END = r"(?<![\[(])(?=\s)|$|,"
#: Operators without blanks before them; a hyphen within a word and the sign of an exponent are none.
_OPERATOR = r"(?=(?:\*\*|//|[+*/@|&%]|(?<![A-Za-z]{2})-)(?<!\de[-+])[^\s=])"
_PIECE = r"(?:\S|(?<=[\[(])\s)+?"
_PIECES = re.compile(rf"(\s+|{_PIECE}(?:{_END}))")
_SMALL_PIECES = re.compile(rf"(\s+|{_PIECE}(?:{_END}|(?<=[\w)\]]){_OPERATOR}))")


class _Expressions(TextWrapper):
    """The standard library's wrapper with other places to cut at."""

    wordsep_re = _PIECES


class _Operators(TextWrapper):
    """The same, which cuts at operators too."""

    wordsep_re = _SMALL_PIECES


def fold(text: str, columns: int, indent: int = 1) -> str:
    """`text` in lines of at most `columns` where its pieces are that short. Lines that begin in the middle stand `indent` further right."""
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
    """The width of the narrowest lines that `text` can be folded to, which are its pieces that are never broken."""
    pieces = ([piece for piece in _SMALL_PIECES.findall(line) if piece.strip()] for line in text.split("\n"))
    return max((width(piece) + indent * (i > 0) for line in pieces for i, piece in enumerate(line)), default=0)
