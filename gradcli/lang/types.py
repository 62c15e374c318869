"""Types as values: what `type(x)` gives, how types are named in messages, and what `isinstance` accepts."""

from __future__ import annotations

from typing import Any

from gradcli.core.dtypes import DType
from gradcli.core.graph import Node
from gradcli.core.tensor import Size, Tensor
from gradcli.errors import ProgramError
from gradcli.lang.functions import UserFunction
from gradcli.lang.values import (
    BoundMethod,
    Builtin,
    ExceptionType,
    IteratorValue,
    Namespace,
    NumpyArray,
    TypeValue,
    register,
)
from gradcli.lang.views import DictView, ItemsView, KeysView, ValuesView

register(UserFunction, Tensor, Size, DType, KeysView, ValuesView, ItemsView)

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
}

#: classes of core that are functions
_FUNCTIONS = ("Function", "InplaceFunction")


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
    if kind is ProgramError:
        return str(value.type_name)
    if kind.__name__ in _FUNCTIONS:
        return "builtin_function_or_method"
    return str(getattr(kind, "SCRIPT_TYPE", kind.__name__))


def type_name(value: Any) -> str:
    """The name of a value's type in messages, such as "'int' object is not callable"."""
    path = path_of(value)
    return path if path.startswith(("torch.", "numpy.")) and path.count(".") == 1 else path.rpartition(".")[2]


def _is(kind: type) -> TypeValue:
    return TypeValue(kind.__name__, lambda value: type(value) is kind)


def _make_type(value: Any = ..., *more: Any, **kwargs: Any) -> Any:
    if more or kwargs or value is ...:
        raise ProgramError("TypeError", "type() takes 1 argument: classes are not part of gradcli's language")
    return type_of(value)


INT = TypeValue("int", lambda value: type(value) in (int, bool))
FLOAT = _is(float)
BOOL = _is(bool)
STR = _is(str)
LIST = _is(list)
TUPLE = TypeValue("tuple", lambda value: isinstance(value, tuple))
DICT = _is(dict)
SET = _is(set)
RANGE = _is(range)
SLICE = _is(slice)
TYPE = TypeValue("type", lambda value: type(value) in (TypeValue, ExceptionType), _make_type)
OBJECT = TypeValue("object", lambda value: True)
TENSOR = TypeValue("torch.Tensor", lambda value: type(value) is Tensor)
PARAMETER = TypeValue("torch.nn.parameter.Parameter", lambda value: type(value) is Tensor and value.is_parameter)
SIZE = TypeValue("torch.Size", lambda value: type(value) is Size)
DTYPE = TypeValue("torch.dtype", lambda value: type(value) is DType)

_BY_CLASS: dict[type, TypeValue] = {
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
    Size: SIZE,
    DType: DTYPE,
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


def type_of(value: Any) -> TypeValue | ExceptionType:
    """`type(value)`; equal types are the same object."""
    kind = type(value)
    known = _BY_CLASS.get(kind)
    if known is not None:
        return known
    if kind is Tensor:
        return PARAMETER if value.is_parameter else TENSOR
    if kind is ProgramError:
        return exception_type(value.type_name)
    path = path_of(value)
    made = _by_path.get(path)
    if made is None:
        made = _by_path[path] = TypeValue(path, lambda other: path_of(other) == path)
    return made


def named_type(path: str) -> TypeValue:
    """The type that values with this path have; for namespaces that offer it by name."""
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


