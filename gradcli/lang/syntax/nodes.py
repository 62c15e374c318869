"""The nodes of the syntax tree. A tree is never changed once parsed, and each node knows its place in the text.

Operators are spelled as in the text (`"+"`, `"not in"`). A node's span leaves out the parentheses around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, dataclass_transform

from gradcli.source import Source, Span

if TYPE_CHECKING:
    from gradcli.lang.syntax.templates import Template


def _one(self: Any, source: Source, start: int, end: int, a: Any) -> None:
    self.source, self.start, self.end = source, start, end
    self.a = a


def _two(self: Any, source: Source, start: int, end: int, a: Any, b: Any) -> None:
    self.source, self.start, self.end = source, start, end
    self.a, self.b = a, b


def _three(self: Any, source: Source, start: int, end: int, a: Any, b: Any, c: Any) -> None:
    self.source, self.start, self.end = source, start, end
    self.a, self.b, self.c = a, b, c


def _four(self: Any, source: Source, start: int, end: int, a: Any, b: Any, c: Any, d: Any) -> None:
    self.source, self.start, self.end = source, start, end
    self.a, self.b = a, b
    self.c, self.d = c, d


def _five(self: Any, source: Source, start: int, end: int, a: Any, b: Any, c: Any, d: Any, e: Any) -> None:
    self.source, self.start, self.end = source, start, end
    self.a, self.b, self.c = a, b, c
    self.d, self.e = d, e


#: how a node gets its fields, by their number
_INITIALISERS = {1: _one, 2: _two, 3: _three, 4: _four, 5: _five}


@dataclass_transform()
class _NodeType(type):
    """The type of the node classes: the annotations of a class are its fields, in order.

    Its `__init__` is one of `_INITIALISERS` with the names of these fields, which is as fast as if it was written for the class.
    """

    #: the names of the fields
    __slots__: tuple[str, ...]

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _NodeType:
        fields = tuple(namespace.get("__annotations__", ()))
        namespace["__slots__"] = fields
        if fields and bases:
            code = _INITIALISERS[len(fields)].__code__
            namespace["__init__"] = FunctionType(code.replace(co_names=("source", "start", "end", *fields)), {})
        return super().__new__(cls, name, bases, namespace)


class Node(metaclass=_NodeType):
    """A node of the tree: it takes the characters [start, end) of the source's text."""

    source: Source
    start: int
    end: int

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.start = start
        self.end = end

    @property
    def span(self) -> Span:
        """The node's place."""
        return Span(self.source, self.start, self.end)

    @property
    def text(self) -> str:
        """The node's text as the user wrote it."""
        return self.source.text[self.start : self.end]


def origin_text(origin: object) -> str:
    """The text of the operation that is the origin of a node of the graph, on one line; "" for an origin that is no syntax node."""
    return " ".join(origin.text.split()) if isinstance(origin, Node) else ""


def children(node: Node) -> list[Node]:
    """The nodes that the fields of `node` hold, directly or in tuples, in the order of the fields."""
    found: list[Node] = []
    for field in type(node).__slots__:
        value = getattr(node, field)
        if isinstance(value, Node):
            found.append(value)
        elif type(value) is tuple:
            found += _within(value)
    return found


def _within(values: tuple[object, ...]) -> Iterator[Node]:
    """The nodes in a tuple of a field, and in tuples inside it."""
    for value in values:
        if isinstance(value, Node):
            yield value
        elif type(value) is tuple:
            yield from _within(value)


class Expr(Node):
    """An expression."""


class Stmt(Node):
    """A statement."""


# --- expressions ---------------------------------------------------------------------------------


class Constant(Expr):
    """A number, string, True, False, None or Ellipsis; adjacent string literals are one."""

    value: object


class Name(Expr):
    """A name, read or (as a target) bound."""

    id: str


class AsPattern(Expr):
    """`pattern as name`."""

    pattern: Expr
    name: Name


class JoinedStr(Expr):
    """An f-string: pieces of text and fields in order."""

    parts: tuple[str | Field, ...]


class Field(Node):
    """A replacement field `{value!conversion:spec}`; the text that `{value=}` echoes is in the piece before it.

    `conversion` is "", "r", "s" or "a"; `spec` is None or again pieces of text and fields (one level deep).
    """

    value: Expr
    conversion: str
    spec: tuple[str | Field, ...] | None


class ListExpr(Expr):
    """`[a, *b]`."""

    items: tuple[Expr, ...]


class TupleExpr(Expr):
    """`a, b`, with or without parentheses."""

    items: tuple[Expr, ...]


class SetExpr(Expr):
    """`{a, b}`."""

    items: tuple[Expr, ...]


class DictExpr(Expr):
    """`{k: v, **d}`: a pair whose key is None spreads its value."""

    items: tuple[tuple[Expr | None, Expr], ...]


class Starred(Expr):
    """`*value` in a call, display, subscript or target."""

    value: Expr


class Slice(Expr):
    """`lower:upper:step`, inside a subscript only."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


class Subscript(Expr):
    """`value[index]`; several indices make a TupleExpr."""

    value: Expr
    index: Expr


class Attribute(Expr):
    """`value.name`; `name_start` is where the name begins, for carets."""

    value: Expr
    name: str
    name_start: int


class Keyword(Node):
    """`name=value` in a call; name None is `**value`."""

    name: str | None
    value: Expr


class Call(Expr):
    """`function(args, keywords)`."""

    function: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


class Unary(Expr):
    """`-x`, `+x`, `~x`, `not x`."""

    op: str
    operand: Expr


class Binary(Expr):
    """Left-associative chains of arithmetic of one precedence level, flat: first op[0] rest[0] op[1] rest[1] ...

    `a - b + c` is one Binary with ops ("-", "+"). `**` is right-associative: always one operator.
    The span of the k-th step reaches from this node's start to ends[k], where rest[k] and its parentheses end.
    """

    first: Expr
    ops: tuple[str, ...]
    rest: tuple[Expr, ...]
    ends: tuple[int, ...]

    def steps(self) -> list[Step]:
        """The operators with their operands, each of which is the left operand of the next."""
        left: Node = self.first
        found: list[Step] = []
        for op, right, end in zip(self.ops, self.rest, self.ends, strict=True):
            left = Step(self.source, self.start, end, left, op, right)
            found.append(left)
        return found


class Compare(Expr):
    """`first ops[0] rest[0] ops[1] rest[1]`: a chain with Python's meaning."""

    first: Expr
    ops: tuple[str, ...]
    rest: tuple[Expr, ...]


class Step(Node):
    """One operator of a `Binary` or `Compare` with its operands, made when the chain is compiled: the place that errors point at.

    `left` is the first operand of the chain or the step before.
    """

    left: Node
    op: str
    right: Expr


class BoolOp(Expr):
    """`a and b and c` or `a or b or c`, flat."""

    op: str
    items: tuple[Expr, ...]


class Conditional(Expr):
    """`body if test else orelse`."""

    test: Expr
    body: Expr
    orelse: Expr


class NamedExpr(Expr):
    """`(name := value)`."""

    target: Name
    value: Expr


class Yield(Expr):
    """`yield value`, or `yield from value` (`delegates`)."""

    value: Expr | None
    delegates: bool


class Parameter(Node):
    """One parameter of a def or lambda. `kind` is "positional" (before a slash), "plain", "*", "**" or "keyword" (after a star).

    `annotation` is the text of one, which signatures show.
    """

    name: str
    kind: str
    default: Expr | None
    annotation: str | None


class Lambda(Expr):
    """`lambda parameters: body`."""

    parameters: tuple[Parameter, ...]
    body: Expr


class ForClause(Node):
    """`for target in iterable if c1 if c2` in a comprehension."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


class Comprehension(Expr):
    """`kind` is "list", "set", "dict" or "generator"; `value` is the dict's value, else None."""

    kind: str
    element: Expr
    value: Expr | None
    clauses: tuple[ForClause, ...]


# --- statements ----------------------------------------------------------------------------------


class ExprStmt(Stmt):
    """An expression as a statement; `silent` when a `;` follows it (the prompt does not echo it)."""

    value: Expr
    silent: bool


class Assign(Stmt):
    """`targets[0] = targets[1] = value`; `annotation` is the text of X in `name: X = value`, which only dataclasses read."""

    targets: tuple[Expr, ...]
    value: Expr
    annotation: str | None


class Declaration(Stmt):
    """`name: annotation` without a value; `name` is "" for an attribute or an item."""

    name: str
    annotation: str


class AugAssign(Stmt):
    """`target op= value`; `op` is the binary operator."""

    target: Expr
    op: str
    value: Expr


class For(Stmt):
    """`for target in iterable: body else: orelse`."""

    target: Expr
    iterable: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


class While(Stmt):
    """`while test: body else: orelse`."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


class If(Stmt):
    """`branches` holds (test, body) of if and every elif, flat."""

    branches: tuple[tuple[Expr, tuple[Stmt, ...]], ...]
    orelse: tuple[Stmt, ...]


class Case(Node):
    """`case pattern if guard: body`; a pattern is kept as the expression that it is written like."""

    pattern: Expr
    guard: Expr | None
    body: tuple[Stmt, ...]


class Match(Stmt):
    """`match subject:` with its cases."""

    subject: Expr
    cases: tuple[Case, ...]


class With(Stmt):
    """`with context as target, ...: body`."""

    items: tuple[tuple[Expr, Expr | None], ...]
    body: tuple[Stmt, ...]


class FunctionDef(Stmt):
    """`@decorators def name(parameters) -> returns: body`; `returns` is a text, since annotations are not evaluated."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]
    returns: str | None


class ClassDef(Stmt):
    """`@decorators class name(bases, **keywords): body`."""

    name: str
    bases: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]


class Handler(Node):
    """`except type as name: body`."""

    type: Expr | None
    name: str | None
    body: tuple[Stmt, ...]


class Try(Stmt):
    """`try: body except ...: handlers else: orelse finally: finalbody`."""

    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    finalbody: tuple[Stmt, ...]


class Raise(Stmt):
    """`raise`, `raise error`, `raise error from cause`."""

    error: Expr | None
    cause: Expr | None


class Assert(Stmt):
    """`assert test, message`."""

    test: Expr
    message: Expr | None


class Delete(Stmt):
    """`del targets`."""

    targets: tuple[Expr, ...]


class Return(Stmt):
    """`return value`."""

    value: Expr | None


class Pass(Stmt):
    """`pass`."""


class Break(Stmt):
    """`break`."""


class Continue(Stmt):
    """`continue`."""


class Global(Stmt):
    """`global names`."""

    names: tuple[str, ...]


class Nonlocal(Stmt):
    """`nonlocal names`."""

    names: tuple[str, ...]


class Import(Stmt):
    """`import a.b as c, d`: pairs of dotted name and alias (None without `as`)."""

    names: tuple[tuple[str, str | None], ...]


class ImportFrom(Stmt):
    """`from module import a as b, c`; names empty means `*`."""

    module: str
    names: tuple[tuple[str, str | None], ...]


class Program(Node):
    """A whole file, or one input of the prompt."""

    body: tuple[Stmt, ...]
    #: for the values of some statements the template that they were made by, and the numbers that are their own
    templates: Mapping[Expr, tuple[Template, Sequence[float]]]
