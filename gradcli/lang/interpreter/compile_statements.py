"""Simple statements, loops, branches and blocks.

The closure of a statement gives a signal: None, BREAK, CONTINUE, or a one-tuple with the value of `return`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.compile_names import direct_key, store
from gradcli.lang.interpreter.compile_operators import condition
from gradcli.lang.interpreter.compile_targets import assign_to, delete_target
from gradcli.lang.names import imports
from gradcli.lang.syntax import nodes
from gradcli.lang.values.execution import execution, tick
from gradcli.lang.values.object_operations import iterate
from gradcli.lang.values.types import make_error


class Signal:
    """The type of BREAK and CONTINUE."""

    __slots__ = ()


BREAK = Signal()
CONTINUE = Signal()


def block(statements: tuple[nodes.Stmt, ...], context: Context) -> Run:
    """Statements one after the other, until one gives a signal that is not None."""
    runs = tuple(context.block(statements))
    if len(runs) == 1:
        return runs[0]
    if len(runs) == 2:
        first, second = runs

        def run_two(frame: Frame) -> Any:
            signal = first(frame)
            if signal is not None:
                return signal
            return second(frame)

        return run_two

    def run(frame: Frame) -> Any:
        for statement in runs:
            signal = statement(frame)
            if signal is not None:
                return signal
        return None

    return run


def expression_statement(node: nodes.ExprStmt, context: Context) -> Run:
    """An expression as a statement; within a block of the prompt its value is displayed."""
    value = context.expression(node.value)

    def run(frame: Frame) -> None:
        value(frame)

    def run_shown(frame: Frame) -> None:
        result = value(frame)
        if result is not None and execution.display is not None:
            execution.display(node, result)

    return run_shown if context.one_off and context.scope.is_module else run


def assign(node: nodes.Assign, context: Context) -> Run:
    """`a = b = value`."""
    value = context.expression(node.value)
    if len(node.targets) == 1:
        target = node.targets[0]
        key = direct_key(target.id, context) if isinstance(target, nodes.Name) else None
        if key is not None:

            def run_name(frame: Frame) -> None:
                frame[key] = value(frame)

            return run_name
        put = assign_to(target, context)

        def run_one(frame: Frame) -> None:
            put(frame, value(frame))

        return run_one
    puts = [assign_to(target, context) for target in node.targets]

    def run(frame: Frame) -> None:
        result = value(frame)
        for put in puts:
            put(frame, result)

    return run


def for_(node: nodes.For, context: Context) -> Run:
    """`for`: the iterable's items one by one."""
    again = context.again()
    repeated = again.tables.loop(node, again)
    if repeated is not None:
        return repeated
    iterable = context.expression(node.iterable)
    body = block(node.body, again)
    orelse = block(node.orelse, context) if node.orelse else None
    key = direct_key(node.target.id, context) if isinstance(node.target, nodes.Name) else None
    place = node.iterable
    counting = context.counting
    if key is None or counting:
        loop = iterating(node, context, orelse)
        return lambda frame: loop(frame, iterable(frame), body)

    def run(frame: Frame) -> Any:
        values = iterable(frame)
        state.origin = place
        for value in iterate(values):
            frame[key] = value
            signal = body(frame)
            if signal is not None:
                if signal is BREAK:
                    return None
                if signal is not CONTINUE:
                    return signal
        return orelse(frame) if orelse is not None else None

    return run


def iterating(node: nodes.For, context: Context, orelse: Run | None = None) -> Callable[[Frame, Any, Run], Any]:
    """What runs a body for each value of an iterable, which the target of the `for` gets."""
    put = assign_to(node.target, context)
    place = node.iterable
    counting = context.counting

    def run(frame: Frame, values: Any, body: Run) -> Any:
        state.origin = place
        for value in iterate(values):
            if counting:
                state.origin = node
                tick()
            put(frame, value)
            signal = body(frame)
            if signal is not None:
                if signal is BREAK:
                    return None
                if signal is not CONTINUE:
                    return signal
        return orelse(frame) if orelse is not None else None

    return run


def while_(node: nodes.While, context: Context) -> Run:
    """`while`."""
    again = context.again()
    test = condition(node.test, again)
    body = block(node.body, again)
    orelse = block(node.orelse, context) if node.orelse else None
    counting = context.counting

    def run(frame: Frame) -> Any:
        while test(frame):
            if counting:
                state.origin = node
                tick()
            signal = body(frame)
            if signal is not None:
                if signal is BREAK:
                    return None
                if signal is not CONTINUE:
                    return signal
        return orelse(frame) if orelse is not None else None

    return run


def if_(node: nodes.If, context: Context) -> Run:
    """`if`, with any number of `elif`."""
    branches = [(condition(test, context), block(body, context)) for test, body in node.branches]
    orelse = block(node.orelse, context) if node.orelse else None
    if len(branches) == 1:
        test, body = branches[0]

        def run_one(frame: Frame) -> Any:
            if test(frame):
                return body(frame)
            return orelse(frame) if orelse is not None else None

        return run_one

    def run(frame: Frame) -> Any:
        for test, body in branches:
            if test(frame):
                return body(frame)
        return orelse(frame) if orelse is not None else None

    return run


def return_(node: nodes.Return, context: Context) -> Run:
    """`return`: the signal is a tuple that holds the value."""
    if node.value is None:
        return lambda frame: (None,)
    value = context.expression(node.value)
    return lambda frame: (value(frame),)


def assert_(node: nodes.Assert, context: Context) -> Run:
    """`assert test, message`."""
    test = condition(node.test, context)
    message = None if node.message is None else context.expression(node.message)

    def run(frame: Frame) -> None:
        if test(frame):
            return
        if message is None:
            state.origin = node
            raise ProgramError("AssertionError", "", args=())
        value = message(frame)
        state.origin = node
        raise make_error("AssertionError", (value,))

    return run


def delete(node: nodes.Delete, context: Context) -> Run:
    """`del`."""
    parts = [delete_target(target, context) for target in node.targets]

    def run(frame: Frame) -> None:
        for part in parts:
            part(frame)

    return run


def pass_(node: nodes.Pass | nodes.Global | nodes.Nonlocal, context: Context) -> Run:
    """Statements that do nothing when the program runs."""
    return lambda frame: None


def break_(node: nodes.Break, context: Context) -> Run:
    """`break`."""
    return lambda frame: BREAK


def continue_(node: nodes.Continue, context: Context) -> Run:
    """`continue`."""
    return lambda frame: CONTINUE


def import_(node: nodes.Import, context: Context) -> Run:
    """`import a.b as c`: binds a built-in module."""
    puts = [(dotted, alias, store(alias or dotted.partition(".")[0], context)) for dotted, alias in node.names]

    def run(frame: Frame) -> None:
        state.origin = node
        for dotted, alias, put in puts:
            put(frame, imports.module(dotted, whole=alias is not None))

    return run


def import_from(node: nodes.ImportFrom, context: Context) -> Run:
    """`from a import b as c`, and `from a import *`."""
    if not node.names:

        def run_star(frame: Frame) -> None:
            state.origin = node
            imports.star(node.module, frame)

        return run_star
    puts = [(name, store(alias or name, context)) for name, alias in node.names]

    def run(frame: Frame) -> None:
        state.origin = node
        for name, put in puts:
            put(frame, imports.member(node.module, name))

    return run
