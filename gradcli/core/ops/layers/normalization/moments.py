"""Standardised values, (x - mean) / deviation, and their gradient, for normalisations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.kernels.elementary import LARGEST
from gradcli.core.ops.checks import scalar_type_error
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def check_shapes(normalized_shape: Sequence[int], **parameters: Tensor | None) -> None:
    """Raise RuntimeError for no dimension to normalize, and for parameters of another shape."""
    if not normalized_shape:
        raise shape_error(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []"
        )
    for name, tensor in parameters.items():
        if tensor is not None and tensor.array.shape != tuple(normalized_shape):
            raise shape_error(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(tensor.array.shape)} and "
                f"normalized_shape = {list(normalized_shape)}",
            )


def moments(x: Array, axes: tuple[int, ...], eps: float, kept: Callable[[Array], Array] = np.asarray) -> tuple[Array, Array]:
    """The mean and 1 / sqrt(variance + eps) over `axes`, which stay with size 1; summed in double precision.

    `kept` rounds the sum of the squares of the differences from the mean, and the variance.
    """
    wide = x.astype(np.float64)
    count = np.float64(math.prod(x.shape[axis] for axis in axes))
    mean = wide.sum(axes, keepdims=True) / count
    squares = np.square(x - mean.astype(x.dtype)).astype(np.float64).sum(axes, keepdims=True)  # which may overflow
    rstd = 1 / np.sqrt(kept(kept(squares) / count) + eps)
    return mean.astype(x.dtype), rstd.astype(x.dtype)


def in_order(x: Array, dtype: DType, rows: bool) -> bool:
    """Whether PyTorch's kernel adds numbers of single precision one after the other, as for rows of channels; large ones are not told."""
    return rows and x.ndim == 2 and dtype is dtypes.float32 and 0 < x.size <= LARGEST


def added_products(a: Array, b: Array) -> Array:
    """The sums of a * b over the rows, each product fused with the sum, in float32."""
    total = np.zeros(a.shape[1:], np.float32)
    for row in a.astype(np.float64) * b:
        total = (row + total).astype(np.float32)
    return total


def added(a: Array) -> Array:
    """The sums over the rows, one after the other, in float32."""
    return np.asarray(np.add.accumulate(a, axis=0)[-1:])


def standardised(xp: Any, x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """`(x - mean) / deviation` and 1 / deviation, of arrays or tensors."""
    count = math.prod(x.shape[axis] for axis in axes)
    centred = x - xp.sum(x, axes, True) / count
    rstd = 1.0 / xp.sqrt(xp.sum(centred * centred, axes, True) / count + eps)
    return centred * rstd, rstd


def standardised_rule(xp: Any, grad: Any, x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """The gradient of x from that of the standardised values: grad without its mean and its part along the values."""
    normal, rstd = standardised(xp, x, axes, eps)
    count = math.prod(x.shape[axis] for axis in axes)
    along = xp.sum(grad * normal, axes, True) / count
    return (grad - xp.sum(grad, axes, True) / count - normal * along) * rstd


def scaled(x: Any, weight: Any, bias: Any) -> Any:
    """`x * weight + bias`, where both may be None."""
    if weight is not None:
        x = x * weight
    return x + (np.float32(0) if bias is None else bias)  # PyTorch adds 0 for a bias that is not given


#: for formulas: c is the difference from the mean along dim, std the deviation
CENTRED = "c = input - input.mean(dim, True); std = (input.var(dim, correction=0, keepdim=True) + eps).sqrt(); "
#: for formulas: the gradient of the input, from g, the gradient of c / std
NORMAL = "x = c / std; (g - g.mean(dim, True) - x * (g * x).mean(dim, True)) / std"


def widened(xp: Any, x: Any, dtype: DType) -> Any:
    """An input or a gradient of half precision in the dtype of the parameters, in which the gradients of those are computed."""
    return x if x.dtype in (dtype, dtype.np) else xp.cast(x, dtype)


def check_mixed(input: Tensor, *parameters: Tensor) -> None:
    """Raise RuntimeError for parameters of another dtype than the input: only float32 ones go with an input of half precision."""
    if not parameters or parameters[0].dtype is input.dtype:
        other = next((parameter.dtype for parameter in parameters if parameter.dtype is not input.dtype), None)
        if other is not None:
            raise scalar_type_error(input.dtype, other)
        return
    if any(parameter.dtype is not dtypes.float32 for parameter in parameters):
        raise runtime_error("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.dtype not in (dtypes.float16, dtypes.bfloat16):
        raise runtime_error("mixed dtype (CPU): all inputs must share same datatype.")
