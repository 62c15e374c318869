"""Records of the losses that PyTorch computes in one piece, and of their derivatives, which have derivatives themselves.

`reduction` is "none", "mean" or "sum"; a mean's derivative is divided by the number of elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elementary
from gradcli.core.kernels.summation import total
from gradcli.core.ops.activation.smooth import LOG_SIGMOID
from gradcli.core.ops.elementwise import add_multiply, scalars
from gradcli.core.ops.elementwise.exponential import LOGIT
from gradcli.core.tensor.tensor import Array, Tensor


def reduced(values: Any, reduction: str) -> Any:
    """Elementwise losses reduced."""
    if reduction == "none":
        return values
    added = total(values)
    return added / values.dtype.type(values.size) if reduction == "mean" else added


def share(x: Any, reduction: str) -> float:
    """What one element counts in the result: 1, or 1 / n for a mean."""
    if reduction != "mean":
        return 1.0
    return 1.0 / x.size if x.size else math.inf


def plain(x: Any) -> Any:
    """The array of an array or a tensor."""
    return x.array if type(x) is Tensor else x


#: what a formula of a loss divides by, and the weight of each element
_N = 'n = input.numel() if reduction == "mean" else 1; '
_W = "w = 1 if weight is None else weight; "

#: for a plain difference: the factor and the constant of the derivative, which is linear piece by piece
Pieces = Callable[..., tuple[Any, Any]]


def _slope(xp: Any, difference: Any, pieces: Pieces, reduction: str, *parameter: float) -> Any:
    """The derivative by the input, of arrays or tensors."""
    values = plain(difference)
    factor, constant = pieces(values, *parameter)
    part = values.dtype.type(share(values, reduction))
    return xp.call(add_multiply.ADD, scalars.times_data(xp, difference, np.asarray(factor * part)), np.asarray(constant * part))


def _curvature(difference: Array, pieces: Pieces, reduction: str, *parameter: float) -> Any:
    return np.asarray(pieces(difference, *parameter)[0] * share(difference, reduction), difference.dtype)


def _difference_loss(
    name: str, parameter: str, value: Callable[..., Any], pieces: Pieces, slope: str, curvature: str, note: str = ""
) -> tuple[Op, Op]:
    """A loss of `input - target` and its derivative, which has a derivative again.

    `parameter` is the name of where the pieces meet, which functions get last; "" where there is none. `slope` and
    `curvature` are the formulas of both derivatives by `input`, without what a mean divides by.
    """

    def rule(function: Callable[..., Any], formula: str, note: str = "") -> Rule:
        made = Rule(function, _N + formula, note)
        made.parameters += tuple(parameter.split())
        return made

    def forward(x: Array, target: Array, reduction: str, *parameter: float) -> Any:
        return reduced(value(x - target, *parameter), reduction)

    def backward(grad: Array, x: Array, target: Array, reduction: str, *parameter: float) -> Any:
        difference = x - target
        return (_slope(numeric, difference, pieces, reduction, *parameter) * grad).astype(difference.dtype, copy=False)

    def along(xp: Any, grad: Any, grad_output: Any, input: Any, target: Any, reduction: str, *parameter: float) -> Any:
        difference = np.asarray(xp.plain(input) - xp.plain(target))
        return scalars.times_data(xp, grad * grad_output, _curvature(difference, pieces, reduction, *parameter))

    second = Op(
        f"{name}BackwardBackward0",
        backward,
        "grad_output input target",
        f"reduction {parameter}",
        grad_output=rule(
            lambda xp, grad, input, target, reduction, *parameter: grad * _slope(xp, input - target, pieces, reduction, *parameter),
            f"{slope} / n",
        ),
        input=rule(along, f"{curvature} / n"),
        target=rule(
            lambda xp, grad, grad_output, input, target, reduction, *parameter: (
                -along(xp, grad, grad_output, input, target, reduction, *parameter)
            ),
            f"-{curvature} / n",
        ),
    )
    first = Op(
        f"{name}Backward0",
        forward,
        "input target",
        f"reduction {parameter}",
        input=rule(
            lambda xp, grad, input, target, reduction, *parameter: xp.call(second, grad, input, target, reduction, *parameter),
            f"{slope} / n",
            note,
        ),
        target=rule(
            lambda xp, grad, input, target, reduction, *parameter: xp.call(second, grad, target, input, reduction, *parameter),
            f"-{slope} / n",
        ),
    )
    return first, second


def _smooth(d: Array, beta: float) -> Any:
    z = np.abs(d)
    return np.where(z < beta, z * z * 0.5 / beta, z - 0.5 * beta)


def _smooth_pieces(d: Array, beta: float) -> tuple[Any, Any]:
    near = np.abs(d) < beta
    return near / d.dtype.type(beta), np.where(near, 0, np.sign(d)).astype(d.dtype)


def _huber(d: Array, delta: float) -> Any:
    z = np.abs(d)
    return np.where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta))


def _huber_pieces(d: Array, delta: float) -> tuple[Any, Any]:
    near = np.abs(d) <= delta
    return near.astype(d.dtype), np.where(near, 0, np.sign(d) * d.dtype.type(delta)).astype(d.dtype)


MSE, MSE_BACKWARD = _difference_loss(
    "MseLoss",
    "",
    lambda d: d * d,
    lambda d: (d.dtype.type(2), d.dtype.type(0)),
    "2 * grad * (input - target)",
    "2 * grad * grad_output",
)
SMOOTH_L1, SMOOTH_L1_BACKWARD = _difference_loss(
    "SmoothL1Loss",
    "beta",
    _smooth,
    _smooth_pieces,
    "grad * ((input - target) / beta).clamp(-1, 1)",
    "grad * grad_output * ((input - target).abs() < beta) / beta",
    "the pieces meet with one derivative where abs(input - target) == beta",
)
HUBER, HUBER_BACKWARD = _difference_loss(
    "HuberLoss",
    "delta",
    _huber,
    _huber_pieces,
    "grad * (input - target).clamp(-delta, delta)",
    "grad * grad_output * ((input - target).abs() <= delta)",
    "the pieces meet with one derivative where abs(input - target) == delta",
)


# --- soft margin ---


def sigmoid(xp: Any, x: Any) -> Any:
    """The logistic function of arrays and of tensors."""
    return catalog.function("sigmoid")(x) if type(x) is Tensor else 1 / (1 + elementary.exp(-x))


def _soft_margin(x: Array, target: Array, reduction: str) -> Any:
    return reduced(elementary.log1p(elementary.exp(-target * x)), reduction)


def _soft_margin_backward(grad: Array, x: Array, target: Array, reduction: str) -> Any:
    z = elementary.exp(-target * x)
    return -target * z / (z + 1) * grad * x.dtype.type(share(x, reduction))


def _soft_margin_slope(xp: Any, x: Any, target: Array, reduction: str) -> Any:
    s = sigmoid(xp, scalars.times_data(xp, x, -target))
    return scalars.times_data(xp, s, -target * target.dtype.type(share(target, reduction)))


def _soft_margin_curvature(xp: Any, x: Any, target: Array, reduction: str) -> Any:
    s = sigmoid(xp, scalars.times_data(xp, x, -target))
    return scalars.times_data(xp, s * (1.0 - s), target * target * target.dtype.type(share(target, reduction)))


_SOFT_MARGIN = _N + "-grad * target * sigmoid(-target * input) / n"
SOFT_MARGIN_BACKWARD = Op(
    "SoftMarginLossBackwardBackward0",
    _soft_margin_backward,
    "grad_output input",
    "target reduction",
    grad_output=Rule(
        lambda xp, grad, input, target, reduction: grad * _soft_margin_slope(xp, input, target, reduction),
        _SOFT_MARGIN,
    ),
    input=Rule(
        lambda xp, grad, grad_output, input, target, reduction: grad * grad_output * _soft_margin_curvature(xp, input, target, reduction),
        _N + "s = sigmoid(target * input); grad * grad_output * target**2 * s * (1 - s) / n",
    ),
)
SOFT_MARGIN = Op(
    "SoftMarginLossBackward0",
    _soft_margin,
    "input",
    "target reduction",
    input=Rule(
        lambda xp, grad, input, target, reduction: xp.call(SOFT_MARGIN_BACKWARD, grad, input, target, reduction),
        _SOFT_MARGIN,
    ),
)


# --- cross entropy of probabilities, and of logits ---

#: logarithms are cut off here, as in PyTorch
_LOWEST_LOG = -100
_LEAST = 1e-12


def _weighted(values: Any, weight: Array | None) -> Any:
    return values if weight is None else values * weight


def _bce(x: Array, target: Array, weight: Array | None, reduction: str) -> Any:
    values = (target - 1) * np.maximum(elementary.log1p(-x), _LOWEST_LOG) - target * np.maximum(elementary.log(x), _LOWEST_LOG)
    return reduced(_weighted(values, weight), reduction)


def _bce_backward(grad: Array, x: Array, target: Array, weight: Array | None, reduction: str) -> Any:
    values = grad * (x - target) / np.maximum((1 - x) * x, x.dtype.type(_LEAST))
    return _weighted(values, weight) * x.dtype.type(share(x, reduction))


def _bce_target(xp: Any, grad: Any, input: Any, weight: Array | None, reduction: str) -> Any:
    return _scaled(xp, -xp.call(LOGIT, input, None) * grad, weight, plain(input), reduction)


def _scaled(xp: Any, values: Any, weight: Array | None, x: Array, reduction: str) -> Any:
    """Elementwise gradients times the weight, over the number of elements for a mean."""
    if weight is not None:
        values = scalars.times_data(xp, values, weight)
    return scalars.over(xp, values, x.size) if reduction == "mean" else values


def _bce_second(xp: Any, x: Any, target: Any, weight: Array | None, reduction: str) -> Any:
    """The second derivative by the probabilities."""
    values = (x * x - 2.0 * x * target + target) / xp.maximum((1.0 - x) * x * ((1.0 - x) * x), _LEAST * _LEAST)
    return scalars.times_data(xp, values, _factor(weight, plain(x), reduction))


def _factor(weight: Array | None, x: Array, reduction: str) -> Any:
    """Weight and reduction as one factor, an array."""
    return np.asarray(_weighted(x.dtype.type(share(x, reduction)), weight), x.dtype)


_BCE = _W + _N + "grad * (input - target) / (input * (1 - input)).clamp_min(1e-12) * w / n"
BCE_BACKWARD = Op(
    "BinaryCrossEntropyBackwardBackward0",
    _bce_backward,
    "grad_output input target",
    "weight reduction",
    grad_output=Rule(
        lambda xp, grad, input, target, weight, reduction: scalars.times_data(
            xp, grad * (input - target) / xp.maximum((1.0 - input) * input, _LEAST), _factor(weight, plain(input), reduction)
        ),
        _BCE,
    ),
    input=Rule(
        lambda xp, grad, grad_output, input, target, weight, reduction: (
            grad * grad_output * _bce_second(xp, input, target, weight, reduction)
        ),
        _W + _N + "d = input * (1 - input); "
        "grad * grad_output * (input**2 - 2 * input * target + target) / (d * d).clamp_min(1e-24) * w / n",
    ),
    target=Rule(
        lambda xp, grad, grad_output, input, weight, reduction: scalars.times_data(
            xp, -grad * grad_output / xp.maximum((1.0 - input) * input, _LEAST), _factor(weight, plain(input), reduction)
        ),
        _W + _N + "-grad * grad_output / (input * (1 - input)).clamp_min(1e-12) * w / n",
    ),
)
BCE = Op(
    "BinaryCrossEntropyBackward0",
    _bce,
    "input target",
    "weight reduction",
    input=Rule(
        lambda xp, grad, input, target, weight, reduction: xp.call(BCE_BACKWARD, grad, input, target, weight, reduction),
        _BCE,
        "at 0 and 1 the denominator is 1e-12",
    ),
    target=Rule(
        _bce_target,
        _W + _N + "-grad * logit(input) * w / n",
    ),
)


def _log_sigmoid(x: Array) -> Any:
    return np.minimum(x, 0) - elementary.log1p(elementary.exp(-np.abs(x)))


def _bce_logits(x: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str) -> Any:
    log = _log_sigmoid(x)
    if pos_weight is not None:
        log = ((pos_weight - 1) * target + 1) * log
    values = np.asarray((1 - target) * x - log, np.result_type(x, target))
    return reduced(_weighted(values, weight), reduction)


def _bce_logits_rule(xp: Any, grad: Any, input: Any, target: Any, weight: Array | None, pos_weight: Array | None, reduction: str) -> Any:
    if pos_weight is None:
        result = (sigmoid(xp, input) - target) * grad
    else:
        t = scalars.times_data(xp, target, pos_weight)
        result = ((t + 1.0 - target) * sigmoid(xp, input) - t) * grad
    return _scaled(xp, result, weight, plain(input), reduction)


def _bce_logits_target_rule(xp: Any, grad: Any, input: Any, weight: Array | None, pos_weight: Array | None, reduction: str) -> Any:
    values = -input
    if pos_weight is not None:
        values = xp.call(LOG_SIGMOID, -input) - scalars.times_data(xp, xp.call(LOG_SIGMOID, input), pos_weight)
    return _scaled(xp, values * grad, weight, plain(input), reduction)


BCE_LOGITS = Op(
    "BinaryCrossEntropyWithLogitsBackward0",
    _bce_logits,
    "input target",
    "weight pos_weight reduction",
    input=Rule(
        _bce_logits_rule,
        _W + _N + "s = sigmoid(input); "
        "d = s - target if pos_weight is None else (1 - target) * s - pos_weight * target * (1 - s); grad * d * w / n",
    ),
    target=Rule(
        _bce_logits_target_rule,
        _W + _N + "d = -input if pos_weight is None else F.logsigmoid(-input) - pos_weight * F.logsigmoid(input); grad * d * w / n",
    ),
)
