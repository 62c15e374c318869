"""Activations as modules: the function of the same name with its settings kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.script_types import Attributes, ScriptType, script_type
from gradcli.core.functions import catalog
from gradcli.core.nn.linear import checked_size, floating
from gradcli.core.nn.module import Module, module_type, parameters_of
from gradcli.core.nn.parameter import new_parameter
from gradcli.core.ops.operators import truth
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


class Activation(Module):
    """What they share: `FUNCTION` under torch, called with the fields of `SETTINGS` after the input."""

    FUNCTION = ""
    SETTINGS = ""

    def forward(self, input: Any) -> Any:
        fields = self._settings()
        return catalog.function(self.FUNCTION)(input, *[fields[name] for name in self.SETTINGS.split()])

    def _settings(self) -> dict[str, Any]:
        """The fields; `inplace` may be anything that is true or false."""
        fields = vars(self)
        given = fields.get("inplace", False)
        if type(given) is bool:
            return fields
        return fields | {"inplace": truth(given) if type(given) is Tensor else bool(given)}

    def extra(self) -> str:
        fields = self._settings()
        names = [name for name in self.SETTINGS.split() if name != "inplace" or fields[name]]
        return ", ".join(f"{name}={fields[name]}" for name in names)


def _tables(settings: str) -> dict[str, Callable[[Any], Any]]:
    return Module.SCRIPT_ATTRIBUTES | Attributes.read(settings)


class ReLU(Activation):
    """`F.relu`."""

    SCRIPT_NAME = "ReLU"
    FUNCTION = "nn.functional.relu"
    SETTINGS = "inplace"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)
    SCRIPT_SETTERS = Attributes.write(SETTINGS)

    def __init__(self, inplace: Any = False) -> None:
        super().__init__()
        self.inplace = inplace


class ReLU6(ReLU):
    """`F.relu6`."""

    SCRIPT_NAME = "ReLU6"
    FUNCTION = "nn.functional.relu6"


class SELU(ReLU):
    """`F.selu`."""

    SCRIPT_NAME = "SELU"
    FUNCTION = "nn.functional.selu"


class SiLU(ReLU):
    """`F.silu`."""

    SCRIPT_NAME = "SiLU"
    FUNCTION = "nn.functional.silu"


class Mish(ReLU):
    """`F.mish`."""

    SCRIPT_NAME = "Mish"
    FUNCTION = "nn.functional.mish"


class Hardsigmoid(ReLU):
    """`F.hardsigmoid`."""

    SCRIPT_NAME = "Hardsigmoid"
    FUNCTION = "nn.functional.hardsigmoid"


class Hardswish(ReLU):
    """`F.hardswish`."""

    SCRIPT_NAME = "Hardswish"
    FUNCTION = "nn.functional.hardswish"


class LeakyReLU(Activation):
    """`F.leaky_relu`."""

    SCRIPT_NAME = "LeakyReLU"
    FUNCTION = "nn.functional.leaky_relu"
    SETTINGS = "negative_slope inplace"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)
    SCRIPT_SETTERS = Attributes.write(SETTINGS)

    def __init__(self, negative_slope: Any = 1e-2, inplace: Any = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace


class ELU(Activation):
    """`F.elu`."""

    SCRIPT_NAME = "ELU"
    FUNCTION = "nn.functional.elu"
    SETTINGS = "alpha inplace"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)
    SCRIPT_SETTERS = Attributes.write(SETTINGS)

    def __init__(self, alpha: Any = 1.0, inplace: Any = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace


class CELU(ELU):
    """`F.celu`."""

    SCRIPT_NAME = "CELU"
    FUNCTION = "nn.functional.celu"


class GELU(Activation):
    """`F.gelu`."""

    SCRIPT_NAME = "GELU"
    SETTINGS = "approximate"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, approximate: Any = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        return catalog.function("nn.functional.gelu")(input, approximate=self.approximate)

    def extra(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardtanh(Activation):
    """`F.hardtanh`."""

    SCRIPT_NAME = "Hardtanh"
    FUNCTION = "nn.functional.hardtanh"
    SETTINGS = "min_val max_val inplace"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)
    SCRIPT_SETTERS = Attributes.write(SETTINGS)

    def __init__(self, min_val: Any = -1.0, max_val: Any = 1.0, inplace: Any = False, min_value: Any = None, max_value: Any = None) -> None:
        super().__init__()
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if not self.max_val > self.min_val:
            raise ProgramError("AssertionError", f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class Threshold(Activation):
    """`F.threshold`."""

    SCRIPT_NAME = "Threshold"
    FUNCTION = "nn.functional.threshold"
    SETTINGS = "threshold value inplace"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, threshold: Any, value: Any, inplace: Any = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace


class Softplus(Activation):
    """`F.softplus`."""

    SCRIPT_NAME = "Softplus"
    FUNCTION = "nn.functional.softplus"
    SETTINGS = "beta threshold"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, beta: Any = 1.0, threshold: Any = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold


class Softshrink(Activation):
    """`F.softshrink`."""

    SCRIPT_NAME = "Softshrink"
    FUNCTION = "nn.functional.softshrink"
    SETTINGS = "lambd"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, lambd: Any = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra(self) -> str:
        return str(self.lambd)


class Hardshrink(Softshrink):
    """`F.hardshrink`."""

    SCRIPT_NAME = "Hardshrink"
    FUNCTION = "nn.functional.hardshrink"


class Softmax(Activation):
    """`F.softmax`."""

    SCRIPT_NAME = "Softmax"
    FUNCTION = "nn.functional.softmax"
    SETTINGS = "dim"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)
    SCRIPT_SETTERS = Attributes.write(SETTINGS)

    def __init__(self, dim: Any = None) -> None:
        super().__init__()
        self.dim = dim


class LogSoftmax(Softmax):
    """`F.log_softmax`."""

    SCRIPT_NAME = "LogSoftmax"
    FUNCTION = "nn.functional.log_softmax"


class Softmin(Softmax):
    """`F.softmin`."""

    SCRIPT_NAME = "Softmin"
    FUNCTION = "nn.functional.softmin"


class GLU(Activation):
    """`F.glu`."""

    SCRIPT_NAME = "GLU"
    FUNCTION = "nn.functional.glu"
    SETTINGS = "dim"
    SCRIPT_ATTRIBUTES = _tables(SETTINGS)

    def __init__(self, dim: Any = -1) -> None:
        super().__init__()
        self.dim = dim


class Sigmoid(Activation):
    """`torch.sigmoid`; like the others without settings it passes over what it is made with."""

    SCRIPT_NAME = "Sigmoid"
    FUNCTION = "sigmoid"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


class Tanh(Sigmoid):
    """`torch.tanh`."""

    SCRIPT_NAME = "Tanh"
    FUNCTION = "tanh"


class LogSigmoid(Sigmoid):
    """`F.logsigmoid`."""

    SCRIPT_NAME = "LogSigmoid"
    FUNCTION = "nn.functional.logsigmoid"


class Softsign(Sigmoid):
    """`F.softsign`."""

    SCRIPT_NAME = "Softsign"
    FUNCTION = "nn.functional.softsign"


class Tanhshrink(Sigmoid):
    """`F.tanhshrink`."""

    SCRIPT_NAME = "Tanhshrink"
    FUNCTION = "nn.functional.tanhshrink"


_WEIGHT, _SET_WEIGHT = parameters_of("weight")


class PReLU(Module):
    """`F.prelu` with a slope that is learned."""

    SCRIPT_NAME = "PReLU"
    SHOWN = "num_parameters"
    SCRIPT_ATTRIBUTES = _tables("num_parameters init") | _WEIGHT
    SCRIPT_SETTERS = _SET_WEIGHT

    def __init__(self, num_parameters: Any = 1, init: Any = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        wanted = floating(dtype)
        self.num_parameters = num_parameters
        self.init = init
        self.own_parameters["weight"] = new_parameter(np.full(checked_size((num_parameters,), wanted), init, wanted.np), wanted)

    def forward(self, input: Any) -> Any:
        return catalog.function("nn.functional.prelu")(input, self.own_parameters["weight"])


def _type(made: type[Module]) -> ScriptType:
    """Sharing code does not make one activation an instance of another."""
    return script_type(made, "torch.nn.modules.activation", exact=True)


RELU_TYPE = _type(ReLU)
RELU6_TYPE = _type(ReLU6)
SELU_TYPE = _type(SELU)
SILU_TYPE = _type(SiLU)
MISH_TYPE = _type(Mish)
HARDSIGMOID_TYPE = _type(Hardsigmoid)
HARDSWISH_TYPE = _type(Hardswish)
LEAKYRELU_TYPE = _type(LeakyReLU)
ELU_TYPE = _type(ELU)
CELU_TYPE = _type(CELU)
GELU_TYPE = _type(GELU)
HARDTANH_TYPE = _type(Hardtanh)
THRESHOLD_TYPE = _type(Threshold)
SOFTPLUS_TYPE = _type(Softplus)
SOFTSHRINK_TYPE = _type(Softshrink)
HARDSHRINK_TYPE = _type(Hardshrink)
SOFTMAX_TYPE = _type(Softmax)
LOGSOFTMAX_TYPE = _type(LogSoftmax)
SOFTMIN_TYPE = _type(Softmin)
GLU_TYPE = _type(GLU)
SIGMOID_TYPE = _type(Sigmoid)
TANH_TYPE = _type(Tanh)
LOGSIGMOID_TYPE = _type(LogSigmoid)
SOFTSIGN_TYPE = _type(Softsign)
TANHSHRINK_TYPE = _type(Tanhshrink)
PRELU_TYPE = module_type(PReLU, "activation")
