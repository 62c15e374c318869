"""Numbers and strings as Python writes them: their checks and their values."""

from __future__ import annotations

import re

from gradcli import limits
from gradcli.errors import LanguageError, LimitError
from gradcli.source import Source, Span

_SIMPLE = {"\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = r"(?s)\\(?:([0-7]{1,3})|x([0-9a-fA-F]{0,2})|u([0-9a-fA-F]{0,4})|U([0-9a-fA-F]{0,8})|N(\{[^}\n]*\}?)?|(.))"
_LINE_ENDS = r"\r\n?"
_BASES = {"x": (16, "hexadecimal"), "o": (8, "octal"), "b": (2, "binary")}


def number(source: Source, text: str, start: int) -> int | float | complex:
    """The value of the number literal `text` at offset `start`; one that ends in j is imaginary.

    Raises LanguageError, or LimitError for too many digits.
    """
    end = start + len(text)
    if text.isdigit():
        if text[0] == "0" and text.strip("0"):
            raise LanguageError(
                "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers",
                span=Span(source, start, end),
            )
        return _integer(source, text, 10, start)
    lower = text.lower()
    if lower[-1] == "j" and lower[1:2] not in _BASES:
        return complex(0.0, number(source, f"{text[:-1]}.0" if text[:-1].isdigit() else text[:-1], start))
    base, kind = _BASES.get(lower[1:2], (10, "decimal"))
    if "_" in text:
        digits = lower[2:] if base != 10 else lower
        # an underscore must stand between two digits, or after the prefix
        if "__" in digits or digits[-1] == "_" or (base == 10 and re.search(r"_[.e]|[.e+-]_", digits)):
            raise LanguageError(f"invalid {kind} literal", span=Span(source, start, end))
        lower = lower.replace("_", "")
    if base != 10:
        if len(lower) == 2:
            raise LanguageError(f"invalid {kind} literal", span=Span(source, start, end))
        return _integer(source, lower[2:], base, start)
    if lower.isdigit():
        return number(source, lower, start)
    return float(lower)


def _integer(source: Source, digits: str, base: int, start: int) -> int:
    most = limits.current.digits
    bits = {10: 3.3219280948873626, 16: 4.0, 8: 3.0, 2: 1.0}[base]
    size = len(digits.lstrip("0"))
    if size > most if base == 10 else size * bits > most * 3.3219280948873626 + 4:
        span = Span(source, start, start + len(digits))
        raise LimitError("digits", f"an integer of {size:,} digits is over the limit of {most:,.0f}", span=span)
    return int(digits, base)


def text_value(source: Source, text: str, start: int, *, raw: bool) -> str:
    """The value of the inside of a string literal, which stands at offset `start`. Raises LanguageError."""
    if "\r" in text:
        # messages give positions in the text as written, so line ends are normalised only in the pieces between escapes
        return re.compile(_LINE_ENDS).sub("\n", text) if raw else _unescape(source, text, start, even=True)
    if raw or "\\" not in text:
        return text
    return _unescape(source, text, start, even=False)


def _unescape(source: Source, text: str, start: int, *, even: bool) -> str:
    """`text` with its escapes replaced; `even` turns `\\r\\n` and `\\r` between them into `\\n`."""
    pieces: list[str] = []
    done = 0
    for match in re.compile(_ESCAPE).finditer(text):
        if match.start() < done:
            continue
        plain = text[done : match.start()]
        pieces.append(re.compile(_LINE_ENDS).sub("\n", plain) if even else plain)
        pieces.append(_escaped(source, match, start))
        done = match.end()
        if match[6] == "\r" and text[done : done + 1] == "\n":
            done += 1
    plain = text[done:]
    pieces.append(re.compile(_LINE_ENDS).sub("\n", plain) if even else plain)
    return "".join(pieces)


def _escaped(source: Source, match: re.Match[str], start: int) -> str:
    octal, two, four, eight, name, other = match.groups()
    if octal is not None:
        return chr(int(octal, 8))
    if other is not None:
        # an unknown escape keeps its backslash, as in Python
        return "" if other == "\r" else _SIMPLE.get(other, "\\" + other)
    span = Span(source, start + match.start(), start + match.end())
    for digits, width, letter in ((two, 2, "x"), (four, 4, "u"), (eight, 8, "U")):
        if digits is None:
            continue
        if len(digits) < width:
            raise LanguageError(f"truncated \\{letter}{'X' * width} escape", span=span)
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise LanguageError("illegal Unicode character: the last one is \\U0010FFFF", span=span)
        return chr(code)
    if name is None or len(name) < 3 or name[-1] != "}":
        raise LanguageError("malformed \\N{...} character escape", span=span)
    return _named(name[1:-1], span)


def _named(name: str, span: Span) -> str:
    import unicodedata

    try:
        return unicodedata.lookup(name)
    except (KeyError, UnicodeEncodeError):
        # UnicodeEncodeError: a lone surrogate, which a command line can hold
        raise LanguageError("unknown Unicode character name", span=span) from None
