"""Arithmetic, comparisons, `and`, `or` and `not`, with fast paths for plain numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from gradcli.core.tensor.state import state
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.syntax.nodes import Binary, BoolOp, Compare, Conditional, Constant, Expr, Node, Step, Unary
from gradcli.lang.values import operators
from gradcli.lang.values.special_methods import truth

#: results of integer arithmetic between -BIG and BIG need no check of their number of digits
BIG = 1 << 62

#: operators that cannot fail on two floats, nor on two integers whose result is not huge
PLAIN: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
#: operators that cannot fail on two floats or two integers if the right one is not zero
_DIVIDING: dict[str, Callable[[Any, Any], Any]] = {"%": operator.mod, "//": operator.floordiv, "/": operator.truediv}

#: a chain of more operators than this is run in a loop instead of by nested closures
_LOOP_FROM = 12


def binary(node: Binary, context: Context) -> Run:
    """A chain of arithmetic operators of one precedence level."""
    steps = [(step.op, context.expression(step.right), step, step.right) for step in node.steps()]
    run = context.expression(node.first)
    if len(steps) >= _LOOP_FROM:
        return _chain(run, steps)
    for op, right_run, step, right in steps:
        run = _step(op, run, right_run, step, right)
    return run


def _chain(first: Run, steps: list[tuple[str, Run, Step, Expr]]) -> Run:
    parts = [(operators.BINARY[op], right, step) for op, right, step, _ in steps]

    def run(frame: Frame) -> Any:
        value = first(frame)
        for function, right, step in parts:
            other = right(frame)
            state.origin = step
            value = function(value, other)
        return value

    return run


def _step(op: str, left: Run, right: Run, step: Step, right_node: Expr) -> Run:
    function = operators.BINARY[op]
    if isinstance(right_node, Constant) and type(right_node.value) in (int, float) and op in PLAIN:
        return _plain_constant(PLAIN[op], function, left, right_node.value, step)
    if op in PLAIN:
        return _plain(PLAIN[op], function, left, right, step)
    if op in _DIVIDING:
        return _dividing(_DIVIDING[op], function, left, right, step)

    def run(frame: Frame) -> Any:
        a = left(frame)
        b = right(frame)
        state.origin = step
        return function(a, b)

    return run


def _plain(short: Callable[[Any, Any], Any], function: Callable[[Any, Any], Any], left: Run, right: Run, step: Step) -> Run:
    def run(frame: Frame) -> Any:
        a = left(frame)
        b = right(frame)
        kind = type(a)
        if kind is float:
            if type(b) is float:
                return short(a, b)
        elif kind is int and type(b) is int:
            result = short(a, b)
            if -BIG < result < BIG:
                return result
        state.origin = step
        return function(a, b)

    return run


def _plain_constant(short: Callable[[Any, Any], Any], function: Callable[[Any, Any], Any], left: Run, b: Any, step: Step) -> Run:
    if type(b) is int and not -BIG < b < BIG:
        return _plain(short, function, left, lambda frame: b, step)
    as_float = float(b)
    whole = type(b) is int

    def run(frame: Frame) -> Any:
        a = left(frame)
        kind = type(a)
        if kind is float:
            return short(a, as_float)
        if whole and kind is int:
            result = short(a, b)
            if -BIG < result < BIG:
                return result
        state.origin = step
        return function(a, b)

    return run


def _dividing(short: Callable[[Any, Any], Any], function: Callable[[Any, Any], Any], left: Run, right: Run, step: Step) -> Run:
    def run(frame: Frame) -> Any:
        a = left(frame)
        b = right(frame)
        kind = type(a)
        if (kind is float or kind is int) and type(b) is kind and b and -BIG < a < BIG and -BIG < b < BIG:
            return short(a, b)
        state.origin = step
        return function(a, b)

    return run


def unary(node: Unary, context: Context) -> Run:
    """`-x`, `+x`, `~x`, `not x`."""
    operand = context.expression(node.operand)
    if node.op == "not":

        def run_not(frame: Frame) -> Any:
            value = operand(frame)
            if value is True:
                return False
            if value is False:
                return True
            state.origin = node
            return not truth(value)

        return run_not
    inner = node.operand
    if isinstance(inner, Constant) and type(inner.value) in (int, float) and node.op in "-+":
        value = -inner.value if node.op == "-" else +inner.value  # type: ignore[operator]
        return lambda frame: value
    function = operators.UNARY[node.op]

    def run(frame: Frame) -> Any:
        value = operand(frame)
        state.origin = node
        return function(value)

    return run


_ORDERING: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def compare(node: Compare, context: Context) -> Run:
    """`a < b < c`: each operand is evaluated at most once, and none after the first comparison that fails."""
    first = context.expression(node.first)
    rest = context.expressions(node.rest)
    if len(rest) == 1:
        return _compare_two(node.ops[0], first, rest[0], Step(node.source, node.start, node.end, node.first, node.ops[0], node.rest[0]))
    parts: list[tuple[Callable[[Any, Any], Any], Run, Step]] = []
    left: Node = node.first
    for op, right, run_right in zip(node.ops, node.rest, rest, strict=True):
        parts.append((operators.COMPARE[op], run_right, Step(node.source, left.start, right.end, left, op, right)))
        left = right
    last = len(parts) - 1

    def run(frame: Frame) -> Any:
        a = first(frame)
        for at, (function, right, step) in enumerate(parts):
            b = right(frame)
            state.origin = step
            result = function(a, b)
            if at == last or not (result is True or truth(result)):
                return result
            a = b

    return run


def _compare_two(op: str, left: Run, right: Run, step: Step) -> Run:
    if op in ("is", "is not"):
        if op == "is":
            return lambda frame: left(frame) is right(frame)
        return lambda frame: left(frame) is not right(frame)
    function = operators.COMPARE[op]
    if op not in _ORDERING:

        def run_in(frame: Frame) -> Any:
            a = left(frame)
            b = right(frame)
            state.origin = step
            return function(a, b)

        return run_in
    short = _ORDERING[op]

    def run(frame: Frame) -> Any:
        a = left(frame)
        b = right(frame)
        ka = type(a)
        kb = type(b)
        if (ka is int or ka is float) and (kb is int or kb is float):
            return short(a, b)
        state.origin = step
        return function(a, b)

    return run


def bool_op(node: BoolOp, context: Context) -> Run:
    """`and` and `or`: the value of the first operand that decides."""
    items = context.expressions(node.items)
    *before, last = zip(items, node.items, strict=True)
    last_run = last[0]
    stop_at = node.op == "or"

    def run(frame: Frame) -> Any:
        for item, place in before:
            value = item(frame)
            if value is True or value is False:
                holds = value
            else:
                state.origin = place
                holds = truth(value)
            if holds is stop_at:
                return value
        return last_run(frame)

    return run


def conditional(node: Conditional, context: Context) -> Run:
    """`body if test else orelse`."""
    test = condition(node.test, context)
    body = context.expression(node.body)
    orelse = context.expression(node.orelse)

    def run(frame: Frame) -> Any:
        return body(frame) if test(frame) else orelse(frame)

    return run


def condition(node: Any, context: Context) -> Run:
    """A closure that gives the truth of an expression as a Python bool."""
    test = context.expression(node)

    def run(frame: Frame) -> Any:
        value = test(frame)
        if value is True or value is False:
            return value
        state.origin = node
        return truth(value)

    return run
