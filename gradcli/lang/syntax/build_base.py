"""The base of the builder: the state of a parse, places in the text, and the callbacks for lists.

A callback gets the list of its production's parts: tokens (`Lexeme`), nodes, and lists made by other callbacks. Lists grow in
place, so that a long list costs linear time; they become tuples in the node that holds them.
"""

from __future__ import annotations

from typing import Any

from gradcli.lang.syntax.lexer import Lexer
from gradcli.lang.syntax.nodes import Expr, Node, TupleExpr
from gradcli.source import Source

Children = list[Any]


class BuilderBase:
    """The state of one parse, which `begin` starts."""

    source: Source
    lexer: Lexer

    def begin(self, lexer: Lexer) -> None:
        """Make ready for the tokens of `lexer`."""
        self.lexer = lexer
        self.source = lexer.source
        #: by node in parentheses, the place of the parentheses: spans of the nodes around it include them
        self.outer: dict[Node, tuple[int, int]] = {}
        #: generators without parentheses of their own, which may only be a call's sole argument
        self.bare: set[Node] = set()
        #: the tuple without parentheses that was made last
        self.last_bare: TupleExpr | None = None
        #: the group in parentheses directly after `with`, with its entries
        self.with_entries: tuple[Expr, list[Any]] | None = None

    def release(self) -> None:
        """Forget the tree, so that it can be freed before the next parse."""
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

    # --- lists

    def same(self, c: Children) -> Any:
        """The only child."""
        return c[0]

    def one(self, c: Children) -> list[Any]:
        """A list of the first child."""
        return [c[0]]

    def pair(self, c: Children) -> list[Any]:
        """A list of two, with a separator between."""
        return [c[0], c[2]]

    def more(self, c: Children) -> list[Any]:
        """A list with the item after the separator added."""
        c[0].append(c[2])
        return c[0]  # type: ignore[no-any-return]

    def append(self, c: Children) -> list[Any]:
        """A list with the next item added."""
        c[0].append(c[1])
        return c[0]  # type: ignore[no-any-return]
