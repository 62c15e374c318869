"""What all functions share that make a tensor: their options, checks of its sizes, and the leaf that they return."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Overload
from gradcli.core.functions.out import Out
from gradcli.core.graph.record import check_strides
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import check_rank, strides_of
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error

OPTIONS = "dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False"
#: the options of functions that take the shape of a tensor
LIKE = f"memory_format? memory_format=None, {OPTIONS}"


#: the errors of kernels, which run after the memory is there
_BY_KERNELS = (Code.NO_KERNEL, Code.NUMBER_TOO_LARGE, Code.AFTER_CHECKS)


def leaf(array: Array, dtype: DType, requires_grad: bool = False) -> Tensor:
    """A tensor without history. Raises RuntimeError if it requires a gradient that its dtype cannot have."""
    out = Tensor(array, dtype)
    if requires_grad:
        if not dtype.is_differentiable:
            raise dtypes.cannot_require_grad()
        out.requires_grad = True
    if state.inference:
        out.meta = {"inference": True}
    return out


def cannot_pin() -> ProgramError:
    """PyTorch's error for `pin_memory=True` where no accelerator is there."""
    return runtime_error(
        "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this system."
    )


def check_new_sizes(values: list[Any], out: Tensor) -> None:
    """Raise RuntimeError for a negative size, in the words of PyTorch's resize."""
    for sizes in values:
        if isinstance(sizes, tuple) and sizes and min(sizes) < 0 and 0 not in sizes:
            raise shape_error("numel: integer multiplication overflow")


#: how functions that make a new tensor take `out`
NEW = Out(autograd="fallback", silent=True, memory="unchecked", inspect=check_new_sizes)


def making(
    parameters: str, run: Callable[..., tuple[Array, DType]], options: str = OPTIONS, whole: bool = False, late: bool = False
) -> Overload:
    """An overload that makes a leaf: `run` gets the values of `parameters`, then the dtype or None; `whole`: layout and pin_memory too.

    `late`: PyTorch checks the values before it refuses `pin_memory`.
    """

    def make(*values: Any) -> Tensor:
        *own, dtype, layout, _device, pin_memory, requires_grad = values
        if pin_memory and not (whole or late):
            raise cannot_pin()
        for value in own if state.mapped else ():
            if type(value) is Tensor and value.batch is not None:
                value.batch.need_samples()  # a tensor made like a batched one is batched, too
        try:
            made = run(*own, dtype, layout, pin_memory) if whole else run(*own, dtype)
        except ProgramError as error:
            if pin_memory and error.code in _BY_KERNELS:
                raise cannot_pin() from None
            raise
        if pin_memory:
            raise cannot_pin()
        return leaf(*made, requires_grad)

    return f"{parameters}, {options}", make


def blank(input: Tensor, format: Any, dtype: DType) -> Array:
    """An array, not filled, of the shape of a tensor, in its memory format or in row-major order."""
    strides = strides_of(input.array.shape, format)
    return memory_format.empty_like(input.array, dtype.np) if strides is None else memory_format.empty(input.array.shape, strides, dtype.np)


def check_sizes(size: tuple[int, ...], dtype: DType, name: str = "") -> None:
    """Raise RuntimeError for a negative size or too many dimensions, LimitError for too many elements; `name` begins the message."""
    check_rank(len(size))
    count = 1
    for n in size:
        if n < 0:
            negative = f"{name}: Dimension size must be non-negative."
            raise shape_error(negative if name else f"Trying to create tensor with negative dimension {n}: {list(size)}")
        count *= n
    if count * dtype.itemsize >= 1 << 63:
        raise runtime_error(f"Storage size calculation overflowed with sizes={list(size)}")
    limits.check_elements(count, dtype.itemsize)
    check_strides(size)


def unset(array: Array, dtype: DType) -> Array:
    """Zeros in the place of memory that PyTorch does not set, so that the same program prints the same text every time.

    While deterministic algorithms are asked for, they become what PyTorch writes there: nan, the largest integer or True.
    """
    if state.deterministic:
        array[...] = math.nan if dtype.is_differentiable else dtype is dtypes.bool_ or np.iinfo(dtype.np).max
    return array


def empty(size: tuple[int, ...], dtype: DType) -> Tensor:
    """Memory that is not set. Raises the errors of `check_sizes`."""
    check_sizes(size, dtype, "empty")
    return leaf(unset(np.zeros(size, dtype.np), dtype), dtype)
