"""Strings and f-strings of the lexer, and the state that they share with the rest of it.

An f-string becomes several tokens: its pieces of text, and between them the tokens of its fields, which the main loop of the
lexer makes and the grammar reads like any other expression.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from gradcli import limits
from gradcli.errors import Label, LanguageError, LimitError
from gradcli.lang.syntax.literals import text_value
from gradcli.source import Source, Span

#: marks the open brace of an f-string's field in the list of open brackets
FIELD = "{ of a field"
STRING_PREFIXES = {"r", "u", "f", "fr", "rf", "b", "br", "rb"}

_CLOSES = {")": "(", "]": "[", "}": "{"}
# `re` compiles these when they are first used: most one-off expressions need none of them
_FIELD_EQUAL = r"=[ \t\f\r\n]*(?=[!:}])"
_CONVERSION = r"!([A-Za-z0-9_]*)[ \t\f\r\n]*(?=([:}])?)"
_FIELD_START = r"[ \t\f\r\n]*(?=([}:=]|!(?!=))?)"
# what ends a run of plain characters, by the quote: in a string, in the text of an f-string, in the format spec of a field
_STRING_STOPS = {q: rf"{q}|\\|\r|\n" for q in "'\""}
_TRIPLE_STOPS = {q: rf"{q * 3}|\\" for q in "'\""}
_TEXT_STOPS = {q: rf"{q}|\\|\r|\n|\{{\{{?|\}}\}}?" for q in ("'", '"', "'''", '"""')}
_SPEC_STOPS = {q: rf"{q}|\\|\r|\n|\{{|\}}" for q in ("'", '"', "'''", '"""')}
_NAMED_ESCAPE = r"N\{[^{}\r\n'\"]*\}"


class Lexeme:
    """A token: the terminal's name, its text (for strings its value), and its place."""

    __slots__ = ("end", "start", "text", "type")
    # Lark copies these from the last token to its end marker
    start_pos = line = column = end_line = end_column = end_pos = None

    def __init__(self, type_: str, text: str, start: int, end: int) -> None:
        self.type = type_
        self.text = text
        self.start = start
        self.end = end


#: yields tokens and returns the position where the lexer goes on
Tokens = Generator[Lexeme, None, int]
#: yields the tokens up to the end of the text
Stream = Generator[Lexeme, None, None]


class _FString:
    """An f-string that is being read: its quotes, and how many of its fields are open."""

    __slots__ = ("fields", "quote", "raw", "start")

    def __init__(self, quote: str, raw: bool, start: int) -> None:
        self.quote = quote
        self.raw = raw
        self.start = start
        self.fields = 0


class StringReader:
    """The state of a lexer, and its strings. `depth` is the nesting; the builder's callbacks change it too."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.depth = 0
        self.nesting = limits.current.nesting
        #: the open brackets, each with its place
        self.brackets: list[tuple[str, int]] = []
        #: set when the error is that the text ends too early: more text could make it valid
        self.unfinished = False
        self._fstrings: list[_FString] = []

    # --- errors

    def span(self, start: int, end: int) -> Span:
        """A place in the source."""
        return Span(self.source, start, end)

    def error(self, message: str, start: int, end: int, *hints: str, kind: str = "SyntaxError") -> LanguageError:
        """A LanguageError for a place in the source."""
        return LanguageError(message, span=self.span(start, end), hints=hints, kind=kind)

    def deeper(self, start: int, end: int) -> None:
        """Count one more level of nesting. Raises LimitError."""
        self.depth += 1
        if self.depth > self.nesting:
            raise LimitError("nesting", f"nesting is deeper than the limit of {self.nesting:,.0f}", span=self.span(start, end))

    # --- brackets

    def _close(self, closing: str, start: int) -> str:
        """Take the bracket that `closing` closes off the stack. Raises LanguageError."""
        if not self.brackets:
            raise self.error(f"unmatched '{closing}'", start, start + 1)
        opening, at = self.brackets[-1]
        if opening[0] != _CLOSES[closing]:
            line, there = self.source.position(at)[0], self.source.position(start)[0]
            on_line = "" if line == there else f" on line {line}"
            message = f"closing parenthesis '{closing}' does not match opening parenthesis '{opening[0]}'{on_line}"
            error = self.error(message, start, start + 1)
            if opening is FIELD:
                error = self.error(f"f-string: unmatched '{closing}'", start, start + 1)
            error.labels.append(Label(self.span(at, at + 1), "opened here"))
            raise error
        self.brackets.pop()
        self.depth -= 1
        return opening

    def _never_closed(self) -> LanguageError:
        """The error for the innermost open bracket at the end of the text."""
        self.unfinished = True
        opening, at = self.brackets[-1]
        if opening is FIELD:
            return self.error("f-string: expecting '}'", at, at + 1)
        return self.error(f"'{opening}' was never closed", at, at + 1)

    # --- strings

    def _string(self, prefix: str, start: int) -> Tokens:
        """The string literal at `start`; returns the position after it, for an f-string the position after its first text."""
        text = self.source.text
        at = start + len(prefix)
        quote = text[at]
        if text.startswith(quote * 3, at):
            quote *= 3
        if "b" in prefix:
            raise self.error("bytes literals are not part of gradcli's language", start, at + len(quote))
        pos = at + len(quote)
        if "f" in prefix:
            self._fstrings.append(_FString(quote, "r" in prefix, start))
            yield Lexeme("FSTRING_START", text[start:pos], start, pos)
            return (yield from self._fstring_text(pos))
        end = string_end(text, quote, pos)
        if end < 0:
            raise self._unterminated(quote, start, "string")
        value = text_value(self.source, text[pos : end - len(quote)], pos, raw="r" in prefix)
        yield Lexeme("STRING", value, start, end)
        return end

    def _unterminated(self, quote: str, start: int, what: str) -> LanguageError:
        inside = self._fstrings and self.brackets and self.brackets[-1][0] is FIELD
        if what == "string" and inside and self._fstrings[-1].quote == quote:
            at = self.brackets[-1][1]
            return self.error("f-string: expecting '}'", at, at + 1)
        line, _ = self.source.position(start)
        if len(quote) == 3:
            self.unfinished = True
            last, _ = self.source.position(len(self.source.text.rstrip("\r\n")))
            return self.error(
                f"unterminated triple-quoted {what} literal (detected at line {last})", start, self.source.text.index(quote, start) + 3
            )
        return self.error(f"unterminated {what} literal (detected at line {line})", start, self.source.text.index(quote, start) + 1)

    # --- f-strings

    def _fstring_text(self, pos: int) -> Tokens:
        """The text of an f-string from `pos` to its end or its next field; returns the position where the lexer goes on."""
        text, reading = self.source.text, self._fstrings[-1]
        begin, quote = pos, reading.quote
        pieces: list[str] = []
        while True:
            in_spec = reading.fields > 0
            stop = re.compile((_SPEC_STOPS if in_spec else _TEXT_STOPS)[quote]).search(text, pos)
            what = "" if stop is None else stop[0]
            if stop is None or (what in "\r\n" and len(quote) == 1):
                raise self._unterminated(quote, reading.start, "f-string")
            at, pos = stop.span()
            if what in "\r\n":
                continue
            if what == "\\":
                pos = self._skip_escape(pos, reading.raw)
                continue
            pieces.append(text_value(self.source, text[begin:at], begin, raw=reading.raw))
            if what in ("{{", "}}"):
                pieces.append(what[0])
                begin = pos
                continue
            if value := "".join(pieces):
                yield Lexeme("FSTRING_TEXT", value, at - len(text[begin:at]), at)
            pieces.clear()
            begin = pos
            if what == quote:
                if in_spec:
                    raise self._never_closed()
                self._fstrings.pop()
                yield Lexeme("FSTRING_END", quote, at, pos)
                return pos
            if what == "{":
                self._open_field(at)
                yield Lexeme("FIELD_OPEN", "{", at, pos)
                return pos
            if not in_spec:
                raise self.error("f-string: single '}' is not allowed", at, pos)
            self._close("}", at)
            reading.fields -= 1
            yield Lexeme("FIELD_CLOSE", "}", at, pos)

    def _skip_escape(self, pos: int, raw: bool) -> int:
        """The position after an escape. A backslash does not escape a brace, but the braces of \\N{...} belong to the escape."""
        text = self.source.text
        if not raw and (found := re.compile(_NAMED_ESCAPE).match(text, pos)):
            return found.end()
        if text.startswith(("{", "}"), pos):
            return pos
        return pos + (2 if text.startswith("\r\n", pos) else 1)

    def _open_field(self, at: int) -> None:
        """Note an open field; its expression must not be empty. Raises LanguageError, LimitError."""
        reading = self._fstrings[-1]
        if reading.fields == 2:
            raise self.error("f-string: expressions nested too deeply", at, at + 1)
        reading.fields += 1
        self.deeper(at, at + 1)
        self.brackets.append((FIELD, at))
        found = re.compile(_FIELD_START).match(self.source.text, at + 1)
        if found is not None and found[1]:
            raise self.error("f-string: empty expression not allowed", at, found.end() + 1)

    def _in_field(self, operator: str, start: int) -> Tokens:
        """An operator that begins with ":" or "=" directly inside a field; returns the position where the lexer goes on."""
        text = self.source.text
        if operator[0] == ":":
            yield Lexeme("FIELD_COLON", ":", start, start + 1)
            return (yield from self._fstring_text(start + 1))
        found = re.compile(_FIELD_EQUAL).match(text, start)
        if found is None:
            yield Lexeme("EQUAL", "=", start, start + 1)
            return start + 1
        yield Lexeme("FIELD_EQUAL", "=", start, found.end())
        return found.end()

    def _conversion(self, pos: int) -> Tokens:
        found = re.compile(_CONVERSION).match(self.source.text, pos)
        assert found is not None
        letter = found[1]
        if letter not in ("r", "s", "a"):
            raise self.error(f"f-string: invalid conversion character {letter!r}: expected 's', 'r', or 'a'", pos, found.end(1))
        if found[2] is None:
            raise self.error("f-string: expecting '}'", self.brackets[-1][1], self.brackets[-1][1] + 1)
        yield Lexeme("CONVERSION", letter, pos, found.end(1))
        return found.end()

    def _no_line_end_in_field(self, at: int) -> None:
        """Within the fields of a single-quoted f-string the line must not end."""
        reading = self._fstrings[-1] if self._fstrings else None
        if reading is not None and len(reading.quote) == 1:
            raise self._unterminated(reading.quote, reading.start, "f-string")


def string_end(text: str, quote: str, pos: int) -> int:
    """Where the plain string that `quote` opened before `pos` ends, or -1 when it does not."""
    search = re.compile((_STRING_STOPS if len(quote) == 1 else _TRIPLE_STOPS)[quote[0]]).search
    while (stop := search(text, pos)) is not None:
        if stop[0] == quote:
            return stop.end()
        if stop[0] != "\\":
            break
        pos = stop.end() + (2 if text.startswith("\r\n", stop.end()) else 1)
    return -1
