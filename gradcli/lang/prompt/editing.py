"""Text that is still being typed: whether it is complete, and its tokens for colours."""

from __future__ import annotations

from gradcli.errors import LanguageError, LimitError
from gradcli.lang.syntax.lex_strings import STRING_PREFIXES, string_end
from gradcli.lang.syntax.lexer import KEYWORDS, LEFT_OUT, TOKEN, Lexer
from gradcli.source import Source

_COMPOUND = {"IF", "FOR", "WHILE", "WITH", "TRY", "DEF", "AT", "ELIF", "ELSE", "EXCEPT", "FINALLY"}


def is_complete(text: str) -> bool:
    """Whether the prompt should run the text now.

    False when it ends within a bracket or a triple-quoted string, after a backslash or a colon, and while a
    compound statement has not been ended by an empty line. Text with errors is complete: it is time to say so.
    """
    lexer = Lexer(Source("", text), lines=True)
    blocks, first, last, fresh = 0, "", "", True
    try:
        for token in lexer.tokens():
            if token.type in ("INDENT", "DEDENT"):
                blocks += 1 if token.type == "INDENT" else -1
                continue
            if token.type == "NEWLINE":
                fresh = True
                continue
            if fresh and blocks == 0:
                first = token.type
            fresh, last = False, token.type
    except (LanguageError, LimitError):
        return not lexer.unfinished
    if last == "COLON":
        # a header alone cannot run; after a second empty line it is run nevertheless, to show the error
        return text.endswith("\n\n")
    if first not in _COMPOUND:
        return True
    _, newline, rest = text.rpartition("\n")
    return bool(newline) and not rest.strip()


def tokens(source: Source) -> list[tuple[str, int, int]]:
    """(kind, start, end) of each token of any text, for colours. Never raises.

    Kinds: keyword, name, number, string, operator, comment, error. Blanks are left out.
    """
    text, pos = source.text, 0
    found: list[tuple[str, int, int]] = []
    kinds = {3: "number", 4: "operator", 5: "operator", 8: "comment"}
    while pos < len(text):
        match = TOKEN.match(text, pos)
        if match is None:
            while text[pos] in " \t\f":
                pos += 1
            found.append(("error", pos, pos + 1))
            pos += 1
            continue
        kind = match.lastindex or 0
        start, pos = match.start(1 if kind == 2 else kind), match.end()
        if kind == 1:
            found.append((_word(match[1]), start, pos))
        elif kind == 2 and match[1].lower() not in STRING_PREFIXES:
            pos = match.end(1)
            found.append((_word(match[1]), start, pos))
        elif kind in (2, 7):
            pos = _string(text, match.start(kind), start, found)
        elif kind in kinds:
            found.append((kinds[kind], start, pos))
    return found


def _word(word: str) -> str:
    return "keyword" if word in KEYWORDS or word in LEFT_OUT else "name"


def _string(text: str, at: int, start: int, found: list[tuple[str, int, int]]) -> int:
    """Add the string whose quote stands at `at`; returns its end. One without an end is an error to the end of its line."""
    quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
    end = string_end(text, quote, at + len(quote))
    if end >= 0:
        found.append(("string", start, end))
        return end
    line_end = min((e for e in (text.find("\n", at), text.find("\r", at)) if e >= 0), default=len(text))
    end = len(text) if len(quote) == 3 else line_end
    found.append(("string" if len(quote) == 3 else "error", start, end))
    return end
