"""The syntax tree: never changed once parsed, each node with its place in the text.

Operators are spelled as in the text (`"+"`, `"not in"`). A node's span leaves out the parentheses around it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gradcli.source import Source, Span


@dataclass(slots=True, eq=False)
class Node:
    """Anything with a place: [start, end) in the source's text."""

    source: Source
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The node's place."""
        return Span(self.source, self.start, self.end)

    @property
    def text(self) -> str:
        """The node's text as the user wrote it."""
        return self.source.text[self.start : self.end]


class Expr(Node):
    """An expression."""

    __slots__ = ()


class Stmt(Node):
    """A statement."""

    __slots__ = ()


# --- expressions ---------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Constant(Expr):
    """A number, string, True, False, None or Ellipsis; adjacent string literals are one."""

    value: object


@dataclass(slots=True, eq=False)
class Name(Expr):
    """A name, read or (as a target) bound."""

    id: str


@dataclass(slots=True, eq=False)
class JoinedStr(Expr):
    """An f-string: pieces of text and fields in order."""

    parts: tuple[str | Field, ...]


@dataclass(slots=True, eq=False)
class Field(Node):
    """A replacement field `{value!conversion:spec}`; for `{value=}` the text stands in the pieces before it.

    `conversion` is "", "r", "s" or "a"; `spec` is None or again pieces of text and fields (one level deep).
    """

    value: Expr
    conversion: str
    spec: tuple[str | Field, ...] | None


@dataclass(slots=True, eq=False)
class ListExpr(Expr):
    """`[a, *b]`."""

    items: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class TupleExpr(Expr):
    """`a, b`, with or without parentheses."""

    items: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class SetExpr(Expr):
    """`{a, b}`."""

    items: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class DictExpr(Expr):
    """`{k: v, **d}`: a pair whose key is None spreads its value."""

    items: tuple[tuple[Expr | None, Expr], ...]


@dataclass(slots=True, eq=False)
class Starred(Expr):
    """`*value` in a call, display, subscript or target."""

    value: Expr


@dataclass(slots=True, eq=False)
class Slice(Expr):
    """`lower:upper:step`, inside a subscript only."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(slots=True, eq=False)
class Subscript(Expr):
    """`value[index]`; several indices make a TupleExpr."""

    value: Expr
    index: Expr


@dataclass(slots=True, eq=False)
class Attribute(Expr):
    """`value.name`; `name_start` is where the name begins, for carets."""

    value: Expr
    name: str
    name_start: int


@dataclass(slots=True, eq=False)
class Keyword(Node):
    """`name=value` in a call; name None is `**value`."""

    name: str | None
    value: Expr


@dataclass(slots=True, eq=False)
class Call(Expr):
    """`function(args, keywords)`."""

    function: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(slots=True, eq=False)
class Unary(Expr):
    """`-x`, `+x`, `~x`, `not x`."""

    op: str
    operand: Expr


@dataclass(slots=True, eq=False)
class Binary(Expr):
    """Left-associative chains of arithmetic of one precedence level, flat: first op[0] rest[0] op[1] rest[1] ...

    `a - b + c` is one Binary with ops ("-", "+"). `**` is right-associative: always one operator.
    The span of the k-th step reaches from this node's start to the end of rest[k].
    """

    first: Expr
    ops: tuple[str, ...]
    rest: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class Compare(Expr):
    """`first ops[0] rest[0] ops[1] rest[1]`: a chain with Python's meaning."""

    first: Expr
    ops: tuple[str, ...]
    rest: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class BoolOp(Expr):
    """`a and b and c` or `a or b or c`, flat."""

    op: str
    items: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class Conditional(Expr):
    """`body if test else orelse`."""

    test: Expr
    body: Expr
    orelse: Expr


@dataclass(slots=True, eq=False)
class NamedExpr(Expr):
    """`(name := value)`."""

    target: Name
    value: Expr


@dataclass(slots=True, eq=False)
class Parameter(Node):
    """One parameter of a def or lambda. `kind` is "plain", "*", "**" or "keyword" (after a star)."""

    name: str
    kind: str
    default: Expr | None


@dataclass(slots=True, eq=False)
class Lambda(Expr):
    """`lambda parameters: body`."""

    parameters: tuple[Parameter, ...]
    body: Expr


@dataclass(slots=True, eq=False)
class For_(Node):
    """One `for target in iterable if c1 if c2` of a comprehension."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class Comprehension(Expr):
    """`kind` is "list", "set", "dict" or "generator"; `value` is the dict's value, else None."""

    kind: str
    element: Expr
    value: Expr | None
    clauses: tuple[For_, ...]


# --- statements ----------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class ExprStmt(Stmt):
    """An expression as a statement; `silent` when a `;` follows it (the prompt does not echo it)."""

    value: Expr
    silent: bool


@dataclass(slots=True, eq=False)
class Assign(Stmt):
    """`targets[0] = targets[1] = value`; an annotation (`x: float = 1`) is parsed and dropped."""

    targets: tuple[Expr, ...]
    value: Expr


@dataclass(slots=True, eq=False)
class AugAssign(Stmt):
    """`target op= value`; `op` is the binary operator."""

    target: Expr
    op: str
    value: Expr


@dataclass(slots=True, eq=False)
class For(Stmt):
    """`for target in iterable: body else: orelse`."""

    target: Expr
    iterable: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(slots=True, eq=False)
class While(Stmt):
    """`while test: body else: orelse`."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(slots=True, eq=False)
class If(Stmt):
    """`branches` holds (test, body) of if and every elif, flat."""

    branches: tuple[tuple[Expr, tuple[Stmt, ...]], ...]
    orelse: tuple[Stmt, ...]


@dataclass(slots=True, eq=False)
class With(Stmt):
    """`with context as target, ...: body`."""

    items: tuple[tuple[Expr, Expr | None], ...]
    body: tuple[Stmt, ...]


@dataclass(slots=True, eq=False)
class FunctionDef(Stmt):
    """`@decorators def name(parameters): body`; annotations are parsed and dropped."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class Handler(Node):
    """`except type as name: body`."""

    type: Expr | None
    name: str | None
    body: tuple[Stmt, ...]


@dataclass(slots=True, eq=False)
class Try(Stmt):
    """`try: body except ...: handlers else: orelse finally: finalbody`."""

    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    finalbody: tuple[Stmt, ...]


@dataclass(slots=True, eq=False)
class Raise(Stmt):
    """`raise`, `raise error`, `raise error from cause`."""

    error: Expr | None
    cause: Expr | None


@dataclass(slots=True, eq=False)
class Assert(Stmt):
    """`assert test, message`."""

    test: Expr
    message: Expr | None


@dataclass(slots=True, eq=False)
class Delete(Stmt):
    """`del targets`."""

    targets: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class Return(Stmt):
    """`return value`."""

    value: Expr | None


@dataclass(slots=True, eq=False)
class Pass(Stmt):
    """`pass`."""


@dataclass(slots=True, eq=False)
class Break(Stmt):
    """`break`."""


@dataclass(slots=True, eq=False)
class Continue(Stmt):
    """`continue`."""


@dataclass(slots=True, eq=False)
class Global(Stmt):
    """`global names`."""

    names: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Nonlocal(Stmt):
    """`nonlocal names`."""

    names: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Import(Stmt):
    """`import a.b as c, d`: pairs of dotted name and alias (None without `as`)."""

    names: tuple[tuple[str, str | None], ...]


@dataclass(slots=True, eq=False)
class ImportFrom(Stmt):
    """`from module import a as b, c`; names empty means `*`."""

    module: str
    names: tuple[tuple[str, str | None], ...]


@dataclass(slots=True, eq=False)
class Program(Node):
    """A whole file, or one input of the prompt."""

    body: tuple[Stmt, ...]
