"""The sum of products of three tensors behind bilinear maps, whose derivatives are such sums too, in PyTorch's order of operations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.ops.linalg.products.matrix_products import multiply
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType

Dims = tuple[int, ...]
#: the dimension of which PyTorch takes one index after the other
_UNROLLED = 1


def _summed_product(left: Array, right: Array, summed: list[int]) -> Array:
    """`(left * right).sum(summed, keepdims=True)` as one product of matrices for each index of the dimensions that both have."""
    a, b = left.shape, right.shape
    rest = [d for d in range(left.ndim) if d not in summed]
    both = [d for d in rest if a[d] != 1 and b[d] != 1]
    rows = [d for d in rest if b[d] == 1]
    columns = [d for d in rest if a[d] == 1 and b[d] != 1]
    batch, height, width = (math.prod(max(a[d], b[d]) for d in dims) for dims in (both, rows, columns))
    limits.check_elements(batch * height * width, left.itemsize)
    inner = math.prod(a[d] for d in summed)
    x = left.transpose(*both, *rows, *summed, *columns).reshape(batch, height, inner)
    y = right.transpose(*both, *summed, *columns, *rows).reshape(batch, inner, width)
    order = [*both, *rows, *summed, *columns]
    made = multiply(x, y).reshape([1 if d in summed else max(a[d], b[d]) for d in order])
    return made.transpose([order.index(d) for d in range(len(order))])


def _trilinear(i1: Array, i2: Array, i3: Array, expand1: Dims, expand2: Dims, expand3: Dims, sumdim: Dims) -> Array:
    return _of_dtype(dtypes.of(i1.dtype), i1, i2, i3, expand1, expand2, expand3, sumdim)


def _of_dtype(dtype: DType, i1: Array, i2: Array, i3: Array, expand1: Dims, expand2: Dims, expand3: Dims, sumdim: Dims) -> Array:
    """The result, of which each product and each sum is rounded to the dtype."""
    operands = [np.expand_dims(i, dims) for i, dims in ((i1, expand1), (i2, expand2), (i3, expand3))]
    sizes = np.broadcast_shapes(*(operand.shape for operand in operands))
    first, last = [d for d in sumdim if d in expand3], [d for d in sumdim if d not in expand3]
    made = np.zeros([1 if d in sumdim else n for d, n in enumerate(sizes)], i1.dtype)
    for k in range(sizes[_UNROLLED] if all(operand.size for operand in operands) else 0):
        one = (slice(None),) * _UNROLLED + (slice(k, k + 1),)
        a, b, c = (operand if operand.shape[_UNROLLED] == 1 else operand[one] for operand in operands)
        part = dtypes.stored(_summed_product(dtypes.stored(_summed_product(a, b, first), dtype), c, last), dtype)
        place = made if _UNROLLED in sumdim else made[one]
        place[...] = dtypes.stored(place + part, dtype)
    return made.reshape([n for d, n in enumerate(sizes) if d not in sumdim])


def _product(first: str, second: str, third: str, summed: str) -> str:
    """The formula of a derivative: of three tensors, each with its added dimensions, the product, summed over further ones."""
    spread = []
    for name, dims in map(str.split, (first, second, third)):
        spread.append(f"{name}[tuple([None if k in {dims} else slice(None) for k in range({name}.dim() + len({dims}))])]")
    return f"({' * '.join(spread)}).sum({summed})"


TRILINEAR: Op = Op(
    "TrilinearBackward0",
    _trilinear,
    "i1 i2 i3",
    "expand1 expand2 expand3 sumdim",
    saved="i1 i2 i3 expand1 expand2 expand3 sumdim",
    in_half=_of_dtype,
    i1=Rule(
        lambda xp, grad, i2, i3, attrs: xp.call(TRILINEAR, grad, i2, i3, attrs[3], attrs[1], attrs[2], attrs[0]),
        _product("grad sumdim", "i2 expand2", "i3 expand3", "expand1"),
    ),
    i2=Rule(
        lambda xp, grad, i1, i3, attrs: xp.call(TRILINEAR, i1, grad, i3, attrs[0], attrs[3], attrs[2], attrs[1]),
        _product("i1 expand1", "grad sumdim", "i3 expand3", "expand2"),
    ),
    i3=Rule(
        lambda xp, grad, i1, i2, attrs: xp.call(TRILINEAR, i1, i2, grad, attrs[0], attrs[1], attrs[3], attrs[2]),
        _product("i1 expand1", "i2 expand2", "grad sumdim", "expand3"),
    ),
)
#: for rows `ni`, a weight `oij` and rows `nj`
BILINEAR: tuple[Any, ...] = ((1, 3), (0,), (1, 2), (2, 3))
