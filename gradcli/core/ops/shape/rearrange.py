"""Elements repeated or in another order: repeat, tile, repeat_interleave, flip, roll, rot90."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.clone import CONTIGUOUS
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import check_size, is_sample, not_implemented, size, wrap_dim, wrap_dims
from gradcli.core.ops.index.index_select import index_select
from gradcli.core.ops.rules import check_no_tangent
from gradcli.core.ops.shape.broadcasting import expand
from gradcli.core.ops.shape.squeeze import unsqueeze
from gradcli.core.ops.shape.views import VIEW, flatten, infer_size, reshape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error, shape_error


def _repeat_back(xp: Any, grad: Any, repeats: Any, input_shape: Any, input_dtype: Any) -> Any:
    """The gradient summed over the copies, which a view puts along dimensions of their own."""
    if 0 in repeats:
        return xp.zeros(input_shape, input_dtype)
    lead = len(repeats) - len(input_shape)
    for _ in range(lead):
        grad = xp.sum(grad, 0)
    split: list[int] = []
    axes: list[int] = []
    for r, n in zip(repeats[lead:], input_shape, strict=True):
        if r != 1:
            axes.append(len(split))
            split += [r, n]
        else:
            split.append(n)
    if not axes:
        return grad
    if min(split) < 0:  # this happens for a tensor without elements alone
        infer_size(split, 0)
    return xp.sum(xp.reshape(grad, tuple(split)), tuple(axes))


REPEAT: Op = Op(
    "RepeatBackward0",
    lambda a, repeats: np.tile(a, np.maximum(repeats, 0)),  # a negative number of copies of nothing is nothing
    "input",
    "repeats",
    layout="contiguous",
    input=Rule(_repeat_back, "zeros_like(input).put(arange(input.numel()).reshape(input.shape).repeat(repeats), grad, True)"),
    complex=True,
)
FLIP: Op = Op(
    "FlipBackward0",
    lambda a, dims: np.flip(a, dims).copy() if a.ndim else a.copy(),
    "input",
    "dims",
    layout="preserved",
    input=Rule(lambda xp, grad, dims: xp.call(FLIP, grad, dims), "grad.flip(dims)"),
    complex=True,
)


def _roll(a: Array, shifts: Any, dims: Any) -> Array:
    if not a.size:
        return memory_format.copy(a) if dims else memory_format.empty(a.shape, memory_format.contiguous_strides(a.shape), a.dtype)
    if not dims:
        return memory_format.contiguous(np.roll(a, shifts[0] if len(shifts) == 1 else shifts))
    for shift, dim in zip(shifts, dims, strict=True):  # PyTorch joins two parts for each dimension
        parts = np.split(a, [-shift % a.shape[dim]], dim)
        last = all(map(memory_format.suggests_channels_last, parts))
        rolled = np.concatenate(parts[::-1], dim)
        a = memory_format.laid_out(rolled, memory_format.channels_last_strides(a.shape)) if last else memory_format.contiguous(rolled)
    return a


ROLL: Op = Op(
    "RollBackward0",
    _roll,
    "input",
    "shifts dims",
    input=Rule(
        lambda xp, grad, shifts, dims: xp.call(ROLL, grad, tuple(-s for s in shifts), dims), "grad.roll([-s for s in shifts], dims)"
    ),
    complex=True,
)


def _turned(a: Array, k: int, dims: Any) -> Array:
    """A copy turned by k right angles; by an odd number, it is the transpose of one that is laid out as the input."""
    if k % 2 == 0:
        made = FLIP.forward(a, dims) if k % 4 else memory_format.contiguous(np.array(a, order="C"))
        return np.asarray(made)
    flipped = np.asarray(FLIP.forward(a, (dims[1 if k % 4 == 1 else 0],)))
    return memory_format.spelled_out(flipped).swapaxes(*dims)


ROT90: Op = Op(
    "Rot90Backward0",
    _turned,
    "input",
    "k dims",
    input=Rule(lambda xp, grad, k, dims: xp.call(ROT90, grad, -k, dims), "grad.rot90(-k, dims)"),
    complex=True,
)


def repeat(input: Tensor, repeats: Sequence[int]) -> Tensor:
    """Copies side by side: `repeats` of them along each dimension, and along new leading dimensions."""
    shape = input.array.shape
    if len(repeats) < len(shape):
        raise shape_error("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    sizes = [n * r for n, r in zip((1,) * (len(repeats) - len(shape)) + shape, repeats, strict=True)]
    for n in sizes:
        if n < 0:
            raise shape_error(f"Trying to create tensor with negative dimension {n}: {sizes}")
    check_size(sizes, input.dtype.itemsize)
    return REPEAT(input, tuple(repeats))  # type: ignore[no-any-return]


def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """`repeat` in which missing leading `dims` count as 1."""
    return repeat(input, (1,) * (input.array.ndim - len(dims)) + tuple(dims))


def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """A copy with the elements along dimensions in reverse order."""
    if is_sample(input) and not input.array.ndim and dims:
        size(input, dims[0])
    wrap_dims(dims, input.array.ndim)
    return FLIP(input, tuple(dims))  # type: ignore[no-any-return]


def _flip_fixed(dim: int, least: int) -> Any:
    def run(input: Tensor) -> Tensor:
        if input.array.ndim < least:
            raise runtime_error(f"Input must be >= {least}-d.")
        return FLIP(input, (dim,))  # type: ignore[no-any-return]

    return run


def roll(input: Tensor, shifts: Sequence[int], dims: Sequence[int] | None = ()) -> Tensor:
    """A copy with the elements moved along dimensions, from the end back to the beginning; without dims the flattened tensor."""
    if not shifts:
        raise runtime_error("`shifts` required")
    dims = dims or ()
    if not (len(shifts) == 1 and not dims) and len(shifts) != len(dims):
        raise shape_error(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for d in dims if input.array.size else ():
        size(input, d)
    return ROLL(input, tuple(shifts), tuple(dims))  # type: ignore[no-any-return]


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy turned by k right angles in the plane of two dimensions."""
    rank = input.array.ndim
    if len(dims) != 2:
        raise runtime_error(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if rank < 2:
        raise runtime_error(f"expected total dims >= 2, but got total dims = {rank}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == rank:
        raise runtime_error(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for d in dims:
        wrap_dim(d, rank)
    return ROT90(input, k, tuple(dims))  # type: ignore[no-any-return]


def repeat_interleave(input: Tensor, repeats: int, dim: int | None = None, output_size: int | None = None) -> Tensor:
    """Each slice of a dimension `repeats` times in a row; without dim each element, as a vector."""
    if dim is None:
        input, dim = flatten(input), 0
    shape = input.array.shape
    at = wrap_dim(dim, len(shape))
    if repeats < 0:
        raise runtime_error("Repeats must be non-negative")
    if not shape:
        raise shape_error("Dimension out of range (expected to be in range of [-1, 0], but got 1)", "IndexError")
    count = shape[at] * repeats
    if output_size is not None and output_size != count:
        raise shape_error(f"repeat_interleave: Invalid output_size, expected {count} but got {output_size}")
    wide = expand(unsqueeze(input, at + 1), (*shape[: at + 1], repeats, *shape[at + 1 :]))
    return VIEW(CONTIGUOUS(wide), (*shape[:at], shape[at] * repeats, *shape[at + 1 :]))  # type: ignore[no-any-return]


def repeat_each(input: Tensor, repeats: Tensor, dim: int | None = None, output_size: int | None = None) -> Tensor:
    """Each slice of a dimension as often in a row as its element of `repeats` says; without dim each element, as a vector."""
    if dim is None:
        input, dim = (input if input.array.ndim == 1 else reshape(input, (-1,))), 0
    counts = repeats.array
    if counts.ndim > 1:
        raise runtime_error("repeats must be 0-dim or 1-dim tensor")
    length = size(input, dim)
    if counts.ndim == 0 or counts.size == 1:
        counts = np.broadcast_to(counts.reshape(-1), (length,))
    elif counts.size != length:
        text = (
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and input.size({dim}) = {length}"
        )
        raise shape_error(text)
    return index_select(input, dim, wrap(_repeated(counts, repeats, output_size)))


def _repeated(counts: Array, repeats: Tensor, output_size: int | None) -> Array:
    check_no_tangent("aten::repeat_interleave", repeats)
    if repeats.dtype not in (dtypes.int32, dtypes.int64):
        raise not_implemented("repeat_interleave_cpu", repeats.dtype)
    total = int(counts.sum())
    if counts.size and output_size is not None and output_size < 0:
        raise shape_error(f"Trying to create tensor with negative dimension {output_size}: [{output_size}]")
    if counts.size and output_size not in (None, total):
        raise shape_error("allocated size does not match required size")
    if counts.size and counts.min() < 0:
        raise runtime_error("repeats can not be negative")
    limits.check_elements(total, 8)
    return np.repeat(np.arange(counts.size, dtype=counts.dtype), counts)


def repeated_positions(repeats: Tensor, output_size: int | None = None) -> Tensor:
    """The positions 0, 1, 2 ... each as often in a row as its element of `repeats` says."""
    if repeats.dtype in (dtypes.int32, dtypes.int64) and repeats.array.ndim != 1:
        raise shape_error("repeat_interleave only accept 1D vector as repeat")
    return wrap(_repeated(repeats.array, repeats, output_size))


_REPEATS = "int? dim=None, *, symint? output_size=None"
_V: Any = [1.0, 2.0, 3.0]
_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


FUNCTIONS = (
    Function(
        "repeat",
        ("Tensor input, ints repeats", repeat),
        doc="Copies side by side along each dimension.",
        ops=(REPEAT,),
        samples=(
            Sample("x.repeat(2, 2)", lambda x: np.tile(x, (2, 2)), x=_M),
            Sample("x.repeat(2, 1)", lambda x: np.tile(x, (2, 1)), x=_V),
        ),
        function=False,
    ),
    Function(
        "tile",
        ("Tensor input, ints dims", tile),
        doc="Copies side by side.",
        samples=(Sample("tile(x, (2,))", lambda x: np.tile(x, 2), x=_M),),
    ),
    Function(
        "repeat_interleave",
        (f"Tensor input, Tensor repeats, {_REPEATS}", repeat_each),
        ("Tensor repeats, *, symint? output_size=None |function", repeated_positions),
        (f"Tensor input, int repeats, {_REPEATS}", repeat_interleave),
        doc="Every element or slice several times in a row.",
        samples=(
            Sample("repeat_interleave(x, 2, 1)", lambda x: np.repeat(x, 2, 1), x=_M),
            Sample("repeat_interleave(x, tensor([1, 2]), 0)", lambda x: np.repeat(x, [1, 2], 0), x=_M),
        ),
    ),
    Function(
        "flip",
        ("Tensor input, ints dims", flip),
        doc="Reversed along dimensions.",
        ops=(FLIP,),
        samples=(Sample("flip(x, (0, 1))", lambda x: np.flip(x), x=_M),),
    ),
    Function("fliplr", ("Tensor input", _flip_fixed(1, 2)), doc="Columns reversed.", samples=(Sample("fliplr(x)", np.fliplr, x=_M),)),
    Function("flipud", ("Tensor input", _flip_fixed(0, 1)), doc="Rows reversed.", samples=(Sample("flipud(x)", np.flipud, x=_M),)),
    Function(
        "roll",
        ("Tensor input, ints1 shifts, ints1? dims=()", roll),
        doc="Moved along dimensions; what leaves at the end enters at the beginning.",
        ops=(ROLL,),
        samples=(
            Sample("roll(x, 1)", lambda x: np.roll(x, 1), x=_M),
            Sample("roll(x, (1, 2), (0, 1))", lambda x: np.roll(x, (1, 2), (0, 1)), x=_M),
        ),
    ),
    Function(
        "rot90",
        ("Tensor input, int k=1, ints dims={0,1}", rot90),
        doc="Turned by k right angles in the plane of two dimensions.",
        ops=(ROT90,),
        samples=(Sample("rot90(x, 1, (0, 1))", lambda x: np.rot90(x), x=_M),),
    ),
)
