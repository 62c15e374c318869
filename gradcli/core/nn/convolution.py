"""Convolutions as modules; weight and bias begin uniform within 1 / sqrt(the inputs that an output has)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.script_types import Attributes
from gradcli.core.functions import catalog
from gradcli.core.nn.init import uniform_array
from gradcli.core.nn.linear import checked_size, floating
from gradcli.core.nn.module import Module, module_type, parameters_of
from gradcli.core.nn.parameter import new_parameter
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

_BOTH, _SET_BOTH = parameters_of("weight bias")
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def sizes_of(value: Any, rank: int) -> tuple[Any, ...]:
    """One number for each dimension; one alone stands for all."""
    return tuple(value) if hasattr(value, "__iter__") else (value,) * rank


class Convolution(Module):
    """What all share; RANK is the number of dimensions."""

    RANK = 0
    TRANSPOSED = False
    SCRIPT_ATTRIBUTES = (
        Module.SCRIPT_ATTRIBUTES
        | Attributes.read("in_channels out_channels kernel_size stride padding dilation transposed output_padding groups padding_mode")
        | _BOTH
    )
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | _SET_BOTH

    def set_up(
        self,
        in_channels: Any,
        out_channels: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: Any,
        bias: Any,
        padding_mode: Any,
        dtype: Any,
    ) -> None:
        """Check the settings, keep them and draw the parameters."""
        wanted = floating(dtype)
        if groups <= 0:
            raise ProgramError("ValueError", "groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups != 0:
                raise ProgramError("ValueError", f"{name} must be divisible by groups")
        self.stride = sizes_of(stride, self.RANK)
        if isinstance(padding, str):
            self._check_named(padding)
        if padding_mode not in _PADDING_MODES:
            shown = ", ".join(f"'{mode}'" for mode in _PADDING_MODES)
            raise ProgramError("ValueError", f"padding_mode must be one of {{{shown}}}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = sizes_of(kernel_size, self.RANK)
        self.padding = padding if isinstance(padding, str) else sizes_of(padding, self.RANK)
        self.dilation = sizes_of(dilation, self.RANK)
        self.transposed = self.TRANSPOSED
        self.output_padding = sizes_of(output_padding, self.RANK)
        self.groups = groups
        self.padding_mode = padding_mode
        channels = (in_channels, out_channels // groups) if self.TRANSPOSED else (out_channels, in_channels // groups)
        self._draw(checked_size((*channels, *self.kernel_size), wanted), bool(bias), wanted)

    def _check_named(self, padding: str) -> None:
        if padding not in ("same", "valid"):
            raise ProgramError("ValueError", f"Invalid padding string '{padding}', should be one of {{'valid', 'same'}}")
        if padding == "same" and any(s != 1 for s in self.stride):
            raise ProgramError("ValueError", "padding='same' is not supported for strided convolutions")

    def _draw(self, size: tuple[int, ...], bias: bool, dtype: DType) -> None:
        fan = size[1] * math.prod(size[2:])
        if 0 in size:
            warnings.emit("Initializing zero-element tensors is a no-op")
            weight = np.zeros(size, dtype.np)
        else:
            # kaiming_uniform_ with a = sqrt(5), whose bound is 1 / sqrt(fan) but for rounding
            weight = uniform_array(size, math.sqrt(3.0) * (math.sqrt(2.0 / (1 + math.sqrt(5) ** 2)) / math.sqrt(fan)), dtype)
        self.own_parameters["weight"] = new_parameter(weight, dtype)
        self.own_parameters["bias"] = None
        if bias:
            start = uniform_array((self.out_channels,), 1 / math.sqrt(fan), dtype) if fan else np.zeros(self.out_channels, dtype.np)
            self.own_parameters["bias"] = new_parameter(start, dtype)

    def extra(self) -> str:
        shown = [f"{self.in_channels}, {self.out_channels}", f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            if vars(self)[name] != (usual,) * self.RANK:
                shown.append(f"{name}={vars(self)[name]}")
        if self.groups != 1:
            shown.append(f"groups={self.groups}")
        if self.own_parameters["bias"] is None:
            shown.append("bias=False")
        if self.padding_mode != "zeros":
            shown.append(f"padding_mode={self.padding_mode}")
        return ", ".join(shown)


class _Forward(Convolution):
    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: Any = 1,
        bias: Any = True,
        padding_mode: Any = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.set_up(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, dtype)

    def _border(self) -> tuple[int, ...]:
        """The padding as `F.pad` takes it, the last dimension first."""
        if self.padding == "same":
            whole = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            pairs = [(n // 2, n - n // 2) for n in whole]
        else:
            pairs = [(0, 0) if isinstance(n, str) else (n, n) for n in self.padding]
        return tuple(n for pair in reversed(pairs) for n in pair)

    def forward(self, input: Any) -> Any:
        weight, bias = self.own_parameters["weight"], self.own_parameters["bias"]
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = catalog.function("nn.functional.pad")(input, self._border(), mode=self.padding_mode)
            padding = (0,) * self.RANK
        run = catalog.function(f"conv{self.RANK}d")
        return run(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class _Transposed(Convolution):
    TRANSPOSED = True

    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: Any = 1,
        bias: Any = True,
        dilation: Any = 1,
        padding_mode: Any = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ProgramError("ValueError", f'Only "zeros" padding mode is supported for {self.SCRIPT_NAME}')
        self.set_up(in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode, dtype)

    def _wanted(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output_padding that gives an output size. ValueError where none does."""
        rank, shape, size = self.RANK, input.array.shape, tuple(output_size)
        lead = 2 if len(shape) == rank + 2 else 1
        if len(size) == lead + rank:
            size = size[lead:]
        if len(size) != rank:
            raise ProgramError(
                "ValueError",
                f"ConvTranspose{rank}D: for {len(shape)}D input, output_size must have {rank} or {lead + rank} elements (got {len(size)})",
            )
        how = zip(shape[lead:], self.kernel_size, self.stride, self.padding, self.dilation, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, k, s, p, d in how]
        most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
        if any(not low <= n <= high for n, low, high in zip(size, least, most, strict=True)):
            raise ProgramError(
                "ValueError",
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} "
                f"(for an input of {type(input.shape)(shape[2:])})",
            )
        return tuple(n - low for n, low in zip(size, least, strict=True))

    def forward(self, input: Any, output_size: Any = None) -> Any:
        weight, bias = self.own_parameters["weight"], self.own_parameters["bias"]
        more = self.output_padding if output_size is None else self._wanted(input, output_size)
        run = catalog.function(f"conv_transpose{self.RANK}d")
        return run(input, weight, bias, self.stride, self.padding, more, self.groups, self.dilation)


class Conv1d(_Forward):
    """`F.conv1d`."""

    SCRIPT_NAME = "Conv1d"
    RANK = 1


class Conv2d(_Forward):
    """`F.conv2d`."""

    SCRIPT_NAME = "Conv2d"
    RANK = 2


class Conv3d(_Forward):
    """`F.conv3d`."""

    SCRIPT_NAME = "Conv3d"
    RANK = 3


class ConvTranspose1d(_Transposed):
    """`F.conv_transpose1d`."""

    SCRIPT_NAME = "ConvTranspose1d"
    RANK = 1


class ConvTranspose2d(_Transposed):
    """`F.conv_transpose2d`."""

    SCRIPT_NAME = "ConvTranspose2d"
    RANK = 2


class ConvTranspose3d(_Transposed):
    """`F.conv_transpose3d`."""

    SCRIPT_NAME = "ConvTranspose3d"
    RANK = 3


CONV1D_TYPE = module_type(Conv1d, "conv")
CONV2D_TYPE = module_type(Conv2d, "conv")
CONV3D_TYPE = module_type(Conv3d, "conv")
CONVTRANSPOSE1D_TYPE = module_type(ConvTranspose1d, "conv")
CONVTRANSPOSE2D_TYPE = module_type(ConvTranspose2d, "conv")
CONVTRANSPOSE3D_TYPE = module_type(ConvTranspose3d, "conv")
