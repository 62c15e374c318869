"""Tensors joined to one: cat, stack, hstack, vstack, dstack, column_stack, block_diag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import check_rank, without_dimensions, wrap_dim
from gradcli.core.ops.elementwise.complex_signs import REAL
from gradcli.core.ops.list_function import ListFunction, check_tensors
from gradcli.core.ops.shape.slicing import SELECT, SLICE
from gradcli.core.ops.shape.squeeze import SQUEEZE_DIM, UNSQUEEZE, atleast_1d, atleast_2d, atleast_3d
from gradcli.core.ops.shape.views import reshape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def _cat(arrays: Sequence[Array], dim: int) -> Array:
    rank = max(a.ndim for a in arrays)
    joined = [a for a in arrays if a.ndim == rank] if rank > 1 else arrays
    made = np.concatenate(joined, axis=dim if rank > 1 else 0)
    if rank > 3 and all(memory_format.suggests_channels_last(a) for a in arrays):  # an empty vector, which is passed over, does not
        return memory_format.laid_out(made, memory_format.channels_last_strides(made.shape))
    if made.flags.c_contiguous:
        return made
    # PyTorch's result is in row-major order, while numpy keeps the order in memory that the parts have
    return np.ascontiguousarray(made)


def _cat_rule(xp: Any, grad: Any, dim: int, tensors_shape: Any, tensors_dtype: Any, sizes: Any) -> list[Any]:
    # hooks of the node see the part of a tensor without gradient too
    parts: list[Any] = []
    at = 0
    real = None
    for shape, dtype, size in zip(tensors_shape, tensors_dtype, sizes, strict=True):
        if shape == (0,):
            parts.append(xp.zeros(shape, dtype))
        elif grad.shape == (0,):  # all tensors were empty vectors, for which `dim` is not checked; this one has no gradient
            parts.append(grad)
        else:
            part = grad
            if dtype is not None and not dtype.is_complex and xp.plain(grad).dtype.kind == "c":
                part = real = xp.call(REAL, grad) if real is None else real
            parts.append(xp.call(SLICE, part, dim, at, at + size, 1))
        at += size
    return parts


class _Joining(Op):
    """An operation on tensors of any dtypes, which it converts to the one that they promote to."""

    __slots__ = ()

    def __call__(self, tensors: Sequence[Tensor], *attrs: Any) -> Any:
        first = tensors[0].dtype
        if any(t.batch is not None for t in tensors) or all(t.dtype is first for t in tensors):
            return super().__call__(tensors, *attrs)
        dtype = dtypes.result_type(tensors)
        ready = [Tensor(dtypes.cast(t.array, dtype), dtype) for t in tensors]
        out = self._wrap(self.forward([t.array for t in ready], *attrs), ready)
        if state.enabled:
            self.record(out, tensors, attrs)
        if state.dual is not None:
            state.dual.push(self, tensors, attrs, (out,))
        return out


CAT: Op = _Joining(
    "CatBackward0",
    lambda arrays, dim, sizes: _cat(arrays, dim),
    "tensors",
    "dim sizes",
    saved="dim",
    variadic=True,
    tensors=Rule(_cat_rule, "grad.split(sizes, dim)[i]"),
    complex=True,
)


def _stack(arrays: Sequence[Array], dim: int) -> Array:
    rank = arrays[0].ndim
    check_rank(rank + 1)
    dim %= rank + 1
    if dim == rank:
        return _cat([UNSQUEEZE.forward(a, dim) for a in arrays], dim)
    whole = _cat(arrays, dim)
    return memory_format.as_viewed(whole, whole.reshape(*whole.shape[:dim], len(arrays), *arrays[0].shape[dim:]))


def _stack_rule(xp: Any, grad: Any, dim: int, tensors_shape: Any) -> list[Any]:
    return [xp.call(SELECT, grad, dim, i) for i in range(len(tensors_shape))]


STACK: Op = _Joining(
    "StackBackward0", _stack, "tensors", "dim", saved="dim", variadic=True, tensors=Rule(_stack_rule, "grad.select(dim, i)"), complex=True
)


def _diagonal_blocks(arrays: Sequence[Array]) -> Array:
    blocks = [a if a.ndim == 2 else a.reshape(1, -1) for a in arrays]
    made = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), np.result_type(*blocks))
    row = column = 0
    for b in blocks:
        made[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return made


def _blocks_rule(xp: Any, grad: Any, heights: Any, widths: Any, tensors_shape: Any) -> list[Any]:
    parts: list[Any] = []
    row = column = 0
    for shape, height, width in zip(tensors_shape, heights, widths, strict=True):
        if shape is None:
            parts.append(None)
        else:
            rows = xp.call(SLICE, grad, 0, row, row + height, 1)
            part = xp.call(SLICE, rows, 1, column, column + width, 1)
            one = len(shape) == 1 and width == 1
            parts.append(part if len(shape) == 2 else xp.call(SQUEEZE_DIM, part, -1) if one else xp.reshape(part, shape))
        row, column = row + height, column + width
    return parts


BLOCK_DIAG: Op = _Joining(
    "BlockDiagBackward0",
    lambda arrays, heights, widths: _diagonal_blocks(arrays),
    "tensors",
    "heights widths",
    saved="",
    variadic=True,
    tensors=Rule(_blocks_rule, "grad.split(heights)[i].split(widths, 1)[i].reshape(tensors[i].shape)"),
    complex=True,
)


def _check_result(tensors: Sequence[Tensor]) -> None:
    limits.check_elements(sum(t.array.size for t in tensors), tensors[0].dtype.itemsize)


def _is_skipped(t: Tensor) -> bool:
    """Whether cat passes over the tensor: for compatibility PyTorch joins an empty vector to tensors of any shape."""
    return bool(t.array.shape == (0,))


def _first_and_dim(tensors: Sequence[Tensor], dim: int) -> tuple[Tensor, int]:
    """The first tensor that is more than an empty vector, and the dimension counted from 0. Raises ValueError, RuntimeError, IndexError."""
    check_tensors(tensors)
    if not tensors:
        raise ProgramError("ValueError", "torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if not t.array.ndim:
            raise without_dimensions(t, shape_error(f"zero-dimensional tensor (at position {i}) cannot be concatenated"))
    first = next((t for t in tensors if not _is_skipped(t)), tensors[0])
    # PyTorch does not look at the dimension where all tensors are empty vectors
    return first, 0 if _is_skipped(first) else wrap_dim(dim, first.array.ndim)


def _check_dim(values: list[Any], out: Tensor) -> None:
    _first_and_dim(values[0], values[1])


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors joined along an existing dimension; all other sizes must agree. Raises ValueError, RuntimeError and LimitError."""
    first, at = _first_and_dim(tensors, dim)
    rank = first.array.ndim
    for i, t in enumerate(tensors):
        shape = t.array.shape
        if shape == first.array.shape or _is_skipped(t):
            continue
        if len(shape) != rank:
            raise shape_error(f"Tensors must have same number of dimensions: got {rank} and {len(shape)}")
        for k, (n, m) in enumerate(zip(first.array.shape, shape, strict=True)):
            if n != m and k != at:
                raise shape_error(
                    f"Sizes of tensors must match except in dimension {at}. Expected size {n} but got size {m} for tensor number {i} "
                    "in the list.",
                )
    _check_result(tensors)
    return CAT(tensors, dim, tuple(0 if _is_skipped(t) else t.array.shape[at] for t in tensors))  # type: ignore[no-any-return]


def check_equal_sizes(tensors: Sequence[Tensor]) -> None:
    """Raise RuntimeError for tensors of different shapes, which cannot be stacked."""
    shape = tensors[0].array.shape
    for i, t in enumerate(tensors):
        if t.array.shape != shape:
            text = f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(t.array.shape)} at entry {i}"
            raise shape_error(text)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension. Raises RuntimeError and LimitError."""
    check_tensors(tensors)
    if not tensors:
        raise runtime_error("stack expects a non-empty TensorList")
    wrap_dim(dim, tensors[0].array.ndim + 1)
    check_equal_sizes(tensors)
    _check_result(tensors)
    return STACK(tensors, dim)  # type: ignore[no-any-return]


def _stacked(name: str, prepare: Callable[[Tensor], Tensor], dim_of: Callable[[Tensor], int]) -> Callable[[Sequence[Tensor]], Tensor]:
    """A function such as hstack, which calls cat after `prepare` has given each tensor enough dimensions."""

    def run(tensors: Sequence[Tensor]) -> Tensor:
        check_tensors(tensors)
        if not tensors:
            raise runtime_error(f"{name} expects a non-empty TensorList")
        ready = [prepare(t) for t in tensors]
        return cat(ready, dim_of(ready[0]))

    return run


def _column(t: Tensor) -> Tensor:
    return reshape(t, (t.array.size, 1)) if t.array.ndim < 2 else t


hstack = _stacked("hstack", atleast_1d, lambda t: 0 if t.array.ndim == 1 else 1)
vstack = _stacked("vstack", atleast_2d, lambda t: 0)
dstack = _stacked("dstack", atleast_3d, lambda t: 2)
column_stack = _stacked("column_stack", _column, lambda t: 1)


def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """A matrix with the tensors, each of at most two dimensions, as blocks on its diagonal and 0 elsewhere."""
    if not tensors:
        return Tensor(np.zeros((1, 0), dtypes.get_default().np), dtypes.get_default())
    for i, t in enumerate(tensors):
        if t.array.ndim > 2:
            raise shape_error(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.array.ndim} dimensions")
    heights = tuple(t.array.shape[0] if t.array.ndim == 2 else 1 for t in tensors)
    widths = tuple(t.array.shape[1] if t.array.ndim == 2 else t.array.size for t in tensors)
    limits.check_elements(sum(heights) * sum(widths), 4)
    return BLOCK_DIAG(tensors, heights, widths)  # type: ignore[no-any-return]


_CAST: Any = {"lower": "torch.cat(): input types can't be cast to the desired output type {out}", "error": "TypeError"}
_M: Any = [[1.0, 2.0], [3.0, 4.0]]
_N: Any = [[5.0, 6.0]]
_V: Any = [1.0, 2.0]
_W: Any = [3.0, 4.0]


def _cat_out(tensors: Sequence[Any], **how: Any) -> Out:
    """How `cat` takes `out`, which may share memory with empty vectors alone."""
    empty = all(type(t) is Tensor and _is_skipped(t) for t in tensors)
    return Out(first=True, overlap="" if empty else "any", check=_check_strides, **how, **_CAST)


def _check_strides(out: Tensor, made: Tensor) -> None:
    """Refuse an `out` with another stride of a dimension of size 1, from which PyTorch computes how much it copies."""
    array = out.array
    if array.size and array.shape == made.array.shape and array.flags.c_contiguous and not memory_format.is_row_major(array):
        raise runtime_error("cat into an out with another stride of a dimension of size 1 is not part of gradcli")


def _kin(name: str, run: Any, doc: str, reference: Any, aliases: Sequence[str] = ()) -> Function:
    return Function(
        name,
        ("Tensors tensors", run),
        doc=doc,
        samples=(Sample(f"{name}((x, y))", lambda x, y: reference((x, y)), x=_V, y=_W),),
        method=False,
        aliases=aliases,
        out=lambda tensors: _cat_out(tensors, operator="cat"),
    )


FUNCTIONS = (
    Function(
        "cat",
        ("Tensors tensors, int dim=0", cat),
        doc="Tensors side by side along an existing dimension.",
        ops=(CAT,),
        samples=(
            Sample("cat([x, y])", lambda x, y: np.concatenate([x, y]), x=_M, y=_N),
            Sample("cat([x, x], dim=-1)", lambda x: np.concatenate([x, x], -1), x=_M),
        ),
        method=False,
        aliases=("concat", "concatenate"),
        out=lambda tensors, dim: _cat_out(tensors, inspect=_check_dim),
    ),
    Function(
        "stack",
        ("Tensors tensors, int dim=0", stack),
        doc="Tensors side by side along a new dimension.",
        ops=(STACK,),
        samples=(Sample("stack([x, y], -1)", lambda x, y: np.stack([x, y], -1), x=_V, y=_W),),
        method=False,
        out=Out(**_CAST),
    ),
    _kin("hstack", hstack, "Tensors side by side, column after column.", np.hstack),
    _kin("vstack", vstack, "Tensors below one another.", np.vstack, ("row_stack",)),
    _kin("dstack", dstack, "Tensors behind one another.", np.dstack),
    _kin("column_stack", column_stack, "Vectors as the columns of a matrix.", np.column_stack),
    ListFunction(
        "block_diag",
        ("Tensors tensors", block_diag),
        doc="A matrix with the tensors as blocks on its diagonal.",
        ops=(BLOCK_DIAG,),
        takes_list=False,
        samples=(Sample("block_diag(x, y)", None, x=_M, y=_V),),
        method=False,
    ),
)
