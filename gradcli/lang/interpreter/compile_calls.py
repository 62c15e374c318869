"""Calls, attributes and subscripts. A long chain of them runs in a loop, so that its closures do not nest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.compile_displays import sequence
from gradcli.lang.interpreter.scope import CELL, CLASS
from gradcli.lang.names import attributes
from gradcli.lang.names.class_attributes import make_super
from gradcli.lang.python import comparing
from gradcli.lang.syntax.nodes import Attribute, Call, Constant, Expr, Keyword, Name, Slice, Starred, Subscript
from gradcli.lang.values import calls, subscripts, types
from gradcli.lang.values.shape_error_labels import label_arguments, label_tensor
from gradcli.lang.values.special_methods import Instance
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.user_functions import UserFunction, invoke
from gradcli.lang.values.value_classes import MISSING, NO_KEYWORDS, UNBOUND, Builtin, Namespace, miscalled, wrong_call

#: a chain `x.a().b().c` of more parts than this is run in a loop instead of by nested closures
_LOOP_FROM = 40

Arguments = Callable[[Frame], tuple[Any, dict[str, Any]]]


def call(node: Call, context: Context) -> Run:
    """A call."""
    function = node.function
    if not isinstance(function, Name):
        parts = _links(node)
        if len(parts) > _LOOP_FROM:
            return _chain(parts, context)
    elif function.id == "super" and not node.args and not node.keywords:
        return _super(node, context)
    if isinstance(function, Attribute):
        return method(node, function, context.expression(function.value), context)
    plain = _is_plain(node)
    run_function = context.expression(function)
    if plain:
        return _call_plain(node, run_function, context.expressions(node.args))
    return _call_general(node, run_function, arguments(node.args, node.keywords, context))


def method(node: Call, function: Attribute, owner: Run, context: Context) -> Run:
    """A call of a method of what `owner` gives."""
    name = context.attribute(function.name)
    if _is_plain(node):
        return _method_plain(node, function, name, owner, context.expressions(node.args))
    return _method(node, function, name, owner, arguments(node.args, node.keywords, context))


def _is_plain(node: Call) -> bool:
    return not node.keywords and Starred not in map(type, node.args)


def _call_plain(node: Call, function: Run, args: tuple[Run, ...]) -> Run:
    if len(args) == 1:
        only = args[0]

        def run_one(frame: Frame) -> Any:
            callee = function(frame)
            arg = only(frame)
            kind = type(callee)
            if kind is UserFunction:
                return invoke(callee, (arg,), NO_KEYWORDS, node)
            state.origin = node
            if kind is Builtin:
                try:
                    return callee.function(arg)
                except TypeError as error:
                    raise wrong_call(callee, error, (arg,)) from None
            try:
                return callee(arg) if callable(callee) else calls.call(callee, (arg,), node)
            except ProgramError as error:
                label_arguments(error, node, (arg,))
                raise
            except TypeError as error:
                raise miscalled(type_name(callee), error, 1) from error

        return run_one

    def run(frame: Frame) -> Any:
        callee = function(frame)
        values = [arg(frame) for arg in args]
        kind = type(callee)
        if kind is UserFunction:
            return invoke(callee, values, NO_KEYWORDS, node)
        state.origin = node
        if kind is Builtin:
            try:
                return callee.function(*values)
            except TypeError as error:
                raise wrong_call(callee, error, values) from None
        try:
            return callee(*values) if callable(callee) else calls.call(callee, tuple(values), node)
        except ProgramError as error:
            label_arguments(error, node, values)
            raise
        except TypeError as error:
            raise miscalled(type_name(callee), error, len(values)) from error

    return run


def _call_general(node: Call, function: Run, arguments: Arguments) -> Run:
    def run(frame: Frame) -> Any:
        callee = function(frame)
        args, kwargs = arguments(frame)
        if type(callee) is UserFunction:
            return invoke(callee, args, kwargs, node)
        state.origin = node
        try:
            return callee(*args, **kwargs) if callable(callee) else calls.call(callee, tuple(args), node, kwargs)
        except ProgramError as error:
            label_arguments(error, node, args, kwargs)
            raise
        except TypeError as error:
            raise miscalled(type_name(callee), error, len(args)) from error

    return run


def _method_plain(node: Call, attribute: Attribute, name: str, owner: Run, args: tuple[Run, ...]) -> Run:
    """`owner.name(args)`: the method is found and called without making a bound method in between."""
    find = attributes.finder(name)
    known_space: Any = MISSING
    known_member: Any = MISSING

    def run(frame: Frame) -> Any:
        nonlocal known_space, known_member
        value = owner(frame)
        if value is known_space:
            values = [arg(frame) for arg in args]
            state.origin = node
            try:
                return known_member(*values)
            except ProgramError as error:
                label_arguments(error, node, values)
                raise
        method = find(type(value))
        if method is None:
            if isinstance(value, Instance):
                function = value.cls.find(name)
                if type(function) is UserFunction and value.read(name) is MISSING:
                    return invoke(function, [value, *[arg(frame) for arg in args]], NO_KEYWORDS, node)
            state.origin = attribute
            callee = attributes.get_attribute(value, name)
            if type(value) is Namespace and callable(callee):
                known_space, known_member = value, callee  # namespaces never change
            values = [arg(frame) for arg in args]
            try:
                return calls.call(callee, tuple(values), node)
            except ProgramError as error:
                label_arguments(error, node, values)
                raise
            except TypeError as error:
                raise miscalled(name, error, len(values)) from error
        values = [arg(frame) for arg in args]
        state.origin = node
        try:
            return method(value, *values)
        except ProgramError as error:
            label_arguments(error, node, values, owner=value)
            raise
        except TypeError as error:
            raise miscalled(f"{type_name(value)}.{name}", error, len(values)) from error

    return run


def _method(node: Call, attribute: Attribute, name: str, owner: Run, arguments: Arguments) -> Run:
    find = attributes.finder(name)

    def run(frame: Frame) -> Any:
        value = owner(frame)
        method = find(type(value))
        if method is None:
            state.origin = attribute
            callee = attributes.get_attribute(value, name)
            args, kwargs = arguments(frame)
            try:
                return calls.call(callee, tuple(args), node, kwargs)
            except ProgramError as error:
                label_arguments(error, node, args, kwargs)
                raise
            except TypeError as error:
                raise miscalled(name, error, len(args)) from error
        args, kwargs = arguments(frame)
        state.origin = node
        try:
            return method(value, *args, **kwargs)
        except ProgramError as error:
            label_arguments(error, node, args, kwargs, owner=value)
            raise
        except TypeError as error:
            raise miscalled(f"{type_name(value)}.{name}", error, len(args)) from error

    return run


def arguments(args: tuple[Expr, ...], keywords: tuple[Keyword, ...], context: Context) -> Arguments:
    """A closure that evaluates the arguments of a call with keywords or stars, in the order of the text."""
    positional = sequence(args, context)
    named = [(k.name, context.expression(k.value), k) for k in keywords]
    if all(name is not None for name, _, _ in named):

        def run_named(frame: Frame) -> tuple[Any, dict[str, Any]]:
            return positional(frame), {name: value(frame) for name, value, _ in named}  # type: ignore[misc]

        return run_named

    def run(frame: Frame) -> tuple[Any, dict[str, Any]]:
        args = positional(frame)
        kwargs: dict[str, Any] = {}
        for name, value, place in named:
            given = value(frame)
            state.origin = place
            for key, item in [(name, given)] if name is not None else _spread(given):
                if key in kwargs:
                    raise ProgramError("TypeError", f"got multiple values for keyword argument '{key}'")
                kwargs[key] = item
        return args, kwargs

    return run


def _spread(given: Any) -> list[tuple[str, Any]]:
    """The items of the dict that `**` spreads in a call. Raises TypeError for other values and other keys."""
    table = subscripts.mapping_items(given)
    if table is None:
        raise ProgramError("TypeError", f"argument after ** must be a mapping, not {type_name(given)}")
    for key in table:
        if type(key) is not str:
            raise ProgramError("TypeError", "keywords must be strings")
    return list(table.items())


def _super(node: Call, context: Context) -> Run:
    """`super()`: the class is in the cell `__class__`, the instance is the first parameter."""
    scope = context.scope
    kind, slot = scope.where(CLASS)
    in_cell = bool(scope.parameters) and scope.where(scope.parameters[0])[0] is CELL

    def run(frame: Frame) -> Any:
        state.origin = node
        if kind is not CELL:
            raise ProgramError("RuntimeError", "super(): __class__ cell not found")
        if not scope.parameters:
            raise ProgramError("RuntimeError", "super(): no arguments")
        owner = frame[1][0] if in_cell else frame[1]
        if type(owner) is tuple:
            owner = owner[0]  # `def f(*args)`
        cls = frame[slot][0]
        if cls is UNBOUND:
            raise ProgramError("RuntimeError", "super(): empty __class__ cell")
        return make_super(cls, owner)

    return run


# --- long chains ----------------------------------------------------------------------------------


def _links(node: Expr) -> list[Expr]:
    """The calls, attributes and subscripts from `node` inwards, outermost first, and then the expression they begin with."""
    parts: list[Expr] = []
    at = node
    while True:
        parts.append(at)
        if isinstance(at, Call):
            at = at.function
        elif isinstance(at, Attribute | Subscript):
            at = at.value
        else:
            return parts


def _chain(parts: list[Expr], context: Context) -> Run:
    """A closure that evaluates the first expression of the chain, then one operation after the other."""
    *links, first_node = parts
    first = context.expression(first_node)
    steps: list[Callable[[Frame, Any], Any]] = []
    for link in reversed(links):
        if isinstance(link, Call):
            steps.append(_call_link(link, context))
        elif isinstance(link, Attribute):
            steps.append(_attribute_link(link, context.attribute(link.name)))
        else:
            assert isinstance(link, Subscript)
            steps.append(_subscript_link(link, context))

    def run(frame: Frame) -> Any:
        value = first(frame)
        for step in steps:
            value = step(frame, value)
        return value

    return run


def _call_link(node: Call, context: Context) -> Callable[[Frame, Any], Any]:
    given = arguments(node.args, node.keywords, context)

    def step(frame: Frame, callee: Any) -> Any:
        args, kwargs = given(frame)
        return calls.call(callee, tuple(args), node, kwargs)

    return step


def _attribute_link(node: Attribute, name: str) -> Callable[[Frame, Any], Any]:
    def step(frame: Frame, value: Any) -> Any:
        state.origin = node
        return attributes.get_attribute(value, name)

    return step


def _subscript_link(node: Subscript, context: Context) -> Callable[[Frame, Any], Any]:
    index = context.expression(node.index)

    def step(frame: Frame, value: Any) -> Any:
        key = index(frame)
        state.origin = node
        return subscripts.getitem(value, key)

    return step


# --- attributes and subscripts --------------------------------------------------------------------


def attribute(node: Attribute, context: Context) -> Run:
    """`value.name`."""
    parts = _links(node)
    if len(parts) > _LOOP_FROM:
        return _chain(parts, context)
    if node.name == "__name__" and isinstance(node.value, Attribute) and node.value.name == "__class__":
        return _class_name(context.expression(node.value.value))
    value = context.expression(node.value)
    name = context.attribute(node.name)
    known_space: Any = MISSING
    known_member: Any = MISSING

    def run(frame: Frame) -> Any:
        nonlocal known_space, known_member
        owner = value(frame)
        if owner is known_space:
            return known_member  # namespaces never change
        state.origin = node
        result = attributes.get_attribute(owner, name)
        if type(owner) is Namespace:
            known_space, known_member = owner, result
        return result

    return run


def _class_name(value: Run) -> Run:
    """`value.__class__.__name__`: all that programs may read of `__class__`, but for instances of their own classes."""
    return lambda frame: attributes.get_attribute(types.type_of(value(frame)), "__name__")


def subscript(node: Subscript, context: Context) -> Run:
    """`value[index]`."""
    parts = _links(node)
    if len(parts) > _LOOP_FROM:
        return _chain(parts, context)
    value = context.expression(node.value)
    index = context.expression(node.index)

    def run(frame: Frame) -> Any:
        container = value(frame)
        key = index(frame)
        if type(container) is list and type(key) is int and -len(container) <= key < len(container):
            return container[key]
        state.origin = node
        try:
            return subscripts.getitem(container, key)
        except ProgramError as error:
            label_tensor(error, node.value, container)
            raise

    return run


def slice_(node: Slice, context: Context) -> Run:
    """`lower:upper:step`; a slice of constants is made once."""
    bounds = (node.lower, node.upper, node.step)
    if all(bound is None or (type(bound) is Constant) for bound in bounds):
        value = slice(*[None if bound is None else bound.value for bound in bounds])  # type: ignore[attr-defined]
        return lambda frame: value
    runs = [None if bound is None else context.expression(bound) for bound in bounds]

    def run(frame: Frame) -> slice:
        made = slice(*[None if run is None else run(frame) for run in runs])
        if type(made.start) is slice or type(made.stop) is slice or type(made.step) is slice:
            comparing.check_slice(made)
        return made

    return run
