"""Compiling whole programs and expressions: the table of compile functions, and the cache of what was compiled."""

from __future__ import annotations

from typing import Any

from gradcli.lang.interpreter import (
    compile_calls,
    compile_displays,
    compile_exceptions,
    compile_functions,
    compile_names,
    compile_operators,
    compile_statements,
    compile_targets,
)
from gradcli.lang.interpreter.compile_context import Context, Run, Tables
from gradcli.lang.interpreter.scope import analyse
from gradcli.lang.syntax import nodes
from gradcli.lang.values.execution import counting


def _class_def(node: nodes.ClassDef, context: Context) -> Run:
    """`class`; what makes classes is loaded by the first one."""
    from gradcli.lang.interpreter import compile_classes

    return compile_classes.class_def(node, context)


TABLES = Tables(
    {
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
        nodes.Lambda: compile_functions.lambda_,
        nodes.Comprehension: compile_functions.comprehension,
    },
    {
        nodes.ExprStmt: compile_statements.expression_statement,
        nodes.Assign: compile_statements.assign,
        nodes.AugAssign: compile_targets.augmented,
        nodes.For: compile_statements.for_,
        nodes.While: compile_statements.while_,
        nodes.If: compile_statements.if_,
        nodes.With: compile_exceptions.with_,
        nodes.FunctionDef: compile_functions.function_def,
        nodes.ClassDef: _class_def,
        nodes.Try: compile_exceptions.try_,
        nodes.Raise: compile_exceptions.raise_,
        nodes.Assert: compile_statements.assert_,
        nodes.Delete: compile_statements.delete,
        nodes.Return: compile_statements.return_,
        nodes.Pass: compile_statements.pass_,
        nodes.Declaration: compile_statements.pass_,
        nodes.Break: compile_statements.break_,
        nodes.Continue: compile_statements.continue_,
        nodes.Global: compile_statements.pass_,
        nodes.Nonlocal: compile_statements.pass_,
        nodes.Import: compile_statements.import_,
        nodes.ImportFrom: compile_statements.import_from,
    },
)

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
    context = Context(TABLES, analyse(node, (node,)), one_off, counting())
    made: Run = _remember(key, context.expression(node))
    return made


def compile_program(program: nodes.Program, one_off: bool) -> tuple[tuple[nodes.Stmt, Run], ...]:
    """Each statement with its closure; the closure of an expression statement gives the expression's value."""
    key = (program, one_off, counting())
    known: tuple[tuple[nodes.Stmt, Run], ...] | None = _cache.get(key)
    if known is not None:
        return known
    context = Context(TABLES, analyse(program, program.body), one_off, counting())
    pairs: list[tuple[nodes.Stmt, Run]] = []
    for statement in program.body:
        if isinstance(statement, nodes.ExprStmt):
            pairs.append((statement, context.expression(statement.value)))
        else:
            pairs.append((statement, context.statement(statement)))
    made: tuple[tuple[nodes.Stmt, Run], ...] = _remember(key, tuple(pairs))
    return made
