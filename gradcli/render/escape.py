"""Text of unknown origin, escaped for terminals, and its width in columns."""

from __future__ import annotations

import re

# C0 and DEL, C1, bidirectional controls and marks, line and paragraph separators, lone surrogates, byte order mark
_HARMFUL = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def escape(text: str) -> str:
    """`text` as one line, with control characters, bidirectional controls and lone surrogates shown as escapes."""
    if text.isascii() and text.isprintable():  # nearly always
        return text
    return re.sub(_HARMFUL, _escaped, text)


def markup(text: str) -> str:
    """`text` as the text of an element of SVG, or of an attribute."""
    return escape(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def escape_lines(text: str) -> str:
    """As `escape`, with line ends and tabs left as they are."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return re.sub(_HARMFUL, lambda match: match[0] if match[0] in "\n\t" else _escaped(match), text)


def shortened(text: str, most: int) -> str:
    """`text` with its middle cut out, and its length there, where it has more than `most` characters."""
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end]} ... ({len(text):,} characters) ... {text[-end:]}"


def width(text: str) -> int:
    """How many columns `text`, which has no control characters, takes in a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
