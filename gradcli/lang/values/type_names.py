"""How messages and `repr` name the type of a value."""

from __future__ import annotations

from gradcli.core.autograd.grad_mode import GradMode
from gradcli.core.calling.named_tuples import NamedResult, NamedTuple
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.functions import catalog
from gradcli.core.functions._index import METHODS
from gradcli.core.functions.function import Function, PythonMethod
from gradcli.core.functions.python_function import PythonFunction
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
    torch_types.TypeInfo: "torch.finfo",
    torch_types.IntegerInfo: "torch.iinfo",
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

#: what PyTorch writes in Python, besides what takes its arguments as Python does: functions of torch, and methods of tensors
_TORCH_FUNCTIONS = {
    *("einsum", "meshgrid", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "broadcast_shapes"),
    *("cartesian_prod", "chain_matmul"),
}
_TENSOR_METHODS = {
    *("norm", "split", "unique", "unique_consecutive", "stft", "istft", "lu", "storage", "unflatten", "is_shared", "share_memory_"),
}


def is_python(value: Value) -> bool:
    """Whether a function or bound method of the library is one that PyTorch writes in Python."""
    if type(value) is not BoundMethod:
        named = isinstance(value, Function) and (bool(value.python_name) or value.name in _TORCH_FUNCTIONS)
        return named or isinstance(value, (Routine, PythonFunction))
    owner = value.owner
    if type(owner) is Tensor:
        return value.name in _TENSOR_METHODS or (value.name in METHODS and type(catalog.method(value.name)) is PythonMethod)
    return isinstance(value.function, Routine) and type(owner) is not Generator and path_of(owner) not in OF_C


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
    if kind is BoundMethod:
        return "method" if is_python(value) else "builtin_function_or_method"
    if isinstance(value, FUNCTIONS):
        return "function" if is_python(value) else "builtin_function_or_method"
    return str(getattr(kind, "SCRIPT_NAME", kind.__name__))


def type_name(value: Value) -> str:
    """The name of a value's type in messages, such as "'int' object is not callable"."""
    path = path_of(value)
    whole = path.startswith(("torch.return_types.", "torch._C.", "itertools."))
    whole = whole or (path.startswith(("torch.", "numpy.")) and path.count(".") == 1)
    return path if whole else OF_C.get(path) or path.rpartition(".")[2]


def type_repr(value: Value) -> str:
    """`repr(type(value))`, such as `<class 'int'>`."""
    if type(value) is Tensor:
        return f"<class '{'torch.nn.parameter.Parameter' if value.is_parameter else 'torch.Tensor'}'>"
    declared = getattr(type(value), "SCRIPT_TYPE", None)
    if declared is not None:
        return repr(declared)
    return f"<class '{value.kind if type(value) is ProgramError else OF_C.get(path := path_of(value), path)}'>"
