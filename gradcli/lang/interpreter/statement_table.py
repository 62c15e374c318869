"""The function that compiles each type of statement."""

from __future__ import annotations

from collections.abc import Mapping

from gradcli.lang.interpreter import compile_exceptions, compile_functions, compile_statements, compile_targets
from gradcli.lang.interpreter.compile_context import Compile, Context, Run
from gradcli.lang.syntax import nodes


def _class_def(node: nodes.ClassDef, context: Context) -> Run:
    """`class`; what makes classes is loaded by the first one."""
    from gradcli.lang.interpreter import compile_classes

    return compile_classes.class_def(node, context)


def _match(node: nodes.Match, context: Context) -> Run:
    """`match`; what compiles patterns is loaded by the first one."""
    from gradcli.lang.interpreter import compile_patterns

    return compile_patterns.match_(node, context)


STATEMENTS: Mapping[type, Compile] = {
    nodes.ExprStmt: compile_statements.expression_statement,
    nodes.Assign: compile_statements.assign,
    nodes.AugAssign: compile_targets.augmented,
    nodes.For: compile_statements.for_,
    nodes.While: compile_statements.while_,
    nodes.If: compile_statements.if_,
    nodes.Match: _match,
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
}
