"""Types with arguments, such as `list[int]`: for annotations, and to make values of the type itself."""

from __future__ import annotations

from functools import lru_cache

from gradcli.core.calling.script_types import Scripted, ScriptType
from gradcli.core.calling.type_errors import not_subscriptable
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.calls import call
from gradcli.lang.values.representation import repr_text
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.value_classes import ExceptionType, TypeValue

#: the types that take arguments
_TAKING = {"list", "dict", "tuple", "set", "frozenset", "type"}
_OF_TORCH = {"ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "Sampler", "StackDataset", "Subset"}


class Alias(Scripted):
    """A type with arguments. Equal ones are the same object."""

    __slots__ = ("__weakref__", "origin", "text")

    SCRIPT_NAME = "GenericAlias"

    def __init__(self, origin: TypeValue, text: str) -> None:
        self.origin = origin
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        return call(self.origin, args, None, kwargs)


_made = lru_cache(256)(Alias)


def alias(container: TypeValue, arguments: Value) -> Alias:
    """`container[arguments]`. Raises TypeError for a type that takes no arguments."""
    if container.name not in _TAKING:
        raise ProgramError("TypeError", f"type '{container.name}' is not subscriptable")
    return _made(container, f"{container.name}[{shown(arguments)}]")


def with_arguments(kind: Value, arguments: Value) -> Value:
    """`kind[arguments]` of a type: an alias, or the type itself of classes of torch.utils.data. TypeError for types without arguments."""
    if type(kind) is TypeValue:
        return alias(kind, arguments)
    native = kind.native if type(kind) is UserClass else kind
    if type(native) is not ScriptType:
        raise not_subscriptable(kind)
    if native.name not in _OF_TORCH:
        raise ProgramError("TypeError", f"type '{kind.name}' is not subscriptable")
    return kind


def shown(arguments: Value) -> str:
    """Arguments of a type, as its repr has them."""
    return ", ".join(map(_shown, arguments if type(arguments) is tuple else (arguments,)))


def _shown(value: Value) -> str:
    if type(value) in (TypeValue, ExceptionType):
        return str(value.name)
    if type(value) is ScriptType:
        return f"{value.module}.{value.name}"
    if type(value) is UserClass:
        return f"__main__.{value.qualified}"
    if type(value) is list:
        return f"[{', '.join(map(_shown, value))}]"
    return "..." if value is ... else repr_text(value)
