"""Compiling whole programs and expressions: the table of compile functions, and the cache of what was compiled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from gradcli.lang.interpreter import compile_calls, compile_displays, compile_names, compile_operators
from gradcli.lang.interpreter.compile_context import Compile, Context, Run, Tables
from gradcli.lang.interpreter.scope import analyse
from gradcli.lang.syntax import nodes
from gradcli.lang.values.execution import counting


def _lambda(node: nodes.Lambda, context: Context) -> Run:
    from gradcli.lang.interpreter.compile_functions import lambda_

    return lambda_(node, context)


def _comprehension(node: nodes.Comprehension, context: Context) -> Run:
    from gradcli.lang.interpreter.compile_functions import comprehension

    return comprehension(node, context)


_EXPRESSIONS: Mapping[type, Compile] = {
    nodes.Constant: compile_displays.constant,
    nodes.Name: compile_names.load,
    nodes.JoinedStr: compile_displays.joined,
    nodes.ListExpr: compile_displays.list_display,
    nodes.TupleExpr: compile_displays.tuple_display,
    nodes.SetExpr: compile_displays.set_display,
    nodes.DictExpr: compile_displays.dict_display,
    nodes.Slice: compile_calls.slice_,
    nodes.Subscript: compile_calls.subscript,
    nodes.Attribute: compile_calls.attribute,
    nodes.Call: compile_calls.call,
    nodes.Unary: compile_operators.unary,
    nodes.Binary: compile_operators.binary,
    nodes.Compare: compile_operators.compare,
    nodes.BoolOp: compile_operators.bool_op,
    nodes.Conditional: compile_operators.conditional,
    nodes.NamedExpr: compile_displays.named,
    nodes.Lambda: _lambda,
    nodes.Comprehension: _comprehension,
    nodes.Yield: compile_names.load_sent,
}
_ONE_EXPRESSION = Tables(_EXPRESSIONS, {})


@cache
def _program() -> Tables:
    """The tables for programs. One-off expressions do without the modules that compile statements."""
    from gradcli.lang.interpreter.statement_table import STATEMENTS

    return Tables(_EXPRESSIONS, STATEMENTS)


#: how many compiled programs and expressions are kept for another run
_KEPT = 256

_cache: dict[Any, Any] = {}


def _remember(key: Any, made: Any) -> Any:
    if len(_cache) >= _KEPT:
        del _cache[next(iter(_cache))]
    _cache[key] = made
    return made


def compile_expression(node: nodes.Expr, one_off: bool) -> Run:
    """The closure of an expression; its frame is the dict of global variables."""
    key = (node, one_off, counting())
    known: Run | None = _cache.get(key)
    if known is not None:
        return known
    context = Context(_ONE_EXPRESSION, analyse(node, (node,)), one_off, counting())
    made: Run = _remember(key, context.expression(node))
    return made


def compile_program(program: nodes.Program, one_off: bool) -> tuple[tuple[nodes.Stmt, Run], ...]:
    """Each statement with its closure; the closure of an expression statement gives the expression's value."""
    key = (program, one_off, counting())
    known: tuple[tuple[nodes.Stmt, Run], ...] | None = _cache.get(key)
    if known is not None:
        return known
    context = Context(_program(), analyse(program, program.body), one_off, counting())
    pairs: list[tuple[nodes.Stmt, Run]] = []
    for statement in program.body:
        if isinstance(statement, nodes.ExprStmt):
            pairs.append((statement, context.expression(statement.value)))
        else:
            pairs.append((statement, context.statement(statement)))
    made: tuple[tuple[nodes.Stmt, Run], ...] = _remember(key, tuple(pairs))
    return made
