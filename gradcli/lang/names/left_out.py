"""What PyTorch and Python have and gradcli has not. Errors alone load it."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Collection
from types import FunctionType, MethodType

from gradcli.core.calling.script_types import Scripted, ScriptType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.names._torch_names import NAMES
from gradcli.lang.python.object_protocol import HOST_TYPES, Value
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import FUNCTIONS, BoundMethod, ExceptionType, Namespace, TypeValue

#: the type of tensors, among the places of names
TENSOR = "Tensor"


def is_left_out(place: str, name: str) -> bool:
    """Whether `torch.PLACE` (torch itself for "", a tensor for TENSOR) has a public name in PyTorch that gradcli leaves out."""
    return name in NAMES.get(place, "").split()


def text(place: str, name: str) -> str:
    """What errors say of such a name."""
    owner = place if place == TENSOR else f"torch.{place}" if place else "torch"
    return f"{owner}.{name} is not part of gradcli"


def of_module(path: str, name: str) -> str | None:
    """What errors say of a public name that a module of PyTorch or of Python's library has and gradcli's has not; None for other names."""
    place = path.removeprefix("torch").removeprefix(".")
    if is_left_out(place, name):
        return text(place, name)
    # a program's error imports nothing: what Python has not loaded by itself is not looked into
    if name.startswith("_") or path.partition(".")[0] not in sys.stdlib_module_names or not hasattr(sys.modules.get(path), name):
        return None
    return f"{path}.{name} is not part of gradcli"


def of(value: Value, name: str) -> str | None:
    """What the error says of an attribute that a value has in PyTorch or Python and has not here; None for other names."""
    if type(value) is Namespace:
        return of_module(value.path, name)
    if name.startswith("__") and name in _of_python(value):
        return f"{value.name if type(value) in _CLASSES else type_name(value)}.{name} is not part of gradcli"
    if type(value) is Tensor:
        return text(TENSOR, name) if is_left_out(TENSOR, name) else None
    kind = value.name if type(value) is TypeValue else type(value).__name__ if type(value) in HOST_TYPES else ""
    kind = value.type_name if type(value) is ProgramError else kind
    found = not name.startswith("_") and hasattr(getattr(builtins, kind, None), name)
    return f"{kind}.{name} is not part of gradcli" if found else None


_CLASSES = (TypeValue, ExceptionType, ScriptType, UserClass)
_OF_CLASSES = frozenset(dir(type))
_OF_FUNCTIONS = frozenset((*dir(FunctionType), *dir(MethodType)))
_OF_OBJECTS = frozenset(dir(object))


def _of_python(value: Value) -> Collection[str]:
    """The names that Python itself gives to every value of this kind."""
    if type(value) in _CLASSES:
        return _OF_CLASSES
    if type(value) in HOST_TYPES:
        return dir(type(value))
    if isinstance(value, (*FUNCTIONS, BoundMethod, UserFunction)):
        return _OF_FUNCTIONS
    return _OF_OBJECTS | {"__dict__", "__module__"} if isinstance(value, (Tensor, Scripted)) else _OF_OBJECTS
