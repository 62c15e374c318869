"""Sizes, strides, memory and device of a tensor: size, numel, stride, storage_offset, is_contiguous, get_device ..."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from weakref import WeakValueDictionary

from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import strided
from gradcli.core.kernels import Array
from gradcli.core.kernels.memory_format import address, element_strides, inner_first, owner
from gradcli.core.ops.checks import is_contiguous, is_in, own_dim
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError, runtime_error


def _stride(input: Tensor, dim: int | None) -> Any:
    strides = element_strides(input.array)
    return strides if dim is None else strides[own_dim(input, dim)]


def offset_in(memory: Array, array: Array) -> int:
    """The number of elements in `memory` before the first element of `array`, a view of it."""
    if not memory.size and owner(array) is memory:  # the offset of a view counts even where the memory is empty
        return (address(array) - address(memory)) // array.itemsize
    return strided.geometry(array, memory)[2]


def _size(input: Tensor, dim: int | None) -> Any:
    shape = input.array.shape
    return Size(shape) if dim is None else shape[own_dim(input, dim)]


def _is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether both tensors are the same view of the same memory."""
    a, b = input.array, tensor.array
    return a.shape == b.shape and a.strides == b.strides and address(a) == address(b)


def _is_ambiguous(array: Array) -> bool:
    """Whether the dimensions could be put in another order: one has size 1, or neighbours have the same stride."""
    return 1 in array.shape or any(a == b for a, b in pairwise(element_strides(array)))


def _dim_order(input: Tensor, ambiguity_check: Any) -> tuple[int, ...]:
    """The dimensions from the outermost to the innermost in memory.

    Raises RuntimeError where the order is not the only one and `ambiguity_check` is True, or a list of other than one of its formats.
    """
    array = input.array
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or any(getattr(one, "SCRIPT_NAME", "") != "memory_format" for one in formats):
        raise ProgramError("TypeError", "The ambiguity_check argument must be a bool or a list of memory formats.")
    if ambiguity_check is not False and _is_ambiguous(array) and sum(is_in(array, format) for format in formats) != 1:
        raise runtime_error("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    contiguous, channels_last = array.flags.c_contiguous, array.ndim == 4 and array.transpose(0, 2, 3, 1).flags.c_contiguous
    if contiguous and not channels_last:
        return tuple(range(array.ndim))
    if channels_last and not contiguous:
        return (0, 2, 3, 1)
    order = inner_first(array)[::-1]
    strides = [element_strides(array)[d] for d in order]
    if ambiguity_check and not all(outer > inner > 0 for outer, inner in pairwise(strides)):
        raise runtime_error("The tensor does not have unique dim order.")
    return tuple(order)


def _never(name: str, what: str, function: bool = False, more: str = "") -> Function:
    samples, doc = (Sample(f"tensor(1.).{name}()"),), f"Whether {what}: never here."

    def run(_: Tensor, device: Any = None) -> bool:
        if device is not None:
            text = f"The argument 'device' of Tensor.{name}() is deprecated. Please do not pass this argument."
            warnings.emit(
                f"{text} (Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/Memory.cpp:31.)", "DeprecationWarning"
            )
        return False

    return Function(name, (f"Tensor input{more}", run), doc=doc, samples=samples, function=function)


#: the memory that programs have asked to share with other processes, of which there are none
_SHARED: WeakValueDictionary[int, Array] = WeakValueDictionary()


def share_memory_(input: Tensor) -> Tensor:
    """The tensor, whose memory counts as shared from now on."""
    memory = owner(input.array)
    _SHARED[id(memory)] = memory
    return input


def _refused(name: str, layout: str) -> Function:
    """A method of sparse tensors, which refuses all others."""

    def run(_: Tensor) -> Any:
        raise runtime_error(f"{name} expected {layout} tensor layout but got Strided")

    return Function(name, ("Tensor input", run), doc="A method of sparse tensors: refused.", function=False)


FUNCTIONS = (
    Function(
        "dense_dim", ("Tensor input", lambda a: a.array.ndim), doc="The number of dimensions that are not sparse: all.", function=False
    ),
    Function("sparse_dim", ("Tensor input", lambda a: 0), doc="The number of sparse dimensions: 0.", function=False),
    *(_refused(name, "sparse coordinate") for name in ("is_coalesced", "coalesce", "indices")),
    _refused("values", "sparse"),
    *(_refused(name, "sparse row compressed") for name in ("crow_indices", "col_indices")),
    *(_refused(name, "sparse column compressed") for name in ("ccol_indices", "row_indices")),
    Function(
        "share_memory_",
        ("Tensor input", share_memory_),
        doc="The tensor: there is no other process to share its memory with.",
        samples=(Sample("tensor(1.).share_memory_()"),),
        function=False,
        python="Tensor.share_memory_",
    ),
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
        ("Tensor input, *, memory_format? memory_format=None", is_contiguous),
        doc="Whether memory is in row-major order.",
        function=False,
    ),
    Function(
        "storage_offset",
        ("Tensor input", lambda a: offset_in(owner(a.array), a.array)),
        doc="Elements before the first one in memory.",
        function=False,
    ),
    _never("is_distributed", "parts are held by other processes", True),
    Function(
        "cudnn_is_acceptable",
        ("Tensor input", lambda a: False),
        doc="Whether a graphics processor computes with the tensor: never here.",
        samples=(Sample("torch.cudnn_is_acceptable(tensor(1.))"),),
        method=False,
    ),
    _never("is_pinned", "the memory is locked for a graphics processor", more=", device? device=None"),
    Function(
        "is_shared",
        ("Tensor input", lambda a: id(owner(a.array)) in _SHARED),
        doc="Whether share_memory_ was called for this memory.",
        samples=(Sample("tensor(1.).is_shared()"),),
        function=False,
        python="Tensor.is_shared",
    ),
    Function(
        "is_set_to",
        ("Tensor input, Tensor tensor", _is_set_to),
        doc="Whether both look at the same memory in the same way.",
        samples=(Sample("tensor([1.]).is_set_to(tensor([1.]))"),),
        function=False,
    ),
    Function(
        "get_device",
        ("Tensor input", lambda t: -1),
        doc="The number of the device: -1 for the cpu.",
        samples=(Sample("torch.get_device(tensor(1.))"),),
    ),
    Function(
        "dim_order",
        ("Tensor input, *, any ambiguity_check=False", _dim_order),
        python="Tensor.dim_order",
        doc="Dimensions in the order of their strides, the largest first.",
        samples=(Sample("torch.zeros(2, 3).t().dim_order()"),),
        function=False,
    ),
)
