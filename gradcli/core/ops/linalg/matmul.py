"""`matmul`, which goes through mm, mv, bmm and views as PyTorch's does, and products of several matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out, no_graph
from gradcli.core.graph import in_place
from gradcli.core.graph.clone import CLONE
from gradcli.core.graph.write_checks import bump
from gradcli.core.ops.checks import common_shape
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.products import DOT_OUT, MM, bmm, check_product, dot, is_column_major, mm, mv, resize_to_number
from gradcli.core.ops.linalg.samples import BATCH, PAIR, SQUARE_2, TALL
from gradcli.core.ops.list_function import ListFunction
from gradcli.core.ops.shape.broadcasting import expand
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.squeeze import SQUEEZE_DIM_INPLACE, UNSQUEEZE, squeeze_dim
from gradcli.core.ops.shape.transpose import T_RECORD, TRANSPOSE
from gradcli.core.ops.shape.views import UNSAFE_VIEW, VIEW, reshape
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of vectors, matrices, or batches of matrices. Raises RuntimeError for shapes or dtypes that do not fit."""
    n, m = input.array.ndim, other.array.ndim
    if n == 2 and m == 2:
        check_product(input, other)
        return MM(input, other, is_column_major(input.array), is_column_major(other.array))  # type: ignore[no-any-return]
    if not n or not m:
        raise shape_error(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        return dot(input, other)
    if n == 2 and m == 1:
        return mv(input, other)
    if n == 1 and m == 2:
        return in_place.reshape_(mm(UNSQUEEZE(input, 0), other), SQUEEZE_DIM_INPLACE, 0)
    if _folds(input, other):
        return _folded(input, other)
    return _in_batches(input, other)


def _folds(a: Tensor, b: Tensor) -> bool:
    """Whether a batch times one matrix or vector is computed as one product of all rows of the batch; PyTorch's decision."""
    larger = a.array.ndim >= b.array.ndim
    batch, small = (a.array, b) if larger else (b.array.swapaxes(-1, -2), a)
    if batch.ndim < 3 or small.array.ndim > 2:
        return False
    if small.requires_grad:
        return True
    if a.array.ndim == 2:
        return False
    if not batch.size:
        return True
    return all(batch.strides[i] == batch.strides[i + 1] * batch.shape[i + 1] for i in range(batch.ndim - 2))


def _folded(a: Tensor, b: Tensor) -> Tensor:
    """The product where one operand is a batch and the other is a matrix or vector: all rows of the batch at once."""
    swapped = b.array.ndim > a.array.ndim
    batch: Tensor = TRANSPOSE(b, -2, -1) if swapped else a
    small: Tensor = b
    if swapped:
        small = T_RECORD(a) if a.array.ndim == 2 else a
    shape = batch.array.shape
    flat = reshape(batch, (math.prod(shape[:-1]), shape[-1]))
    if small.array.ndim == 1:
        return UNSAFE_VIEW(mv(flat, small), shape[:-1])  # type: ignore[no-any-return]
    out: Tensor = UNSAFE_VIEW(mm(flat, small), (*shape[:-1], small.array.shape[1]))
    return contiguous(TRANSPOSE(out, -2, -1)) if swapped else out


def _in_batches(a: Tensor, b: Tensor) -> Tensor:
    """The product by `bmm`, with both operands expanded to the common batch shape."""
    x, y = a.array.shape, b.array.shape
    if len(x) == 3 and len(y) == 3 and x[0] != y[0]:
        # a batch of one that needs a gradient is squeezed instead of expanded: PyTorch saves the sum over the batch
        if x[0] == 1 and a.requires_grad:
            return matmul(squeeze_dim(a, 0), b)
        if y[0] == 1 and b.requires_grad:
            return matmul(a, squeeze_dim(b, 0))
    n = x[-2] if len(x) > 1 else 1
    inner, other_inner = x[-1], y[-2] if len(y) > 1 else y[-1]
    p = y[-1] if len(y) > 1 else 1
    batch = common_shape([x[:-2], y[:-2]])
    count = math.prod(batch)
    limits.check_work(count * n * inner * p)
    limits.check_elements(count * n * p, a.dtype.itemsize)
    left = reshape(expand(a, (*batch, n, inner)), (count, n, inner))
    if len(y) == 1:
        right = UNSQUEEZE(reshape(expand(b, (*batch, other_inner)), (count, other_inner)), 2)
        product = squeeze_dim(bmm(left, right), -1)
    else:
        product = bmm(left, reshape(expand(b, (*batch, other_inner, p)), (count, other_inner, p)))
    shape = batch + ((n,) if len(x) > 1 else ()) + ((p,) if len(y) > 1 else ())
    return UNSAFE_VIEW(product, shape)  # type: ignore[no-any-return]


#: multiply-adds that take as long as to find where one product of a chain is split
_ONE_SPLIT = 20_000


def _chained(matrices: list[Tensor]) -> Tensor:
    """The product of matrices in the order that takes the fewest multiplications."""
    sizes = [matrices[0].array.shape[0], *(m.array.shape[1] for m in matrices)]
    n = len(matrices)
    if n == 2:
        return mm(matrices[0], matrices[1])
    limits.check_work(n * n * _ONE_SPLIT)
    inner = np.array(sizes, np.float64)
    # dynamic programming: cost[i, j] is that of the product of matrices i to j, which is split after matrix split[i, j], the last
    # of those that cost the least
    cost = np.zeros((n, n))
    split = np.zeros((n, n), np.int64)
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            options = cost[i, i:j] + cost[i + 1 : j + 1, j] + inner[i] * inner[i + 1 : j + 1] * inner[j + 1]
            split[i, j] = j - 1 - options[::-1].argmin()
            cost[i, j] = options[split[i, j] - i]
    found: list[Tensor] = []
    # the order of the products, of which each takes the two results before it
    pending = [(0, n - 1, False)]
    while pending:
        i, j, ready = pending.pop()
        if i == j:
            found.append(matrices[i])
        elif ready:
            right = found.pop()
            found.append(mm(found.pop(), right))
        else:
            at = int(split[i, j])
            pending += [(i, j, True), (at + 1, j, False), (i, at, False)]
    return found[0]


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of at least two matrices in the cheapest order; the first and the last may be vectors.

    Raises RuntimeError for fewer tensors, for other ranks, and for sizes that do not fit.
    """
    if len(tensors) < 2:
        raise runtime_error(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    ready = list(tensors)
    for which, t in (("first", ready[0]), ("last", ready[-1])):
        if t.array.ndim not in (1, 2):
            raise shape_error(f"multi_dot(): the {which} tensor must be 1D or 2D but got {t.array.ndim}D")
    shape: list[int] = []
    if ready[0].array.ndim == 1:
        ready[0] = UNSQUEEZE(ready[0], 0)
    else:
        shape.append(ready[0].array.shape[0])
    if ready[-1].array.ndim == 1:
        ready[-1] = UNSQUEEZE(ready[-1], -1)
    else:
        shape.append(ready[-1].array.shape[1])
    for i, t in enumerate(ready):
        if t.array.ndim != 2:
            raise shape_error(f"multi_dot(): tensor {i} must be 2D but got {t.array.ndim}D")
        if i and ready[i - 1].array.shape[1] != t.array.shape[0]:
            raise shape_error(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1].array.shape)} and {list(tensors[i].array.shape)} "
                "cannot be multiplied",
            )
    return VIEW(_chained(ready), tuple(shape))  # type: ignore[no-any-return]


def chain_matmul(tensors: Sequence[Tensor]) -> Tensor:
    """The older form of `multi_dot`, which also takes a single matrix, and no vectors. It warns, as PyTorch does."""
    warnings.emit(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, which "
        "accepts a list of two or more tensors rather than multiple parameters. (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/LinearAlgebra.cpp:1102.)",
        once="chain_matmul",
    )
    if not tensors:
        raise runtime_error("chain_matmul(): Expected one or more matrices")
    for t in tensors:
        if t.array.ndim != 2:
            raise shape_error(f"Tensor dimension is {t.array.ndim}, expected 2 instead.")
    return CLONE(tensors[0]) if len(tensors) == 1 else multi_dot(tensors)


def into_row(out: Tensor, result: Tensor) -> None:
    """The product of a vector and a matrix is written into `out` as a matrix of one row, which is squeezed then."""
    if out.dtype is result.dtype:
        in_place.resize_out(out, Tensor(result.array[None], result.dtype))
        out.array = out.array[0]
        bump(out)


def _matmul_out(input: Tensor, other: Tensor) -> Out:
    def check_no_graph(values: list[Any], out: Tensor) -> None:
        if state.enabled and any(t.requires_grad for t in (input, other, out)):
            raise no_graph("matmul")
        if ranks == (1, 1):
            resize_to_number(values, out)

    ranks = input.array.ndim, other.array.ndim
    if ranks == (1, 1):
        return Out(DOT_OUT, operator="dot", first=True, prepare=check_no_graph)
    check = into_row if ranks == (1, 2) else None
    operator = "bmm" if min(ranks) > 2 else "mv" if ranks == (2, 1) else "mm"
    return Out(EXACT, operator=operator, memory="own", prepare=check_no_graph if min(ranks) else None, check=check)


_MULTI_DOT = Out("multi_dot(): expected out tensor to have dtype {result_c} but got {out_c}", operator="mm", late=True)

FUNCTIONS: tuple[Function, ...] = (
    Function(
        "matmul",
        ("Tensor input, Tensor other", matmul),
        doc="Product of vectors, matrices or batches of them; the operator @.",
        analytic=np.matmul,
        samples=(
            Sample("x @ y", lambda x, y: x @ y, x=TALL, y=SQUARE_2),
            Sample("v @ y", lambda v, y: v @ y, v=PAIR, y=SQUARE_2),
            Sample("x @ v", lambda x, v: x @ v, x=TALL, v=PAIR),
            Sample("b @ y", lambda b, y: b @ y, b=BATCH, y=SQUARE_2),
            Sample("b @ b", lambda b: b @ b, b=BATCH),
        ),
        aliases=("linalg.matmul",),
        out=_matmul_out,
    ),
    ListFunction(
        "chain_matmul",
        ("Tensors matrices", chain_matmul),
        doc="The product of several matrices in the cheapest order.",
        samples=(Sample("chain_matmul(x, y, y)", lambda x, y: x @ y @ y, x=TALL, y=SQUARE_2),),
        method=False,
        out=_MULTI_DOT,
        takes_list=False,
    ),
    LinalgFunction(
        "multi_dot",
        ("Tensors tensors", multi_dot),
        doc="The product of several matrices in the cheapest order.",
        samples=(Sample("torch.linalg.multi_dot([x, y, v])", lambda x, y, v: x @ y @ v, x=TALL, y=SQUARE_2, v=PAIR),),
        out=_MULTI_DOT,
    ),
)
