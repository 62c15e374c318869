"""Lines and expressions with the same terminals as an earlier one: the builder's callbacks follow in the same order, without a parse.

Which callbacks Lark calls depends on the types of the tokens alone. The callbacks for a shape that is seen often are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from gradcli.lang.syntax import lark_parser
from gradcli.lang.syntax.build_base import Children
from gradcli.lang.syntax.lark_parser import UnexpectedToken
from gradcli.lang.syntax.lex_strings import Lexeme, Stream

#: for each callback what it is given: some of the tokens, and of what earlier callbacks made
Steps = list[tuple[Callable[[Children], Any], Callable[[list[Any]], Any]]]

#: operators that mean the same to the grammar: all of them, and those behind an operand
_SUMS, _PRODUCTS = frozenset(("PLUS", "MINUS")), frozenset(("STAR", "SLASH", "AT", "DIVIDE"))
#: the last tokens of operands
_ENDS = frozenset(("NAME", "NUMBER", "STRING", "FSTRING_END", "RPAR", "RBRACKET", "RBRACE"))

#: a shape is kept when it is seen so often
_OFTEN = 16
#: at most so many shapes are counted or kept
_MOST = 512


class Shapes:
    """The shapes that were seen, for the callbacks of one builder."""

    #: longer lines are parsed; fewer tokens than the bound on nesting cannot be nested too deeply
    LONGEST = 64

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        self._known: dict[tuple[str, ...], int | Steps] = {}
        self._lark: Any = None

    def maker(self, start: str, tokens: list[Any]) -> Callable[[], Any] | None:
        """A function that makes the start symbol of these tokens; None where their shape is not known."""
        shape = _shape(start, tokens)
        known = self._known.get(shape, 0)
        if type(known) is list:
            return partial(_made, known, tokens) if known else None
        if not known and len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[shape] = self._found(start, tokens) if known == _OFTEN else known + 1  # type: ignore[operator]
        return None

    def _found(self, start: str, tokens: Sequence[Lexeme]) -> Steps:
        """The steps for these tokens, none where they are not the start symbol."""
        if self._lark is None:
            self._lark = lark_parser.load(None)
        try:
            tree = self._lark.parse(tokens, start)
        except UnexpectedToken:
            return []
        places = {id(token): place for place, token in enumerate(tokens)}
        steps: Steps = []

        def place_of(part: Any) -> int:
            if type(part) is Lexeme:
                return places[id(part)]
            first, *more = [place_of(one) for one in part.children]
            picked = itemgetter(first, *more) if more else itemgetter(slice(first, first + 1))
            steps.append((getattr(self._builder, part.data), picked))
            return len(tokens) + len(steps) - 1

        place_of(tree)
        return steps

    def lines(self, stream: Stream) -> Iterator[Lexeme]:
        """The tokens of a file, with one token KNOWN_LINE for each line of simple statements whose shape is known."""
        for token in stream:
            if token.type in ("INDENT", "DEDENT", "KNOWN_LINE"):
                yield token
                continue
            tokens = [token]
            for token in stream:
                tokens.append(token)
                if token.type == "NEWLINE" or len(tokens) > self.LONGEST:
                    break
            make = self.maker("simple_line", tokens) if len(tokens) <= self.LONGEST else None
            if make:
                yield Lexeme("KNOWN_LINE", make, tokens[0].start, token.end)  # type: ignore[arg-type]
                continue
            yield from tokens
            if len(tokens) > self.LONGEST:
                yield from _rest(stream) if token.type != "NEWLINE" else ()


def _shape(start: str, tokens: Sequence[Lexeme]) -> tuple[str, ...]:
    """What decides which callbacks Lark calls: the start symbol and the types of the tokens, with one type for like operators."""
    types = [start]
    for token in tokens:
        kind = token.type
        if kind in _SUMS:
            kind = "sum"
        elif kind in _PRODUCTS and types[-1] in _ENDS:
            kind = "product"
        types.append(kind)
    return tuple(types)


def _rest(stream: Stream) -> Iterator[Lexeme]:
    """The tokens up to the end of the line."""
    for token in stream:
        yield token
        if token.type == "NEWLINE":
            return


def _made(steps: Steps, tokens: list[Any]) -> Any:
    """What the callbacks of `steps` make of the tokens of their shape. Raises LanguageError, LimitError."""
    values = tokens.copy()
    add = values.append
    for callback, picked in steps:
        add(callback(picked(values)))
    return values[-1]
