"""Which expressions may be assigned to, deleted and annotated; the errors have Python's texts."""

from __future__ import annotations

from gradcli.errors import LanguageError
from gradcli.lang.syntax import nodes

_NAMES: dict[type[nodes.Expr], str] = {
    nodes.Attribute: "attribute",
    nodes.Binary: "expression",
    nodes.BoolOp: "expression",
    nodes.Call: "function call",
    nodes.Compare: "comparison",
    nodes.Conditional: "conditional expression",
    nodes.DictExpr: "dict literal",
    nodes.JoinedStr: "f-string expression",
    nodes.Lambda: "lambda",
    nodes.ListExpr: "list",
    nodes.Name: "name",
    nodes.NamedExpr: "named expression",
    nodes.SetExpr: "set display",
    nodes.Starred: "starred",
    nodes.Subscript: "subscript",
    nodes.TupleExpr: "tuple",
    nodes.Unary: "expression",
    nodes.Yield: "yield expression",
}
_COMPREHENSIONS = {
    "list": "list comprehension",
    "set": "set comprehension",
    "dict": "dict comprehension",
    "generator": "generator expression",
}


def describe(node: nodes.Expr) -> str:
    """What Python's messages call this kind of expression."""
    if isinstance(node, nodes.Constant):
        if node.value is Ellipsis:
            return "ellipsis"
        return str(node.value) if node.value is None or isinstance(node.value, bool) else "literal"
    if isinstance(node, nodes.Comprehension):
        return _COMPREHENSIONS[node.kind]
    return _NAMES[type(node)]


def _is_keyword(node: nodes.Expr) -> bool:
    return isinstance(node, nodes.Constant) and (node.value is None or isinstance(node.value, bool))


def _may_compare(node: nodes.Expr) -> bool:
    """Whether Python's message suggests `==`: not for an expression that binds looser than a comparison."""
    if isinstance(node, nodes.Compare | nodes.BoolOp | nodes.Conditional | nodes.Lambda) or (
        isinstance(node, nodes.Unary) and node.op == "not"
    ):
        return False
    return not _is_keyword(node) and not (isinstance(node, nodes.Comprehension) and node.kind == "generator")


def check_target(target: nodes.Expr, verb: str = "assign to", *, maybe_equal: bool = False) -> None:
    """Raise LanguageError for a target that cannot be bound. `maybe_equal` adds Python's remark that `==` may have been meant."""
    kind = type(target)
    if kind is nodes.Name or kind is nodes.Attribute or kind is nodes.Subscript:
        return
    pending: list[tuple[nodes.Expr, bool]] = [(target, False)]
    while pending:
        node, within = pending.pop()
        if isinstance(node, nodes.Name | nodes.Attribute | nodes.Subscript):
            continue
        if isinstance(node, nodes.TupleExpr | nodes.ListExpr):
            if verb == "assign to" and sum(isinstance(item, nodes.Starred) for item in node.items) > 1:
                raise LanguageError("multiple starred expressions in assignment", span=node.span)
            pending.extend((item, True) for item in reversed(node.items))
            continue
        if isinstance(node, nodes.Starred) and verb == "assign to":
            if not within:
                raise LanguageError("starred assignment target must be in a list or tuple", span=node.span)
            pending.append((node.value, False))
            continue
        if isinstance(node, nodes.Yield) and verb == "assign to":
            raise LanguageError("assignment to yield expression not possible", span=node.span)
        remark = " here. Maybe you meant '==' instead of '='?" if maybe_equal and not within and _may_compare(node) else ""
        raise LanguageError(f"cannot {verb} {describe(node)}{remark}", span=node.span)


def check_augmented(target: nodes.Expr) -> None:
    """Raise LanguageError unless the target of an augmented assignment is a name, an attribute or a subscript."""
    if not isinstance(target, nodes.Name | nodes.Attribute | nodes.Subscript):
        raise LanguageError(f"'{describe(target)}' is an illegal expression for augmented assignment", span=target.span)


def check_annotated(target: nodes.Expr) -> None:
    """Raise LanguageError unless the annotated target is a name, an attribute or a subscript."""
    if isinstance(target, nodes.TupleExpr | nodes.ListExpr):
        raise LanguageError(f"only single target (not {describe(target)}) can be annotated", span=target.span)
    if not isinstance(target, nodes.Name | nodes.Attribute | nodes.Subscript):
        raise LanguageError("illegal target for annotation", span=target.span)


def check_whole(value: nodes.Expr) -> nodes.Expr:
    """The same expression. Raises LanguageError for a bare `*x`, which is allowed only inside a display or a call."""
    if type(value) is nodes.Starred:
        raise LanguageError("can't use starred expression here", span=value.span)
    return value
