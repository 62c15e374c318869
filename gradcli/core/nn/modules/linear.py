"""Linear and bilinear maps, and the identity."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.function_modules import FunctionModule
from gradcli.core.nn.parameter import checked_size, floating, kaiming_parameter, uniform_parameter
from gradcli.core.ops.layers.linear import linear
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


class Identity(Module, place="linear"):
    """The input itself; `__init__` ignores its arguments."""

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(FunctionModule, place="linear"):
    """A linear map; weight and bias begin uniform within 1 / sqrt(in_features)."""

    FUNCTION = "nn.functional.linear"
    PURE = True
    METHODS = "reset_parameters"
    ARGUMENTS = {"in_features": REQUIRED, "out_features": REQUIRED, "bias": True, "device": None, "dtype": None}
    PARAMETERS = "weight bias"
    EXTRA = "in_features={in_features}, out_features={out_features}, bias={bias}"

    def keep(self, given: dict[str, Any]) -> None:
        dtype, features_in, features_out = floating(given["dtype"]), given["in_features"], given["out_features"]
        size = checked_size((features_out, features_in), dtype)
        super().keep(given)
        bound = 1 / math.sqrt(features_in) if features_in > 0 else 0.0
        self.own_parameters["weight"] = kaiming_parameter(size, features_in, dtype)
        self.own_parameters["bias"] = uniform_parameter((features_out,), bound, dtype) if given["bias"] else None

    def forward(self, input: Any) -> Any:
        parameters = self.own_parameters
        weight, bias = parameters["weight"], parameters["bias"]
        if type(input) is not Tensor or weight is None:
            return catalog.function(self.FUNCTION)(input, weight, bias)
        return linear(input, weight, bias)


class NonDynamicallyQuantizableLinear(Linear, place="linear"):
    """The last linear map of `MultiheadAttention`; PyTorch has a class of its own for it, which is not in `torch.nn`."""


class Bilinear(FunctionModule, place="linear"):
    """`F.bilinear`; weight and bias begin uniform within 1 / sqrt(in1_features)."""

    FUNCTION = "nn.functional.bilinear"
    METHODS = "reset_parameters"
    ARGUMENTS = {"in1_features": REQUIRED, "in2_features": REQUIRED, "out_features": REQUIRED, "bias": True, "device": None, "dtype": None}
    PARAMETERS = "weight bias"
    EXTRA = "in1_features={in1_features}, in2_features={in2_features}, out_features={out_features}, bias={bias}"

    def keep(self, given: dict[str, Any]) -> None:
        dtype, first, out = floating(given["dtype"]), given["in1_features"], given["out_features"]
        if first <= 0:
            raise ProgramError("ValueError", f"in1_features must be > 0, but got (in1_features={formatted(first)})")
        super().keep(given)
        size = checked_size((out, first, given["in2_features"]), dtype)
        bound = 1 / math.sqrt(first)
        self.own_parameters["weight"] = uniform_parameter(size, bound, dtype)
        self.own_parameters["bias"] = uniform_parameter((out,), bound, dtype) if given["bias"] else None

    def forward(self, input1: Any, input2: Any) -> Any:  # type: ignore[override]
        return catalog.function(self.FUNCTION)(input1, input2, *self.declared_parameters())
