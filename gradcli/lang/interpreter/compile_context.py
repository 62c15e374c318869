"""The context of compiling: the scope, the options, and the function that compiles each type of node.

A program is compiled to closures before it runs: each expression to a `run(frame) -> value`, each statement to a
`run(frame) -> signal` (None, BREAK, CONTINUE, or a one-tuple with the value of `return`). scope.py describes the frames.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Set
from typing import Any, Protocol

from gradcli.lang.interpreter.scope import Scope
from gradcli.lang.syntax.nodes import Expr, For, Node, Stmt
from gradcli.lang.values.user_classes import private_name

Frame = Any
Run = Callable[[Frame], Any]
Compile = Callable[[Any, "Context"], Run]

#: which evaluation of an expression a plan is made of: the "second", the "first" (for tests), or none: "off"
plans = os.environ.get("GRADCLI_PLANS", "second")


class Repeated(Protocol):
    """A part of the body of a loop that runs again and again, while nothing but such parts run."""

    def again(self, frame: Frame) -> bool:
        """Run once more; False, with nothing done, where the ordinary way has to."""

    def settle(self, frame: Frame) -> None:
        """Give the names that the part assigns their values."""


class Part:
    """One or several statements of the body of a loop."""

    __slots__ = ("assigned", "begin", "read", "run", "shown", "varies")

    def __init__(
        self,
        run: Run,
        read: Set[str] | None = None,
        assigned: Set[str] = frozenset(),
        begin: Callable[[Frame], Repeated] | None = None,
        shown: str = "",
    ) -> None:
        #: the ordinary way
        self.run = run
        #: the names that are read before the part assigns them, None for a part that cannot be repeated; and those that it assigns
        self.read = read
        self.assigned = assigned
        #: begins to repeat the part; raises an error where this cannot be
        self.begin = begin
        #: the name that the part reads, which the body must have assigned; "" for none
        self.shown = shown
        #: whether it reads a target of the loop
        self.varies = False


class Tables:
    """The function that compiles each type of expression, and of statement.

    `again` gives the tables for what may be evaluated more than once; those lead to these for the parts of an expression that has a plan,
    and their `block` compiles statements that follow each other, and `loop` loops whose bodies can be repeated; it gives None for others.
    """

    __slots__ = ("again", "block", "expressions", "loop", "once", "statements")

    def __init__(
        self,
        expressions: Mapping[type, Compile],
        statements: Mapping[type, Compile],
        again: Callable[[], Tables] | None = None,
        once: Tables | None = None,
        block: Callable[[tuple[Stmt, ...], Context], list[Run]] | None = None,
        loop: Callable[[For, Context], Run | None] = lambda *_: None,
    ) -> None:
        self.expressions = expressions
        self.statements = statements
        self.again = again or (lambda: self)
        self.once = once or self
        self.block = block
        self.loop = loop


class Context:
    """The scope that is compiled, and the options.

    `one_off`: bare `sum` and its like are torch's for tensors. `counting`: loops and calls count their steps.
    """

    __slots__ = ("counting", "one_off", "scope", "tables")

    def __init__(self, tables: Tables, scope: Scope, one_off: bool, counting: bool) -> None:
        self.tables = tables
        self.scope = scope
        self.one_off = one_off
        self.counting = counting

    def inner(self, node: Node) -> Context:
        """The context of the function `node` inside this one."""
        return Context(self.tables.again(), self.scope.children[node], self.one_off, self.counting)

    def again(self) -> Context:
        """The context of the body of a loop."""
        tables = self.tables.again()
        return self if tables is self.tables else Context(tables, self.scope, self.one_off, self.counting)

    def once(self) -> Context:
        """The context of the parts of an expression that has a plan as a whole."""
        return Context(self.tables.once, self.scope, self.one_off, self.counting)

    def attribute(self, name: str) -> str:
        """The name of an attribute: within a class, Python gives `__name` the name of the class in front."""
        if not name.startswith("__") or name.endswith("__"):
            return name
        scope: Scope | None = self.scope
        while scope is not None and not scope.is_class:
            scope = scope.parent
        return name if scope is None else private_name(scope.node.name, name)  # type: ignore[attr-defined]

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

    def block(self, nodes: tuple[Stmt, ...]) -> list[Run]:
        """Closures that carry out statements one after the other."""
        together = self.tables.block
        return [self.statement(node) for node in nodes] if together is None else together(nodes, self)
