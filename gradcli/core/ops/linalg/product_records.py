"""The records of products of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import products
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.shape.transpose import T_RECORD, TRANSPOSE
from gradcli.core.tensor.tensor import Array


def multiply(a: Array, b: Array) -> Array:
    """The matrix product of two arrays, accumulated at least in float32."""
    if a.dtype == np.float16:
        return multiply(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
    return products.matmul(a, b)


def by_columns(array: Array) -> bool:
    """Whether a matrix lies column after column in memory, which is how PyTorch then multiplies its gradient too."""
    return array.strides[0] == array.itemsize and array.strides[1] == array.itemsize * array.shape[0]


def _left(xp: Any, grad: Any, mat2: Any, columns: bool) -> Any:
    if columns:
        return xp.call(T_RECORD, xp.call(MM, mat2, xp.call(T_RECORD, grad), False, False))
    return xp.call(MM, grad, xp.call(T_RECORD, mat2), False, False)


def _right(xp: Any, grad: Any, input: Any, columns: bool) -> Any:
    if columns:
        return xp.call(T_RECORD, xp.call(MM, xp.call(T_RECORD, grad), input, False, False))
    return xp.call(MM, xp.call(T_RECORD, input), grad, False, False)


MM: Op = Op(
    "MmBackward0",
    lambda a, b, left_columns, right_columns: multiply(a, b),
    "input mat2",
    "left_columns right_columns",
    input=Rule(lambda xp, grad, mat2, left_columns: _left(xp, grad, mat2, left_columns), "grad @ mat2.t()"),
    mat2=Rule(lambda xp, grad, input, right_columns: _right(xp, grad, input, right_columns), "input.t() @ grad"),
)
MV: Op = Op(
    "MvBackward0",
    multiply,
    "input vec",
    input=Rule(lambda xp, grad, vec: xp.reshape(grad, (grad.shape[0], 1)) * vec, "outer(grad, vec)"),
    vec=Rule(lambda xp, grad, input: xp.call(MV, xp.call(T_RECORD, input), grad), "input.t() @ grad"),
)
DOT: Op = Op(
    "DotBackward0",
    multiply,
    "input tensor",
    input=Rule(lambda grad, tensor: grad * tensor, "grad * tensor"),
    tensor=Rule(lambda grad, input: grad * input, "grad * input"),
)
VDOT: Op = Op(
    "VdotBackward0",
    multiply,
    "input other",
    input=Rule(lambda grad, other: grad * other, "grad * other"),
    other=Rule(lambda grad, input: grad * input, "grad * input"),
)
BMM: Op = Op(
    "BmmBackward0",
    multiply,
    "input mat2",
    input=Rule(lambda xp, grad, mat2: xp.call(BMM, grad, xp.call(TRANSPOSE, mat2, 1, 2)), "grad @ mat2.mT"),
    mat2=Rule(lambda xp, grad, input: xp.call(BMM, xp.call(TRANSPOSE, input, 1, 2), grad), "input.mT @ grad"),
)


def _scaled(xp: Any, value: Any, factor: Any) -> Any:
    return value if factor == 1 else scalars.times(xp, value, factor)


def _whole(array: Array, factor: Any) -> Any:
    """A factor as the dtype of integer tensors wants it."""
    return int(factor) if array.dtype.kind in "iu" else factor


def _sum(a: Array, product: Array, beta: Any, alpha: Any) -> Array:
    if alpha != 1:
        product = product * _whole(product, alpha)
    # with beta 0 what is in the tensor does not count, not even its nans
    if beta == 0:
        return product
    return (a if beta == 1 else a * _whole(a, beta)) + product


ADDMM: Op = Op(
    "AddmmBackward0",
    lambda a, x, y, beta, alpha, left_columns, right_columns: (
        products.matmul_onto(a, x, y) if alpha == beta == 1 and a.dtype != np.float16 else _sum(a, multiply(x, y), beta, alpha)
    ),
    "input mat1 mat2",
    "beta alpha left_columns right_columns",
    input=Rule(lambda xp, grad, beta: _scaled(xp, grad, beta), "beta * grad"),
    mat1=Rule(
        lambda xp, grad, mat2, alpha, left_columns: _scaled(xp, _left(xp, grad, mat2, left_columns), alpha), "alpha * (grad @ mat2.t())"
    ),
    mat2=Rule(
        lambda xp, grad, mat1, alpha, right_columns: _scaled(xp, _right(xp, grad, mat1, right_columns), alpha), "alpha * (mat1.t() @ grad)"
    ),
)
ADDMV: Op = Op(
    "AddmvBackward0",
    lambda a, mat, vec, beta, alpha: _sum(a, multiply(mat, vec), beta, alpha),
    "input mat vec",
    "beta alpha",
    input=Rule(lambda xp, grad, beta: _scaled(xp, grad, beta), "beta * grad"),
    mat=Rule(lambda xp, grad, vec, alpha: _scaled(xp, xp.reshape(grad, (grad.shape[0], 1)) * vec, alpha), "alpha * outer(grad, vec)"),
    vec=Rule(lambda xp, grad, mat, alpha: _scaled(xp, xp.call(MV, xp.call(T_RECORD, mat), grad), alpha), "alpha * (mat.t() @ grad)"),
)
ADDR: Op = Op(
    "AddrBackward0",
    lambda a, x, y, beta, alpha: _sum(a, x[:, None] * y, beta, alpha),
    "input vec1 vec2",
    "beta alpha",
    input=Rule(lambda xp, grad, beta: _scaled(xp, grad, beta), "beta * grad"),
    vec1=Rule(lambda xp, grad, vec2, alpha: _scaled(xp, xp.call(MV, grad, vec2), alpha), "alpha * (grad @ vec2)"),
    vec2=Rule(lambda xp, grad, vec1, alpha: _scaled(xp, xp.call(MV, xp.call(T_RECORD, grad), vec1), alpha), "alpha * (grad.t() @ vec1)"),
)


def _batched(xp: Any, grad: Any, count: int) -> Any:
    return xp.broadcast_to(xp.expand_dims(grad, 0), (count, *grad.shape))


ADDBMM: Op = Op(
    "AddbmmBackward0",
    lambda a, x, y, beta, alpha: _sum(a, multiply(x, y).sum(0), beta, alpha),
    "input batch1 batch2",
    "beta alpha",
    input=Rule(lambda xp, grad, beta: _scaled(xp, grad, beta), "beta * grad"),
    batch1=Rule(
        lambda xp, grad, batch2, alpha: _scaled(
            xp, xp.call(BMM, _batched(xp, grad, batch2.shape[0]), xp.call(TRANSPOSE, batch2, 1, 2)), alpha
        ),
        "alpha * (grad @ batch2.mT)",
    ),
    batch2=Rule(
        lambda xp, grad, batch1, alpha: _scaled(
            xp, xp.call(BMM, xp.call(TRANSPOSE, batch1, 1, 2), _batched(xp, grad, batch1.shape[0])), alpha
        ),
        "alpha * (batch1.mT @ grad)",
    ),
)
BADDBMM: Op = Op(
    "BaddbmmBackward0",
    lambda a, x, y, beta, alpha: _sum(a, multiply(x, y), beta, alpha),
    "input batch1 batch2",
    "beta alpha",
    input=Rule(lambda xp, grad, beta: _scaled(xp, grad, beta), "beta * grad"),
    batch1=Rule(
        lambda xp, grad, batch2, alpha: _scaled(xp, xp.call(BMM, grad, xp.call(TRANSPOSE, batch2, 1, 2)), alpha),
        "alpha * (grad @ batch2.mT)",
    ),
    batch2=Rule(
        lambda xp, grad, batch1, alpha: _scaled(xp, xp.call(BMM, xp.call(TRANSPOSE, batch1, 1, 2), grad), alpha),
        "alpha * (batch1.mT @ grad)",
    ),
)
