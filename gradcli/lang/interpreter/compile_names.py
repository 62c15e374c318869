"""Reading, binding and deleting names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.tensor.state import state
from gradcli.errors import Code, ProgramError
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.scope import CELL, GLOBAL
from gradcli.lang.names import bare_names
from gradcli.lang.syntax.nodes import Name, Node, Yield
from gradcli.lang.values.value_classes import MISSING, UNBOUND

Store = Callable[[Frame, Any], None]


def load(node: Name, context: Context) -> Run:
    """Read a name."""
    kind, slot = context.scope.where(node.id)
    if kind is GLOBAL:
        return _load_in_module(node, context) if context.scope.is_module else _load_global(node, context)
    if kind is CELL:
        return _load_cell(node, slot, node.id in context.scope.frees)
    if context.scope.is_class:
        return _load_in_class(node, slot, context)
    if node.id in context.scope.parameters and node.id not in context.scope.deleted:
        return _load_parameter(slot)
    return _load_local(node, slot)


def load_sent(node: Yield, context: Context) -> Run:
    """What was sent to a generator at a `yield`: the statement has yielded before it evaluates its expressions."""
    _, slot = context.scope.where(context.scope.yields[node])
    return lambda frame: frame[slot]


def _load_in_module(node: Name, context: Context) -> Run:
    name = node.id
    default = bare_names.default(name, context.one_off)
    if default is not MISSING:

        def run_default(frame: Frame) -> Any:
            return frame.get(name, default)

        return run_default
    if bare_names.is_torch(name, context.one_off):

        def run_torch(frame: Frame) -> Any:
            return frame[name] if name in frame else bare_names.torch_value(name)

        return run_torch

    def run(frame: Frame) -> Any:
        try:
            return frame[name]
        except KeyError:
            raise unknown_name(node, frame) from None

    return run


def _load_global(node: Name, context: Context) -> Run:
    name = node.id
    default = bare_names.default(name, context.one_off)
    if default is not MISSING:

        def run_default(frame: Frame) -> Any:
            return frame[0].get(name, default)

        return run_default
    if bare_names.is_torch(name, context.one_off):

        def run_torch(frame: Frame) -> Any:
            variables = frame[0]
            return variables[name] if name in variables else bare_names.torch_value(name)

        return run_torch

    def run(frame: Frame) -> Any:
        try:
            return frame[0][name]
        except KeyError:
            raise unknown_name(node, frame[0]) from None

    return run


def _load_in_class(node: Name, slot: int, context: Context) -> Run:
    """A name that the body of a class binds: before that it is the global one."""
    outside = _load_global(node, context)

    def run(frame: Frame) -> Any:
        value = frame[slot]
        return outside(frame) if value is UNBOUND else value

    return run


def _load_parameter(slot: int) -> Run:
    def run(frame: Frame) -> Any:
        return frame[slot]

    return run


def _load_local(node: Name, slot: int) -> Run:
    def run(frame: Frame) -> Any:
        value = frame[slot]
        if value is UNBOUND:
            raise unbound_local(node, node.id)
        return value

    return run


def _load_cell(node: Name, slot: int, free: bool) -> Run:
    def run(frame: Frame) -> Any:
        value = frame[slot][0]
        if value is UNBOUND:
            raise unbound_free(node, node.id) if free else unbound_local(node, node.id)
        return value

    return run


def unknown_name(node: Name, variables: dict[str, Any]) -> ProgramError:
    """The NameError for a name that is neither bound nor built in."""
    state.origin = node
    name = node.id
    hints = bare_names.hints(name, variables)
    return ProgramError("NameError", f"name '{name}' is not defined", hints=hints, code=Code.UNKNOWN_NAME, names=(name,))


def unbound_local(node: Node, name: str) -> ProgramError:
    """Python's error for a local that has no value yet."""
    state.origin = node
    return ProgramError("UnboundLocalError", f"cannot access local variable '{name}' where it is not associated with a value")


def unbound_free(node: Node, name: str) -> ProgramError:
    """Python's error for a variable of a function around this one that has no value yet."""
    state.origin = node
    text = f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
    return ProgramError("NameError", text)


def store(name: str, context: Context) -> Store:
    """A function that binds `name`."""
    kind, slot = context.scope.where(name)
    if kind is CELL:

        def put_cell(frame: Frame, value: Any) -> None:
            frame[slot][0] = value

        return put_cell
    if kind is GLOBAL and not context.scope.is_module:

        def put_global(frame: Frame, value: Any) -> None:
            frame[0][name] = value

        return put_global
    key: Any = name if kind is GLOBAL else slot

    def put(frame: Frame, value: Any) -> None:
        frame[key] = value

    return put


def direct_key(name: str, context: Context) -> Any:
    """The key with which `frame[key] = value` binds `name`; None where binding takes more than that."""
    kind, slot = context.scope.where(name)
    if kind is CELL or (kind is GLOBAL and not context.scope.is_module):
        return None
    return name if kind is GLOBAL else slot


def delete(node: Name, context: Context, quiet: bool = False) -> Run:
    """Unbind a name; with `quiet` it may be unbound already, as the `e` of `except ... as e` may."""
    name = node.id
    kind, slot = context.scope.where(name)
    if kind is GLOBAL:
        is_module = context.scope.is_module

        def run_global(frame: Frame) -> None:
            variables = frame if is_module else frame[0]
            if variables.pop(name, MISSING) is MISSING and not quiet:
                raise unknown_name(node, variables)

        return run_global

    def run(frame: Frame) -> None:
        place, at = (frame[slot], 0) if kind is CELL else (frame, slot)
        if place[at] is UNBOUND and not quiet:
            raise unbound_local(node, name)
        place[at] = UNBOUND

    return run
