"""Windows of images as columns (unfold), and the sum of such windows (fold).

Images are (channels, height, width), columns (channels * elements of a window, windows), with or without a batch dimension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.functions.python_function import kernel as kernel_function
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format, windows
from gradcli.core.ops.checks import require_floating
from gradcli.core.ops.checks import size as dimension
from gradcli.core.ops.operators import iterate
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error

Pair = tuple[int, int]


def pair(value: Any, times: int = 2) -> tuple[Any, ...]:
    """What can be iterated as a tuple, anything else so many times, as torch.nn's `_pair` and `_triple`."""
    if type(value) is Tensor:
        return tuple(iterate(value))
    try:
        return tuple(value)
    except TypeError:
        return (value,) * times


def _pairs(**sizes: tuple[int, ...]) -> list[Pair]:
    """Raise RuntimeError for sizes that are not two numbers."""
    for name, pair in sizes.items():
        if len(pair) != 2:
            raise runtime_error(f"It is expected {name} equals to 2, but got size {len(pair)}")
    return list(sizes.values())  # type: ignore[arg-type]


def _columns(x: Array, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Array:
    batched = x if x.ndim == 4 else x[None]
    found = windows.view(windows.padded(batched, padding), kernel, stride, dilation)
    n, channels, rows, columns = found.shape[:4]
    made = found.transpose(0, 1, 4, 5, 2, 3).reshape(n, channels * math.prod(kernel), rows * columns)
    return made if x.ndim == 4 else made[0]


def _images(columns: Array, output_size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Array:
    batched = columns if columns.ndim == 3 else columns[None]
    n, channels = batched.shape[0], batched.shape[1] // math.prod(kernel)
    sizes = tuple(size + 2 * p for size, p in zip(output_size, padding, strict=True))
    limits.check_elements(max(n * channels, 1) * math.prod(sizes), columns.itemsize)
    out = np.zeros((n, channels, *sizes), columns.dtype)
    found = windows.view(out, kernel, stride, dilation, True)
    if found.size:
        values = batched.reshape(n, channels, *kernel, *found.shape[2:4]).transpose(0, 1, 4, 5, 2, 3)
        windows.add_windows(found, values, 2)
    made = memory_format.contiguous(out[windows.inside(padding, output_size)])
    return made if columns.ndim == 3 else made[0]


IM2COL: Op = Op(
    "Im2ColBackward0",
    _columns,
    "input",
    "kernel_size dilation padding stride",
    layout="contiguous",
    saved="dilation kernel_size padding self_sym_argsize_minus_1 self_sym_argsize_minus_2 stride",
    input=Rule(
        lambda xp, grad, input_shape, attrs: xp.call(COL2IM, grad, tuple(input_shape[-2:]), *attrs),
        "F.fold(grad, input.shape[-2:], kernel_size, dilation, padding, stride)",
    ),
    complex=True,
)
COL2IM: Op = Op(
    "Col2ImBackward0",
    _images,
    "input",
    "output_size kernel_size dilation padding stride",
    saved="dilation kernel_size padding stride",
    input=Rule(lambda xp, grad, attrs: xp.call(IM2COL, grad, *attrs[1:]), "F.unfold(grad, kernel_size, dilation, padding, stride)"),
    complex=True,
)


def _check_windows(kernel: Pair, dilation: Pair, padding: Pair, stride: Pair, stride_first: bool = False) -> None:
    """Raise RuntimeError for sizes that are not positive and for a negative padding."""
    for name, text, pair, least in (
        ("kernel size", "kernel", kernel, 1),
        *((("stride", "stride", stride, 1),) if stride_first else ()),
        ("dilation", "dilation", dilation, 1),
        ("padding", "pad", padding, 0),
        ("stride", "stride", stride, 1),
    ):
        if min(pair) < least:
            what = "greater than zero" if least else "non-negative"
            raise runtime_error(f"{name} should be {what}, but got {text}_height: {pair[0]} {text}_width: {pair[1]}")


def _check_dtype(kernel: str, input: Tensor) -> None:
    """Raise NotImplementedError for whole numbers, which PyTorch's kernels do not have; they have bool and complex numbers."""
    if input.dtype is not dtypes.bool_ and not input.dtype.is_complex:
        require_floating(kernel, input.dtype)


def _blocks(sizes: Sequence[int], kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> tuple[int, ...]:
    """The number of windows along both dimensions."""
    return windows.positions([n + 2 * p for n, p in zip(sizes, padding, strict=True)], kernel, stride, dilation)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """All windows of images, each as a column. Raises RuntimeError for sizes that do not fit."""
    return _IM2COL(input, *map(pair, (kernel_size, dilation, padding, stride)))


def _im2col(
    input: Tensor, kernel_size: tuple[int, ...], dilation: tuple[int, ...], padding: tuple[int, ...], stride: tuple[int, ...]
) -> Any:
    if input.requires_grad and state.enabled:  # PyTorch notes these sizes before it looks at anything
        for at in (-1, -2):
            dimension(input, at)
    kernel, gaps, border, step = _pairs(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    _check_windows(kernel, gaps, border, step)
    shape = input.array.shape
    if dimension(input, 1):
        dimension(input, 2)
    if len(shape) not in (3, 4) or 0 in shape[len(shape) - 3 :]:
        raise shape_error(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(shape)}",
        )
    found = _blocks(shape[-2:], kernel, gaps, border, step)
    if min(found) < 1:
        raise shape_error(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={kernel}, dilation={gaps}, padding={border}, calculated shape "
            f"of the array of sliding blocks as {found}, but its components must be at least one.",
        )
    _check_dtype("im2col_out_cpu", input)
    limits.check_elements(math.prod(shape[:-2]) * math.prod(kernel) * math.prod(found), input.dtype.itemsize)
    return IM2COL(input, kernel, gaps, border, step)


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns added up as windows of images of `output_size`. Raises RuntimeError for sizes that do not fit."""
    return _COL2IM(input, *map(pair, (output_size, kernel_size, dilation, padding, stride)))


def _col2im(
    input: Tensor,
    output_size: tuple[int, ...],
    kernel_size: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: tuple[int, ...],
    stride: tuple[int, ...],
) -> Any:
    size, kernel, gaps, border, step = _pairs(
        output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    _check_windows(kernel, gaps, border, step, stride_first=True)
    shape = input.array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise shape_error(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(shape)}",
        )
    rank = len(shape) - 2
    if shape[rank] % math.prod(kernel):
        raise shape_error(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)={shape[rank]} and "
            f"kernel_size={kernel}.",
        )
    found = _blocks(size, kernel, gaps, border, step)
    if shape[rank + 1] != math.prod(found):
        raise shape_error(
            f"Given output_size={size}, kernel_size={kernel}, dilation={gaps}, padding={border}, stride={step}, expected size of input's "
            f"dimension 2 to match the calculated number of sliding blocks {found[0]} * {found[1]} = {math.prod(found)}, but got "
            f"input.size(2)={shape[rank + 1]}.",
        )
    if min(found) < 1:
        raise shape_error(
            f"Given output_size={size}, kernel_size={kernel}, dilation={gaps}, padding={border}, stride={step}, calculated shape of the "
            f"array of sliding blocks as {found}, which is too small (non-positive)",
        )
    _check_dtype("col2im_out_cpu", input)
    return COL2IM(input, size, kernel, gaps, border, step)


_WINDOWS = "ints kernel_size, ints dilation, ints padding, ints stride"
_IM2COL = kernel_function("im2col", f"Tensor input, {_WINDOWS}", _im2col)
_COL2IM = kernel_function("col2im", f"Tensor input, ints output_size, {_WINDOWS}", _col2im)
_IMAGE = [[[[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-0.3, 0.8, 0.6]]]]


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        unfold,
        "unfold",
        "All windows of images, each as a column.",
        unchecked=True,
        ops=(IM2COL,),
        samples=(Sample("F.unfold(x, 2)", None, x=_IMAGE), Sample("F.unfold(x, (2, 1), 1, 1, 2)", None, x=_IMAGE[0])),
    ),
    PythonFunction(
        fold,
        "fold",
        "Columns added up as windows of images.",
        unchecked=True,
        ops=(COL2IM,),
        samples=(Sample("F.fold(x, (2, 3), (1, 2))", None, x=[[[0.5, -1.0, 2.0, 1.0], [1.5, 0.25, -0.5, 0.3]]]),),
    ),
)
