"""The messages of syntax errors: Python's own where it has one, otherwise the unexpected token and what could stand there."""

from __future__ import annotations

from typing import Any

from gradcli.errors import Label, LanguageError
from gradcli.lang.syntax.lex_strings import Lexeme
from gradcli.lang.syntax.lexer import BRACKETS, KEYWORDS, OPERATORS, Lexer
from gradcli.lang.syntax.nodes import Constant, Expr, Name
from gradcli.source import Span

_STATEMENTS = {
    "IF": "'if' statement",
    "ELIF": "'elif' statement",
    "ELSE": "'else' statement",
    "FOR": "'for' statement",
    "WHILE": "'while' statement",
    "WITH": "'with' statement",
    "DEF": "function definition",
    "TRY": "'try' statement",
    "EXCEPT": "'except' statement",
    "FINALLY": "'finally' statement",
}
_STATEMENT_WORDS = {
    "ASSERT", "BREAK", "CONTINUE", "DEF", "DEL", "FOR", "FROM", "GLOBAL", "IF", "IMPORT", "NONLOCAL",
    "PASS", "RAISE", "RETURN", "TRY", "WHILE", "WITH", "AUGMENT", "EQUAL", "SEMICOLON",
}  # fmt: skip
_OPERATORS = {"PLUS", "MINUS", "STAR", "SLASH", "AT", "DIVIDE", "POWER"}
_VALUES = {"NAME", "NUMBER", "STRING"}
_SPELLING = {terminal: text for text, terminal in {**OPERATORS, **BRACKETS, **KEYWORDS}.items()}
#: the words for terminals after "expected", in the order of the message
_WANTED = {
    "COLON": "':'",
    "RPAR": "')'",
    "RBRACKET": "']'",
    "RBRACE": "'}'",
    "FIELD_CLOSE": "'}'",
    "COMMA": "','",
    "EQUAL": "'='",
    "IN": "'in'",
    "IMPORT": "'import'",
    "LPAR": "'('",
    "NAME": "a name",
    "NEWLINE": "the end of the line",
    "ELSE": "'else'",
    "INDENT": "an indented block",
}


class Stuck:
    """A parse that stopped: the token that does not fit, the token before it, the values on the stack, the terminals that would fit."""

    __slots__ = ("lexer", "start", "token", "before", "values", "accepted")

    def __init__(self, lexer: Lexer, start: str, token: Lexeme, before: Lexeme | None, values: list[Any], accepted: set[str]) -> None:
        self.lexer = lexer
        self.start = start
        self.token = token
        self.before = before
        self.values = values
        self.accepted = accepted

    def error(self, message: str, *hints: str, at: Lexeme | Expr | None = None, kind: str = "SyntaxError") -> LanguageError:
        """The error at `at`, by default at the token that does not fit."""
        place = self.token if at is None else at
        return self.lexer.error(message, place.start, place.end, *hints, kind=kind)

    @property
    def top(self) -> Any:
        """The top of the parser's stack: a token, a node, or a list that is still growing; None for an empty stack."""
        return self.values[-1] if self.values else None

    def header(self) -> Lexeme | None:
        """The keyword of the statement or clause that is being read."""
        for value in reversed(self.values):
            word = value[0] if isinstance(value, tuple) and value else value
            if isinstance(word, Lexeme) and word.type in _STATEMENTS:
                return word
        return None


def unexpected(stuck: Stuck) -> LanguageError:
    """The error for a token that does not fit."""
    token = stuck.token
    for case in (_indentation, _line_end, _left_out):
        if (error := case(stuck)) is not None:
            return error
    # a bracket that is never closed is the likelier cause of the error
    if token.type != "$END" and (error := stuck.lexer.never_closed()) is not None:
        return error
    for case in (_assignment, _comprehension, _lists):
        if (error := case(stuck)) is not None:
            return error
    if stuck.start == "expression_only" and (error := _not_an_expression(stuck)) is not None:
        return error
    return _general(stuck)


def _indentation(stuck: Stuck) -> LanguageError | None:
    accepted, token = stuck.accepted, stuck.token
    if "INDENT" in accepted:
        word = stuck.header()
        after = ""
        if word is not None:
            line, _ = stuck.lexer.source.position(word.start)
            after = f" after {_STATEMENTS[word.type]} on line {line}"
        return stuck.error(f"expected an indented block{after}", kind="IndentationError")
    if token.type == "INDENT":
        return stuck.error("unexpected indent", kind="IndentationError")
    if accepted == {"EXCEPT", "FINALLY"}:
        return stuck.error("expected 'except' or 'finally' block")
    return None


def _line_end(stuck: Stuck) -> LanguageError | None:
    """A missing colon; a bracket that is still open; an `if` without `else`."""
    token, accepted = stuck.token, stuck.accepted
    if "COLON" in accepted and stuck.header() is not None and not stuck.lexer.brackets and token.type in ("NEWLINE", "EQUAL", *_VALUES):
        if token.type == "EQUAL":
            return stuck.error("invalid syntax. Maybe you meant '==' or ':=' instead of '='?")
        return stuck.error("expected ':'")
    conditional = any(isinstance(v, Lexeme) and v.type == "IF" for v in stuck.values[1:])
    if "ELSE" in accepted and conditional and token.type in ("NEWLINE", "RPAR", "RBRACKET", "RBRACE", "COMMA", "$END"):
        return stuck.error("expected 'else' after 'if' expression")
    return None


def _left_out(stuck: Stuck) -> LanguageError | None:
    """Syntax of Python 2, and syntax of Python that is not part of the language."""
    token, top, before = stuck.token, stuck.top, stuck.before
    text = stuck.lexer.source.text
    starts_value = token.type in {*_VALUES, "FSTRING_START", "TRUE", "FALSE", "NONE", "LBRACE"}
    if (isinstance(top, Lexeme) and top.type == "NAME") or isinstance(top, Name):
        word = text[top.start : top.end]
        if word in ("print", "exec") and starts_value:
            return stuck.error(f"Missing parentheses in call to '{word}'. Did you mean {word}(...)?", at=top)
        line_begin = text[max(text.rfind("\n", 0, top.start), text.rfind("\r", 0, top.start)) + 1 : top.start]
        if not line_begin.strip() and starts_value and word == "type":
            return stuck.error("type aliases are not part of gradcli's language", at=top)
    if token.type == "LBRACKET" and len(stuck.values) > 1 and getattr(stuck.values[-2], "type", "") == "DEF":
        return stuck.error("type parameters are not part of gradcli's language")
    if before is not None and before.type == "EXCEPT" and token.type == "STAR":
        return stuck.error("except* is not part of gradcli's language")
    if before is not None and before.type == "FROM" and token.type in ("DOT", "ELLIPSIS"):
        return stuck.error("relative imports are not part of gradcli's language")
    return None


def _assignment(stuck: Stuck) -> LanguageError | None:
    """`=`, `:=` and `<>` where an operator was expected."""
    token = stuck.token
    if token.type == "EQUAL" and "COMPARE" in stuck.accepted:
        if stuck.start == "expression_only" and not stuck.lexer.brackets:
            return stuck.error("an expression is wanted here, not an assignment; did you mean '=='?")
        return stuck.error("invalid syntax. Maybe you meant '==' or ':=' instead of '='?")
    if token.type == "WALRUS":
        return stuck.error("invalid syntax", "put parentheses around `name := value`")
    if token.type == "COMPARE" and token.text == ">" and stuck.before is not None and stuck.before.text == "<":
        return stuck.error("invalid syntax", "`not equal` is written !=")
    return None


def _comprehension(stuck: Stuck) -> LanguageError | None:
    """`for` after something that cannot be a comprehension's element; a lambda right in a field."""
    if stuck.token.type == "FIELD_COLON":
        return stuck.error("f-string: invalid syntax", "put parentheses around the expression")
    if stuck.token.type != "FOR" or not stuck.lexer.brackets or not isinstance(stuck.top, Expr):
        return None
    *_, earlier, before, top = [None, None, *stuck.values]
    mark = before.type if isinstance(before, Lexeme) else ""
    if mark == "STAR":
        return stuck.error("iterable unpacking cannot be used in comprehension", at=before)
    if mark == "POWER":
        return stuck.error("dict unpacking cannot be used in dict comprehension", at=before)
    if mark == "COMMA" and isinstance(earlier, list) and isinstance(earlier[0], Expr):
        place = Lexeme("", "", earlier[0].start, top.end)
        return stuck.error("did you forget parentheses around the comprehension target?", at=place)
    return None


def _lists(stuck: Stuck) -> LanguageError | None:
    """Commas where Python does not allow them."""
    token, before, word = stuck.token, stuck.before, stuck.header()
    if token.type == "COMMA" and word is not None and word.type == "EXCEPT":
        return stuck.error("multiple exception types must be parenthesized", at=stuck.top if isinstance(stuck.top, Expr) else None)
    importing = any(isinstance(value, Lexeme) and value.type == "IMPORT" for value in stuck.values)
    if token.type == "NEWLINE" and before is not None and before.type == "COMMA" and importing:
        return stuck.error("trailing comma not allowed without surrounding parentheses", at=before)
    return None


def _not_an_expression(stuck: Stuck) -> LanguageError | None:
    token = stuck.token
    if token.type == "$END" and stuck.before is None:
        return stuck.error("the expression is empty")
    # these three also belong to comprehensions, conditional expressions and `raise`
    within = token.type in ("FOR", "IF", "FROM") and stuck.values
    if token.type in _STATEMENT_WORDS and not within:
        message = f"an expression is wanted here, not a statement: unexpected '{token.text}'"
        return stuck.error(message, "statements go into a file: gradcli run FILE")
    if token.type == "NEWLINE" and "$END" in stuck.accepted and not stuck.lexer.brackets and stuck.before is not None:
        end = len(stuck.lexer.source.text.rstrip())
        return LanguageError(
            "an expression is one line; this text goes on after it",
            span=Span(stuck.lexer.source, token.end, max(end, token.end)),
            hints=["statements go into a file: gradcli run FILE"],
        )
    return None


# --- the general message --------------------------------------------------------------------------


def _general(stuck: Stuck) -> LanguageError:
    message = f"unexpected {_shown(stuck.token)}"
    if stuck.before is not None:
        message += f" after {_shown(stuck.before)}"
    wanted = _wanted(stuck)
    if wanted:
        message += f"; expected {wanted}"
    error = stuck.error(message)
    brackets = stuck.lexer.brackets
    if brackets and stuck.token.type != "$END":
        opening, at = brackets[-2] if stuck.token.text in ("(", "[", "{") and len(brackets) > 1 else brackets[-1]
        if at != stuck.token.start:
            error.labels.append(Label(Span(stuck.lexer.source, at, at + 1), f"inside this '{opening[0]}'"))
    if hint := _hint(stuck):
        error.hints.append(hint)
    return error


def _shown(token: Lexeme) -> str:
    special = {"NEWLINE": "end of line", "$END": "end of the text", "INDENT": "indent", "DEDENT": "end of the block"}
    if token.type in special:
        return special[token.type]
    if token.type in ("STRING", "FSTRING_START", "FSTRING_TEXT", "FSTRING_END"):
        return "string"
    text = token.text if len(token.text) <= 40 else token.text[:37] + "..."
    return f"keyword '{text}'" if text in KEYWORDS else f"'{text}'"


def _wanted(stuck: Stuck) -> str:
    """The terminals that would fit, in words; "" where a list of them would not help."""
    accepted = stuck.accepted
    words: list[str] = []
    if "NUMBER" in accepted:
        words.append("an expression" if "IMPORT" not in accepted else "a statement" if "DEF" in accepted else "a simple statement")
        accepted = accepted - {"NAME", "LPAR", "IMPORT", "NEWLINE"}
    elif len(accepted & _OPERATORS) > 3:
        header = stuck.header()
        looping = header is not None and header.type == "FOR" and "COLON" not in accepted and not stuck.lexer.brackets
        if looping:
            return "'in'"
        words.append("an operator")
        accepted = accepted - {"LPAR", "IN"}
        if accepted & {"NEWLINE", "$END"}:
            accepted = accepted - {"ELSE", "EQUAL", "COMMA", "COLON"}
    words += dict.fromkeys(text for terminal, text in _WANTED.items() if terminal in accepted)
    if not words and len(accepted) <= 3:
        words = [f"'{_SPELLING[terminal]}'" for terminal in sorted(accepted) if terminal in _SPELLING]
    words = words[:4]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" or {words[-1]}" if words else ""


def _hint(stuck: Stuck) -> str:
    token, before, top = stuck.token, stuck.before, stuck.top
    text = token.text
    if before is None:
        return ""
    if before.text == "&" and text == "&":
        return "logical and is written `and`"
    if before.text == "|" and text == "|":
        return "logical or is written `or`"
    if text in KEYWORDS and "NAME" in stuck.accepted and ("NUMBER" not in stuck.accepted or before.type == "FOR"):
        return f"'{text}' is a keyword and cannot be a name"
    if "COMMA" in stuck.accepted and stuck.lexer.brackets and token.type in _VALUES:
        return "perhaps you forgot a comma"
    if token.type == "NAME" and isinstance(top, Constant) and before.type == "NUMBER":
        return f"a product is written {before.text}*{text}"
    return ""
