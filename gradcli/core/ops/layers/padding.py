"""Borders around the last dimensions: constant, reflected, replicated or circular.

`padding` has two numbers for each dimension, before and after, and begins with the last dimension; negative numbers cut off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.in_place import copy_
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format, resampling
from gradcli.core.kernels.resampling import Taps
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.index.adding import added_in_half
from gradcli.core.ops.layers.pooling.checks import of_format
from gradcli.core.ops.layers.samples import ROWS, SQUARE
from gradcli.core.ops.layers.transposes import Pair, linear_pair
from gradcli.core.ops.shape.slicing import narrow
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error

# --- a constant ---


def _pad(x: Array, pad: Sizes, value: Any) -> Array:
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    around = [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    cut = tuple(slice(max(-before, 0), size - max(-after, 0)) for size, (before, after) in zip(x.shape, around, strict=True))
    if all(n <= 0 for n in pad):
        return memory_format.copy(memory_format.spelled_out(x)[cut])
    added = [(max(before, 0), max(after, 0)) for before, after in around]
    return memory_format.of_images(memory_format.contiguous(np.pad(x[cut], added, constant_values=value)), x)


PAD: Op = Op(
    "ConstantPadNdBackward0",
    _pad,
    "input",
    "pad value",
    saved="pad",
    jvp="transpose",
    input=Rule(lambda xp, grad, pad: xp.call(PAD, grad, tuple(-n for n in pad), 0), "F.pad(grad, [-n for n in pad])"),
    complex=True,
)


# --- reflected or replicated ---


def _border(name: str, mode: str, along: Callable[[int, int, int], Taps], rank: int) -> Pair:
    """The records of a border around `rank` dimensions; `along` is the map of one dimension."""

    def taps(x: Array, padding: Sizes) -> list[Taps]:
        pairs = zip(padding[::2], padding[1::2], strict=True)
        return [along(size, *pair) for size, pair in zip(x.shape[x.ndim - rank :], reversed(list(pairs)), strict=True)]

    def forward(x: Array, padding: Sizes) -> Array:
        return memory_format.of_images(memory_format.contiguous(resampling.apply(x, taps(x, padding))), x)

    def backward(grad: Array, x: Array, padding: Sizes) -> Array:
        made = resampling.transposed(grad, taps(x, padding), x.shape[x.ndim - rank :])
        return memory_format.of_images(memory_format.contiguous(made), x)

    def backward_in_half(dtype: DType, grad: Array, x: Array, padding: Sizes) -> Array:
        places = resampling.apply(np.arange(x.size).reshape(x.shape), taps(x, padding))
        return memory_format.of_images(added_in_half(x.shape, places, grad, dtype), x)

    call = f"F.pad({{}}, padding, '{mode}')"
    return linear_pair(f"{name}Pad{rank}D", forward, backward, "padding", call, rank, complex=True, in_half=backward_in_half)


REFLECT = {rank: _border("Reflection", "reflect", resampling.reflected, rank) for rank in (1, 2, 3)}
REPLICATE = {rank: _border("Replication", "replicate", resampling.repeated, rank) for rank in (1, 2, 3)}


def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """`F.pad`. Raises RuntimeError, TypeError or NotImplementedError for numbers, modes and ranks that do not fit."""
    return _PAD(input, pad, mode, value)


def _padded(input: Tensor, sizes: Sizes, mode: str, value: Any) -> Any:
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise ProgramError("NotImplementedError", f"Unrecognised padding mode {formatted(mode)}")
    if len(sizes) % 2:
        raise runtime_error("Padding length must be divisible by 2")
    rank = input.array.ndim
    if len(sizes) > 2 * rank:
        raise shape_error(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(sizes)} and input of dimension {rank}",
        )
    if mode == "constant":
        return _constant(input, sizes, 0 if value is None else value)
    if value is not None and value != 0:
        raise runtime_error(f'Padding mode "{mode}" doesn\'t take in value argument')
    if (len(sizes), rank) not in ((2, 2), (2, 3), (4, 3), (4, 4), (6, 4), (6, 5)):
        raise shape_error(
            f"Padding size {len(sizes)} is not supported for {rank}D input tensor.\nSupported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
            "NotImplementedError",
        )
    limits.check_elements(_count(input, sizes), input.dtype.itemsize)
    return _circular(input, sizes) if mode == "circular" else _repeating(input, sizes, mode)


_PAD = kernel("pad", "Tensor input, ints pad, str mode='constant', float? value=None", _padded)


def _count(input: Tensor, sizes: Sizes) -> int:
    """The number of elements of the result, where an empty dimension counts as 1."""
    shape = list(input.array.shape)
    for i, (before, after) in enumerate(zip(sizes[::2], sizes[1::2], strict=True)):
        shape[-1 - i] += before + after
    return math.prod(max(n, 1) for n in shape)


def _constant(input: Tensor, sizes: Sizes, value: Any) -> Any:
    for i, (before, after) in enumerate(zip(sizes[::2], sizes[1::2], strict=True)):
        if input.array.shape[-1 - i] + min(before, 0) + min(after, 0) < 0:
            raise runtime_error("narrow(): length must be non-negative.")
    limits.check_elements(_count(input, sizes), input.dtype.itemsize)
    if any(n > 0 for n in sizes) and type(value) is not Tensor:
        value = scalar_of(value, input.dtype)
    return PAD(input, sizes, value)


def _repeating(input: Tensor, sizes: Sizes, mode: str) -> Any:
    """A border that repeats the input: reflected or replicated."""
    shape, count = input.array.shape, len(sizes) // 2
    if 0 in shape[-count - 1 :]:
        raise shape_error(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(shape)}",
        )
    for i in range(count):
        pair = sizes[2 * i : 2 * i + 2]
        at = len(shape) - 1 - i
        if mode == "reflect" and max(pair) >= shape[at]:
            raise shape_error(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, but got: padding {pair} at "
                f"dimension {at} of input {list(shape)}",
            )
        if shape[at] + sum(pair) < (1 if count == 1 else 0):
            axis = "WHD"[i]
            raise runtime_error(f"input ({axis}: {shape[at]}) is too small. Calculated output {axis}: {shape[at] + sum(pair)}")
    if input.dtype is dtypes.bool_:
        raise not_implemented(of_format(f"{'reflection' if mode == 'reflect' else 'replication'}_pad{count}d", input), input.dtype)
    return (REFLECT if mode == "reflect" else REPLICATE)[count].forward(input, sizes)


def _part(x: Tensor, dim: int, start: int, end: int) -> Tensor:
    return narrow(x, dim, start, end - start)


def _circular(input: Tensor, sizes: Sizes) -> Any:
    """A circular border by PyTorch's steps: the input is copied into the middle, then each end from the other, dimension by dimension."""
    if input.batch is not None:
        input.batch.need_samples()  # the tensor that is written into is new, and not batched
    shape, made = input.array.shape, list(input.array.shape)
    axes = [(len(shape) - 1 - i, sizes[2 * i], sizes[2 * i + 1]) for i in range(len(sizes) // 2)]
    for at, before, after in axes:
        if before > shape[at] or after > shape[at]:
            raise runtime_error("Padding value causes wrapping around more than once.")
        if before + after + shape[at] < 0:
            raise shape_error("Negative padding value is resulting in an empty dimension")
        made[at] += before + after
    out = Tensor(np.zeros(made, input.dtype.np), input.dtype)
    middle, own = out, input
    for at, before, after in axes:
        middle = _part(middle, at, max(before, 0), made[at] - max(after, 0))
        own = _part(own, at, max(-before, 0), shape[at] - max(-after, 0))
    copy_(middle, own)
    for at, before, after in axes:
        end = made[at] - max(after, 0)
        if before > 0:
            copy_(_part(out, at, 0, before), _part(out, at, end - before, end))
        if after > 0:
            start = max(before, 0)
            copy_(_part(out, at, made[at] - after, made[at]), _part(out, at, start, start + after))
    return out


def _numpy(x: Array, mode: str) -> Array:
    """The reference of the samples."""
    return np.pad(x, ((0, 0), (1, 2)), mode)  # type: ignore[call-overload, no-any-return]


def _constant_pad_nd(input: Tensor, padding: Sizes, value: Any) -> Any:
    if len(padding) % 2:
        raise runtime_error(f"Length of pad must be even but instead it equals {len(padding)}")
    rank = input.array.ndim
    if len(padding) > 2 * rank:
        raise shape_error(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(padding)}while the "
            f"input has {rank}dimensions."
        )
    return _padded(input, padding, "constant", value)


_RECORDS = [op for pairs in (REFLECT, REPLICATE) for pair in pairs.values() for op in pair]


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        pad,
        "pad",
        "A border around the last dimensions, or rows and columns cut off.",
        unchecked=True,
        ops=(PAD, *_RECORDS),
        samples=(
            Sample("F.pad(x, (1, 2))", lambda x: _numpy(x, "constant"), x=ROWS),
            Sample("F.pad(x, (-1, 0, 0, 1), value=2.)", None, x=ROWS),
            Sample("F.pad(x, (1, 2), 'reflect')", lambda x: _numpy(x, "reflect"), x=ROWS),
            Sample("F.pad(x, (1, 2), 'replicate')", lambda x: _numpy(x, "edge"), x=ROWS),
            Sample("F.pad(x, (1, 2), 'circular')", lambda x: _numpy(x, "wrap"), x=ROWS),
            Sample("F.pad(x, (2, 1, 1, -1), 'reflect')", None, x=[ROWS]),
            Sample("F.pad(x, (2, 1, 3, -1), 'replicate')", None, x=[ROWS]),
            Sample("F.pad(x, (2, 1, 1, 1, 0, 0), 'reflect')", None, x=[[ROWS]]),
            Sample("F.pad(x, (2, 1, 0, 1, 1, 0), 'replicate')", None, x=[[ROWS]]),
        ),
    ),
    Function(
        "constant_pad_nd",
        ("Tensor input, ints pad, Number value=0", _constant_pad_nd),
        doc="A value around, or with negative numbers less of the tensor.",
        samples=(Sample("torch.constant_pad_nd(x, (1, 0), 2.)", lambda x: np.pad(x, ((0, 0), (1, 0)), constant_values=2), x=SQUARE),),
        method=False,
    ),
)
