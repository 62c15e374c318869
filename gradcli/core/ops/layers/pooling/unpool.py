"""Max unpooling: every maximum back at its place, and zeros elsewhere, in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import language
from gradcli.core.functions.function import Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels import Array
from gradcli.core.kernels.memory_format import of_images
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.checks import with_method
from gradcli.core.ops.index.gather_scatter import GATHER, out_of_bounds
from gradcli.core.ops.layers.pooling import checks
from gradcli.core.ops.layers.samples import IMAGE, ROW, VOLUME
from gradcli.core.ops.operators import calculated, iterate, ordered
from gradcli.core.ops.shape.squeeze import squeeze_dim, unsqueeze
from gradcli.core.ops.shape.views import VIEW, check_view
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
        shape = (*lead, math.prod(input_shape[len(lead) :]))
        check_view(np.asarray(indices), shape)
        places = np.asarray(indices).reshape(shape)
        if places.size and not flat.shape[-1]:
            raise out_of_bounds(f"index {places.flat[0]} is out of bounds for dimension {len(lead)} with size 0")
        return xp.call(VIEW, xp.call(GATHER, flat, -1, places), input_shape)

    return Op(
        f"MaxUnpool{rank}DBackward0",
        (lambda x, *how: of_images(_placed(x, *how), x)) if rank == 2 else _placed,
        "input",
        "output_size indices",
        saved="indices",
        input=Rule(gathered, f"grad.flatten(-{rank}).gather(-1, indices.flatten(-{rank})).reshape(indices.shape)"),
    )


#: the records by the number of dimensions; rows are unpooled as images of width 1
UNPOOL = {rank: _record(rank) for rank in (2, 3)}


def _check(input: Tensor, indices: Tensor, rank: int, sizes: Sizes, stride: Sizes, padding: Sizes) -> None:
    if indices.dtype is not dtypes.int64:
        have = f" but got: {indices.dtype.torch_name}" if rank == 2 else ""
        raise runtime_error(f"elements in indices should be type int64{have}")
    if rank == 2:
        _check_count("output_size", sizes, 2)
    if input.array.ndim not in (rank + 1, rank + 2):
        have = f"{rank + 1}d or {rank + 2}d Tensor, but got a tensor with {input.array.ndim} dimensions."
        raise shape_error(f"Input to max_unpooling{rank}d should be a {have}")
    if rank == 3:
        for name, values in (("output_size", sizes), ("stride", stride), ("padding", padding)):
            _check_count(name, values, 3)
    if indices.array.shape != input.array.shape:
        shapes = f"({list(input.array.shape)}) but got indices tensor with shape: {list(indices.array.shape)}"
        raise shape_error(f"Expected shape of indices to be same as that of the input tensor {shapes}")
    checks.check_not_empty(f"max_unpooling{rank}d_forward_out_cpu", input)


def _check_count(name: str, values: Sizes, rank: int) -> None:
    if len(values) != rank:
        what = "three elements (depth, height, width)" if rank == 3 else "two elements (height, width)"
        got = "got" if name == "output_size" else "got:"
        raise shape_error(f"There should be exactly {what} in {name}, but {got} {len(values)} elements.")


def _unpooled(rank: int, input: Tensor, indices: Tensor, sizes: Sizes, stride: Sizes = (), padding: Sizes = ()) -> Any:
    """`max_unpool2d` or, with stride and padding, `max_unpool3d` of a batch or a single image."""
    _check(input, indices, rank, sizes, stride, padding)
    if any(s <= 0 for s in stride):
        raise runtime_error(f"strides should be greater than zero, but got stride: {list(stride)}")
    room = math.prod(sizes)
    if input.array.size and room:
        checks.check_dtype(f"max_unpool{rank}d", input, formats=rank == 2)
    wrong = indices.array[(indices.array < 0) | (indices.array >= room)]
    if wrong.size and room:
        volumes = "x".join(map(str, sizes))
        raise runtime_error(f"Found an invalid max index: {wrong.flat[-1]} (output volumes are of size {volumes})")
    limits.check_elements(math.prod(input.array.shape[: input.array.ndim - rank]) * room, input.dtype.itemsize)
    return UNPOOL[rank](input, sizes, watched(indices))


def _many(value: Any, rank: int) -> tuple[Any, ...]:
    """What PyTorch's modules make of a number or of anything that can be iterated."""
    if isinstance(value, (list, tuple, str, dict)):
        return tuple(value)
    return tuple(iterate(value)) if type(value) is Tensor else (value,) * rank


def _item(values: Sizes, at: int) -> Any:
    """`values[at]`. Raises IndexError where there are too few."""
    if not -len(values) <= at < len(values):
        raise shape_error("tuple index out of range", "IndexError")
    return values[at]


def _output_size(shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, wanted: Any) -> Any:
    """The sizes that are wanted, or those that pooling without a remainder came from.

    Raises ValueError for sizes it cannot come from, IndexError where there are too few numbers, TypeError for tensors as numbers.
    """
    rank = len(kernel)
    usual = []
    for d in range(rank):
        whole = calculated(calculated(calculated(_item(shape, d - rank), "-", 1), "*", _item(stride, d)), "+", kernel[d])
        usual.append(calculated(whole, "-", calculated(2, "*", _item(padding, d))))
    if wanted is None:
        return _not_negative(tuple(usual))
    sizes = language.item(wanted, slice(2, None)) if language.length(wanted) == rank + 2 else wanted
    if language.length(sizes) != rank:
        have = f"{rank} or {rank + 2} elements, but it has a length of '{language.length(sizes)}'"
        raise ProgramError("ValueError", f"output_size should be a sequence containing {have}")
    sizes = _many(sizes, rank)
    for d, (size, n, s) in enumerate(zip(sizes, usual, stride, strict=False)):
        low, high = calculated(n, "-", s), calculated(n, "+", s)
        if not (ordered(low, "<", size) and ordered(size, "<", high)):
            text = f'invalid output_size "{formatted(wanted)}" (dim {d} must be between {formatted(low)} and {formatted(high)})'
            raise ProgramError("ValueError", text)
    return _not_negative(tuple(sizes))


def _not_negative(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    for d, size in enumerate(sizes):
        if type(size) is Tensor:
            raise ProgramError(
                "TypeError",
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that all elements "
                "are true.",
            )
        if ordered(size, "<", 0):
            text = f"max_unpooling: output_size must contain non-negative spatial dimensions, but got output_size[{d}]={formatted(size)}"
            raise ProgramError("ValueError", text)
    return sizes


def _unpool(rank: int) -> Callable[..., Any]:
    parameters = "Tensor input, Tensor indices, ints output_size" + (", ints stride, ints padding" if rank == 3 else "")
    run_kernel = kernel(f"max_unpool{max(rank, 2)}d", parameters, lambda *given: _unpooled(max(rank, 2), *given))

    def run(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Any:
        window = _many(kernel_size, rank)
        step = window if stride is None else _many(stride, rank)
        border = _many(padding, rank)
        sizes = _output_size(with_method(input, "size").array.shape, window, step, border, output_size)
        if rank > 1:
            return run_kernel(input, indices, sizes, *((step, border) if rank == 3 else ()))
        return squeeze_dim(run_kernel(unsqueeze(input, -1), unsqueeze(with_method(indices, "unsqueeze"), -1), (*sizes, 1)), -1)

    return run


def _function(rank: int, sample: str, x: Any) -> PythonFunction:
    doc = "Maxima back at their places, and zeros elsewhere."
    return PythonFunction(
        _unpool(rank), f"max_unpool{rank}d", doc, ops=(UNPOOL[max(rank, 2)],), samples=(Sample(sample, None, x=x),), unchecked=True
    )


FUNCTIONS = (
    _function(1, "F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)", ROW),
    _function(2, "F.max_unpool2d(*F.max_pool2d(x, (3, 2), return_indices=True), (3, 2))", IMAGE),
    _function(3, "F.max_unpool3d(*F.max_pool3d(x, (1, 2, 1), return_indices=True), (1, 2, 1))", VOLUME),
)
