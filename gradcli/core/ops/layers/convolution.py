"""Convolutions and transposed convolutions in one, two and three dimensions.

Inputs are (batch, channels, *sizes); kernels (out channels, channels / groups, *sizes), for transposed convolutions with
the channels of input and output swapped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule, check_strides
from gradcli.core.kernels import Array, half_to_single, memory_format, windows
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.layers.convolution_checks import (
    by_onednn,
    check_bias,
    check_channels,
    check_complex,
    check_dtypes,
    check_kernel,
    check_kernel_of_bias,
    check_not_empty,
    check_onednn,
    check_output,
    check_rank,
    check_settings,
    check_shapes,
    check_sizes,
    checked_count,
    spread_sizes,
)
from gradcli.core.ops.layers.padding import PAD
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.ops.shape.slicing import select
from gradcli.core.ops.shape.squeeze import squeeze_dim, unsqueeze
from gradcli.core.ops.shape.views import infer_size, reshape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import runtime_error, shape_error


class Settings(NamedTuple):
    """The plain arguments of a convolution."""

    stride: Sizes
    padding: Sizes
    dilation: Sizes
    transposed: bool
    output_padding: Sizes
    groups: int


_ATTRS = " ".join(Settings._fields)


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


def _convolved(x: Array, weight: Array, bias: Array | None, *attrs: Any) -> Array:
    how, dtype, given = _settings(attrs, x.ndim - 2), x.dtype, (x, weight)
    x, weight = map(half_to_single, given)
    if how.transposed:
        sizes = spread_sizes(x.shape[2:], weight.shape[2:], how.stride, how.dilation, how.output_padding)
        out = _cut(windows.spread(x, weight, sizes, how.stride, how.dilation, how.groups), how.padding)
    else:
        out = windows.correlate(windows.padded(x, how.padding), weight, how.stride, how.dilation, how.groups)
    if bias is not None:
        out += bias.reshape(-1, *(1 for _ in how.stride))
    return _laid_out(out.astype(dtype, copy=False), *given, how)


def _input_gradient(grad: Array, x: Array, weight: Array, *attrs: Any) -> Array:
    how, dtype, given = _settings(attrs, grad.ndim - 2), grad.dtype, (x, weight)
    grad, weight = half_to_single(grad), half_to_single(weight)
    if how.transposed:
        whole = windows.correlate(windows.padded(grad, how.padding), weight, how.stride, how.dilation, how.groups)
        out = memory_format.contiguous(whole[windows.inside((0,) * len(how.stride), x.shape[2:])])
    else:
        sizes = tuple(n + 2 * p for n, p in zip(x.shape[2:], how.padding, strict=True))
        out = _cut(windows.spread(grad, weight, sizes, how.stride, how.dilation, how.groups), how.padding)
    return _laid_out(np.asarray(out.astype(dtype, copy=False)), *given, how)


def _weight_gradient(grad: Array, x: Array, weight: Array, *attrs: Any) -> Array:
    how, dtype = _settings(attrs, grad.ndim - 2), grad.dtype
    first = x
    grad, x = half_to_single(grad), half_to_single(x)
    if how.transposed:
        grad, x = x, grad
    made = windows.weigh(grad, windows.padded(x, how.padding), weight.shape[2:], how.stride, how.dilation, how.groups)
    made = made.astype(dtype, copy=False)
    # PyTorch's own code, which is not that for float32, looks at the weight alone where that has its channels last at once;
    # that for dilated kernels does not
    dilated = max(how.dilation) > 1 and not how.transposed
    if dtype != np.float32 and not dilated and weight.ndim < 5 and memory_format.is_channels_last(weight):
        made, first = memory_format.contiguous(made), weight
    return _laid_out(made, first, weight, how)


def _bias_gradient(grad: Array, x: Array, weight: Array) -> Array:
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
    check_not_empty((*grad_output.shape[1::-1], *grad_output.shape[2:]))
    return xp.call(WEIGHT_GRADIENT, grad_output, grad, weight, *attrs)


def _convolution_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, _: Any) -> Any:
    """The bias moves with the weight, as in PyTorch."""
    (x, weight, _), (dx, dw, db) = inputs, tangents
    of_input = None if dx is None else xp.call(CONVOLUTION, dx, weight, None, *attrs)
    if dw is None and db is None:
        return of_input
    of_weight = xp.call(CONVOLUTION, x, xp.zeros_like(weight) if dw is None else dw, db, *attrs)
    return of_weight if of_input is None else of_input + of_weight


_AGAIN = "convolution({}, {}, None, stride, padding, dilation, transposed, output_padding, groups)"
CONVOLUTION: Op = Op(
    "ConvolutionBackward0",
    _convolved,
    "input weight bias",
    _ATTRS,
    saved="input weight bias_sym_sizes_opt=? dilation groups output_padding padding stride transposed",
    jvp=_convolution_jvp,
    input=Rule(
        lambda xp, grad, input, weight, attrs: xp.call(INPUT_GRADIENT, grad, input, weight, *attrs), _TO_INPUT.format("grad", "weight")
    ),
    weight=Rule(
        lambda xp, grad, input, weight, attrs: xp.call(WEIGHT_GRADIENT, grad, input, weight, *attrs), _TO_WEIGHT.format("grad", "input")
    ),
    bias=Rule(lambda xp, grad, input, weight: xp.call(BIAS_GRADIENT, grad, input, weight), "grad.sum([0, *range(2, grad.dim())])"),
)
INPUT_GRADIENT: Op = Op(
    "ConvolutionBackwardBackward0",
    _input_gradient,
    "grad_output input weight",
    _ATTRS,
    saved=f"grad_output input weight {_ATTRS}",
    grad_output=Rule(lambda xp, grad, weight, attrs: xp.call(CONVOLUTION, grad, weight, None, *attrs), _AGAIN.format("grad", "weight")),
    input=Rule(_no_gradient, "0 * input"),
    weight=Rule(_double_weight_rule, _TO_WEIGHT.format("grad_output", "grad")),
)
WEIGHT_GRADIENT: Op = Op(
    "ConvolutionBackwardBackward0",
    _weight_gradient,
    "grad_output input weight",
    _ATTRS,
    saved=f"grad_output input weight {_ATTRS}",
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
    saved="grad_output input weight dilation=? groups=? output_padding=? padding=? stride=? transposed=?",
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
    return xp.call(_GRADIENT_OF_NOTHING, grad, input, weight, *attrs[:-1], shape)


#: of no images or no channels
CONVOLUTION_OF_NOTHING = Op(
    "ConvolutionBackward0",
    lambda x, weight, bias, *attrs: np.zeros(attrs[-1], x.dtype),
    "input weight bias",
    f"{_ATTRS} shape",
    saved="input weight bias_sym_sizes_opt=? dilation groups output_padding padding stride transposed",
    input=Rule(lambda xp, grad, input, weight, attrs: _rule_of_nothing(xp, grad, input, weight, attrs, input.shape), "0 * input"),
    weight=Rule(lambda xp, grad, input, weight, attrs: _rule_of_nothing(xp, grad, input, weight, attrs, weight.shape), "0 * weight"),
    bias=Rule(lambda xp, grad, input, weight, bias_shape, attrs: _rule_of_nothing(xp, grad, input, weight, attrs, bias_shape), "0 * bias"),
)


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Any:
    """`torch.convolution`: any convolution of a batch. Raises RuntimeError for shapes, numbers or dtypes that do not fit."""
    rank = weight.array.ndim - 2
    if rank <= 0:
        raise shape_error("weight should have at least three dimensions")
    if groups <= 0:
        raise runtime_error("non-positive groups is not supported")
    given = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": output_padding}
    steps, border, gaps, extra = (checked_count(name, value, rank) for name, value in given.items())
    check_settings(steps, border, gaps, extra, groups)
    check_shapes(input, weight, bias, transposed, groups)
    sizes, kernel = input.array.shape[2:], weight.array.shape[2:]
    if not transposed:
        check_sizes(sizes, kernel, border, gaps)
    shape = output_shape(input, weight, Settings(steps, border, gaps, transposed, extra, groups))
    if 0 in input.array.shape[:2]:
        factor = select(reshape(weight, (-1,)), 0, 0) if input.array.shape[1] else weight
        input = to_dtype(input, dtypes.result_type((input, factor)))
        attrs = (stride, padding, dilation, transposed, output_padding, groups)
        check_strides(shape)
        return CONVOLUTION_OF_NOTHING(input, weight, bias, *attrs, infer_size(shape, 0))
    check_not_empty(input.array.shape)
    if by_onednn(input, weight, steps, gaps, transposed, extra, groups):
        check_onednn(input, weight, gaps, transposed, shape[2:])
    else:
        check_kernel(kernel, gaps, transposed)
        if transposed:
            check_channels(weight)
            check_output(sizes, shape[2:], steps, gaps, extra)
        check_dtypes(input, weight, transposed, gaps)
    check_kernel_of_bias(input, bias, transposed)
    return CONVOLUTION(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def output_shape(input: Tensor, weight: Tensor, how: Settings) -> tuple[int, ...]:
    """The shape of the result; sizes may be negative. Without channels in the input it has none, too."""
    sizes, kernel = input.array.shape[2:], weight.array.shape[2:]
    if how.transposed:
        whole = spread_sizes(sizes, kernel, how.stride, how.dilation, how.output_padding)
        made, channels = [n - 2 * p for n, p in zip(whole, how.padding, strict=True)], weight.array.shape[1] * how.groups
    else:
        each = zip(sizes, kernel, how.stride, how.padding, how.dilation, strict=True)
        made, channels = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in each], weight.array.shape[0]
    return input.array.shape[0], channels if input.array.shape[1] else 0, *made


def _expanded(value: Any, rank: int) -> Sizes:
    """The numbers of an argument; a number that is in no list stands for all dimensions."""
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _batched(name: str, input: Tensor, rank: int) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether this was added. Raises RuntimeError for other ranks."""
    if input.array.ndim == rank + 2:
        return input, False
    if input.array.ndim != rank + 1:
        text = (
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size: {list(input.array.shape)}"
        )
        raise shape_error(text)
    return unsqueeze(input, 0), True


def _same(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, dilation: Sizes, groups: int) -> Any:
    """A convolution with padding="same"; where the padding is odd, the end gets one element more."""
    rank = weight.array.ndim - 2
    if rank <= 0:
        raise shape_error("weight should have at least three dimensions")
    check_rank(input, weight, "")
    for name, value in (("stride", stride), ("dilation", dilation)):
        if len(value) not in (1, rank):
            raise shape_error(f"{name} cannot broadcast to {rank} dimensions")
    if any(s != 1 for s in stride):
        raise runtime_error("padding='same' is not supported for strided convolutions")
    gaps = dilation * rank if len(dilation) == 1 else dilation
    whole = [d * (k - 1) for d, k in zip(gaps, weight.array.shape[2:], strict=True)]
    if any(n % 2 for n in whole):
        warnings.emit(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be created "
            "(Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/Convolution.cpp:1101.)",
            once="same padding",
        )
        sizes = [n + w % 2 for n, w in zip(input.array.shape[2:], whole, strict=False)]
        limits.check_elements(math.prod(input.array.shape[:2]) * math.prod(sizes), input.dtype.itemsize)
        input = PAD(input, tuple(end for n in reversed(whole) for end in (0, n % 2)), 0)
    return convolution(input, weight, bias, stride, tuple(n // 2 for n in whole), dilation, False, (0,) * rank, groups)


def _plain(rank: int) -> Callable[..., Any]:
    name = f"conv{rank}d"

    def run(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        if not isinstance(padding, str):
            check_bias(input, bias)
        x, added = _batched(name, input, rank)
        check_complex(x, weight, bias)
        stride, dilation = _expanded(stride, rank), _expanded(dilation, rank)
        if padding == "same":
            out = _same(x, weight, bias, stride, dilation, groups)
        elif isinstance(padding, str) and padding != "valid":
            raise runtime_error(f"Invalid padding string: '{formatted(padding)}'")
        else:
            around = (0,) if padding == "valid" else _expanded(padding, rank)
            out = convolution(x, weight, bias, stride, around, dilation, False, (0,) * (1 if padding == "valid" else rank), groups)
        return squeeze_dim(out, 0) if added else out

    return run


def _transposed(rank: int) -> Callable[..., Any]:
    name = f"conv_transpose{rank}d"

    def run(
        input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
    ) -> Any:
        x, added = _batched(name, input, rank)
        check_complex(x, weight, bias)
        stride, padding, output_padding, dilation = (_expanded(value, rank) for value in (stride, padding, output_padding, dilation))
        out = convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups)
        return squeeze_dim(out, 0) if added else out

    return run


_X1, _W1 = [[[0.5, -1.0, 2.0, 0.3, -0.7]]], [[[0.1, -0.2]], [[0.4, 0.5]]]
_X2 = [[[[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-0.3, 0.8, 0.6]], [[0.2, 0.1, -0.4], [0.9, -1.1, 0.7], [0.3, -0.6, 1.2]]]]
_W2 = [[[[0.1, -0.2], [0.3, 0.4]]], [[[-0.5, 0.6], [0.7, -0.8]]]]
_START = "Tensor input, Tensor weight, Tensor? bias=None, ints{0} stride=1, "
_WHOLE = f"{_START}ints{{0}} padding=0, ints{{0}} dilation=1, int groups=1"
_NAMED = f'{_START}str padding="valid", ints{{0}} dilation=1, int groups=1'
_TRANSPOSED = f"{_START}ints{{0}} padding=0, ints{{0}} output_padding=0, int groups=1, ints{{0}} dilation=1"
_OPS = (CONVOLUTION, CONVOLUTION_OF_NOTHING, INPUT_GRADIENT, WEIGHT_GRADIENT, BIAS_GRADIENT)


def _declared(rank: int, samples: tuple[Sample, ...], transposed: tuple[Sample, ...]) -> tuple[Function, Function]:
    run = _plain(rank)
    shared: dict[str, Any] = {"ops": _OPS, "method": False}
    return (
        Function(
            f"conv{rank}d",
            (_WHOLE.format(rank), run),
            (_NAMED.format(rank), run),
            doc="Products of a kernel with all windows of the input.",
            samples=samples,
            aliases=(f"nn.functional.conv{rank}d",),
            **shared,
        ),
        Function(
            f"conv_transpose{rank}d",
            (_TRANSPOSED.format(rank), _transposed(rank)),
            doc="Copies of a kernel times each element, added up: what a convolution's gradient does.",
            samples=transposed,
            aliases=(f"nn.functional.conv_transpose{rank}d",),
            **shared,
        ),
    )


FUNCTIONS: tuple[Function, ...] = (
    *_declared(
        1,
        (
            Sample("F.conv1d(x, w, b, stride=2, padding=1)", None, x=_X1, w=_W1, b=[0.5, -1.0]),
            Sample("F.conv1d(x, w, padding='same', dilation=2)", None, x=_X1, w=_W1),
            Sample("F.conv1d(x, w)", None, x=_X1[0], w=_W1),
        ),
        (Sample("F.conv_transpose1d(x, w, b, stride=3, padding=1, output_padding=2)", None, x=_X1, w=[_W1[0]], b=[0.5]),),
    ),
    *_declared(
        2,
        (
            Sample("F.conv2d(x, w, b, groups=2)", None, x=_X2, w=_W2, b=[0.5, -1.0]),
            Sample("F.conv2d(x, w, stride=(2, 1), padding=(0, 2), dilation=(1, 2), groups=2)", None, x=_X2, w=_W2),
        ),
        (Sample("F.conv_transpose2d(x, w, b, 2, 1, 1, 2)", None, x=_X2, w=_W2, b=[0.5, -1.0]),),
    ),
    *_declared(
        3,
        (Sample("F.conv3d(x, w)", None, x=[[_X2[0]]], w=[[_W2[0]]]),),
        (Sample("F.conv_transpose3d(x, w)", None, x=[[_X2[0]]], w=[[_W2[0]]]),),
    ),
    Function(
        "convolution",
        (
            "Tensor input, Tensor weight, Tensor? bias, ints stride, ints padding, ints dilation, bool transposed, ints output_padding, "
            "int groups",
            convolution,
        ),
        doc="Any of the convolutions.",
        ops=_OPS,
        method=False,
    ),
)
