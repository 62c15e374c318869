"""The gradients of layer normalisation as operations, whose derivatives are PyTorch's: mean and deviation are constants for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array

#: of an input that another gradient of the same node depends on
_NOTHING = Rule(lambda grad: None, "None")
#: the name of PyTorch's one node for the gradients of input, weight and bias
_NAME = "NativeLayerNormBackwardBackward0"


def _rows(xp: Any, x: Any, normalized_shape: tuple[int, ...]) -> Any:
    """A matrix with a row for what is normalised together."""
    columns = math.prod(normalized_shape)
    return xp.reshape(x, (math.prod(x.shape[: len(x.shape) - len(normalized_shape)]), columns))


def _parts(xp: Any, input: Any, mean: Any, rstd: Any, normalized_shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The differences from the means as rows, and the reciprocal deviations as a column."""
    rows = _rows(xp, input, normalized_shape)
    count = rows.shape[0]
    return rows - xp.reshape(mean, (count, 1)), xp.reshape(rstd, (count, 1))


def _first(xp: Any, grad: Any, weight: Any, centred: Any, rstd: Any) -> Any:
    """The gradient of the input as the first backward pass has it, of rows."""
    columns = grad.shape[1]
    scale = (rstd if weight is None else xp.reshape(weight, (1, columns)) * rstd) / max(columns, 1)
    along = xp.sum(grad * centred, (1,), True)
    return scale * (grad * columns - xp.sum(grad, (1,), True) - centred * (rstd * rstd) * along)


def tangent(xp: Any, inputs: Any, attrs: Any, tangents: Any, outs: Any) -> Any:
    """The tangent in PyTorch's order of operations, mean and deviation being constants for its derivatives too."""
    (input, weight, _), (moved, to_weight, to_bias), shape = inputs, tangents, attrs[0]
    centred, inverse = _parts(xp, input, outs[1], outs[2], shape)
    made = None
    if moved is not None:
        rows = _rows(xp, moved, shape)
        moved = rows - xp.sum(rows, (1,), True) / rows.shape[1]
        along = xp.sum(moved * centred, (1,), True) / -rows.shape[1]
        made = xp.reshape(moved * inverse + centred * (inverse * inverse * inverse * along), input.shape)
        made = made if weight is None else made * weight
    if to_weight is not None:
        part = xp.reshape(centred * inverse, input.shape) * to_weight
        made = part if made is None else made + part
    if to_bias is not None:
        made = xp.zeros_like(input) + to_bias if made is None else made + to_bias
    return made


def _of_input(xp: Any, grad: Any, grad_out: Any, input: Any, weight: Any, mean: Any, rstd: Any, normalized_shape: tuple[int, ...]) -> Any:
    centred, inverse = _parts(xp, input, mean, rstd, normalized_shape)
    given, out = _rows(xp, grad, normalized_shape), _rows(xp, grad_out, normalized_shape)
    columns = out.shape[1]
    slope = out if weight is None else out * xp.reshape(weight, (1, columns))
    columns = max(columns, 1)
    cube = inverse * inverse * inverse
    slope_along, slope_sum = xp.sum(slope * centred, (1,), True), xp.sum(slope, (1,), True)
    given_sum, given_along = xp.sum(given, (1,), True), xp.sum(given * centred, (1,), True)
    both = given_sum * slope_sum / columns - xp.sum(given * slope, (1,), True)
    both = both + inverse * inverse * slope_along * given_along * (3.0 / columns)
    made = centred * cube * both / columns
    made = made + given_along * cube / columns * (slope_sum / columns - slope)
    made = made + slope_along * cube / columns * (given_sum / columns - given)
    return xp.reshape(made, input.shape)


def _of_gradient(xp: Any, grad: Any, input: Any, weight: Any, mean: Any, rstd: Any, normalized_shape: tuple[int, ...]) -> Any:
    centred, inverse = _parts(xp, input, mean, rstd, normalized_shape)
    return xp.reshape(_first(xp, _rows(xp, grad, normalized_shape), weight, centred, inverse), input.shape)


def _of_weight(xp: Any, grad: Any, grad_out: Any, input: Any, mean: Any, rstd: Any, normalized_shape: tuple[int, ...]) -> Any:
    centred, inverse = _parts(xp, input, mean, rstd, normalized_shape)
    first = _first(xp, _rows(xp, grad, normalized_shape), None, centred, inverse)
    return xp.reshape(xp.sum(_rows(xp, grad_out, normalized_shape) * first, (0,)), normalized_shape)


def _gradient(forward: Callable[..., Array], in_half: Callable[..., Array], attrs: str, **rules: Any) -> Op:
    """One of the three gradients; `rules` are those of its arguments but for mean and deviation, which are constants, and the bias,
    which makes each gradient one that requires grad.
    """
    return Op(
        _NAME,
        lambda grad, input, mean, rstd, weight, bias, *how: forward(grad, input, mean, rstd, weight, *how),
        "grad_out input mean rstd weight bias",
        attrs,
        in_half=lambda dtype, grad, input, mean, rstd, weight, bias, *how: in_half(dtype, grad, input, mean, rstd, weight, *how),
        jvp="transpose",
        saved="grad_out input mean rstd weight normalized_shape",
        mean=_NOTHING,
        rstd=_NOTHING,
        bias=_NOTHING,
        **rules,
    )


def input_gradient(forward: Callable[..., Array], in_half: Callable[..., Array]) -> Op:
    """The gradient of the input; `forward` computes it, `in_half` in half precision."""
    return _gradient(
        forward,
        in_half,
        "normalized_shape eps",
        grad_out=Rule(_of_gradient, "(grad - grad.mean(-1, True) - c * (grad * c).mean(-1, True) * rstd**2) * rstd * weight"),
        input=Rule(_of_input, "derivative of the gradient by the input, for constant mean and rstd"),
        weight=Rule(_of_weight, "sum of grad_out * (gradient of the input without weight)"),
    )


def _weight_of_gradient(xp: Any, grad: Any, input: Any, mean: Any, rstd: Any, normalized_shape: tuple[int, ...]) -> Any:
    centred, inverse = _parts(xp, input, mean, rstd, normalized_shape)
    return xp.reshape(xp.reshape(grad, (1, centred.shape[1])) * centred * inverse, input.shape)


def _weight_of_input(xp: Any, grad: Any, grad_out: Any, input: Any, mean: Any, rstd: Any, normalized_shape: tuple[int, ...]) -> Any:
    centred, inverse = _parts(xp, input, mean, rstd, normalized_shape)
    columns = centred.shape[1]
    slope = _rows(xp, grad_out, normalized_shape) * xp.reshape(grad, (1, columns))
    columns = max(columns, 1)
    made = slope * inverse - inverse * xp.sum(slope, (1,), True) / columns
    made = made - centred * (inverse * inverse * inverse) * xp.sum(slope * centred, (1,), True) / columns
    return xp.reshape(made, input.shape)


def weight_gradient(forward: Callable[..., Array], in_half: Callable[..., Array]) -> Op:
    """The gradient of the weight; `forward` computes it, `in_half` in half precision."""
    return _gradient(
        forward,
        in_half,
        "normalized_shape eps",
        grad_out=Rule(_weight_of_gradient, "grad * c * rstd"),
        input=Rule(_weight_of_input, "derivative of the gradient by the input, for constant mean and rstd"),
        weight=_NOTHING,
    )


def _bias_of_gradient(xp: Any, grad: Any, weight: Any, grad_out_shape: tuple[int, ...]) -> Any:
    """PyTorch leaves this derivative out where there is no weight."""
    return None if weight is None else xp.broadcast_to(grad, grad_out_shape)


def bias_gradient(forward: Callable[..., Array], in_half: Callable[..., Array]) -> Op:
    """The gradient of the bias; `forward` computes it, `in_half` in half precision."""
    return _gradient(
        forward,
        in_half,
        "normalized_shape",
        grad_out=Rule(_bias_of_gradient, "None if weight is None else grad.expand(grad_out.shape)"),
        input=_NOTHING,
        weight=_NOTHING,
    )
