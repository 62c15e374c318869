"""Activations that are linear with another slope for negative input: leaky_relu, prelu, rrelu."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import blocks, memory_format
from gradcli.core.ops.activation.functional import activation, functional, inplace_functions, writing
from gradcli.core.ops.checks import checked, not_implemented, require_floating
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.operators import is_true
from gradcli.core.ops.rules import ZERO, check_no_tangent
from gradcli.core.ops.shape.views import reshape
from gradcli.core.random import generator
from gradcli.core.random.generator import Generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import scalar_of
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import UNMET, runtime_error, shape_error

# --- leaky_relu ---

LEAKY_RELU_BACKWARD, LEAKY_RELU = activation(
    "LeakyRelu",
    lambda x, negative_slope: blocks.where(np.greater(x, 0), x, x * negative_slope),
    lambda grad, x, negative_slope: blocks.where(np.greater(x, 0), grad, grad * negative_slope),
    "negative_slope",
    formula="where(input > 0, grad, grad * negative_slope)",
    note="the negative slope at 0",
    gradient_layout="reversed",
)


def check_slope(name: str, file: str, slope: float) -> None:
    """Raise RuntimeError for a slope whose in-place form does not tell from the result which branch was taken."""
    if not slope >= 0:
        raise runtime_error(
            f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is caused by "
            f"calling in-place forward function with a negative slope, please call out-of-place version instead.{file}"
        )


_FILE_AN_ISSUE = (
    " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward calculation with "
    "negative slope"
)


def _leaky_relu_rule(xp: Any, grad: Any, out: Any, negative_slope: float) -> Any:
    check_slope("leakyReLu", _FILE_AN_ISSUE, negative_slope)
    return xp.call(LEAKY_RELU_BACKWARD, grad, out, negative_slope)


#: the in-place forms of leaky_relu, elu and celu keep the result, since the input is overwritten
LEAKY_RELU_INPLACE = Pointwise(
    "LeakyReluBackward1",
    LEAKY_RELU.forward,
    "input",
    "negative_slope",
    input=Rule(_leaky_relu_rule, "where(out > 0, grad, grad * negative_slope)", "the negative slope at 0"),
)
leaky_relu = checked(LEAKY_RELU, require_floating, "leaky_relu_cpu")
_write_leaky_relu = writing(checked(LEAKY_RELU_INPLACE, require_floating, "leaky_relu_cpu"))


# --- prelu ---

PRELU_BACKWARD: Op = Op(
    "PreluKernelBackwardBackward0",
    lambda grad, x, weight: blocks.where(x > 0, grad, grad * weight),
    "grad_output input weight",
    layout="reversed",
    jvp="transpose",  # this tangent is not 0 where the weight is 0
    grad_output=Rule(
        lambda xp, grad, input, weight: xp.where(xp.plain(input) >= 0, grad, grad * weight), "where(input >= 0, grad, grad * weight)"
    ),
    input=ZERO,
    weight=Rule(
        lambda xp, grad, grad_output, input: xp.where(xp.plain(input) >= 0, 0.0, grad * grad_output),
        "where(input >= 0, 0 * grad, grad * grad_output)",
    ),
)
PRELU_WEIGHT_BACKWARD: Op = Op(
    "PreluKernelBackwardBackward0",
    lambda grad, x, weight: blocks.where(x > 0, grad.dtype.type(0), grad * x),
    "grad_output input weight",
    grad_output=Rule(
        lambda xp, grad, input: xp.where(xp.plain(input) >= 0, 0.0, grad * input), "where(input >= 0, 0 * grad, grad * input)"
    ),
    input=Rule(
        lambda xp, grad, grad_output, input: xp.where(xp.plain(input) >= 0, 0.0, grad * grad_output),
        "where(input >= 0, 0 * grad, grad * grad_output)",
    ),
    weight=Rule(lambda xp, grad, weight: xp.zeros_like(weight), "zeros_like(weight)"),
)


def _prelu_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, out: Any) -> Any:
    """PyTorch's tangent, which unlike its gradient has the slope 1 at 0."""
    (x, weight), (dx, dw) = inputs, tangents
    moved = scalars.times(xp, x, 0) if dx is None else dx
    bent = weight * moved if dw is None else weight * moved + dw * x
    return xp.where(xp.plain(x) >= 0, moved, bent)


PRELU = Pointwise(
    "PreluKernelBackward0",
    lambda x, weight: blocks.where(x > 0, x, x * weight),
    "input weight",
    saved="self weight!",
    jvp=_prelu_jvp,
    input=Rule(
        lambda xp, grad, input, weight: xp.call(PRELU_BACKWARD, grad, input, weight),
        "where(input > 0, grad, grad * weight)",
        "the weight at 0",
    ),
    weight=Rule(
        lambda xp, grad, input, weight: xp.call(PRELU_WEIGHT_BACKWARD, grad, input, weight), "where(input >= 0, 0 * grad, grad * input)"
    ),
)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input` where it is positive, `weight * input` elsewhere; the weight is one number or one for each channel (dimension 1)."""
    if input.dtype is not weight.dtype:
        raise runtime_error(f"prelu: Type promoting not supported. Got {input.dtype.torch_name} and {weight.dtype.torch_name}")
    if weight.array.size != 1:
        if not input.array.ndim:
            raise runtime_error("Not allow zero-dim input tensor.")
        channels = input.array.shape[1] if input.array.ndim > 1 else 1
        if channels != weight.array.size:
            raise shape_error(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.array.size} "
                f"and channel size = {channels}."
            )
    if weight.array.ndim > 1:
        raise shape_error(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.array.ndim}")
    if input.array.ndim != weight.array.ndim:
        shape = [1] * input.array.ndim
        if input.array.ndim > 1:
            shape[1] = weight.array.size
        weight = reshape(weight, shape)
    require_floating("prelu_cpu", input.dtype)
    out = PRELU(input, weight)
    out.array = memory_format.laid_out(out.array, memory_format.preserved(input.array))
    return out


# --- rrelu ---

RRELU_BACKWARD: Op = Op(
    "RreluWithNoiseBackwardBackward0",
    lambda grad, x, noise, lower, upper: grad * noise,
    "grad_output input",
    "noise lower upper",
    layout="iterated",
    saved="noise self! lower training=True upper",
    grad_output=Rule(lambda xp, grad, input, attrs: xp.call(RRELU_BACKWARD, grad, input, *attrs), "grad * noise"),
    input=ZERO,
)
#: `noise` holds the slopes that were drawn, and 1 for positive elements
RRELU = Op(
    "RreluWithNoiseBackward0",
    lambda x, noise, lower, upper: x * noise,
    "input",
    "noise lower upper",
    layout="contiguous",
    saved="noise self lower training=True upper",
    input=Rule(lambda xp, grad, input, attrs: xp.call(RRELU_BACKWARD, grad, input, *attrs), "grad * noise"),
)
#: the in-place form keeps the result
RRELU_INPLACE = Op(
    "RreluWithNoiseBackward1",
    RRELU.forward,
    "input",
    "noise lower upper",
    saved="noise lower result training=True upper",
    input=Rule(lambda xp, grad, out, attrs: xp.call(RRELU_BACKWARD, grad, out, *attrs), "grad * noise"),
)


def _middle(lower: float, upper: float) -> float:
    """The slope in evaluation. The bounds are added as tensors: booleans to a boolean; the mean of integers has the default dtype."""
    total = np.asarray(lower) + np.asarray(upper)
    return float(total / 2 if total.dtype.kind == "f" else dtypes.get_default().np.type(total) / 2)


def _times(x: Any, slope: float) -> Any:
    """The product, of half precision rounded once."""
    return x * x.dtype.type(slope) if x.dtype.itemsize > 2 else (x.astype(np.float32) * np.float32(slope)).astype(x.dtype)


#: in evaluation the slope is the mean of the bounds
RRELU_MEAN_BACKWARD: Op = Op(
    "RreluWithNoiseBackwardBackward0",
    lambda grad, x, lower, upper: blocks.where(x > 0, grad, _times(grad, (float(lower) + float(upper)) / 2)),
    "grad_output input",
    "lower upper",
    layout="reversed",
    saved="noise=? self! lower training=False upper",
    grad_output=Rule(
        lambda xp, grad, input, lower, upper: xp.call(RRELU_MEAN_BACKWARD, grad, input, lower, upper),
        "where(input > 0, grad, grad * (lower + upper) / 2)",
    ),
    input=ZERO,
)
RRELU_MEAN = Op(
    "RreluWithNoiseBackward0",
    lambda x, lower, upper: blocks.where(x > 0, x, _times(x, _middle(lower, upper))),
    "input",
    "lower upper",
    layout="contiguous",
    saved="noise=? self lower training=False upper",
    input=Rule(
        lambda xp, grad, input, lower, upper: xp.call(RRELU_MEAN_BACKWARD, grad, input, lower, upper),
        "where(input > 0, grad, grad * (lower + upper) / 2)",
        "the slope at 0 is that of negative elements",
    ),
)


def _rrelu_mean_rule(xp: Any, grad: Any, out: Any, lower: float, upper: float) -> Any:
    check_slope("leakyReLu", _FILE_AN_ISSUE, (float(lower) + float(upper)) / 2)
    return xp.call(RRELU_MEAN_BACKWARD, grad, out, lower, upper)


RRELU_MEAN_INPLACE = Op(
    "RreluWithNoiseBackward1",
    RRELU_MEAN.forward,
    "input",
    "lower upper",
    saved="noise=? lower result training=False upper",
    input=Rule(_rrelu_mean_rule, "where(out > 0, grad, grad * (lower + upper) / 2)", "the slope at 0 is that of negative elements"),
)


def _rrelu(input: Tensor, lower: float, upper: float, training: bool, source: Generator | None = None) -> Any:
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise runtime_error(f"rrelu: {name} bound must be finite, got {bound:g}")
    _check_bounds(lower, upper)
    return _with_slopes(input, lower, upper, training, source, (RRELU, RRELU_MEAN))


def _check_bounds(lower: float, upper: float) -> None:
    if not lower <= upper:
        raise runtime_error("Lower bound should be less than or equal to the upper bound")


def _with_slopes(input: Tensor, lower: float, upper: float, training: bool, source: Generator | None, ops: tuple[Op, Op]) -> Any:
    """The activation by the first of `ops` with slopes drawn from [lower, upper] in training, else by the second with their mean."""
    if state.mapped:
        raise runtime_error("vmap: we do not yet support aten::rrelu. Please file an issue")
    require_floating("rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu", input.dtype)
    if training and input.dtype is dtypes.float16:
        raise not_implemented("rrelu_with_noise_out_cpu", input.dtype)
    if not training:
        return ops[1](input, lower, upper)
    lower, upper = (scalar_of(bound, dtypes.widened(input.dtype)) for bound in (lower, upper))
    noise = np.ones(input.array.shape, input.dtype.np)
    negative = input.array <= 0
    if negative.any():
        if not upper - lower <= np.finfo(np.float64).max:
            raise runtime_error(UNMET.format("to - from <= std::numeric_limits<T>::max()"))
        noise[negative] = (source or generator.default).uniform((int(negative.sum()),), dtypes.float64, lower, upper)
    return ops[0](input, dtypes.cast(noise, input.dtype), lower, upper)


def _write_rrelu(input: Tensor, lower: float, upper: float, training: bool, source: Generator | None = None) -> Any:
    """The in-place form, which takes infinite bounds too."""
    _check_bounds(lower, upper)
    check_no_tangent("rrelu_with_noise_", input)
    return writing(_with_slopes)(input, lower, upper, training, source, (RRELU_INPLACE, RRELU_MEAN_INPLACE))


_RRELU_SIGNATURE = "Tensor input, Number lower=0.125, Number upper=0.3333333333333333, bool training=False, Generator? generator=None"
_RRELU = [
    kernel(name, "Tensor input, Number lower, Number upper, bool training", run)
    for name, run in (("rrelu", _rrelu), ("rrelu_", _write_rrelu))
]


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Any:
    """leaky_relu with slopes that are drawn for each element from [lower, upper]; in evaluation with their mean."""
    return _RRELU[is_true(inplace)](input, lower, upper, training)


# --- the functions ---

_X = [0.5, -1.5, 2.0, 4.5]
_BOTH = ("torch", "torch.nn.functional")

FUNCTIONS = (
    Function(
        "prelu",
        ("Tensor input, Tensor weight", prelu),
        doc="input where positive, weight * input elsewhere; one weight, or one a channel.",
        ops=(PRELU,),
        samples=(
            Sample("torch.prelu(x, y)", lambda x, y: np.where(x > 0, x, y * x), x=_X, y=0.25),
            Sample("F.prelu(x, y)", lambda x, y: np.where(x > 0, x, y * x), x=[[0.5, -1.5], [-2.0, 1.0]], y=[0.25, 0.5]),
        ),
        aliases=("nn.functional.prelu",),
    ),
    functional(
        "leaky_relu",
        "Tensor input, Number negative_slope=0.01",
        leaky_relu,
        "input where positive, negative_slope * input elsewhere.",
        LEAKY_RELU,
        Sample("F.leaky_relu(x, 0.1)", lambda x: np.where(x > 0, x, 0.1 * x), x=_X),
        write=_write_leaky_relu,
    ),
    *inplace_functions("leaky_relu", "Tensor input, Number negative_slope=0.01", _write_leaky_relu, LEAKY_RELU_INPLACE),
    PythonFunction(
        rrelu,
        "rrelu",
        "input where positive, a slope drawn by chance times input elsewhere.",
        unchecked=True,
        ops=(RRELU, RRELU_MEAN),
        samples=(Sample("F.rrelu(x)", None, x=[0.5, -1.5, 2.0]), Sample("F.rrelu(x, 0.25, 0.25, True)", None, x=[0.5, 1.5])),
    ),
    Function(
        "rrelu",
        (_RRELU_SIGNATURE, _rrelu),
        doc="input where positive, a slope drawn by chance times input elsewhere.",
        ops=(RRELU, RRELU_MEAN),
        samples=(Sample("torch.rrelu(x)", None, x=[0.5, -1.5, 2.0]), Sample("torch.rrelu(x, 0.25, 0.25, True)", None, x=[0.5, 1.5])),
        method=False,
    ),
    *inplace_functions("rrelu", _RRELU_SIGNATURE, _write_rrelu, RRELU_INPLACE, _BOTH),
)
