"""The patterns of `case`: which expressions are written like patterns, and the names that they bind."""

from __future__ import annotations

from collections.abc import Iterable

from gradcli.errors import LanguageError
from gradcli.lang.syntax.nodes import (
    AsPattern,
    Attribute,
    Binary,
    Call,
    Constant,
    DictExpr,
    Expr,
    ListExpr,
    Name,
    Node,
    Starred,
    TupleExpr,
    Unary,
)

#: the pattern that matches anything and binds nothing
WILDCARD = "_"


def is_value(pattern: Expr) -> bool:
    """Whether a pattern is a value to compare with: a number, a string, a dotted name."""
    if isinstance(pattern, Unary):
        return pattern.op == "-" and isinstance(pattern.operand, Constant) and isinstance(pattern.operand.value, int | float)
    return isinstance(pattern, Constant | Attribute)


def alternatives(pattern: Expr) -> tuple[Expr, ...]:
    """The patterns between `|`, or the pattern itself."""
    if isinstance(pattern, Binary) and set(pattern.ops) == {"|"}:
        return (pattern.first, *pattern.rest)
    return (pattern,)


def inside(pattern: Expr) -> tuple[list[Expr], list[Node]]:
    """The patterns directly inside a pattern, and the expressions that it evaluates. LanguageError for what is no pattern."""
    others = alternatives(pattern)
    if len(others) > 1:
        return list(others), []
    if is_value(pattern):
        return [], [pattern]
    if isinstance(pattern, Name):
        return [], []
    if isinstance(pattern, Starred):
        return [pattern.value], []
    if isinstance(pattern, AsPattern):
        return [pattern.pattern, pattern.name], []
    if isinstance(pattern, TupleExpr | ListExpr):
        return list(pattern.items), []
    if isinstance(pattern, DictExpr) and all(isinstance(value, Name) if key is None else is_value(key) for key, value in pattern.items):
        return [value for _, value in pattern.items], [key for key, _ in pattern.items if key is not None]
    if isinstance(pattern, Call) and isinstance(pattern.function, Name | Attribute) and all(one.name for one in pattern.keywords):
        return [*pattern.args, *(one.value for one in pattern.keywords)], [pattern.function]
    raise LanguageError("this is no pattern: values, names, sequences, mappings, classes and | are", span=pattern.span)


def walked(pattern: Expr) -> Iterable[tuple[Expr, list[Node]]]:
    """Every pattern in a pattern, with the expressions that it evaluates."""
    pending = [pattern]
    while pending:
        one = pending.pop()
        below, evaluated = inside(one)
        yield one, evaluated
        pending += reversed(below)


def _bound(pattern: Expr) -> set[str]:
    """The names that a pattern binds; of alternatives those of the first. Raises LanguageError for a name that is bound twice."""
    pending, found = [pattern], set[str]()
    while pending:
        one = alternatives(pending.pop())[0]
        if isinstance(one, Name) and one.id != WILDCARD:
            if one.id in found:
                raise LanguageError(f"multiple assignments to name '{one.id}' in pattern", span=one.span)
            found.add(one.id)
        pending += reversed(inside(one)[0])
    return found


def check(pattern: Expr) -> None:
    """Raise LanguageError for what is no pattern, and for names that are bound twice or in some alternatives only."""
    _bound(pattern)
    rests: set[Expr] = set()
    for one, _ in walked(pattern):
        if isinstance(one, TupleExpr | ListExpr):
            rests.update(item for item in one.items if isinstance(item, Starred) and isinstance(item.value, Name))
        elif isinstance(one, Starred) and one not in rests:
            raise LanguageError("a starred pattern is a name inside a sequence, as in [first, *rest]", span=one.span)
        others = alternatives(one)
        if len(others) > 1:
            first, *more = map(_bound, others)
            if any(found != first for found in more):
                raise LanguageError("alternative patterns bind different names", span=one.span)
        elif isinstance(one, AsPattern) and one.name.id == WILDCARD:
            raise LanguageError("cannot use '_' as a target", span=one.name.span)
        elif isinstance(one, TupleExpr | ListExpr) and sum(isinstance(item, Starred) for item in one.items) > 1:
            raise LanguageError("multiple starred expressions in sequence pattern", span=one.span)
