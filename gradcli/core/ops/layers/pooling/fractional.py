"""Fractional max pooling: the largest element of each of so many windows, whose places are random."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import language
from gradcli.core.functions.function import Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.kernels import Array
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.checks import size, with_method
from gradcli.core.ops.create.random_tensors import uniform
from gradcli.core.ops.layers.pooling import checks
from gradcli.core.ops.layers.pooling.max_pool import pooled, records_of_maxima
from gradcli.core.ops.layers.pooling.return_indices import DispatchedPython
from gradcli.core.ops.layers.samples import IMAGE, VOLUME
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

FRACTIONAL = {rank: records_of_maxima(f"FractionalMaxPool{rank}D", "kernel_size output_size", rank, False) for rank in (2, 3)}
#: the dimensions in the order in which PyTorch checks their sizes, and the place of each
_CHECKED = {2: (("height", 0), ("width", 1)), 3: (("time", 0), ("width", 2), ("height", 1))}


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
    if not x.size:
        return np.zeros((*x.shape[: x.ndim - rank], *counts), np.int64)
    flat = x.reshape(-1, math.prod(sizes))
    order = range(rank) if rank == 3 else (1, 0)  # PyTorch places the columns of an image first
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
    nan = np.isnan(values)  # the last nan of a window counts
    best = np.where(nan.any(-1), nan.shape[-1] - 1 - nan[..., ::-1].argmax(-1), values.argmax(-1))
    return np.take_along_axis(windows, best[..., None], -1).reshape(*x.shape[: x.ndim - rank], *counts)


def _checked(rank: int, input: Tensor, kernel: tuple[int, ...], counts: tuple[int, ...]) -> None:
    name = f"fractional_max_pool{rank}d"
    for what, given in (("kernel_size", kernel), ("output_size", counts)):
        if len(given) != rank:
            raise runtime_error(f"{name}: {what} must either be a single Int or tuple of {'three ' if rank == 3 else ''}Ints")
    sizes = input.array.shape[input.array.ndim - rank :]
    kernel_name = f"{name}_out()" if rank == 3 else f"{name}()"
    if input.array.ndim not in (rank + 1, rank + 2):
        raise shape_error(f"{kernel_name}: Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(input.array.shape)}")
    checks.check_not_empty(name if rank == 2 else f"{name}_out", input, "")
    for what, axis in _CHECKED[rank]:
        n, k = sizes[axis], kernel[axis]
        if counts[axis] + k - (rank == 2) > n:
            raise shape_error(f"{kernel_name}: pool {what} {k} too large relative to input {what} {n}")
    if any(k <= 0 for k in kernel):
        text = f"{name} of windows without elements is not part of gradcli: the places that PyTorch gives are beyond the input"
        raise ProgramError("NotImplementedError", text)
    room = math.prod(counts) * math.prod(kernel) * math.prod(input.array.shape[: input.array.ndim - rank])
    limits.check_elements(room, 8)
    limits.check_work(4.0 * room)


def _check_samples(rank: int, input: Tensor, samples: Tensor) -> None:
    """Raise RuntimeError unless there are `rank` numbers for each plane, of the input's dtype."""
    if samples.dtype is not input.dtype:
        raise runtime_error("Expect _random_samples to have the same dtype as input")
    shape = samples.array.shape
    if len(shape) != 3:
        raise shape_error(f"Expect _random_samples to have 3 dimensions, got {len(shape)}")
    if shape[0] < (1 if input.array.ndim == rank + 1 else input.array.shape[0]):
        raise shape_error("Expect _random_samples.size(0) no less then input batch size.")
    if shape[1] != input.array.shape[-rank - 1]:
        raise shape_error("Expect _random_samples.size(1) equals to input channel size.")
    if shape[2] != rank:
        raise shape_error(f"Expect _random_samples.size(2) equals to {rank}; got {shape[2]}.")


def _sizes(value: Any, rank: int) -> tuple[Any, ...]:
    return (value,) * rank if isinstance(value, (int, float)) else tuple(value)


def _each(size: Any, rank: int) -> Any:
    """A size for each dimension, where a number stands for all; what is neither stays as it is, for the error."""
    return (size,) * rank if type(size) is int else size


def _pooled(rank: int, input: Tensor, window: Sizes, counts: Sizes, random_samples: Tensor) -> tuple[Tensor, Tensor]:
    """What PyTorch's kernel does: the maxima and their places."""
    _checked(rank, input, window, counts)
    _check_samples(rank, input, random_samples)
    if input.array.size and 0 not in counts:
        checks.check_dtype(f"fractional_max_pool{rank}d_out_frame", input)
    samples = random_samples.array[: input.array.shape[0] if input.array.ndim == rank + 2 else 1]
    return pooled(FRACTIONAL[rank], input, _places(input.array, window, counts, samples), window, counts)


def _pool(rank: int, always: bool) -> Callable[..., Any]:
    name = f"fractional_max_pool{rank}d"
    run_kernel = kernel(
        name, "Tensor input, ints kernel_size, ints output_size, Tensor random_samples", lambda *given: _pooled(rank, *given)
    )

    def run(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:
        if output_size is None and output_ratio is None:
            raise ProgramError("ValueError", f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            if rank == 2 and isinstance(output_ratio, (int, float)):
                raise ProgramError("TypeError", f"object of type '{language.type_name(output_ratio)}' has no len()")
            ratios = _sizes(output_ratio, rank)
            with_method(input, "size")
            if rank == 2 and len(ratios) > 2:
                raise ProgramError("ValueError", f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            output_size = tuple(int(size(input, d - rank) * ratios[d]) for d in range(rank))
        if _random_samples is None:
            batch = 1 if with_method(input, "dim").array.ndim == rank + 1 else size(input, 0)
            values = uniform((batch, size(input, -rank - 1), rank), input.dtype, None)
            _random_samples = Tensor(values, input.dtype)
        made = run_kernel(input, *(_each(given, rank) for given in (kernel_size, output_size)), _random_samples)
        return made if always else made[0]

    return run


_DOC = "The largest element of each of so many windows, whose places are random."


def _functions(rank: int, *samples: Sample) -> tuple[PythonFunction, ...]:
    name = f"fractional_max_pool{rank}d"
    places = PythonFunction(_pool(rank, True), f"{name}_with_indices", _DOC, unchecked=True)
    shared: dict[str, Any] = {"ops": FRACTIONAL[rank], "samples": samples, "unchecked": True, "python": f"_{name}"}
    return DispatchedPython(_pool(rank, False), name, _DOC, other=places, **shared), places


FUNCTIONS = (
    *_functions(2, Sample("F.fractional_max_pool2d(x, 2, (2, 3), _random_samples=tensor([[[0.4, 0.7]]], dtype=x.dtype))", None, x=IMAGE)),
    *_functions(3, Sample("F.fractional_max_pool3d(x, 1, 1, _random_samples=tensor([[[0.4, 0.7, 0.2]]], dtype=x.dtype))", None, x=VOLUME)),
)
