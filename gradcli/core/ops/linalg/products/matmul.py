"""`matmul`, which goes through mm, mv, bmm and views as PyTorch's does, and products of several matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out, no_graph
from gradcli.core.graph import in_place
from gradcli.core.graph.clone import CLONE
from gradcli.core.ops.checks import common_shape
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.products.matrix_products import (
    DOT,
    MM,
    bmm,
    check_product,
    check_tangent_of_view,
    dot,
    factor_strides,
    mm,
    mv,
)
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
        return MM(input, other, factor_strides(input), factor_strides(other))  # type: ignore[no-any-return]
    if not n or not m:
        raise shape_error(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        DOT.check_saved((input, other))
        return dot(input, other)
    if n == 2 and m == 1:
        return mv(input, other)
    if n == 1 and m == 2:
        return in_place.reshape_(mm(UNSQUEEZE(input, 0), other), SQUEEZE_DIM_INPLACE, 0)
    if _folds(input, other):
        return _folded(input, other)
    return _in_batches(input, other)


def _folds(a: Tensor, b: Tensor, into: bool = False) -> bool:
    """Whether a batch times one matrix or vector is computed as one product of all rows of the batch; PyTorch's decision.

    It is another where the product goes `into` a tensor.
    """
    larger = a.array.ndim >= b.array.ndim
    batch, small = (a.array, b) if larger else (b.array.swapaxes(-1, -2), a)
    if batch.ndim < 3 or small.array.ndim > 2:
        return False
    if small.requires_grad and not into:
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


def _squeezed(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor] | None:
    """A batch of one that needs a gradient as a matrix, and the other batch, of another size: PyTorch saves the sum over the batch."""
    x, y = a.array.shape, b.array.shape
    if len(x) == 3 and len(y) == 3 and x[0] != y[0]:
        if x[0] == 1 and a.requires_grad:
            return squeeze_dim(a, 0), b
        if y[0] == 1 and b.requires_grad:
            return a, squeeze_dim(b, 0)
    return None


def _batches(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Both operands as batches of matrices, expanded to the common batch shape, and the shape of the product."""
    x, y = a.array.shape, b.array.shape
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
    else:
        right = reshape(expand(b, (*batch, other_inner, p)), (count, other_inner, p))
    return left, right, batch + ((n,) if len(x) > 1 else ()) + ((p,) if len(y) > 1 else ())


def _in_batches(a: Tensor, b: Tensor) -> Tensor:
    """The product by `bmm`."""
    squeezed = _squeezed(a, b)
    if squeezed is not None:
        return matmul(*squeezed)
    left, right, shape = _batches(a, b)
    product = bmm(left, right)
    return UNSAFE_VIEW(squeeze_dim(product, -1) if b.array.ndim == 1 else product, shape)  # type: ignore[no-any-return]


def _into(input: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """`matmul` with `out`, which is resized before the batches are multiplied into a view of it, or a copy."""
    n, m = input.array.ndim, other.array.ndim
    if not n or not m:
        raise shape_error(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if state.enabled and any(t.requires_grad for t in (input, other, out)):
        raise no_graph("matmul")
    if n == 1 and m == 2:
        return in_place.reshape_(catalog.function("mm")(UNSQUEEZE(input, 0), other, out=out), SQUEEZE_DIM_INPLACE, 0)
    if max(n, m) < 3:
        name = "dot" if n == m == 1 else "mv" if m == 1 else "mm"
        return catalog.function(name)(input, other, out=out)  # type: ignore[no-any-return]
    right = other
    if _folds(input, other, into=True):
        left, right = (TRANSPOSE(other, -2, -1), input) if m > n else (input, other)
        rows, columns = left.array.shape[:-1], right.array.shape[1:]
        left = reshape(left, (math.prod(rows), left.array.shape[-1]))
        name, shape, flat = "mm" if columns else "mv", rows + columns, (math.prod(rows), *columns)
        limits.check_elements(math.prod(shape), input.dtype.itemsize)
    else:
        squeezed = _squeezed(input, other)
        if squeezed is not None:
            return _into(*squeezed, out)
        left, right, shape = _batches(input, other)
        name, flat = "bmm", (*left.array.shape[:2], right.array.shape[2])
    in_place.resize_to(out, shape)
    check_tangent_of_view(out, flat)
    made = catalog.function(name)(left, right, out=reshape(out, flat))
    if out.array.size and not np.may_share_memory(made.array, out.array):
        in_place.copy_(out, made if name != "bmm" else reshape(made, shape))  # PyTorch gives only the latter its shape back
    return out


#: multiply-adds that take as long as to find where one product of a chain is split
_ONE_SPLIT = 20_000


def _sides(matrices: list[Tensor]) -> list[int]:
    """The number of rows of each matrix of a chain, and of the columns of the last."""
    return [matrices[0].array.shape[0], *(m.array.shape[1] for m in matrices)]


def _chained(matrices: list[Tensor], sizes: list[int]) -> tuple[Tensor, Tensor]:
    """The factors of the last product of a chain of matrices, in the order that takes the fewest multiplications."""
    n = len(matrices)
    if n == 2:
        return matrices[0], matrices[1]
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
        elif not ready:
            at = int(split[i, j])
            pending += [(i, j, True), (at + 1, j, False), (i, at, False)]
        elif pending:
            right = found.pop()
            found.append(mm(found.pop(), right))
    return found[0], found[1]


def _chain(tensors: Sequence[Tensor]) -> tuple[list[Tensor], tuple[int, ...]]:
    """The tensors of `multi_dot` as matrices, and the shape of their product. Raises what `multi_dot` raises."""
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
    dtype = ready[0].dtype
    for i, t in enumerate(ready):
        if t.dtype is not dtype:
            names = f"tensor 0 is {dtype.c_name} and tensor {i} {t.dtype.c_name}"
            raise runtime_error(f"multi_dot(): all tensors must have be the same dtype but {names}")
        if i and ready[i - 1].array.shape[1] != t.array.shape[0]:
            raise shape_error(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1].array.shape)} and {list(tensors[i].array.shape)} "
                "cannot be multiplied",
            )
    return ready, tuple(shape)


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of at least two matrices in the cheapest order; the first and the last may be vectors.

    Raises RuntimeError for fewer tensors, for other ranks or dtypes, and for sizes that do not fit.
    """
    ready, shape = _chain(tensors)
    return VIEW(mm(*_chained(ready, _sides(ready))), shape)  # type: ignore[no-any-return]


def _chain_into(tensors: Sequence[Tensor], out: Tensor) -> Tensor:
    """`multi_dot` with `out`, which is resized before the products; the last one is written into a view of it."""
    ready, shape = _chain(tensors)
    dtype, sides = ready[0].dtype, _sides(ready)
    if dtype is not out.dtype:
        raise runtime_error(f"multi_dot(): expected out tensor to have dtype {dtype.c_name} but got {out.dtype.c_name}")
    limits.check_elements(math.prod(shape), dtype.itemsize)
    in_place.resize_to(out, shape)
    check_tangent_of_view(out, (sides[0], sides[-1]))
    view = VIEW(out, (sides[0], sides[-1]))
    catalog.function("mm")(*_chained(ready, sides), out=view)
    return out


def _check_matrices(tensors: Sequence[Tensor], line: int) -> None:
    """Warn, as PyTorch does, and raise RuntimeError unless all are matrices."""
    warnings.emit(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, which "
        "accepts a list of two or more tensors rather than multiple parameters. (Triggered internally at "
        f"/__w/pytorch/pytorch/aten/src/ATen/native/LinearAlgebra.cpp:{line}.)",
        once=f"chain_matmul {line}",
    )
    if not tensors:
        raise runtime_error("chain_matmul(): Expected one or more matrices")
    for t in tensors:
        if t.array.ndim != 2:
            raise shape_error(f"Tensor dimension is {t.array.ndim}, expected 2 instead.")


def chain_matmul(tensors: Sequence[Tensor]) -> Tensor:
    """The older form of `multi_dot`, which also takes a single matrix, and no vectors. It warns, as PyTorch does."""
    _check_matrices(tensors, 1102)
    return CLONE(tensors[0]) if len(tensors) == 1 else multi_dot(tensors)


def _matrices_into(tensors: Sequence[Tensor], out: Tensor) -> Tensor:
    """`chain_matmul` with `out`."""
    _check_matrices(tensors, 1120)
    if len(tensors) > 1:
        return _chain_into(tensors, out)
    in_place.resize_to(out, tensors[0].array.shape)
    return in_place.copy_(out, tensors[0])


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
        out=Out(autograd="composed", steps=_into),
    ),
    ListFunction(
        "chain_matmul",
        ("Tensors matrices", chain_matmul),
        doc="The product of several matrices in the cheapest order.",
        samples=(Sample("chain_matmul(x, y, y)", lambda x, y: x @ y @ y, x=TALL, y=SQUARE_2),),
        method=False,
        out=Out(autograd="composed", steps=_matrices_into),
        takes_list=False,
    ),
    LinalgFunction(
        "multi_dot",
        ("Tensors tensors", multi_dot),
        doc="The product of several matrices in the cheapest order.",
        samples=(Sample("torch.linalg.multi_dot([x, y, v])", lambda x, y, v: x @ y @ v, x=TALL, y=SQUARE_2, v=PAIR),),
        out=Out(autograd="composed", steps=_chain_into),
    ),
)
