"""What compiling shares: the context, which finds the function that compiles a node, and the frames' loads and stores.

A program becomes closures once, ahead of running: each expression a `run(frame) -> value`, each statement a
`run(frame) -> signal` (None, BREAK, CONTINUE, or a one-tuple with the value of `return`). scope.py says what frames are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradcli.lang.interpreter.scope import Scope
from gradcli.lang.syntax.nodes import Expr, Node, Stmt

Frame = Any
Run = Callable[[Frame], Any]
Compile = Callable[[Any, "Context"], Run]


class Tables:
    """Which function compiles which type of node."""

    __slots__ = ("expressions", "statements")

    def __init__(self, expressions: Mapping[type, Compile], statements: Mapping[type, Compile]) -> None:
        self.expressions = expressions
        self.statements = statements


class Context:
    """The scope that is compiled, and options: `one_off` (bare `sum` looks at its argument), `counting` (loops count)."""

    __slots__ = ("counting", "one_off", "scope", "tables")

    def __init__(self, tables: Tables, scope: Scope, one_off: bool, counting: bool) -> None:
        self.tables = tables
        self.scope = scope
        self.one_off = one_off
        self.counting = counting

    def inner(self, node: Node) -> Context:
        """The context of the function `node` inside this one."""
        return Context(self.tables, self.scope.children[node], self.one_off, self.counting)

    def expression(self, node: Expr) -> Run:
        """The closure of an expression."""
        return self.tables.expressions[type(node)](node, self)

    def expressions(self, nodes: tuple[Expr, ...]) -> tuple[Run, ...]:
        """The closures of several expressions."""
        table = self.tables.expressions
        return tuple([table[type(node)](node, self) for node in nodes])

    def statement(self, node: Stmt) -> Run:
        """The closure of a statement."""
        return self.tables.statements[type(node)](node, self)
