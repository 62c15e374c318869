"""Activations: rows of classes that call a function of the same name, and PReLU, whose slope is a parameter."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.function_modules import ClassTable, FunctionModule, row
from gradcli.core.nn.parameter import checked_size, floating, new_parameter
from gradcli.core.ops.operators import truth
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, shape_error


class Activation(FunctionModule):
    """An activation; `inplace` may be any value that is true or false, and the repr shows it where it is true."""

    PLACE = "activation"
    PURE = True

    def settings(self) -> dict[str, Any]:
        settings = super().settings()
        given = settings.get("inplace", False)
        if type(given) is not bool:
            settings["inplace"] = truth(given) if type(given) is Tensor else bool(given)
        return settings

    def extra_repr(self) -> str:
        if self.EXTRA:
            return super().extra_repr()
        return ", ".join(f"{name}={value}" for name, value in self.settings().items() if name != "inplace" or value)


class Clamping(Activation):
    """`F.hardtanh`; `min_value` and `max_value` are deprecated names of its bounds."""

    NOT_KEPT = "min_value max_value"

    def keep(self, given: dict[str, Any]) -> None:
        older = {"min_val": given["min_value"], "max_val": given["max_value"]}
        super().keep(given | {name: value for name, value in older.items() if value is not None})
        low, high = self.settings()["min_val"], self.settings()["max_val"]
        if not high > low:
            raise ProgramError("AssertionError", f"max_val ({high}) must be greater than min_val ({low})")


class FromZeroToSix(Activation):
    """`F.hardtanh` with bounds that no argument sets, and that the repr does not show."""

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given | {"min_val": 0.0, "max_val": 6.0})

    def extra_repr(self) -> str:
        return "inplace=True" if self.settings()["inplace"] else ""


class RandomizedLeaky(Activation):
    """`F.rrelu`, which draws its slopes in training mode."""

    PURE = False

    def forward(self, input: Any) -> Any:
        settings = self.settings()
        return catalog.function(self.FUNCTION)(input, settings["lower"], settings["upper"], self.training, settings["inplace"])


class WithoutSettings(Activation):
    """An activation whose class in PyTorch has no `__init__` of its own: it takes any arguments and ignores them."""

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)


class Unshown(Activation):
    """An activation whose repr does not show its settings."""

    def extra_repr(self) -> str:
        return ""


CLASSES = ClassTable(
    row(
        Activation,
        {"ReLU": "F.relu", "SELU": "F.selu", "SiLU": "F.silu", "Mish": "F.mish"},
        ARGUMENTS={"inplace": False},
        ASSIGNED="inplace",
    ),
    row(Unshown, {"Hardsigmoid": "F.hardsigmoid", "Hardswish": "F.hardswish"}, ARGUMENTS={"inplace": False}, ASSIGNED="inplace"),
    row(Activation, {"LeakyReLU": "F.leaky_relu"}, ARGUMENTS={"negative_slope": 1e-2, "inplace": False}, ASSIGNED="negative_slope inplace"),
    row(Activation, {"ELU": "F.elu", "CELU": "F.celu"}, ARGUMENTS={"alpha": 1.0, "inplace": False}, ASSIGNED="alpha inplace"),
    row(Activation, {"GELU": "F.gelu"}, ARGUMENTS={"approximate": "none"}, BY_KEYWORD=True, EXTRA="approximate={approximate!r}"),
    row(
        Clamping,
        {"Hardtanh": "F.hardtanh"},
        ARGUMENTS={"min_val": -1.0, "max_val": 1.0, "inplace": False, "min_value": None, "max_value": None},
        ASSIGNED="min_val max_val inplace",
    ),
    row(
        FromZeroToSix,
        {"ReLU6": "F.hardtanh"},
        ARGUMENTS={"inplace": False},
        SETTINGS="min_val max_val inplace",
        ASSIGNED="min_val max_val inplace",
    ),
    row(Activation, {"Threshold": "F.threshold"}, ARGUMENTS={"threshold": REQUIRED, "value": REQUIRED, "inplace": False}),
    row(Activation, {"Softplus": "F.softplus"}, ARGUMENTS={"beta": 1.0, "threshold": 20.0}),
    row(Activation, {"Softshrink": "F.softshrink", "Hardshrink": "F.hardshrink"}, ARGUMENTS={"lambd": 0.5}, EXTRA="{lambd}"),
    row(
        Activation,
        {"Softmax": "F.softmax", "LogSoftmax": "F.log_softmax", "Softmin": "F.softmin"},
        ARGUMENTS={"dim": None},
        ASSIGNED="dim",
        call=FunctionModule.call_inside,
    ),
    row(Activation, {"GLU": "F.glu"}, ARGUMENTS={"dim": -1}),
    row(RandomizedLeaky, {"RReLU": "F.rrelu"}, ARGUMENTS={"lower": 1.0 / 8, "upper": 1.0 / 3, "inplace": False}),
    row(
        WithoutSettings,
        {
            "Sigmoid": "torch.sigmoid",
            "Tanh": "torch.tanh",
            "LogSigmoid": "F.logsigmoid",
            "Softsign": "F.softsign",
            "Tanhshrink": "F.tanhshrink",
        },
    ),
)


class Softmax2d(Module, place="activation"):
    """Softmax over the channels of images."""

    def forward(self, input: Any) -> Any:
        if input.array.ndim not in (3, 4):
            raise shape_error(f"Softmax2d: expected input to be 3D or 4D, got {input.array.ndim}D instead", "ValueError")
        return catalog.function("nn.functional.softmax")(input, -3)


class PReLU(FunctionModule, place="activation"):
    """`F.prelu` with a slope that is learned."""

    FUNCTION = "nn.functional.prelu"
    ARGUMENTS = {"num_parameters": 1, "init": 0.25, "device": None, "dtype": None}
    PARAMETERS = "weight"
    METHODS = "reset_parameters"
    SHOWN = "num_parameters"

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        dtype = floating(given["dtype"])
        size = checked_size((given["num_parameters"],), dtype)
        self.own_parameters["weight"] = new_parameter(np.full(size, given["init"], dtype.np), dtype)

    def forward(self, input: Any) -> Any:
        return catalog.function(self.FUNCTION)(input, self.own_parameters["weight"])
