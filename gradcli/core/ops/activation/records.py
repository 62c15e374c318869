"""Records of the piecewise activation functions, and of their derivatives, which PyTorch gives nodes of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule, no_derivative
from gradcli.core.kernels import elementary
from gradcli.core.ops.elementwise import scalars

_ZERO = Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad")


def _masked(keep: Any, grad: Any) -> Any:
    return np.where(keep, grad, np.zeros((), np.asarray(grad).dtype))


# --- relu, threshold, hardtanh, leaky_relu ---

THRESHOLD_BACKWARD: Op = Op(
    "ThresholdBackwardBackward0",
    lambda grad, x, threshold: _masked(~np.less_equal(x, threshold), grad),
    "grad_output input",
    "threshold",
    grad_output=Rule(
        lambda xp, grad, input, threshold: xp.call(THRESHOLD_BACKWARD, grad, input, threshold), "where(input <= threshold, 0 * grad, grad)"
    ),
    input=_ZERO,
)
RELU = Pointwise(
    "ReluBackward0",
    lambda x: np.maximum(np.zeros((), x.dtype), x),  # the second of equals: -0 stays
    "input",
    input=Rule(lambda xp, grad, out: xp.call(THRESHOLD_BACKWARD, grad, out, 0), "where(out <= 0, 0 * grad, grad)", "0 at 0"),
)
THRESHOLD = Pointwise(
    "ThresholdBackward0",
    lambda x, threshold, value: np.where(np.less_equal(x, threshold), np.asarray(value).astype(x.dtype), x),
    "input",
    "threshold value",
    input=Rule(
        lambda xp, grad, input, threshold: xp.call(THRESHOLD_BACKWARD, grad, input, threshold),
        "where(input <= threshold, 0 * grad, grad)",
        "0 at the threshold",
    ),
)
HARDTANH_BACKWARD: Op = Op(
    "HardtanhBackwardBackward0",
    lambda grad, x, min_val, max_val: _masked(~(np.less_equal(x, min_val) | np.greater_equal(x, max_val)), grad),
    "grad_output input",
    "min_val max_val",
    grad_output=Rule(
        lambda xp, grad, input, min_val, max_val: xp.call(HARDTANH_BACKWARD, grad, input, min_val, max_val),
        "where((input <= min_val) | (input >= max_val), 0 * grad, grad)",
    ),
    input=_ZERO,
)
HARDTANH = Pointwise(
    "HardtanhBackward0",
    lambda x, min_val, max_val: np.minimum(x.dtype.type(max_val), np.maximum(x.dtype.type(min_val), x)),
    "input",
    "min_val max_val",
    input=Rule(
        lambda xp, grad, input, min_val, max_val: xp.call(HARDTANH_BACKWARD, grad, input, min_val, max_val),
        "where((input <= min_val) | (input >= max_val), 0 * grad, grad)",
        "0 at both edges",
    ),
)
LEAKY_RELU_BACKWARD: Op = Op(
    "LeakyReluBackwardBackward0",
    lambda grad, x, negative_slope: np.where(np.greater(x, 0), grad, grad * negative_slope),
    "grad_output input",
    "negative_slope",
    grad_output=Rule(
        lambda xp, grad, input, negative_slope: xp.call(LEAKY_RELU_BACKWARD, grad, input, negative_slope),
        "where(input > 0, grad, grad * negative_slope)",
    ),
    input=_ZERO,
)
LEAKY_RELU = Pointwise(
    "LeakyReluBackward0",
    lambda x, negative_slope: np.where(np.greater(x, 0), x, x * negative_slope),
    "input",
    "negative_slope",
    input=Rule(
        lambda xp, grad, input, negative_slope: xp.call(LEAKY_RELU_BACKWARD, grad, input, negative_slope),
        "where(input > 0, grad, grad * negative_slope)",
        "the negative slope at 0",
    ),
)

# --- elu, selu, celu ---


def _elu(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return np.where(np.less_equal(x, 0), elementary.expm1(x * input_scale) * (alpha * scale), x * scale)


def _elu_gradient(grad: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return np.where(np.less_equal(x, 0), grad * (input_scale * alpha * scale) * elementary.exp(x * input_scale), grad * scale)


def _elu_second(xp: Any, grad: Any, grad_output: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    curve = xp.call(ELU_BACKWARD, scalars.times(xp, grad * grad_output, input_scale), input, alpha, scale, input_scale)
    x = xp.plain(input)
    return scalars.times_data(xp, curve, np.less(x, 0).astype(x.dtype))


_ELU_FORMULA = "where(input <= 0, grad * input_scale * alpha * scale * exp(input * input_scale), grad * scale)"
_ELU_NOTE = "that of the exponential branch at 0"
ELU_BACKWARD: Op = Op(
    "EluBackwardBackward0",
    _elu_gradient,
    "grad_output input",
    "alpha scale input_scale",
    grad_output=Rule(
        lambda xp, grad, input, alpha, scale, input_scale: xp.call(ELU_BACKWARD, grad, input, alpha, scale, input_scale), _ELU_FORMULA
    ),
    input=Rule(_elu_second, "grad * grad_output * input_scale**2 * alpha * scale * exp(input * input_scale) * (input < 0)"),
)
ELU = Pointwise(
    "EluBackward0",
    _elu,
    "input",
    "alpha scale input_scale",
    input=Rule(
        lambda xp, grad, input, alpha, scale, input_scale: xp.call(ELU_BACKWARD, grad, input, alpha, scale, input_scale),
        _ELU_FORMULA,
        _ELU_NOTE,
    ),
)
CELU = Pointwise(
    "CeluBackward0",
    lambda x, alpha: _elu(x, alpha, 1, 1 / alpha),
    "input",
    "alpha",
    input=Rule(
        lambda xp, grad, input, alpha: xp.call(ELU_BACKWARD, grad, input, alpha, 1, 1 / alpha),
        "where(input <= 0, grad * exp(input / alpha), grad)",
        _ELU_NOTE,
    ),
)

# what the in-place forms record: they keep the result, since the input is gone

LEAKY_RELU_RESULT = Pointwise(
    "LeakyReluBackward1",
    lambda x, negative_slope: np.where(np.greater(x, 0), x, x * negative_slope),
    "input",
    "negative_slope",
    input=Rule(
        lambda xp, grad, out, negative_slope: xp.call(LEAKY_RELU_BACKWARD, grad, out, negative_slope),
        "where(out > 0, grad, grad * negative_slope)",
        "the negative slope at 0",
    ),
)


def _elu_from_result(xp: Any, grad: Any, out: Any, alpha: float, scale: float, input_scale: float) -> Any:
    curve = grad * ((out + alpha * scale) * input_scale)
    return xp.where(np.less_equal(xp.plain(out), 0), curve, grad * scale)


ELU_RESULT = Pointwise(
    "EluBackward1",
    _elu,
    "input",
    "alpha scale input_scale",
    input=Rule(_elu_from_result, "where(out <= 0, grad * input_scale * (out + alpha * scale), grad * scale)", _ELU_NOTE),
)
CELU_RESULT = Pointwise(
    "CeluBackward1",
    lambda x, alpha: _elu(x, alpha, 1, 1 / alpha),
    "input",
    "alpha",
    input=Rule(
        lambda xp, grad, out, alpha: _elu_from_result(xp, grad, out, alpha, 1, 1 / alpha),
        "where(out <= 0, grad * (out + alpha) / alpha, grad)",
        _ELU_NOTE,
    ),
)
THRESHOLD_WRITTEN = Pointwise("ThresholdBackward1", THRESHOLD.forward, "input", "threshold value", input=THRESHOLD.rules["input"])

# --- hardsigmoid, hardswish, shrinking ---


def _no_second(xp: Any, grad: Any) -> Any:
    raise no_derivative("aten::hardsigmoid_backward")


HARDSIGMOID_BACKWARD = Op(
    "NotImplemented",
    lambda grad, x: _masked((x > -3) & (x < 3), grad / 6),
    "grad_output input",
    full_name="torch::autograd::NotImplemented",
    grad_output=Rule(_no_second, ""),
    input=Rule(_no_second, ""),
)
HARDSIGMOID = Pointwise(
    "HardsigmoidBackward0",
    lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "input",
    input=Rule(
        lambda xp, grad, input: xp.call(HARDSIGMOID_BACKWARD, grad, input),
        "where((input > -3) & (input < 3), grad / 6, 0 * grad)",
        "0 at -3 and 3",
    ),
)


def _hardswish_second(xp: Any, grad: Any, grad_output: Any, input: Any) -> Any:
    x = xp.plain(input)
    return xp.where((x > -3) & (x < 3), grad * grad_output / 3, 0.0)


_HARDSWISH_FORMULA = "where(input <= -3, 0 * grad, where(input < 3, grad * (input / 3 + 0.5), grad))"
HARDSWISH_BACKWARD: Op = Op(
    "HardswishBackwardBackward0",
    lambda grad, x: np.where(x <= -3, np.zeros((), np.asarray(grad).dtype), np.where(x < 3, grad * (x / 3 + 0.5), grad)),
    "grad_output input",
    grad_output=Rule(lambda xp, grad, input: xp.call(HARDSWISH_BACKWARD, grad, input), _HARDSWISH_FORMULA),
    input=Rule(_hardswish_second, "where((input > -3) & (input < 3), grad * grad_output / 3, 0 * grad)"),
)
HARDSWISH = Pointwise(
    "HardswishBackward0",
    lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "input",
    input=Rule(lambda xp, grad, input: xp.call(HARDSWISH_BACKWARD, grad, input), _HARDSWISH_FORMULA, "0 at -3, 1 at 3"),
)


def _shrink(name: str, forward: Callable[..., Any]) -> Pointwise:
    formula = "where((input >= -lambd) & (input <= lambd), 0 * grad, grad)"
    backward: Op = Op(
        f"{name}BackwardBackward0",
        lambda grad, x, lambd: _masked(~((x >= -lambd) & (x <= lambd)), grad),
        "grad_output input",
        "lambd",
        grad_output=Rule(lambda xp, grad, input, lambd: xp.call(backward, grad, input, lambd), formula),
        input=_ZERO,
    )
    return Pointwise(
        f"{name}Backward0",
        forward,
        "input",
        "lambd",
        input=Rule(lambda xp, grad, input, lambd: xp.call(backward, grad, input, lambd), formula, "0 at both edges"),
    )


HARDSHRINK = _shrink("Hardshrink", lambda x, lambd: np.where((x >= -lambd) & (x <= lambd), np.zeros((), x.dtype), x))
SOFTSHRINK = _shrink(
    "Softshrink", lambda x, lambd: np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * np.zeros((), x.dtype)))
)
