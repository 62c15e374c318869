"""What may be evaluated again: expressions and assignments that can have a plan are watched from their second evaluation on.

What a plan is, `gradcli/core/plans/plan.py` tells; `expressions.py` and `updates.py`, which are loaded by the first second evaluation,
make and run them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.compile_calls import method
from gradcli.lang.interpreter.compile_context import Compile, Context, Frame, Part, Repeated, Run
from gradcli.lang.interpreter.compile_names import direct_key
from gradcli.lang.interpreter.plans.plannable import Leaves, Updates, leaves_of, names_of_test, updates_of
from gradcli.lang.syntax.nodes import Assign, Attribute, AugAssign, Call, Expr, ExprStmt, If, Name, Stmt

#: at most so many assignments have one plan
_MOST = 16
#: statements of an `if` between a loss and its backward pass
_SHORT = (ExprStmt, Assign, AugAssign)


def repeated(ordinary: Compile) -> Compile:
    """A compile function whose closures take a plan, where the expression can have one and is evaluated again."""

    def compiled(node: Any, context: Context) -> Run:
        leaves = leaves_of(node)
        if leaves is None:
            return ordinary(node, context)
        inner = context.once()
        run = ordinary(node, inner)

        def plan(frame: Frame) -> Run:
            from gradcli.lang.interpreter.plans.expressions import planned

            return planned(run, leaves, inner, frame) or ordinary(node, context)

        return _beginning(run, plan)

    return compiled


def repeated_walk(node: Expr, walk: Callable[[Any], object], ordinary: Run, context: Context, again: bool = False) -> Run:
    """The closure of an expression and of `walk`, which walks back from its value; it takes a plan. `ordinary` is without one.

    `again` as for `planned_walk`.
    """
    leaves = leaves_of(node, 0)
    if leaves is None:
        return ordinary
    inner = context.once()
    run = inner.expression(node)

    def plan(frame: Frame) -> Run:
        from gradcli.lang.interpreter.plans.expressions import planned_walk

        return planned_walk(ordinary, run, walk, leaves, inner, frame, again) or ordinary

    return _beginning(ordinary, plan)


def repeated_block(statements: tuple[Stmt, ...], context: Context, modules: bool = True) -> list[Run]:
    """The closures of statements; assignments each of whose results a later one uses have one closure, which takes a plan.

    So have assignments with the `.backward()` of the last result behind them, and with `.zero_grad()` in between. Without `modules`, the
    assignments call nothing that may be a module.
    """
    return [part.run for part in parts_of(statements, context, modules)]


def parts_of(statements: tuple[Stmt, ...], context: Context, modules: bool = True) -> list[Part]:
    """The parts of a block, as `repeated_block` has closures."""
    parts: list[Part] = []
    at = 0
    while at < len(statements):
        count, updates = updates_of(statements[at:])
        if len(updates.operands) + len(updates.others) > 1:
            parts.append(_updates(statements[at : at + count], updates, context))
            at += count
            continue
        count = _length(statements[at : at + _MOST], context, modules)
        together = statements[at : at + count]
        leaves = [_leaves(statement, context, modules) for statement in together]
        ending = () if None in leaves else _ending(statements[at:], leaves)  # type: ignore[arg-type]
        if (count > 1 and None not in leaves) or ending:
            parts.append(_assignments(together, ending, leaves, context))  # type: ignore[arg-type]
            at += len(ending)
        else:
            parts.append(_single(statements[at], context))
        at += count
    return parts


def _single(statement: Stmt, context: Context) -> Part:
    """A statement by itself. Without a plan may be repeated `NAME.step()`, `NAME.zero_grad()`, `NAME.append(NAME.item())`, and an `if` with
    a test of numbers.
    """
    run = _statement(statement, context)
    method_name = called(statement)[1]
    item = _appended_item(statement)
    if method_name in ("step", "zero_grad") or item:
        call: Call = statement.value  # type: ignore[attr-defined]
        name: Name = call.function.value  # type: ignore[attr-defined]
        load = context.expression(name)

        def begin_call(frame: Frame) -> Repeated:
            from gradcli.lang.interpreter.plans.loops import RepeatedCall

            return RepeatedCall(run, load(frame), method_name or "append")

        return Part(run, {name.id}, begin=begin_call, shown=item)
    if isinstance(statement, If) and len(statement.branches) == 1 and not statement.orelse:
        test = statement.branches[0][0]
        names = names_of_test(test)
        if names is not None:
            once = context.once()
            evaluate, loads = once.expression(test), once.expressions(tuple(names))

            def begin_test(frame: Frame) -> Repeated:
                from gradcli.lang.interpreter.plans.loops import RepeatedTest

                return RepeatedTest(evaluate, loads)

            return Part(run, {name.id for name in names}, begin=begin_test)
    return Part(run)


def _appended_item(statement: Stmt) -> str:
    """The last name in a statement `NAME.append(NAME.item())`; "" for any other statement."""
    call = statement.value if type(statement) is ExprStmt else None
    if type(call) is Call and type(call.function) is Attribute and call.function.name == "append" and len(call.args) == 1:
        item, method_name = _method_call(call.args[0])
        if type(call.function.value) is Name and not call.keywords and method_name == "item":
            return item
    return ""


def _statement(statement: Stmt, context: Context) -> Run:
    """The closure of a statement. That of `EXPRESSION.backward()` takes a plan of both."""
    run = context.statement(statement)
    call = statement.value if type(statement) is ExprStmt else None
    if type(call) is not Call or type(call.function) is not Attribute or call.function.name != "backward" or call.args or call.keywords:
        return run
    both = repeated_walk(call.function.value, method(call, call.function, lambda value: value, context), run, context)

    def statement_run(frame: Frame) -> None:
        both(frame)

    return statement_run


def _ending(statements: tuple[Stmt, ...], leaves: list[Leaves]) -> tuple[Stmt, ...]:
    """What follows assignments with these leaves up to `NAME.backward()` for the last name; nothing where anything else comes first.

    In between may stand an `if` whose test has nothing but numbers and other names, and some `.zero_grad()` where the assignments read no
    gradients: a plan that does not hold after it leaves all to the ordinary way.
    """
    at = count = len(leaves)
    targets = {one.targets[0].id for one in statements[:count]}  # type: ignore[attr-defined]
    reads = any(isinstance(name, Attribute) for one in leaves for name in one.names)
    if len(statements) > at and _is_short(statements[at], targets):
        at += 1
    owner, method_name = called(statements[at]) if len(statements) > at else ("", "")
    if method_name == "zero_grad" and owner not in targets and not reads:
        at += 1
    last = statements[count - 1].targets[0].id  # type: ignore[attr-defined]
    return statements[count : at + 1] if len(statements) > at and called(statements[at]) == (last, "backward") else ()


def _is_short(statement: Stmt, targets: set[str]) -> bool:
    """Whether a statement is an `if` of names and numbers, no targets among them, that goes on to the next statement."""
    if type(statement) is not If or len(statement.branches) > 1 or statement.orelse:
        return False
    test, body = statement.branches[0]
    names = names_of_test(test)
    return names is not None and targets.isdisjoint([name.id for name in names]) and all(type(one) in _SHORT for one in body)


def called(statement: Stmt) -> tuple[str, str]:
    """The names of a statement `owner.name()`; empty ones for any other statement."""
    return _method_call(statement.value) if type(statement) is ExprStmt else ("", "")


def _method_call(call: Expr) -> tuple[str, str]:
    """The names of `owner.name()`; empty ones for any other expression."""
    if type(call) is Call and type(call.function) is Attribute and not call.args and not call.keywords:
        owner = call.function.value
        if type(owner) is Name:
            return owner.id, call.function.name
    return "", ""


def _length(statements: tuple[Stmt, ...], context: Context, modules: bool) -> int:
    """How many of the first of some statements can have one plan."""
    made: list[str] = []
    #: for each assignment, the earlier ones whose results it uses
    uses: list[set[int]] = []
    for statement in statements:
        leaves = _leaves(statement, context, modules)
        if leaves is None or not _owners(leaves).isdisjoint(made):
            break
        last = {name: i for i, name in enumerate(made)}
        uses.append({last[name.id] for name in leaves.names if isinstance(name, Name) and name.id in last})
        made.append(statement.targets[0].id)  # type: ignore[attr-defined]
    for count in range(len(made), 1, -1):
        if set().union(*uses[:count]) == set(range(count - 1)):
            return count
    return 1


def _owners(leaves: Leaves) -> set[str]:
    """The names of modules, and of what attributes are read of."""
    read = [*leaves.modules, *[name for name in leaves.names if isinstance(name, Attribute)]]
    return {name.value.id if isinstance(name, Attribute) else name.id for name in read}  # type: ignore[attr-defined]


def _leaves(statement: Stmt, context: Context, modules: bool) -> Leaves | None:
    """The leaves of an assignment to a plain name; None where it can have no plan."""
    if type(statement) is not Assign or len(statement.targets) > 1 or statement.annotation is not None or context.scope.is_class:
        return None
    target = statement.targets[0]
    if not isinstance(target, Name) or direct_key(target.id, context) is None:
        return None
    return leaves_of(statement.value, 0, modules)


def _assignments(statements: tuple[Assign, ...], ending: tuple[Stmt, ...], leaves: list[Leaves], context: Context) -> Part:
    runs = [context.statement(statement) for statement in statements]
    ends = [context.statement(statement) for statement in ending]
    targets: list[str] = [statement.targets[0].id for statement in statements]  # type: ignore[attr-defined]

    def run(frame: Frame) -> None:
        for one in runs:
            one(frame)
        for one in ends:
            one(frame)

    def plan(frame: Frame) -> Run:
        from gradcli.lang.interpreter.plans.expressions import Ending, Parts, planned_block

        end = Ending(ends, ending, context) if ending else None
        parts = Parts(runs, leaves, targets, [direct_key(name, context) for name in targets], end)
        return planned_block(run, parts, context.once(), frame, part) or _one_by_one(statements, ending, context)

    part = Part(_beginning(run, plan), _read(leaves, targets, ending) if ending else None, {*targets})
    return part


def _read(leaves: list[Leaves], targets: list[str], ending: tuple[Stmt, ...]) -> set[str] | None:
    """The names that assignments with these targets and what follows them read from outside; None where they read gradients."""
    found: set[str] = set()
    for i, one in enumerate(leaves):
        if not all(isinstance(name, Name) for name in one.names):
            return None
        found |= {name.id for name in one.names if name.id not in targets[:i]} | _owners(one)  # type: ignore[attr-defined]
    for statement in ending[:-1]:
        if isinstance(statement, If):
            found |= {name.id for name in names_of_test(statement.branches[0][0]) or ()}
        else:
            found.add(called(statement)[0])
    return found


def _updates(statements: tuple[Stmt, ...], updates: Updates, context: Context) -> Part:
    """Statements that write in place, whose closure takes a plan."""
    runs = [context.statement(statement) for statement in statements]

    def run(frame: Frame) -> None:
        for one in runs:
            one(frame)

    def plan(frame: Frame) -> Run:
        from gradcli.lang.interpreter.plans.updates import planned_updates

        return planned_updates(run, updates, [context.statement(drop) for drop in updates.drops], context, part)

    names = [*updates.operands, *updates.others, *[drop.targets[0] for drop in updates.drops]]  # type: ignore[attr-defined]
    part = Part(_beginning(run, plan), {name.value.id if isinstance(name, Attribute) else name.id for name in names})  # type: ignore[attr-defined]
    return part


def _one_by_one(statements: tuple[Stmt, ...], ending: tuple[Stmt, ...], context: Context) -> Run:
    """The closure of assignments where what is called is no module."""
    runs = repeated_block((*statements, *ending), context, modules=False)

    def run(frame: Frame) -> None:
        for one in runs:
            one(frame)

    return run


def _beginning(run: Run, plan: Callable[[Frame], Run]) -> Run:
    """The ordinary way for the first evaluation, and `plan(frame)` from the second on."""
    current: Run = run

    def second(frame: Frame) -> Any:
        nonlocal current
        current = plan(frame)
        return current(frame)

    def first(frame: Frame) -> Any:
        nonlocal current
        current = second
        return run(frame)

    current = second if compile_context.plans == "first" else first
    return lambda frame: current(frame)
