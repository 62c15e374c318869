"""`types`: a namespace with attributes, and the types of functions, methods and modules."""

from __future__ import annotations

from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.classes.creation import make_class
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import types
from gradcli.lang.values.calls import is_callable
from gradcli.lang.values.comparison import equal
from gradcli.lang.values.representation import repr_text
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED
from gradcli.lang.values.user_classes import BoundUserMethod, NativeMethod


def _fill(one: Value, /, *args: Value, **given: Value) -> None:
    if args:
        raise ProgramError("TypeError", "no positional arguments expected")
    for name in given:
        if name.startswith("__") and name.endswith("__"):
            raise ProgramError("AttributeError", f"names such as {name} cannot be assigned in gradcli's language")
    one.fields.update(given)


def _text(one: Value) -> str:
    return f"namespace({', '.join(f'{name}={repr_text(value)}' for name, value in one.fields.items())})"


def _same(one: Value, other: Value) -> Value:
    return equal(one.fields, other.fields) if types.is_instance(other, NAMESPACE) else NOT_IMPLEMENTED


NAMESPACE = make_class(
    "SimpleNamespace",
    "SimpleNamespace",
    (),
    {
        "__init__": NativeMethod("__init__", _fill),
        "__repr__": NativeMethod("__repr__", _text),
        "__eq__": NativeMethod("__eq__", _same),
        "__hash__": None,
    },
    {},
    {},
)


def _bound(function: Value, instance: Value, /) -> BoundUserMethod:
    if not is_callable(function):
        raise ProgramError("TypeError", "first argument must be callable")
    if instance is None:
        raise type_error("instance must not be None")
    return BoundUserMethod(function, instance)


_METHOD = types.named_type("method")
_METHOD.make = _bound

MEMBERS: dict[str, Value] = {
    "SimpleNamespace": NAMESPACE,
    "FunctionType": types.named_type("function"),
    "LambdaType": types.named_type("function"),
    "MethodType": _METHOD,
    "BuiltinFunctionType": types.named_type("builtin_function_or_method"),
    "GeneratorType": types.named_type("generator"),
    "ModuleType": types.named_type("module"),
    "NoneType": types.named_type("NoneType"),
}
