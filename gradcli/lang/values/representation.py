"""`repr` and `str` of values of any type. Host values are done by python.reprs, tensors by core."""

from __future__ import annotations

from collections.abc import Callable

from gradcli import limits
from gradcli.core.autograd.grad_mode import Decorating, GradMode
from gradcli.core.calling.named_tuples import NamedResult, NamedTuple
from gradcli.core.calling.script_types import Generated, Scripted
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions._index import FUNCTIONS as TORCH_FUNCTIONS
from gradcli.core.functions.function import Function
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.random.generator import Generator
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.tensor.text import tensor_repr
from gradcli.core.vocabulary import torch_types
from gradcli.errors import QUALIFIED, ProgramError
from gradcli.lang.python import reprs
from gradcli.lang.python.dict_views import DictView
from gradcli.lang.python.object_protocol import TorchVersion, Value
from gradcli.lang.values.calls import Decorated
from gradcli.lang.values.execution import execution
from gradcli.lang.values.special_methods import Instance, special
from gradcli.lang.values.type_names import is_python, path_of, type_name
from gradcli.lang.values.user_classes import BoundUserMethod, ClassMethod, NativeMethod, StaticMethod, Super, UserClass, UserObject
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import (
    FUNCTIONS,
    MISSING,
    BoundMethod,
    Builtin,
    ExceptionType,
    IteratorValue,
    Namespace,
    NumpyValue,
    Plain,
    TypeValue,
)


def repr_text(value: Value, /) -> str:
    """`repr(value)`."""
    return reprs.repr_host(value, _repr_own)


def str_text(value: Value) -> str:
    """`str(value)`."""
    if type(value) is str or type(value) is TorchVersion:
        return str(value)
    if type(value) is ProgramError:
        return str(value.message)
    if isinstance(value, NumpyValue | torch_types.Device):
        return str(value)
    if isinstance(value, Instance):
        method = special(value, "__str__")
        return _repr_instance(value, "__str__") if method is None else text_from(method(), "__str__")
    if hasattr(type(value), "special") and (own := special(value, "__str__")) is not None:
        return text_from(own(), "__str__")
    if isinstance(value, Scripted) and type(value).__str__ is not object.__str__:
        return str(value)
    return reprs.repr_host(value, _repr_own)


def ascii_repr(value: Value, /) -> str:
    """`ascii(value)`."""
    return reprs.ascii_text(repr_text(value))


#: by the letter after `!` in an f-string
CONVERSIONS: dict[str, Callable[[Value], str] | None] = {"": None, "r": repr_text, "s": str_text, "a": ascii_repr}


def address(value: Value) -> str:
    """The number that stands for an object's address, as it is printed."""
    return hex(execution.addresses.of(value))


def _repr_function(value: UserFunction) -> str:
    return f"<function {value.code.qualified if value.shown is None else value.shown[1]} at {address(value)}>"


#: the methods of modules and optimisers that PyTorch defines in each class
_DEFINED_ANEW = {"Module.forward", "Optimizer.step"}


def _repr_bound(value: BoundMethod) -> str:
    if is_python(value):
        name = f"Tensor.{value.name}" if type(value.owner) is Tensor else getattr(value.function, "name", "")
        if name in _DEFINED_ANEW or "." not in name:
            name = f"{type_name(value.owner)}.{value.name}"
        return f"<bound method {name} of {repr_text(value.owner)}>"
    return f"<built-in method {value.name} of {type_name(value.owner)} object at {address(value.owner)}>"


def _repr_grad_mode(value: GradMode) -> str:
    if value.kind == "set_grad_enabled":
        return f"{path_of(value)}(mode={value.enabled})"
    return f"<{path_of(value)} object at {address(value)}>"


def _repr_instance(value: Instance, name: str = "__repr__") -> str:
    """The repr of an instance; `name` is the method that a wrong result is blamed on."""
    method = special(value, "__repr__")
    return value.own_repr(address(value)) if method is None else text_from(method(), name)


def text_from(found: Value, name: str) -> str:
    """What the special method `name` returned, as a text. Raises TypeError, LimitError."""
    if type(found) is not str:
        what = "__format__ must return a str, not" if name == "__format__" else f"{name} returned non-string (type"
        raise type_error(f"{what} {{}}{'' if name == '__format__' else ')'}", found)
    limits.check_string(len(found))
    return found


def _repr_class(value: UserClass) -> str:
    own = value.trait("class repr")
    return f"<class '__main__.{value.qualified}'>" if own is MISSING else str(own(value))


def _repr_bound_user(value: BoundUserMethod) -> str:
    owner = value.owner
    qualified = value.function.code.qualified if type(value.function) is UserFunction else value.name
    return f"<bound method {qualified} of {repr_text(owner)}>"


def _repr_error(value: ProgramError) -> str:
    args = value.args_
    inside = repr_text(args[0]) if len(args) == 1 else repr_text(args)[1:-1]
    return f"{value.type_name}({inside})"


def _repr_result(value: NamedResult) -> str:
    """A named result, such as `torch.return_types.max(values=..., indices=...)`, as torch lays it out."""
    named = [f"{name}={repr_text(item)}" for name, item in zip(value.fields, value, strict=True)]
    if isinstance(value, NamedTuple):
        return f"{value.type_name}({', '.join(named)})"
    inside = ",\n".join(named)
    return f"{path_of(value)}(\n{inside})"


#: functions of torch.nn.functional that have another `__name__`
_NAMES_IN_C = {"logsigmoid": "log_sigmoid", "threshold": "_threshold"}


def function_name(value: Value) -> str:
    """The `__name__` of a function: those of C++ in namespaces such as torch.linalg have the namespace in front."""
    namespace: str = getattr(value, "namespace", "torch")
    name: str = value.name.rpartition(".")[2]
    if namespace == "torch.nn.functional":
        name = _NAMES_IN_C.get(name, name)
    if not isinstance(value, Function) or is_python(value) or namespace in ("torch", "torch.nn.functional", "torch._C._nn"):
        return name
    start = f"{namespace.removeprefix('torch.')}_"
    return f"{start}{name.removeprefix(start)}"


def qualified_name(value: Value) -> str | None:
    """Module and qualified name of a function or class, as `torch.typename` gives them; None for other values."""
    if type(value) is BoundUserMethod:
        value = value.function
    if type(value) is UserFunction:
        return f"__main__.{value.code.qualified}"
    if type(value) is UserClass:
        return f"__main__.{value.qualified}"
    if not isinstance(value, (Function, PythonFunction)):
        return None
    namespace = getattr(value, "namespace", "torch")
    if is_python(value):
        return f"{'torch.functional' if namespace == 'torch' else namespace}.{value.name}"
    if namespace == "torch" or (namespace == "torch.nn.functional" and value.name in TORCH_FUNCTIONS):
        return f"torch._VariableFunctionsClass.{value.name}"
    place = "nn" if namespace in ("torch.nn.functional", "torch._C._nn") else namespace.removeprefix("torch.")
    return f"torch._C._{place}.{function_name(value)}"


def _repr_torch_function(value: Value) -> str:
    if is_python(value):
        return f"<function {value.name} at {address(value)}>"
    namespace = getattr(value, "namespace", "torch")
    if namespace == "torch" or (namespace == "torch.nn.functional" and value.name in TORCH_FUNCTIONS):
        return f"<built-in method {value.name} of type object at {address(value)}>"
    return f"<built-in function {function_name(value)}>"


#: by type, the repr of values that are not host values
_OWN: dict[type, Callable[[Value], str]] = {
    Tensor: tensor_repr,
    Size: repr,
    DType: repr,
    UserFunction: _repr_function,
    Decorated: lambda value: f"<function {value.name} at {address(value)}>",
    GradMode: _repr_grad_mode,
    Builtin: lambda value: value.shown,
    BoundMethod: _repr_bound,
    TypeValue: lambda value: f"<class '{value.path}'>",
    ExceptionType: lambda value: f"<class '{QUALIFIED.get(value.name, value.name)}'>",
    Namespace: lambda value: f"<module '{value.path}'>",
    ProgramError: _repr_error,
    UserClass: _repr_class,
    BoundUserMethod: _repr_bound_user,
    Super: lambda value: f"<super: {repr_text(value.after)}, <{value.after.name} object>>",
    IteratorValue: lambda value: f"<{value.kind} object {value.name + ' ' if value.kind == 'generator' else ''}at {address(value)}>",
    Generated: lambda value: f"<generator object {value.name} at {address(value)}>",
}


def _has_plain_repr(kind: type) -> bool:
    shown: object = kind.__repr__
    return shown is object.__repr__ or shown is repr_text


# the text of a value that core puts into a message by an f-string is the one that the program sees
for _kind in (*_OWN, Node, Plain, Scripted, UserObject, Instance, Generator, DictView, ClassMethod, StaticMethod, NativeMethod, Decorating):
    if _has_plain_repr(_kind):
        setattr(_kind, "__repr__", repr_text)  # noqa: B010


def _repr_own(value: Value) -> str:
    """The repr of a value that is not a host value: a step of the program, since what is shared is written at every place."""
    limits.evaluation.tick()
    text = _own_text(value)
    limits.check_string(len(text))
    return text


def _own_text(value: Value) -> str:
    kind = type(value)
    known = _OWN.get(kind)
    if known is not None:
        return known(value)
    if isinstance(value, Instance):
        return _repr_instance(value)
    if isinstance(value, NamedResult):
        return _repr_result(value)
    if hasattr(kind, "pieces"):
        return "".join([piece if type(piece) is str else repr_text(piece[0]) for piece in value.pieces()])
    if isinstance(value, FUNCTIONS):
        return _repr_torch_function(value)
    made = getattr(kind, "SCRIPT_TYPE", None)
    if made is not None and _has_plain_repr(kind):
        return f"<{made.module}.{made.name} object at {address(value)}>"
    if isinstance(value, Node) or _has_plain_repr(kind):
        return f"<{path_of(value)} object at {address(value)}>"
    return repr(value)
