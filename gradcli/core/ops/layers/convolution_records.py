"""Convolutions of arrays, their gradients, and the records of both."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, half_to_single, memory_format, windows
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.layers.convolution_checks import check_not_empty, spread_sizes
from gradcli.core.ops.shape.joining import CAT
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.ops.shape.transpose import TRANSPOSE


class Settings(NamedTuple):
    """The plain arguments of a convolution."""

    stride: Sizes
    padding: Sizes
    dilation: Sizes
    transposed: bool
    output_padding: Sizes
    groups: int


_ATTRS = " ".join(Settings._fields)


def bias_sizes(bias: Any) -> Sizes:
    """The shape of a bias as PyTorch's node saves it: (0,) where there is none."""
    return (0,) if bias is None else tuple(bias.shape)


def _settings(attrs: Any, rank: int) -> Settings:
    """The plain arguments with a number for each dimension; a node keeps them as they were given."""
    given = Settings(*attrs)
    stride, padding, dilation, extra = (
        value * rank if len(value) == 1 else value for value in (given.stride, given.padding, given.dilation, given.output_padding)
    )
    return Settings(stride, padding, dilation, given.transposed, extra, given.groups)


def _cut(x: Array, padding: Sizes) -> Array:
    """Without the border that padding added."""
    if not any(padding):
        return x
    return memory_format.contiguous(x[windows.inside(padding, [n - 2 * p for n, p in zip(x.shape[2:], padding, strict=True)])])


def _laid_out(made: Array, x: Array, weight: Array, how: Settings) -> Array:
    """A result as PyTorch lays it out: with channels last where one of both operands has them; of volumes only its library does that."""
    if x.ndim == 3:  # images of one row, of an input in row-major order
        x = x if x.flags.c_contiguous else memory_format.contiguous(x)
        return memory_format.of_images(made[:, :, None], _one_row(x), _one_row(weight))[:, :, 0]
    images = x.ndim == 4 or (x.ndim == 5 and _by_library(x, weight, how))
    return memory_format.of_images(made, x, weight) if images else made


def _one_row(x: Array) -> Array:
    """Sequences as images of one row, with the strides of PyTorch's view."""
    first, second, last = x.strides
    return np.lib.stride_tricks.as_strided(x, (*x.shape[:2], 1, x.shape[2]), (first, second, x.shape[2] * last, last))


def _by_library(x: Array, weight: Array, how: Settings) -> bool:
    """Whether PyTorch leaves a convolution of volumes to oneDNN, where it computes in one thread (Convolution.cpp, `use_mkldnn`)."""
    last = weight.shape[-2:]
    wide = how.stride != (1, 1, 1) or how.dilation != (1, 1, 1) or len(x) >= 16 or last != (1, 1)
    much = how.groups > 1 or min(last) > 3 or len(x) > 1 or math.prod(x.shape[:4]) > 20480
    return bool(x.dtype == np.float32 and wide and much)


def _convolved(x: Array, weight: Array, bias: Array | None, bias_sym_sizes_opt: Sizes, *attrs: Any) -> Array:
    how, dtype, given = _settings(attrs, x.ndim - 2), x.dtype, (x, weight)
    if how.transposed:
        sizes = spread_sizes(x.shape[2:], weight.shape[2:], how.stride, how.dilation, how.output_padding)
        out = _cut(windows.spread(x, weight, sizes, how.stride, how.dilation, how.groups), how.padding)
    else:
        x, weight = map(half_to_single, given)
        out = windows.correlate(windows.padded(x, how.padding), weight, how.stride, how.dilation, how.groups)
    if bias is not None:
        out += bias.reshape(-1, *(1 for _ in how.stride))
    return _laid_out(out.astype(dtype, copy=False), *given, how)


def _input_gradient(grad: Array, x: Array, weight: Array, *attrs: Any) -> Array:
    how, dtype, given = _settings(attrs, grad.ndim - 2), grad.dtype, (x, weight)
    if how.transposed:
        grad, weight = half_to_single(grad), half_to_single(weight)
        whole = windows.correlate(windows.padded(grad, how.padding), weight, how.stride, how.dilation, how.groups)
        out = memory_format.contiguous(whole[windows.inside((0,) * len(how.stride), x.shape[2:])])
    else:
        sizes = tuple(n + 2 * p for n, p in zip(x.shape[2:], how.padding, strict=True))
        out = _cut(windows.spread(grad, weight, sizes, how.stride, how.dilation, how.groups), how.padding)
    return _laid_out(np.asarray(out.astype(dtype, copy=False)), *given, how)


def _weight_gradient(grad: Array, x: Array, weight: Array, *attrs: Any) -> Array:
    how, dtype = _settings(attrs, grad.ndim - 2), grad.dtype
    first = x
    if how.transposed:
        grad, x = x, grad
    made = windows.weigh(grad, windows.padded(x, how.padding), weight.shape[2:], how.stride, how.dilation, how.groups)
    # PyTorch's own code, which is not that for float32, looks at the weight alone where that has its channels last at once;
    # that for dilated kernels does not
    dilated = max(how.dilation) > 1 and not how.transposed
    if dtype != np.float32 and not dilated and weight.ndim < 5 and memory_format.is_channels_last(weight):
        made, first = memory_format.contiguous(made), weight
    return _laid_out(made, first, weight, how)


def _bias_gradient(grad: Array, x: Array, weight: Array, *attrs: Any) -> Array:
    return np.asarray(half_to_single(grad).sum((0, *range(2, grad.ndim)))).astype(grad.dtype, copy=False)


#: for formulas: the gradients of the input and of the weight
_TO_INPUT = (
    "left = [(n + 2 * p - d * (k - 1) - 1) % s for n, p, d, k, s in zip(input.shape[2:], padding, dilation, weight.shape[2:], stride)]; "
    "convolution({}, {}, None, stride, padding, dilation, not transposed, left, groups)"
)
_TO_WEIGHT = (
    "x = {0} if transposed else {1}; y = {1} if transposed else {0}; "
    "z = convolution(x.unflatten(1, (groups, -1)).transpose(0, 2).flatten(1, 2), y.transpose(0, 1), None, dilation, padding, stride, "
    "False, output_padding, groups).transpose(0, 1); z[tuple([slice(n) for n in weight.shape])]"
)


def _no_gradient(grad: Any) -> None:
    """The gradient of an operand that PyTorch lists, though the result depends on its shape alone."""
    return None


def _double_weight_rule(xp: Any, grad: Any, grad_output: Any, weight: Any, attrs: Any) -> Any:
    """The second derivative by the weight: convolutions whose samples are the channels, as PyTorch makes it and as it lies in memory."""
    check_not_empty((*grad_output.shape[1::-1], *grad_output.shape[2:]))
    how = Settings(*attrs)
    kernel, x = (xp.call(TRANSPOSE, of, 0, 1) for of in ((grad, grad_output) if how.transposed else (grad_output, grad)))
    plain = Settings(how.dilation, how.padding, how.stride, False, how.output_padding, 1)
    rows, columns = x.shape[0] // how.groups, kernel.shape[0] // how.groups
    groups = [(_part(xp, x, 0, g * rows, rows), _part(xp, kernel, 0, g * columns, columns)) for g in range(how.groups)]
    parts = [_again(xp, *group, plain) for group in groups]
    made = parts[0] if how.groups == 1 else xp.call(CAT, parts, 1, (columns,) * how.groups)
    return _narrowed(xp, xp.call(TRANSPOSE, made, 0, 1), weight)


def _double_input_rule(xp: Any, grad: Any, grad_output: Any, input: Any, attrs: Any) -> Any:
    """The second derivative by the input: the convolution in the other direction, as PyTorch makes it and as it lies in memory."""
    how = _settings(attrs, len(grad.shape) - 2)
    extra = how.output_padding
    if not how.transposed:
        least = spread_sizes(grad_output.shape[2:], grad.shape[2:], how.stride, how.dilation, (0,) * len(extra))
        extra = tuple(n + 2 * p - s for n, p, s in zip(input.shape[2:], how.padding, least, strict=True))
    other = how._replace(transposed=not how.transposed, output_padding=extra)
    return _narrowed(xp, _again(xp, grad_output, grad, other), input)


def _narrowed(xp: Any, made: Any, like: Any) -> Any:
    for dim, size in enumerate(like.shape[2:], 2):
        made = _part(xp, made, dim, 0, size)
    return made


def _part(xp: Any, x: Any, dim: int, start: int, size: int) -> Any:
    """The elements from `start` on along a dimension, unless they are all."""
    return x if x.shape[dim] == size else xp.call(SLICE, x, dim, start, start + size, 1)


def _again(xp: Any, x: Any, weight: Any, settings: Any) -> Any:
    """A convolution without bias within a derivative."""
    return xp.call(CONVOLUTION, x, weight, None, bias_sizes(None), *settings)


def _convolution_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, _: Any) -> Any:
    """The bias moves with the weight, as in PyTorch."""
    (x, weight, _), (dx, dw, db) = inputs, tangents
    of_input = None if dx is None else _again(xp, dx, weight, attrs[1:])
    if dw is None and db is None:
        return of_input
    of_weight = xp.call(CONVOLUTION, x, xp.zeros_like(weight) if dw is None else dw, db, bias_sizes(db), *attrs[1:])
    return of_weight if of_input is None else of_input + of_weight


_AGAIN = "convolution({}, {}, None, stride, padding, dilation, transposed, output_padding, groups)"
CONVOLUTION: Op = Op(
    "ConvolutionBackward0",
    _convolved,
    "input weight bias",
    f"bias_sym_sizes_opt {_ATTRS}",
    saved="input weight bias_sym_sizes_opt dilation groups output_padding padding stride transposed",
    joined=True,
    jvp=_convolution_jvp,
    input=Rule(
        lambda xp, grad, input, weight, attrs: xp.call(INPUT_GRADIENT, grad, input, weight, *attrs[1:]), _TO_INPUT.format("grad", "weight")
    ),
    weight=Rule(
        lambda xp, grad, input, weight, attrs: xp.call(WEIGHT_GRADIENT, grad, input, weight, *attrs[1:]), _TO_WEIGHT.format("grad", "input")
    ),
    bias=Rule(
        lambda xp, grad, input, weight, attrs: xp.call(BIAS_GRADIENT, grad, input, weight, *attrs[1:]),
        "grad.sum([0, *range(2, grad.dim())])",
    ),
)
INPUT_GRADIENT: Op = Op(
    "ConvolutionBackwardBackward0",
    _input_gradient,
    "grad_output input weight",
    _ATTRS,
    saved=f"grad_output input weight {_ATTRS}",
    grad_output=Rule(lambda xp, grad, weight, attrs: _again(xp, grad, weight, attrs), _AGAIN.format("grad", "weight")),
    input=Rule(_no_gradient, "0 * input"),
    weight=Rule(_double_weight_rule, _TO_WEIGHT.format("grad_output", "grad")),
)
WEIGHT_GRADIENT: Op = Op(
    "ConvolutionBackwardBackward0",
    _weight_gradient,
    "grad_output input weight",
    _ATTRS,
    saved=f"grad_output input weight {_ATTRS}",
    grad_output=Rule(lambda xp, grad, input, attrs: _again(xp, input, grad, attrs), _AGAIN.format("input", "grad")),
    input=Rule(_double_input_rule, _TO_INPUT.format("grad_output", "grad")),
    weight=Rule(_no_gradient, "0 * weight"),
)
BIAS_GRADIENT: Op = Op(
    "ConvolutionBackwardBackward0",
    _bias_gradient,
    "grad_output input weight",
    _ATTRS,
    saved=f"grad_output input weight {_ATTRS}",
    grad_output=Rule(
        lambda xp, grad, grad_output_shape: xp.reshape(grad, (grad.shape[0], *(1 for _ in grad_output_shape[2:]))),
        "grad.reshape(-1, *[1 for _ in grad_output.shape[2:]])",
    ),
    input=Rule(_no_gradient, "0 * input"),
    weight=Rule(_no_gradient, "0 * weight"),
)

_GRADIENT_OF_NOTHING = Op(
    "ConvolutionBackwardBackward0",
    lambda grad, x, weight, *attrs: np.zeros(attrs[-1], grad.dtype),
    "grad_output input weight",
    f"{_ATTRS} shape",
    saved=f"grad_output input weight {_ATTRS}",
    grad_output=Rule(_no_gradient, "0 * grad_output"),
    input=Rule(_no_gradient, "0 * input"),
    weight=Rule(_no_gradient, "0 * weight"),
)


def _rule_of_nothing(xp: Any, grad: Any, input: Any, weight: Any, attrs: Any, shape: Any) -> Any:
    return xp.call(_GRADIENT_OF_NOTHING, grad, input, weight, *attrs[1:-1], shape)


#: the convolution of no images or no channels
CONVOLUTION_OF_NOTHING = Op(
    "ConvolutionBackward0",
    lambda x, weight, bias, *attrs: np.zeros(attrs[-1], x.dtype),
    "input weight bias",
    f"bias_sym_sizes_opt {_ATTRS} shape",
    saved="input weight bias_sym_sizes_opt dilation groups output_padding padding stride transposed",
    joined=True,
    input=Rule(lambda xp, grad, input, weight, attrs: _rule_of_nothing(xp, grad, input, weight, attrs, input.shape), "0 * input"),
    weight=Rule(lambda xp, grad, input, weight, attrs: _rule_of_nothing(xp, grad, input, weight, attrs, weight.shape), "0 * weight"),
    bias=Rule(lambda xp, grad, input, weight, bias_shape, attrs: _rule_of_nothing(xp, grad, input, weight, attrs, bias_shape), "0 * bias"),
)
