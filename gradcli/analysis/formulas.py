"""Formulas as trees of terms: made from syntax trees, simplified, and written as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gradcli.analysis.operands import text_with
from gradcli.core.kernels import Array
from gradcli.lang.names import bare_names
from gradcli.lang.syntax import nodes

#: precedence of operators; a higher number binds tighter
_LEVEL = {"|": 2, "^": 3, "&": 4, "+": 5, "-": 5, "*": 6, "/": 6, "@": 6, "//": 6, "%": 6, "**": 8}
_COMPARE, _UNARY, _POWER, _ATOM = 1, 7, 8, 10
_FOLDED: dict[str, Callable[[float, float], float]] = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class Number(NamedTuple):
    """A number, or True or False."""

    value: float


class Known(NamedTuple):
    """A plain value that is no number: a size, a list, a string, None."""

    value: Any


class Symbol(NamedTuple):
    """A text that stands for a value, such as a name. `latex` is its LaTeX; without `atomic` it needs parentheses within operations.

    `shape` is the shape of the value where it is known, `value` the value itself where a condition may depend on it.
    """

    text: str
    latex: str = ""
    atomic: bool = True
    shape: tuple[int, ...] | None = None
    value: Array | None = None


class Operation(NamedTuple):
    """Operators on operands: `-a`, `a * b`, `a < b`, `a if b else c`."""

    op: str
    operands: tuple[Term, ...]


class Applied(NamedTuple):
    """A call of a function or, with an `owner`, of a method; with None for `arguments` an attribute."""

    name: str
    arguments: tuple[Term, ...] | None
    owner: Term | None = None


class Keyword(NamedTuple):
    """`name=value` in a call."""

    name: str
    value: Term


class Indexed(NamedTuple):
    """`owner[place]`, where `place` is text."""

    owner: Term
    place: str


class Listed(NamedTuple):
    """`(a, b)` or `[a, b]`."""

    items: tuple[Term, ...]
    brackets: str


Term = Number | Known | Symbol | Operation | Applied | Keyword | Indexed | Listed

_ELEMENTWISE = frozenset({"+", "-", "*", "/", "**", "neg", "if", *_TESTS})
#: methods and attributes whose result is zero for zeros
_ARRANGED = frozenset({"reshape", "unsqueeze", "mT", "t", "sum", "tril", "triu"})
#: modules that functions are called on
_MODULES = frozenset({"torch", "F", "nn", "functional", "linalg", "special", "math"})


# --- from the syntax tree ---


def from_syntax(node: nodes.Node, known: Callable[[nodes.Node], Term | None]) -> Term:
    """The term of an expression. `known` gives a term in place of a node, or None. Syntax without a class of terms stays text."""
    found = known(node)
    if found is not None:
        return found
    if isinstance(node, nodes.Constant) and isinstance(node.value, (int, float)):
        return Number(node.value)
    if isinstance(node, nodes.Name):
        return Symbol(node.id)
    if isinstance(node, nodes.Binary):
        term = from_syntax(node.first, known)
        for op, right in zip(node.ops, node.rest, strict=True):
            term = combine(op, term, from_syntax(right, known))
        return term
    if isinstance(node, nodes.Unary) and node.op == "-":
        return negative(from_syntax(node.operand, known))
    if isinstance(node, nodes.Compare) and len(node.ops) == 1 and node.ops[0] in _TESTS:
        return combine(node.ops[0], from_syntax(node.first, known), from_syntax(node.rest[0], known))
    if isinstance(node, nodes.Conditional):
        test = from_syntax(node.test, known)
        if isinstance(test, (Number, Known)):
            return from_syntax(node.body if test.value else node.orelse, known)
        return Operation("if", (from_syntax(node.body, known), test, from_syntax(node.orelse, known)))
    if isinstance(node, nodes.BoolOp):
        return _decided(node, known)
    if isinstance(node, nodes.Attribute):
        owner = from_syntax(node.value, known)
        return owner if node.name in _ARRANGED and _is(owner, 0) else Applied(node.name, None, owner)
    if isinstance(node, nodes.Call) and all(keyword.name for keyword in node.keywords):
        return _call(node, known)
    if isinstance(node, (nodes.TupleExpr, nodes.ListExpr)) and not any(isinstance(item, nodes.Starred) for item in node.items):
        items = tuple(from_syntax(item, known) for item in node.items)
        return Listed(items, "()" if isinstance(node, nodes.TupleExpr) else "[]")
    if isinstance(node, nodes.Subscript):
        return _item(from_syntax(node.value, known), node.index, known)
    if isinstance(node, nodes.Lambda):  # the parameters of a lambda are no names of the formula
        head = node.text[: node.body.start - node.start]
        return Symbol(f"{head}{text(from_syntax(node.body, known))}", atomic=False)
    return Symbol(_put_in(node, known), atomic=isinstance(node, nodes.Call))


def _decided(node: nodes.BoolOp, known: Callable[[nodes.Node], Term | None]) -> Term:
    """`a and b`, `a or b` without the items that do not change the result."""
    items = [from_syntax(item, known) for item in node.items]
    for at, item in enumerate(items):
        if not isinstance(item, (Number, Known)):
            break
        if bool(item.value) is (node.op == "or") or at == len(items) - 1:
            return item
    return items[at] if at == len(items) - 1 else Symbol(f" {node.op} ".join(_at(item, _COMPARE) for item in items[at:]), atomic=False)


def _call(node: nodes.Call, known: Callable[[nodes.Node], Term | None]) -> Term:
    arguments = tuple(from_syntax(argument, known) for argument in node.args)
    arguments += tuple(Keyword(str(keyword.name), from_syntax(keyword.value, known)) for keyword in node.keywords)
    function = node.function
    if isinstance(function, nodes.Attribute):
        owner = from_syntax(function.value, known)
        if function.name == "numel" and isinstance(owner, Symbol) and owner.shape is not None:
            count = 1
            for size in owner.shape:
                count *= size
            return Number(count)
        if _is(owner, 0) and (function.name in _ARRANGED or (function.name == "where" and _is(arguments[-1], 0))):
            return owner
        bare = owner == Symbol("torch") and known(function.value) is None and bare_names.is_torch(function.name, True)
        return Applied(function.name, arguments, None if bare else owner)
    name = function.text if isinstance(function, nodes.Name) else text(from_syntax(function, known))
    if name == "where" and len(arguments) == 3 and isinstance(arguments[0], Number):
        return arguments[1] if arguments[0].value else arguments[2]
    return Applied(name, arguments)


def is_module(owner: Term) -> bool:
    """Whether a term is a module, such as `torch`, `torch.linalg` or `F`."""
    return (isinstance(owner, Symbol) and owner.text in _MODULES) or (isinstance(owner, Applied) and owner.name in _MODULES)


def broadcast(term: Term) -> Term:
    """The term without `expand`, `expand_as` and `reshape` that broadcasting makes superfluous."""
    if isinstance(term, Operation):
        return Operation(term.op, tuple(map(broadcast, term.operands))) if term.op in _ELEMENTWISE else term
    if not isinstance(term, Applied):
        return term
    if term.owner is None and term.name == "where" and term.arguments is not None:
        return Applied("where", tuple(map(broadcast, term.arguments)))
    if (
        term.owner is not None
        and term.arguments
        and (term.name in ("expand", "expand_as") or (term.name == "reshape" and _is_seen(term.owner, term.arguments[0])))
    ):
        return broadcast(term.owner)
    return term


def _is_seen(owner: Term, size: Term) -> bool:
    """Whether a value of this size broadcasts as the owner itself does."""
    if not isinstance(owner, Symbol) or owner.shape is None or not isinstance(size, Known):
        return False
    return _without_ones(owner.shape) == _without_ones(size.value)


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without its leading dimensions of size 1."""
    return next((shape[k:] for k, size in enumerate(shape) if size != 1), ())


def _item(owner: Term, index: nodes.Node, known: Callable[[nodes.Node], Term | None]) -> Term:
    if isinstance(owner, Listed):
        number = from_syntax(index, known)
        if isinstance(number, Number) and isinstance(number.value, int) and -len(owner.items) <= number.value < len(owner.items):
            return owner.items[number.value]
    return Indexed(owner, _put_in(index, known))


def _put_in(node: nodes.Node, known: Callable[[nodes.Node], Term | None]) -> str:
    """The text of a node, with the texts of the terms that `known` gives for nodes within it."""
    parts: list[tuple[nodes.Node, str]] = []
    stack = [node]
    while stack:
        one = stack.pop()
        term = known(one)
        if term is not None:
            parts.append((one, _at(term, _ATOM)))
        else:
            stack += nodes.children(one)
    return text_with(node, parts)


def combine(op: str, a: Term, b: Term) -> Term:
    """The term of `a op b`, simplified."""
    if isinstance(a, Number) and isinstance(b, Number):
        if op in _FOLDED:
            return Number(_FOLDED[op](a.value, b.value))
        if op in _TESTS:
            return Number(_TESTS[op](a.value, b.value))
    one_right, one_left = _is(b, 1), _is(a, 1)
    if op in ("&", "|"):
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Number) and isinstance(one.value, bool):
                return other if one.value is (op == "&") else one
    if (op in ("*", "/", "**") and one_right) or (op in ("+", "-") and _is(b, 0)):
        return a
    if (op == "*" and one_left) or (op == "+" and _is(a, 0)):
        return b
    if (op in "*@" and (_is(a, 0) or _is(b, 0))) or (op == "/" and _is(a, 0)):
        return Number(0)
    if op == "**" and _is(b, 0):
        return Number(1)
    if op == "-" and _is(a, 0):
        return negative(b)
    return Operation(op, (a, b))


def _is(term: Term, value: int) -> bool:
    if isinstance(term, Applied) and term.name == "zeros_like":
        return value == 0
    return isinstance(term, Number) and term.value == value


def negative(term: Term) -> Term:
    """The term of `-term`, simplified."""
    if isinstance(term, Number) or _is(term, 0):
        return Number(-term.value if isinstance(term, Number) else 0)
    if isinstance(term, Operation) and term.op == "neg":
        return term.operands[0]
    return Operation("neg", (term,))


# --- to text ---


def text(term: Term) -> str:
    """The term in the language's own notation."""
    return _text(term)[0]


def _text(term: Term) -> tuple[str, int]:
    """The text of a term, and the precedence of its outermost operator."""
    if isinstance(term, Number):
        return repr(term.value), _UNARY if term.value < 0 else _ATOM
    if isinstance(term, Known):
        return repr(term.value), _ATOM
    if isinstance(term, Symbol):
        return term.text, _ATOM if term.atomic else _COMPARE
    if isinstance(term, Keyword):
        return f"{term.name}={text(term.value)}", 0
    if isinstance(term, Applied):
        inside = None if term.arguments is None else ", ".join(map(text, term.arguments))
        call = term.name if inside is None else f"{term.name}({inside})"
        return call if term.owner is None else f"{_at(term.owner, _ATOM)}.{call}", _ATOM
    if isinstance(term, Indexed):
        return f"{_at(term.owner, _ATOM)}[{term.place}]", _ATOM
    if isinstance(term, Listed):
        comma = "," if term.brackets == "()" and len(term.items) == 1 else ""
        return f"{term.brackets[0]}{', '.join(map(text, term.items))}{comma}{term.brackets[1]}", _ATOM
    op, operands = term.op, term.operands
    if op == "neg":
        return f"-{_at(operands[0], _UNARY)}", _UNARY
    if op == "if":
        body, test, other = (_at(operand, _COMPARE) for operand in operands)
        return f"{body} if {test} else {other}", 0
    if op == "**":
        return f"{_at(operands[0], _ATOM)}**{_at(operands[1], _UNARY)}", _POWER
    level = _LEVEL.get(op, _COMPARE)
    return f"{_at(operands[0], level)} {op} {_at(operands[1], level + 1)}", level


def _at(term: Term, level: int) -> str:
    """The text of a term, in parentheses where its operator binds looser than `level`."""
    found, own = _text(term)
    return found if own >= level else f"({found})"
