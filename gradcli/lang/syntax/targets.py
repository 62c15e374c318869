"""Which expressions may be assigned to, deleted and annotated; the errors have Python's texts."""

from __future__ import annotations

from gradcli.errors import LanguageError
from gradcli.lang.syntax.nodes import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    DictExpr,
    Expr,
    JoinedStr,
    Lambda,
    ListExpr,
    Name,
    NamedExpr,
    SetExpr,
    Starred,
    Subscript,
    TupleExpr,
    Unary,
    Yield,
)

_NAMES: dict[type[Expr], str] = {
    Attribute: "attribute",
    Binary: "expression",
    BoolOp: "expression",
    Call: "function call",
    Compare: "comparison",
    Conditional: "conditional expression",
    DictExpr: "dict literal",
    JoinedStr: "f-string expression",
    Lambda: "lambda",
    ListExpr: "list",
    Name: "name",
    NamedExpr: "named expression",
    SetExpr: "set display",
    Starred: "starred",
    Subscript: "subscript",
    TupleExpr: "tuple",
    Unary: "expression",
    Yield: "yield expression",
}
_COMPREHENSIONS = {
    "list": "list comprehension",
    "set": "set comprehension",
    "dict": "dict comprehension",
    "generator": "generator expression",
}


def describe(node: Expr) -> str:
    """What Python's messages call this kind of expression."""
    if isinstance(node, Constant):
        if node.value is Ellipsis:
            return "ellipsis"
        return str(node.value) if node.value is None or isinstance(node.value, bool) else "literal"
    if isinstance(node, Comprehension):
        return _COMPREHENSIONS[node.kind]
    return _NAMES[type(node)]


def _is_keyword(node: Expr) -> bool:
    return isinstance(node, Constant) and (node.value is None or isinstance(node.value, bool))


def _may_compare(node: Expr) -> bool:
    """Whether Python's message suggests `==`: not for an expression that binds looser than a comparison."""
    if isinstance(node, Compare | BoolOp | Conditional | Lambda) or (isinstance(node, Unary) and node.op == "not"):
        return False
    return not _is_keyword(node) and not (isinstance(node, Comprehension) and node.kind == "generator")


def check_target(target: Expr, verb: str = "assign to", *, maybe_equal: bool = False) -> None:
    """Raise LanguageError for a target that cannot be bound. `maybe_equal` adds Python's remark that `==` may have been meant."""
    kind = type(target)
    if kind is Name or kind is Attribute or kind is Subscript:
        return
    pending: list[tuple[Expr, bool]] = [(target, False)]
    while pending:
        node, within = pending.pop()
        if isinstance(node, Name | Attribute | Subscript):
            continue
        if isinstance(node, TupleExpr | ListExpr):
            if verb == "assign to" and sum(isinstance(item, Starred) for item in node.items) > 1:
                raise LanguageError("multiple starred expressions in assignment", span=node.span)
            pending.extend((item, True) for item in reversed(node.items))
            continue
        if isinstance(node, Starred) and verb == "assign to":
            if not within:
                raise LanguageError("starred assignment target must be in a list or tuple", span=node.span)
            pending.append((node.value, False))
            continue
        if isinstance(node, Yield) and verb == "assign to":
            raise LanguageError("assignment to yield expression not possible", span=node.span)
        remark = " here. Maybe you meant '==' instead of '='?" if maybe_equal and not within and _may_compare(node) else ""
        raise LanguageError(f"cannot {verb} {describe(node)}{remark}", span=node.span)


def check_augmented(target: Expr) -> None:
    """Raise LanguageError unless the target of an augmented assignment is a name, an attribute or a subscript."""
    if not isinstance(target, Name | Attribute | Subscript):
        raise LanguageError(f"'{describe(target)}' is an illegal expression for augmented assignment", span=target.span)


def check_annotated(target: Expr) -> None:
    """Raise LanguageError unless the annotated target is a name, an attribute or a subscript."""
    if isinstance(target, TupleExpr | ListExpr):
        raise LanguageError(f"only single target (not {describe(target)}) can be annotated", span=target.span)
    if not isinstance(target, Name | Attribute | Subscript):
        raise LanguageError("illegal target for annotation", span=target.span)


def check_whole(value: Expr) -> Expr:
    """The same expression. Raises LanguageError for a bare `*x`, which is allowed only inside a display or a call."""
    if type(value) is Starred:
        raise LanguageError("can't use starred expression here", span=value.span)
    return value
