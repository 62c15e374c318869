"""Fractional max pooling: the largest element of each of so many windows, whose places are random."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import language
from gradcli.core.functions.function import Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.kernels import Array
from gradcli.core.ops.layers.max_pool import pooled, records_of_maxima
from gradcli.core.ops.layers.samples import IMAGE, VOLUME
from gradcli.core.random import generator
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

FRACTIONAL = {rank: records_of_maxima(f"FractionalMaxPool{rank}D", "kernel_size output_size", rank) for rank in (2, 3)}
_LETTERS = {2: ("height", "width"), 3: ("time", "height", "width")}


def _starts(samples: Array, size: int, count: int, kernel: int) -> Array:
    """The first place of each window along a dimension, of shape (planes, count), from a number in [0, 1) for each plane."""
    made = np.full((len(samples), count), size - kernel, np.int64)
    if count > 1:
        step = samples.dtype.type(size - kernel) / samples.dtype.type(count - 1)
        first = (samples * step).astype(np.int64)
        for i in range(count - 1):
            made[:, i] = ((samples.dtype.type(i) + samples) * step).astype(np.int64) - first
    return made


def _places(x: Array, kernel: tuple[int, ...], counts: tuple[int, ...], samples: Array) -> Array:
    """The places of the maxima in the flattened last dimensions; the first of equal ones, or the last nan."""
    rank = len(kernel)
    sizes = x.shape[x.ndim - rank :]
    flat = x.reshape(-1, math.prod(sizes))
    order = range(rank) if rank == 3 else (1, 0)  # of an image PyTorch places the columns first
    numbers = samples.reshape(-1, rank)
    place: Any = 0
    for axis, at in zip(range(rank), order, strict=True):
        starts = _starts(numbers[:, at], sizes[axis], counts[axis], kernel[axis])
        spans = starts[:, :, None] + np.arange(kernel[axis])
        shape = [len(flat), *(1,) * (2 * rank)]
        shape[1 + axis], shape[1 + rank + axis] = counts[axis], kernel[axis]
        place = place * sizes[axis] + spans.reshape(shape)
    windows = np.broadcast_to(place, (len(flat), *counts, *kernel)).reshape(len(flat), -1, math.prod(kernel))
    values = np.take_along_axis(flat, windows.reshape(len(flat), -1), 1).reshape(windows.shape)
    best = values.argmax(-1)
    return np.take_along_axis(windows, best[..., None], -1).reshape(*x.shape[: x.ndim - rank], *counts)


def _checked(rank: int, input: Tensor, kernel: tuple[int, ...], counts: tuple[int, ...]) -> None:
    name = f"fractional_max_pool{rank}d"
    sizes = input.array.shape[input.array.ndim - rank :]
    if input.array.ndim not in (rank + 1, rank + 2):
        raise shape_error(f"{name}: Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(input.array.shape)}")
    for what, n, k, m in zip(_LETTERS[rank], sizes, kernel, counts, strict=True):
        if m + k - 1 > n:
            raise shape_error(f"{name}(): pool {what} {k} too large relative to input {what} {n}")
    room = math.prod(counts) * math.prod(kernel) * math.prod(input.array.shape[: input.array.ndim - rank])
    limits.check_elements(room, 8)
    limits.check_work(4.0 * room)


def _sizes(value: Any, rank: int) -> tuple[Any, ...]:
    return (value,) * rank if isinstance(value, (int, float)) else tuple(value)


def _pool(rank: int, always: bool) -> Callable[..., Any]:
    def run(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:
        if output_size is None and output_ratio is None:
            text = f"fractional_max_pool{rank}d requires specifying either an output_size or an output_ratio"
            raise ProgramError("ValueError", text)
        shape, dtype = input.array.shape, input.dtype
        if output_size is None and rank == 2 and isinstance(output_ratio, (int, float)):
            raise ProgramError("TypeError", f"object of type '{language.type_name(output_ratio)}' has no len()")
        if output_size is None:
            output_size = tuple(int(n * r) for n, r in zip(shape[-rank:], _sizes(output_ratio, rank), strict=False))
        batch = 1 if len(shape) == rank + 1 else shape[0]
        if _random_samples is None:
            if len(shape) <= rank:
                bounds = f"[-{len(shape)}, {len(shape) - 1}]"
                raise shape_error(f"Dimension out of range (expected to be in range of {bounds}, but got -{rank + 1})", "IndexError")
            values = generator.default.uniform((batch, shape[-rank - 1], rank), dtype)
            _random_samples = Tensor(values, dtype)
        kernel, counts = _sizes(kernel_size, rank), _sizes(output_size, rank)
        _checked(rank, input, kernel, counts)
        if _random_samples.dtype is not dtype:
            raise runtime_error("Expect _random_samples to have the same dtype as input")
        made = pooled(FRACTIONAL[rank], input, _places(input.array, kernel, counts, _random_samples.array), kernel, counts)
        return made if return_indices or always else made[0]

    return run


_DOC = "The largest element of each of so many windows, whose places are random."


def _functions(rank: int, *samples: Sample) -> tuple[PythonFunction, ...]:
    name = f"fractional_max_pool{rank}d"
    return (
        PythonFunction(_pool(rank, False), name, _DOC, ops=FRACTIONAL[rank], samples=samples),
        PythonFunction(_pool(rank, True), f"{name}_with_indices", _DOC),
    )


FUNCTIONS = (
    *_functions(2, Sample("F.fractional_max_pool2d(x, 2, (2, 3), _random_samples=tensor([[[0.4, 0.7]]], dtype=x.dtype))", None, x=IMAGE)),
    *_functions(3, Sample("F.fractional_max_pool3d(x, 1, 1, _random_samples=tensor([[[0.4, 0.7, 0.2]]], dtype=x.dtype))", None, x=VOLUME)),
)
