"""Convolutions; weight and bias begin uniform within 1 / sqrt(fan_in), where fan_in inputs make an output."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.signature import language
from gradcli.core.functions import catalog
from gradcli.core.nn.modules.function_modules import ClassTable, FunctionModule, row
from gradcli.core.nn.parameter import checked_size, floating, kaiming_parameter, new_parameter, uniform_parameter
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, shape_error

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def sizes_of(value: Any, rank: int) -> tuple[Any, ...]:
    """A size for each dimension; a single number stands for all."""
    return tuple(language.collect(value)) if hasattr(value, "__iter__") else (value,) * rank


class Convolution(FunctionModule):
    """A convolution over the last RANK dimensions."""

    PLACE = "conv"
    SETTINGS = "in_channels out_channels kernel_size stride padding dilation transposed output_padding groups padding_mode"
    PARAMETERS = "weight bias"
    METHODS = "reset_parameters"
    TRANSPOSED = False
    in_channels: int
    out_channels: int
    kernel_size: tuple[Any, ...]
    stride: tuple[Any, ...]
    padding: Any
    dilation: tuple[Any, ...]
    output_padding: tuple[Any, ...]
    groups: int
    padding_mode: str

    def keep(self, given: dict[str, Any]) -> None:
        dtype, groups, padding, mode = floating(given["dtype"]), given["groups"], given["padding"], given["padding_mode"]
        if groups <= 0:
            raise ProgramError("ValueError", "groups must be a positive integer")
        for name in ("in_channels", "out_channels"):
            if given[name] % groups != 0:
                raise ProgramError("ValueError", f"{name} must be divisible by groups")
        stride = sizes_of(given["stride"], self.RANK)
        if self.TRANSPOSED and isinstance(padding, str):
            padding = tuple(padding)  # PyTorch takes the letters for sizes, as it takes the items of any iterable
        if isinstance(padding, str):
            _check_named(padding, stride)
        if mode not in _PADDING_MODES:
            shown = ", ".join(f"'{known}'" for known in _PADDING_MODES)
            raise ProgramError("ValueError", f"padding_mode must be one of {{{shown}}}, but got padding_mode='{formatted(mode)}'")
        sizes: dict[str, Any] = {name: sizes_of(given[name], self.RANK) for name in ("kernel_size", "dilation")}
        sizes["output_padding"] = sizes_of(given.get("output_padding", 0), self.RANK)
        sizes["padding"] = padding if isinstance(padding, str) else sizes_of(padding, self.RANK)
        super().keep(given | sizes | {"stride": stride, "transposed": self.TRANSPOSED})
        self._draw(bool(given["bias"]), dtype)

    def _draw(self, bias: bool, dtype: DType) -> None:
        ends = (self.out_channels, self.in_channels // self.groups)
        if self.TRANSPOSED:
            ends = (self.in_channels, self.out_channels // self.groups)
        size = checked_size((*ends, *self.kernel_size), dtype)
        fan_in = math.prod(size[1:])
        self.own_parameters["weight"] = kaiming_parameter(size, fan_in, dtype)
        self.own_parameters["bias"] = None
        if bias and fan_in:
            self.own_parameters["bias"] = uniform_parameter((self.out_channels,), 1 / math.sqrt(fan_in), dtype)
        elif bias:
            self.own_parameters["bias"] = new_parameter(np.zeros(self.out_channels, dtype.np), dtype)

    def extra_repr(self) -> str:
        shown = [f"{self.in_channels}, {self.out_channels}", f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            if vars(self)[name] != (usual,) * self.RANK:
                shown.append(f"{name}={vars(self)[name]}")
        bias = ["bias=False"] if self.own_parameters["bias"] is None else []
        return ", ".join([*shown, *self.unusual("groups"), *bias, *self.unusual("padding_mode")])


def _check_named(padding: str, stride: tuple[Any, ...]) -> None:
    if padding not in ("same", "valid"):
        raise ProgramError("ValueError", f"Invalid padding string '{padding}', should be one of {{'valid', 'same'}}")
    if padding == "same" and any(s != 1 for s in stride):
        raise ProgramError("ValueError", "padding='same' is not supported for strided convolutions")


class ConvNd(Convolution):
    """A convolution that is not transposed."""

    ARGUMENTS = {
        "in_channels": REQUIRED,
        "out_channels": REQUIRED,
        "kernel_size": REQUIRED,
        "stride": 1,
        "padding": 0,
        "dilation": 1,
        "groups": 1,
        "bias": True,
        "padding_mode": "zeros",
        "device": None,
        "dtype": None,
    }

    def _border(self) -> tuple[int, ...]:
        """The padding as `F.pad` takes it, the last dimension first."""
        if self.padding == "same":
            whole = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            pairs = [(n // 2, n - n // 2) for n in whole]
        else:
            pairs = [(n, n) for n in ((0,) * self.RANK if self.padding == "valid" else self.padding)]
        return tuple(n for pair in reversed(pairs) for n in pair)

    def forward(self, input: Any) -> Any:
        weight, bias = self.own_parameters["weight"], self.own_parameters["bias"]
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = catalog.function("nn.functional.pad")(input, self._border(), mode=self.padding_mode)
            padding = (0,) * self.RANK
        return catalog.function(self.FUNCTION)(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class ConvTransposeNd(Convolution):
    """A transposed convolution: the gradient of a convolution by its input."""

    ARGUMENTS = {
        "in_channels": REQUIRED,
        "out_channels": REQUIRED,
        "kernel_size": REQUIRED,
        "stride": 1,
        "padding": 0,
        "output_padding": 0,
        "groups": 1,
        "bias": True,
        "dilation": 1,
        "padding_mode": "zeros",
        "device": None,
        "dtype": None,
    }
    TRANSPOSED = True

    def keep(self, given: dict[str, Any]) -> None:
        if given["padding_mode"] != "zeros":
            raise ProgramError("ValueError", f'Only "zeros" padding mode is supported for {self.SCRIPT_NAME}')
        super().keep(given)

    def _wanted(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output_padding that gives an output size. ValueError if none does."""
        rank, shape, size = self.RANK, input.array.shape, tuple(output_size)
        lead = 2 if len(shape) == rank + 2 else 1
        if len(size) == lead + rank:
            size = size[lead:]
        if len(size) != rank:
            text = (
                f"ConvTranspose{rank}D: for {len(shape)}D input, output_size must have {rank} or {lead + rank} elements (got {len(size)})"
            )
            raise shape_error(text, "ValueError")
        how = zip(shape[lead:], self.kernel_size, self.stride, self.padding, self.dilation, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, k, s, p, d in how]
        most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
        if any(not low <= n <= high for n, low, high in zip(size, least, most, strict=True)):
            raise shape_error(
                f"requested an output size of {formatted(output_size)}, but valid sizes range from {least} to {most} "
                f"(for an input of {type(input.shape)(shape[2:])})",
                "ValueError",
            )
        return tuple(n - low for n, low in zip(size, least, strict=True))

    def forward(self, input: Any, output_size: Any = None) -> Any:
        weight, bias = self.own_parameters["weight"], self.own_parameters["bias"]
        more = self.output_padding if output_size is None else self._wanted(input, output_size)
        return catalog.function(self.FUNCTION)(input, weight, bias, self.stride, self.padding, more, self.groups, self.dilation)


CLASSES = ClassTable(
    row(ConvNd, {"Conv1d": "F.conv1d", "Conv2d": "F.conv2d", "Conv3d": "F.conv3d"}),
    row(
        ConvTransposeNd,
        {"ConvTranspose1d": "F.conv_transpose1d", "ConvTranspose2d": "F.conv_transpose2d", "ConvTranspose3d": "F.conv_transpose3d"},
    ),
)
