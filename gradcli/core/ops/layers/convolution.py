"""Convolutions, and their transposes, in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.ops.layers import records
from gradcli.core.ops.layers.convolution_records import BIAS_GRADIENT, CONVOLUTION, INPUT_GRADIENT, WEIGHT_GRADIENT
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

Sizes = tuple[int, ...]


def _expanded(value: Any, rank: int) -> Sizes:
    """One number for each dimension; one alone stands for all."""
    numbers = (value,) if isinstance(value, int) else tuple(value)
    return numbers * rank if len(numbers) == 1 else numbers


def _checked_count(name: str, value: Sizes, rank: int) -> Sizes:
    if len(value) == 1:
        return value * rank
    if len(value) != rank:
        raise runtime_error(
            f"expected {name} to be a single integer value or a list of {rank} values to match the convolution dimensions, but got "
            f"{name}={list(value)}"
        )
    return value


def _times(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def _check_settings(stride: Sizes, padding: Sizes, dilation: Sizes, output_padding: Sizes, groups: int) -> None:
    wrong = {
        "negative padding is not supported": any(n < 0 for n in padding),
        "negative output_padding is not supported": any(n < 0 for n in output_padding),
        "non-positive stride is not supported": any(n <= 0 for n in stride),
        "dilation should be greater than zero": any(n < 0 for n in dilation),
        "non-positive groups is not supported": groups <= 0,
    }
    for text, found in wrong.items():
        if found:
            raise runtime_error(text)


def _check_shapes(input: Tensor, weight: Tensor, bias: Tensor | None, transposed: bool, groups: int) -> None:
    x, w = list(input.array.shape), list(weight.array.shape)
    if len(x) != len(w):
        raise runtime_error(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {w}, but got {len(x)}-dimensional input of size {x} "
            "instead"
        )
    if w[0] < groups:
        raise runtime_error(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {w} instead"
        )
    if w[0] % groups:
        raise runtime_error(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{w}] instead"
        )
    channels = w[0] if transposed else w[1] * groups
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    if x[1] != channels:
        raise runtime_error(
            f"Given {given}, weight of size {w}, expected input{x} to have {channels} channels, but got {x[1]} channels instead"
        )
    made = w[1] * groups if transposed else w[0]
    if bias is not None and bias.array.shape != (made,):
        raise runtime_error(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {w}, expected bias to be 1-dimensional with {made} elements, "
            f"but got bias of size {list(bias.array.shape)} instead"
        )


_C_TYPES = {"Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long int", "Int": "int"}


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    x, w = input.dtype.torch_name, weight.dtype.torch_name
    if bias is not None and bias.dtype is not input.dtype:
        first, second = (_C_TYPES.get(name, name.lower()) for name in (x, bias.dtype.torch_name))
        raise runtime_error(f"Input type ({first}) and bias type ({second}) should be the same")
    if weight.dtype is not input.dtype:
        raise runtime_error(f"expected scalar type {x} but found {w}")
    if input.dtype is dtypes.bool_:
        raise ProgramError("NotImplementedError", "\"slow_conv2d_cpu\" not implemented for 'Bool'")


def _kernel_text(kernel: Sizes) -> str:
    if len(kernel) == 3:
        return f": {_times(kernel)} (TxHxW)"
    height, width = kernel if len(kernel) == 2 else (1, *kernel)
    return f", but got kernel_height: {height} kernel_width: {width}".removeprefix(", but got")


def _check_sizes(sizes: Sizes, kernel: Sizes, padding: Sizes, dilation: Sizes) -> None:
    """That there is a window at all."""
    whole = tuple(n + 2 * p for n, p in zip(sizes, padding, strict=True))
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    if any(r > n for r, n in zip(reach, whole, strict=True)):
        raise runtime_error(
            f"Calculated padded input size per channel: ({_times(whole)}). Kernel size: ({_times(reach)}). Kernel size can't be greater "
            "than actual input size"
        )


def _check_kernel(kernel: Sizes, dilation: Sizes) -> None:
    if 0 in kernel:
        raise runtime_error(f"kernel size should be greater than zero, but got{_kernel_text(kernel)}")
    if 0 in dilation:
        raise runtime_error(f"dilation should be greater than zero, but got {[1, *dilation][-max(len(dilation), 2) :]}")


def _check_output(sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, output_padding: Sizes) -> Sizes:
    """The output sizes of a transposed convolution."""
    if any(extra >= s and extra >= d for extra, s, d in zip(output_padding, stride, dilation, strict=True)):
        named = (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
        words = {1: ("height", "width"), 2: ("height", "width"), 3: ("depth", "height", "width")}[len(kernel)]
        fill = {"output_padding": 0, "stride": 1, "dilation": 1}
        shown = " ".join(f"{n}_{w}: {v}" for n, given in named for w, v in zip(words, (fill[n], *given)[-len(words) :], strict=True))
        raise runtime_error(f"output padding must be smaller than either stride or dilation, but got {shown}")
    made = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + extra + 1
        for n, k, s, p, d, extra in zip(sizes, kernel, stride, padding, dilation, output_padding, strict=True)
    )
    if any(n < 1 for n in made):
        before, after = ((1, *shape)[-max(len(shape), 2) :] for shape in (sizes, made))
        raise runtime_error(
            f"Given input size per channel: ({_times(before)}). Calculated output size per channel: ({_times(after)}). "
            "Output size is too small"
        )
    return made


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
    """All of them, for a batch."""
    rank = weight.array.ndim - 2
    if rank <= 0:
        raise runtime_error("weight should have at least three dimensions")
    given = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": output_padding}
    stride, padding, dilation, output_padding = (_checked_count(name, value, rank) for name, value in given.items())
    _check_settings(stride, padding, dilation, output_padding, groups)
    _check_shapes(input, weight, bias, transposed, groups)
    sizes, kernel = input.array.shape[2:], weight.array.shape[2:]
    if not transposed:
        _check_sizes(sizes, kernel, padding, dilation)
    _check_dtypes(input, weight, bias)
    _check_kernel(kernel, dilation)
    if transposed:
        _check_output(sizes, kernel, stride, padding, dilation, output_padding)
    return CONVOLUTION(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _batched(name: str, input: Tensor, rank: int) -> tuple[Any, bool]:
    """With a batch dimension, and whether that was added."""
    if input.array.ndim == rank + 2:
        return input, False
    if input.array.ndim != rank + 1:
        raise runtime_error(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size: {list(input.array.shape)}"
        )
    return catalog.function("unsqueeze")(input, 0), True


def _same(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, dilation: Sizes, groups: int) -> Any:
    """With padding so that the sizes stay, one more at the end where it is uneven."""
    rank = weight.array.ndim - 2
    if rank <= 0:
        raise runtime_error("weight should have at least three dimensions")
    for name, value in (("stride", stride), ("dilation", dilation)):
        if len(value) not in (1, rank):
            raise runtime_error(f"{name} cannot broadcast to {rank} dimensions")
    if any(s != 1 for s in stride):
        raise runtime_error("padding='same' is not supported for strided convolutions")
    dilation = dilation * rank if len(dilation) == 1 else dilation
    whole = [d * (k - 1) for d, k in zip(dilation, weight.array.shape[2:], strict=True)]
    if any(n % 2 for n in whole):
        warnings.emit(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be created "
            "(Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/Convolution.cpp:1101.)",
            once="same padding",
        )
        sizes = [n + w % 2 for n, w in zip(input.array.shape[2:], whole, strict=False)]
        limits.check_elements(math.prod(input.array.shape[:2]) * math.prod(sizes), input.dtype.itemsize)
        input = records.PAD(input, tuple(end for n in reversed(whole) for end in (0, n % 2)), 0)
    return convolution(input, weight, bias, stride, tuple(n // 2 for n in whole), dilation, False, (0,), groups)


def _forward(rank: int) -> Callable[..., Any]:
    name = f"conv{rank}d"

    def run(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        x, added = _batched(name, input, rank)
        stride, dilation = _expanded(stride, rank), _expanded(dilation, rank)
        if padding == "same":
            out = _same(x, weight, bias, stride, dilation, groups)
        elif isinstance(padding, str) and padding != "valid":
            raise runtime_error(f"Invalid padding string: '{padding}'")
        else:
            around = _expanded(0 if padding == "valid" else padding, rank)
            out = convolution(x, weight, bias, stride, around, dilation, False, (0,), groups)
        return catalog.function("squeeze")(out, 0) if added else out

    return run


def _backward(rank: int) -> Callable[..., Any]:
    name = f"conv_transpose{rank}d"

    def run(
        input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
    ) -> Any:
        x, added = _batched(name, input, rank)
        stride, padding, output_padding, dilation = (_expanded(value, rank) for value in (stride, padding, output_padding, dilation))
        out = convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups)
        return catalog.function("squeeze")(out, 0) if added else out

    return run


_X1, _W1 = [[[0.5, -1.0, 2.0, 0.3, -0.7]]], [[[0.1, -0.2]], [[0.4, 0.5]]]
_X2 = [[[[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-0.3, 0.8, 0.6]], [[0.2, 0.1, -0.4], [0.9, -1.1, 0.7], [0.3, -0.6, 1.2]]]]
_W2 = [[[[0.1, -0.2], [0.3, 0.4]]], [[[-0.5, 0.6], [0.7, -0.8]]]]
_START = "Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, "
_WHOLE = f"{_START}ints1 padding=0, ints1 dilation=1, int groups=1"
_NAMED = f'{_START}str padding="valid", ints1 dilation=1, int groups=1'
_TRANSPOSED = f"{_START}ints1 padding=0, ints1 output_padding=0, int groups=1, ints1 dilation=1"
_OPS = (CONVOLUTION, INPUT_GRADIENT, WEIGHT_GRADIENT, BIAS_GRADIENT)


def _declared(rank: int, samples: tuple[Sample, ...], transposed: tuple[Sample, ...]) -> tuple[Function, Function]:
    run = _forward(rank)
    shared: dict[str, Any] = {"ops": _OPS, "method": False}
    return (
        Function(
            f"conv{rank}d",
            (_WHOLE, run),
            (_NAMED, run),
            doc="Products of a kernel with all windows of the input.",
            samples=samples,
            aliases=(f"nn.functional.conv{rank}d",),
            **shared,
        ),
        Function(
            f"conv_transpose{rank}d",
            (_TRANSPOSED, _backward(rank)),
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
