"""Compiling whole programs and expressions: the table of compile functions, and the cache of what was compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from gradcli.lang.interpreter import compile_calls, compile_context, compile_displays, compile_names, compile_operators
from gradcli.lang.interpreter.compile_context import Compile, Context, Frame, Run, Tables
from gradcli.lang.interpreter.scope import analyse
from gradcli.lang.syntax import nodes
from gradcli.lang.values.execution import counting, execution
from gradcli.limits import lasting


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


@cache
def _tables(mode: str, statements: bool) -> Tables:
    """The tables of one setting of `compile_context.plans`. One-off expressions do without the modules that compile statements."""
    found: Mapping[type, Compile] = {}
    if statements:
        from gradcli.lang.interpreter.statement_table import STATEMENTS

        found = STATEMENTS
    return Tables(_EXPRESSIONS, found, None if mode == "off" else partial(_again, mode, statements))


@cache
def _again(mode: str, statements: bool) -> Tables:
    """The tables for what may be evaluated more than once."""
    from gradcli.lang.interpreter.plans.compile_loops import repeated_loop
    from gradcli.lang.interpreter.plans.compile_repeated import repeated, repeated_block

    once = _tables(mode, statements)
    more: dict[type, Compile] = {kind: repeated(_EXPRESSIONS[kind]) for kind in (nodes.Binary, nodes.Call, nodes.Unary)}
    return Tables({**_EXPRESSIONS, **more}, once.statements, once=once, block=repeated_block, loop=repeated_loop)


@cache
def _shaped(mode: str, statements: bool) -> Tables:
    """The tables for what may have the shape of earlier expressions."""
    from gradcli.lang.interpreter.plans.compile_shaped import shaped

    once = _tables(mode, statements)
    more: dict[type, Compile] = {kind: shaped(_EXPRESSIONS[kind]) for kind in (nodes.Binary, nodes.Call, nodes.Unary)}
    return Tables({**_EXPRESSIONS, **more}, once.statements, once.again, once)


#: the fewest statements or expressions whose shapes are looked for
_MANY = 16

#: how many compiled programs and expressions are kept for another run
_KEPT = 256

#: what was compiled, and whether it was compiled to be evaluated again
_cache: dict[Any, tuple[Any, bool]] = {}


def _compiled(
    node: nodes.Expr | nodes.Program, one_off: bool, make: Callable[[Tables], Any], walk: bool = False, again: bool = False
) -> Any:
    """What `make` has made with the tables; what is asked for again is made once more, with those for what is evaluated `again`."""
    mode = compile_context.plans
    key = (node, one_off, counting(), mode, walk)
    known = _cache.get(key)
    if known is not None and known[1]:
        return known[0]
    again = again or known is not None
    if known is None and len(_cache) >= _KEPT:
        del _cache[next(iter(_cache))]
    made = lasting(lambda: make(_tables_for(node, mode, again)))
    _cache[key] = made, again
    return made


def _tables_for(node: nodes.Expr | nodes.Program, mode: str, again: bool) -> Tables:
    is_program = isinstance(node, nodes.Program)
    if again:
        return _tables(mode, is_program).again()
    many = len(_cache) > _MANY or (isinstance(node, nodes.Program) and len(node.body) > _MANY)
    if mode == "first" or (mode != "off" and many):
        return _shaped(mode, is_program)
    return _tables(mode, is_program)


def compile_expression(node: nodes.Expr, one_off: bool) -> Run:
    """The closure of an expression; its frame is the dict of global variables."""

    def make(tables: Tables) -> Run:
        return Context(tables, analyse(node, (node,)), one_off, counting()).expression(node)

    return _compiled(node, one_off, make)  # type: ignore[no-any-return]


def compile_walk(node: nodes.Expr, one_off: bool, again: bool) -> Run:
    """The closure that evaluates an expression, calls `execution.walk`, which walks back from the value, and gives the value.

    `again`: it is made to be called again and again, while nothing changes but values of names, and arrays and gradients of leaves; the
    values that it gives may have no graph.
    """

    def make(tables: Tables) -> Run:
        context = Context(tables, analyse(node, (node,)), one_off, counting())
        evaluate = context.expression(node)

        def ordinary(frame: Frame) -> Any:
            value = evaluate(frame)
            execution.walk(value)  # type: ignore[misc]
            return value

        if tables.block is None:
            return ordinary
        from gradcli.lang.interpreter.plans.compile_repeated import repeated_walk

        return repeated_walk(node, lambda value: execution.walk(value), ordinary, context, again)  # type: ignore[misc]

    return _compiled(node, one_off, make, walk=True, again=again)  # type: ignore[no-any-return]


def compile_program(program: nodes.Program, one_off: bool) -> tuple[tuple[nodes.Stmt, Run], ...]:
    """Each statement with its closure; the closure of an expression statement gives the expression's value."""

    def make(tables: Tables) -> tuple[tuple[nodes.Stmt, Run], ...]:
        context = Context(tables, analyse(program, program.body), one_off, counting())
        pairs: list[tuple[nodes.Stmt, Run]] = []
        for statement in program.body:
            if isinstance(statement, nodes.ExprStmt):
                pairs.append((statement, context.expression(statement.value)))
            else:
                pairs.append((statement, context.statement(statement)))
        return tuple(pairs)

    return _compiled(program, one_off, make)  # type: ignore[no-any-return]
