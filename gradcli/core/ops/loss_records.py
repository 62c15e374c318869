"""Records of the losses that PyTorch computes in one piece, and of their derivatives, which have derivatives themselves.

`reduction` is "none", "mean" or "sum"; a mean's derivative is divided by the number of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core import catalog
from gradcli.core.ops import scalars
from gradcli.core.record import Op, Rule
from gradcli.core.tensor import Array, Tensor


def reduced(values: Any, reduction: str) -> Any:
    """Elementwise losses reduced."""
    if reduction == "none":
        return values
    total = np.add.reduce(values, axis=None)
    return total / values.dtype.type(values.size) if reduction == "mean" else total


def share(x: Any, reduction: str) -> float:
    """What one element counts in the result: 1, or 1 / n for a mean."""
    return 1.0 / x.size if reduction == "mean" else 1.0


def _size(x: Any) -> Any:
    return x.array if type(x) is Tensor else x


def _difference_loss(
    name: str,
    attrs: str,
    value: Callable[..., Any],
    slope: Callable[..., Any],
    curvature: Callable[..., Any],
    formula: str,
    note: str = "",
) -> tuple[Op, Op]:
    """A loss of `input - target`, and its derivative: `value`, `slope` and `curvature` take the difference and the attrs.

    `slope` and `curvature` are given without the derivative of the reduction.
    """
    own = attrs.split()[1:]

    def forward(x: Array, target: Array, reduction: str, *rest: Any) -> Any:
        return reduced(value(x - target, *rest), reduction)

    def backward(grad: Array, x: Array, target: Array, reduction: str, *rest: Any) -> Any:
        return slope(x - target, *rest) * grad * x.dtype.type(share(x, reduction))

    def along(xp: Any, difference: Any, other: Any, reduction: str, *rest: Any) -> Any:
        """The derivative of `backward` by the difference, times another gradient."""
        return other * (curvature(xp.plain(difference), *rest) * share(_size(difference), reduction))

    rules = _second_rules(len(own), slope, along)
    second = Op(f"{name}BackwardBackward0", backward, "grad_output input target", attrs, **rules)
    return _first(name, forward, attrs, second, len(own), formula, note), second


def _second_rules(own: int, slope: Callable[..., Any], along: Callable[..., Any]) -> dict[str, Rule | None]:
    """The rules of a loss's derivative, for losses without and with a parameter of their own."""
    by_grad = "= grad times the derivative of the loss"
    by_input, by_target = "= grad * grad_output times the second derivative", "= minus the gradient of input"
    if own:
        return {
            "grad_output": Rule(
                lambda xp, grad, input, target, reduction, parameter: grad
                * (slope(xp.plain(input) - xp.plain(target), parameter) * share(_size(input), reduction)),
                by_grad,
            ),
            "input": Rule(
                lambda xp, grad, grad_output, input, target, reduction, parameter: along(
                    xp, input - target, grad * grad_output, reduction, parameter
                ),
                by_input,
            ),
            "target": Rule(
                lambda xp, grad, grad_output, input, target, reduction, parameter: -along(
                    xp, input - target, grad * grad_output, reduction, parameter
                ),
                by_target,
            ),
        }
    return {
        "grad_output": Rule(
            lambda xp, grad, input, target, reduction: grad * ((input - target) * (2.0 * share(_size(input), reduction))), by_grad
        ),
        "input": Rule(
            lambda xp, grad, grad_output, input, target, reduction: along(xp, input - target, grad * grad_output, reduction), by_input
        ),
        "target": Rule(
            lambda xp, grad, grad_output, input, target, reduction: -along(xp, input - target, grad * grad_output, reduction), by_target
        ),
    }


def _first(name: str, forward: Callable[..., Any], attrs: str, second: Op, own: int, formula: str, note: str) -> Op:
    if own:
        return Op(
            f"{name}Backward0",
            forward,
            "input target",
            attrs,
            input=Rule(
                lambda xp, grad, input, target, reduction, parameter: xp.call(second, grad, input, target, reduction, parameter), formula, note
            ),
            target=Rule(
                lambda xp, grad, input, target, reduction, parameter: -xp.call(second, grad, input, target, reduction, parameter),
                "= minus the gradient of input",
            ),
        )
    return Op(
        f"{name}Backward0",
        forward,
        "input target",
        attrs,
        input=Rule(lambda xp, grad, input, target, reduction: xp.call(second, grad, input, target, reduction), formula, note),
        target=Rule(
            lambda xp, grad, input, target, reduction: xp.call(second, grad, target, input, reduction), "= minus the gradient of input"
        ),
    )


def _smooth(d: Any, beta: float) -> Any:
    z = np.abs(d)
    return np.where(z < beta, d.dtype.type(0.5) * z * z / d.dtype.type(beta), z - d.dtype.type(0.5 * beta))


def _smooth_slope(d: Any, beta: float) -> Any:
    return np.where(np.abs(d) < beta, d / d.dtype.type(beta), np.sign(d))


def _huber(d: Any, delta: float) -> Any:
    z = np.abs(d)
    return np.where(z <= delta, d.dtype.type(0.5) * z * z, d.dtype.type(delta) * (z - d.dtype.type(0.5 * delta)))


def _huber_slope(d: Any, delta: float) -> Any:
    return np.clip(d, d.dtype.type(-delta), d.dtype.type(delta))


MSE, MSE_BACKWARD = _difference_loss(
    "MseLoss",
    "reduction",
    lambda d: d * d,
    lambda d: d + d,
    lambda d: np.full_like(d, 2),
    "= 2 * (input - target) * grad, divided by the number of elements for a mean",
)
SMOOTH_L1, SMOOTH_L1_BACKWARD = _difference_loss(
    "SmoothL1Loss",
    "reduction parameter",
    _smooth,
    _smooth_slope,
    lambda d, beta: (np.abs(d) < beta) / d.dtype.type(beta),
    "= grad * (input - target) / beta where that is less than 1, else grad * sign(input - target); divided by the number of elements for a mean",
    "both pieces meet with the same derivative where abs(input - target) == beta",
)
HUBER, HUBER_BACKWARD = _difference_loss(
    "HuberLoss",
    "reduction parameter",
    _huber,
    _huber_slope,
    lambda d, delta: (np.abs(d) < delta).astype(d.dtype),
    "= grad * clamp(input - target, -delta, delta), divided by the number of elements for a mean",
    "both pieces meet with the same derivative where abs(input - target) == delta",
)


# --- soft margin ---


def _soft_margin(x: Array, target: Array, reduction: str) -> Any:
    return reduced(np.log1p(np.exp(-target * x)), reduction)


def _soft_margin_backward(grad: Array, x: Array, target: Array, reduction: str) -> Any:
    z = np.exp(-target * x)
    return -target * z / (z + 1) * grad * x.dtype.type(share(x, reduction))


SOFT_MARGIN_BACKWARD = Op(
    "SoftMarginLossBackwardBackward0",
    _soft_margin_backward,
    "grad_output input",
    "target reduction",
    grad_output=Rule(
        lambda xp, grad, input, target, reduction: grad
        * _soft_margin_backward(np.ones((), xp.plain(input).dtype), xp.plain(input), target, reduction),
        "= grad times the derivative of the loss",
    ),
    input=Rule(
        lambda xp, grad, grad_output, input, target, reduction: grad * grad_output * _soft_margin_curvature(xp.plain(input), target, reduction),
        "= grad * grad_output times the second derivative",
    ),
)
SOFT_MARGIN = Op(
    "SoftMarginLossBackward0",
    _soft_margin,
    "input",
    "target reduction",
    input=Rule(
        lambda xp, grad, input, target, reduction: xp.call(SOFT_MARGIN_BACKWARD, grad, input, target, reduction),
        "= -grad * target / (1 + exp(target * input)), divided by the number of elements for a mean",
    ),
)


def _soft_margin_curvature(x: Array, target: Array, reduction: str) -> Any:
    s = 1 / (1 + np.exp(-target * x))
    return target * target * s * (1 - s) * x.dtype.type(share(x, reduction))


# --- cross entropy of probabilities, and of logits ---

#: logarithms are cut off here, as in PyTorch
_LOWEST_LOG = -100
_LEAST = 1e-12


def _weighted(values: Any, weight: Array | None) -> Any:
    return values if weight is None else values * weight


def _bce(x: Array, target: Array, weight: Array | None, reduction: str) -> Any:
    values = (target - 1) * np.maximum(np.log1p(-x), _LOWEST_LOG) - target * np.maximum(np.log(x), _LOWEST_LOG)
    return reduced(_weighted(values, weight), reduction)


def _bce_backward(grad: Array, x: Array, target: Array, weight: Array | None, reduction: str) -> Any:
    values = grad * (x - target) / np.maximum((1 - x) * x, x.dtype.type(_LEAST))
    return _weighted(values, weight) * x.dtype.type(share(x, reduction))


def _bce_target(x: Array, weight: Array | None, reduction: str) -> Any:
    values = np.maximum(np.log1p(-x), _LOWEST_LOG) - np.maximum(np.log(x), _LOWEST_LOG)
    return _weighted(values, weight) * x.dtype.type(share(x, reduction))


def _bce_second(xp: Any, x: Any, target: Any, weight: Array | None, reduction: str) -> Any:
    """The second derivative by the probabilities."""
    plain = _size(x)
    values = (x * x - 2.0 * x * target + target) / xp.maximum((1.0 - x) * x * ((1.0 - x) * x), _LEAST * _LEAST)
    return values * _factor(weight, plain, reduction)


def _factor(weight: Array | None, x: Array, reduction: str) -> Any:
    """Weight and reduction as one factor, an array."""
    return np.asarray(_weighted(x.dtype.type(share(x, reduction)), weight), x.dtype)


BCE_BACKWARD = Op(
    "BinaryCrossEntropyBackwardBackward0",
    _bce_backward,
    "grad_output input target",
    "weight reduction",
    grad_output=Rule(
        lambda xp, grad, input, target, weight, reduction: grad
        * (input - target)
        / xp.maximum((1.0 - input) * input, _LEAST)
        * _factor(weight, _size(input), reduction),
        "= grad times the derivative of the loss",
    ),
    input=Rule(
        lambda xp, grad, grad_output, input, target, weight, reduction: grad
        * grad_output
        * _bce_second(xp, input, target, weight, reduction),
        "= grad * grad_output times the second derivative",
    ),
    target=Rule(
        lambda xp, grad, grad_output, input, weight, reduction: -grad
        * grad_output
        / xp.maximum((1.0 - input) * input, _LEAST)
        * _factor(weight, _size(input), reduction),
        "= -grad * grad_output / (input * (1 - input))",
    ),
)
BCE = Op(
    "BinaryCrossEntropyBackward0",
    _bce,
    "input target",
    "weight reduction",
    input=Rule(
        lambda xp, grad, input, target, weight, reduction: xp.call(BCE_BACKWARD, grad, input, target, weight, reduction),
        "= grad * (input - target) / (input * (1 - input)) * weight, divided by the number of elements for a mean",
        "at 0 and 1 the denominator is 1e-12",
    ),
    target=Rule(
        lambda xp, grad, input, weight, reduction: grad * _bce_target(xp.plain(input), weight, reduction),
        "= grad * (log(1 - input) - log(input)) * weight, divided by the number of elements for a mean",
    ),
)


def sigmoid(xp: Any, x: Any) -> Any:
    """The logistic function of arrays and of tensors."""
    return catalog.function("sigmoid")(x) if type(x) is Tensor else 1 / (1 + np.exp(-x))


def _log_sigmoid(x: Array) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def _bce_logits(x: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str) -> Any:
    log = _log_sigmoid(x)
    if pos_weight is not None:
        log = ((pos_weight - 1) * target + 1) * log
    values = np.asarray((1 - target) * x - log, np.result_type(x, target))
    return reduced(_weighted(values, weight), reduction)


def _bce_logits_rule(
    xp: Any, grad: Any, input: Any, target: Any, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Any:
    if pos_weight is None:
        result = (sigmoid(xp, input) - target) * grad
    else:
        t = target * pos_weight
        result = ((t + 1.0 - target) * sigmoid(xp, input) - t) * grad
    if weight is not None:
        result = result * weight
    return scalars.over(xp, result, _size(input).size) if reduction == "mean" else result


def _bce_logits_target_rule(xp: Any, grad: Any, input: Any, weight: Array | None, pos_weight: Array | None, reduction: str) -> Any:
    x = xp.plain(input)
    values = -x if pos_weight is None else -x - (pos_weight - 1) * _log_sigmoid(x)
    return grad * np.asarray(_weighted(values, weight) * x.dtype.type(share(x, reduction)), x.dtype)


BCE_LOGITS = Op(
    "BinaryCrossEntropyWithLogitsBackward0",
    _bce_logits,
    "input target",
    "weight pos_weight reduction",
    input=Rule(
        _bce_logits_rule, "= grad * (sigmoid(input) - target) * weight, divided by the number of elements for a mean (without pos_weight)"
    ),
    target=Rule(_bce_logits_target_rule, "= -grad * input * weight, divided by the number of elements for a mean (without pos_weight)"),
)
RECORDS = (MSE, SMOOTH_L1, HUBER, SOFT_MARGIN, BCE, BCE_LOGITS)
