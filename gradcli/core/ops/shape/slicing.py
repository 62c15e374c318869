"""Parts of a tensor as views: select, narrow, slices, sliding windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import strided
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import check_size, without_dimensions, wrap_dim
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

#: the end that PyTorch's nodes have for a slice without an end
END = (1 << 63) - 1


def _select(a: Array, dim: int, index: int) -> Array:
    made = a[index] if dim == 0 else a[(slice(None),) * (dim if dim >= 0 else dim + a.ndim) + (index,)]
    # for the last dimension numpy returns a scalar, and with an ellipsis a view
    return made if type(made) is np.ndarray else a[(slice(None),) * (dim if dim >= 0 else dim + a.ndim) + (index, ...)]


def _select_back(grad: Array, dim: int, index: int, shape: Any) -> Array:
    made = np.zeros(shape, grad.dtype)
    made[(slice(None),) * (dim if dim >= 0 else dim + len(shape)) + (index,)] = grad
    return made


SELECT: Op = Op(
    "SelectBackward0",
    _select,
    "input",
    "dim index",
    view=True,
    input=Rule(
        lambda xp, grad, dim, index, input_shape: xp.call(SELECT_BACK, grad, dim, index, input_shape),
        "zeros_like(input).select_scatter(grad, dim, index)",
    ),
)
SELECT_BACK: Op = Op(
    "SelectBackwardBackward0",
    _select_back,
    "input",
    "dim index shape",
    saved="dim index",
    input=Rule(lambda xp, grad, dim, index: xp.call(SELECT, grad, dim, index), "grad.select(dim, index)"),
    complex=True,
)


def _slice(a: Array, dim: int, start: int, end: int, step: int) -> Array:
    made = a[start:end:step] if dim == 0 else a[(slice(None),) * (dim if dim >= 0 else dim + a.ndim) + (slice(start, end, step),)]
    return made if made.size else _empty_slice(a, made.shape, dim % a.ndim, start, step)


def _empty_slice(a: Array, shape: tuple[int, ...], dim: int, start: int, step: int) -> Array:
    """A slice without elements, whose place and step numpy leaves out."""
    place = slice(start, None).indices(a.shape[dim])[0] * a.strides[dim]
    strides = tuple(s * step if d == dim else s for d, s in enumerate(a.strides))
    return strided.nothing_at(a, place, shape, strides)


def _slice_back(grad: Array, dim: int, start: int, end: int, step: int, shape: Any) -> Array:
    made = np.zeros(shape, grad.dtype)
    _slice(made, dim, start, end, step)[...] = grad
    return made


SLICE: Op = Op(
    "SliceBackward0",
    _slice,
    "input",
    "dim start end step",
    view=True,
    input=Rule(
        lambda xp, grad, dim, start, end, step, input_shape: xp.call(SLICE_BACK, grad, dim, start, end, step, input_shape),
        "zeros_like(input).slice_scatter(grad, dim, start, end, step)",
    ),
)
SLICE_BACK: Op = Op(
    "SliceBackwardBackward0",
    _slice_back,
    "input",
    "dim start end step shape",
    saved="dim end start step",
    input=Rule(
        lambda xp, grad, dim, start, end, step: xp.call(SLICE, grad, dim, start, end, step),
        "grad.movedim(dim, 0)[start:end:step].movedim(0, dim)",
    ),
    complex=True,
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
    if step >= size:
        windows[...] = grad
        return made
    # windows may overlap, so that the gradients are added for one position in the window at a time
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
    saved="dim=dimension size step",
    input=Rule(lambda xp, grad, dimension, size, step: xp.call(UNFOLD, grad, dimension, size, step), "grad.unfold(dimension, size, step)"),
    complex=True,
)


# --- the functions ---


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """A view of one index of dimension `dim`, without this dimension."""
    shape = input.array.shape
    if not shape:
        raise without_dimensions(input, ProgramError("IndexError", "select() cannot be applied to a 0-dim tensor."))
    length = shape[wrap_dim(dim, len(shape))]
    if not -length <= index < length:
        text = f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {wrap_dim(dim, len(shape))}"
        raise shape_error(text, "IndexError")
    return SELECT(input, dim, index)  # type: ignore[no-any-return]


def part(input: Tensor, dim: int, start: int, length: int) -> int:
    """The first position of a part of dimension `dim`, counted from 0. Raises IndexError and RuntimeError for a part that is not there."""
    shape = input.array.shape
    if not shape:
        raise runtime_error("narrow() cannot be applied to a 0-dim tensor.")
    size = shape[wrap_dim(dim, len(shape))]
    if not -size <= start <= size:
        raise ProgramError("IndexError", f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start += size if start < 0 else 0
    if length < 0 or start > size - length:
        raise shape_error(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return start


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A view of `length` elements of dimension `dim`, from `start` on."""
    if input.array.ndim and length < 0:
        raise runtime_error("narrow(): length must be non-negative.")
    start = part(input, dim, start, length)
    return SLICE(input, dim, start, start + length, 1)  # type: ignore[no-any-return]


def _narrow_from(input: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    if start.array.ndim or start.array.dtype.kind not in "iu":
        raise runtime_error("start must be an 0-dim integral Tensor.")
    return narrow(input, dim, int(start.item()), length)


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of windows of a size along a dimension, `step` apart; the elements of a window are a new last dimension."""
    rank = input.array.ndim
    at = wrap_dim(dimension, rank)
    length = input.array.shape[at] if rank else 1
    if size > length:
        raise shape_error(f"maximum size for tensor at dimension {at} is {length} but size is {size}")
    if size < 0:
        raise shape_error(f"size is {size} but must be >= 0")
    if step <= 0:
        raise runtime_error(f"step is {step} but must be > 0")
    check_size((*input.array.shape[:at], (length - size) // step + 1, *input.array.shape[at + 1 :], size), input.dtype.itemsize)
    return UNFOLD(input, dimension, size, step)  # type: ignore[no-any-return]


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


FUNCTIONS = (
    Function(
        "select",
        ("Tensor input, int dim, symint index", select),
        doc="One index of a dimension, which goes away.",
        ops=(SELECT,),
        samples=(Sample("select(x, 1, -1)", lambda x: x[:, -1], x=_M), Sample("x[1, 2]", lambda x: x[1, 2], x=_M)),
    ),
    Function(
        "narrow",
        ("Tensor input, int dim, Tensor start, symint length", _narrow_from),
        ("Tensor input, int dim, symint start, symint length", narrow),
        doc="length elements of a dimension from start on.",
        ops=(SLICE,),
        samples=(Sample("narrow(x, 1, 1, 2)", lambda x: x[:, 1:], x=_M), Sample("x[:, ::2]", lambda x: x[:, ::2], x=_M)),
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
