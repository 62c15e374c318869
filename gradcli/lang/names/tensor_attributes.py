"""The attributes of a tensor, and those of its methods that are not functions of core."""

from __future__ import annotations

from collections.abc import Callable

from gradcli.core.autograd import tensor_state
from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.ops import operators as core
from gradcli.core.ops.checks import check_no_samples
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.vocabulary import torch_types
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import operators, subscripts
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED, truth
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.value_classes import MISSING


def _transposed(name: str) -> Callable[[Tensor], Value]:
    def get(tensor: Tensor) -> Value:
        from gradcli.core.ops.shape import transpose

        return {"T": transpose.T, "H": transpose.H}[name](tensor) if name in ("T", "H") else transpose.mT(tensor, name)

    return get


#: attributes that are False for every tensor
_NEVER = (
    *("is_cuda", "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized", "is_sparse"),
    *("is_sparse_csr", "is_vulkan", "is_xla", "is_xpu"),
)


def _part(name: str) -> Callable[[Tensor], Value]:
    return lambda tensor: catalog.function(name)(tensor)


def _volatile(tensor: Tensor) -> bool:
    warnings.emit("volatile was removed (Variable.volatile is always False)")
    return False


def _persistent(tensor: Tensor) -> Value:
    return tensor.property_of("persistent") if tensor.property_of("buffer") else MISSING


def _base(tensor: Tensor) -> Tensor | None:
    # autograd does not follow the views of inference tensors
    return None if tensor.view is None or tensor.property_of("inference") else tensor.view.base


def _grad_fn(tensor: Tensor) -> Node | None:
    node = tensor.grad_fn
    return None if node is not None and (node.hidden or _is_hidden(tensor)) else node


def _backward_hooks(tensor: Tensor) -> Value:
    from gradcli.core.autograd.hooks import hooks_of

    return hooks_of(tensor)


def _is_hidden(tensor: Tensor) -> bool:
    return bool(state.mapped) and state.mapped[-1].hides(tensor)


GETTERS: dict[str, Callable[[Tensor], Value]] = {
    "data": tensor_state.read_data,
    "grad": tensor_state.read_grad,
    "grad_fn": _grad_fn,
    "grad_dtype": tensor_state.read_grad_dtype,
    "requires_grad": lambda t: t.requires_grad and not _is_hidden(t),
    "is_leaf": lambda t: _grad_fn(t) is None,
    "shape": lambda t: t.shape,
    "dtype": lambda t: t.dtype,
    "device": lambda t: torch_types.CPU,
    "layout": lambda t: torch_types.STRIDED,
    "ndim": lambda t: t.array.ndim,
    "itemsize": lambda t: t.dtype.itemsize,
    "nbytes": lambda t: t.array.size * t.dtype.itemsize,
    **dict.fromkeys(_NEVER, lambda t: False),
    "is_cpu": lambda t: True,
    "name": lambda t: None,
    "volatile": _volatile,
    "real": _part("real"),
    "imag": _part("imag"),
    "T": _transposed("T"),
    "H": _transposed("H"),
    "mT": _transposed("mT"),
    "mH": _transposed("mH"),
    "persistent": _persistent,
    "retains_grad": lambda t: bool(t.property_of("retains_grad")),
    "output_nr": lambda t: t.output_nr,
    "_version": tensor_state.read_version,
    "_base": _base,
    "_backward_hooks": _backward_hooks,
}


def _set_part(name: str) -> Callable[[Tensor, Value], None]:
    def write(tensor: Tensor, value: Value) -> None:
        from gradcli.core.graph import in_place
        from gradcli.core.ops.index.indexing import value_tensor

        part = catalog.function(name)(tensor)
        in_place.copy_(part, value_tensor(part, value))

    return write


SETTERS: dict[str, Callable[[Tensor, Value], None]] = {
    "real": _set_part("real"),
    "imag": _set_part("imag"),
    "data": core.set_data,
    "grad": tensor_state.write_grad,
    "grad_dtype": tensor_state.write_grad_dtype,
    "requires_grad": tensor_state.assign_requires_grad,
}


def _numpy(tensor: Tensor, /, *args: Value, **kwargs: Value) -> Value:
    if args:
        verb = "was" if len(args) == 1 else "were"
        raise ProgramError("TypeError", f"numpy() takes 0 positional arguments but {len(args)} {verb} given")
    for name in kwargs:
        if name != "force":
            raise ProgramError("TypeError", f"numpy() got an unexpected keyword argument '{name}'")
    force = kwargs.get("force", False)
    if type(force) is not bool:
        raise ProgramError("TypeError", f"numpy(): argument 'force' must be bool, not {type_name(force)}")
    from gradcli.lang.arrays import namespace

    if not tensor.requires_grad or _is_hidden(tensor):
        check_no_samples((tensor,), "Cannot access data pointer of Tensor that doesn't have storage")
    return namespace.array_value(tensor_state.to_numpy(tensor_state.detach(tensor) if force else tensor))


def _is_nonzero(tensor: Tensor) -> bool:
    return truth(tensor)


def _is_view(tensor: Tensor) -> bool:
    return _base(tensor) is not None


def _of_storage(name: str) -> Callable[[Tensor], Value]:
    """A method that `gradcli.lang.names.storages` has, which few programs need."""

    def call(tensor: Tensor) -> Value:
        from gradcli.lang.names import storages

        return storages.METHODS[name](tensor)

    return call


def _operator(run: Callable[[Value, Value], Value], name: str) -> Callable[..., Value]:
    def call(tensor: Tensor, other: Value, /) -> Value:
        if type(other) not in (int, float, bool, complex, Tensor):
            raise ProgramError("NotImplementedError", f"Tensor.{name} takes a number or a tensor here")
        if name.endswith("matmul__") and type(other) is not Tensor:
            return NOT_IMPLEMENTED
        return run(tensor, other)

    return call


def _reflected(name: str) -> Callable[..., Value]:
    """The operator of a tensor on the right; beside another tensor it has the order of PyTorch's method."""
    operate = operators.BINARY[_ARITHMETIC[name]]

    def run(tensor: Tensor, other: Value) -> Value:
        if type(other) is Tensor:
            if name == "sub":
                return catalog.function("rsub")(tensor, other)
            if name in ("div", "truediv"):
                return operators.BINARY["*"](catalog.function("reciprocal")(tensor), other)
            if name in ("add", "mul", "and", "or", "xor"):
                return operate(tensor, other)
        return operate(other, tensor)

    return _operator(run, f"__r{name}__")


_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@"}
_ARITHMETIC |= {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}
_ORDER = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

#: operators by the names that Python gives them
OPERATORS: dict[str, Callable[..., Value]] = {
    **{f"__{name}__": _operator(operators.BINARY[symbol], f"__{name}__") for name, symbol in _ARITHMETIC.items()},
    **{f"__{name}__": _operator(operators.COMPARE[symbol], f"__{name}__") for name, symbol in _ORDER.items()},
    **{f"__r{name}__": _reflected(name) for name in _ARITHMETIC},
    **{f"__i{name}__": _operator(operators.INPLACE[symbol], f"__i{name}__") for name, symbol in _ARITHMETIC.items() if name != "matmul"},
    "__getitem__": lambda tensor, index, /: subscripts.getitem(tensor, index),
    "__neg__": operators.UNARY["-"],
    "__pos__": operators.UNARY["+"],
    "__invert__": operators.UNARY["~"],
    "__abs__": lambda tensor, /: catalog.function("abs")(tensor),
}

#: called with the tensor first
METHODS: dict[str, Callable[..., Value]] = {
    "numpy": _numpy,
    "is_nonzero": _is_nonzero,
    "new": lambda tensor, /, *args, **kwargs: torch_types.legacy(tensor.dtype)(*args, **kwargs),
    "_is_view": _is_view,
    **{name: _of_storage(name) for name in ("data_ptr", "untyped_storage", "storage")},
    **OPERATORS,
}
