"""Records of the activation functions, and of their derivatives where PyTorch gives those nodes of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.error_function import erf
from gradcli.core.namespace import as_tensor
from gradcli.core.ops import scalars
from gradcli.core.ops.arithmetic import POW_SCALAR as _POW
from gradcli.core.ops.exponential import SIGMOID, SIGMOID_BACKWARD, logistic
from gradcli.core.record import Op, Pointwise, Rule
from gradcli.errors import ProgramError

_ZERO = Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad")


def _derivative(grad_fn: str, forward: Callable[..., Any], attrs: str, formula: str, second: Rule) -> Op:
    """The record of a derivative: linear in grad_output, with a rule of its own for the input."""
    names = attrs.split()
    placeholder = Rule(lambda grad: grad, formula)
    op = Op(grad_fn, forward, "grad_output input", attrs, grad_output=placeholder, input=second)
    # the derivative of a linear function is the function itself
    op.rules = {"grad_output": _itself(op, names, formula), "input": second}
    return op


def _itself(op: Op, names: list[str], formula: str) -> Rule:
    if not names:
        return Rule(lambda xp, grad, input: xp.call(op, grad, input), formula)
    return LINEAR[" ".join(names)](op, formula)


#: rules name the attributes they take, so there is one shape of rule for each set of attributes
LINEAR: dict[str, Callable[[Op, str], Rule]] = {
    "threshold": lambda op, formula: Rule(lambda xp, grad, input, threshold: xp.call(op, grad, input, threshold), formula),
    "negative_slope": lambda op, formula: Rule(lambda xp, grad, input, negative_slope: xp.call(op, grad, input, negative_slope), formula),
    "min_val max_val": lambda op, formula: Rule(lambda xp, grad, input, min_val, max_val: xp.call(op, grad, input, min_val, max_val), formula),
    "alpha scale input_scale": lambda op, formula: Rule(
        lambda xp, grad, input, alpha, scale, input_scale: xp.call(op, grad, input, alpha, scale, input_scale), formula
    ),
    "approximate": lambda op, formula: Rule(lambda xp, grad, input, approximate: xp.call(op, grad, input, approximate), formula),
    "beta threshold": lambda op, formula: Rule(lambda xp, grad, input, beta, threshold: xp.call(op, grad, input, beta, threshold), formula),
    "lambd": lambda op, formula: Rule(lambda xp, grad, input, lambd: xp.call(op, grad, input, lambd), formula),
}


def _masked(keep: Any, grad: Any) -> Any:
    return np.where(keep, grad, np.zeros((), np.asarray(grad).dtype))


# --- relu, threshold, hardtanh, leaky_relu ---

THRESHOLD_BACKWARD = _derivative(
    "ThresholdBackwardBackward0",
    lambda grad, x, threshold: _masked(~np.less_equal(x, threshold), grad),
    "threshold",
    "where(input <= threshold, 0 * grad, grad)",
    _ZERO,
)
RELU = Pointwise(
    "ReluBackward0",
    lambda x: np.maximum(x, np.zeros((), x.dtype)),
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
HARDTANH_BACKWARD = _derivative(
    "HardtanhBackwardBackward0",
    lambda grad, x, min_val, max_val: _masked(~(np.less_equal(x, min_val) | np.greater_equal(x, max_val)), grad),
    "min_val max_val",
    "where((input <= min_val) | (input >= max_val), 0 * grad, grad)",
    _ZERO,
)
HARDTANH = Pointwise(
    "HardtanhBackward0",
    lambda x, min_val, max_val: np.minimum(np.maximum(x, x.dtype.type(min_val)), x.dtype.type(max_val)),
    "input",
    "min_val max_val",
    input=Rule(
        lambda xp, grad, input, min_val, max_val: xp.call(HARDTANH_BACKWARD, grad, input, min_val, max_val),
        "where((input <= min_val) | (input >= max_val), 0 * grad, grad)",
        "0 at both edges",
    ),
)
LEAKY_RELU_BACKWARD = _derivative(
    "LeakyReluBackwardBackward0",
    lambda grad, x, negative_slope: np.where(np.greater(x, 0), grad, grad * negative_slope),
    "negative_slope",
    "where(input > 0, grad, grad * negative_slope)",
    _ZERO,
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
    return np.where(np.less_equal(x, 0), np.expm1(x * input_scale) * (alpha * scale), x * scale)


def _elu_gradient(grad: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return np.where(np.less_equal(x, 0), grad * (input_scale * alpha * scale) * np.exp(x * input_scale), grad * scale)


def _elu_second(xp: Any, grad: Any, grad_output: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    curve = grad * grad_output * (input_scale * input_scale * alpha * scale) * xp.exp(input * input_scale)
    return xp.where(np.less(xp.plain(input), 0), curve, 0.0)


_ELU_FORMULA = "where(input <= 0, grad * input_scale * alpha * scale * exp(input * input_scale), grad * scale)"
_ELU_NOTE = "that of the exponential branch at 0"
ELU_BACKWARD = _derivative(
    "EluBackwardBackward0",
    _elu_gradient,
    "alpha scale input_scale",
    _ELU_FORMULA,
    Rule(_elu_second, "where(input < 0, grad * grad_output * input_scale**2 * alpha * scale * exp(input * input_scale), 0 * grad)"),
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

# --- gelu ---

_K = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def _density(x: Any) -> Any:
    return np.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


def _wide(x: Any) -> Any:
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _gelu(x: Any, approximate: str) -> Any:
    x = _wide(x)
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(_K * (x + _CUBIC * x * x * x)))
    return x * 0.5 * (1 + erf(x * math.sqrt(0.5)))


def _gelu_gradient(grad: Any, x: Any, approximate: str) -> Any:
    wide = _wide(x)
    if approximate == "tanh":
        square = wide * wide
        t = np.tanh(_K * (wide + _CUBIC * square * wide))
        slope = 0.5 * (1 + t) + 0.5 * wide * (1 - t * t) * _K * (1 + 3 * _CUBIC * square)
    else:
        slope = 0.5 * (1 + erf(wide * math.sqrt(0.5))) + wide * _density(wide)
    return np.asarray(grad * slope).astype(np.asarray(grad).dtype)


def _gelu_second(xp: Any, grad: Any, grad_output: Any, input: Any, approximate: str) -> Any:
    if approximate != "tanh":
        # the density times 2 - x^2
        bell = xp.exp(input * input * -0.5) * (1 / math.sqrt(2 * math.pi))
        return grad * grad_output * bell * (2 - input * input)
    square = input * input
    t = xp.tanh((input + square * input * _CUBIC) * _K)
    inner = (square * (3 * _CUBIC) + 1) * _K
    flat = 1 - t * t
    curve = flat * inner + input * 0.5 * flat * (input * (6 * _CUBIC * _K) - t * 2 * inner * inner)
    return grad * grad_output * curve


_GELU_FORMULA = "= grad * (Phi(input) + input * phi(input)), with the normal distribution Phi and its density phi"
GELU_BACKWARD = _derivative(
    "GeluBackwardBackward0", _gelu_gradient, "approximate", _GELU_FORMULA, Rule(_gelu_second, "= grad * grad_output * (2 - input**2) * phi(input)")
)
GELU = Pointwise(
    "GeluBackward0",
    _gelu,
    "input",
    "approximate",
    input=Rule(lambda xp, grad, input, approximate: xp.call(GELU_BACKWARD, grad, input, approximate), _GELU_FORMULA),
)

# --- silu, mish, softplus, logsigmoid ---


def _silu_rule(xp: Any, grad: Any, input: Any) -> Any:
    s = xp.call(SIGMOID, input)
    return grad * s * scalars.plus(xp, input * scalars.from_number(xp, 1, s), 1)


SILU = Pointwise(
    "SiluBackward0",
    lambda x: x * logistic(x),
    "input",
    input=Rule(_silu_rule, "grad * sigmoid(input) * (1 + input * (1 - sigmoid(input)))"),
)


def _soft(x: Any) -> Any:
    """log(1 + exp(x)) without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _mish_rule(xp: Any, grad: Any, input: Any) -> Any:
    t = xp.tanh(xp.call(SOFTPLUS, input, 1, 20))
    return grad * (t + input * xp.call(SIGMOID, input) * scalars.from_number(xp, 1, t * t))


MISH = Pointwise(
    "MishBackward0",
    lambda x: x * np.tanh(_soft(x)),
    "input",
    input=Rule(_mish_rule, "grad * (tanh(F.softplus(input)) + input * sigmoid(input) * (1 - tanh(F.softplus(input))**2))"),
)


def _softplus(x: Any, beta: float, threshold: float) -> Any:
    scaled = x * beta
    return np.where(scaled > threshold, x, np.log1p(np.exp(scaled)) / beta)


def _softplus_second(xp: Any, grad: Any, grad_output: Any, input: Any, beta: float, threshold: float) -> Any:
    scaled = input * beta
    near = np.less(xp.plain(scaled), threshold)
    return xp.where(near, xp.call(SIGMOID_BACKWARD, grad * grad_output, xp.call(SIGMOID, scaled)) * beta, 0.0)


_SOFTPLUS_FORMULA = "where(input * beta > threshold, grad, grad * sigmoid(input * beta))"
SOFTPLUS_BACKWARD = _derivative(
    "SoftplusBackwardBackward0",
    lambda grad, x, beta, threshold: np.where(x * beta > threshold, grad, grad * logistic(x * beta)),
    "beta threshold",
    _SOFTPLUS_FORMULA,
    Rule(_softplus_second, "= grad * grad_output * beta * s * (1 - s) with s = sigmoid(input * beta), 0 beyond threshold"),
)
SOFTPLUS = Pointwise(
    "SoftplusBackward0",
    _softplus,
    "input",
    "beta threshold",
    input=Rule(
        lambda xp, grad, input, beta, threshold: xp.call(SOFTPLUS_BACKWARD, grad, input, beta, threshold),
        _SOFTPLUS_FORMULA,
        "linear beyond threshold",
    ),
)


def _logsigmoid_second(xp: Any, grad: Any, grad_output: Any, input: Any) -> Any:
    s = xp.call(SIGMOID, input)
    return grad * grad_output * (scalars.minus(xp, s, 1) * s)


LOG_SIGMOID_BACKWARD = _derivative(
    "LogSigmoidBackwardBackward0",
    lambda grad, x: grad * logistic(-x),
    "",
    "grad * sigmoid(-input)",
    Rule(_logsigmoid_second, "grad * grad_output * (sigmoid(input) - 1) * sigmoid(input)"),
)
LOG_SIGMOID = Pointwise(
    "LogSigmoidBackward0",
    lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
    "input",
    input=Rule(lambda xp, grad, input: xp.call(LOG_SIGMOID_BACKWARD, grad, input), "grad * sigmoid(-input)"),
)

# --- hardsigmoid, hardswish, shrinking ---


def _no_second(xp: Any, grad: Any) -> Any:
    raise ProgramError("RuntimeError", "derivative for aten::hardsigmoid_backward is not implemented")


HARDSIGMOID_BACKWARD = Op(
    "NotImplemented",
    lambda grad, x: _masked((x > -3) & (x < 3), grad / 6),
    "grad_output input",
    full_name="torch::autograd::NotImplemented",
    grad_output=Rule(_no_second, "= not implemented, as in PyTorch"),
    input=Rule(_no_second, "= not implemented, as in PyTorch"),
)
HARDSIGMOID = Pointwise(
    "HardsigmoidBackward0",
    lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "input",
    input=Rule(
        lambda xp, grad, input: xp.call(HARDSIGMOID_BACKWARD, grad, input), "where((input > -3) & (input < 3), grad / 6, 0 * grad)", "0 at -3 and 3"
    ),
)


def _hardswish_second(xp: Any, grad: Any, grad_output: Any, input: Any) -> Any:
    x = xp.plain(input)
    return xp.where((x > -3) & (x < 3), grad * grad_output / 3, 0.0)


_HARDSWISH_FORMULA = "where(input <= -3, 0 * grad, where(input < 3, grad * (input / 3 + 0.5), grad))"
HARDSWISH_BACKWARD = _derivative(
    "HardswishBackwardBackward0",
    lambda grad, x: np.where(x <= -3, np.zeros((), np.asarray(grad).dtype), np.where(x < 3, grad * (x / 3 + 0.5), grad)),
    "",
    _HARDSWISH_FORMULA,
    Rule(_hardswish_second, "where((input > -3) & (input < 3), grad * grad_output / 3, 0 * grad)"),
)
HARDSWISH = Pointwise(
    "HardswishBackward0",
    lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "input",
    input=Rule(lambda xp, grad, input: xp.call(HARDSWISH_BACKWARD, grad, input), _HARDSWISH_FORMULA, "0 at -3, 1 at 3"),
)


def _shrink(name: str, forward: Callable[..., Any]) -> Pointwise:
    formula = "where((input >= -lambd) & (input <= lambd), 0 * grad, grad)"
    backward = _derivative(
        f"{name}BackwardBackward0", lambda grad, x, lambd: _masked(~((x >= -lambd) & (x <= lambd)), grad), "lambd", formula, _ZERO
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

# --- prelu, glu ---

PRELU_BACKWARD = Op(
    "PreluKernelBackwardBackward0",
    lambda grad, x, weight: np.where(x > 0, grad, grad * weight),
    "grad_output input weight",
    grad_output=Rule(lambda xp, grad, input, weight: xp.where(xp.plain(input) > 0, grad, grad * weight), "where(input > 0, grad, grad * weight)"),
    input=_ZERO,
    weight=Rule(
        lambda xp, grad, grad_output, input: xp.where(xp.plain(input) > 0, 0.0, grad * grad_output), "where(input > 0, 0, grad * grad_output)"
    ),
)
PRELU = Pointwise(
    "PreluKernelBackward0",
    lambda x, weight: np.where(x > 0, x, x * weight),
    "input weight",
    input=Rule(
        lambda xp, grad, input, weight: xp.call(PRELU_BACKWARD, grad, input, weight), "where(input > 0, grad, grad * weight)", "the weight at 0"
    ),
    weight=Rule(lambda xp, grad, input: xp.where(xp.plain(input) > 0, 0.0, grad * input), "where(input > 0, 0 * grad, grad * input)"),
)


def _halves(x: Any, dim: int) -> tuple[Any, Any]:
    size = x.shape[dim] // 2
    return np.take(x, range(size), dim), np.take(x, range(size, 2 * size), dim)


def _glu_gradient(grad: Any, x: Any, dim: int) -> Any:
    a, b = _halves(x, dim)
    s = logistic(b)
    return np.concatenate((grad * s, grad * a * s * (1 - s)), dim)


def _glu_first(xp: Any, grad: Any, input: Any, dim: int) -> Any:
    """How the gradient's gradient reaches grad_output: the halves weighted and added."""
    (a, b), (p, q) = _split(xp, input, dim), _split(xp, grad, dim)
    s = xp.call(SIGMOID, b)
    return p * s + q * a * s * (1 - s)


def _glu_second(xp: Any, grad: Any, grad_output: Any, input: Any, dim: int) -> Any:
    (a, b), (p, q) = _split(xp, input, dim), _split(xp, grad, dim)
    s = xp.call(SIGMOID, b)
    slope = s * (1 - s)
    grad_output = as_tensor(grad_output)
    first = grad_output * q * slope
    second = grad_output * (p * slope + q * a * slope * (1 - 2 * s))
    return xp.cat([first, second], dim)


def _split(xp: Any, x: Any, dim: int) -> tuple[Any, Any]:
    x = as_tensor(x)
    size = x.array.shape[dim] // 2
    return xp.narrow(x, dim, 0, size), xp.narrow(x, dim, size, size)


GLU_BACKWARD = Op(
    "GluBackwardBackward0",
    _glu_gradient,
    "grad_output input",
    "dim",
    on_tensors=True,
    grad_output=Rule(_glu_first, "= both halves of grad, weighted as glu weights them, added up"),
    input=Rule(_glu_second, "= the second derivatives of a * sigmoid(b)"),
)
GLU = Op(
    "GluBackward0",
    lambda x, dim: (lambda a, b: a * logistic(b))(*_halves(x, dim)),
    "input",
    "dim",
    input=Rule(
        lambda xp, grad, input, dim: xp.call(GLU_BACKWARD, grad, input, dim),
        "= with halves a, b of input along dim: grad * sigmoid(b) for a, grad * a * sigmoid(b) * (1 - sigmoid(b)) for b",
    ),
)
