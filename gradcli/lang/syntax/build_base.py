"""What all callbacks of the builder share: the state of a parse, places in the text, lists.

A callback gets the list of what its production took: tokens (`Lexeme`), nodes, and lists that other callbacks
made. Lists grow in place, so that long ones cost linear time; they become tuples in the node that holds them.
"""

from __future__ import annotations

from typing import Any

from gradcli.errors import LanguageError
from gradcli.lang.syntax.lexer import Lexer
from gradcli.lang.syntax.nodes import Expr, Node, TupleExpr
from gradcli.source import Source, Span

Children = list[Any]


class BuilderBase:
    """The state of one parse at a time; `begin` starts one."""

    source: Source
    lexer: Lexer

    def begin(self, lexer: Lexer) -> None:
        """Make ready for the tokens of `lexer`."""
        self.lexer = lexer
        self.source = lexer.source
        #: nodes in parentheses, with the place of the parentheses: spans around them must take these in
        self.outer: dict[Node, tuple[int, int]] = {}
        #: generators without parentheses of their own, which may only be a call's sole argument
        self.bare: set[Node] = set()
        #: the tuple without parentheses that was made last
        self.last_bare: TupleExpr | None = None
        #: the group that stands directly after `with`, with its entries
        self.with_entries: tuple[Expr, list[Any]] | None = None

    def release(self) -> None:
        """Let go of the tree, which the caller may drop before the next parse."""
        self.outer, self.bare, self.last_bare, self.with_entries = {}, set(), None, None

    # --- places

    def first(self, node: Node) -> int:
        """Where the node begins, with its parentheses."""
        outer = self.outer
        return outer[node][0] if outer and node in outer else node.start

    def last(self, node: Node) -> int:
        """Where the node ends, with its parentheses."""
        outer = self.outer
        return outer[node][1] if outer and node in outer else node.end

    def error(self, message: str, start: int, end: int, *hints: str) -> LanguageError:
        """A LanguageError for a place in the text."""
        return LanguageError(message, span=Span(self.source, start, end), hints=hints)

    # --- lists

    def same(self, c: Children) -> Any:
        """What the only child is."""
        return c[0]

    def one(self, c: Children) -> list[Any]:
        """A list of the first child."""
        return [c[0]]

    def pair(self, c: Children) -> list[Any]:
        """A list of two, with a separator between."""
        return [c[0], c[2]]

    def more(self, c: Children) -> list[Any]:
        """A list, a separator, one more."""
        c[0].append(c[2])
        return c[0]  # type: ignore[no-any-return]

    def append(self, c: Children) -> list[Any]:
        """A list and one more."""
        c[0].append(c[1])
        return c[0]  # type: ignore[no-any-return]
