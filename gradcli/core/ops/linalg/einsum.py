"""Einstein summation and tensordot: permutations, sums and batched products, in PyTorch's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import hooks
from gradcli.core.calling.type_errors import not_iterable
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.elementwise import add_multiply
from gradcli.core.ops.linalg import products
from gradcli.core.ops.linalg.product_records import BMM
from gradcli.core.ops.list_function import ListFunction
from gradcli.core.ops.shape.diagonal import diagonal
from gradcli.core.ops.shape.squeeze import UNSQUEEZE
from gradcli.core.ops.shape.transpose import PERMUTE, movedim
from gradcli.core.ops.shape.views import VIEW, flatten, reshape
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError

#: labels are A-Z, then a-z; this stands for an ellipsis
ELLIPSIS = 52


def _error(text: str) -> ProgramError:
    return ProgramError("RuntimeError", f"einsum(): {text}")


def _label(c: str) -> int:
    return ord(c) - 65 if "A" <= c <= "Z" else ord(c) - 71


def _name(label: int) -> str:
    return chr(label + 65) if label < 26 else chr(label + 71)


def _read_operands(text: str) -> list[list[int]]:
    """The labels of each operand."""
    operands: list[list[int]] = [[]]
    at = 0
    while at < len(text):
        c = text[at]
        if c == ".":
            if ELLIPSIS in operands[-1]:
                raise _error(f"found '.' for operand {len(operands) - 1} for which an ellipsis was already found")
            if text[at : at + 3] != "...":
                raise _error(f"found '.' for operand {len(operands) - 1} that is not part of any ellipsis")
            operands[-1].append(ELLIPSIS)
            at += 2
        elif c == ",":
            operands.append([])
        elif c != " ":
            operands[-1].append(_checked(c, at))
        at += 1
    return operands


def _checked(c: str, at: int) -> int:
    if not ("A" <= c <= "Z" or "a" <= c <= "z"):
        raise _error(f"invalid subscript given at index {at} in the equation string, subscripts must be in [a-zA-Z]")
    return _label(c)


def _read_output(text: str, start: int) -> list[int]:
    labels: list[int] = []
    at = 0
    while at < len(text):
        c = text[at]
        if c == ".":
            if ELLIPSIS in labels:
                raise _error("found '.' for output but an ellipsis (...) was already found")
            if text[at : at + 3] != "...":
                raise _error("found '.' for output that is not part of any ellipsis (...)")
            labels.append(ELLIPSIS)
            at += 2
        elif c != " ":
            label = _checked(c, start + at)
            if label in labels:
                raise _error(f"output subscript {_name(label)} appears more than once in the output")
            labels.append(label)
        at += 1
    return labels


class _Plan:
    """An equation matched with its operands: sizes of the labels and places of the dimensions."""

    def __init__(self, inputs: list[list[int]], output: list[int] | None, operands: Sequence[Tensor]) -> None:
        self.inputs = inputs
        self.sizes: dict[int, int] = {}
        self.covered = 0
        counts: dict[int, int] = {}
        for i, (labels, t) in enumerate(zip(inputs, operands, strict=True)):
            self._match(i, labels, t)
            for label in labels:
                counts[label] = counts.get(label, 0) + 1
        if output is None:
            output = [ELLIPSIS] if ELLIPSIS in counts else []
            output += [label for label in sorted(counts) if label != ELLIPSIS and counts[label] == 1]
        #: where each label's dimension goes: the output's first, then those that are summed, in alphabetical order
        self.places: dict[int, int] = {}
        at = 0
        for label in output:
            if label != ELLIPSIS and label not in counts:
                raise _error(f"output subscript {_name(label)} does not appear in the equation for any input operand")
            self.places[label] = at
            at += self.covered if label == ELLIPSIS else 1
        self.outer = at
        if ELLIPSIS not in self.places:
            self.places[ELLIPSIS] = at
            at += self.covered
        for label in sorted(counts):
            if label not in self.places:
                self.places[label] = at
                at += 1
        self.rank = at

    def _match(self, i: int, labels: list[int], t: Tensor) -> None:
        named = sum(label != ELLIPSIS for label in labels)
        rank = t.array.ndim
        if ELLIPSIS in labels:
            if named > rank:
                raise _error(
                    f"the number of subscripts in the equation ({named}) is more than the number of dimensions ({rank}) for operand {i}"
                )
            self.covered = max(self.covered, rank - named)
        elif named != rank:
            raise _error(
                f"the number of subscripts in the equation ({named}) does not match the number of dimensions ({rank}) for operand {i} "
                "and no ellipsis was given"
            )

    def arranged(self, i: int, t: Tensor) -> Tensor:
        """The operand with one dimension for every label, in the common order."""
        shape = t.array.shape
        labels = self.inputs[i]
        places = [-1] * self.rank
        at: dict[int, int] = {}
        j = 0
        original = 0
        for label in labels:
            if label == ELLIPSIS:
                have = len(shape) - (len(labels) - 1)
                original += have
                for _ in range(self.covered - have):
                    t = UNSQUEEZE(t, j)
                for k in range(self.covered):
                    places[self.places[ELLIPSIS] + k] = j
                    j += 1
                continue
            if label in at:
                dim = at[label]
                if t.array.shape[j] != t.array.shape[dim]:
                    raise _error(
                        f"subscript {_name(label)} is repeated for operand {i} but the sizes don't match, "
                        f"{t.array.shape[j]} != {t.array.shape[dim]}"
                    )
                t = movedim(diagonal(t, 0, dim, j), (-1,), (dim,))
            else:
                self._check_size(i, label, shape[original])
                at[label] = j
                places[self.places[label]] = j
                j += 1
            original += 1
        for k, place in enumerate(places):
            if place == -1:
                t = UNSQUEEZE(t, -1)
                places[k] = j
                j += 1
        return PERMUTE(t, tuple(places))  # type: ignore[no-any-return]

    def _check_size(self, i: int, label: int, size: int) -> None:
        known = self.sizes.get(label, 1)
        if size != 1 and known not in (1, size):
            raise _error(
                f"subscript {_name(label)} has size {size} for operand {i} which does not broadcast with previously seen size {known}"
            )
        self.sizes[label] = max(known, size) if size else size


def einsum(equation: str, operands: Sequence[Tensor]) -> Tensor:
    """Products of the operands' elements, summed over the labels that the output lacks."""
    left, arrow, right = equation.partition("->")
    inputs = _read_operands(left)
    output = _read_output(right, len(left) + 2) if arrow else None
    if len(inputs) > len(operands):
        raise _error("fewer operands were provided than specified in the equation")
    if len(inputs) < len(operands):
        raise _error("more operands were provided than specified in the equation")
    return _contract(_Plan(inputs, output, operands), operands)


def _contract(plan: _Plan, operands: Sequence[Tensor]) -> Tensor:
    ready = [plan.arranged(i, t) for i, t in enumerate(operands)]
    rank, outer = plan.rank, plan.outer
    _check_ellipsis(plan, ready, [t.array.ndim for t in operands])
    # how many operands still have a dimension, which says when it can be summed
    counts = [sum(t.array.shape[d] != 1 for t in ready) for d in range(rank)]
    result = ready[0]
    total = catalog.function("sum")
    for other in ready[1:]:
        together: list[int] = []
        alone: tuple[list[int], list[int]] = ([], [])
        for d in range(outer, rank):
            n, m = result.array.shape[d], other.array.shape[d]
            if n != 1 and m != 1:
                counts[d] -= 1
                if counts[d] == 1:
                    together.append(d)
                    counts[d] = 0
            elif counts[d] == 1 and (n != 1 or m != 1):
                alone[0 if n != 1 else 1].append(d)
                counts[d] = 0
        if alone[0]:
            result = total(result, tuple(alone[0]), True)
        if alone[1]:
            other = total(other, tuple(alone[1]), True)
        result = _pair(result, other, together)
    if outer == rank:
        return result
    if len(ready) > 1:
        return VIEW(result, result.array.shape[:outer])  # type: ignore[no-any-return]
    return total(result, tuple(range(outer, rank)))  # type: ignore[no-any-return]


def _check_ellipsis(plan: _Plan, ready: Sequence[Tensor], ranks: Sequence[int]) -> None:
    start = plan.places[ELLIPSIS]
    for k in range(plan.covered):
        known = 1
        for i, t in enumerate(ready):
            size = t.array.shape[start + k]
            if size != 1 and known not in (1, size):
                missing = plan.covered - (ranks[i] - sum(label != ELLIPSIS for label in plan.inputs[i]))
                raise _error(
                    f"dimension {k - missing} covered by ellipsis in operand {i}has size {size} which does not broadcast with "
                    f"previously seen ellipsis with size {known} for the respective dimension"
                )
            known = max(known, size)


def _pair(left: Tensor, right: Tensor, summed: list[int]) -> Tensor:
    """The product of two operands, summed over `summed`, as one batched matrix product."""
    if not summed:
        return add_multiply.mul(left, right)
    both: list[int] = []
    only_left: list[int] = []
    only_right: list[int] = []
    a, b = left.array.shape, right.array.shape
    for d in range(len(a)):
        if d in summed:
            continue
        if a[d] != 1 and b[d] != 1:
            both.append(d)
        elif a[d] != 1:
            only_left.append(d)
        else:
            only_right.append(d)
    if only_left and only_right and only_right[-1] < only_left[0]:
        # the product then comes out in the order that is wanted
        left, right, only_left, only_right, a, b = right, left, only_right, only_left, b, a
    batch, rows, inner, columns = _count(a, both), _count(a, only_left), _count(a, summed), _count(b, only_right)
    limits.check_work(batch * rows * inner * columns)
    limits.check_elements(batch * rows * columns, left.dtype.itemsize)
    x = reshape(PERMUTE(left, (*both, *only_left, *summed, *only_right)), (batch, rows, inner))
    y = reshape(PERMUTE(right, (*both, *summed, *only_right, *only_left)), (batch, inner, columns))
    sizes = [a[d] for d in both] + [a[d] for d in only_left] + [1] * len(summed) + [b[d] for d in only_right]
    order = (*both, *only_left, *summed, *only_right)
    back = tuple(order.index(d) for d in range(len(order)))
    return PERMUTE(VIEW(products.bmm(x, y), tuple(sizes)), back)  # type: ignore[no-any-return]


def _count(shape: Sequence[int], dims: Sequence[int]) -> int:
    count = 1
    for d in dims:
        count *= shape[d]
    return count


class _Einsum(ListFunction):
    """einsum takes an equation and operands, or operands each followed by its list of subscripts."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) < 2:
            raise ProgramError(
                "ValueError",
                "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list",
            )
        if type(args[0]) is Tensor:
            return _with_lists(args)
        rest = args[1:]
        if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
            rest = tuple(rest[0])
        for i, value in enumerate(rest):
            if type(value) is not Tensor:
                raise ProgramError("TypeError", f"expected Tensor as element {i} in argument 1, but got {hooks.type_name(value)}")
        return self.parser.call((args[0], list(rest)), kwargs)


def _subscripts(values: Any) -> list[int]:
    if type(values) not in (list, tuple, Size, str):
        raise not_iterable(values)
    labels: list[int] = []
    for value in values:
        if value is Ellipsis:
            labels.append(ELLIPSIS)
        elif type(value) is int and 0 <= value < ELLIPSIS:
            labels.append(value)
        elif type(value) is int:
            raise ProgramError("ValueError", "einsum(): subscript in subscript list is not within the valid range [0, 52)")
        else:
            raise ProgramError(
                "ValueError", "einsum(): unexpected type in subscripts list, expected int or Ellipsis but got " + hooks.type_name(value)
            )
    return labels


def _with_lists(args: Sequence[Any]) -> Tensor:
    operands = [a for a in args[0 : len(args) - len(args) % 2 : 2] if type(a) is Tensor]
    inputs = [_subscripts(a) for a in args[1 : len(args) - len(args) % 2 : 2]]
    output = _subscripts(args[-1]) if len(args) % 2 else None
    return _contract(_Plan(inputs, output, operands), operands)


# --- tensordot ---


def tensordot(input: Tensor, other: Tensor, first: Sequence[int], second: Sequence[int]) -> Tensor:
    """Products summed over pairs of dimensions."""
    if len(first) != len(second):
        raise ProgramError("RuntimeError", "both dimension lists should have same length")
    if input.dtype is not other.dtype:
        raise ProgramError("RuntimeError", "both inputs should have same dtype")
    a, b = input, other
    dims_a = [wrap_dim(d, a.array.ndim) for d in first]
    dims_b = [wrap_dim(d, b.array.ndim) for d in second]
    total = catalog.function("sum")
    inner = 1
    for given_a, given_b, d, e in zip(first, second, dims_a, dims_b, strict=True):
        n, m = a.array.shape[d], b.array.shape[e]
        if m == 1:
            a = total(a, (d,), True)
        elif n == 1:
            b = total(b, (e,), True)
        elif n != m:
            raise ProgramError(
                "RuntimeError",
                f"contracted dimensions need to match, but first has size {n} in dim {given_a} and second has size {m} in dim {given_b}",
            )
        else:
            inner *= n
    rest_a = [d for d in range(a.array.ndim) if d not in dims_a]
    rest_b = [d for d in range(b.array.ndim) if d not in dims_b]
    sizes = tuple([a.array.shape[d] for d in rest_a] + [b.array.shape[d] for d in rest_b])
    x: Tensor = PERMUTE(a, tuple(rest_a + dims_a))
    y: Tensor = PERMUTE(b, tuple(dims_b + rest_b))
    if _count(a.array.shape, rest_a) == _count(b.array.shape, rest_b) == 1:
        product = products.dot(flatten(x), flatten(y))
    else:
        rows, columns = _count(a.array.shape, rest_a), _count(b.array.shape, rest_b)
        limits.check_work(rows * inner * columns)
        product = products.mm(reshape(x, (rows, inner)), reshape(y, (inner, columns)))
    return reshape(product, sizes)


def _tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    if type(dims) is Tensor:
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise ProgramError("RuntimeError", f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.array.ndim, b.array.ndim):
            raise ProgramError("RuntimeError", f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return tensordot(a, b, range(-dims, 0), range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    return tensordot(a, b, first, second)


def inner(input: Tensor, other: Tensor) -> Tensor:
    """Products of the last dimensions."""
    a, b = input.array, other.array
    if not a.ndim or not b.ndim:
        return add_multiply.mul(input, other)
    if a.shape[-1] != b.shape[-1]:
        raise ProgramError(
            "RuntimeError",
            f"inner() the last dimension must match on both input tensors but got shapes {list(a.shape)} and {list(b.shape)}",
        )
    return tensordot(input, other, (-1,), (-1,))


_M: Any = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
_N: Any = [[0.5, -1.0], [2.0, 1.5]]
_V: Any = [1.0, -2.0]

FUNCTIONS = (
    _Einsum(
        "einsum",
        ("str equation, Tensors operands", einsum),
        lead=1,
        doc="Sums of products, by the labels of dimensions.",
        ops=(BMM,),
        samples=(
            Sample("einsum('ij,jk->ik', x, y)", lambda x, y: x @ y, x=_M, y=_N),
            Sample("einsum('ii->i', y)", np.diag, y=_N),
            Sample("einsum('i,ij,j->', v, y, v)", lambda v, y: v @ y @ v, v=_V, y=_N),
        ),
        method=False,
    ),
    Function(
        "tensordot",
        ("Tensor a, Tensor b, any dims=2", _tensordot),
        doc="Products summed over the last dims of a and the first of b, or over two lists of dimensions.",
        samples=(Sample("tensordot(x, y, 1)", lambda x, y: np.tensordot(x, y, 1), x=_M, y=_N),),
        method=False,
        out=True,
        python="tensordot",
    ),
    Function(
        "inner",
        ("Tensor input, Tensor other", inner),
        doc="Sums of products over the last dimension of both.",
        samples=(Sample("inner(x, y)", np.inner, x=_M, y=_N),),
        out=True,
    ),
)
