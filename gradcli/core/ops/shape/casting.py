"""Copies and conversions between dtypes: clone, contiguous, to, type, float, double ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.signature import language
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.clone import CLONE, CONTIGUOUS
from gradcli.core.graph.record import Op
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import Operand, in_format, is_contiguous, strides_of, suggests
from gradcli.core.ops.rules import UNCHANGED
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.device import no_accelerator
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error

#: a copy with the given strides
_COPY_AS = Op("CloneBackward0", lambda a, strides: _copied(a, strides), "input", "strides", saved="", input=UNCHANGED, complex=True)
ALIAS = Op("AliasBackward0", lambda a: a.view(), "input", view=True, input=UNCHANGED)


def _copied(array: Array, strides: Sequence[int]) -> Array:
    made = memory_format.empty(array.shape, tuple(strides), array.dtype)
    made[...] = array
    return made


def warn_of_discarded(array: Array, dtype: DType) -> None:
    """Give PyTorch's warning where complex numbers become real ones."""
    if array.size and array.dtype.kind == "c" and not dtype.is_complex and dtype is not dtypes.bool_:
        warnings.imaginary_discarded()


def converted(array: Array, dtype: DType) -> Array:
    """A copy as another dtype, with the strides of `clone`."""
    warn_of_discarded(array, dtype)
    made = dtypes.cast(array, dtype)
    plain = array.flags.c_contiguous and array.size > 1 and 1 not in array.shape
    return made if plain else memory_format.laid_out(made, memory_format.preserved(array))


class _ToCopy(Op):
    """The conversion. Its rule returns the gradient as it is: the backward pass converts it to the dtype of the input."""

    __slots__ = ()

    def __call__(self, *args: Any) -> Tensor:
        if state.mapped and (made := state.mapped[-1].on_batch(self, args)) is not None:
            return made  # type: ignore[no-any-return]
        tensor, dtype, format = args
        out = Tensor(in_format(converted(tensor.array, dtype), format), dtype)
        if state.enabled and dtype.is_differentiable:
            self.record(out, (tensor,), (dtype, format))
        if state.dual is not None:
            state.dual.push(self, (tensor,), (dtype, format), (out,))
        return out


def _cast(array: Array, dtype: DType, format: Any) -> Array:
    return in_format(dtypes.cast(array, dtype), format)


TO_COPY = _ToCopy("ToCopyBackward0", _cast, "input", "dtype format", saved="", input=UNCHANGED)


def to_dtype(tensor: Tensor, dtype: DType, copy: bool = False, format: Any = None) -> Tensor:
    """The tensor as `dtype` in a memory format: itself, unless dtype or format differs or a copy is wanted."""
    if tensor.dtype is dtype and not copy and (format is None or suggests(tensor.array, format)):
        return tensor
    return _counted(TO_COPY(tensor, dtype, format), tensor)


def _to_device(input: Tensor, device: Any, dtype: DType | None, non_blocking: bool, copy: bool, memory_format: Any) -> Tensor:
    return to_dtype(input, dtype or input.dtype, copy, memory_format)


def _as_other(input: Tensor, other: Operand, _: bool, copy: bool, format: Any) -> Tensor:
    """`to(other)`; PyTorch reads an integer as the number of a device."""
    if type(other) is int:
        raise no_accelerator(other)
    kinds = {bool: dtypes.bool_, float: dtypes.float64, complex: dtypes.complex128}
    return to_dtype(input, other.dtype if type(other) is Tensor else kinds[type(other)], copy, format)


def _type(input: Tensor, dtype: Any, non_blocking: bool, memory_format: Any) -> Any:
    if dtype is None:
        return f"torch.{input.dtype.torch_name}Tensor"
    if isinstance(dtype, str):
        for known in dtypes.ALL:
            if dtype == f"torch.{known.torch_name}Tensor":
                return to_dtype(input, known, format=memory_format)
        raise ProgramError("ValueError", f"invalid type: '{formatted(dtype)}'")
    if isinstance(dtype, DType):
        return to_dtype(input, dtype, format=memory_format)
    if isinstance(dtype, ScriptType) and dtype.module == "torch" and dtype.name.endswith("Tensor"):
        wanted = dtypes.get_default() if dtype.name == "Tensor" else f"torch.{dtype.name}"
        return _type(input, wanted, non_blocking, memory_format)
    if language.as_dtype(dtype) is not None:
        raise ProgramError("ValueError", f"invalid type: '{dtype.name}'")
    raise ProgramError("TypeError", "dtype must be a type, str, or dtype object")


def _cuda(input: Tensor, device: Any, non_blocking: bool, memory_format: Any) -> Tensor:
    if device is not None and getattr(device, "type", device) == "cpu":
        raise runtime_error("Invalid device, must be cuda device")
    check_device("cuda")
    return input


def contiguous(input: Tensor) -> Tensor:
    """The tensor in row-major order: itself, or a copy."""
    return input if input.array.flags.c_contiguous else CONTIGUOUS(input)


def contiguous_images(input: Tensor) -> Tensor:
    """The tensor in row-major order, or with channels last where PyTorch takes it for one: itself, or a copy."""
    if not memory_format.suggests_channels_last(input.array):
        return contiguous(input)
    last = memory_format.is_channels_last(input.array)
    return input if last else _COPY_AS(input, memory_format.channels_last_strides(input.array.shape))


def _contiguous(input: Tensor, format: Any) -> Tensor:
    if format is not None and format.name == "preserve_format" and not input.array.flags.c_contiguous:
        raise runtime_error("preserve memory format is unsupported by the contiguous operator")
    if is_contiguous(input, format):
        return input
    return _counted(CONTIGUOUS(input) if format is None else _COPY_AS(input, strides_of(input.array.shape, format)), input)


def clone(input: Tensor, format: Any = None) -> Tensor:
    """A copy in the memory format of the input, or in row-major order. Raises RuntimeError for others of a batched tensor."""
    if input.batch is not None and format is not None:
        if format.name not in ("preserve_format", "contiguous_format"):
            given = format.name.title().replace("_", "").replace("3D", "3d")
            raise runtime_error(
                "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
                f"torch.contiguous_format (got {given})"
            )
        copy = CLONE if format.name == "preserve_format" else CONTIGUOUS
        return _counted(copy(input), input)
    strides = strides_of(input.array.shape, format)
    return _counted(CLONE(input) if strides is None else _COPY_AS(input, strides), input)


def _counted(copy: Tensor, source: Tensor) -> Tensor:
    """The copy; outside of inference mode PyTorch counts how it writes the elements of an inference tensor."""
    if source.meta is not None and source.property_of("inference") and not state.inference:
        copy.counter().count += 1
    return copy


def _caster(dtype: DType) -> Callable[..., Tensor]:
    def cast(input: Tensor, format: Any) -> Tensor:
        return to_dtype(input, dtype, format=format)

    return cast


_HOW = "bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None"
_X = [0.5, -1.5, 2.0]


FUNCTIONS = (
    Function(
        "clone",
        ("Tensor input, *, memory_format? memory_format=None", clone),
        doc="A copy.",
        ops=(CLONE,),
        samples=(Sample("clone(x)", np.copy, x=_X),),
    ),
    Function(
        "contiguous", ("Tensor input, *, memory_format? memory_format=None", _contiguous), doc="Row-major order in memory.", function=False
    ),
    Function(
        "to",
        (f"Tensor input, device? device=None, dtype? dtype=None, {_HOW}", _to_device),
        (f"Tensor input, dtype dtype, {_HOW}", lambda a, dtype, _, copy, format: to_dtype(a, dtype, copy, format)),
        (f"Tensor input, Operand tensor, {_HOW}", _as_other),
        doc="Another dtype (the device can only be the cpu).",
        ops=(TO_COPY,),
        samples=(Sample("x.to(torch.float64)", np.copy, x=_X),),
        function=False,
    ),
    Function(
        "type",
        ("Tensor input, any dtype=None, bool non_blocking=False, *, memory_format? memory_format=None", _type),
        ("Tensor input, any dtype=None, bool async=False, *, memory_format? memory_format=None |deprecated", _type),
        doc="Another dtype, by type or by name; without argument the type's name.",
        function=False,
    ),
    Function("type_as", ("Tensor input, Tensor other", lambda a, b: to_dtype(a, b.dtype)), doc="The dtype of other.", function=False),
    *(
        Function(
            name, ("Tensor input, *, memory_format? memory_format=None", _caster(dtype)), doc=f"As {dtype}.", ops=(TO_COPY,), function=False
        )
        for name, dtype in (
            ("float", dtypes.float32),
            ("double", dtypes.float64),
            ("half", dtypes.float16),
            ("bfloat16", dtypes.bfloat16),
            ("int", dtypes.int32),
            ("long", dtypes.int64),
            ("short", dtypes.int16),
            ("char", dtypes.int8),
            ("byte", dtypes.uint8),
            ("bool", dtypes.bool_),
            ("cfloat", dtypes.complex64),
            ("cdouble", dtypes.complex128),
        )
    ),
    Function(
        "cpu",
        ("Tensor input, *, memory_format? memory_format=None", lambda a, format: to_dtype(a, a.dtype, format=format)),
        doc="The tensor itself: it is on the cpu.",
        function=False,
    ),
    Function(
        "cuda",
        ("Tensor input, device? device=None, bool non_blocking=False, *, memory_format? memory_format=None", _cuda),
        doc="PyTorch's error: there is no such device.",
        function=False,
    ),
    Function(
        "to_dense",
        ("Tensor input, dtype? dtype=None, *, bool? masked_grad=None", lambda a, dtype, masked_grad: to_dtype(a, dtype or a.dtype)),
        doc="The tensor itself: it is dense.",
        samples=(Sample("x.to_dense()", np.copy, x=[1.0, -2.0]),),
        function=False,
    ),
)
