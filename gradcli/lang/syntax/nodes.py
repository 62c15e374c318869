"""The nodes of the syntax tree. A tree is never changed once parsed, and each node knows its place in the text.

Operators are spelled as in the text (`"+"`, `"not in"`). A node's span leaves out the parentheses around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gradcli.source import Source, Span

if TYPE_CHECKING:
    from gradcli.lang.syntax.templates import Template


class Node:
    """A node of the tree: it takes the characters [start, end) of the source's text."""

    __slots__ = ("source", "start", "end")

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

    __slots__ = ()


class Stmt(Node):
    """A statement."""

    __slots__ = ()


# --- expressions ---------------------------------------------------------------------------------


class Constant(Expr):
    """A number, string, True, False, None or Ellipsis; adjacent string literals are one."""

    __slots__ = ("value",)

    def __init__(self, source: Source, start: int, end: int, value: object) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.value = value


class Name(Expr):
    """A name, read or (as a target) bound."""

    __slots__ = ("id",)

    def __init__(self, source: Source, start: int, end: int, id: str) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.id = id


class JoinedStr(Expr):
    """An f-string: pieces of text and fields in order."""

    __slots__ = ("parts",)

    def __init__(self, source: Source, start: int, end: int, parts: tuple[str | Field, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.parts = parts


class Field(Node):
    """A replacement field `{value!conversion:spec}`; the text that `{value=}` echoes is in the piece before it.

    `conversion` is "", "r", "s" or "a"; `spec` is None or again pieces of text and fields (one level deep).
    """

    __slots__ = ("value", "conversion", "spec")

    def __init__(self, source: Source, start: int, end: int, value: Expr, conversion: str, spec: tuple[str | Field, ...] | None) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.value = value
        self.conversion = conversion
        self.spec = spec


class ListExpr(Expr):
    """`[a, *b]`."""

    __slots__ = ("items",)

    def __init__(self, source: Source, start: int, end: int, items: tuple[Expr, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.items = items


class TupleExpr(Expr):
    """`a, b`, with or without parentheses."""

    __slots__ = ("items",)

    def __init__(self, source: Source, start: int, end: int, items: tuple[Expr, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.items = items


class SetExpr(Expr):
    """`{a, b}`."""

    __slots__ = ("items",)

    def __init__(self, source: Source, start: int, end: int, items: tuple[Expr, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.items = items


class DictExpr(Expr):
    """`{k: v, **d}`: a pair whose key is None spreads its value."""

    __slots__ = ("items",)

    def __init__(self, source: Source, start: int, end: int, items: tuple[tuple[Expr | None, Expr], ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.items = items


class Starred(Expr):
    """`*value` in a call, display, subscript or target."""

    __slots__ = ("value",)

    def __init__(self, source: Source, start: int, end: int, value: Expr) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.value = value


class Slice(Expr):
    """`lower:upper:step`, inside a subscript only."""

    __slots__ = ("lower", "upper", "step")

    def __init__(self, source: Source, start: int, end: int, lower: Expr | None, upper: Expr | None, step: Expr | None) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.lower = lower
        self.upper = upper
        self.step = step


class Subscript(Expr):
    """`value[index]`; several indices make a TupleExpr."""

    __slots__ = ("value", "index")

    def __init__(self, source: Source, start: int, end: int, value: Expr, index: Expr) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.value = value
        self.index = index


class Attribute(Expr):
    """`value.name`; `name_start` is where the name begins, for carets."""

    __slots__ = ("value", "name", "name_start")

    def __init__(self, source: Source, start: int, end: int, value: Expr, name: str, name_start: int) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.value = value
        self.name = name
        self.name_start = name_start


class Keyword(Node):
    """`name=value` in a call; name None is `**value`."""

    __slots__ = ("name", "value")

    def __init__(self, source: Source, start: int, end: int, name: str | None, value: Expr) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.name = name
        self.value = value


class Call(Expr):
    """`function(args, keywords)`."""

    __slots__ = ("function", "args", "keywords")

    def __init__(self, source: Source, start: int, end: int, function: Expr, args: tuple[Expr, ...], keywords: tuple[Keyword, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.function = function
        self.args = args
        self.keywords = keywords


class Unary(Expr):
    """`-x`, `+x`, `~x`, `not x`."""

    __slots__ = ("op", "operand")

    def __init__(self, source: Source, start: int, end: int, op: str, operand: Expr) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.op = op
        self.operand = operand


class Binary(Expr):
    """Left-associative chains of arithmetic of one precedence level, flat: first op[0] rest[0] op[1] rest[1] ...

    `a - b + c` is one Binary with ops ("-", "+"). `**` is right-associative: always one operator.
    The span of the k-th step reaches from this node's start to ends[k], where rest[k] and its parentheses end.
    """

    __slots__ = ("first", "ops", "rest", "ends")

    def __init__(
        self,
        source: Source,
        start: int,
        end: int,
        first: Expr,
        ops: tuple[str, ...],
        rest: tuple[Expr, ...],
        ends: tuple[int, ...],
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.first = first
        self.ops = ops
        self.rest = rest
        self.ends = ends

    def steps(self) -> list[Step]:
        """The operators with their operands, each of which is the left operand of the next."""
        left: Node = self.first
        found: list[Step] = []
        for op, right, end in zip(self.ops, self.rest, self.ends, strict=True):
            left = Step(op, left, right, self.start, end)
            found.append(left)
        return found


class Compare(Expr):
    """`first ops[0] rest[0] ops[1] rest[1]`: a chain with Python's meaning."""

    __slots__ = ("first", "ops", "rest")

    def __init__(self, source: Source, start: int, end: int, first: Expr, ops: tuple[str, ...], rest: tuple[Expr, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.first = first
        self.ops = ops
        self.rest = rest


class Step(Node):
    """One operator of a `Binary` or `Compare` with its operands, made when the chain is compiled: the place that errors point at.

    `left` is the first operand of the chain or the step before.
    """

    __slots__ = ("left", "op", "right")

    def __init__(self, op: str, left: Node, right: Expr, start: int, end: int) -> None:
        self.source = left.source
        self.start = start
        self.end = end
        self.op = op
        self.left = left
        self.right = right


class BoolOp(Expr):
    """`a and b and c` or `a or b or c`, flat."""

    __slots__ = ("op", "items")

    def __init__(self, source: Source, start: int, end: int, op: str, items: tuple[Expr, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.op = op
        self.items = items


class Conditional(Expr):
    """`body if test else orelse`."""

    __slots__ = ("test", "body", "orelse")

    def __init__(self, source: Source, start: int, end: int, test: Expr, body: Expr, orelse: Expr) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.test = test
        self.body = body
        self.orelse = orelse


class NamedExpr(Expr):
    """`(name := value)`."""

    __slots__ = ("target", "value")

    def __init__(self, source: Source, start: int, end: int, target: Name, value: Expr) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.target = target
        self.value = value


class Yield(Expr):
    """`yield value`, or `yield from value` (`delegates`)."""

    __slots__ = ("delegates", "value")

    def __init__(self, source: Source, start: int, end: int, value: Expr | None, delegates: bool) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.value = value
        self.delegates = delegates


class Parameter(Node):
    """One parameter of a def or lambda. `kind` is "positional" (before a slash), "plain", "*", "**" or "keyword" (after a star).

    `annotation` is the text of one, which signatures show.
    """

    __slots__ = ("name", "kind", "default", "annotation")

    def __init__(
        self, source: Source, start: int, end: int, name: str, kind: str, default: Expr | None, annotation: str | None = None
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.name = name
        self.kind = kind
        self.default = default
        self.annotation = annotation


class Lambda(Expr):
    """`lambda parameters: body`."""

    __slots__ = ("parameters", "body")

    def __init__(self, source: Source, start: int, end: int, parameters: tuple[Parameter, ...], body: Expr) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.parameters = parameters
        self.body = body


class ForClause(Node):
    """`for target in iterable if c1 if c2` in a comprehension."""

    __slots__ = ("target", "iterable", "conditions")

    def __init__(self, source: Source, start: int, end: int, target: Expr, iterable: Expr, conditions: tuple[Expr, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.target = target
        self.iterable = iterable
        self.conditions = conditions


class Comprehension(Expr):
    """`kind` is "list", "set", "dict" or "generator"; `value` is the dict's value, else None."""

    __slots__ = ("kind", "element", "value", "clauses")

    def __init__(
        self, source: Source, start: int, end: int, kind: str, element: Expr, value: Expr | None, clauses: tuple[ForClause, ...]
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.kind = kind
        self.element = element
        self.value = value
        self.clauses = clauses


# --- statements ----------------------------------------------------------------------------------


class ExprStmt(Stmt):
    """An expression as a statement; `silent` when a `;` follows it (the prompt does not echo it)."""

    __slots__ = ("value", "silent")

    def __init__(self, source: Source, start: int, end: int, value: Expr, silent: bool) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.value = value
        self.silent = silent


class Assign(Stmt):
    """`targets[0] = targets[1] = value`; `annotation` is the text of X in `name: X = value`, which only dataclasses read."""

    __slots__ = ("targets", "value", "annotation")

    def __init__(self, source: Source, start: int, end: int, targets: tuple[Expr, ...], value: Expr, annotation: str | None = None) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.targets = targets
        self.value = value
        self.annotation = annotation


class Declaration(Stmt):
    """`name: annotation` without a value; `name` is "" for an attribute or an item."""

    __slots__ = ("name", "annotation")

    def __init__(self, source: Source, start: int, end: int, name: str, annotation: str) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.name = name
        self.annotation = annotation


class AugAssign(Stmt):
    """`target op= value`; `op` is the binary operator."""

    __slots__ = ("target", "op", "value")

    def __init__(self, source: Source, start: int, end: int, target: Expr, op: str, value: Expr) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.target = target
        self.op = op
        self.value = value


class For(Stmt):
    """`for target in iterable: body else: orelse`."""

    __slots__ = ("target", "iterable", "body", "orelse")

    def __init__(
        self, source: Source, start: int, end: int, target: Expr, iterable: Expr, body: tuple[Stmt, ...], orelse: tuple[Stmt, ...]
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.target = target
        self.iterable = iterable
        self.body = body
        self.orelse = orelse


class While(Stmt):
    """`while test: body else: orelse`."""

    __slots__ = ("test", "body", "orelse")

    def __init__(self, source: Source, start: int, end: int, test: Expr, body: tuple[Stmt, ...], orelse: tuple[Stmt, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.test = test
        self.body = body
        self.orelse = orelse


class If(Stmt):
    """`branches` holds (test, body) of if and every elif, flat."""

    __slots__ = ("branches", "orelse")

    def __init__(
        self, source: Source, start: int, end: int, branches: tuple[tuple[Expr, tuple[Stmt, ...]], ...], orelse: tuple[Stmt, ...]
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.branches = branches
        self.orelse = orelse


class Case(Node):
    """`case pattern as name if guard: body`; a pattern is kept as the expression that it is written like."""

    __slots__ = ("pattern", "name", "guard", "body")

    def __init__(
        self, source: Source, start: int, end: int, pattern: Expr, name: str | None, guard: Expr | None, body: tuple[Stmt, ...]
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.pattern = pattern
        self.name = name
        self.guard = guard
        self.body = body


class Match(Stmt):
    """`match subject:` with its cases."""

    __slots__ = ("subject", "cases")

    def __init__(self, source: Source, start: int, end: int, subject: Expr, cases: tuple[Case, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.subject = subject
        self.cases = cases


class With(Stmt):
    """`with context as target, ...: body`."""

    __slots__ = ("items", "body")

    def __init__(self, source: Source, start: int, end: int, items: tuple[tuple[Expr, Expr | None], ...], body: tuple[Stmt, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.items = items
        self.body = body


class FunctionDef(Stmt):
    """`@decorators def name(parameters) -> returns: body`; `returns` is a text, since annotations are not evaluated."""

    __slots__ = ("name", "parameters", "body", "decorators", "returns")

    def __init__(
        self,
        source: Source,
        start: int,
        end: int,
        name: str,
        parameters: tuple[Parameter, ...],
        body: tuple[Stmt, ...],
        decorators: tuple[Expr, ...],
        returns: str | None = None,
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.name = name
        self.parameters = parameters
        self.body = body
        self.decorators = decorators
        self.returns = returns


class ClassDef(Stmt):
    """`@decorators class name(bases, **keywords): body`."""

    __slots__ = ("name", "bases", "keywords", "body", "decorators")

    def __init__(
        self,
        source: Source,
        start: int,
        end: int,
        name: str,
        bases: tuple[Expr, ...],
        keywords: tuple[Keyword, ...],
        body: tuple[Stmt, ...],
        decorators: tuple[Expr, ...],
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.name = name
        self.bases = bases
        self.keywords = keywords
        self.body = body
        self.decorators = decorators


class Handler(Node):
    """`except type as name: body`."""

    __slots__ = ("type", "name", "body")

    def __init__(self, source: Source, start: int, end: int, type: Expr | None, name: str | None, body: tuple[Stmt, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.type = type
        self.name = name
        self.body = body


class Try(Stmt):
    """`try: body except ...: handlers else: orelse finally: finalbody`."""

    __slots__ = ("body", "handlers", "orelse", "finalbody")

    def __init__(
        self,
        source: Source,
        start: int,
        end: int,
        body: tuple[Stmt, ...],
        handlers: tuple[Handler, ...],
        orelse: tuple[Stmt, ...],
        finalbody: tuple[Stmt, ...],
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.body = body
        self.handlers = handlers
        self.orelse = orelse
        self.finalbody = finalbody


class Raise(Stmt):
    """`raise`, `raise error`, `raise error from cause`."""

    __slots__ = ("error", "cause")

    def __init__(self, source: Source, start: int, end: int, error: Expr | None, cause: Expr | None) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.error = error
        self.cause = cause


class Assert(Stmt):
    """`assert test, message`."""

    __slots__ = ("test", "message")

    def __init__(self, source: Source, start: int, end: int, test: Expr, message: Expr | None) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.test = test
        self.message = message


class Delete(Stmt):
    """`del targets`."""

    __slots__ = ("targets",)

    def __init__(self, source: Source, start: int, end: int, targets: tuple[Expr, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.targets = targets


class Return(Stmt):
    """`return value`."""

    __slots__ = ("value",)

    def __init__(self, source: Source, start: int, end: int, value: Expr | None) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.value = value


class Pass(Stmt):
    """`pass`."""

    __slots__ = ()


class Break(Stmt):
    """`break`."""

    __slots__ = ()


class Continue(Stmt):
    """`continue`."""

    __slots__ = ()


class Global(Stmt):
    """`global names`."""

    __slots__ = ("names",)

    def __init__(self, source: Source, start: int, end: int, names: tuple[str, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.names = names


class Nonlocal(Stmt):
    """`nonlocal names`."""

    __slots__ = ("names",)

    def __init__(self, source: Source, start: int, end: int, names: tuple[str, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.names = names


class Import(Stmt):
    """`import a.b as c, d`: pairs of dotted name and alias (None without `as`)."""

    __slots__ = ("names",)

    def __init__(self, source: Source, start: int, end: int, names: tuple[tuple[str, str | None], ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.names = names


class ImportFrom(Stmt):
    """`from module import a as b, c`; names empty means `*`."""

    __slots__ = ("module", "names")

    def __init__(self, source: Source, start: int, end: int, module: str, names: tuple[tuple[str, str | None], ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.module = module
        self.names = names


class Program(Node):
    """A whole file, or one input of the prompt."""

    __slots__ = ("body", "templates")

    def __init__(self, source: Source, start: int, end: int, body: tuple[Stmt, ...]) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.body = body
        #: for the values of some statements the template that they were made by, and the numbers that are their own
        self.templates: Mapping[Expr, tuple[Template, Sequence[float]]] = {}
