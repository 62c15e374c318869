"""Text to syntax trees: Lark's LALR(1) engine runs the tables of _tables.py with our own lexer and builder.

`lark_parser` imports the parts of Lark that are needed. A row of the tables is unpacked when the parser first enters its
state, so that loading the tables takes about a millisecond. There is no parse tree: the builder's callbacks make the syntax
nodes while the engine runs.
"""

from __future__ import annotations

import gc
from typing import Any, cast

from gradcli import limits
from gradcli.errors import LimitError
from gradcli.lang.syntax import _tables
from gradcli.lang.syntax.build_statements import Builder
from gradcli.lang.syntax.declarations import check_declarations
from gradcli.lang.syntax.lark_parser import (
    IntParseTable,
    NonTerminal,
    ParseConf,
    ParserState,
    Reduce,
    Rule,
    Shift,
    Terminal,
    UnexpectedToken,
)
from gradcli.lang.syntax.lex_strings import Lexeme
from gradcli.lang.syntax.lexer import Lexer
from gradcli.lang.syntax.nodes import Expr, Program
from gradcli.lang.syntax.syntax_errors import Stuck, unexpected
from gradcli.source import Source, Span


class _Production(Rule):
    """A rule of the tables, compared by identity. The engine reads its length and its origin, and finds the callback by it."""

    __slots__ = ()

    def __init__(self, origin: str, length: int) -> None:
        super().__init__(NonTerminal(origin), [_ANY] * length)

    __hash__ = object.__hash__
    __eq__ = object.__eq__


_ANY = Terminal("ANY")

_Row = dict[str, tuple[Any, Any]]


class _Rows(dict[int, _Row]):
    """The row of each state: the action for each symbol. A row is unpacked when it is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.productions = [_Production(origin, length) for origin, length, _ in _tables.RULES]
        self._which = _tables.STATES.split()
        self._rows = _tables.ROWS.splitlines()

    def __missing__(self, state: int) -> _Row:
        row: _Row = {}
        for part in self._rows[int(self._which[state])].split(";"):
            if not part:  # the row of an end state is empty
                continue
            packed, *symbols = part.split()
            number = int(packed)
            action = (Reduce, self.productions[number >> 1]) if number & 1 else (Shift, number >> 1)
            for symbol in symbols:
                row[_tables.SYMBOLS[int(symbol)]] = action
        self[state] = row
        return row


class _Engine:
    """The tables with the callbacks of one builder. An engine runs one parse at a time and is used again afterwards."""

    rows = _Rows()

    def __init__(self) -> None:
        self.builder = Builder()
        # the callbacks' names come from the grammar, never from a user's text
        callbacks = {
            production: getattr(self.builder, name) for production, (_, _, name) in zip(self.rows.productions, _tables.RULES, strict=True)
        }
        table = cast(Any, IntParseTable)(self.rows, _tables.STARTS, _tables.ENDS)
        self.configurations = {start: ParseConf(table, cast(Any, callbacks), start) for start in _tables.STARTS}

    def parse(self, source: Source, start: str) -> Any:
        """The builder's result for the whole text. Raises LanguageError, LimitError."""
        lexer = Lexer(source, lines=start != "expression_only")
        lexer.check_text()
        self.builder.begin(lexer)
        state: ParserState[int] = ParserState(self.configurations[start], cast(Any, None))
        feed = cast(Any, state.feed_token)
        token = before = None
        try:
            for token in lexer.tokens():
                feed(token)
                before = token
            # Lark's own end marker would have the position of the last token
            end = len(source.text)
            token = Lexeme("$END", "", end, end)
            result = feed(token, True)
        except UnexpectedToken:
            assert token is not None
            stuck = Stuck(lexer, start, token, before, state.value_stack, _accepted(self.rows, state.state_stack))
            raise unexpected(stuck) from None
        except LimitError as error:
            if error.span is None and token is not None:
                error.span = Span(source, token.start, token.end)
            raise
        if self.builder.declares:
            check_declarations(result)
        return result


def _accepted(rows: _Rows, stack: list[int]) -> set[str]:
    """The terminals that may follow: those of the row that are shifted in the end, after any reductions."""
    return {symbol for symbol in rows[stack[-1]] if symbol.isupper() and _is_shifted(rows, list(stack), symbol)}


def _is_shifted(rows: _Rows, stack: list[int], symbol: str) -> bool:
    while True:
        row = rows[stack[-1]]
        action = row.get(symbol)
        if action is None:
            return symbol == "$END" and not row
        if action[0] is Shift:
            return True
        rule = action[1]
        if rule.expansion:
            del stack[-len(rule.expansion) :]
        stack.append(rows[stack[-1]][rule.origin.name][1])


#: engines that no parse is using
_idle: list[_Engine] = []


class Trees:
    """Trees of texts that were parsed before: batches and loops ask for the same few again and again. A tree is never changed.

    The key has everything that a tree depends on: the start symbol, the text, the name of the source, which the tree's
    places show, and the bounds under which it was parsed. Of the trees that are kept the oldest go first.
    """

    #: at most so many trees, of texts of at most so many characters each, and of so many together
    MOST, LONGEST, MOST_CHARACTERS = 256, 10_000, 1 << 20

    def __init__(self) -> None:
        self._known: dict[tuple[str | float, ...], Expr | Program] = {}
        self._characters = 0

    def tree(self, source: Source, start: str) -> Expr | Program:
        """The tree of the text. Raises LanguageError, LimitError."""
        bounds = limits.current
        key = (start, source.text, source.name, bounds.source, bounds.nesting, bounds.blocks, bounds.digits)
        known = self._known.get(key)
        if known is None:
            known = _parse(source, start)
            if len(source.text) <= self.LONGEST:
                self._keep(key, known)
        return known

    def _keep(self, key: tuple[str | float, ...], tree: Expr | Program) -> None:
        self._known[key] = tree
        self._characters += len(tree.source.text)
        while len(self._known) > self.MOST or self._characters > self.MOST_CHARACTERS:
            self._characters -= len(self._known.pop(next(iter(self._known))).source.text)


_trees = Trees()


def _parse(source: Source, start: str) -> Any:
    try:
        engine = _idle.pop()
    except IndexError:
        engine = _Engine()
    collecting = gc.isenabled()
    gc.disable()  # a tree makes no cycles
    try:
        return engine.parse(source, start)
    finally:
        if collecting:
            gc.enable()
        engine.builder.release()
        _idle.append(engine)


def parse_expression(source: Source) -> Expr:
    """The tree of a one-off expression. Raises LanguageError, LimitError."""
    return cast(Expr, _trees.tree(source, "expression_only"))


def parse_input(source: Source) -> Program:
    """The tree of one input of the prompt: one statement or several. Raises LanguageError, LimitError."""
    return cast(Program, _parse(source, "input"))


def parse_file(source: Source, *, reuse: bool = False) -> Program:
    """The tree of a file. Raises LanguageError, LimitError.

    With `reuse` it may be the tree of an earlier call: where both runs lead to one graph, their steps cannot be told apart by place.
    """
    return cast(Program, _trees.tree(source, "file") if reuse else _parse(source, "file"))
