"""The expressions in the text that the inputs of a step are values of, and texts with replaced expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence

from gradcli.core.graph.op_node import OpNode
from gradcli.core.tensor.node import Node
from gradcli.lang.syntax import nodes as syntax

#: names of modules, which are no operands of the functions that are called on them
_MODULES = frozenset({"torch", "F", "nn", "optim", "math", "np", "linalg", "autograd", "functional"})
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.S)
_CLOSER = re.compile(r"\s*\)")
_KEYWORDS = frozenset({"and", "or", "not", "in", "is", "if", "elif", "else", "return", "while", "assert"})


def candidates(place: object) -> list[syntax.Node]:
    """The operands of the operation at a place of the text, in the order of the text."""
    if isinstance(place, syntax.Step):
        return [place.left, place.right]
    if isinstance(place, syntax.Unary):
        return [place.operand]
    if isinstance(place, syntax.Attribute):
        return [place.value]
    if isinstance(place, syntax.AugAssign):
        return [place.target, place.value]
    if isinstance(place, syntax.Subscript):
        return [place.value, *_flat([place.index])]
    if isinstance(place, syntax.Call):
        function = place.function
        owner = [function.value] if isinstance(function, syntax.Attribute) and not _is_module(function.value) else []
        return owner + _flat([*place.args, *(keyword.value for keyword in place.keywords)])
    return []


def _is_module(node: syntax.Node) -> bool:
    while isinstance(node, syntax.Attribute):
        node = node.value
    return isinstance(node, syntax.Name) and node.id in _MODULES


def _flat(nodes: Sequence[syntax.Node]) -> list[syntax.Node]:
    found: list[syntax.Node] = []
    for node in nodes:
        if isinstance(node, syntax.Starred):
            node = node.value
        if isinstance(node, (syntax.ListExpr, syntax.TupleExpr)):
            items = [item.value if isinstance(item, syntax.Starred) else item for item in node.items]
            found += [item for item in items if not isinstance(item, syntax.Slice)]
        # the elements of a comprehension are many values of one text
        elif not isinstance(node, (syntax.Slice, syntax.Comprehension)):
            found.append(node)
    return found


#: expressions whose value may be a tensor that another operation made
_VALUES = (syntax.Name, syntax.Attribute, syntax.Subscript, syntax.Call)

Matched = list[syntax.Node | None]


def match(node: Node, name_of: Callable[[Node], str], leaves: Container[str] = ()) -> tuple[Matched, list[syntax.Node]]:
    """For each input of a step the expression that it is the value of, None where the text has none; and the expressions left over.

    `name_of` gives the variable's name of a node, "" for none; `leaves` are as for `is_inner`.
    """
    place = node.origin
    every = candidates(place)
    open_ = list(every)
    found: Matched = [None] * len(node.edges)
    for i, (parent, _) in enumerate(node.edges):
        if parent is None:
            continue
        if (name := name_of(parent)) and any(c.text == name for c in open_):
            found[i] = _take(open_, [c for c in open_ if c.text == name])
        elif isinstance(parent.origin, syntax.Node) and not same_place(parent.origin, place):
            found[i] = _take(open_, [c for c in open_ if _holds(c, parent.origin)])
    if any(parent is not None and is_inner(parent, node, leaves) for parent, _ in node.edges):
        return found, []  # the text has the inputs of the inner step
    if isinstance(node, OpNode) and node.op.variadic and len(every) < len(found):
        return found, []  # the text has one name for the whole list
    for i in range(len(found)):
        if found[i] is not None:
            continue
        usual = [c for c in every[i : i + 1] if c in open_]
        chosen = usual + (open_ if isinstance(place, syntax.Step) else [])
        if node.edges[i][0] is not None:
            chosen = [c for c in chosen if isinstance(c, _VALUES)]
        found[i] = _take(open_, chosen[:1])
    return found, open_


def is_inner(parent: Node, node: Node, leaves: Container[str] = ()) -> bool:
    """Whether both nodes are steps of one operation of the text, such as the two steps of `2 / x`.

    A step whose input was made by the same text earlier (`h = h * w` in a loop) is of the same kind and reads a name, which is none
    of `leaves`, the names of tensors that no step made.
    """
    if not same_place(parent.origin, node.origin):
        return False
    if parent.type_name != node.type_name:
        return True
    return not any(
        isinstance(c, (syntax.Name, syntax.Attribute, syntax.Subscript)) and c.text not in leaves for c in candidates(node.origin)
    )


def _take(open_: list[syntax.Node], chosen: list[syntax.Node]) -> syntax.Node | None:
    if not chosen:
        return None
    best = min(chosen, key=lambda c: c.end - c.start)
    open_[:] = [c for c in open_ if c is not best]
    return best


def same_place(a: object, b: object) -> bool:
    """Whether both origins are the same range of the same text."""
    return a is b or (
        isinstance(a, syntax.Node) and isinstance(b, syntax.Node) and a.source is b.source and (a.start, a.end) == (b.start, b.end)
    )


def _holds(outer: syntax.Node, inner: syntax.Node) -> bool:
    return outer.source is inner.source and outer.start <= inner.start and inner.end <= outer.end


def text_with(place: syntax.Node, names: Sequence[tuple[syntax.Node, str]]) -> str:
    """The text of a place on one line, with a name in place of each expression of `names` and the parentheses around it."""
    text = place.source.text
    parts = sorted((*_with_parentheses(text, part.start, part.end), name) for part, name in names)
    start, end = place.start, place.end
    if parts:
        start, end = min(start, parts[0][0]), max(end, parts[-1][1])
    out, at = "", start
    for begin, stop, name in parts:
        if begin >= at:
            out += text[at:begin] + name
            at = stop
    out += text[at:end]
    # the place of a step of a chain ends before the closing parenthesis of its right operand
    for _ in range(_open_parentheses(out)):
        closer = _CLOSER.match(text, end)
        if closer is not None:
            out += text[end : closer.end()]
            end = closer.end()
    return " ".join(out.split())


def _with_parentheses(text: str, start: int, end: int) -> tuple[int, int]:
    """The range of an expression with the parentheses around it, but not with those of a call."""
    while True:
        before, after = _last_before(text, start), _CLOSER.match(text, end)
        if before < 0 or text[before] != "(" or after is None:
            return start, end
        called = _last_before(text, before)
        if called >= 0 and (text[called].isalnum() or text[called] in "_)]'\"") and _word_to(text, called) not in _KEYWORDS:
            return start, end
        start, end = before, after.end()


def _last_before(text: str, at: int) -> int:
    """The index of the last character before `at` that is no blank; -1 for none."""
    at -= 1
    while at >= 0 and text[at].isspace():
        at -= 1
    return at


def _word_to(text: str, last: int) -> str:
    first = last + 1
    while first > 0 and (text[first - 1].isalnum() or text[first - 1] == "_"):
        first -= 1
    return text[first : last + 1]


def _open_parentheses(text: str) -> int:
    bare = _STRING.sub("", text)
    return bare.count("(") - bare.count(")")


def assigned_names(program: syntax.Node) -> dict[tuple[int, int], str]:
    """The names that expressions are assigned to, by the start and the end of the expression."""
    found: dict[tuple[int, int], str] = {}
    for node in walk(program):
        if isinstance(node, syntax.Assign) and isinstance(node.targets[0], syntax.Name):
            found[node.value.start, node.value.end] = node.targets[0].id
        elif isinstance(node, syntax.AugAssign) and isinstance(node.target, syntax.Name):
            found[node.start, node.end] = node.target.id
        elif isinstance(node, syntax.NamedExpr):
            found[node.value.start, node.value.end] = node.target.id
    return found


def walk(node: syntax.Node) -> list[syntax.Node]:
    """The node and all inside it, those of the text's beginning first."""
    found: list[syntax.Node] = []
    stack = [node]
    while stack:
        one = stack.pop()
        found.append(one)
        stack += reversed(syntax.children(one))
    return found
