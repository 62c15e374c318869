"""Max unpooling: every maximum back at its place, and zeros elsewhere, in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels import Array
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.index.gather_scatter import GATHER
from gradcli.core.ops.layers import pooling_checks
from gradcli.core.ops.layers.samples import IMAGE, ROW, VOLUME
from gradcli.core.ops.shape.squeeze import squeeze_dim, unsqueeze
from gradcli.core.ops.shape.views import VIEW
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error


def _placed(x: Array, sizes: tuple[int, ...], indices: Array) -> Array:
    rank = len(sizes)
    lead = x.shape[: x.ndim - rank]
    made = np.zeros((*lead, math.prod(sizes)), x.dtype)
    if not made.size:
        return made.reshape(*lead, *sizes)
    rows = (*lead, math.prod(x.shape[x.ndim - rank :]))
    np.put_along_axis(made, indices.reshape(rows), x.reshape(rows), -1)
    return made.reshape(*lead, *sizes)


def _record(rank: int) -> Op:
    def gathered(xp: Any, grad: Any, input_shape: Any, indices: Any) -> Any:
        lead = input_shape[: len(input_shape) - rank]
        flat = xp.call(VIEW, grad, (*lead, math.prod(grad.shape[len(lead) :])))
        return xp.call(VIEW, xp.call(GATHER, flat, -1, np.asarray(indices).reshape(*lead, -1)), input_shape)

    return Op(
        f"MaxUnpool{rank}DBackward0",
        _placed,
        "input",
        "output_size indices",
        saved="indices",
        input=Rule(gathered, f"grad.flatten(-{rank}).gather(-1, indices.flatten(-{rank})).reshape(indices.shape)"),
    )


#: by the number of dimensions; rows are unpooled as images of width 1
UNPOOL = {rank: _record(rank) for rank in (2, 3)}


def _check(input: Tensor, indices: Tensor, rank: int) -> None:
    if indices.dtype is not dtypes.int64:
        have = f" but got: {indices.dtype.torch_name}" if rank == 2 else ""
        raise runtime_error(f"elements in indices should be type int64{have}")
    if input.array.ndim not in (rank + 1, rank + 2):
        have = f"{rank + 1}d or {rank + 2}d Tensor, but got a tensor with {input.array.ndim} dimensions."
        raise shape_error(f"Input to max_unpooling{rank}d should be a {have}")
    if indices.array.shape != input.array.shape:
        shapes = f"({list(input.array.shape)}) but got indices tensor with shape: {list(indices.array.shape)}"
        raise shape_error(f"Expected shape of indices to be same as that of the input tensor {shapes}")
    pooling_checks.check_not_empty(f"max_unpooling{rank}d_forward_out_cpu", input)


def _unpooled(rank: int, input: Tensor, indices: Tensor, sizes: tuple[int, ...], stride: Sizes = ()) -> Any:
    _check(input, indices, rank)
    if any(s <= 0 for s in stride):
        raise runtime_error(f"strides should be greater than zero, but got stride: {list(stride)}")
    if input.array.size:
        pooling_checks.check_dtype(f"max_unpool{rank}d", input)
    room = math.prod(sizes)
    wrong = indices.array[(indices.array < 0) | (indices.array >= room)]
    if wrong.size and room:
        volumes = "x".join(map(str, sizes))
        raise runtime_error(f"Found an invalid max index: {wrong.flat[0]} (output volumes are of size {volumes})")
    limits.check_elements(math.prod(input.array.shape[: input.array.ndim - rank]) * room, input.dtype.itemsize)
    return UNPOOL[rank](input, sizes, watched(indices))


def _many(value: Any, rank: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * rank


def _output_size(shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, wanted: Any) -> Sizes:
    """The sizes that are wanted, or those that pooling without a remainder came from. ValueError for sizes it cannot come from."""
    rank = len(kernel)
    usual = [(shape[d - rank] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(rank)]
    if wanted is None:
        return _not_negative(tuple(usual))
    sizes = wanted[2:] if len(wanted) == rank + 2 else wanted
    if len(sizes) != rank:
        have = f"{rank} or {rank + 2} elements, but it has a length of '{len(sizes)}'"
        raise ProgramError("ValueError", f"output_size should be a sequence containing {have}")
    for d, (size, n, s) in enumerate(zip(sizes, usual, stride, strict=True)):
        if not n - s < size < n + s:
            text = f'invalid output_size "{formatted(sizes)}" (dim {d} must be between {n - s} and {n + s})'
            raise ProgramError("ValueError", text)
    return _not_negative(tuple(sizes))


def _not_negative(sizes: Sizes) -> Sizes:
    for d, size in enumerate(sizes):
        if size < 0:
            text = f"max_unpooling: output_size must contain non-negative spatial dimensions, but got output_size[{d}]={size}"
            raise ProgramError("ValueError", text)
    return sizes


def _unpool(rank: int) -> Callable[..., Any]:
    parameters = "Tensor input, Tensor indices, ints output_size" + (", ints stride, ints padding" if rank == 3 else "")
    of_images = kernel(f"max_unpool{max(rank, 2)}d", parameters, lambda *given: _unpooled(max(rank, 2), *given[:4]))

    def run(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Any:
        window, border = _many(kernel_size, rank), _many(padding, rank)
        step = window if stride is None else _many(stride, rank)
        sizes = _output_size(input.array.shape, window, step, border, output_size)
        if rank > 1:
            return of_images(input, indices, sizes, *((step, border) if rank == 3 else ()))
        return squeeze_dim(of_images(unsqueeze(input, -1), unsqueeze(indices, -1), (*sizes, 1)), -1)

    return run


def _function(rank: int, sample: str, x: Any) -> PythonFunction:
    doc = "Maxima back at their places, and zeros elsewhere."
    return PythonFunction(_unpool(rank), f"max_unpool{rank}d", doc, ops=(UNPOOL[max(rank, 2)],), samples=(Sample(sample, None, x=x),))


FUNCTIONS = (
    _function(1, "F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)", ROW),
    _function(2, "F.max_unpool2d(*F.max_pool2d(x, (3, 2), return_indices=True), (3, 2))", IMAGE),
    _function(3, "F.max_unpool3d(*F.max_pool3d(x, (1, 2, 1), return_indices=True), (1, 2, 1))", VOLUME),
)
