"""What changes the tensors of a module: casts, layouts, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.overloads import Parser
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import Signature
from gradcli.core.functions import catalog
from gradcli.core.nn.module_tree import ModuleTree
from gradcli.core.ops.checks import in_format
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.ops.shape.layout import share_memory_
from gradcli.core.optim.optimizer import zero_gradients
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

#: methods that cast a module, and their dtypes
_CASTS = {"float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16}
_COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, and some modules might not work as expected "
    "when using complex tensors as parameters or buffers. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as expected."
)


def _caster(dtype: DType) -> Callable[[ConvertedModule], ConvertedModule]:
    return lambda self: self.convert(dtype)


def _to_device(device: Any, dtype: DType | None, _: bool, copy: bool, format: Any) -> tuple[DType | None, Any]:
    if device is not None:
        check_device(device)
    return _to_dtype(dtype, _, copy, format)


def _to_dtype(dtype: DType | None, _: bool, copy: bool, format: Any) -> tuple[DType | None, Any]:
    if copy:
        raise runtime_error(".to() does not accept copy argument")
    return dtype, format


_HOW = "bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None"
#: the arguments of `to` as a dtype and a memory format
_TO = Parser(
    "to",
    [
        Signature(f"device? device=None, dtype? dtype=None, {_HOW}", _to_device),
        Signature(f"dtype dtype, {_HOW}", _to_dtype),
        Signature(f"Tensor tensor, {_HOW}", lambda tensor, _, copy, format: _to_dtype(tensor.dtype, _, copy, format)),
    ],
)
_NOT_SHARED = (
    "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
    "`module.share_memory()`."
)


def _check_shape(tensor: Any, method: str) -> None:
    """ValueError for a parameter or buffer of a lazy module, which has no shape yet."""
    if type(tensor) is not Tensor:
        tensor.refuse(method)


class ConvertedModule(ModuleTree):
    """A module whose tensors scripts cast, lay out anew, freeze and clear of gradients."""

    def convert(self, dtype: DType) -> Self:
        """Cast floating point parameters to another dtype in place, and put converted buffers in the place of the others."""
        for _, module, name, tensor in list(self.named_state()):
            if not (tensor.dtype.is_floating_point or (tensor.dtype.is_complex and dtype.is_complex)) or tensor.dtype is dtype:
                continue
            if name in module.own_buffers and type(tensor) is Tensor:
                module.own_buffers[name] = to_dtype(tensor, dtype)
                continue
            for held in (tensor, tensor.grad):
                if held is not None:
                    held.array, held.dtype, held.accumulator = dtypes.cast(held.array, dtype), dtype, None
        return self

    def cast(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers to a dtype, or to that of a legacy tensor type. ValueError for an unknown name."""
        method = catalog.method("type")
        for _, module, name, tensor in list(self.named_state()):
            _check_shape(tensor, "type")
            if name in module.own_buffers:
                module.own_buffers[name] = method.method(tensor, (dst_type,), {})
                continue
            for held in (tensor, tensor.grad):
                if held is not None:
                    made = method.method(held, (dst_type,), {})
                    if held.requires_grad and not made.dtype.is_differentiable:
                        raise runtime_error("data set to a tensor that requires gradients must be floating point or complex dtype")
                    held.array, held.dtype, held.accumulator = made.array, made.dtype, None
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Cast to a dtype, which may be that of a tensor; a device can only be the cpu. TypeError for an integer dtype.

        `memory_format` is that of parameters and buffers of four and five dimensions.
        """
        wanted, memory_format = _TO.call(args, kwargs)
        if wanted is not None:
            if not wanted.is_differentiable:
                text = f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={wanted!r}"
                raise ProgramError("TypeError", text)
            if wanted.is_complex:
                warnings.emit(_COMPLEX)
            self.convert(wanted)
        if memory_format is not None:
            self._lay_out(memory_format)
        return self

    def _lay_out(self, format: Any) -> None:
        for *_, tensor in list(self.named_state()):
            for held in (tensor, tensor.grad):
                if held is not None and held.array.ndim in (4, 5):
                    held.array = in_format(held.array, format)

    def to_empty(self, *, device: Any, recurse: Any = True) -> Self:
        """Give parameters and buffers memory that nothing has been written to: zeros, as `torch.empty` gives here."""
        if device is not None:
            check_device(device)
        for module in [module for _, module in self.walk()] if recurse else [self]:
            for name, tensor in list(module.own_state()):
                _check_shape(tensor, "empty_like")
                if name in module.own_buffers:
                    module.own_buffers[name] = Tensor(np.zeros_like(tensor.array), tensor.dtype)
                    continue
                for held in (tensor, tensor.grad):
                    if held is not None:
                        held.array, held.accumulator = np.zeros_like(held.array), None
        return self

    def cpu(self) -> Self:
        """The module itself: all tensors are on the cpu."""
        return self

    def share_memory(self) -> Self:
        """The module itself, whose parameters and buffers count as shared from now on. RuntimeError where a tensor has no shape yet."""
        if any(type(tensor) is not Tensor for *_, tensor in self.named_state()):
            raise runtime_error(_NOT_SHARED)
        for tensor in (*self.parameters(), *self.buffers()):
            share_memory_(tensor)
        return self

    def cuda(self, device: Any = None) -> Self:
        """AssertionError, as in PyTorch without an accelerator."""
        raise ProgramError("AssertionError", "Torch not compiled with CUDA enabled")

    def requires_grad_(self, requires_grad: Any = True) -> Self:
        """Set `requires_grad` of all parameters."""
        for parameter in self.chosen_parameters():
            _check_shape(parameter, "requires_grad_")
            catalog.method("requires_grad_").method(parameter, (requires_grad,), {})
        return self

    def zero_grad(self, set_to_none: Any = True) -> None:
        """Take away the gradients of all parameters, or fill them with zeros."""
        zero_gradients(self.chosen_parameters(), set_to_none)

    SCRIPT_METHODS = (
        ModuleTree.SCRIPT_METHODS
        | {
            function.__name__: Routine(function, f"Module.{function.__name__}")
            for function in (to, to_empty, cpu, cuda, share_memory, requires_grad_, zero_grad)
        }
        | {"type": Routine(cast, "Module.type"), **{name: Routine(_caster(dtype), f"Module.{name}") for name, dtype in _CASTS.items()}}
    )
