"""Records of the smooth activation functions, of the gated ones, and of their derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.graph.namespaces import as_tensor
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elementary
from gradcli.core.kernels.special.erf import erf
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.exponential import SIGMOID, SIGMOID_BACKWARD, logistic

# --- gelu ---

_K = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def _density(x: Any) -> Any:
    return elementary.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


def _wide(x: Any) -> Any:
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _gelu(x: Any, approximate: str) -> Any:
    x = _wide(x)
    if approximate == "tanh":
        return 0.5 * x * (1 + elementary.tanh(_K * (x + _CUBIC * x * x * x)))
    return x * 0.5 * (1 + erf(x * math.sqrt(0.5)))


def _gelu_gradient(grad: Any, x: Any, approximate: str) -> Any:
    wide = _wide(x)
    if approximate == "tanh":
        square = wide * wide
        t = elementary.tanh(_K * (wide + _CUBIC * square * wide))
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


#: gelu is input / 2 * (1 + t), and d the derivative of t
_GELU_PARTS = (
    "c = (2 / math.pi)**0.5; "
    "t = tanh(c * (input + 0.044715 * input**3)) if approximate == 'tanh' else erf(input / 2**0.5); "
    "d = c * (1 - t**2) * (1 + 0.134145 * input**2) if approximate == 'tanh' else c * exp(-input**2 / 2); "
)
_GELU_FORMULA = _GELU_PARTS + "grad * (1 + t + input * d) / 2"
GELU_BACKWARD: Op = Op(
    "GeluBackwardBackward0",
    _gelu_gradient,
    "grad_output input",
    "approximate",
    grad_output=Rule(lambda xp, grad, input, approximate: xp.call(GELU_BACKWARD, grad, input, approximate), _GELU_FORMULA),
    input=Rule(
        _gelu_second,
        _GELU_PARTS + "e = c * (1 - t**2) * 0.26829 * input - 2 * t * d * c * (1 + 0.134145 * input**2) if approximate == 'tanh' "
        "else -input * d; grad * grad_output * (d + input * e / 2)",
    ),
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
    lambda x: np.true_divide(x, 1 + elementary.exp(np.negative(x))),
    "input",
    input=Rule(_silu_rule, "grad * sigmoid(input) * (1 + input * (1 - sigmoid(input)))"),
)


def _soft(x: Any) -> Any:
    """log(1 + exp(x)) without overflow."""
    return np.maximum(x, 0) + elementary.log1p(elementary.exp(-np.abs(x)))


def _mish_rule(xp: Any, grad: Any, input: Any) -> Any:
    t = xp.tanh(xp.log1p(xp.exp(input)))
    return grad * (t + input * xp.call(SIGMOID, input) * scalars.from_number(xp, 1, t * t))


MISH = Pointwise(
    "MishBackward0",
    lambda x: x * elementary.tanh(_soft(x)),
    "input",
    input=Rule(_mish_rule, "grad * (tanh(F.softplus(input)) + input * sigmoid(input) * (1 - tanh(F.softplus(input))**2))"),
)


def _softplus(x: Any, beta: float, threshold: float) -> Any:
    scaled = x * beta
    return np.where(scaled > threshold, x, elementary.log1p(elementary.exp(scaled)) / beta)


def _softplus_second(xp: Any, grad: Any, grad_output: Any, input: Any, beta: float, threshold: float) -> Any:
    scaled = input * beta
    near = np.less(xp.plain(scaled), threshold).astype(xp.plain(input).dtype)
    bent = xp.call(SIGMOID_BACKWARD, grad * grad_output, xp.call(SIGMOID, scaled))
    return scalars.times(xp, scalars.times_data(xp, bent, near), beta)


_SOFTPLUS_FORMULA = "where(input * beta > threshold, grad, grad * sigmoid(input * beta))"
SOFTPLUS_BACKWARD: Op = Op(
    "SoftplusBackwardBackward0",
    lambda grad, x, beta, threshold: np.where(x * beta > threshold, grad, grad * logistic(x * beta)),
    "grad_output input",
    "beta threshold",
    grad_output=Rule(lambda xp, grad, input, beta, threshold: xp.call(SOFTPLUS_BACKWARD, grad, input, beta, threshold), _SOFTPLUS_FORMULA),
    input=Rule(
        _softplus_second,
        "s = sigmoid(input * beta); grad * grad_output * beta * s * (1 - s) * (input * beta < threshold)",
        "0 beyond threshold",
    ),
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


LOG_SIGMOID_BACKWARD: Op = Op(
    "LogSigmoidBackwardBackward0",
    lambda grad, x: grad * logistic(-x),
    "grad_output input",
    grad_output=Rule(lambda xp, grad, input: xp.call(LOG_SIGMOID_BACKWARD, grad, input), "grad * sigmoid(-input)"),
    input=Rule(_logsigmoid_second, "grad * grad_output * (sigmoid(input) - 1) * sigmoid(input)"),
)
LOG_SIGMOID = Pointwise(
    "LogSigmoidBackward0",
    lambda x: np.minimum(x, 0) - elementary.log1p(elementary.exp(-np.abs(x))),
    "input",
    input=Rule(lambda xp, grad, input: xp.call(LOG_SIGMOID_BACKWARD, grad, input), "grad * sigmoid(-input)"),
)

# --- prelu, glu ---

PRELU_BACKWARD: Op = Op(
    "PreluKernelBackwardBackward0",
    lambda grad, x, weight: np.where(x > 0, grad, grad * weight),
    "grad_output input weight",
    grad_output=Rule(
        lambda xp, grad, input, weight: xp.where(xp.plain(input) >= 0, grad, grad * weight), "where(input >= 0, grad, grad * weight)"
    ),
    input=Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad"),
    weight=Rule(
        lambda xp, grad, grad_output, input: xp.where(xp.plain(input) >= 0, 0.0, grad * grad_output),
        "where(input >= 0, 0 * grad, grad * grad_output)",
    ),
)
PRELU = Pointwise(
    "PreluKernelBackward0",
    lambda x, weight: np.where(x > 0, x, x * weight),
    "input weight",
    input=Rule(
        lambda xp, grad, input, weight: xp.call(PRELU_BACKWARD, grad, input, weight),
        "where(input > 0, grad, grad * weight)",
        "the weight at 0",
    ),
    weight=Rule(lambda xp, grad, input: xp.where(xp.plain(input) >= 0, 0.0, grad * input), "where(input >= 0, 0 * grad, grad * input)"),
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


_PARTS = "a = input.chunk(2, dim)[0]; s = sigmoid(input.chunk(2, dim)[1]); "
_GRAD_PARTS = "p = grad.chunk(2, dim)[0]; q = grad.chunk(2, dim)[1]; "
GLU_BACKWARD: Op = Op(
    "GluBackwardBackward0",
    _glu_gradient,
    "grad_output input",
    "dim",
    on_tensors=True,
    grad_output=Rule(_glu_first, _PARTS + _GRAD_PARTS + "p * s + q * a * s * (1 - s)"),
    input=Rule(
        _glu_second,
        _PARTS + _GRAD_PARTS + "g = grad_output * s * (1 - s); cat([g * q, g * (p + q * a * (1 - 2 * s))], dim)",
    ),
)
GLU = Op(
    "GluBackward0",
    lambda x, dim: (lambda a, b: a * logistic(b))(*_halves(x, dim)),
    "input",
    "dim",
    input=Rule(
        lambda xp, grad, input, dim: xp.call(GLU_BACKWARD, grad, input, dim),
        _PARTS + "cat([grad * s, grad * a * s * (1 - s)], dim)",
    ),
)
