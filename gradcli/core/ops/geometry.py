"""Plain facts about a tensor: its sizes, and how it lies in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.function import Function
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.tensor import Array, Size, Tensor
from gradcli.errors import ProgramError


def is_dense(array: Array) -> bool:
    """Row-major order without gaps or repetition."""
    return array.flags.c_contiguous


def element_strides(array: Array) -> tuple[int, ...]:
    """Strides in elements; where there are none, those that a filled tensor would have."""
    if not array.size:
        strides = [1]
        for n in array.shape[:0:-1]:
            strides.insert(0, strides[0] * max(n, 1))
        return tuple(strides[: array.ndim])
    return tuple(s // array.itemsize for s in array.strides)


def _stride(input: Tensor, dim: int | None) -> Any:
    strides = element_strides(input.array)
    return strides if dim is None else strides[wrap_dim(dim, len(strides))]


def _storage_offset(input: Tensor) -> int:
    """Elements between the beginning of the memory and the first element."""
    owner: Any = input.array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    start: int = input.array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return start // input.array.itemsize


def _size(input: Tensor, dim: int | None) -> Any:
    shape = input.array.shape
    if dim is None:
        return Size(shape)
    if not shape:
        raise ProgramError("IndexError", "Dimension specified as 0 but tensor has no dimensions")
    return shape[wrap_dim(dim, len(shape))]


FUNCTIONS = (
    Function("size", ("Tensor input, int? dim=None", _size), doc="The sizes, or one of them.", function=False),
    Function("numel", ("Tensor input", lambda a: a.array.size), doc="The number of elements."),
    Function("nelement", ("Tensor input", lambda a: a.array.size), doc="The number of elements.", function=False),
    Function("dim", ("Tensor input", lambda a: a.array.ndim), doc="The number of dimensions.", function=False),
    Function("ndimension", ("Tensor input", lambda a: a.array.ndim), doc="The number of dimensions.", function=False),
    Function("element_size", ("Tensor input", lambda a: a.dtype.itemsize), doc="Bytes of an element.", function=False),
    Function(
        "stride",
        ("Tensor input, int? dim=None", _stride),
        doc="Elements in memory between neighbours along each dimension.",
        function=False,
    ),
    Function(
        "is_contiguous",
        ("Tensor input, *, any memory_format=None", lambda a, m: is_dense(a.array)),
        doc="Whether memory is in row-major order.",
        function=False,
    ),
    Function("storage_offset", ("Tensor input", _storage_offset), doc="Elements before the first one in memory.", function=False),
)
