"""Text to tokens: one compiled regular expression, and Python's rules for lines, indentation and brackets.

The lexer yields one token after another while the parser runs, so that the first error in the text is reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcli import limits
from gradcli.errors import LanguageError, LimitError
from gradcli.lang.syntax.lex_strings import FIELD, STRING_PREFIXES, Lexeme, Stream, StringReader, Tokens
from gradcli.source import Source

if TYPE_CHECKING:
    from gradcli.lang.syntax.templates import Templates

#: the terminal of grammar/tokens.lark for each operator; a test compares the two
OPERATORS = {
    **dict.fromkeys(["+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", ">>=", "<<=", "**="], "AUGMENT"),
    **dict.fromkeys(["==", "!=", "<", ">", "<=", ">="], "COMPARE"),
    **dict.fromkeys(["<<", ">>"], "SHIFT"),
    **dict.fromkeys(["//", "%"], "DIVIDE"),
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "@": "AT",
    "**": "POWER",
    "~": "TILDE",
    "|": "BAR",
    "^": "CARET",
    "&": "AMPERSAND",
    ".": "DOT",
    "...": "ELLIPSIS",
    ",": "COMMA",
    ";": "SEMICOLON",
    ":": "COLON",
    ":=": "WALRUS",
    "->": "ARROW",
    "=": "EQUAL",
}
BRACKETS = {"(": "LPAR", ")": "RPAR", "[": "LBRACKET", "]": "RBRACKET", "{": "LBRACE", "}": "RBRACE"}
KEYWORDS = {
    word: word.upper()
    for word in (
        *("and", "as", "assert", "break", "class", "continue", "def", "del", "elif", "else", "except", "False", "finally", "for", "from"),
        *("global", "if", "import", "in", "is", "lambda", "None", "nonlocal", "not", "or", "pass", "raise", "return", "True"),
        *("try", "while", "with", "yield"),
    )
}
#: Python's other keywords, each with the beginning of the message
LEFT_OUT = {"async": "async is", "await": "await is"}
#: keywords at the beginning of some lines, and names elsewhere
_SOFT = {"match": "MATCH", "case": "CASE"}
_WORDS = {**KEYWORDS, **dict.fromkeys(LEFT_OUT, ""), **dict.fromkeys(_SOFT, "SOFT")}

# Every alternative is linear: repeats of one character class, no repeat within a repeat.
TOKEN = re.compile(
    r"[ \t\f]*(?:"
    r"([A-Za-z_][A-Za-z0-9_]*)([\"'])?"  # 1 a name or keyword, 2 unless it is the prefix of a string
    r"|(0[xX][0-9a-fA-F_]*|0[oO][0-7_]*|0[bB][01_]*|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9][0-9_]*)?[jJ]?)"  # 3
    r"|([()\[\]{}])"  # 4
    r"|(\*\*=?|//=?|>>=?|<<=?|->|:=|\.\.\.|[-+*/%@&|^<>=!]=|[-+*/%@&|^<>=~.,:;])"  # 5 operators
    r"|(\r\n?|\n)"  # 6
    r"|([\"'])"  # 7 a string
    r"|(#[^\r\n]*)"  # 8
    r"|(\\(?:\r\n?|\n))"  # 9 a continued line
    r"|(\Z))"  # 10
)
# `re` compiles these when they are first used: most one-off expressions need none of them
_BLANK_LINE = r"[ \t\f]*(?:#[^\r\n]*)?(?:\r\n?|\n|\Z)"
_INDENT = r"[ \t\f]*"
_GAP = r"(?:[ \t\f]|\\\r\n|\\\n|\\\r)*"  # blanks and continued lines
_MATCH_HEADER = r"[ \t(\[{][^\r\n]*:[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)"
_CASE = r"[ \t]+case\b"
_AFTER_NUMBER = r"(?:and|else|for|if|in|is|not|or)\b"
_REFUSED = "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]"

_LOOKALIKES = {
    "\u00d7": "*",
    "\u22c5": "*",
    "\u00b7": "*",
    "\u00f7": "/",
    "\u2212": "-",
    "\u2013": "-",
    "\u2014": "-",
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u2264": "<=",
    "\u2265": ">=",
    "\u2260": "!=",
    "\u00b2": "**2",
    "\u00b3": "**3",
    "\u00a0": "an ordinary space",
    "\uff08": "(",
    "\uff09": ")",
    "\uff0c": ",",
}


class Lexer(StringReader):
    """The tokens of one source."""

    def __init__(self, source: Source, *, lines: bool) -> None:
        super().__init__(source)
        #: whether indentation matters (not in one-off expressions)
        self.lines = lines
        self._indents = [(0, 0)]
        #: the depths of indentation at which `case` begins a line
        self._matches: set[int] = set()
        #: templates of lines that are read as one token; None for none
        self.templates: Templates | None = None

    def check_text(self) -> None:
        """Refuse text that is too long, or that has control characters. Raises LimitError, LanguageError."""
        text = self.source.text
        most = limits.current.source
        if len(text) * 4 > most:
            size = len(text.encode("utf-8", "surrogatepass"))
            if size > most:
                raise LimitError("source", f"a text of {size:,} bytes is over the limit of {most:,.0f}")
        if text.isascii() and text.isprintable():
            return
        match = re.search(_REFUSED, text)
        if match is not None:
            code = ord(match[0])
            what = "lone surrogate" if code > 0xFF else "control character"
            raise self.error(f"{what} U+{code:04X} is not allowed in the text", match.start(), match.end())

    # --- the loop

    def tokens(self) -> Stream:
        """The tokens in order, without the end marker. Raises LanguageError, LimitError."""
        source, text = self.source, self.source.text
        match, word_types, operators, brackets = TOKEN.match, _WORDS.get, OPERATORS, self.brackets
        pos = 1 if text.startswith("\ufeff") else 0
        pos = (yield from self._line_start(pos)) if self.lines else _skip_blank_lines(text, pos)
        first = pos  # where the current logical line begins
        case = -1  # where the last line of a `case` began
        while True:
            found = match(text, pos)
            if found is None:
                pos = yield from self._no_token(pos)
                continue
            kind = found.lastindex
            start, pos = found.span(kind)  # type: ignore[arg-type]
            if kind == 1:
                word = found[1]
                terminal = word_types(word, "NAME")
                if terminal == "NAME":
                    yield Lexeme(terminal, word, start, pos)
                    continue
                if terminal == "WITH":
                    yield Lexeme(terminal, word, start, pos)
                    pos = yield from self._with_paren(pos)
                    continue
                if terminal == "SOFT":
                    terminal = self._soft(word, start == first, pos)
                    case = first if terminal == "CASE" else case
                elif terminal == "AS" and brackets and case == first:
                    terminal = "PATTERN_AS"
                elif terminal == "IMPORT":  # on the line of a case, names stand in brackets after it
                    case = -1
                if not terminal:
                    raise self.error(f"{LEFT_OUT[word]} not part of gradcli's language", start, pos)
                yield Lexeme(terminal, word, start, pos)
            elif kind == 5:
                word = found[5]
                if brackets and brackets[-1][0] is FIELD and word[0] in ":=" and word != "==":
                    pos = yield from self._in_field(word, start)
                else:
                    yield Lexeme(operators[word], word, start, pos)
            elif kind == 4:
                word = found[4]
                if word in "([{":
                    self.deeper(start, pos)
                    brackets.append((word, start))
                    yield Lexeme(BRACKETS[word], word, start, pos)
                elif self._close(word, start) is FIELD:
                    yield Lexeme("FIELD_CLOSE", word, start, pos)
                    self._fstrings[-1].fields -= 1
                    pos = yield from self._fstring_text(pos)
                else:
                    yield Lexeme(BRACKETS[word], word, start, pos)
            elif kind == 3:
                self._check_number_end(found[3], start, pos)
                yield Lexeme("NUMBER", found[3], start, pos)
            elif kind == 6:
                if brackets:
                    self._no_line_end_in_field(start)
                    continue
                if self.lines:
                    yield Lexeme("NEWLINE", "", start, pos)
                    first = pos = yield from self._line_start(pos)
                else:
                    pos = _skip_blank_lines(text, pos)
                    if pos < len(text):
                        yield Lexeme("NEWLINE", "", start, pos)
            elif kind == 7:
                pos = yield from self._string("", start)
            elif kind == 2:
                pos = yield from self._prefixed(found[1], found.start(1))
            elif kind == 8:
                if brackets and brackets[-1][0] is FIELD:
                    raise self.error("f-string expression part cannot include '#'", start, start + 1)
            elif kind == 10:
                break
            elif pos == len(text):
                raise self._ends_continued(start)
        if brackets:
            raise self._never_closed()
        end = len(source.text)
        if self.lines and first < end:
            yield Lexeme("NEWLINE", "", end, end)
        yield from self._dedents(end, 0)

    # --- lines

    def _line_start(self, pos: int) -> Tokens:
        """The tokens between lines, and those of lines that are made by a template; returns where the next token begins."""
        pos = yield from self._indentation(pos)
        if self.templates is None:
            return pos
        text = self.source.text
        while pos < len(text):
            end = text.find("\n", pos)
            end = end if end >= 0 else len(text)
            if (made := self.templates.made(self.source, pos, end)) is None:
                break
            yield Lexeme("KNOWN_LINE", made, pos, end)
            pos = min(end + 1, len(text))
            if len(self._indents) > 1 or text[pos : pos + 1] in " \t\f#\r\n":
                pos = yield from self._indentation(pos)
        return pos

    def _indentation(self, pos: int) -> Tokens:
        """Skip blank lines from `pos`, yield the next line's INDENT or DEDENT tokens, and return where its first token begins."""
        text = self.source.text
        blank_line = re.compile(_BLANK_LINE)
        while pos < len(text) and (blank := blank_line.match(text, pos)):
            pos = blank.end()
        if pos >= len(text):
            return len(text)
        found = re.compile(_INDENT).match(text, pos)
        assert found is not None
        width = _widths(found[0])
        pos, start = found.end(), pos
        last = self._indents[-1]
        if width == last:
            return pos
        if (width[0] > last[0]) is not (width[1] > last[1]) or (width[0] < last[0]) is not (width[1] < last[1]):
            raise self.error("inconsistent use of tabs and spaces in indentation", start, pos, kind="TabError")
        if width[0] > last[0]:
            self._indents.append(width)
            yield Lexeme("INDENT", "", start, pos)
        else:
            yield from self._dedents(pos, width[0])
            if self._indents[-1] != width:
                raise self.error("unindent does not match any outer indentation level", start, pos, kind="IndentationError")
        return pos

    def _dedents(self, pos: int, width: int) -> Stream:
        while self._indents[-1][0] > width:
            self._matches.discard(len(self._indents))
            self._indents.pop()
            yield Lexeme("DEDENT", "", pos, pos)

    # --- words, numbers, brackets

    def _soft(self, word: str, begins: bool, pos: int) -> str:
        """The type of the token `match` or `case`, which ends at `pos`; `begins` says whether it begins a line."""
        if not (begins and self.lines):
            return "NAME"
        if word == "case":
            return "CASE" if len(self._indents) in self._matches else "NAME"
        text = self.source.text
        header = re.compile(_MATCH_HEADER).match(text, pos)
        if header is None:
            return "NAME"
        pos, blank_line = header.end(), re.compile(_BLANK_LINE)
        while pos < len(text) and (blank := blank_line.match(text, pos)):
            pos = blank.end()
        if pos < len(text) and not re.compile(_CASE).match(text, pos):
            return "NAME"
        self._matches.add(len(self._indents) + 1)
        return "MATCH"

    def _with_paren(self, pos: int) -> Tokens:
        """The token of a "(" that directly follows `with`: a terminal of its own."""
        found = re.compile(_GAP).match(self.source.text, pos)
        assert found is not None
        start = found.end()
        if not self.source.text.startswith("(", start):
            return pos
        self.deeper(start, start + 1)
        self.brackets.append(("(", start))
        yield Lexeme("WITH_LPAR", "(", start, start + 1)
        return start + 1

    def _check_number_end(self, literal: str, start: int, end: int) -> None:
        """Raise LanguageError where a number runs into a name or a digit, as in `2x`; the grammar refuses `1.2.3`."""
        following = self.source.text[end : end + 1]
        if not (following.isascii() and (following.isalnum() or following == "_")):
            return
        if re.compile(_AFTER_NUMBER).match(self.source.text, end):
            return
        kind = {"x": "hexadecimal", "o": "octal", "b": "binary"}.get(literal[1:2].lower(), "decimal")
        if literal[-1:] in "jJ":
            kind = "imaginary"
        if following.isdigit():
            raise self.error(f"invalid digit '{following}' in {kind} literal", end, end + 1)
        hints = (
            (f"a product is written {literal}*{following}...",)
            if kind == "decimal" and "_" not in literal and following not in "eE"
            else ()
        )
        raise self.error(f"invalid {kind} literal", start, end, *hints)

    def _ends_continued(self, at: int) -> LanguageError:
        self.unfinished = True
        return self.error("unexpected end of the text after a line continuation character", at, at + 1)

    def never_closed(self) -> LanguageError | None:
        """Read the rest of the text after a grammar error: the error for the innermost open bracket, if nothing closes it."""
        if not self.brackets:
            return None
        opened = self.brackets[-1]
        rest = Lexer(self.source, lines=False)
        rest.nesting = float("inf")
        try:
            for _ in rest.tokens():
                pass
        except LanguageError:
            if rest.unfinished and opened in rest.brackets:
                return self._never_closed()
        return None

    def _prefixed(self, word: str, start: int) -> Tokens:
        """A string with a prefix, or a word directly before a string, as in `return"a"`."""
        prefix = word.lower()
        if prefix in STRING_PREFIXES:
            return (yield from self._string(prefix, start))
        if word in LEFT_OUT:
            raise self.error(f"{LEFT_OUT[word]} not part of gradcli's language", start, start + len(word))
        yield Lexeme(KEYWORDS.get(word, "NAME"), word, start, start + len(word))
        return (yield from self._string("", start + len(word)))

    def _no_token(self, pos: int) -> Tokens:
        """Text that the regular expression does not match: the conversion of a field, or an error."""
        text = self.source.text
        found = re.compile(_INDENT).match(text, pos)
        assert found is not None
        pos = found.end()
        char = text[pos]
        if char == "!" and self.brackets and self.brackets[-1][0] is FIELD:
            return (yield from self._conversion(pos))
        if char == "\\" and pos + 1 == len(text):
            raise self._ends_continued(pos)
        if char == "\\":
            raise self.error("unexpected character after line continuation character", pos, pos + 1)
        if char.isascii():
            hints = {"!": ("negation is written `not x`",), "$": ("quote the expression with single quotes for the shell",)}
            raise self.error("invalid syntax", pos, pos + 1, *hints.get(char, ()))
        if char.isalnum():
            raise self.error(f"non-ASCII letters are refused in names: '{char}' (U+{ord(char):04X})", pos, pos + 1)
        what = "character '" + char + "'" if char.isprintable() else "non-printable character"
        code = f"(U+{ord(char):04X})" if char.isprintable() else f"U+{ord(char):04X}"
        hints_ = (f"did you mean {_LOOKALIKES[char]}?",) if char in _LOOKALIKES else ()
        raise self.error(f"invalid {what} {code}", pos, pos + 1, *hints_)


def _skip_blank_lines(text: str, pos: int) -> int:
    """The position of the first token after blank lines, or the end of the text."""
    if pos < len(text) and text[pos] not in " \t\f#\r\n":
        return pos
    blank_line = re.compile(_BLANK_LINE)
    while pos < len(text) and (blank := blank_line.match(text, pos)):
        pos = blank.end()
    found = re.compile(_INDENT).match(text, pos)
    return pos if found is None else found.end()


def _widths(indent: str) -> tuple[int, int]:
    """The width of an indentation, with tabs up to the next multiple of eight, and with tabs as one column."""
    indent = indent.rpartition("\f")[2]
    return len(indent.expandtabs(8)), len(indent)
