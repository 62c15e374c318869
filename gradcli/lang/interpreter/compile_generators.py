"""The bodies of generators: functions with `yield`.

A statement with a `yield` is compiled to a generator function of Python, which yields the values and returns the statement's signal.
All other statements stay plain closures. A simple statement yields first: what is sent goes into hidden locals, which its
expressions then read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from gradcli.core.tensor.state import state
from gradcli.errors import LanguageError, LimitError, ProgramError
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.compile_exceptions import Handling, entered, note_context
from gradcli.lang.interpreter.compile_operators import condition
from gradcli.lang.interpreter.compile_statements import BREAK, CONTINUE
from gradcli.lang.interpreter.compile_targets import assign_to
from gradcli.lang.syntax import nodes
from gradcli.lang.values import generators
from gradcli.lang.values.execution import execution, locate, tick
from gradcli.lang.values.managers import Leave, value_of
from gradcli.lang.values.object_operations import iterate
from gradcli.lang.values.user_functions import Code
from gradcli.lang.values.value_classes import IteratorValue

#: a closure of a statement that yields; it returns the signal
Steps = Callable[[Frame], Generator[Any, Any, Any]]
Compiled = tuple[Run, None] | tuple[None, Steps]


def generator(node: nodes.FunctionDef, context: Context, code: Code) -> Run:
    """The code of a generator: calling it makes the iterator, and runs nothing yet."""
    steps = _block(node.body, context)

    def body(frame: Frame) -> Generator[Any, Any, Any]:
        signal = yield from steps(frame)
        return None if signal is None else signal[0]

    def run(frame: Frame) -> IteratorValue:
        return IteratorValue("generator", generators.running(body(frame), code.counting), (), code.qualified)

    return run


def _yields(node: nodes.Node) -> Iterator[nodes.Yield]:
    """The `yield` expressions inside a node, not in functions inside it, in the order in which they yield."""
    stack: list[tuple[nodes.Node, bool]] = [(node, False)]
    while stack:
        one, visited = stack.pop()
        if visited:
            assert isinstance(one, nodes.Yield)
            yield one
            continue
        if isinstance(one, nodes.FunctionDef | nodes.ClassDef | nodes.Lambda | nodes.Comprehension) and one is not node:
            continue
        if isinstance(one, nodes.Yield):
            stack.append((one, True))
        stack += [(child, False) for child in reversed(_in_order(one))]


def _in_order(node: nodes.Node) -> list[nodes.Node]:
    """The nodes inside, in the order in which they are evaluated."""
    if isinstance(node, nodes.Assign):
        return [node.value, *node.targets]
    return [node.value, node.target] if isinstance(node, nodes.AugAssign) else nodes.children(node)


def _has_yield(*parts: nodes.Node | None) -> bool:
    return any(part is not None and next(_yields(part), None) is not None for part in parts)


def _statement(node: nodes.Stmt, context: Context) -> Compiled:
    if not _has_yield(node):
        return context.statement(node), None
    compiler = _COMPOUND.get(type(node))
    return None, _simple(node, context) if compiler is None else compiler(node, context)


def _block(statements: tuple[nodes.Stmt, ...], context: Context) -> Steps:
    parts = [_statement(one, context) for one in statements]

    def run(frame: Frame) -> Generator[Any, Any, Any]:
        for plain, steps in parts:
            if plain is not None:
                signal = plain(frame)
            else:
                assert steps is not None
                signal = yield from steps(frame)
            if signal is not None:
                return signal
        return None

    return run


def _optional(statements: tuple[nodes.Stmt, ...], context: Context) -> Steps | None:
    return _block(statements, context) if statements else None


# --- simple statements ------------------------------------------------------------------------------


def _simple(node: nodes.Stmt, context: Context) -> Steps:
    """The yields of a statement one after the other, then the statement."""
    if not isinstance(node, nodes.ExprStmt | nodes.Assign | nodes.AugAssign | nodes.Return):
        raise _refused(next(_yields(node)))
    _check_places(node)
    yields = [_one(one, context) for one in _yields(node)]
    if isinstance(node, nodes.ExprStmt) and isinstance(node.value, nodes.Yield):
        return yields[-1] if len(yields) == 1 else _sequence(yields, lambda frame: None)
    return _sequence(yields, context.statement(node))


def _sequence(yields: list[Steps], rest: Run) -> Steps:
    def run(frame: Frame) -> Generator[Any, Any, Any]:
        for one in yields:
            yield from one(frame)
        return rest(frame)

    return run


def _one(node: nodes.Yield, context: Context) -> Steps:
    """One `yield`: the value goes out, and what is sent into the hidden local."""
    _, slot = context.scope.where(context.scope.yields[node])
    value: Run = (lambda frame: None) if node.value is None else context.expression(node.value)

    def run(frame: Frame) -> Generator[Any, Any, Any]:
        frame[slot] = yield value(frame)

    def run_from(frame: Frame) -> Generator[Any, Any, Any]:
        source = value(frame)
        state.origin = node
        steps: Any = source.host if type(source) is IteratorValue else iterate(source)
        frame[slot] = yield from steps

    return run_from if node.delegates else run


def _check_places(node: nodes.Stmt) -> None:
    """Raise LanguageError for a `yield` whose turn depends on a condition: it would yield in any case."""
    stack: list[nodes.Node] = nodes.children(node)
    while stack:
        one = stack.pop()
        if isinstance(one, nodes.Conditional | nodes.BoolOp) and _has_yield(one):
            raise _refused(next(_yields(one)))
        stack += nodes.children(one)


def _refused(node: nodes.Yield) -> LanguageError:
    text = "yield stands here as a statement, in what is assigned or returned, or among arguments; not in conditions and headers"
    return LanguageError(text, span=node.span)


# --- compound statements ----------------------------------------------------------------------------


def _plain_header(*parts: nodes.Node | None) -> None:
    for node in parts:
        if node is not None:
            for one in _yields(node):
                raise _refused(one)


def _if(node: nodes.If, context: Context) -> Steps:
    _plain_header(*[test for test, _ in node.branches])
    branches = [(condition(test, context), _block(body, context)) for test, body in node.branches]
    orelse = _optional(node.orelse, context)

    def run(frame: Frame) -> Generator[Any, Any, Any]:
        for test, body in branches:
            if test(frame):
                return (yield from body(frame))
        return None if orelse is None else (yield from orelse(frame))

    return run


def _match(node: nodes.Match, context: Context) -> Steps:
    from gradcli.lang.interpreter.compile_patterns import case_test

    _plain_header(node.subject, *[case.guard for case in node.cases])
    subject = context.expression(node.subject)
    cases = [(case_test(case, context), _block(case.body, context)) for case in node.cases]

    def run(frame: Frame) -> Generator[Any, Any, Any]:
        value = subject(frame)
        for test, body in cases:
            if test(frame, value, []):
                return (yield from body(frame))
        return None

    return run


def _while(node: nodes.While, context: Context) -> Steps:
    _plain_header(node.test)
    test, body, orelse = condition(node.test, context), _block(node.body, context), _optional(node.orelse, context)
    counting = context.counting

    def run(frame: Frame) -> Generator[Any, Any, Any]:
        while test(frame):
            if counting:
                state.origin = node
                tick()
            signal = yield from body(frame)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal
        return None if orelse is None else (yield from orelse(frame))

    return run


def _for(node: nodes.For, context: Context) -> Steps:
    _plain_header(node.iterable, node.target)
    iterable, body, orelse = context.expression(node.iterable), _block(node.body, context), _optional(node.orelse, context)
    put, place, counting = assign_to(node.target, context), node.iterable, context.counting

    def run(frame: Frame) -> Generator[Any, Any, Any]:
        values = iterable(frame)
        state.origin = place
        for value in iterate(values):
            if counting:
                state.origin = node
                tick()
            put(frame, value)
            signal = yield from body(frame)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal
        return None if orelse is None else (yield from orelse(frame))

    return run


def _with(node: nodes.With, context: Context) -> Steps:
    _plain_header(*[part for item in node.items for part in item])
    steps = _block(node.body, context)
    for place, target in reversed(node.items):
        steps = _with_one(entered(place, target, context), steps)
    return steps


def _with_one(enter: Callable[[Frame], Leave], body: Steps) -> Steps:
    def run(frame: Frame) -> Generator[Any, Any, Any]:
        leave = enter(frame)
        try:
            signal = yield from body(frame)
        except ProgramError as error:
            locate(error)
            if leave(error):
                return None
            raise
        leave(None)
        return signal

    return run


def _try(node: nodes.Try, context: Context) -> Steps:
    guarded = _with_handlers(node, context) if node.handlers else _block(node.body, context)
    if not node.finalbody:
        return guarded
    final = _block(node.finalbody, context)

    def run(frame: Frame) -> Generator[Any, Any, Any]:
        try:
            signal = yield from guarded(frame)
        except LimitError:
            raise
        except ProgramError as error:
            locate(error)
            leaving = yield from final(frame)
            if leaving is not None:
                return leaving
            raise
        leaving = yield from final(frame)
        return signal if leaving is None else leaving

    return run


def _with_handlers(node: nodes.Try, context: Context) -> Steps:
    body, orelse = _block(node.body, context), _optional(node.orelse, context)
    handlers = [Handling(handler, context, _block(handler.body, context)) for handler in node.handlers]
    _plain_header(*[handler.type for handler in node.handlers])

    def run(frame: Frame) -> Generator[Any, Any, Any]:
        try:
            signal = yield from body(frame)
        except ProgramError as error:
            locate(error)
            error.__traceback__ = error.__context__ = None
            caught = error
            note_context(caught)
        else:
            if signal is None and orelse is not None:
                return (yield from orelse(frame))
            return signal
        for handler in handlers:
            if handler.catches(frame, caught):
                return (yield from _handle(handler, frame, caught))
        raise caught

    return run


def _handle(handler: Handling, frame: Frame, error: ProgramError) -> Generator[Any, Any, Any]:
    """The clause that caught the error. While it yields, the error is not the one that a bare `raise` outside raises."""
    if handler.put is not None:
        handler.put(frame, value_of(error))
    steps = handler.body(frame)
    sent: Any = None
    thrown: ProgramError | None = None
    try:
        while True:
            execution.handling.append(error)
            try:
                value = steps.send(sent) if thrown is None else steps.throw(thrown)
            except StopIteration as stop:
                return stop.value
            except ProgramError as raised:
                note_context(raised)
                raise
            finally:
                execution.handling.pop()
            thrown = None
            try:
                sent = yield value
            except ProgramError as raised:
                thrown = raised
    finally:
        if handler.unbind is not None:
            handler.unbind(frame)


_COMPOUND: dict[type, Callable[[Any, Context], Steps]] = {
    nodes.If: _if,
    nodes.Match: _match,
    nodes.While: _while,
    nodes.For: _for,
    nodes.With: _with,
    nodes.Try: _try,
}
