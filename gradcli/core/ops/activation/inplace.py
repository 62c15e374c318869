"""`F.relu_` and its like: activation functions that write into their input; leaky slopes drawn by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.activation import piecewise, records
from gradcli.core.ops.elementwise import scalars
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def _written(name: str, signature: str, run: Callable[..., Any], op: Op) -> Function:
    return Function(
        f"{name}_",
        (signature, lambda input, *more: piecewise.write(name, run, input, *more)),
        doc=f"{name} in place.",
        ops=(op,),
        namespace="torch.nn.functional",
        method=False,
    )


_NAMES = (
    _written("relu", "Tensor input", piecewise.relu, records.RELU),
    _written("selu", "Tensor input", piecewise.selu, records.ELU_RESULT),
    _written("celu", "Tensor input, Number alpha=1.0", piecewise.celu, records.CELU_RESULT),
    _written("elu", "Tensor input, Number alpha=1.0", piecewise.elu, records.ELU_RESULT),
    _written("hardtanh", "Tensor input, Number min_val=-1, Number max_val=1", piecewise.hardtanh, records.HARDTANH),
    _written("leaky_relu", "Tensor input, Number negative_slope=0.01", piecewise.leaky_relu, records.LEAKY_RELU_RESULT),
    _written("threshold", "Tensor input, Number threshold, Number value", piecewise.threshold, records.THRESHOLD_WRITTEN),
)

#: with the slopes that were drawn, 1 for what is positive
RRELU = Op(
    "RreluWithNoiseBackward0",
    lambda x, noise: x * noise,
    "input",
    "noise",
    input=Rule(lambda xp, grad, noise: scalars.times_data(xp, grad, noise), "grad * noise"),
)
#: in evaluation the slope is the mean of the bounds
RRELU_MEAN = Op(
    "RreluWithNoiseBackward0",
    lambda x, lower, upper: np.where(x > 0, x, x * x.dtype.type((lower + upper) / 2)),
    "input",
    "lower upper",
    input=Rule(
        lambda xp, grad, input, lower, upper: scalars.times_data(
            xp, grad, np.where(xp.plain(input) > 0, 1, (lower + upper) / 2).astype(xp.plain(input).dtype)
        ),
        "where(input > 0, grad, grad * (lower + upper) / 2)",
        "the slope at 0 is that of negative elements",
    ),
)


def _rrelu(input: Tensor, lower: float, upper: float, training: bool) -> Any:
    if lower > upper:
        raise ProgramError("RuntimeError", "Lower bound should be less than or equal to the upper bound")
    if not input.dtype.is_floating_point:
        kernel = "rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu"
        raise ProgramError("NotImplementedError", f"\"{kernel}\" not implemented for '{input.dtype.torch_name}'")
    if not training:
        return RRELU_MEAN(input, float(lower), float(upper))
    noise = np.ones(input.array.shape, input.dtype.np)
    negative = input.array <= 0
    draws = generator.default.uniform((int(negative.sum()),), np.dtype(np.float64), lower, upper)
    noise[negative] = draws
    return RRELU(input, dtypes.cast(noise, input.dtype))


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Any:
    """Leaky with slopes drawn for each element; in evaluation with their mean."""
    if inplace:
        return _in_place(input, lower, upper, training)
    return _rrelu(input, lower, upper, training)


def _in_place(input: Tensor, lower: float, upper: float, training: bool) -> Any:
    return in_place.apply(input, "rrelu_", lambda x: _rrelu(x, lower, upper, training))


FUNCTIONS: tuple[Function, ...] = (
    *_NAMES,
    PythonFunction(
        rrelu,
        "rrelu",
        "input where positive, a slope drawn by chance times input elsewhere.",
        checked_as="rrelu",
        ops=(RRELU, RRELU_MEAN),
        samples=(Sample("F.rrelu(x)", None, x=[0.5, -1.5, 2.0]), Sample("F.rrelu(x, 0.25, 0.25, True)", None, x=[0.5, 1.5])),
    ),
)
