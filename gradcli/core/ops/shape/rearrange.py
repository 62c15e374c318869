"""Elements in other places: repeated, reversed, rolled, turned, on diagonals and in triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.shape.casting import CONTIGUOUS
from gradcli.core.ops.shape.view_records import VIEW, check_rank
from gradcli.core.ops.shape.views import expand, flatten, reshape, unsqueeze
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError


def _check_size(shape: Sequence[int], itemsize: int) -> None:
    check_rank(len(shape))
    count = 1
    for n in shape:
        count *= n
    limits.check_elements(count, itemsize)


# --- repeat, flip, roll, rot90 ---


def _repeat_back(xp: Any, grad: Any, repeats: Any, input_shape: Any) -> Any:
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
    return xp.sum(xp.reshape(grad, tuple(split)), tuple(axes))


REPEAT: Op = Op(
    "RepeatBackward0",
    lambda a, repeats: np.tile(a, repeats),
    "input",
    "repeats",
    input=Rule(
        _repeat_back,
        "zeros_like(input).put(arange(input.numel()).reshape(input.shape).repeat(repeats), grad, True)",
    ),
)
FLIP: Op = Op(
    "FlipBackward0",
    lambda a, dims: np.flip(a, dims).copy() if a.ndim else a.copy(),
    "input",
    "dims",
    input=Rule(lambda xp, grad, dims: xp.call(FLIP, grad, dims), "grad.flip(dims)"),
)


def _roll(a: Array, shifts: Any, dims: Any) -> Array:
    return np.roll(a, shifts, dims) if dims else np.roll(a, shifts[0] if len(shifts) == 1 else shifts)


ROLL: Op = Op(
    "RollBackward0",
    _roll,
    "input",
    "shifts dims",
    input=Rule(
        lambda xp, grad, shifts, dims: xp.call(ROLL, grad, tuple(-s for s in shifts), dims), "grad.roll([-s for s in shifts], dims)"
    ),
)
ROT90: Op = Op(
    "Rot90Backward0",
    lambda a, k, dims: np.rot90(a, k, dims).copy(order="K"),
    "input",
    "k dims",
    input=Rule(lambda xp, grad, k, dims: xp.call(ROT90, grad, -k, dims), "grad.rot90(-k, dims)"),
)


# --- diagonals and triangles ---


def _diagonal(a: Array, offset: int, dim1: int, dim2: int) -> Array:
    moved = np.moveaxis(a, (dim1, dim2), (-2, -1))
    corner = moved[..., max(-offset, 0) :, max(offset, 0) :]
    *lead, row, column = corner.strides
    shape = (*corner.shape[:-2], min(corner.shape[-2:]))
    return np.lib.stride_tricks.as_strided(corner, shape, (*lead, row + column), writeable=a.flags.writeable)


def _diagonal_back(grad: Array, offset: int, dim1: int, dim2: int, shape: Any) -> Array:
    made = np.zeros(shape, grad.dtype)
    rows = np.arange(grad.shape[-1]) if grad.ndim else np.arange(0)
    moved = np.moveaxis(made, (dim1, dim2), (-2, -1))
    moved[..., rows + max(-offset, 0), rows + max(offset, 0)] = grad
    return made


def _diagonal_rule(xp: Any, grad: Any, offset: int, dim1: int, dim2: int, input_shape: Any) -> Any:
    return xp.call(DIAGONAL_BACK, grad, offset, dim1, dim2, input_shape)


_DIAGONAL = "zeros_like(input).diagonal_scatter(grad, offset, dim1, dim2)"
DIAGONAL: Op = Op("DiagonalBackward0", _diagonal, "input", "offset dim1 dim2", view=True, input=Rule(_diagonal_rule, _DIAGONAL))
DIAGONAL_COPY: Op = Op(
    "DiagonalBackward0_copy",
    lambda a, *where: _diagonal(a, *where).copy(),
    "input",
    "offset dim1 dim2",
    input=Rule(_diagonal_rule, _DIAGONAL),
)
DIAGONAL_BACK: Op = Op(
    "DiagonalBackwardBackward0",
    _diagonal_back,
    "input",
    "offset dim1 dim2 shape",
    input=Rule(lambda xp, grad, offset, dim1, dim2: xp.call(DIAGONAL, grad, offset, dim1, dim2), "grad.diagonal(offset, dim1, dim2)"),
)


def _diag_embed(a: Array, offset: int, dim1: int, dim2: int) -> Array:
    n = a.shape[-1] + abs(offset)
    rows = np.arange(a.shape[-1])
    made = np.zeros((*a.shape[:-1], n, n), a.dtype)
    made[..., rows + max(-offset, 0), rows + max(offset, 0)] = a
    return np.ascontiguousarray(np.moveaxis(made, (-2, -1), (dim1, dim2)))


DIAG_EMBED: Op = Op(
    "DiagEmbedBackward0",
    _diag_embed,
    "input",
    "offset dim1 dim2",
    input=Rule(lambda xp, grad, offset, dim1, dim2: xp.call(DIAGONAL, grad, offset, dim1, dim2), "grad.diagonal(offset, dim1, dim2)"),
)
TRIL: Op = Op(
    "TrilBackward0",
    np.tril,
    "input",
    "diagonal",
    input=Rule(lambda xp, grad, diagonal: xp.call(TRIL, grad, diagonal), "grad.tril(diagonal)"),
)
TRIU: Op = Op(
    "TriuBackward0",
    np.triu,
    "input",
    "diagonal",
    input=Rule(lambda xp, grad, diagonal: xp.call(TRIU, grad, diagonal), "grad.triu(diagonal)"),
)


# --- sliding windows ---


def _unfold(a: Array, dimension: int, size: int, step: int) -> Array:
    if not a.ndim:
        return np.lib.stride_tricks.as_strided(a, (size,), (a.itemsize,), writeable=a.flags.writeable)
    at = dimension % a.ndim
    count = (a.shape[at] - size) // step + 1
    shape = (*a.shape[:at], count, *a.shape[at + 1 :], size)
    strides = (*a.strides[:at], a.strides[at] * step, *a.strides[at + 1 :], a.strides[at])
    return np.lib.stride_tricks.as_strided(a, shape, strides, writeable=a.flags.writeable)


def _unfold_back(grad: Array, dimension: int, size: int, step: int, shape: Any) -> Array:
    made = np.zeros(shape, grad.dtype)
    windows = _unfold(made, dimension, size, step)
    # windows may overlap: add one position of the window at a time
    for k in range(size):
        windows[..., k] += grad[..., k]
    return made


UNFOLD: Op = Op(
    "UnfoldBackward0",
    _unfold,
    "input",
    "dimension size step",
    view=True,
    input=Rule(
        lambda xp, grad, dimension, size, step, input_shape: xp.call(UNFOLD_BACK, grad, dimension, size, step, input_shape),
        "places = arange(input.numel()).reshape(input.shape); zeros_like(input).put(places.unfold(dimension, size, step), grad, True)",
    ),
)
UNFOLD_BACK: Op = Op(
    "UnfoldBackwardBackward0",
    _unfold_back,
    "input",
    "dimension size step shape",
    input=Rule(lambda xp, grad, dimension, size, step: xp.call(UNFOLD, grad, dimension, size, step), "grad.unfold(dimension, size, step)"),
)


# --- the functions ---


def repeat(input: Tensor, repeats: Sequence[int]) -> Tensor:
    """Copies side by side along each dimension."""
    shape = input.array.shape
    if len(repeats) < len(shape):
        raise ProgramError("RuntimeError", "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    sizes = [n * r for n, r in zip((1,) * (len(repeats) - len(shape)) + shape, repeats, strict=True)]
    for n in sizes:
        if n < 0:
            raise ProgramError("RuntimeError", f"Trying to create tensor with negative dimension {n}: {sizes}")
    _check_size(sizes, input.dtype.itemsize)
    return REPEAT(input, tuple(repeats))  # type: ignore[no-any-return]


def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Copies side by side; missing leading dims count as 1."""
    return repeat(input, (1,) * (input.array.ndim - len(dims)) + tuple(dims))


def check_dims(dims: Sequence[int], rank: int) -> None:
    """All in range and none twice."""
    seen: set[int] = set()
    for d in dims:
        at = wrap_dim(d, rank)
        if at in seen:
            raise ProgramError("RuntimeError", f"dim {at} appears multiple times in the list of dims")
        seen.add(at)


def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Reversed along dimensions."""
    check_dims(dims, input.array.ndim)
    return FLIP(input, tuple(dims))  # type: ignore[no-any-return]


def _flip_fixed(dim: int, least: int) -> Any:
    def run(input: Tensor) -> Tensor:
        if input.array.ndim < least:
            raise ProgramError("RuntimeError", f"Input must be >= {least}-d.")
        return FLIP(input, (dim,))  # type: ignore[no-any-return]

    return run


def roll(input: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """Moved along dimensions; what leaves at the end enters at the beginning."""
    if not shifts:
        raise ProgramError("RuntimeError", "`shifts` required")
    if not (len(shifts) == 1 and not dims) and len(shifts) != len(dims):
        raise ProgramError("RuntimeError", f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for d in dims:
        wrap_dim(d, input.array.ndim)
    return ROLL(input, tuple(shifts), tuple(dims))  # type: ignore[no-any-return]


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] | None = None) -> Tensor:
    """Turned by k right angles in the plane of two dimensions."""
    rank = input.array.ndim
    dims = (0, 1) if dims is None else dims
    if len(dims) != 2:
        raise ProgramError("RuntimeError", f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if rank < 2:
        raise ProgramError("RuntimeError", f"expected total dims >= 2, but got total dims = {rank}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == rank:
        raise ProgramError("RuntimeError", f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for d in dims:
        wrap_dim(d, rank)
    return ROT90(input, k, tuple(dims))  # type: ignore[no-any-return]


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last one."""
    rank = input.array.ndim
    if wrap_dim(dim1, rank) == wrap_dim(dim2, rank):
        raise ProgramError("RuntimeError", f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return DIAGONAL(input, offset, dim1, dim2)  # type: ignore[no-any-return]


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with that diagonal."""
    rank = input.array.ndim
    if rank == 1:
        return diag_embed(input, diagonal, 0, 1)
    if rank == 2:
        return DIAGONAL_COPY(input, diagonal, 0, 1)  # type: ignore[no-any-return]
    raise ProgramError("RuntimeError", f"diag(): Supports 1D or 2D tensors. Got {rank}D")


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension on their diagonal."""
    rank = input.array.ndim + 1
    if wrap_dim(dim1, rank) == wrap_dim(dim2, rank):
        raise ProgramError("RuntimeError", f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input.array.shape[-1] + abs(offset)
    _check_size((*input.array.shape[:-1], n, n), input.dtype.itemsize)
    return DIAG_EMBED(input, offset, dim1, dim2)  # type: ignore[no-any-return]


def _triangle(name: str, record: Op) -> Any:
    def run(input: Tensor, diagonal: int = 0) -> Tensor:
        if input.array.ndim < 2:
            raise ProgramError("RuntimeError", f"{name}: input tensor must have at least 2 dimensions")
        return record(input, diagonal)  # type: ignore[no-any-return]

    return run


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of a size along a dimension, step apart, as a last dimension."""
    rank = input.array.ndim
    at = wrap_dim(dimension, rank)
    length = input.array.shape[at] if rank else 1
    if size > length:
        raise ProgramError("RuntimeError", f"maximum size for tensor at dimension {at} is {length} but size is {size}")
    if size < 0:
        raise ProgramError("RuntimeError", f"size is {size} but must be >= 0")
    if step <= 0:
        raise ProgramError("RuntimeError", f"step is {step} but must be > 0")
    _check_size((*input.array.shape[:at], (length - size) // step + 1, *input.array.shape[at + 1 :], size), input.dtype.itemsize)
    return UNFOLD(input, dimension, size, step)  # type: ignore[no-any-return]


def repeat_interleave(input: Tensor, repeats: int, dim: int | None = None, output_size: int | None = None) -> Tensor:
    """Every element that many times in a row."""
    if repeats < 0:
        raise ProgramError("RuntimeError", "Repeats must be non-negative")
    if dim is None:
        input, dim = flatten(input), 0
    shape = input.array.shape
    at = wrap_dim(dim, len(shape))
    if not shape:
        input, shape = reshape(input, (1,)), (1,)
    wide = expand(unsqueeze(input, at + 1), (*shape[: at + 1], repeats, *shape[at + 1 :]))
    return VIEW(CONTIGUOUS(wide), (*shape[:at], shape[at] * repeats, *shape[at + 1 :]))  # type: ignore[no-any-return]


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
        ("Tensor input, ints1 shifts, ints1 dims=()", roll),
        doc="Moved along dimensions; what leaves at the end enters at the beginning.",
        ops=(ROLL,),
        samples=(
            Sample("roll(x, 1)", lambda x: np.roll(x, 1), x=_M),
            Sample("roll(x, (1, 2), (0, 1))", lambda x: np.roll(x, (1, 2), (0, 1)), x=_M),
        ),
    ),
    Function(
        "rot90",
        ("Tensor input, int k=1, ints? dims=None", rot90),
        doc="Turned by k right angles in the plane of two dimensions.",
        ops=(ROT90,),
        samples=(Sample("rot90(x, 1, (0, 1))", lambda x: np.rot90(x), x=_M),),
    ),
    Function(
        "diagonal",
        ("Tensor input, int offset=0, int dim1=0, int dim2=1", diagonal),
        doc="The diagonal of two dimensions, as the last one.",
        ops=(DIAGONAL,),
        samples=(
            Sample("diagonal(x)", lambda x: np.diagonal(x), x=_M),
            Sample("diagonal(x, 1, 1, 0)", lambda x: np.diagonal(x, 1, 1, 0), x=_M),
        ),
    ),
    Function(
        "diag",
        ("Tensor input, int diagonal=0", diag),
        doc="The diagonal of a matrix, or the matrix with that diagonal.",
        ops=(DIAGONAL_COPY, DIAG_EMBED),
        samples=(Sample("diag(x)", np.diag, x=_M), Sample("diag(x, -1)", lambda x: np.diag(x, -1), x=_V)),
        out=True,
    ),
    Function(
        "diag_embed",
        ("Tensor input, int offset=0, int dim1=-2, int dim2=-1", diag_embed),
        doc="Matrices with the last dimension on their diagonal.",
        samples=(Sample("diag_embed(x)", lambda x: np.stack([np.diag(r) for r in x]), x=_M),),
    ),
    Function(
        "tril",
        ("Tensor input, int diagonal=0", _triangle("tril", TRIL)),
        doc="The lower triangle, 0 above it.",
        ops=(TRIL,),
        samples=(Sample("tril(x)", np.tril, x=_M),),
        inplace=True,
        out=True,
    ),
    Function(
        "triu",
        ("Tensor input, int diagonal=0", _triangle("triu", TRIU)),
        doc="The upper triangle, 0 below it.",
        ops=(TRIU,),
        samples=(Sample("triu(x, 1)", lambda x: np.triu(x, 1), x=_M),),
        inplace=True,
        out=True,
    ),
    Function(
        "unfold",
        ("Tensor input, int dimension, int size, int step", unfold),
        doc="Windows along a dimension, as a last dimension.",
        ops=(UNFOLD,),
        samples=(Sample("x.unfold(1, 2, 1)", lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 1), x=_M),),
        function=False,
    ),
)
