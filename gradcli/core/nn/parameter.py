"""`nn.Parameter`, a leaf tensor that a module registers, and the initial parameters of modules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.autograd.tensor_state import check_inference, detach
from gradcli.core.calling import warnings
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.kernels import Array, blocks
from gradcli.core.ops.create.random_tensors import uniform
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, shape_error


def as_parameter(tensor: Tensor, requires_grad: bool = True) -> Tensor:
    """A parameter that shares memory with a tensor. RuntimeError for a dtype that cannot require gradients."""
    if requires_grad and not tensor.dtype.is_differentiable:
        raise dtypes.cannot_require_grad()
    if requires_grad:
        check_inference(tensor)
    made = detach(tensor)
    made.meta = {"parameter": True}
    made.meta |= {name: True for name in ("inference", "conj", "neg") if tensor.property_of(name)}
    made.requires_grad = requires_grad
    return made


def new_parameter(array: Array, dtype: DType | None = None, writes: int = 1) -> Tensor:
    """A parameter with an array as its memory, and the version of one that PyTorch has written its first numbers into."""
    data = Tensor(array, dtypes.of(array.dtype) if dtype is None else dtype)
    if state.inference:
        data.set_property("inference", True)
    made = as_parameter(data)
    made.counter().count = writes
    return made


def _parameter(data: Any = None, requires_grad: Any = True) -> Tensor:
    if data is None:
        default = dtypes.get_default()
        return as_parameter(Tensor(np.empty(0, default.np), default), bool(requires_grad))
    if type(data) is not Tensor:
        raise no_attribute(data, "detach")
    return as_parameter(data, bool(requires_grad))


Parameter = ScriptType("Parameter", "torch.nn.parameter", _parameter, lambda value: isinstance(value, Tensor) and value.is_parameter)


def _buffer(data: Any = None, *, persistent: Any = True) -> Tensor:
    made = _parameter(data, False) if data is None or type(data) is not Tensor else detach(data)
    made.meta = {"buffer": True, "persistent": persistent}
    made.requires_grad = data is not None and data.requires_grad
    return made


def is_buffer(value: object) -> bool:
    """Whether a value is a tensor that a module registers as a buffer when it is assigned."""
    return isinstance(value, Tensor) and bool(value.property_of("buffer"))


Buffer = ScriptType("Buffer", "torch.nn.parameter", _buffer, is_buffer)


# --- initial parameters ---


def refill(tensor: Tensor, initial: Tensor) -> None:
    """Write initial values into a tensor, outside the graph. NotImplementedError for one of another shape than it began with."""
    if tensor.array.shape != initial.array.shape:
        raise ProgramError("NotImplementedError", "reset_parameters of a module whose parameters have other shapes is not part of gradcli")
    blocks.settle()
    tensor.array[...] = dtypes.cast(initial.array, tensor.dtype)
    tensor.counter().count += initial.counter().count


def floating(dtype: Any) -> DType:
    """The dtype of new parameters and buffers: the `dtype` argument of a module, or the default. TypeError if it is no dtype."""
    if dtype is None:
        return dtypes.get_default()
    wanted = dtype if isinstance(dtype, DType) else language.as_dtype(dtype)
    if wanted is None:
        raise ProgramError("TypeError", f"empty(): argument 'dtype' must be torch.dtype, not {language.type_name(dtype)}")
    return wanted


def checked_size(size: tuple[Any, ...], dtype: DType) -> tuple[int, ...]:
    """The shape of a new parameter, checked with the errors of `torch.empty` and against the limit of elements."""
    size = tuple(map(language.plain, size))
    for position, n in enumerate(size, 1):
        if type(n) is not int:
            kind = language.type_name(n)
            wrong = f"(position 1) must be tuple of ints, but found element of type {kind} at pos 0"
            if position > 1:  # the parser of arguments has looked at the first alone
                wrong = f'failed to unpack the object at pos {position} with error "type must be tuple of ints,but got {kind}"'
            raise shape_error(f"empty(): argument 'size' {wrong}", "TypeError")
    for n in size:
        if n < 0:
            raise shape_error(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    limits.check_elements(math.prod(size), dtype.itemsize)
    return size


def uniform_parameter(size: tuple[int, ...], bound: float, dtype: DType) -> Tensor:
    """A parameter drawn uniformly between -bound and bound. RuntimeError for a dtype that cannot require gradients."""
    if not dtype.is_differentiable:
        raise dtypes.cannot_require_grad()
    return new_parameter(uniform(size, dtype, None, -bound, bound), dtype)


def kaiming_parameter(size: tuple[int, ...], fan_in: int, dtype: DType) -> Tensor:
    """A weight drawn as by kaiming_uniform_ with a = sqrt(5): uniform within 1 / sqrt(fan_in), but for rounding."""
    if 0 in size:
        warnings.emit("Initializing zero-element tensors is a no-op", inside="reset_parameters")
        return new_parameter(np.zeros(size, dtype.np), dtype, 0)
    return uniform_parameter(size, math.sqrt(3.0) * (math.sqrt(2.0 / (1 + math.sqrt(5) ** 2)) / math.sqrt(fan_in)), dtype)
