"""Types with arguments in brackets, such as `list[int]` and `Dataset[int]`, which only annotations and bases of classes name."""

from __future__ import annotations

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, ScriptType
from gradcli.core.calling.type_errors import not_subscriptable
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.representation import repr_text
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.value_classes import ExceptionType, TypeValue

#: types of Python and of torch.utils.data that take arguments
_OF_PYTHON = ("dict", "frozenset", "list", "set", "tuple", "type")
_OF_TORCH = ("ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "Sampler", "StackDataset", "Subset")


class Annotation(Scripted):
    """A type for annotations, such as `List[int]`."""

    __slots__ = ("__weakref__", "text")

    SCRIPT_NAME = "_GenericAlias"

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __getitem__(self, arguments: Value) -> Annotation:
        items = arguments if type(arguments) is tuple else (arguments,)
        return Annotation(f"{self.text}[{', '.join(map(_shown, items))}]")

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        return args[0] if args else None

    SCRIPT_METHODS = {"__getitem__": Routine(__getitem__, "__getitem__")}


def _shown(value: Value) -> str:
    if value is ...:
        return "..."
    return value.name if type(value) in (TypeValue, ExceptionType) else repr_text(value)


def with_arguments(kind: Value, arguments: Value) -> Value:
    """`kind[arguments]` of a type: an annotation, or the type itself where classes derive from it. TypeError for types without."""
    if type(kind) is TypeValue and kind.path in _OF_PYTHON:
        return Annotation(kind.path)[arguments]
    native = kind.native if type(kind) is UserClass else kind
    if type(native) is ScriptType:
        if native.name in _OF_TORCH:
            return kind
        raise ProgramError("TypeError", f"type '{kind.name}' is not subscriptable")
    raise not_subscriptable(kind)
