"""`def`, `lambda` and comprehensions: each has a frame of its own, which is a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradcli import limits
from gradcli.core.tensor.state import state
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.compile_names import store
from gradcli.lang.interpreter.compile_operators import condition
from gradcli.lang.interpreter.compile_targets import assign_to
from gradcli.lang.interpreter.scope import Scope
from gradcli.lang.python import dicts_and_sets
from gradcli.lang.syntax.nodes import ClassDef, Comprehension, Constant, ExprStmt, ForClause, FunctionDef, Lambda, Parameter, Return, Stmt
from gradcli.lang.values import calls, subscripts
from gradcli.lang.values.execution import tick
from gradcli.lang.values.object_operations import OPS, iterate
from gradcli.lang.values.user_functions import Code, UserFunction
from gradcli.lang.values.value_classes import UNBOUND, IteratorValue


def function_def(node: FunctionDef, context: Context) -> Run:
    """`def`: makes the function, calls its decorators with it, and binds the name."""
    inner = context.inner(node)
    code = _code(node.name, node.parameters, inner)
    code.generates = bool(inner.scope.yields)
    code.doc = doc_of(node.body)
    code.annotations = {p.name: p.annotation for p in node.parameters if p.annotation} | ({"return": node.returns} if node.returns else {})
    code.run = _generator(node, inner, code) if code.generates else _body(node, inner)
    make = _maker(code, node, inner, context)
    decorators = [(context.expression(d), d) for d in node.decorators]
    put = store(node.name, context)

    def run(frame: Frame) -> None:
        wrappers = [(wrapper(frame), place) for wrapper, place in decorators]
        function: Any = make(frame)
        for wrapper, place in reversed(wrappers):
            function = calls.call(wrapper, (function,), place)
        put(frame, function)

    return run


def doc_of(body: Sequence[Stmt]) -> str | None:
    """The text that a body begins with: the `__doc__` of a function or a class."""
    first = body[0]
    text = first.value.value if isinstance(first, ExprStmt) and isinstance(first.value, Constant) else None
    return text if type(text) is str else None


def _generator(node: FunctionDef, inner: Context, code: Code) -> Run:
    """The body of a generator; what compiles it is loaded by the first `yield`."""
    from gradcli.lang.interpreter import compile_generators

    return compile_generators.generator(node, inner, code)


def lambda_(node: Lambda, context: Context) -> Run:
    """`lambda`: a function whose code is one expression."""
    inner = context.inner(node)
    code = _code("<lambda>", node.parameters, inner)
    code.run = inner.expression(node.body)
    return _maker(code, node, inner, context)


#: kinds of parameters that take positional arguments
_POSITIONAL = ("positional", "plain")


def _code(name: str, parameters: tuple[Parameter, ...], inner: Context) -> Code:
    scope = inner.scope
    stars = {p.kind: p.name for p in parameters if p.name and p.kind in ("*", "**")}
    code = Code(
        name,
        tuple([p.name for p in parameters if p.kind in _POSITIONAL]),
        tuple([p.name for p in parameters if p.kind == "keyword"]),
        stars.get("*"),
        stars.get("**"),
        sum(p.kind == "positional" for p in parameters),
    )
    code.qualified = qualified_name(name, scope)
    code.locals = len(scope.slots) - len(scope.parameters) - len(scope.frees)
    code.cell_slots = tuple(_cell_slots(inner))
    code.counting = inner.counting
    return code


def qualified_name(name: str, scope: Scope) -> str:
    """The name, after the names of the classes, functions and comprehensions around it."""
    last = whole = name
    around = scope.parent
    while around is not None and not around.is_module and last not in around.globals:
        node = around.node
        if isinstance(node, FunctionDef | ClassDef):
            last = node.name
        else:
            last = "<lambda>" if isinstance(node, Lambda) else _COMPREHENSIONS[node.kind]  # type: ignore[attr-defined]
        whole = f"{last}{'.' if isinstance(node, ClassDef) else '.<locals>.'}{whole}"
        around = around.parent
    return whole


_COMPREHENSIONS = {"list": "<listcomp>", "set": "<setcomp>", "dict": "<dictcomp>", "generator": "<genexpr>"}


def _cell_slots(inner: Context) -> list[int]:
    """Slots of the scope's own variables that live in cells."""
    scope = inner.scope
    return sorted(scope.slots[name] for name in scope.cells if name not in scope.frees)


def _maker(code: Code, node: FunctionDef | Lambda, inner: Context, context: Context) -> Run:
    """A closure that makes the function: it evaluates the defaults and takes the cells that the function shares."""
    plain = [context.expression(p.default) for p in node.parameters if p.kind in _POSITIONAL and p.default is not None]
    named = [(p.name, context.expression(p.default)) for p in node.parameters if p.kind == "keyword" and p.default is not None]
    shared = _shared(inner, context)
    is_module = context.scope.is_module

    def run(frame: Frame) -> UserFunction:
        return UserFunction(
            code,
            frame if is_module else frame[0],
            tuple([default(frame) for default in plain]),
            {name: default(frame) for name, default in named},
            tuple([frame[slot] for slot in shared]),
        )

    return run


def _shared(inner: Context, context: Context) -> list[int]:
    """The slots of the outer frame whose cells the inner function shares."""
    return [context.scope.shared(name) for name in inner.scope.frees]


def _body(node: FunctionDef, inner: Context) -> Run:
    """The code of a `def`: a closure that runs the statements until one returns."""
    statements = node.body
    if len(statements) == 1 and isinstance(statements[0], Return) and statements[0].value is not None:
        return inner.expression(statements[0].value)
    last = statements[-1]
    result: Run | None = None
    if isinstance(last, Return) and last.value is not None:
        result = inner.expression(last.value)
        statements = statements[:-1]
    runs = tuple(inner.block(statements))

    def run(frame: Frame) -> Any:
        for statement in runs:
            signal = statement(frame)
            if signal is not None:
                return signal[0]
        return None if result is None else result(frame)

    return run


# --- comprehensions -------------------------------------------------------------------------------

Walk = Callable[[Frame, Any], Iterator[None]]


def comprehension(node: Comprehension, context: Context) -> Run:
    """A comprehension or generator expression. The first iterable is evaluated in the outer frame."""
    inner = context.inner(node)
    make_frame = enter(inner, context)
    first_node = node.clauses[0].iterable
    first = context.expression(first_node)
    walk = _walk(node.clauses, inner)
    finish = _FINISH[node.kind](node, inner)
    lazy = node.kind == "generator"

    def run(frame: Frame) -> Any:
        iterable = first(frame)
        state.origin = first_node
        source = iterate(iterable)
        own = make_frame(frame)
        made = finish(own, walk(own, source))
        return IteratorValue("generator", made, (iterable,)) if lazy else made

    return run


def enter(inner: Context, context: Context) -> Run:
    """A closure that makes the frame of a comprehension or of the body of a class from the outer frame."""
    shared = _shared(inner, context)
    own = [UNBOUND] * (inner.scope.size - 1 - len(shared))
    cell_slots = _cell_slots(inner)
    is_module = context.scope.is_module

    def run(frame: Frame) -> Frame:
        made = [frame if is_module else frame[0], *own, *[frame[slot] for slot in shared]]
        for slot in cell_slots:
            made[slot] = [UNBOUND]
        return made

    return run


def _walk(clauses: tuple[ForClause, ...], inner: Context) -> Walk:
    """A generator function that runs the clauses and yields whenever the element is to be evaluated."""
    clause, *others = clauses
    put = assign_to(clause.target, inner)
    tests = [condition(c, inner) for c in clause.conditions]
    counting = inner.counting
    if not others:

        def run_last(frame: Frame, source: Any) -> Iterator[None]:
            for value in source:
                if counting:
                    tick()
                put(frame, value)
                for test in tests:
                    if not test(frame):
                        break
                else:
                    yield

        return run_last
    next_node = others[0].iterable
    next_iterable = inner.expression(next_node)
    next_walk = _walk(tuple(others), inner)

    def run(frame: Frame, source: Any) -> Iterator[None]:
        for value in source:
            if counting:
                tick()
            put(frame, value)
            for test in tests:
                if not test(frame):
                    break
            else:
                iterable = next_iterable(frame)
                state.origin = next_node
                yield from next_walk(frame, iterate(iterable))

    return run


def _finish_list(node: Comprehension, inner: Context) -> Callable[[Frame, Iterator[None]], Any]:
    element = inner.expression(node.element)

    def finish(frame: Frame, walk: Iterator[None]) -> Any:
        if inner.counting:
            out: list[Any] = []
            for _ in walk:
                out.append(element(frame))
                limits.check_list(len(out))
            return out
        return [element(frame) for _ in walk]

    return finish


def _finish_set(node: Comprehension, inner: Context) -> Callable[[Frame, Iterator[None]], Any]:
    element = inner.expression(node.element)
    place = node.element

    def finish(frame: Frame, walk: Iterator[None]) -> Any:
        out: set[Any] = set()
        for _ in walk:
            value = element(frame)
            state.origin = place
            dicts_and_sets.add(OPS, out, value)
        return out

    return finish


def _finish_dict(node: Comprehension, inner: Context) -> Callable[[Frame, Iterator[None]], Any]:
    assert node.value is not None
    key_run = inner.expression(node.element)
    value_run = inner.expression(node.value)
    place = node.element

    def finish(frame: Frame, walk: Iterator[None]) -> Any:
        out: dict[Any, Any] = {}
        for _ in walk:
            key = key_run(frame)
            value = value_run(frame)
            state.origin = place
            subscripts.put(out, key, value)
            limits.check_list(len(out))
        return out

    return finish


def _finish_generator(node: Comprehension, inner: Context) -> Callable[[Frame, Iterator[None]], Any]:
    element = inner.expression(node.element)

    def finish(frame: Frame, walk: Iterator[None]) -> Any:
        return (element(frame) for _ in walk)

    return finish


_FINISH = {"list": _finish_list, "set": _finish_set, "dict": _finish_dict, "generator": _finish_generator}
