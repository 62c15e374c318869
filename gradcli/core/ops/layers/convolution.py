"""Convolutions and transposed convolutions in one, two and three dimensions.

Inputs are (batch, channels, *sizes); kernels (out channels, channels / groups, *sizes), for transposed convolutions with
the channels of input and output swapped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import check_strides
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.elementwise.add_multiply import MUL_NUMBER, add, sub
from gradcli.core.ops.elementwise.complex_numbers import VIEW_AS_REAL
from gradcli.core.ops.layers import convolution_checks
from gradcli.core.ops.layers.convolution_records import (
    BIAS_GRADIENT,
    CONVOLUTION,
    CONVOLUTION_OF_NOTHING,
    INPUT_GRADIENT,
    WEIGHT_GRADIENT,
    Settings,
    bias_sizes,
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
    steps, border, gaps, extra = (convolution_checks.checked_count(name, value, rank) for name, value in given.items())
    convolution_checks.check_settings(steps, border, gaps, extra, groups)
    convolution_checks.check_shapes(input, weight, bias, transposed, groups)
    sizes, kernel = input.array.shape[2:], weight.array.shape[2:]
    if not transposed:
        convolution_checks.check_sizes(sizes, kernel, border, gaps)
    shape = output_shape(input, weight, Settings(steps, border, gaps, transposed, extra, groups))
    if 0 in input.array.shape[:2]:
        factor = select(reshape(weight, (-1,)), 0, 0) if input.array.shape[1] else weight
        input = to_dtype(input, dtypes.result_type((input, factor)))
        attrs = (stride, padding, dilation, transposed, output_padding, groups)
        check_strides(shape)
        return CONVOLUTION_OF_NOTHING(input, weight, bias, bias_sizes(bias), *attrs, infer_size(shape, 0))
    convolution_checks.check_not_empty(input.array.shape)
    if convolution_checks.by_onednn(input, weight, steps, gaps, transposed, extra, groups):
        convolution_checks.check_onednn(input, weight, gaps, transposed, shape[2:])
    else:
        convolution_checks.check_kernel(kernel, gaps, transposed)
        if transposed:
            convolution_checks.check_channels(weight)
            convolution_checks.check_output(sizes, shape[2:], steps, gaps, extra)
        convolution_checks.check_dtypes(input, weight, transposed, gaps)
    convolution_checks.check_kernel_of_bias(input, bias, transposed)
    return CONVOLUTION(input, weight, bias, bias_sizes(bias), stride, padding, dilation, transposed, output_padding, groups)


def output_shape(input: Tensor, weight: Tensor, how: Settings) -> tuple[int, ...]:
    """The shape of the result; sizes may be negative. Without channels in the input it has none, too."""
    sizes, kernel = input.array.shape[2:], weight.array.shape[2:]
    if how.transposed:
        whole = convolution_checks.spread_sizes(sizes, kernel, how.stride, how.dilation, how.output_padding)
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
    convolution_checks.check_rank(input, weight, "")
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


def _of_parts(run: Callable[..., Any], input: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """A convolution, of complex numbers by three of their parts, as PyTorch has them: `run` takes the three operands."""
    if not input.dtype.is_complex:
        return run(input, weight, bias)
    (x, y), (w, v) = _parts(input), _parts(weight)
    b = None if bias is None else _parts(bias)
    real, imaginary = run(x, w, b and b[0]), run(y, v, None)
    both = run(add(x, y), add(w, v), b and add(*b))
    return add(sub(real, imaginary), MUL_NUMBER(sub(sub(both, real), imaginary), 1j))


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    pairs = VIEW_AS_REAL(x)
    return select(pairs, -1, 0), select(pairs, -1, 1)


def _plain(rank: int) -> Callable[..., Any]:
    name = f"conv{rank}d"

    def run(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        if not isinstance(padding, str):
            convolution_checks.check_bias(input, bias)
        x, added = _batched(name, input, rank)
        convolution_checks.check_complex(x, weight, bias)
        stride, dilation = _expanded(stride, rank), _expanded(dilation, rank)

        def one(x: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
            if padding == "same":
                return _same(x, weight, bias, stride, dilation, groups)
            if isinstance(padding, str) and padding != "valid":
                raise runtime_error(f"Invalid padding string: '{formatted(padding)}'")
            around = (0,) if padding == "valid" else _expanded(padding, rank)
            return convolution(x, weight, bias, stride, around, dilation, False, (0,) * (1 if padding == "valid" else rank), groups)

        out = _of_parts(one, x, weight, bias)
        return squeeze_dim(out, 0) if added else out

    return run


def _transposed(rank: int) -> Callable[..., Any]:
    name = f"conv_transpose{rank}d"

    def run(
        input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
    ) -> Any:
        x, added = _batched(name, input, rank)
        convolution_checks.check_complex(x, weight, bias)
        stride, padding, output_padding, dilation = (_expanded(value, rank) for value in (stride, padding, output_padding, dilation))

        def one(x: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
            return convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups)

        out = _of_parts(one, x, weight, bias)
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
