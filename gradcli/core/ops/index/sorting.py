"""Sorting and selecting: sort, argsort, topk, kthvalue, msort, unique, searchsorted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.named_tuples import NamedResult
from gradcli.core.functions.function import Function, Sample
from gradcli.core.kernels import selection
from gradcli.core.ops import checks
from gradcli.core.ops.index.selection import keeping, reducing, result
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError

#: rows longer than this are ordered by numpy, whose order of equal elements is not torch's
_EMULATED = 1 << 16


def _check_work(x: Array) -> None:
    limits.check_work(x.size * max(x.size.bit_length(), 1))


def _order(x: Array, dim: int, descending: bool) -> Array:
    """The stable order; nan is the largest."""
    _check_work(x)
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    # the order of the reversed array, reversed, keeps equal elements in place
    back = np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)
    return np.asarray(x.shape[dim] - 1 - back)


def _stable(x: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    order = _order(x, dim, descending)
    return np.take_along_axis(x, order, dim), order


def _unstable_order(x: Array, dim: int, descending: bool) -> Array:
    """torch sorts short rows by insertion, which is stable, and longer ones as C++ does, which is not."""
    if x.size and x.shape[dim] > 16 and has_ties(x, dim):
        _check_work(x)
        return rows(x, dim, x.shape[dim], lambda row: _sort_row(row, descending))
    return _order(x, dim, descending)


def _sort_row(row: Array, descending: bool) -> list[int]:
    less, greater = comparisons(row)
    order = list(range(len(row)))
    selection.sort(order, 0, len(row), greater if descending else less)
    return order


def _sorted(x: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    order = _unstable_order(x, dim, descending)
    return np.take_along_axis(x, order, dim), order


SORT = keeping("SortBackward0", _sorted, "descending")
#: the overload that names `stable`
SORT_STABLE = keeping("SortBackward1", _stable, "descending")


def sort(input: Tensor, dim: int = -1, descending: bool = False) -> NamedResult:
    """Values in order and where they come from."""
    return result("sort", SORT(input, dim, descending))


def sort_stable(input: Tensor, stable: bool, dim: int, descending: bool) -> NamedResult:
    """The same, with equal elements in their order where `stable`."""
    record = SORT_STABLE if stable else _SORT_NAMED
    return result("sort", record(input, dim, descending))


_SORT_NAMED = keeping("SortBackward1", _sorted, "descending")


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where the sorted values come from."""
    at = checks.wrap_dim(dim, input.array.ndim)
    if not input.array.ndim:
        return wrap(np.zeros((), np.int64))
    order = (_order if stable else _unstable_order)(input.array, at, descending)
    return wrap(np.ascontiguousarray(order, np.int64))


def msort(input: Tensor) -> Any:
    """Values in order along the first dimension."""
    return SORT(input, 0, False)[0]


# --- selection; the place of equal elements follows torch's algorithms ---


def comparisons(row: Array) -> tuple[selection.Less, selection.Less]:
    """`less` and `greater` between positions of a row, nan above everything."""
    values = row.tolist()

    def less(i: int, j: int) -> bool:
        a, b = values[i], values[j]
        return bool(a < b or (b != b and a == a))

    return less, lambda i, j: less(j, i)


def rows(x: Array, dim: int, count: int, choose: Callable[[Array], Any]) -> Array:
    """The indices that `choose` gives for each row along `dim`; `count` of them replace the dimension."""
    along = np.moveaxis(x, dim, -1)
    made = np.empty((*along.shape[:-1], count), np.int64)
    for place in np.ndindex(along.shape[:-1]):
        made[place] = choose(along[place])
    return np.moveaxis(made, -1, dim)


def has_ties(x: Array, dim: int) -> bool:
    """Whether equal elements (nan among them) occur along a dimension of reasonable length."""
    if x.shape[dim] > _EMULATED:
        return False
    ordered = np.sort(x, axis=dim)
    low, high = np.take(ordered, range(x.shape[dim] - 1), dim), np.take(ordered, range(1, x.shape[dim]), dim)
    return bool((np.equal(low, high) | (np.not_equal(low, low) & np.not_equal(high, high))).any())


def _top_of_row(row: Array, k: int, largest: bool) -> list[int]:
    less, greater = comparisons(row)
    before = greater if largest else less
    order = list(range(len(row)))
    if k * 64 <= len(row):
        selection.partial_sort(order, 0, k, len(row), before)
    else:
        selection.nth_element(order, k - 1, before)
        selection.sort(order, 0, k - 1, before)
    return order[:k]


def _topk(x: Array, dim: int, k: int, largest: bool, ordered: bool) -> tuple[Array, Array]:
    _check_work(x)
    if k == 0 or not x.size:
        index = np.zeros((*x.shape[:dim], k, *x.shape[dim + 1 :]), np.int64)
    elif has_ties(x, dim):
        index = rows(x, dim, k, lambda row: _top_of_row(row, k, largest))
    else:
        index = np.take(_order(x, dim, largest), range(k), dim)
    return np.take_along_axis(x, index, dim) if x.size else np.zeros(index.shape, x.dtype), index


TOPK = keeping("TopkBackward0", _topk, "k largest sorted")


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> NamedResult:
    """The k largest (or smallest) values, in order, and where they are."""
    at = checks.wrap_dim(dim, input.array.ndim)
    size = input.array.shape[at] if input.array.ndim else 1
    if not 0 <= k <= size:
        raise ProgramError("RuntimeError", "selected index k out of range")
    if input.dtype is dtypes.bool_:
        raise ProgramError("RuntimeError", "topk does not support bool dtypes on CPU")
    if not input.array.ndim:
        k = 1
    return result("topk", TOPK(input, dim, k, largest, sorted))


def _kth_of_row(row: Array, k: int) -> int:
    order = list(range(len(row)))
    selection.quickselect(order, k, comparisons(row)[1])
    return order[k]


def _kthvalue(x: Array, dim: int, k: int) -> tuple[Array, Array]:
    _check_work(x)
    if not x.size:
        index = np.zeros((*x.shape[:dim], 1, *x.shape[dim + 1 :]), np.int64)
        return np.zeros(index.shape, x.dtype), index
    tied = has_ties(x, dim)
    index = rows(x, dim, 1, lambda row: _kth_of_row(row, k - 1)) if tied else np.take(_order(x, dim, False), [k - 1], dim)
    return np.take_along_axis(x, index, dim), index


KTHVALUE = reducing("KthvalueBackward0", _kthvalue, "k")


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> NamedResult:
    """The k-th smallest value (counted from 1), and where it is."""
    at = checks.wrap_dim(dim, input.array.ndim)
    size = input.array.shape[at] if input.array.ndim else 1
    if not size:
        raise ProgramError("IndexError", f"kthvalue(): Expected reduction dim {at} to have non-zero size.")
    if not 1 <= k <= size:
        raise ProgramError("RuntimeError", f"kthvalue(): selected number k out of range for dimension {at}")
    if input.dtype is dtypes.bool_:
        raise checks.not_implemented("kthvalue_cpu", input.dtype)
    return result("kthvalue", KTHVALUE(input, dim, keepdim, k))


# --- unique, searchsorted ---


def unique(input: Tensor, sorted: bool, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    """The distinct values in order; with dim, the distinct slices."""
    _check_work(input.array)
    if dim is not None:
        if not input.array.ndim:
            raise ProgramError("IndexError", f"Dimension specified as {dim} but tensor has no dimensions")
        dim = checks.wrap_dim(dim, input.array.ndim)
    values, inverse, counts = np.unique(input.array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    parts: list[Tensor] = [Tensor(np.ascontiguousarray(values), input.dtype)]
    if return_inverse:
        parts.append(wrap(np.asarray(inverse, np.int64).reshape(input.array.shape if dim is None else (-1,))))
    if return_counts:
        parts.append(wrap(np.asarray(counts, np.int64)))
    return parts[0] if len(parts) == 1 else tuple(parts)


def searchsorted(sequence: Tensor, values: Any, right: bool, side: str | None) -> Tensor:
    """Where the values would be inserted to keep the sequence in order, row by row where it has rows."""
    if side not in (None, "left", "right"):
        raise ProgramError("RuntimeError", f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    find: Any = partial(np.searchsorted, side="right" if right or side == "right" else "left")
    boundaries = sequence.array
    wanted = values.array if type(values) is Tensor else np.asarray(values)
    if boundaries.ndim <= 1:
        return wrap(np.asarray(find(boundaries.reshape(-1), wanted), np.int64))
    if boundaries.shape[:-1] != wanted.shape[:-1]:
        raise ProgramError(
            "RuntimeError",
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
            f"value tensor must match, but we got boundaries tensor {list(boundaries.shape)} and input value tensor {list(wanted.shape)}",
        )
    made = np.empty(wanted.shape, np.int64)
    for place in np.ndindex(boundaries.shape[:-1]):
        made[place] = find(boundaries[place], wanted[place])
    return wrap(made)


_X = [0.5, -1.5, 2.0, 1.0]
_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]
_SEARCH = "*, bool out_int32=False, bool right=False, str? side=None"


def _as_index(found: Tensor, small: bool) -> Tensor:
    return wrap(found.array.astype(np.int32)) if small else found


FUNCTIONS = (
    Function(
        "sort",
        ("Tensor input, *, bool stable, int dim=-1, bool descending=False |outs", sort_stable),
        ("Tensor input, int dim=-1, bool descending=False |outs", sort),
        doc="Values in order along dim, and the indices they come from.",
        ops=(SORT, SORT_STABLE),
        samples=(
            Sample("sort(x).values", np.sort, x=_X),
            Sample("x.sort(0, descending=True).values", lambda x: -np.sort(-x, 0), x=_M),
        ),
        out=True,
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
        out=True,
    ),
    Function(
        "msort",
        ("Tensor input", msort),
        doc="Values in order along the first dimension.",
        ops=(SORT,),
        samples=(Sample("msort(x)", lambda x: np.sort(x, 0), x=_M),),
        out=True,
    ),
    Function(
        "topk",
        ("Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True", topk),
        doc="The k largest or smallest values along dim, and their indices.",
        ops=(TOPK,),
        samples=(
            Sample("topk(x, 2).values", lambda x: -np.sort(-x)[:2], x=_X),
            Sample("x.topk(1, dim=0, largest=False)[0]", lambda x: np.min(x, 0, keepdims=True), x=_M),
        ),
    ),
    Function(
        "kthvalue",
        ("Tensor input, int k, int dim=-1, bool keepdim=False", kthvalue),
        doc="The k-th smallest value along dim, and its index.",
        ops=(KTHVALUE,),
        samples=(
            Sample("kthvalue(x, 2).values", lambda x: np.sort(x)[1], x=_X),
            Sample("x.kthvalue(1, 0, True).values", lambda x: np.min(x, 0, keepdims=True), x=_M),
        ),
    ),
    Function(
        "unique",
        ("Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None", unique),
        doc="The distinct values in order, on request with where each element went and how often each occurs.",
        samples=(Sample("unique(tensor([3, 1, 3]), return_counts=True)"),),
        method=False,
        python="_return_output",
    ),
    Function(
        "Tensor.unique",
        ("Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None", unique),
        doc="The distinct values in order, on request with where each element went and how often each occurs.",
        samples=(Sample("tensor([3, 1, 3]).unique()"),),
        function=False,
        python="Tensor.unique",
    ),
    Function(
        "searchsorted",
        (
            f"Tensor sorted_sequence, Tensor input, {_SEARCH}",
            lambda s, v, small, right, side: _as_index(searchsorted(s, v, right, side), small),
        ),
        (
            f"Tensor sorted_sequence, Number self, {_SEARCH}",
            lambda s, v, small, right, side: _as_index(searchsorted(s, v, right, side), small),
        ),
        doc="Where values would be inserted into a sorted sequence.",
        samples=(Sample("searchsorted(tensor([1., 3., 5.]), 4.)"),),
        method=False,
    ),
    Function(
        "bucketize",
        (
            "Tensor input, Tensor boundaries, *, bool out_int32=False, bool right=False",
            lambda v, s, small, right: _as_index(searchsorted(s, v, right, None), small),
        ),
        (
            "Number self, Tensor boundaries, *, bool out_int32=False, bool right=False",
            lambda v, s, small, right: _as_index(searchsorted(s, v, right, None), small),
        ),
        doc="Which bucket between sorted boundaries each value falls into.",
        samples=(Sample("bucketize(tensor([2., 6.]), tensor([1., 3., 5.]))"),),
        method=False,
    ),
)
