"""Loops whose bodies consist of plans, and of what changes nothing that plans depend on.

What plans hold for is not checked again in each iteration of such a loop, and the tensors of the names that its body assigns are made
when it ends, or before anything else runs (`loops.py`).
"""

from __future__ import annotations

from typing import Any

from gradcli.lang.interpreter.compile_context import Context, Frame, Part, Run
from gradcli.lang.interpreter.compile_statements import iterating
from gradcli.lang.interpreter.plans.compile_repeated import parts_of
from gradcli.lang.syntax.nodes import Assign, Attribute, Call, Expr, ExprStmt, For, If, Name, Stmt, TupleExpr, With

#: iterables whose iteration runs nothing of the program
_PLAIN = frozenset((range, list, tuple))
_METHODS = frozenset(("append", "backward", "step", "zero_", "zero_grad"))


def repeated_loop(node: For, context: Context) -> Run | None:
    """The closure of such a loop; None for any other."""
    targets = _names_of(node.target)
    if targets is None or node.orelse or not all(map(_may_be_repeated, node.body)):
        return None
    parts = parts_of(node.body, context)
    assigned = {name for part in parts for name in part.assigned}
    if not assigned or not assigned.isdisjoint(targets):
        return None
    for part in parts:
        if part.read is None or not assigned.isdisjoint(part.read) or (part.shown and part.shown not in assigned):
            return None
        part.varies = not targets.isdisjoint(part.read)
    return _for(node, context, parts)


def _may_be_repeated(statement: Stmt) -> bool:
    """Whether a statement may be part of such a loop, by a first look."""
    if type(statement) is not ExprStmt:
        return type(statement) in (Assign, With, If)
    call = statement.value
    return type(call) is Call and type(call.function) is Attribute and call.function.name in _METHODS


def _names_of(target: Expr) -> set[str] | None:
    """The names of a target of plain names; None for any other."""
    items = target.items if isinstance(target, TupleExpr) else (target,)
    return {item.id for item in items if isinstance(item, Name)} if all(isinstance(item, Name) for item in items) else None


def _for(node: For, context: Context, parts: list[Part]) -> Run:
    iterable = context.expression(node.iterable)
    loop = iterating(node, context)

    def run(frame: Frame) -> Any:
        from gradcli.lang.interpreter.plans.loops import RepeatedBody

        values = iterable(frame)
        body = RepeatedBody(parts, type(values) in _PLAIN)
        try:
            return loop(frame, values, body.run)
        finally:
            body.settle(frame)

    return run
