"""Storages in files: the names of their types, and their bytes as arrays."""

from __future__ import annotations

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType

#: by the name of PyTorch's type of storage, what the storage holds
STORAGES: dict[str, DType] = {f"{dtype.torch_name}Storage": dtype for dtype in dtypes.ALL}


def storage_name(dtype: DType) -> str:
    """The name of the type of a storage."""
    return f"{dtype.torch_name}Storage"


def encoded(array: Array, dtype: DType) -> bytes:
    """The bytes of a storage, a row of elements, as PyTorch keeps them: a bfloat16 takes the upper half of a float32."""
    if dtype is dtypes.bfloat16:
        return (array.view(np.uint32) >> 16).astype("<u2").tobytes()
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def decoded(content: bytes, dtype: DType, order: str) -> Array:
    """The elements in the bytes of a storage, whose numbers are `order` ("little" or "big") endian; a new array."""
    big = order == "big"
    if dtype is dtypes.bfloat16:
        halves: Array = np.frombuffer(content, ">u2" if big else "<u2").astype(np.uint32)
        return (halves << 16).view(np.float32)
    if dtype is dtypes.bool_:
        # bytes other than 0 and 1 would be neither True nor False to numpy
        return np.not_equal(np.frombuffer(content, np.uint8), 0)
    return np.frombuffer(content, dtype.np.newbyteorder(">" if big else "<")).astype(dtype.np)
