"""The records of convolutions: forward, and the two gradients that PyTorch has as steps of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import windows
from gradcli.core.kernels.windows import Sizes
from gradcli.core.tensor.tensor import Array

ATTRS = "stride padding dilation transposed output_padding groups"


def _wide(x: Array) -> Array:
    """Half precision is added up in float32."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _cut(x: Array, padding: Sizes) -> Array:
    """Without the border that padding added."""
    if not any(padding):
        return x
    return np.ascontiguousarray(x[windows.inside(padding, [n - 2 * p for n, p in zip(x.shape[2:], padding, strict=True)])])


def _spread_sizes(count: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes, output_padding: Sizes) -> Sizes:
    """The sizes, before padding is cut off, of an input with so many windows."""
    return tuple(
        (n - 1) * s + d * (k - 1) + extra + 1 for n, k, s, d, extra in zip(count, kernel, stride, dilation, output_padding, strict=True)
    )


def _forward(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Array:
    dtype = x.dtype
    x, weight = _wide(x), _wide(weight)
    if transposed:
        sizes = _spread_sizes(x.shape[2:], weight.shape[2:], stride, dilation, output_padding)
        out = _cut(windows.spread(x, weight, sizes, stride, dilation, groups), padding)
    else:
        out = windows.correlate(windows.padded(x, padding), weight, stride, dilation, groups)
    if bias is not None:
        out += bias.reshape(-1, *(1 for _ in stride))
    return out.astype(dtype, copy=False)


def _input_gradient(
    grad: Array,
    x: Array,
    weight: Array,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Array:
    dtype = grad.dtype
    grad, weight = _wide(grad), _wide(weight)
    if transposed:
        whole = windows.correlate(windows.padded(grad, padding), weight, stride, dilation, groups)
        out = whole[windows.inside((0,) * len(stride), x.shape[2:])]
    else:
        sizes = tuple(n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True))
        out = _cut(windows.spread(grad, weight, sizes, stride, dilation, groups), padding)
    made: Array = out.astype(dtype, copy=False)
    return made


def _weight_gradient(
    grad: Array,
    x: Array,
    weight: Array,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Array:
    dtype = grad.dtype
    grad, x = _wide(grad), _wide(x)
    if transposed:
        grad, x = x, grad
    made = windows.weigh(grad, windows.padded(x, padding), weight.shape[2:], stride, dilation, groups)
    return made.astype(dtype, copy=False)


def _bias_gradient(grad: Array, x: Array, weight: Array) -> Array:
    return np.asarray(_wide(grad).sum((0, *range(2, grad.ndim)))).astype(grad.dtype, copy=False)


_TO_INPUT = (
    "left = [(n + 2 * p - d * (k - 1) - 1) % s for n, p, d, k, s in zip(input.shape[2:], padding, dilation, weight.shape[2:], stride)]; "
    "convolution({}, {}, None, stride, padding, dilation, not transposed, left, groups)"
)
_TO_WEIGHT = (
    "x = {0} if transposed else {1}; y = {1} if transposed else {0}; "
    "z = convolution(x.unflatten(1, (groups, -1)).transpose(0, 2).flatten(1, 2), y.transpose(0, 1), None, dilation, padding, stride, "
    "False, output_padding, groups).transpose(0, 1); z[tuple([slice(n) for n in weight.shape])]"
)


def _no_gradient(grad: Any) -> Any:
    """The step is linear in what the gradient is of, which it lists all the same."""
    return None


_AGAIN = "convolution({}, {}, None, stride, padding, dilation, transposed, output_padding, groups)"
CONVOLUTION: Op = Op(
    "ConvolutionBackward0",
    _forward,
    "input weight bias",
    ATTRS,
    input=Rule(
        lambda xp, grad, input, weight, attrs: xp.call(INPUT_GRADIENT, grad, input, weight, *attrs), _TO_INPUT.format("grad", "weight")
    ),
    weight=Rule(
        lambda xp, grad, input, weight, attrs: xp.call(WEIGHT_GRADIENT, grad, input, weight, *attrs), _TO_WEIGHT.format("grad", "input")
    ),
    bias=Rule(
        lambda xp, grad, input, weight: xp.call(BIAS_GRADIENT, grad, input, weight),
        "grad.sum([0, *range(2, grad.dim())])",
    ),
)
INPUT_GRADIENT: Op = Op(
    "ConvolutionBackwardBackward0",
    _input_gradient,
    "grad_output input weight",
    ATTRS,
    grad_output=Rule(lambda xp, grad, weight, attrs: xp.call(CONVOLUTION, grad, weight, None, *attrs), _AGAIN.format("grad", "weight")),
    input=Rule(_no_gradient, "0 * input"),
    weight=Rule(
        lambda xp, grad, grad_output, weight, attrs: xp.call(WEIGHT_GRADIENT, grad_output, grad, weight, *attrs),
        _TO_WEIGHT.format("grad_output", "grad"),
    ),
)
WEIGHT_GRADIENT: Op = Op(
    "ConvolutionBackwardBackward0",
    _weight_gradient,
    "grad_output input weight",
    ATTRS,
    grad_output=Rule(lambda xp, grad, input, attrs: xp.call(CONVOLUTION, input, grad, None, *attrs), _AGAIN.format("input", "grad")),
    input=Rule(
        lambda xp, grad, grad_output, input, attrs: xp.call(INPUT_GRADIENT, grad_output, input, grad, *attrs),
        _TO_INPUT.format("grad_output", "grad"),
    ),
    weight=Rule(_no_gradient, "0 * weight"),
)
BIAS_GRADIENT: Op = Op(
    "ConvolutionBackwardBackward0",
    _bias_gradient,
    "grad_output input weight",
    grad_output=Rule(
        lambda xp, grad, grad_output_shape: xp.reshape(grad, (grad.shape[0], *(1 for _ in grad_output_shape[2:]))),
        "grad.reshape(-1, *[1 for _ in grad_output.shape[2:]])",
    ),
    input=Rule(_no_gradient, "0 * input"),
    weight=Rule(_no_gradient, "0 * weight"),
)
