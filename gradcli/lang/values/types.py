"""Types as values: what `type(x)` gives, how types are named in messages, and what `isinstance` accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling.named_tuples import NamedResult, NamedTuple
from gradcli.core.calling.script_types import Routine, ScriptType
from gradcli.core.functions.function import Function, InplaceFunction
from gradcli.core.graph.grad_mode import GradMode
from gradcli.core.random import seeds
from gradcli.core.random.generator import Generator
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.vocabulary import library, torch_types
from gradcli.errors import ProgramError
from gradcli.lang.python.dict_views import DictView, ItemsView, KeysView, ValuesView
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import BoundMethod, Builtin, ExceptionType, IteratorValue, Namespace, NumpyArray, TypeValue, register

#: classes of core whose instances are functions
FUNCTIONS = (Function, InplaceFunction, Routine)

register(UserFunction, Tensor, DType, Generator, ScriptType, KeysView, ValuesView, ItemsView, subclasses=FUNCTIONS)

#: names of types in messages, by host class, where they are not the host class's own
_PATHS: dict[type, str] = {
    UserFunction: "function",
    Builtin: "builtin_function_or_method",
    BoundMethod: "builtin_function_or_method",
    TypeValue: "type",
    ExceptionType: "type",
    Namespace: "module",
    NumpyArray: "numpy.ndarray",
    DType: "torch.dtype",
    Size: "torch.Size",
    Tensor: "Tensor",
    ScriptType: "type",
    Generator: "torch._C.Generator",
    torch_types.Device: "torch.device",
    torch_types.Symbol: "torch.layout",
}


def path_of(value: Any) -> str:
    """The dotted name of a value's type, as PyTorch's messages give it."""
    kind = type(value)
    known = _PATHS.get(kind)
    if known is not None:
        return "Parameter" if kind is Tensor and value.is_parameter else known
    if kind is IteratorValue:
        return str(value.kind)
    if isinstance(value, Node):
        return value.type_name
    if isinstance(value, DictView):
        return value.name
    if isinstance(value, NamedTuple):
        return value.type_name
    if isinstance(value, NamedResult):
        return f"torch.return_types.{value.type_name}"
    if kind is ProgramError:
        return str(value.type_name)
    if kind is GradMode:
        return f"torch.autograd.grad_mode.{value.kind}"
    if isinstance(value, FUNCTIONS):
        return "function" if isinstance(value, Routine) else "builtin_function_or_method"
    return str(getattr(kind, "SCRIPT_NAME", kind.__name__))


def type_name(value: Any) -> str:
    """The name of a value's type in messages, such as "'int' object is not callable"."""
    path = path_of(value)
    whole = path.startswith("torch.return_types.") or (path.startswith(("torch.", "numpy.")) and path.count(".") == 1)
    return path if whole else path.rpartition(".")[2]


def _maker(name: str) -> Callable[..., Any]:
    """The constructor of a host type; it lives above this module."""

    def make(*args: Any, **kwargs: Any) -> Any:
        from gradcli.lang.values.constructors import MAKERS

        return MAKERS[name](*args, **kwargs)

    return make


def _host(kind: type, *also: type) -> TypeValue:
    kinds = (kind, *also)
    return TypeValue(kind.__name__, lambda value: type(value) in kinds, _maker(kind.__name__))


def _make_type(*args: Any, **kwargs: Any) -> Any:
    if len(args) != 1 or kwargs:
        raise ProgramError("TypeError", "type() takes 1 argument: classes are not part of gradcli's language")
    return type_of(args[0])


INT = _host(int, bool)
FLOAT = _host(float)
BOOL = _host(bool)
STR = _host(str)
LIST = _host(list)
TUPLE = TypeValue("tuple", lambda value: isinstance(value, tuple), _maker("tuple"))
DICT = _host(dict)
SET = _host(set)
RANGE = _host(range)
SLICE = _host(slice)
TYPE = TypeValue("type", lambda value: type(value) in (TypeValue, ExceptionType, ScriptType), _make_type)
OBJECT = TypeValue("object", lambda value: True)

_BY_CLASS: dict[type, TypeValue | ScriptType] = {
    int: INT,
    float: FLOAT,
    bool: BOOL,
    str: STR,
    list: LIST,
    tuple: TUPLE,
    dict: DICT,
    set: SET,
    range: RANGE,
    slice: SLICE,
    TypeValue: TYPE,
    ExceptionType: TYPE,
    ScriptType: TYPE,
    Size: torch_types.SIZE,
    DType: torch_types.DTYPE,
    torch_types.Device: torch_types.DEVICE,
    Generator: seeds.GENERATOR,
}

#: types made when first asked for, by path
_by_path: dict[str, TypeValue] = {}
_exceptions: dict[str, ExceptionType] = {}


def exception_type(name: str) -> ExceptionType:
    """The exception type of a name; always the same object."""
    known = _exceptions.get(name)
    if known is None:
        known = _exceptions[name] = ExceptionType(name)
    return known


def type_of(value: Any) -> TypeValue | ExceptionType | ScriptType:
    """`type(value)`; equal types are the same object."""
    kind = type(value)
    known = _BY_CLASS.get(kind)
    if known is not None:
        return known
    if kind is Tensor:
        return library.find("nn.Parameter") if value.is_parameter else torch_types.TENSOR
    if kind is ProgramError:
        return exception_type(value.type_name)
    declared = getattr(kind, "SCRIPT_TYPE", None)
    if declared is not None:
        return declared  # type: ignore[no-any-return]
    path = path_of(value)
    made = _by_path.get(path)
    if made is None:
        made = _by_path[path] = TypeValue(path, lambda other: path_of(other) == path)
    return made


def is_instance(value: Any, wanted: Any) -> bool:
    """`isinstance(value, wanted)`: a type, or a tuple of them, nested."""
    pending = [wanted]
    while pending:
        one = pending.pop()
        if type(one) is TypeValue:
            if one.check(value):
                return True
        elif type(one) is ScriptType:
            if one.test(value):
                return True
        elif type(one) is ExceptionType:
            if type(value) is ProgramError and _derives(value.type_name, one.name):
                return True
        elif isinstance(one, tuple):
            pending.extend(one)
        else:
            text = "isinstance() arg 2 must be a type, a tuple of types, or a union"
            raise ProgramError("TypeError", text)
    return False


def _derives(name: str, ancestor: str) -> bool:
    from gradcli.errors import is_exception_subtype

    return ancestor in ("Exception", "BaseException") or is_exception_subtype(name, ancestor)
