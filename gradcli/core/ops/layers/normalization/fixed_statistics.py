"""Batch normalisation by running statistics, which have no gradient: the records of its result and of its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.namespaces import in_single
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.elementwise import add_multiply, scalars
from gradcli.core.ops.elementwise.power import pow
from gradcli.core.ops.layers.normalization.batch_statistics import (
    DIM,
    GRADIENT_NAME,
    GRADIENT_OF,
    SHAPE,
    bias_rule,
    channels,
    check_memory,
    in_rows,
    nothing,
    scaled,
)
from gradcli.core.ops.layers.normalization.moments import added_products, in_order, widened
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor

_ATTRS = "running_mean running_var eps dtype"


def _fixed(x: Any, mean: Array, var: Array, eps: float, precision: Any = None) -> tuple[Array, Array]:
    """The mean and 1 / deviation of each channel, so that they broadcast to x; `precision` is that of the variance, where it is another."""
    shape = channels(x)[1]
    wide = var if precision is None else var.astype(precision)
    return mean.reshape(shape), np.asarray(1 / np.sqrt(wide + wide.dtype.type(eps))).astype(var.dtype).reshape(shape)


def _batch_norm_fixed(x: Array, weight: Array | None, bias: Array | None, mean: Array, var: Array, eps: float, dtype: DType) -> Array:
    rows = in_rows(x) and mean.flags.c_contiguous and var.flags.c_contiguous

    def run(x: Array, weight: Array | None, bias: Array | None, mean: Array, var: Array) -> Array:
        return scaled(x, *_fixed(x, mean, var, eps), weight, bias, rows)

    return np.asarray(in_single(run)(x, weight, bias, mean, var))


def _input_gradient(grad: Array, x: Array, weight: Array | None, _: Any, __: Any, mean: Array, var: Array, eps: float, ___: DType) -> Array:
    check_memory(grad, x, weight, mean, var)

    def run(grad: Array, weight: Array | None, mean: Array, var: Array) -> Array:
        made = grad * _fixed(grad, mean, var, eps, np.float64)[1]
        return made if weight is None else made * weight.reshape(channels(grad)[1])

    return memory_format.of_images(np.asarray(in_single(run)(grad, weight, mean, var)), x)


def _weight_gradient(grad: Array, x: Array, weight: Any, _: Any, __: Any, mean: Array, var: Array, eps: float, ___: DType) -> Array:
    def run(grad: Array, x: Array, mean: Array, var: Array) -> Array:
        average, rstd = _fixed(x, mean, var, eps, np.float64)
        if in_order(x, dtypes.of(x.dtype), in_rows(x) and in_rows(grad)):
            return np.asarray(added_products(x - average, grad) * rstd[0])
        along = ((x - average) * grad).sum(channels(x)[0], np.float64)
        return np.asarray((along * rstd.reshape(-1)).astype(x.dtype))

    return np.asarray(in_single(run)(grad, x, mean, var))


# --- the second derivatives, in PyTorch's order of operations ---


def _scale(x: Any, var: Array, eps: float, dtype: DType) -> Array:
    """1 / deviation of each channel, so that it broadcasts to x; in half precision each step rounds."""
    spread = dtypes.stored(var + var.dtype.type(eps), dtype)
    return np.asarray(pow(Tensor(spread, dtype), -0.5).array.reshape(channels(x)[1]))


def _input_by_grad(xp: Any, grad: Any, weight: Any, running_var: Any, eps: float, dtype: DType) -> Any:
    made = scalars.times_data(xp, grad, _scale(grad, running_var, eps, dtype))
    return made if weight is None else made * xp.reshape(weight, channels(grad)[1])


def _input_by_weight(xp: Any, grad: Any, grad_output: Any, running_var: Any, eps: float, dtype: DType) -> Any:
    return xp.sum(scalars.times_data(xp, grad * grad_output, _scale(grad, running_var, eps, dtype)), channels(grad)[0])


def _weight_by_grad(xp: Any, grad: Any, input: Any, running_mean: Any, running_var: Any, eps: float, dtype: DType) -> Any:
    shape = channels(input)[1]
    centred = xp.call(add_multiply.SUB, input, running_mean.reshape(shape))
    return scalars.times_data(xp, xp.reshape(grad, shape) * centred, _scale(input, running_var, eps, dtype))


def _weight_by_input(xp: Any, grad: Any, grad_output: Any, running_var: Any, eps: float, dtype: DType) -> Any:
    scale = _scale(grad_output, running_var, eps, dtype)
    return scalars.times_data(xp, xp.reshape(grad, channels(grad_output)[1]), scale) * grad_output


_SAVED = "grad_out=grad_output input running_mean running_var save_invstd=? save_mean=? weight eps train=False"
_ROWS = SHAPE.replace("grad.", "grad_output.")  # here grad has a number for each channel
_RSTD = "(running_var + eps).sqrt().reshape(shape)"
_INPUT_GRADIENT = Op(
    GRADIENT_NAME,
    _input_gradient,
    GRADIENT_OF,
    _ATTRS,
    saved=_SAVED,
    jvp="transpose",
    grad_output=Rule(_input_by_grad, SHAPE + f"w = 1 if weight is None else weight.reshape(shape); grad * w / {_RSTD}"),
    input=nothing("input"),
    weight=Rule(_input_by_weight, DIM + SHAPE + f"(grad * grad_output / {_RSTD}).sum(dim)"),
    save_mean=nothing("save_mean"),
    save_invstd=nothing("save_invstd"),
)
_WEIGHT_GRADIENT = Op(
    GRADIENT_NAME,
    _weight_gradient,
    GRADIENT_OF,
    _ATTRS,
    saved=_SAVED,
    jvp="transpose",
    grad_output=Rule(_weight_by_grad, _ROWS + f"grad.reshape(shape) * (input - running_mean.reshape(shape)) / {_RSTD}"),
    input=Rule(_weight_by_input, _ROWS + f"grad.reshape(shape) * grad_output / {_RSTD}"),
    weight=nothing("weight"),
    save_mean=nothing("save_mean"),
    save_invstd=nothing("save_invstd"),
)


def _weight_rule(xp: Any, grad: Any, input: Any, weight: Any, attrs: Any) -> Any:
    grad, input = (widened(xp, x, attrs[-1]) for x in (grad, input))
    return xp.call(_WEIGHT_GRADIENT, grad, input, weight, None, None, *attrs)


BATCH_NORM_FIXED = Op(
    "NativeBatchNormBackward0",
    _batch_norm_fixed,
    "input weight bias",
    _ATTRS,
    saved="input! result1=? result2=? running_mean running_var weight! eps training=False",
    joined=True,
    computed=dict.fromkeys(("result1", "result2"), lambda x, *_: np.empty(0, x.dtype)),
    jvp="transpose",
    input=Rule(
        lambda xp, grad, input, weight, attrs: xp.call(_INPUT_GRADIENT, grad, input, weight, None, None, *attrs),
        SHAPE + "w = 1 if weight is None else weight; grad * (w / (running_var + eps).sqrt()).reshape(shape)",
    ),
    weight=Rule(_weight_rule, DIM + SHAPE + "(grad * (input - running_mean.reshape(shape))).sum(dim) / (running_var + eps).sqrt()"),
    bias=bias_rule(False),
)
