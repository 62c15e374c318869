"""The masks of torch.masked: brought to the shape of the input, and what takes the place of the elements that they leave out."""

from __future__ import annotations

from types import NoneType
from typing import Any

import numpy as np

from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions.catalog import function, method
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.create.leaf import leaf
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

_LOWEST = ("amax", "logaddexp", "logsumexp", "argmax")


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions from the first to the last; None and () are all. Raises RuntimeError, IndexError."""
    if dim is None or (isinstance(dim, tuple) and not dim):
        return tuple(range(ndim))
    dims: list[int] = []
    for d in dim if isinstance(dim, list | tuple) else (dim,):
        if type(d) is not int:
            raise ProgramError("NotImplementedError", "torch.masked takes integers for dimensions")
        if d in dims:
            raise runtime_error(f"dim={d} appears multiple times in the list of dims")
        dims.append(wrap_dim(d, ndim))
    return tuple(sorted(dims))


def dtype_of(input: Any, dtype: DType | None, read: str = "dtype") -> DType:
    """The dtype that a call asks for, or that of the input, whose attribute `read` PyTorch reads first. Raises AttributeError."""
    if type(input) is not Tensor:
        raise no_attribute(input, "ndim" if dtype else read)
    return dtype or input.dtype


def to(tensor: Tensor, dtype: DType) -> Tensor:
    """The tensor in the dtype: itself, where it has it."""
    made: Tensor = method("to").method(tensor, (dtype,), {})
    return made


def mask_of(input: Tensor, mask: Tensor) -> Tensor:
    """The mask as booleans in the shape of the input. Raises IndexError, RuntimeError."""
    if mask.shape != input.shape:
        if mask.array.ndim > input.array.ndim:
            raise ProgramError("IndexError", "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
        mask = function("broadcast_to")(function("clone")(mask), input.shape)
    return to(mask, dtypes.bool_)


def filled(name: str, input: Tensor, mask: Tensor | None, ord: Any = 2) -> Tensor:
    """The input, with the value that changes nothing in the operation `name` where the mask is False."""
    if mask is None:
        return input
    selected = mask_of(input, mask)
    value = np.asarray(_identity(name, input.dtype, ord))
    made: Tensor = function("where")(selected, input, leaf(dtypes.cast(value, input.dtype), input.dtype))
    return made


def _identity(name: str, dtype: DType, ord: Any) -> Any:
    if name in ("sum", "prod"):
        return int(name == "prod")
    if name == "median":
        return np.nan
    if name == "norm":
        if type(ord) not in (int, float, NoneType):
            raise ProgramError("NotImplementedError", "torch.masked.norm takes a number for the order")
        if ord != -np.inf:
            return 0
        if not dtype.is_floating_point:
            raise ProgramError("AssertionError", f"input must be floating point, got {dtype}")
        return np.inf
    lowest = name in _LOWEST
    if dtype.is_floating_point or (dtype.is_complex and name == "logsumexp"):
        return -np.inf if lowest else np.inf
    if dtype.is_complex:
        raise ProgramError("TypeError", "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
    if dtype is dtypes.bool_:
        raise ProgramError("NotImplementedError", f"identity of {name} on {dtype} input")
    bounds = np.iinfo(dtype.np)
    return bounds.min if lowest else bounds.max
