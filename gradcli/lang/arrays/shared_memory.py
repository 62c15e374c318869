"""Tensors that share the memory of others: torch.from_dlpack and torch.utils.dlpack, torch.frombuffer."""

from __future__ import annotations

from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.graph.clone import CLONE
from gradcli.core.kernels import Array
from gradcli.core.ops.create.from_data import from_numpy
from gradcli.core.ops.create.leaf import leaf
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.arrays.number_arrays import NumberArray
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.representation import address


class Capsule(Scripted):
    """What `to_dlpack` returns: a tensor that `from_dlpack` takes out once."""

    __slots__ = ("__weakref__", "tensor")

    SCRIPT_NAME = "PyCapsule"

    def __init__(self, tensor: Tensor) -> None:
        self.tensor: Tensor | None = tensor

    def __repr__(self) -> str:
        return f'<capsule object "{"dltensor" if self.tensor is not None else "used_dltensor"}" at {address(self)}>'


def _to_dlpack(tensor: Value, /) -> Capsule:
    """A capsule with a tensor. TypeError for other values."""
    if type(tensor) is not Tensor:
        raise type_error("_to_dlpack(): argument 'tensor' (position 1) must be Tensor, not {}", tensor)
    return Capsule(detach(tensor))


_INVALID = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have already "
    "constructed a tensor from it once."
)


def _from_dlpack(ext_tensor: Value, *, device: Value = None, copy: Value = None) -> Tensor:
    """A tensor that shares the memory of a tensor, of a numpy array or of what is in a capsule.

    Raises BufferError for a tensor that requires grad, RuntimeError for other values and for a capsule that is empty.
    """
    check_device(device) if device is not None else None
    if type(ext_tensor) is Tensor:
        if ext_tensor.requires_grad:
            raise ProgramError("BufferError", "Can't export tensors that require gradient, use tensor.detach()")
        made = detach(ext_tensor)
    elif type(ext_tensor) is Capsule and ext_tensor.tensor is not None:
        made, ext_tensor.tensor = ext_tensor.tensor, None
    elif language.as_array(ext_tensor) is not None and language.as_number(ext_tensor) is None:
        made = from_numpy(ext_tensor)
    else:
        raise ProgramError("RuntimeError", _INVALID)
    return CLONE(made) if copy else made


def _memory(buffer: Value) -> Array:
    found = buffer.memory() if type(buffer) is NumberArray else language.as_array(buffer)
    if found is None or language.as_number(buffer) is not None:
        raise ProgramError("ValueError", "object does not implement Python buffer protocol.")
    if not found.flags.c_contiguous:
        raise ProgramError("ValueError", "ndarray is not C-contiguous")
    return found.reshape(-1).view("u1")


def _frombuffer(buffer: Value, *, dtype: Value, count: Value = -1, offset: Value = 0, requires_grad: Value = False) -> Tensor:
    """The bytes of an array from `offset` on as `count` numbers of a dtype; all that there are for a negative count.

    Raises ValueError where the bytes are no such numbers.
    """
    wanted = dtype if isinstance(dtype, DType) else language.as_dtype(dtype)
    if wanted is None:
        raise type_error("frombuffer(): argument 'dtype' must be torch.dtype, not {}", dtype)
    for name, value in (("count", count), ("offset", offset)):
        if type(value) is not int:
            raise type_error(f"frombuffer(): argument '{name}' must be int, not {{}}", value)
    memory = _memory(buffer)
    size, each = memory.size, wanted.itemsize
    if not size or not count:
        raise ProgramError("ValueError", f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        text = f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        raise ProgramError("ValueError", text)
    left = size - offset
    if count < 0 and left % each:
        text = f"buffer length ({left} bytes) after offset ({offset} bytes) must be a multiple of element size ({each})"
        raise ProgramError("ValueError", text)
    number = left // each if count < 0 else count
    if number * each > left:
        text = (
            f"requested buffer length ({number} * {each} bytes) after offset ({offset} bytes) must not be greater than actual buffer length"
        )
        raise ProgramError("ValueError", f"{text} ({size} bytes)")
    if wanted.itemsize != wanted.np.itemsize:
        raise ProgramError("TypeError", f"frombuffer() with dtype {wanted!r} is not part of gradcli")
    return leaf(memory[offset : offset + number * each].view(wanted.np), wanted, requires_grad is True)


FROM_DLPACK = Routine(_from_dlpack, "from_dlpack")
TO_DLPACK = Routine(_to_dlpack, "_to_dlpack")
FROMBUFFER = Routine(_frombuffer, "frombuffer")
