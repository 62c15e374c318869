"""Borders around the last dimensions: of a constant, mirrored, of copies of the edge, or of the other end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import hooks
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.ops.layers import records
from gradcli.core.ops.layers.resampling_records import REFLECT, REPLICATE
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError, runtime_error

Sizes = tuple[int, ...]


def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Rows and columns added around, or with negative numbers taken away; the last dimension comes first in `pad`."""
    sizes = _numbers(pad)
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise ProgramError("NotImplementedError", f"Unrecognised padding mode {mode}")
    if len(sizes) % 2:
        raise runtime_error("Padding length must be divisible by 2")
    rank = input.array.ndim
    if len(sizes) > 2 * rank:
        raise runtime_error(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(sizes)} and input of dimension {rank}"
        )
    if mode == "constant":
        return _constant(input, sizes, 0 if value is None else value)
    if value is not None and value != 0:
        raise runtime_error(f'Padding mode "{mode}" doesn\'t take in value argument')
    if (len(sizes), rank) not in ((2, 2), (2, 3), (4, 3), (4, 4), (6, 4), (6, 5)):
        raise ProgramError(
            "NotImplementedError",
            f"Padding size {len(sizes)} is not supported for {rank}D input tensor.\nSupported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
        )
    limits.check_elements(_count(input, sizes), input.dtype.itemsize)
    return _circular(input, sizes) if mode == "circular" else _repeating(input, sizes, mode)


def _numbers(pad: Any) -> Sizes:
    if not isinstance(pad, (list, tuple)):
        raise ProgramError("TypeError", f"pad(): argument 'pad' (position 2) must be tuple of ints, not {hooks.type_name(pad)}")
    for at, n in enumerate(pad):
        if type(n) is not int:
            kind = hooks.type_name(n)
            raise ProgramError(
                "TypeError", f"pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type {kind} at pos {at}"
            )
    return tuple(pad)


def _count(input: Tensor, sizes: Sizes) -> int:
    """The elements of the result, at least of one where a dimension is empty."""
    shape = list(input.array.shape)
    for i in range(len(sizes) // 2):
        shape[-1 - i] += sizes[2 * i] + sizes[2 * i + 1]
    return math.prod(max(n, 1) for n in shape)


def _constant(input: Tensor, sizes: Sizes, value: Any) -> Any:
    for at in range(len(sizes) // 2):
        if input.array.shape[-1 - at] + min(sizes[2 * at], 0) + min(sizes[2 * at + 1], 0) < 0:
            raise runtime_error("narrow(): length must be non-negative.")
    limits.check_elements(_count(input, sizes), input.dtype.itemsize)
    return records.PAD(input, sizes, value)


def _repeating(input: Tensor, sizes: Sizes, mode: str) -> Any:
    shape, count = input.array.shape, len(sizes) // 2
    if 0 in shape[-count:] or (len(shape) == count + 2 and shape[1] == 0):
        raise runtime_error(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    for i in range(count):
        pair = sizes[2 * i : 2 * i + 2]
        at = len(shape) - 1 - i
        if mode == "reflect" and max(pair) >= shape[at]:
            raise runtime_error(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, but got: padding {pair} at "
                f"dimension {at} of input {list(shape)}"
            )
        if shape[at] + sum(pair) < (1 if count == 1 else 0):
            axis = "WHD"[i]
            raise runtime_error(f"input ({axis}: {shape[at]}) is too small. Calculated output {axis}: {shape[at] + sum(pair)}")
    if input.dtype.torch_name == "Bool":
        name = "reflection" if mode == "reflect" else "replication"
        raise ProgramError("NotImplementedError", f"\"{name}_pad{count}d\" not implemented for 'Bool'")
    return (REFLECT if mode == "reflect" else REPLICATE)[count].forward(input, sizes)


def _part(x: Any, dim: int, start: int, end: int) -> Any:
    return catalog.function("narrow")(x, dim, start, end - start)


def _copied(to: Any, source: Any) -> None:
    catalog.method("copy_").method(to, (source,), {})


def _circular(input: Tensor, sizes: Sizes) -> Any:
    """PyTorch's steps: the input into the middle, then each end from the other, one dimension after the other."""
    shape, made = input.array.shape, list(input.array.shape)
    axes = [(len(shape) - 1 - i, sizes[2 * i], sizes[2 * i + 1]) for i in range(len(sizes) // 2)]
    for at, before, after in axes:
        if before > shape[at] or after > shape[at]:
            raise runtime_error("Padding value causes wrapping around more than once.")
        if before + after + shape[at] < 0:
            raise runtime_error("Negative padding value is resulting in an empty dimension")
        made[at] += before + after
    out: Any = Tensor(np.zeros(made, input.dtype.np), input.dtype)
    middle, own = out, input
    for at, before, after in axes:
        middle = _part(middle, at, max(before, 0), made[at] - max(after, 0))
        own = _part(own, at, max(-before, 0), shape[at] - max(-after, 0))
    _copied(middle, own)
    for at, before, after in reversed(axes):
        end = made[at] - max(after, 0)
        if before > 0:
            _copied(_part(out, at, 0, before), _part(out, at, end - before, end))
        if after > 0:
            start = max(before, 0)
            _copied(_part(out, at, made[at] - after, made[at]), _part(out, at, start, start + after))
    return out


def _numpy(x: Array, mode: str) -> Array:
    return np.pad(x, ((0, 0), (1, 2)), mode)  # type: ignore[call-overload, no-any-return]


_X = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]
_RECORDS = [op for pairs in (REFLECT, REPLICATE) for pair in pairs.values() for op in pair]
FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        pad,
        "pad",
        "A border around the last dimensions, or rows and columns cut off.",
        checked_as="pad",
        ops=(records.PAD, *_RECORDS),
        samples=(
            Sample("F.pad(x, (1, 2))", lambda x: _numpy(x, "constant"), x=_X),
            Sample("F.pad(x, (-1, 0, 0, 1), value=2.)", None, x=_X),
            Sample("F.pad(x, (1, 2), 'reflect')", lambda x: _numpy(x, "reflect"), x=_X),
            Sample("F.pad(x, (1, 2), 'replicate')", lambda x: _numpy(x, "edge"), x=_X),
            Sample("F.pad(x, (1, 2), 'circular')", lambda x: _numpy(x, "wrap"), x=_X),
            Sample("F.pad(x, (2, 1, 1, -1), 'reflect')", None, x=[_X]),
            Sample("F.pad(x, (2, 1, 3, -1), 'replicate')", None, x=[_X]),
            Sample("F.pad(x, (2, 1, 1, 1, 0, 0), 'reflect')", None, x=[[_X]]),
            Sample("F.pad(x, (2, 1, 0, 1, 1, 0), 'replicate')", None, x=[[_X]]),
        ),
    ),
)
