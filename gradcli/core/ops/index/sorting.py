"""Sorting and selecting: sort, argsort, msort, topk, kthvalue, searchsorted, bucketize."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import NamedResult
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.write_checks import check_overlap, warn_of_samples
from gradcli.core.kernels import Array, memory_format, selection
from gradcli.core.ops.checks import Operand, refuse_bool, refuse_complex, wrap_dim
from gradcli.core.ops.index.gather_scatter import out_of_range
from gradcli.core.ops.index.selection import check_nonempty, check_sorting, keeping, of_nothing, reducing, result, with_dimension
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of, wrapped
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error, shape_error


def _order(x: Array, dim: int, descending: bool) -> Array:
    """The indices that sort stably along dim; nan is the largest."""
    check_sorting(x)
    return selection.stable_order(x, dim, descending)


def _stable(x: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    order = _order(x, dim, descending)
    return np.take_along_axis(x, order, dim), order


def unstable_order(x: Array, dim: int, descending: bool) -> Array:
    """The indices that sort as PyTorch does: short rows by insertion, which is stable, longer ones by std::sort, which is not."""
    order = _order(x, dim, descending)
    if x.size and x.shape[dim] > 16 and x.strides[dim]:
        return selection.with_ties(x, dim, order, lambda row: _sort_row(row, descending))
    return order


def _sort_row(row: Array, descending: bool) -> list[int]:
    less, greater = selection.comparisons(row)
    order = list(range(len(row)))
    selection.sort(order, 0, len(row), greater if descending else less)
    return order


def _sorted(x: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    order = unstable_order(x, dim, descending)
    return np.take_along_axis(x, order, dim), order


SORT = keeping("SortBackward0", _sorted, "descending")
#: the overload with the parameter `stable`
SORT_STABLE, _SORT_UNSTABLE = keeping("SortBackward1", _stable, "descending"), keeping("SortBackward1", _sorted, "descending")


def sort(input: Tensor, dim: int = -1, descending: bool = False) -> NamedResult:
    """The values in order along dim, and their indices in the input."""
    return result("sort", SORT(input, dim, descending))


def sort_stable(input: Tensor, stable: bool, dim: int, descending: bool) -> NamedResult:
    """`sort` called with `stable`: if True, equal elements keep their order."""
    return result("sort", (SORT_STABLE if stable else _SORT_UNSTABLE)(input, dim, descending))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort along dim."""
    at = wrap_dim(dim, input.array.ndim)
    refuse_complex("argsort", input.dtype)
    if not input.array.ndim:
        return wrap(np.zeros((), np.int64))
    order = (_order if stable else unstable_order)(input.array, at, descending)
    return wrap(memory_format.laid_out(order.astype(np.int64, copy=False), memory_format.preserved(input.array)))


def msort(input: Tensor) -> Tensor:
    """The values in order along the first dimension."""
    return SORT(input, 0, False)[0]


# --- selection, with PyTorch's algorithms, which decide about the indices of equal elements ---


def _topk(x: Array, dim: int, k: int, largest: bool, ordered: bool) -> tuple[Array, Array]:
    check_sorting(x)
    if k == 0 or not x.size:
        return of_nothing(x, dim, k)
    index = selection.top(x, dim, k, largest, ordered)
    return np.take_along_axis(x, index, dim), index


TOPK = keeping("TopkBackward0", _topk, "k largest sorted", "contiguous")


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> NamedResult:
    """The k largest (or smallest) values along dim in order, and their indices."""
    at = wrap_dim(dim, input.array.ndim)
    size = input.array.shape[at] if input.array.ndim else 1
    if not 0 <= k <= size:
        raise runtime_error("selected index k out of range")
    if input.dtype is dtypes.bool_:
        raise runtime_error("topk does not support bool dtypes on CPU")
    if not input.array.ndim:
        k = 1
    return result("topk", TOPK(input, dim, k, largest, sorted))


def _kth_of_row(row: Array, k: int) -> int:
    order = list(range(len(row)))
    selection.quickselect(order, k, selection.comparisons(row)[1])
    return order[k]


def _kthvalue(x: Array, dim: int, k: int) -> tuple[Array, Array]:
    check_sorting(x)
    if not x.size:
        return of_nothing(x, dim)
    near = slice(max(k - 2, 0), k + 1)  # elements equal to the one that is asked for stand beside it
    index = selection.with_ties(x, dim, np.take(_order(x, dim, False), [k - 1], dim), lambda row: _kth_of_row(row, k - 1), near)
    return np.take_along_axis(x, index, dim), index


KTHVALUE = reducing("KthvalueBackward0", _kthvalue, "k")


def _check_rank(input: Tensor, k: int, dim: int) -> None:
    """Raise the errors of `kthvalue` for dimensions and for a rank k that the dimension does not have."""
    at = wrap_dim(dim, input.array.ndim)
    size = input.array.shape[at] if input.array.ndim else 1
    check_nonempty("kthvalue", input, dim)
    if not 1 <= k <= size:
        raise shape_error(f"kthvalue(): selected number k out of range for dimension {at}")


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> NamedResult:
    """The k-th smallest value (counted from 1) along dim, and its index."""
    _check_rank(input, k, dim)
    if input.array.ndim:
        refuse_bool("kthvalue_cpu", input.dtype)
    return result("kthvalue", KTHVALUE(input, dim, keepdim, k))


def _topk_shape(values: list[Any]) -> tuple[int, ...] | None:
    """The shape of the elements that `topk` selects; None where it refuses to."""
    input, k, dim, *_ = values
    shape = input.array.shape
    if input.dtype is dtypes.bool_ or not shape or not -len(shape) <= dim < len(shape) or not 0 <= k <= shape[dim]:
        return None
    return (*shape[: dim % len(shape)], k, *shape[dim % len(shape) + 1 :])


def _kth_out(input: Tensor, k: int, dim: int, keepdim: bool) -> Out:
    def check(values: list[Any], out: Any) -> None:
        _check_rank(input, k, dim)
        if input.array.flags.c_contiguous:  # other tensors are copied before
            check_overlap(out[0], input, True)

    fields = {"values": "output values must be of same type as input", "indices": "output indices must be of scalar type Long"}
    return Out(fields, inspect=check, compared=with_dimension(lambda own, rank, at: own == rank - 1, input.array.ndim, dim, keepdim))


# --- searchsorted ---


def _array_of(value: Operand, dtype: DType) -> Array:
    """The array of a tensor, or of a number beside tensors of that dtype."""
    if type(value) is Tensor:
        return value.array
    return np.array(wrapped(value, dtype) if type(value) is int else scalar_of(value, dtype), dtype.np)


def _positions(boundaries: Array, values: Array, right: bool) -> Array:
    """PyTorch's binary search, which also decides about boundaries that are not sorted and about nan."""
    start, end = np.zeros(values.shape, np.int64), np.full(values.shape, len(boundaries))
    for _ in range(len(boundaries).bit_length()):
        middle = (start + end) >> 1
        found = boundaries[np.minimum(middle, len(boundaries) - 1)]
        within = found > values if right else found >= values
        open_ = start < end
        start, end = np.where(open_ & ~within, middle + 1, start), np.where(open_ & within, middle, end)
    return start


def _warn_of_strides(sequence: Tensor, values: Operand, sorter: Tensor | None) -> None:
    for kind, tensor, line in (("input value", values, 32), ("boundary", sequence, 38), ("sorter", sorter, 44)):
        if type(tensor) is Tensor and not tensor.array.flags.c_contiguous:
            warnings.emit(
                f"torch.searchsorted(): {kind} tensor is non-contiguous, this will lower the performance due to extra data copy when "
                f"converting non-contiguous tensor to contiguous, please use contiguous {kind} tensor if possible. This message will only "
                "appear once per program. (Triggered internally at "
                f"/__w/pytorch/pytorch/aten/src/ATen/native/BucketizationUtils.h:{line}.)",
                once=f"searchsorted {kind}",
            )


def _check_search(rows: tuple[int, ...], wanted: tuple[int, ...], right: bool, side: str | None, sorter: Tensor | None) -> None:
    """Raise RuntimeError for boundaries of the shape `rows` and values of the shape `wanted` that do not fit, and for wrong options."""
    if side not in (None, "left", "right"):
        raise runtime_error(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        text = "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        raise runtime_error(text)
    if sorter is not None:
        if sorter.array.shape != rows:
            raise shape_error(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(rows)}and got sorter tensor {list(sorter.array.shape)}"
            )
        if sorter.dtype is not dtypes.int64:
            raise runtime_error(f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype.torch_name}")
        if rows and out_of_range(sorter.array, rows[-1]) is not None:
            raise runtime_error("torch.searchsorted(): sorter index out of range")
    if not wanted and len(rows) != 1:
        raise shape_error(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor "
            f"dim({len(rows)}) and input value's dim(0) numel(1)"
        )
    if not rows:
        raise shape_error("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    if len(rows) > 1 and rows[:-1] != wanted[:-1]:
        raise shape_error(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
            f"value tensor must match, but we got boundaries tensor {list(rows)} and input value tensor {list(wanted)}"
        )


def searchsorted(
    sequence: Tensor, values: Operand, small: bool, right: bool, side: str | None = None, sorter: Tensor | None = None
) -> Tensor:
    """The positions at which values would be inserted to keep each row of the sequence in order; `small`: as int32.

    `sorter` has the indices that sort each row.
    """
    shape = values.array.shape if type(values) is Tensor else ()
    if type(values) is not Tensor:
        warn_of_samples("searchsorted.Scalar", sequence)
    _check_search(sequence.array.shape, shape, right, side, sorter)
    find: Any = partial(_positions, right=right or side == "right")
    dtype = np.int32 if small else np.int64
    if 0 in shape:
        return wrap(np.zeros(shape, dtype))
    common = dtypes.result_type((sequence, values))
    _warn_of_strides(sequence, values, sorter)
    refuse_bool("searchsorted_out_cpu", common)
    refuse_complex("searchsorted", common)
    boundaries, wanted = (dtypes.cast(_array_of(v, common), common) for v in (sequence, values))
    if sorter is not None:
        boundaries = np.take_along_axis(boundaries, sorter.array, -1)
    if boundaries.ndim == 1:
        return wrap(np.asarray(find(boundaries, wanted), dtype))
    made = np.empty(wanted.shape, dtype)
    for place in np.ndindex(boundaries.shape[:-1]):
        made[place] = find(boundaries[place], wanted[place])
    return wrap(made)


_X = [0.5, -1.5, 2.0, 1.0]
_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]
_SEARCH = "*, bool out_int32=False, bool right=False"


def _check_vector(boundaries: Tensor) -> None:
    if boundaries.array.ndim != 1:
        raise shape_error(f"boundaries tensor must be 1 dimension, but got dim({boundaries.array.ndim})")


def _bucketize(values: Operand, boundaries: Tensor, small: bool, right: bool) -> Tensor:
    _check_vector(boundaries)
    return searchsorted(boundaries, values, small, right)


def _search_out(sequence: Tensor, values: Operand, small: bool, right: bool, side: str | None = None, sorter: Tensor | None = None) -> Out:
    shape = values.array.shape if type(values) is Tensor else ()

    def check(_: list[Any], out: Tensor) -> None:
        _check_search(sequence.array.shape, shape, right, side, sorter)

    text = "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 "
    text += f"flag is True, but we got output tensor's dtype {{out}} and out_int32 flag is {small}"
    return Out(text, dtype=dtypes.int32 if small else dtypes.int64, first=True, inspect=check, shape=lambda _: shape)


def _bucket_out(values: Operand, boundaries: Tensor, small: bool, right: bool) -> Out:
    _check_vector(boundaries)
    return _search_out(boundaries, values, small, right)


def _check_topk(values: list[Any], out: Any) -> None:
    if _topk_shape(values) is None or values[0].dtype.is_complex:
        topk(*values)  # raises the error


_FIELDS = dict.fromkeys(("values", "indices"), EXACT)
_TOPK_OUT = Out(_FIELDS, first=True, memory="resized", overlap="partial", inspect=_check_topk, shape=_topk_shape)

FUNCTIONS = (
    Function(
        "sort",
        ("Tensor input, *, bool? stable, int dim=-1, bool descending=False |2 outs", sort_stable),
        ("Tensor input, int dim=-1, bool descending=False |2 outs", sort),
        doc="Values in order along dim, and the indices they come from.",
        ops=(SORT, SORT_STABLE),
        samples=(Sample("sort(x).values", np.sort, x=_X), Sample("x.sort(0, descending=True).values", lambda x: -np.sort(-x, 0), x=_M)),
        out=Out(EXACT, overlap="partial"),
    ),
    Function(
        "argsort",
        (
            "Tensor input, *, bool stable, int dim=-1, bool descending=False",
            lambda x, stable, dim, descending: argsort(x, dim, descending, stable),
        ),
        ("Tensor input, int dim=-1, bool descending=False |no out", argsort),
        doc="The indices that sort along dim.",
        samples=(Sample("argsort(tensor([3., 1., 2.]))"),),
        out=Out(EXACT, dtype=dtypes.int64, operator="sort"),
    ),
    Function(
        "msort",
        ("Tensor input", msort),
        doc="Values in order along the first dimension.",
        ops=(SORT,),
        samples=(Sample("msort(x)", lambda x: np.sort(x, 0), x=_M),),
        out=Out(EXACT, operator="sort", overlap="partial"),
    ),
    Function(
        "topk",
        ("Tensor input, symint k, int dim=-1, bool largest=True, bool sorted=True |2 outs", topk),
        doc="The k largest or smallest values along dim, and their indices.",
        ops=(TOPK,),
        out=_TOPK_OUT,
        samples=(
            Sample("topk(x, 2).values", lambda x: -np.sort(-x)[:2], x=_X),
            Sample("x.topk(1, dim=0, largest=False)[0]", lambda x: np.min(x, 0, keepdims=True), x=_M),
        ),
    ),
    Function(
        "kthvalue",
        ("Tensor input, symint k, int dim=-1, bool keepdim=False |2 outs", kthvalue),
        doc="The k-th smallest value along dim, and its index.",
        ops=(KTHVALUE,),
        out=_kth_out,
        samples=(
            Sample("kthvalue(x, 2).values", lambda x: np.sort(x)[1], x=_X),
            Sample("x.kthvalue(1, 0, True).values", lambda x: np.min(x, 0, keepdims=True), x=_M),
        ),
    ),
    Function(
        "searchsorted",
        (f"Tensor sorted_sequence, Tensor input, {_SEARCH}, str? side=None, Tensor? sorter=None", searchsorted),
        (f"Tensor sorted_sequence, Number self, {_SEARCH}, str? side=None, Tensor? sorter=None", searchsorted),
        doc="Where values would be inserted into a sorted sequence.",
        samples=(Sample("searchsorted(tensor([1., 3., 5.]), 4.)"),),
        method=False,
        out=_search_out,
    ),
    Function(
        "bucketize",
        (f"Tensor input, Tensor boundaries, {_SEARCH}", _bucketize),
        (f"Number self, Tensor boundaries, {_SEARCH} |no out", _bucketize),
        doc="Which bucket between sorted boundaries each value falls into.",
        samples=(Sample("bucketize(tensor([2., 6.]), tensor([1., 3., 5.]))"),),
        method=False,
        out=_bucket_out,
    ),
)
