"""The builder's callbacks for strings and f-strings."""

from __future__ import annotations

from typing import Any

from gradcli.lang.syntax.build_base import BuilderBase, Children
from gradcli.lang.syntax.lex_strings import Lexeme
from gradcli.lang.syntax.nodes import Constant, Expr, Field, JoinedStr, Starred


class StringBuilder(BuilderBase):
    """Callbacks for strings."""

    def string(self, c: Children) -> Constant | JoinedStr:
        """Adjacent literals: one constant, or one f-string when any of them is."""
        items: list[Any] = c[0]
        if all(type(item) is Lexeme for item in items):
            value = items[0].text if len(items) == 1 else "".join(item.text for item in items)
            return Constant(self.source, items[0].start, items[-1].end, value)
        parts: list[str | Field] = []
        for item in items:
            parts += [item.text] if type(item) is Lexeme else item[2]
        ends = [(item.start, item.end) if type(item) is Lexeme else item[:2] for item in (items[0], items[-1])]
        return JoinedStr(self.source, ends[0][0], ends[1][1], _merged(parts))

    def fstring(self, c: Children) -> tuple[int, int, list[str | Field]]:
        """One f-string literal: its place and its pieces."""
        return c[0].start, c[-1].end, _pieces(c[1]) if len(c) > 2 else []

    def field_value(self, c: Children) -> tuple[Lexeme, Expr, str, str | None]:
        """`{value`, `{value=`, `{value!r`, `{value=!r`: the brace, the value, the conversion, and the text that `=` echoes."""
        conversion = c[-1].text if type(c[-1]) is Lexeme and c[-1].type == "CONVERSION" else ""
        equal = c[2] if len(c) > 2 and c[2].type == "FIELD_EQUAL" else None
        echo = None if equal is None else self.source.text[c[0].end : equal.end]
        if type(c[1]) is Starred:
            raise self.lexer.error("f-string: cannot use starred expression here", c[1].start, c[1].end)
        return c[0], c[1], conversion, echo

    def field(self, c: Children) -> tuple[str | None, Field]:
        """A whole replacement field, with the text that `=` echoes before it."""
        brace, value, conversion, echo = c[0]
        spec: tuple[str | Field, ...] | None = None
        if len(c) > 2:
            spec = _merged(_pieces(c[2])) if len(c) > 3 else ()
        elif echo is not None and not conversion:
            conversion = "r"
        return echo, Field(self.source, brace.start, c[-1].end, value, conversion, spec)


def _pieces(items: list[Any]) -> list[str | Field]:
    """Pieces of text and fields in order, the text that `=` echoes before its field."""
    parts: list[str | Field] = []
    for item in items:
        if type(item) is Lexeme:
            parts.append(item.text)
        else:
            parts += [part for part in item if part is not None]
    return parts


def _merged(parts: list[str | Field]) -> tuple[str | Field, ...]:
    """The parts with neighbouring texts joined and empty ones left out."""
    result: list[str | Field] = []
    text: list[str] = []
    for part in [*parts, None]:
        if isinstance(part, str):
            text.append(part)
            continue
        if whole := "".join(text):
            result.append(whole)
        text.clear()
        if part is not None:
            result.append(part)
    return tuple(result)
