"""The targets of assignments, loops, `with` and `del`: names, items, attributes, and tuples of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.compile_names import delete, store
from gradcli.lang.interpreter.compile_operators import BIG, PLAIN
from gradcli.lang.names import attributes
from gradcli.lang.syntax.nodes import Attribute, AugAssign, Expr, ListExpr, Name, Starred, Subscript, TupleExpr
from gradcli.lang.values import operators, subscripts
from gradcli.lang.values.object_operations import collect, iterate

Put = Callable[[Frame, Any], None]


def assign_to(target: Expr, context: Context) -> Put:
    """A function that assigns a value to the target."""
    if isinstance(target, Name):
        return store(target.id, context)
    if isinstance(target, TupleExpr | ListExpr):
        return _unpack(target, context)
    if isinstance(target, Subscript):
        return _put_item(target, context)
    assert isinstance(target, Attribute)
    return _put_attribute(target, context)


def _put_item(target: Subscript, context: Context) -> Put:
    value = context.expression(target.value)
    index = context.expression(target.index)

    def put(frame: Frame, result: Any) -> None:
        container = value(frame)
        key = index(frame)
        state.origin = target
        subscripts.setitem(container, key, result)

    return put


def _put_attribute(target: Attribute, context: Context) -> Put:
    value = context.expression(target.value)
    name = context.attribute(target.name)

    def put(frame: Frame, result: Any) -> None:
        owner = value(frame)
        state.origin = target
        attributes.set_attribute(owner, name, result)

    return put


def _unpack(target: TupleExpr | ListExpr, context: Context) -> Put:
    """Assign the items of a value to several targets; their number is checked before the first assignment."""
    starred = [at for at, item in enumerate(target.items) if isinstance(item, Starred)]
    puts = [assign_to(item.value if isinstance(item, Starred) else item, context) for item in target.items]
    count = len(puts)
    if starred:
        return _unpack_starred(target, puts, starred[0])

    def put(frame: Frame, value: Any) -> None:
        if type(value) is not tuple or len(value) != count:
            state.origin = target
            value = exactly(value, count)
        for one, item in zip(puts, value, strict=True):
            one(frame, item)

    return put


def exactly(value: Any, count: int) -> list[Any]:
    """The `count` items of a value. Raises Python's errors for more, fewer, or no items at all."""
    source = iterate(value, "cannot unpack non-iterable {} object")
    items: list[Any] = []
    for item in source:
        if len(items) == count:
            raise ProgramError("ValueError", f"too many values to unpack (expected {count})")
        items.append(item)
    if len(items) < count:
        raise ProgramError("ValueError", f"not enough values to unpack (expected {count}, got {len(items)})")
    return items


def _unpack_starred(target: TupleExpr | ListExpr, puts: list[Put], at: int) -> Put:
    after = len(puts) - at - 1

    def put(frame: Frame, value: Any) -> None:
        state.origin = target
        items = collect(value, "cannot unpack non-iterable {} object")
        if len(items) < at + after:
            raise ProgramError("ValueError", f"not enough values to unpack (expected at least {at + after}, got {len(items)})")
        end = len(items) - after
        for one, item in zip(puts, [*items[:at], items[at:end], *items[end:]], strict=True):
            one(frame, item)

    return put


def augmented(node: AugAssign, context: Context) -> Run:
    """`target op= value`: reads the target, changes its value in place where the value can, and assigns the result."""
    function = operators.INPLACE[node.op]
    value = context.expression(node.value)
    target = node.target
    if isinstance(target, Name):
        read = context.expression(target)
        put = store(target.id, context)
        short = PLAIN.get(node.op)
        if short is not None:
            return _augment_number(node, short, read, value, put)

        def run(frame: Frame) -> None:
            before = read(frame)
            other = value(frame)
            state.origin = node
            put(frame, function(before, other))

        return run
    if isinstance(target, Subscript):
        return _augment_item(node, target, context)
    assert isinstance(target, Attribute)
    owner_run = context.expression(target.value)
    name = context.attribute(target.name)

    def run_attribute(frame: Frame) -> None:
        owner = owner_run(frame)
        state.origin = target
        before = attributes.get_attribute(owner, name)
        other = value(frame)
        state.origin = node
        result = function(before, other)
        state.origin = target
        attributes.set_attribute(owner, name, result)

    return run_attribute


def _augment_number(node: AugAssign, short: Callable[[Any, Any], Any], read: Run, value: Run, put: Put) -> Run:
    """`name += value` with a fast path for numbers."""
    function = operators.INPLACE[node.op]

    def run(frame: Frame) -> None:
        before = read(frame)
        other = value(frame)
        kind = type(before)
        if kind is float:
            if type(other) is float:
                put(frame, short(before, other))
                return
        elif kind is int and type(other) is int:
            result = short(before, other)
            if -BIG < result < BIG:
                put(frame, result)
                return
        state.origin = node
        put(frame, function(before, other))

    return run


def _augment_item(node: AugAssign, target: Subscript, context: Context) -> Run:
    function = operators.INPLACE[node.op]
    value = context.expression(node.value)
    container_run = context.expression(target.value)
    index_run = context.expression(target.index)

    def run(frame: Frame) -> None:
        container = container_run(frame)
        index = index_run(frame)
        state.origin = target
        before = subscripts.getitem(container, index)
        other = value(frame)
        state.origin = node
        result = function(before, other)
        state.origin = target
        subscripts.setitem(container, index, result)

    return run


def delete_target(target: Expr, context: Context) -> Run:
    """`del target`."""
    if isinstance(target, Name):
        return delete(target, context)
    if isinstance(target, TupleExpr | ListExpr):
        parts = [delete_target(item, context) for item in target.items]

        def run_all(frame: Frame) -> None:
            for part in parts:
                part(frame)

        return run_all
    assert isinstance(target, Subscript | Attribute)
    value = context.expression(target.value)
    if isinstance(target, Attribute):
        name = context.attribute(target.name)

        def run_attribute(frame: Frame) -> None:
            owner = value(frame)
            state.origin = target
            attributes.delete_attribute(owner, name)

        return run_attribute
    index = context.expression(target.index)

    def run(frame: Frame) -> None:
        container = value(frame)
        key = index(frame)
        state.origin = target
        subscripts.delitem(container, key)

    return run
