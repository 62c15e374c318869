"""The memory of a tensor: where it begins, as a number, and its elements in a row.

Addresses are counters: buffers are numbered in the order in which a program asks, and a view lies behind its base by its offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Scripted, ScriptType
from gradcli.core.calling.type_errors import not_an_integer, type_error
from gradcli.core.kernels import Array, blocks, conjugates
from gradcli.core.kernels.memory_format import address, owner
from gradcli.core.ops.create.from_data import from_data
from gradcli.core.ops.create.leaf import empty
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.execution import execution

#: how many bits of an address are left to the place within a buffer
_WITHIN = 40


def data_ptr(tensor: Tensor) -> int:
    """The address of the first element; 0 for a tensor without elements."""
    blocks.settle()
    array = conjugates.plain(tensor.array)
    if not array.size:
        return 0
    buffer = owner(array)
    return (execution.addresses.of(buffer) << _WITHIN) + address(array) - address(buffer)


class Storage(Scripted):
    """`untyped_storage()`: the bytes of a tensor and of its views."""

    __slots__ = ("buffer", "__weakref__")

    SCRIPT_NAME = "UntypedStorage"
    SCRIPT_TYPE: ScriptType

    def __init__(self, tensor: Tensor) -> None:
        blocks.settle()
        self.buffer = owner(conjugates.plain(tensor.array))

    @classmethod
    def made(cls, given: Value, dtype: DType) -> Storage:
        """The memory of so many numbers, which are 0 here, or of the numbers of a sequence. RuntimeError for a negative size."""
        if type(given) is not int:
            return cls(from_data([] if given is None else given, dtype))
        if given < 0:
            size = (given * dtype.itemsize) % (1 << 64)
            text = (
                "[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have been called with negative number:"
            )
            raise runtime_error(f"{text} {size}")
        return cls(empty((given,), dtype))

    def elements(self) -> Array:
        """The elements in a row, in the order of memory."""
        return np.frombuffer(self._memory(), np.uint8)

    def _memory(self) -> Any:
        limits.check_list(self.buffer.nbytes)
        return self.buffer.ravel("K")

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.buffer.nbytes

    def size(self) -> int:
        """The number of elements, which are bytes where the storage has no type."""
        return self.buffer.nbytes

    def data_ptr(self) -> int:
        """The address of the first element."""
        return execution.addresses.of(self.buffer) << _WITHIN if self.buffer.size else 0

    def element_size(self) -> int:
        """The bytes of an element."""
        return 1

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        return self.elements().tolist()  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, place: Any) -> Any:
        if type(place) is not int:
            raise not_an_integer(place)
        if not -self.size() <= place < self.size():
            raise ProgramError("IndexError", f"index {formatted(place)} out of range for storage of size {self.size()}")
        return self.elements()[place].item()

    def __repr__(self) -> str:
        return "\n".join([" " + "\n ".join(map(str, self.tolist())), f"[{self.described()}]"])

    def described(self) -> str:
        """The last line of the repr."""
        return f"torch.storage.UntypedStorage(device=cpu) of size {self.size()}"


class TypedStorage(Storage):
    """`storage()`: the elements of a tensor and of its views."""

    __slots__ = ("dtype",)

    SCRIPT_NAME = "TypedStorage"
    SCRIPT_ATTRIBUTES = Attributes.read("dtype")

    def __init__(self, tensor: Tensor) -> None:
        super().__init__(tensor)
        self.dtype: DType = tensor.dtype

    def elements(self) -> Array:
        return np.frombuffer(self._memory(), self.dtype.np)

    def size(self) -> int:
        return self.buffer.nbytes // self.dtype.np.itemsize

    def element_size(self) -> int:
        return self.dtype.itemsize

    def described(self) -> str:
        return f"torch.storage.TypedStorage(dtype={self.dtype!r}, device=cpu) of size {self.size()}"


_DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This should only "
    "matter to you if you are using storages directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
    "tensor.storage()"
)


def _typed(tensor: Tensor) -> TypedStorage:
    warnings.emit(_DEPRECATED, once="typed storage")
    return TypedStorage(tensor)


_NAMES = ("nbytes", "size", "data_ptr", "element_size", "tolist", "__len__", "__iter__", "__getitem__")


def _type_of(kind: type[Storage], construct: Callable[..., Storage]) -> ScriptType:
    return ScriptType(kind.SCRIPT_NAME, "torch.storage", construct, lambda value: type(value) is kind)


def _new_typed(wrap_storage: Value = None, *, dtype: Value = None, device: Value = None) -> Storage:
    warnings.emit(_DEPRECATED, once="typed storage")
    if dtype is not None and not isinstance(dtype, DType):
        raise type_error("dtype must be torch.dtype, not {}", dtype)
    return TypedStorage.made(wrap_storage, dtype or dtypes.get_default())


def _new_untyped(size: Value = None, *, device: Value = None) -> Storage:
    return Storage.made(size, dtypes.uint8)


UNTYPEDSTORAGE, TYPEDSTORAGE = _type_of(Storage, _new_untyped), _type_of(TypedStorage, _new_typed)
for _kind, _type in ((Storage, UNTYPEDSTORAGE), (TypedStorage, TYPEDSTORAGE)):
    _kind.SCRIPT_TYPE = _type
    _kind.SCRIPT_METHODS = {name: Routine(getattr(_kind, name), f"{_kind.SCRIPT_NAME}.{name}") for name in _NAMES}

#: called with the tensor first
METHODS: dict[str, Any] = {"data_ptr": data_ptr, "untyped_storage": Storage, "storage": _typed}
