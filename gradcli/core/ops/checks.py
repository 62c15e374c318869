"""Checks of arguments that many operations share, with PyTorch's errors: dimensions, shapes that broadcast, dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.graph.record import Op, broadcast_error, check_strides
from gradcli.core.kernels import Array, memory_format
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error

#: a Python number as an argument, and an operand of arithmetic, which may be one, or a complex number
Number = bool | int | float
Operand = Tensor | bool | int | float | complex


def with_method(input: Any, name: str) -> Tensor:
    """The input itself. Raises AttributeError for what is no tensor, and so has no method of this name."""
    if type(input) is not Tensor:
        raise no_attribute(input, name)
    return input


def check_not_mapped(name: str, input: Any) -> None:
    """Raise PyTorch's RuntimeError for a batched tensor, by a function whose result has a size that depends on the elements."""
    if state.mapped and type(input) is Tensor and state.mapped[-1].levels(input):
        raise runtime_error(
            f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{name}. Please file "
            "an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
        )


def check_no_samples(tensors: Sequence[Tensor], message: str) -> None:
    """Raise RuntimeError within vmap for tensors of which every sample has others."""
    if state.mapped and any(state.mapped[-1].levels(tensor) for tensor in tensors):
        raise runtime_error(message)


# --- dimensions and shapes ---

#: the bound of numpy's older iterators, among them those of broadcast_shapes, take_along_axis and add.at, which end the process beyond it;
#: PyTorch has none
MOST_DIMENSIONS = 32


def wrap_dim(dim: int, rank: int) -> int:
    """`dim` counted from 0, for a tensor of `rank` dimensions; a 0-d tensor takes 0 and -1. Raises IndexError if out of range."""
    size = max(rank, 1)
    if not -size <= dim < size:
        raise shape_error(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})", "IndexError")
    return dim % size


def is_sample(tensor: Tensor) -> bool:
    """Whether a tensor is a sample within vmap: PyTorch's rule for the batch then checks it in words of its own."""
    return tensor.batch is not None and bool(state.mapped and state.mapped[-1].levels(tensor))


def without_dimensions(tensor: Tensor, error: ProgramError) -> ProgramError:
    """The error of an operation along dimension 0 of a tensor without any. Of samples, PyTorch looks for dimension 1 of the batch."""
    if not is_sample(tensor):
        return error
    return shape_error("Dimension out of range (expected to be in range of [-1, 0], but got 1)", "IndexError")


def own_dim(tensor: Tensor, dim: int) -> int:
    """`dim` counted from 0, for a tensor that has it. Raises IndexError where there is no such dimension."""
    rank = tensor.array.ndim
    if not rank:
        raise without_dimensions(tensor, shape_error(f"Dimension specified as {dim} but tensor has no dimensions", "IndexError"))
    return wrap_dim(dim, rank)


def size(tensor: Tensor, dim: int) -> int:
    """The size of a dimension, as PyTorch's kernels ask for it. Raises IndexError where there is no such dimension."""
    return int(tensor.array.shape[own_dim(tensor, dim)])


def wrap_dims(dims: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """`dims` counted from 0, in their order; None and () mean all. Raises IndexError if out of range, RuntimeError if repeated."""
    if not dims:
        return tuple(range(rank))
    wrapped = tuple(wrap_dim(dim, rank) for dim in dims)
    for i, dim in enumerate(wrapped):
        if dim in wrapped[:i]:
            raise runtime_error(f"dim {dim} appears multiple times in the list of dims")
    return wrapped if rank else ()


def check_rank(rank: int) -> None:
    """Raise RuntimeError for more dimensions than numpy has."""
    if rank > MOST_DIMENSIONS:
        raise shape_error(f"a tensor of {rank} dimensions is not part of gradcli, which has at most {MOST_DIMENSIONS}")


def check_size(shape: Sequence[int], itemsize: int) -> None:
    """Raise RuntimeError for too many dimensions or too long strides, LimitError for too many bytes of a result of this shape."""
    check_rank(len(shape))
    limits.check_elements(math.prod(shape), itemsize)
    check_strides(shape)


def check_not_negative(shape: Sequence[int]) -> None:
    """Raise PyTorch's error of a view of this shape where a size is negative; with a size 0 too PyTorch makes the view."""
    if min(shape, default=0) < 0:
        text = "a tensor of a negative size is not part of gradcli" if 0 in shape else "numel: integer multiplication overflow"
        raise runtime_error(text)


def common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all shapes broadcast to. Raises RuntimeError where there is none, for the first shape that does not fit."""
    shape: tuple[int, ...] = ()
    for other in shapes:
        if not shape:
            shape = other
        elif shape != other:
            try:
                shape = np.broadcast_shapes(shape, other)
            except ValueError:
                raise broadcast_error(shape, other) from None
    return shape


def check_broadcast(arrays: Sequence[Array]) -> None:
    """Raise RuntimeError for arrays that do not broadcast, LimitError where the result would be too large."""
    shape = arrays[0].shape
    if any(a.shape != shape for a in arrays):
        limits.check_elements(math.prod(common_shape([a.shape for a in arrays])), arrays[-1].itemsize)


# --- the argument `memory_format` ---

#: the formats with channels last, and how many dimensions they need
CHANNELS_LAST = {"channels_last": 4, "channels_last_3d": 5}


def strides_of(shape: Sequence[int], format: Any) -> memory_format.Strides | None:
    """The strides that a format gives a tensor; None for none and `torch.preserve_format`. Raises RuntimeError for a wrong rank."""
    if format is None or format.name == "preserve_format":
        return None
    if format.name == "contiguous_format":
        return memory_format.contiguous_strides(shape)
    rank = CHANNELS_LAST[format.name]
    if len(shape) != rank:
        raise runtime_error(f"required rank {rank} tensor to use {format.name} format")
    return memory_format.channels_last_strides(shape)


def in_format(array: Array, format: Any) -> Array:
    """The array with the strides of a format: itself, or a copy."""
    strides = strides_of(array.shape, format)
    return array if strides is None else memory_format.laid_out(array, strides)


def is_in(array: Array, format: Any) -> bool:
    """Whether an array is in a format; False for a wrong rank."""
    rank = CHANNELS_LAST.get(getattr(format, "name", ""))
    return bool(array.flags.c_contiguous) if rank is None else array.ndim == rank and memory_format.is_channels_last(array)


def is_contiguous(tensor: Tensor, format: Any) -> bool:
    """`is_contiguous(memory_format=...)`. RuntimeError for a sample of vmap and a format with channels last."""
    if tensor.batch is not None and getattr(format, "name", "") in CHANNELS_LAST:
        raise runtime_error("NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format")
    return is_in(tensor.array, format)


def suggests(array: Array, format: Any) -> bool:
    """Whether PyTorch takes an array to be in a format already, so that `to` leaves it as it is."""
    if format is None or format.name == "preserve_format":
        return True
    rank = CHANNELS_LAST.get(format.name)
    last = memory_format.suggests_channels_last(array)
    return not last if rank is None else last and array.ndim == rank


# --- dtypes ---


def not_implemented(kernel: str, dtype: DType, code: Code = Code.NO_KERNEL) -> ProgramError:
    """The error of PyTorch's kernel of that name for a dtype that it has not been written for."""
    text = f"\"{kernel}\" not implemented for '{dtype.torch_name}'"
    return ProgramError("NotImplementedError", text, code=code, names=(kernel, dtype.torch_name))


#: kernels that PyTorch has for complex tensors, too
_OF_COMPLEX = ("slow_conv", "rms_norm", "im2col", "col2im", "normal_kernel")


def require_floating(kernel: str, dtype: DType) -> None:
    """Raise NotImplementedError for bool and integers."""
    if not dtype.is_floating_point:
        if dtype.is_complex and kernel.startswith(_OF_COMPLEX):
            refuse_complex(kernel, dtype)
        raise not_implemented(kernel, dtype)


def refuse_complex(function: str, dtype: DType) -> None:
    """Raise PyTorch's error of a function for a complex dtype."""
    if dtype.is_complex:
        from gradcli.core.calling import complex_refusals  # most tensors are real

        raise complex_refusals.refusal(function, dtype)


def refuse_bool(kernel: str, dtype: DType) -> None:
    """Raise NotImplementedError for bool."""
    if dtype is dtypes.bool_:
        raise not_implemented(kernel, dtype)


def refuse_half(kernel: str, dtype: DType) -> None:
    """Raise NotImplementedError for float16 and bfloat16."""
    if dtype is dtypes.float16 or dtype is dtypes.bfloat16:
        raise not_implemented(kernel, dtype)


def checked(op: Op, check: Callable[[str, DType], None], kernel: str) -> Callable[..., Any]:
    """An implementation that calls `op` after one of the checks above of the dtype that its operands promote to."""
    count = len(op.tensors)

    def run_one(*args: Any) -> Any:
        check(kernel, args[0].dtype)
        return op(*args)

    def run(*args: Any) -> Any:
        check_broadcast([t.array for t in args[:count] if type(t) is Tensor])
        check(kernel, dtypes.result_type(args[:count]))
        return op(*args)

    return run_one if count == 1 else run


def scalar_type_error(expected: DType, found: DType) -> ProgramError:
    """The error for a tensor whose dtype differs from that of another."""
    return runtime_error(f"expected scalar type {expected.torch_name} but found {found.torch_name}", Code.DTYPES_DIFFER)
