"""Displays and text: lists, tuples, sets, dicts, f-strings, constants, `:=`."""

from __future__ import annotations

from typing import Any

from gradcli import limits
from gradcli.core.tensor.state import state
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.compile_names import store
from gradcli.lang.syntax.nodes import Constant, DictExpr, Expr, Field, JoinedStr, ListExpr, NamedExpr, SetExpr, Starred, TupleExpr
from gradcli.lang.values import representation, subscripts
from gradcli.lang.values.object_operations import collect, format_text


def constant(node: Constant, context: Context) -> Run:
    """A literal."""
    value = node.value
    return lambda frame: value


def list_display(node: ListExpr, context: Context) -> Run:
    """`[a, *b]`."""
    return sequence(node.items, context)


def tuple_display(node: TupleExpr, context: Context) -> Run:
    """`a, b`."""
    items = node.items
    if all(type(item) is Constant for item in items):
        value = tuple([item.value for item in items])  # type: ignore[attr-defined]
        return lambda frame: value
    if len(items) == 2 and not any(isinstance(item, Starred) for item in items):
        first, second = context.expressions(items)
        return lambda frame: (first(frame), second(frame))
    build = sequence(items, context)
    return lambda frame: tuple(build(frame))


def sequence(items: tuple[Expr, ...], context: Context) -> Run:
    """A closure that makes a list of the items; the items of a starred value are spread into it."""
    if any(isinstance(item, Starred) for item in items):
        return _spreading(items, context)
    runs = context.expressions(items)
    if len(runs) == 1:
        only = runs[0]
        return lambda frame: [only(frame)]
    return lambda frame: [run(frame) for run in runs]


def _spreading(items: tuple[Expr, ...], context: Context) -> Run:
    parts: list[tuple[Run, Expr | None]] = []
    for item in items:
        starred = isinstance(item, Starred)
        parts.append((context.expression(item.value if isinstance(item, Starred) else item), item if starred else None))

    def run(frame: Frame) -> list[Any]:
        out: list[Any] = []
        for part, star in parts:
            value = part(frame)
            if star is None:
                out.append(value)
            else:
                state.origin = star
                out += collect(value, "Value after * must be an iterable, not {}")
                limits.check_list(len(out))
        return out

    return run


def set_display(node: SetExpr, context: Context) -> Run:
    """`{a, b}`."""
    build = sequence(node.items, context)

    def run(frame: Frame) -> set[Any]:
        values = build(frame)
        state.origin = node
        return subscripts.make_set(values)

    return run


def dict_display(node: DictExpr, context: Context) -> Run:
    """`{k: v, **d}`."""
    parts = [(None if k is None else context.expression(k), context.expression(v), v if k is None else k) for k, v in node.items]

    def run(frame: Frame) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for key_run, value_run, place in parts:
            if key_run is None:
                more = value_run(frame)
                state.origin = place
                subscripts.update_dict(out, more)
            else:
                key = key_run(frame)
                value = value_run(frame)
                state.origin = place
                subscripts.put(out, key, value)
        return out

    return run


def named(node: NamedExpr, context: Context) -> Run:
    """`name := value`."""
    value = context.expression(node.value)
    put = store(node.target.id, context)

    def run(frame: Frame) -> Any:
        result = value(frame)
        put(frame, result)
        return result

    return run


def joined(node: JoinedStr, context: Context) -> Run:
    """An f-string."""
    pieces = _pieces(node.parts, context)

    def run(frame: Frame) -> str:
        out: list[str] = []
        size = 0
        for piece in pieces:
            text = piece if type(piece) is str else piece(frame)
            size += len(text)
            if size > limits.current.string:
                limits.check_string(size)
            out.append(text)
        return "".join(out)

    return run


def _pieces(parts: tuple[str | Field, ...], context: Context) -> list[Any]:
    return [part if isinstance(part, str) else _field(part, context) for part in parts]


def _field(field: Field, context: Context) -> Run:
    """One replacement field: the value, converted, formatted by the spec."""
    value = context.expression(field.value)
    convert = representation.CONVERSIONS[field.conversion]
    pieces: list[Any] = [""] if field.spec is None else _pieces(field.spec, context)
    fixed = "".join(pieces) if all(type(piece) is str for piece in pieces) else None

    def run(frame: Frame) -> str:
        result = value(frame)
        spec = fixed
        if spec is None:
            spec = "".join([piece if type(piece) is str else piece(frame) for piece in pieces])
        state.origin = field
        if convert is not None:
            result = convert(result)
        return format_text(result, spec)

    return run
