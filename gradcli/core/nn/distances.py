"""Distances and similarities as modules, bilinear maps, and softmax over the channels of images."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.calling.script_types import Attributes
from gradcli.core.functions import catalog
from gradcli.core.nn.init import uniform_array
from gradcli.core.nn.linear import checked_size, floating
from gradcli.core.nn.module import Module, module_type, parameters_of
from gradcli.core.nn.parameter import new_parameter
from gradcli.errors import ProgramError

_BOTH, _SET_BOTH = parameters_of("weight bias")


class CosineSimilarity(Module):
    """`F.cosine_similarity`."""

    SCRIPT_NAME = "CosineSimilarity"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read("dim eps")

    def __init__(self, dim: Any = 1, eps: Any = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Any, x2: Any) -> Any:
        return catalog.function("cosine_similarity")(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """`F.pairwise_distance`."""

    SCRIPT_NAME = "PairwiseDistance"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read("norm eps keepdim")

    def __init__(self, p: Any = 2.0, eps: Any = 1e-6, keepdim: Any = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        return catalog.function("nn.functional.pairwise_distance")(x1, x2, self.norm, self.eps, self.keepdim)


class Bilinear(Module):
    """`F.bilinear`; weight and bias begin uniform within 1 / sqrt(in1_features)."""

    SCRIPT_NAME = "Bilinear"
    SHOWN = "in1_features in2_features out_features"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SHOWN) | _BOTH
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | _SET_BOTH

    def __init__(
        self, in1_features: Any, in2_features: Any, out_features: Any, bias: Any = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        wanted = floating(dtype)
        if in1_features <= 0:
            raise ProgramError("ValueError", f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        size = checked_size((out_features, in1_features, in2_features), wanted)
        bound = 1 / math.sqrt(in1_features)
        self.own_parameters["weight"] = new_parameter(uniform_array(size, bound, wanted), wanted)
        self.own_parameters["bias"] = new_parameter(uniform_array((out_features,), bound, wanted), wanted) if bias else None

    def forward(self, input1: Any, input2: Any) -> Any:
        return catalog.function("bilinear")(input1, input2, self.own_parameters["weight"], self.own_parameters["bias"])

    def extra(self) -> str:
        return f"{super().extra()}, bias={self.own_parameters['bias'] is not None}"


class Softmax2d(Module):
    """Softmax over the channels of images."""

    SCRIPT_NAME = "Softmax2d"

    def forward(self, input: Any) -> Any:
        if input.array.ndim not in (3, 4):
            raise ProgramError("ValueError", f"Softmax2d: expected input to be 3D or 4D, got {input.array.ndim}D instead")
        return catalog.function("nn.functional.softmax")(input, -3)


COSINESIMILARITY_TYPE = module_type(CosineSimilarity, "distance")
PAIRWISEDISTANCE_TYPE = module_type(PairwiseDistance, "distance")
BILINEAR_TYPE = module_type(Bilinear, "linear")
SOFTMAX2D_TYPE = module_type(Softmax2d, "activation")
