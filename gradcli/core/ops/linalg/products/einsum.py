"""Einstein summation, by the same permutations, sums and batched products as PyTorch's.

A label is a number: 0 to 25 for A to Z, 26 to 51 for a to z.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import not_an_integer, not_ordered
from gradcli.core.functions.function import Function, Sample
from gradcli.core.ops import operators
from gradcli.core.ops.elementwise import add_multiply
from gradcli.core.ops.linalg.products.matrix_products import BMM, bmm
from gradcli.core.ops.linalg.samples import PAIR, SQUARE_2, TALL
from gradcli.core.ops.list_function import ListFunction
from gradcli.core.ops.reduce import sum_mean
from gradcli.core.ops.shape.diagonal import diagonal
from gradcli.core.ops.shape.squeeze import UNSQUEEZE
from gradcli.core.ops.shape.transpose import PERMUTE, movedim
from gradcli.core.ops.shape.views import VIEW, reshape
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

_LETTERS = string.ascii_uppercase + string.ascii_lowercase
#: the label of an ellipsis
_ELLIPSIS = len(_LETTERS)


def _error(text: str) -> ProgramError:
    return runtime_error(f"einsum(): {text}")


def _read_operands(text: str) -> list[list[int]]:
    """The labels of each operand, from the left side of an equation."""
    operands: list[list[int]] = [[]]
    at = 0
    while at < len(text):
        c = text[at]
        if c == ".":
            if _ELLIPSIS in operands[-1]:
                raise _error(f"found '.' for operand {len(operands) - 1} for which an ellipsis was already found")
            if text[at : at + 3] != "...":
                raise _error(f"found '.' for operand {len(operands) - 1} that is not part of any ellipsis")
            operands[-1].append(_ELLIPSIS)
            at += 2
        elif c == ",":
            operands.append([])
        elif c != " ":
            operands[-1].append(_label(c, at))
        at += 1
    return operands


def _label(c: str, at: int) -> int:
    if c not in _LETTERS:
        raise _error(f"invalid subscript given at index {at} in the equation string, subscripts must be in [a-zA-Z]")
    return _LETTERS.index(c)


def _read_output(text: str, start: int) -> list[int]:
    """The labels of the output, from the right side of an equation, which begins at index `start`."""
    labels: list[int] = []
    at = 0
    while at < len(text):
        c = text[at]
        if c == ".":
            if _ELLIPSIS in labels:
                raise _error("found '.' for output but an ellipsis (...) was already found")
            if text[at : at + 3] != "...":
                raise _error("found '.' for output that is not part of any ellipsis (...)")
            labels.append(_ELLIPSIS)
            at += 2
        elif c != " ":
            label = _label(c, start + at)
            if label in labels:
                raise _error(f"output subscript {_LETTERS[label]} appears more than once in the output")
            labels.append(label)
        at += 1
    return labels


class _Plan:
    """An equation matched with its operands. Raises RuntimeError for subscripts that do not fit the operands."""

    def __init__(self, inputs: list[list[int]], output: list[int] | None, operands: Sequence[Tensor]) -> None:
        self.inputs = inputs
        #: the size of each label
        self.sizes: dict[int, int] = {}
        #: the number of dimensions that the ellipsis stands for
        self.covered = 0
        counts: dict[int, int] = {}
        for i, (labels, t) in enumerate(zip(inputs, operands, strict=True)):
            self._match(i, labels, t)
            for label in labels:
                counts[label] = counts.get(label, 0) + 1
        if output is None:
            output = [_ELLIPSIS] if _ELLIPSIS in counts else []
            output += [label for label in sorted(counts) if label != _ELLIPSIS and counts[label] == 1]
        #: the dimension of each label in the common order: labels of the output, then summed labels in alphabetical order
        self.places: dict[int, int] = {}
        at = 0
        for label in output:
            if label != _ELLIPSIS and label not in counts:
                raise _error(f"output subscript {_LETTERS[label]} does not appear in the equation for any input operand")
            self.places[label] = at
            at += self.covered if label == _ELLIPSIS else 1
        #: the number of dimensions of the output
        self.outer = at
        if _ELLIPSIS not in self.places:
            self.places[_ELLIPSIS] = at
            at += self.covered
        for label in sorted(counts):
            if label not in self.places:
                self.places[label] = at
                at += 1
        #: the number of dimensions of the common order
        self.rank = at
        #: the sizes of the dimensions that the ellipsis stands for, as far as they are known
        self.covered_sizes = [1] * self.covered

    def _match(self, i: int, labels: list[int], t: Tensor) -> None:
        """Compare the labels of operand i with its rank."""
        named = sum(label != _ELLIPSIS for label in labels)
        rank = t.array.ndim
        if _ELLIPSIS in labels:
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
        """Operand i with one dimension for every label, in the common order; repeated labels become diagonals."""
        shape = t.array.shape
        labels = self.inputs[i]
        places = [-1] * self.rank
        at: dict[int, int] = {}
        j = 0
        original = 0
        for label in labels:
            if label == _ELLIPSIS:
                have = len(shape) - (len(labels) - 1)
                original += have
                self._check_covered(i, j, t.array.shape[j : j + have])
                for _ in range(self.covered - have):
                    t = UNSQUEEZE(t, j)
                for k in range(self.covered):
                    places[self.places[_ELLIPSIS] + k] = j
                    j += 1
                continue
            if label in at:
                dim = at[label]
                if t.array.shape[j] != t.array.shape[dim]:
                    raise _error(
                        f"subscript {_LETTERS[label]} is repeated for operand {i} but the sizes don't match, "
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
                t = UNSQUEEZE(t, j)
                places[k] = j
                j += 1
        return PERMUTE(t, tuple(places))  # type: ignore[no-any-return]

    def _check_covered(self, i: int, place: int, sizes: Sequence[int]) -> None:
        """Compare the dimensions of operand i that the ellipsis covers, from `place` on, with those of the operands before."""
        known = self.covered_sizes
        for k, size in enumerate(sizes, len(known) - len(sizes)):
            if size != 1 and known[k] not in (1, size):
                raise _error(
                    f"dimension {place} covered by ellipsis in operand {i}has size {size} which does not broadcast with "
                    f"previously seen ellipsis with size {known[k]} for the respective dimension"
                )
            known[k] = max(known[k], size) if size else size
            place += 1

    def _check_size(self, i: int, label: int, size: int) -> None:
        known = self.sizes.get(label, 1)
        if size != 1 and known not in (1, size):
            raise _error(
                f"subscript {_LETTERS[label]} has size {size} for operand {i} which does not broadcast with previously seen size {known}"
            )
        self.sizes[label] = max(known, size) if size else size


def einsum(equation: str, operands: Sequence[Tensor]) -> Tensor:
    """The products of the operands' elements, summed over the labels that the output lacks. Raises RuntimeError for wrong equations."""
    left, arrow, right = equation.partition("->")
    inputs = _read_operands(left)
    output = _read_output(right, len(left) + 2) if arrow else None
    if len(inputs) > len(operands):
        raise _error("fewer operands were provided than specified in the equation")
    if len(inputs) < len(operands):
        raise _error("more operands were provided than specified in the equation")
    return _contract(_Plan(inputs, output, operands), operands)


def _contract(plan: _Plan, operands: Sequence[Tensor]) -> Tensor:
    """Multiply the operands from left to right; sum a dimension as soon as no later operand has it."""
    ready = [plan.arranged(i, t) for i, t in enumerate(operands)]
    rank, outer = plan.rank, plan.outer
    # for each dimension the number of operands that still have it
    counts = [sum(t.array.shape[d] != 1 for t in ready) for d in range(rank)]
    result = ready[0]
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
            result = sum_mean.sum(result, tuple(alone[0]), True)
        if alone[1]:
            other = sum_mean.sum(other, tuple(alone[1]), True)
        result = _pair(result, other, together)
    if outer == rank:
        return result
    if len(ready) > 1:
        return VIEW(result, result.array.shape[:outer])  # type: ignore[no-any-return]
    return sum_mean.sum(result, tuple(range(outer, rank)))


def _pair(left: Tensor, right: Tensor, summed: list[int]) -> Tensor:
    """The product of two operands, summed over the dimensions `summed`, as one batched matrix product."""
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
        # with the operands swapped the product has its dimensions in the right order
        left, right, only_left, only_right, a, b = right, left, only_right, only_left, b, a
    batch, rows, inner, columns = volume(a, both), volume(a, only_left), volume(a, summed), volume(b, only_right)
    limits.check_work(batch * rows * inner * columns)
    limits.check_elements(batch * rows * columns, left.dtype.itemsize)
    x = reshape(PERMUTE(left, (*both, *only_left, *summed, *only_right)), (batch, rows, inner))
    y = reshape(PERMUTE(right, (*both, *summed, *only_right, *only_left)), (batch, inner, columns))
    sizes = [a[d] for d in both] + [a[d] for d in only_left] + [1] * len(summed) + [b[d] for d in only_right]
    order = (*both, *only_left, *summed, *only_right)
    back = tuple(order.index(d) for d in range(len(order)))
    return PERMUTE(VIEW(bmm(x, y), tuple(sizes)), back)  # type: ignore[no-any-return]


def volume(shape: Sequence[int], dims: Sequence[int]) -> int:
    """The product of the sizes of some dimensions."""
    return math.prod(shape[d] for d in dims)


class _Einsum(ListFunction):
    """einsum takes an equation and operands, or operands that are each followed by a list of subscripts."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        for key in kwargs:
            raise ProgramError("TypeError", f"einsum() got an unexpected keyword argument '{key}'")
        listed = len(args) == 2 and isinstance(args[0], str) and isinstance(args[1], (list, tuple))
        if len(args) < 2 or (listed and not args[1]):
            raise ProgramError(
                "ValueError",
                "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list",
            )
        if type(args[0]) is Tensor:
            args = _with_equation(args)
        rest = args[1:]
        if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
            rest = tuple(rest[0])
        for i, value in enumerate(rest):
            if not isinstance(args[0], str):
                break  # the equation is checked first
            if type(value) is not Tensor:
                raise ProgramError("TypeError", f"expected Tensor as element {i} in argument 1, but got {language.type_name(value)}")
        return self.parser.call((args[0], list(rest)), kwargs)


def _with_equation(args: Sequence[Any]) -> tuple[Any, ...]:
    """The equation and the operands of a call with lists of subscripts; an odd last argument is the list of the output."""
    last = len(args) - len(args) % 2
    equation = ",".join(map(_subscripts, args[1:last:2]))
    if last < len(args):
        equation += "->" + _subscripts(args[-1])
    return equation, *args[0:last:2]


def _subscripts(values: Any) -> str:
    """A list of subscripts as an equation has them. Raises TypeError or ValueError for what is no subscript."""
    return "".join("..." if value is Ellipsis else _letter(value) for value in language.collect(values))


def _letter(value: Any) -> str:
    number = value
    if type(value) is Tensor:
        operators.truth(value)  # which fails for none or several elements
        number = value.array.item()
    if not isinstance(number, (int, float)):
        raise not_ordered(">=", value, 0)
    if not 0 <= number < _ELLIPSIS:
        raise ProgramError("ValueError", "einsum(): subscript in subscript list is not within the valid range [0, 52)")
    if not isinstance(number, int):
        raise not_an_integer(value)
    return _LETTERS[number]


FUNCTIONS: tuple[Function, ...] = (
    _Einsum(
        "einsum",
        ("str equation, Tensors operands", einsum),
        lead=1,
        doc="Sums of products, by the labels of dimensions.",
        ops=(BMM,),
        samples=(
            Sample("einsum('ij,jk->ik', x, y)", lambda x, y: x @ y, x=TALL, y=SQUARE_2),
            Sample("einsum('ii->i', y)", np.diag, y=SQUARE_2),
            Sample("einsum('i,ij,j->', v, y, v)", lambda v, y: v @ y @ v, v=PAIR, y=SQUARE_2),
        ),
        method=False,
    ),
)
