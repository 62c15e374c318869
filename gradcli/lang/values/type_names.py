"""How messages and `repr` name the type of a value."""

from __future__ import annotations

from gradcli.core.autograd.grad_mode import GradMode
from gradcli.core.calling.named_tuples import NamedResult, NamedTuple
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.random.generator import Generator
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.vocabulary import torch_types
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import Instance
from gradcli.lang.values.user_classes import BoundUserMethod, UserClass
from gradcli.lang.values.value_classes import FUNCTIONS, BoundMethod, Builtin, ExceptionType, IteratorValue, Namespace, TypeValue

#: by class, the name of the type where it is not the name of the class
_PATHS: dict[type, str] = {
    Builtin: "builtin_function_or_method",
    BoundMethod: "builtin_function_or_method",
    TypeValue: "type",
    ExceptionType: "type",
    Namespace: "module",
    UserClass: "type",
    BoundUserMethod: "method",
    DType: "torch.dtype",
    Size: "torch.Size",
    Tensor: "Tensor",
    ScriptType: "type",
    Generator: "torch._C.Generator",
    torch_types.Device: "torch.device",
    torch_types.Symbol: "torch.layout",
    torch_types.MemoryFormat: "torch.memory_format",
}

#: types written in C that say their module in messages; by the name that `path_of` gives
OF_C = {
    "deque": "collections.deque",
    "OrderedDict": "collections.OrderedDict",
    "defaultdict": "collections.defaultdict",
    "partial": "functools.partial",
}


def path_of(value: Value) -> str:
    """The dotted name of a value's type, as PyTorch's messages give it."""
    kind = type(value)
    known = _PATHS.get(kind)
    if known is not None:
        return "Parameter" if kind is Tensor and value.is_parameter else known
    if isinstance(value, Instance):
        return f"__main__.{value.cls.qualified}"
    if kind is IteratorValue:
        return str(value.kind)
    if getattr(kind, "SHOWS_MAPPING", False):
        return str(value.name)
    if isinstance(value, Node):
        return value.path
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


def type_name(value: Value) -> str:
    """The name of a value's type in messages, such as "'int' object is not callable"."""
    path = path_of(value)
    whole = path.startswith(("torch.return_types.", "torch._C.", "itertools."))
    whole = whole or (path.startswith(("torch.", "numpy.")) and path.count(".") == 1)
    return path if whole else OF_C.get(path) or path.rpartition(".")[2]


def type_repr(value: Value) -> str:
    """`repr(type(value))`, such as `<class 'int'>`, of a value that is not a tensor."""
    declared = getattr(type(value), "SCRIPT_TYPE", None)
    if declared is not None:
        return repr(declared)
    return f"<class '{value.kind if type(value) is ProgramError else OF_C.get(path := path_of(value), path)}'>"
