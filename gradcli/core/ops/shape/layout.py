"""Plain facts about a tensor: its sizes, and how it lies in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import strided
from gradcli.core.graph.record import Op
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.tensor.tensor import Array, Size, Tensor
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


def owner(array: Array) -> Array:
    """The array whose memory a view looks at."""
    while True:
        base: Any = array.base
        if not isinstance(base, np.ndarray):
            # as_strided puts an object of its own in between
            base = getattr(base, "base", None)
        if not isinstance(base, np.ndarray):
            return array
        array = base


def _storage_offset(input: Tensor) -> int:
    """Elements between the beginning of the memory and the first element."""
    return strided.geometry(input.array, owner(input.array))[2]


def place(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> tuple[Any, ...]:
    """Size, stride and offset within the memory of a tensor, checked, and the tensor's own strides."""
    array = input.array
    if len(size) != len(stride):
        raise ProgramError(
            "RuntimeError", f"mismatch in length of strides and shape: got {len(size)} for size and {len(stride)} for stride"
        )
    if any(s < 0 for s in stride):
        raise ProgramError("RuntimeError", f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    own = _storage_offset(input)
    offset = own if storage_offset is None else storage_offset
    memory = owner(array)
    needed = offset + strided.extent(tuple(size), tuple(stride))
    if min((offset, *size), default=0) < 0 or needed > memory.size:
        raise ProgramError(
            "RuntimeError",
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {array.itemsize} requiring a "
            f"storage size of {needed * array.itemsize} are out of bounds for storage of size {memory.size * array.itemsize}",
        )
    if offset < own or needed - own > strided.extent(array.shape, element_strides(array)):
        raise ProgramError("RuntimeError", "as_strided beyond the elements of the tensor is not part of gradcli")
    count = 1
    for n in size:
        count *= n
    limits.check_elements(count, array.itemsize)
    return tuple(size), tuple(stride), offset - own, strided.own_geometry(array)[1]


def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """The memory of a tensor seen with another shape and other strides."""
    return AS_STRIDED(input, *place(input, size, stride, storage_offset))  # type: ignore[no-any-return]


AS_STRIDED = Op(
    "AsStridedBackward0",
    lambda a, size, stride, offset, input_stride: strided.seen(a, (size, stride, offset)),
    "input",
    "size stride offset input_stride",
    view=True,
    input=strided.AS_STRIDED_RULE,
)


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
        ("Tensor input, *, memory_format? memory_format=None", lambda a, m: is_dense(a.array)),
        doc="Whether memory is in row-major order.",
        function=False,
    ),
    Function("storage_offset", ("Tensor input", _storage_offset), doc="Elements before the first one in memory.", function=False),
    Function(
        "as_strided",
        ("Tensor input, ints size, ints stride, int? storage_offset=None", as_strided),
        doc="The memory of a tensor seen with another shape and other strides.",
        ops=(AS_STRIDED,),
        samples=(Sample("as_strided(x, (2, 2), (1, 1))", lambda x: np.array([[x[0], x[1]], [x[1], x[2]]]), x=[1.0, 2.0, 4.0]),),
    ),
)
