"""Selection and sorting as C++ does them, move by move, because torch's indices of equal elements depend on it.

The algorithms are those that the C++ standard library of GCC describes for nth_element, sort and partial_sort (introspective
select and sort after Musser, 1997: median of three, then insertion sort on short runs), and Hoare's quickselect with a median
of three that torch uses for kthvalue. They work on a list of positions; `less(a, b)` compares two positions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.kernels import Array

Less = Callable[[int, int], bool]
#: the longest rows that are sorted as PyTorch sorts; numpy sorts longer ones, with another order of equal elements
_EMULATED = 1 << 16
#: the number of elements from which on the first ones of each row are selected before they are sorted
_MANY = 1 << 12


def nth_element(order: list[int], nth: int, less: Less) -> None:
    """Rearrange so that place `nth` holds what a sort would put there, smaller before, larger behind."""
    first, last = 0, len(order)
    if first == last or nth == last:
        return
    depth = 2 * (last.bit_length() - 1)
    while last - first > 3:
        if depth == 0:
            _heap_select(order, first, nth + 1, last, less)
            order[first], order[nth] = order[nth], order[first]
            return
        depth -= 1
        cut = _partition_pivot(order, first, last, less)
        if cut <= nth:
            first = cut
        else:
            last = cut
    _insertion_sort(order, first, last, less)


def sort(order: list[int], first: int, last: int, less: Less) -> None:
    """Sort the places from `first` to before `last`, unstably."""
    if first == last:
        return
    stack = [(first, last, 2 * ((last - first).bit_length() - 1))]
    while stack:
        low, high, depth = stack.pop()
        while high - low > 16:
            if depth == 0:
                partial_sort(order, low, high, high, less)
                break
            depth -= 1
            cut = _partition_pivot(order, low, high, less)
            stack.append((cut, high, depth))
            high = cut
    if last - first > 16:
        _insertion_sort(order, first, first + 16, less)
        for i in range(first + 16, last):
            _insert(order, i, less)
    else:
        _insertion_sort(order, first, last, less)


def partial_sort(order: list[int], first: int, middle: int, last: int, less: Less) -> None:
    """Sort the smallest elements into the places before `middle`."""
    _heap_select(order, first, middle, last, less)
    while middle - first > 1:
        middle -= 1
        value = order[middle]
        order[middle] = order[first]
        _sift(order, first, 0, middle - first, value, less)


def quickselect(order: list[int], k: int, greater: Less) -> None:
    """torch's own selection for kthvalue: place `k` holds what a sort would put there."""
    left, right = 0, len(order) - 1
    while right > left:
        if right == left + 1:
            if greater(order[left], order[right]):
                order[left], order[right] = order[right], order[left]
            return
        middle = left + (right - left) // 2
        order[middle], order[left + 1] = order[left + 1], order[middle]
        for a, b in ((left + 1, right), (left, right), (left + 1, left)):
            if greater(order[a], order[b]):
                order[a], order[b] = order[b], order[a]
        i, j, pivot = left + 1, right, order[left]
        while True:
            i += 1
            while greater(pivot, order[i]):
                i += 1
            j -= 1
            while greater(order[j], pivot):
                j -= 1
            if j < i:
                break
            order[i], order[j] = order[j], order[i]
        order[left], order[j] = order[j], order[left]
        if j <= k:
            left = i
        if j >= k:
            right = j - 1


def stable_order(x: Array, dim: int, descending: bool) -> Array:
    """The indices that sort stably along dim; nan is the largest."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    # sorting the reversed array and reversing the result keeps equal elements in their order
    back = np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)
    return np.asarray(x.shape[dim] - 1 - back)


def comparisons(row: Array) -> tuple[Less, Less]:
    """`less` and `greater` of the elements at two positions of a row; nan is greater than all numbers."""
    values = row.tolist()

    def less(i: int, j: int) -> bool:
        a, b = values[i], values[j]
        return bool(a < b or (b != b and a == a))

    return less, lambda i, j: less(j, i)


def rows(x: Array, dim: int, count: int, choose: Callable[[Array], Any]) -> Array:
    """The indices that `choose` gives for each row along `dim`: `count` of them, which replace the dimension."""
    along = np.moveaxis(x, dim, -1)
    made = np.empty((*along.shape[:-1], count), np.int64)
    for place in np.ndindex(along.shape[:-1]):
        made[place] = choose(along[place])
    return np.moveaxis(made, -1, dim)


def _neighbours(ordered: Array) -> Any:
    """Where the elements of sorted rows equal the next one; nan counts as equal to nan."""
    low, high = ordered[..., :-1], ordered[..., 1:]
    return np.equal(low, high) | (np.not_equal(low, low) & np.not_equal(high, high))


def with_ties(x: Array, dim: int, index: Array, choose: Callable[[Array], Any], part: slice = slice(None)) -> Array:
    """`index`, a row of indices for each row of x along `dim`, with what `choose` gives for each row that has equal elements.

    Elements in this part of the sorted row count. nan counts as equal to nan. Rows that are too long to sort as PyTorch does keep their
    indices.
    """
    if x.shape[dim] > _EMULATED:
        return index
    tied = _neighbours(np.moveaxis(np.sort(x, axis=dim), dim, -1)[..., part]).any(-1)
    if not tied.any():
        return index
    made, along = np.moveaxis(index, dim, -1).copy(), np.moveaxis(x, dim, -1)
    for place in zip(*np.nonzero(tied), strict=True) if tied.ndim else [()]:
        made[place] = choose(along[place])
    return np.moveaxis(made, -1, dim)


def _top_of_row(row: Array, k: int, largest: bool, ordered: bool) -> list[int]:
    less, greater = comparisons(row)
    before = greater if largest else less
    order = list(range(len(row)))
    if k * 64 <= len(row):
        partial_sort(order, 0, k, len(row), before)
    else:
        nth_element(order, k - 1, before)
        if ordered:
            sort(order, 0, k - 1, before)
    return order[:k]


def top(x: Array, dim: int, k: int, largest: bool, ordered: bool) -> Array:
    """The indices of the k largest or smallest elements along dim, in order or as they are found."""
    choose = partial(_top_of_row, k=k, largest=largest, ordered=ordered)
    if not ordered and x.shape[dim] <= _EMULATED:
        return rows(x, dim, k, choose)
    if x.size < _MANY or 2 * k > x.shape[dim]:
        return with_ties(x, dim, np.take(stable_order(x, dim, largest), range(k), dim), choose)
    return _first(x, dim, k, largest, choose)


def _first(x: Array, dim: int, k: int, largest: bool, choose: Callable[[Array], Any]) -> Array:
    """The indices of the k first elements along dim, and what `choose` gives for a row that has equal ones among the first k + 1."""
    along = np.moveaxis(x, dim, -1)
    size = along.shape[-1]
    kept = np.argpartition(along, size - k - 1 if largest else k, axis=-1)
    kept = kept[..., size - k - 1 :] if largest else kept[..., : k + 1]
    values = np.take_along_axis(along, kept, -1)
    order = stable_order(values, -1, largest)
    values = np.take_along_axis(values, order, -1)
    made = np.take_along_axis(kept, order[..., :k], -1)
    for place in map(tuple, np.argwhere(_neighbours(values).any(-1))):
        row = along[place]
        made[place] = choose(row) if size <= _EMULATED else stable_order(row, 0, largest)[:k]
    return np.moveaxis(made, -1, dim)


def _partition_pivot(order: list[int], first: int, last: int, less: Less) -> int:
    """Move the median of three to the front and split the rest around it."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if less(order[a], order[b]):
        chosen = b if less(order[b], order[c]) else c if less(order[a], order[c]) else a
    else:
        chosen = a if less(order[a], order[c]) else c if less(order[b], order[c]) else b
    order[first], order[chosen] = order[chosen], order[first]
    pivot = order[first]
    low, high = first + 1, last
    while True:
        while less(order[low], pivot):
            low += 1
        high -= 1
        while less(pivot, order[high]):
            high -= 1
        if low >= high:
            return low
        order[low], order[high] = order[high], order[low]
        low += 1


def _insertion_sort(order: list[int], first: int, last: int, less: Less) -> None:
    for i in range(first + 1, last):
        if less(order[i], order[first]):
            order.insert(first, order.pop(i))
        else:
            _insert(order, i, less)


def _insert(order: list[int], at: int, less: Less) -> None:
    value = order[at]
    while at and less(value, order[at - 1]):
        order[at] = order[at - 1]
        at -= 1
    order[at] = value


def _heap_select(order: list[int], first: int, middle: int, last: int, less: Less) -> None:
    """A heap of the smallest elements so far, the largest of them on top."""
    size = middle - first
    for parent in range((size - 2) // 2, -1, -1):
        _sift(order, first, parent, size, order[first + parent], less)
    for i in range(middle, last):
        if less(order[i], order[first]):
            value = order[i]
            order[i] = order[first]
            _sift(order, first, 0, size, value, less)


def _sift(order: list[int], first: int, hole: int, size: int, value: int, less: Less) -> None:
    """Let the hole sink to the bottom along the larger children, then let the value rise."""
    top = hole
    child = hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if less(order[first + child], order[first + child - 1]):
            child -= 1
        order[first + hole] = order[first + child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        order[first + hole] = order[first + child - 1]
        hole = child - 1
    parent = (hole - 1) // 2
    while hole > top and less(order[first + parent], value):
        order[first + hole] = order[first + parent]
        hole = parent
        parent = (hole - 1) // 2
    order[first + hole] = value
