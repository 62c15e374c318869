"""Text to syntax trees: Lark runs the stored tables of grammar/ with our own lexer and builder.

There is no parse tree: the builder's callbacks make the syntax nodes while Lark parses.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, cast

from gradcli import limits
from gradcli.errors import GradcliError, LimitError
from gradcli.lang.syntax import lark_parser
from gradcli.lang.syntax.build_statements import Builder
from gradcli.lang.syntax.declarations import check_declarations
from gradcli.lang.syntax.lark_parser import Tokens, UnexpectedToken
from gradcli.lang.syntax.lex_strings import Lexeme
from gradcli.lang.syntax.lexer import Lexer
from gradcli.lang.syntax.nodes import Expr, Program
from gradcli.lang.syntax.syntax_errors import Stuck, unexpected
from gradcli.source import Source, Span

if TYPE_CHECKING:
    from gradcli.lang.syntax.shapes import Shapes
    from gradcli.lang.syntax.templates import Templates


class _Engine:
    """Lark and its transformer, the builder. An engine runs one parse at a time and is used again afterwards."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.lark = lark_parser.load(self.builder)
        #: the shapes and templates of lines and expressions; made for a long text, or when several were parsed
        self.shapes: Shapes | None = None
        self.lines: Templates | None = None
        self.expressions: Templates | None = None
        self.count = 0

    def parse(self, source: Source, start: str) -> Any:
        """The builder's result for the whole text. Raises LanguageError, LimitError."""
        lexer = Lexer(source, lines=start != "expression_only")
        lexer.check_text()
        result = self._parse_by_shapes(lexer, start)
        if result is None:
            result = self._parse(Lexer(source, lines=start != "expression_only"), source, start)
        if self.builder.declares and start != "simple_line":
            check_declarations(result)
        return result

    def _parse_by_shapes(self, lexer: Lexer, start: str) -> Any:
        """The result where shapes may be known; None for an error too, since the lexer is ahead of the parser."""
        self.count += 1
        if len(lexer.source.text) < _LONG if lexer.lines else self.count < _SEVERAL:
            return None
        if self.shapes is None or self.lines is None or self.expressions is None:
            from gradcli.lang.syntax.shapes import Shapes
            from gradcli.lang.syntax.templates import Templates

            self.shapes = Shapes(self.builder)
            self.lines = Templates(lambda source: _parse(source, "simple_line"))
            self.expressions = Templates(lambda source: _parse(source, "expression_only"))
        longest = self.shapes.LONGEST
        if limits.current.nesting < self.lines.LONGEST or limits.current.digits < self.lines.DIGITS:
            return None
        if not lexer.lines and (made := self.expressions.made(lexer.source, 0, len(lexer.source.text))) is not None:
            return made
        self.builder.begin(lexer)
        stream = lexer.tokens()
        try:
            if lexer.lines:
                lexer.templates = self.lines
                program: Any = self.lark.parse(cast(Any, self.shapes.lines(stream)), start)
                program.templates = self.lines.values
                return program
            tokens = list(islice(stream, longest))
            make = self.shapes.maker(start, tokens) if len(tokens) < longest else None
            return make() if make else self.lark.parse(cast(Any, chain(tokens, stream)), start)
        except (GradcliError, UnexpectedToken):
            return None
        finally:
            self.lines.values = {}

    def _parse(self, lexer: Lexer, source: Source, start: str) -> Any:
        """The builder's result by the parser alone. Raises LanguageError, LimitError."""
        self.builder.begin(lexer)
        tokens = Tokens(lexer.tokens())
        try:
            return self.lark.parse(cast(Any, tokens), start)
        except UnexpectedToken as error:
            before, token = tokens.recent
            if error.token is not token:  # Lark's own end marker, which has the position of the last token
                end = len(source.text)
                token, before = Lexeme("$END", "", end, end), token
            raise unexpected(Stuck(lexer, start, token, before, lark_parser.values(error), lark_parser.accepted(error))) from None
        except LimitError as error:
            token = tokens.recent[-1]
            if error.span is None and token is not None:
                error.span = Span(source, token.start, token.end)
            raise


#: shorter texts have no shape often
_LONG = 400
#: commands parse fewer expressions
_SEVERAL = 16

#: engines that no parse is using; the first is made here, so that the processes of a batch inherit it
_idle = [_Engine()]


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
    try:
        return limits.lasting(lambda: engine.parse(source, start))
    finally:
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
