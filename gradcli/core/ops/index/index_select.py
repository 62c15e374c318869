"""Slices along one dimension, read or written: index_select, index_add, index_fill, index_copy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph import inplace_forms
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.graph.write_checks import check_overlap
from gradcli.core.kernels import Array, elementary, memory_format
from gradcli.core.kernels.scattering import add_at
from gradcli.core.ops.checks import Number, Operand, is_sample, size, wrap_dim
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.index.adding import combined_at, in_turn
from gradcli.core.ops.index.gather_scatter import check_dim, out_of_bounds, out_of_range
from gradcli.core.ops.rules import UNCHANGED, in_half_precision
from gradcli.core.ops.shape.broadcasting import expand
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def _at(dim: int, index: Array, rank: int) -> tuple[Any, ...]:
    """The index for numpy of whole slices along dimension `dim`."""
    return (slice(None),) * (dim % rank if rank else 0) + ((index.reshape(-1),) if rank else (...,))


def _index_select(a: Array, dim: int, index: Array) -> Array:
    return np.take(a, index.reshape(-1), axis=dim) if a.ndim else a.copy()


def _index_add(a: Array, source: Array, dim: int, index: Array, alpha: Any, dtype: DType | None = None) -> Array:
    """The sums; those of half precision, `dtype`, are rounded after each step where PyTorch does not add by `scatter_add`."""
    made = np.array(a)
    if not made.size:
        return made
    rank = made.ndim
    dim = dim % rank if rank else 0
    values = source.reshape((*made.shape[:dim], index.size, *made.shape[dim + 1 :])) if rank else source
    places = _at(dim, index, rank)
    if rank > 1 and alpha == 1 and dim in (0, rank - 1) and index.dtype == np.int64:
        return combined_at(made, places, values)
    dtype = dtypes.float16 if made.dtype == np.float16 else dtype
    if dtype is not None:
        side_by_side = dim == 0 and rank > 1 and a.flags.c_contiguous and source.flags.c_contiguous
        return _added_in_steps(made, places, values, alpha, dtype, values[0].size // _LANES * _LANES if side_by_side else 0)
    if rank > 1 and alpha != 1 and made.dtype.kind == "f":
        in_turn(made, places, values, lambda old, new: elementary.fused(new, alpha, old))
    else:
        add_at(made, places, values if alpha == 1 else values * alpha)
    return made


#: elements in half precision that PyTorch's vector code takes at a time
_LANES = 32


def _added_in_steps(made: Array, places: tuple[Any, ...], values: Array, alpha: Any, dtype: DType, once: int) -> Array:
    """Products with alpha, and each sum with one, rounded to half precision; the first `once` products of a slice in the sum alone."""
    wide = made.astype(np.float32)
    products = values.astype(np.float32) * dtypes.stored(np.asarray(alpha, np.float32), dtype)
    terms = dtypes.stored(products, dtype)
    if once:
        terms.reshape(len(terms), -1)[:, :once] = products.reshape(len(terms), -1)[:, :once]
    in_turn(wide, places, terms, lambda old, new: dtypes.stored(old + new, dtype))
    return wide.astype(made.dtype)


def _slices(xp: Any, grad: Any, dim: int, index: Any, source_shape: Any) -> Any:
    if 0 in grad.shape:
        _check_selected(tuple(grad.shape), wrap_dim(dim, len(grad.shape)), index)
    selected = xp.call(INDEX_SELECT, grad, dim, index)
    return xp.broadcast_to(selected, source_shape) if source_shape or selected.shape else selected  # PyTorch expands dimensions alone


def _added_rule(xp: Any, grad: Any, dim: int, index: Any, alpha: Any, source_shape: Any) -> Any:
    slices = _slices(xp, grad, dim, index, source_shape)
    if type(alpha) is complex:  # the walk conjugates all numbers of a rule, PyTorch not this one
        alpha = alpha.conjugate()
    return slices if alpha == 1 else scalars.times(xp, slices, alpha)


INDEX_SELECT: Op = Op(
    "IndexSelectBackward0",
    _index_select,
    "input",
    "dim index",
    input=Rule(
        lambda xp, grad, dim, index, input_shape, input_dtype: xp.call(
            _index_add_of(input_dtype), xp.zeros(input_shape, input_dtype), grad, dim, index, 1
        ),
        "zeros_like(input).index_add(dim, index, grad)",
    ),
    complex=True,
)
INDEX_ADD: Op = Op(
    "IndexAddBackward0",
    _index_add,
    "input source",
    "dim index alpha",
    saved="index source alpha dim source_dim",
    layout="contiguous",
    input=UNCHANGED,
    source=Rule(_added_rule, "alpha * grad.index_select(dim, index)"),
    complex=True,
)
_INDEX_ADD_BFLOAT = in_half_precision(INDEX_ADD, partial(_index_add, dtype=dtypes.bfloat16), "contiguous")


def _index_add_of(dtype: DType) -> Op:
    return _INDEX_ADD_BFLOAT if dtype is dtypes.bfloat16 else INDEX_ADD


def _filled(a: Array, value: Any, dim: int, index: Array) -> Array:
    made = np.array(a)
    if index.size and made.size:
        made[_at(dim, index, made.ndim)] = value
    return made


_UNFILLED = Rule(lambda xp, grad, dim, index: xp.call(INDEX_FILL, grad, dim, index, 0), "grad.index_fill(dim, index, 0)")
INDEX_FILL: Op = Op(
    "IndexFillBackward0",
    lambda a, dim, index, value: _filled(a, value, dim, index),
    "input",
    "dim index value",
    saved="index dim",
    layout="preserved",
    jvp="transpose",
    input=_UNFILLED,
    complex=True,
)


def _positions(grad: Array, dim: int, index: Array) -> Array:
    """The positions that were filled, once each. PyTorch's gradient selects them, which is an error for negative ones."""
    positions = np.unique(index)
    _check_selected(grad.shape, wrap_dim(dim, grad.ndim), positions)
    return positions


INDEX_FILL_TENSOR: Op = Op(
    "IndexFillBackward1",
    _filled,
    "input value",
    "dim index",
    layout="preserved",
    input=_UNFILLED,
    value=Rule(
        lambda xp, grad, dim, index: xp.sum(xp.call(INDEX_SELECT, grad, dim, _positions(xp.plain(grad), dim, index))),
        "grad.index_select(dim, index.unique()).sum()",
    ),
    complex=True,
    real_part=False,
)
INDEX_COPY: Op = Op(
    "IndexCopyBackward0",
    _filled,
    "input source",
    "dim index",
    saved="index source dim source_dim",
    layout="contiguous",
    input=_UNFILLED,
    source=Rule(lambda xp, grad, dim, index, source_shape: _slices(xp, grad, dim, index, source_shape), "grad.index_select(dim, index)"),
    complex=True,
)


def _check_selected(shape: tuple[int, ...], at: int, index: Array) -> None:
    """Raise the errors of `index_select` for positions out of range."""
    if len(shape) > 1 and not shape[at] and index.size:
        raise runtime_error("index_select(): self indexing axis dim should be positive", Code.AFTER_CHECKS)
    length = shape[at] if shape else 1
    bad = out_of_range(index, length)
    if bad is not None:
        if at == 1 or (len(shape) > 1 and 0 in shape):
            raise out_of_bounds(f"INDICES element is out of DATA bounds, id={bad} axis_dim={length}")
        raise out_of_bounds("index out of range in self", "IndexError")


def _of_batch(input: Tensor, at: int, index: Tensor) -> Tensor:
    """The slices of a sample within vmap, for which PyTorch gathers elements, so that vectors are not the only indices."""
    rank = input.array.ndim
    if rank > index.array.ndim:
        shape = list(input.array.shape)
        if index.array.ndim:
            shape[at] = index.array.shape[0]
            index = view(index, [shape[at] if d == at else 1 for d in range(rank)])
        index = expand(index, shape)
    return catalog.function("gather")(input, at, index)  # type: ignore[no-any-return]


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of dimension `dim` that `index`, a vector, lists."""
    rank = input.array.ndim
    at = wrap_dim(dim, rank)
    if is_sample(input) or is_sample(index):
        return _of_batch(input, at, index)
    if index.array.ndim > 1:
        raise ProgramError("IndexError", "index_select(): Index is supposed to be a vector")
    if not rank and index.array.size != 1:
        raise shape_error(f"index_select(): Index to scalar can have only 1 value, got {index.array.size} value(s)")
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise runtime_error("index_select(): Expected dtype int32 or int64 for index")
    length = input.array.shape[at] if rank else 1
    _check_selected(input.array.shape, at, index.array)
    limits.check_elements(input.array.size // max(length, 1) * index.array.size, input.dtype.itemsize)
    return INDEX_SELECT(input, dim, watched(index))  # type: ignore[no-any-return]


def check_index_and_source(name: str, input: Tensor, at: int, index: Tensor, source: Tensor) -> None:
    """Raise PyTorch's errors for an index that is no vector of integers, and for a source of another dtype or with other slices."""
    given = source.array.shape
    if index.array.ndim > 1:
        shown = f"dim: {index.array.ndim} with type: {index.dtype.torch_name} and size: {list(index.array.shape)}"
        raise ProgramError("IndexError", f"{name}_(): Index is supposed to be a vector, but got {shown}")
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise runtime_error(f"{name}_(): Expected dtype int32/int64 for index but got: {index.dtype.torch_name}")
    if input.dtype is not source.dtype:
        raise runtime_error(
            f"{name}_(): self ({input.dtype.torch_name}) and source ({source.dtype.torch_name}) must have the same scalar type"
        )
    if at >= max(len(given), 1):
        raise runtime_error(f"{name}_(): Indexing dim {at} is out of bounds of the source tensor with dim {len(given)}")
    length = given[at] if given else 1
    if index.array.size != length:
        size(source, at)  # raises the error for a 0-d tensor, which has no sizes
        text = f"{name}_(): Number of indices ({index.array.size}) should be equal to source.size(dim): ({length}), for dim: {at}"
        raise shape_error(text)


def different_slices(input: Tensor, source: Tensor) -> ProgramError:
    """The error for slices of another shape."""
    return shape_error(
        "source tensor shape must match self tensor shape, excluding the specified dimension. "
        f"Got self.shape = {list(input.array.shape)} source.shape = {list(source.array.shape)}"
    )


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Number = 1) -> Tensor:
    """A copy with the slices of `source`, times alpha, added to the slices of dimension `dim` that `index` lists."""
    at = wrap_dim(dim, input.array.ndim)
    have, given = input.array.shape, source.array.shape
    check_index_and_source("index_add", input, at, index, source)
    if len(have) != len(given) or any(n != m for k, (n, m) in enumerate(zip(have, given, strict=True)) if k != at):
        raise different_slices(input, source)
    length = have[at] if have else 1
    bad = out_of_range(index.array, length)
    if bad is not None and (len(have) < 2 or input.array.size):  # PyTorch adds nothing to a matrix without elements
        if len(have) < 2 or (at and len(have) > 2) or index.dtype is not dtypes.int64 or alpha != 1:
            raise out_of_bounds("index out of range in self", "IndexError")
        raise out_of_bounds(f"index {bad} is out of bounds for dimension {at} with size {length}")
    if not input.dtype.is_differentiable:
        alpha = scalar_of(alpha, input.dtype)
    return _index_add_of(input.dtype)(input, source, dim, watched(index), alpha)  # type: ignore[no-any-return]


def _check_storage(input: Tensor, at: int, count: int) -> None:
    """Raise PyTorch's error for `count` slices of a tensor that has no elements, if they were to have some."""
    sizes, strides = list(input.array.shape), list(memory_format.element_strides(input.array))
    sizes[at], strides[at] = count, 0
    if all(sizes):
        needed = (1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))) * input.dtype.itemsize
        raise runtime_error(
            f"setStorage: sizes {sizes}, strides {strides}, storage offset 0, and itemsize {input.dtype.itemsize} requiring a storage size "
            f"of {needed} are out of bounds for storage of size 0"
        )


def index_fill(input: Tensor, dim: int, index: Tensor, value: Operand) -> Tensor:
    """A copy with one value, a number or a 0-d tensor, in the slices of dimension `dim` that `index` lists."""
    rank = input.array.ndim
    if type(value) is Tensor and value.array.ndim:
        raise runtime_error(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.array.ndim} dimension(s).")
    if index.dtype is not dtypes.int64:
        raise ProgramError("IndexError", "index_fill_(): Expected dtype int64 for index.")
    if not input.dtype.is_complex and (type(value) is complex or (type(value) is Tensor and value.dtype.is_complex)):
        raise runtime_error("index_fill_(): Converting complex Scalar to non-complex type is not supported", Code.NUMBER_TOO_LARGE)
    at = wrap_dim(dim, rank)
    if index.array.ndim > 1:
        raise shape_error("Index has to be a vector/scalar")
    length = input.array.shape[at] if rank else 1
    if rank and not input.array.size:
        _check_storage(input, at, index.array.size)
    number = scalar_of(value.item() if type(value) is Tensor else value, input.dtype)
    bad = out_of_range(index.array, length, -length)
    if bad is not None and input.array.size:
        raise out_of_bounds(f"index {bad} is out of bounds for dimension {at} with size {length}", "IndexError")
    if type(value) is Tensor:
        return INDEX_FILL_TENSOR(input, value, dim, watched(index))  # type: ignore[no-any-return]
    return INDEX_FILL(input, dim, watched(index), number)  # type: ignore[no-any-return]


def _index_fill_(input: Tensor, dim: int, index: Tensor, value: Operand) -> Tensor:
    """`index_fill` for the in-place form, whose index may not be in the memory that is written."""
    made = index_fill(input, dim, index, value)
    if index.batch is None and input.batch is None:
        check_overlap(input, index, apart=True)
    return made


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with the slices of `source` in place of the slices of dimension `dim` that `index` lists."""
    at = wrap_dim(dim, input.array.ndim)
    have, given = input.array.shape, source.array.shape
    if index.array.ndim > 1:
        raise shape_error(f"index_copy_(): Index should have dimension 1 or 0 (got {index.array.ndim})", "IndexError")
    if not given and index.array.size != 1:
        raise shape_error(f"index_copy_(): When source is scalar, index should have one element (got {index.array.size})", "IndexError")
    if have and given and len(have) != len(given):
        raise shape_error(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality "
            f"({len(given)}), destination dimensionality ({len(have)})",
            "IndexError",
        )
    if index.dtype is not dtypes.int64:
        raise runtime_error(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.torch_name}")
    if input.dtype is not source.dtype:
        raise runtime_error(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {input.dtype.torch_name} and (source) "
            f"{source.dtype.torch_name}"
        )
    slice_a, slice_b = have[:at] + have[at + 1 :], given[:at] + given[at + 1 :]
    if slice_a != slice_b:
        raise shape_error(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, slice_a))} at dimension {at} and source slice shape: {' '.join(map(str, slice_b))} at dimension 0."
        )
    count = given[at] if given else 1
    if index.array.size != count:
        text = f"index_copy_(): Number of indices ({index.array.size}) should be equal to source.size(dim) ({count})"
        raise shape_error(text, "IndexError")
    length = have[at] if have else 1
    if have and not input.array.size:
        _check_storage(input, at, index.array.size)
    bad = out_of_range(index.array, length)
    if bad is not None and input.array.size:
        raise out_of_bounds(f"index_copy_(): index {bad} is out of bounds for dimension {at} with size {length}", "IndexError")
    return INDEX_COPY(input, source, dim, watched(index))  # type: ignore[no-any-return]


def _index_copy_(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Any:
    """`index_copy` for the in-place form, of which PyTorch checks the memory before the arguments."""
    wrap_dim(dim, input.array.ndim)
    inplace_forms.check_apart(input, (index, source))
    return index_copy(input, dim, index, source)


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_V: Any = [7.0, 8.0]
_COPIED = "Tensor input, int dim, Tensor index, Tensor source"


def shaped_as_input(check: Callable[[list[Any], Tensor], None] = check_dim) -> Out:
    """How functions whose result has the shape of the input take `out`, after a check that looks by default at the dimension alone."""
    return Out(EXACT, first=True, memory="resized", inspect=check)


FUNCTIONS = (
    Function(
        "index_select",
        ("Tensor input, int dim, Tensor index", index_select),
        doc="The slices of a dimension that an index lists.",
        ops=(INDEX_SELECT,),
        samples=(Sample("index_select(x, 1, tensor([2, 0, 2]))", lambda x: x[:, [2, 0, 2]], x=_M),),
        out=Out("{name}(): self and result must have the same scalar type"),
        overlap="any",
    ),
    Function(
        "index_add",
        ("Tensor input, int dim, Tensor index, Tensor source, *, Number alpha=1", index_add),
        doc="A copy with slices of source added at the slices that an index lists.",
        ops=(INDEX_ADD,),
        samples=(Sample("index_add(x, 0, tensor([0, 0]), x, alpha=2)", None, x=_M),),
        inplace=True,
        out=Out(EXACT, memory="resized"),
        overlap="any",
    ),
    Function(
        "index_fill",
        ("Tensor input, int dim, Tensor index, Tensor value", index_fill),
        ("Tensor input, int dim, Tensor index, Number value", index_fill),
        doc="A copy with the slices that an index lists filled with one value.",
        ops=(INDEX_FILL, INDEX_FILL_TENSOR),
        samples=(Sample("index_fill(x, 1, tensor([0]), 5.0)", None, x=_M), Sample("index_fill(x, 1, tensor([0]), v[0])", None, x=_M, v=_V)),
        written=(
            ("Tensor input, int dim, Tensor index, Tensor value", _index_fill_),
            ("Tensor input, int dim, Tensor index, Number value", _index_fill_),
        ),
        inplace=True,
        fills=True,
    ),
    Function(
        "index_copy",
        (_COPIED, index_copy),
        doc="A copy with slices of source written at the slices that an index lists.",
        ops=(INDEX_COPY,),
        samples=(Sample("index_copy(x, 0, tensor([1]), y)", None, x=_M, y=[[7.0, 8.0, 9.0]]),),
        written=((_COPIED, _index_copy_),),
        inplace=True,
        out=shaped_as_input(),
        overlap="any",
    ),
)
