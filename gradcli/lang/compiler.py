"""Compiling whole programs: the tables of compile functions, and the entry points."""

from __future__ import annotations

from typing import Any

from gradcli.lang import (
    compile_calls,
    compile_displays,
    compile_errors,
    compile_functions,
    compile_names,
    compile_operators,
    compile_statements,
    compile_targets,
    syntax,
)
from gradcli.lang.compiling import Context, Run, Tables
from gradcli.lang.runtime import counting
from gradcli.lang.scope import analyse

TABLES = Tables(
    {
        syntax.Constant: compile_displays.constant,
        syntax.Name: compile_names.load,
        syntax.JoinedStr: compile_displays.joined,
        syntax.ListExpr: compile_displays.list_display,
        syntax.TupleExpr: compile_displays.tuple_display,
        syntax.SetExpr: compile_displays.set_display,
        syntax.DictExpr: compile_displays.dict_display,
        syntax.Slice: compile_calls.slice_,
        syntax.Subscript: compile_calls.subscript,
        syntax.Attribute: compile_calls.attribute,
        syntax.Call: compile_calls.call,
        syntax.Unary: compile_operators.unary,
        syntax.Binary: compile_operators.binary,
        syntax.Compare: compile_operators.compare,
        syntax.BoolOp: compile_operators.bool_op,
        syntax.Conditional: compile_operators.conditional,
        syntax.NamedExpr: compile_displays.named,
        syntax.Lambda: compile_functions.lambda_,
        syntax.Comprehension: compile_functions.comprehension,
    },
    {
        syntax.ExprStmt: compile_statements.expression_statement,
        syntax.Assign: compile_statements.assign,
        syntax.AugAssign: compile_targets.augmented,
        syntax.For: compile_statements.for_,
        syntax.While: compile_statements.while_,
        syntax.If: compile_statements.if_,
        syntax.With: compile_errors.with_,
        syntax.FunctionDef: compile_functions.function_def,
        syntax.Try: compile_errors.try_,
        syntax.Raise: compile_errors.raise_,
        syntax.Assert: compile_statements.assert_,
        syntax.Delete: compile_statements.delete,
        syntax.Return: compile_statements.return_,
        syntax.Pass: compile_statements.pass_,
        syntax.Break: compile_statements.break_,
        syntax.Continue: compile_statements.continue_,
        syntax.Global: compile_statements.pass_,
        syntax.Nonlocal: compile_statements.pass_,
        syntax.Import: compile_statements.import_,
        syntax.ImportFrom: compile_statements.import_from,
    },
)

#: compiled nodes kept for another run
_KEPT = 256

_cache: dict[Any, Any] = {}


def _remember(key: Any, made: Any) -> Any:
    if len(_cache) >= _KEPT:
        del _cache[next(iter(_cache))]
    _cache[key] = made
    return made


def compile_expression(node: syntax.Expr, one_off: bool) -> Run:
    """The closure of an expression; it runs on the dict of globals."""
    key = (node, one_off, counting())
    known: Run | None = _cache.get(key)
    if known is not None:
        return known
    context = Context(TABLES, analyse(node, (node,)), one_off, counting())
    made: Run = _remember(key, context.expression(node))
    return made


def compile_program(program: syntax.Program, one_off: bool) -> tuple[tuple[syntax.Stmt, Run], ...]:
    """Each statement with its closure; that of an expression statement gives the value."""
    key = (program, one_off, counting())
    known: tuple[tuple[syntax.Stmt, Run], ...] | None = _cache.get(key)
    if known is not None:
        return known
    context = Context(TABLES, analyse(program, program.body), one_off, counting())
    pairs: list[tuple[syntax.Stmt, Run]] = []
    for statement in program.body:
        if isinstance(statement, syntax.ExprStmt):
            pairs.append((statement, context.expression(statement.value)))
        else:
            pairs.append((statement, context.statement(statement)))
    made: tuple[tuple[syntax.Stmt, Run], ...] = _remember(key, tuple(pairs))
    return made
