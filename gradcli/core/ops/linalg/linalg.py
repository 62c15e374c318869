"""Linear algebra: `torch.linalg` and its older names under `torch`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.clone import CLONE
from gradcli.core.ops.checks import not_implemented, wrap_dim
from gradcli.core.ops.elementwise import add_multiply, divide_remainder
from gradcli.core.ops.linalg import decompositions
from gradcli.core.ops.linalg.common import LinalgFunction, check_floats, check_matrices, check_square_floats, check_squares, failure
from gradcli.core.ops.linalg.linalg_records import CROSS, DET, INV, SLOGDET, SOLVE, TRACE, TRIANGULAR, is_vector
from gradcli.core.ops.linalg.products import matmul
from gradcli.core.ops.reduce.norms import vector_norm
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.ops.shape.diagonal import diagonal
from gradcli.core.ops.shape.squeeze import unsqueeze
from gradcli.core.ops.shape.transpose import mT, permute
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap

# --- inverse, determinants, systems ---


def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices."""
    check_square_floats("linalg.inv", A)
    return INV(A)  # type: ignore[no-any-return]


def det(A: Tensor) -> Tensor:
    """The determinant of square matrices."""
    check_square_floats("linalg.det", A)
    return DET(A)  # type: ignore[no-any-return]


def _slogdet(type_name: str) -> Any:
    def run(A: Tensor) -> Any:
        check_square_floats("linalg.slogdet", A)
        return named(type_name, "sign", "logabsdet")(SLOGDET(A))

    return run


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan where that is negative."""
    check_squares("logdet", input)
    check_floats("linalg.slogdet", input)
    sign, logarithm = SLOGDET(input)
    return catalog.function("where")(wrap(sign.array == -1), math.nan, logarithm)  # type: ignore[no-any-return]


def solve(A: Tensor, B: Tensor, left: bool = True) -> Tensor:
    """X of A @ X = B (X @ A = B unless left)."""
    check_floats("linalg.solve", A)
    check_squares("linalg.solve", A)
    if A.dtype is not B.dtype:
        raise failure(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {A.dtype.torch_name} and B of type "
            f"{B.dtype.torch_name} instead"
        )
    a, b = A.array.shape, B.array.shape
    vector = is_vector(a, b)
    if not left and not vector:
        return mT(solve(mT(A), mT(B)))
    rows, columns = (b[-1], 1) if vector else (b[-2], b[-1])
    if rows != a[-1]:
        raise failure(f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({a[-2]}x{a[-1]} and {rows}x{columns})")
    return SOLVE(A, B)  # type: ignore[no-any-return]


def solve_triangular(A: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """X of A @ X = B where A is a triangle."""
    check_square_floats("linalg.solve_triangular", A)
    check_matrices("linalg.solve_triangular", B, "B")
    a, b = A.array.shape, B.array.shape
    if a[-1] != (b[-2] if left else b[-1]):
        shown = "AX = B" if left else "XA = B"
        raise failure(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {shown} ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )
    return TRIANGULAR(A, B, upper, left, unitriangular)  # type: ignore[no-any-return]


def matrix_power(A: Tensor, n: int) -> Tensor:
    """A times itself n times; a negative n takes the inverse."""
    check_squares("linalg.matrix_power", A)
    limits.check_work(abs(n).bit_length() * A.array.size * A.array.shape[-1])
    if n == 0:
        copy: Tensor = CLONE(A)
        from gradcli.core.graph import in_place

        return in_place.copy_(copy, wrap(np.eye(A.array.shape[-1], dtype=A.dtype.np)))
    if n == 1:
        return CLONE(A)  # type: ignore[no-any-return]
    base = A if n > 0 else inv(A)
    count = abs(n)
    if count == 3:
        return matmul(matmul(base, base), base)
    result: Tensor | None = None
    power = base
    while count:
        if count & 1:
            result = power if result is None else matmul(result, power)
        count >>= 1
        if count:
            power = matmul(power, power)
    assert result is not None
    return result


# --- norms ---


def _two_dims(name: str, A: Tensor, dim: Sequence[int]) -> tuple[int, int]:
    if len(dim) != 2:
        raise failure(f"{name}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    first, second = wrap_dim(dim[0], A.array.ndim), wrap_dim(dim[1], A.array.ndim)
    if first == second:
        raise failure(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, dtype: Any = None) -> Any:
    """Frobenius, nuclear, or operator norm of matrices."""
    name = "linalg.matrix_norm"
    check_matrices(name, A)
    if not A.dtype.is_floating_point:
        raise failure(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.torch_name}")
    first, second = _two_dims(name, A, dim)
    if dtype is not None:
        A = to_dtype(A, dtype)
    if ord == "fro":
        return vector_norm(A, 2, (first, second), keepdim)
    if not (ord == "nuc" or (type(ord) in (int, float) and abs(ord) in (1, 2, math.inf))):
        raise failure(f"{name}: Order {ord if isinstance(ord, str) else format(ord, 'g')} not supported.")
    largest = catalog.function("amax" if ord == "nuc" or ord > 0 else "amin")
    if ord != "nuc" and abs(ord) != 2:
        if abs(ord) == math.inf:
            first, second = second, first
        sums = vector_norm(A, 1, (first,), keepdim)
        return largest(sums, (second - (not keepdim and second > first),), keepdim)
    check_floats(name, A)
    rest = [d for d in range(A.array.ndim) if d not in (first, second)]
    values = decompositions.svdvals(permute(A, (*rest, first, second)))
    result = catalog.function("sum")(values, (-1,), keepdim) if ord == "nuc" else largest(values, (-1,), keepdim)
    if keepdim:
        order = [*rest, first, second]
        result = permute(unsqueeze(result, -1), tuple(order.index(d) for d in range(len(order))))
    return result


def norm(A: Tensor, ord: Any = None, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The vector norm, or the matrix norm where ord is given for two dimensions."""
    rank = A.array.ndim
    if isinstance(ord, str):
        if dim is None and rank > 2:
            raise failure(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {rank}D.")
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype)
    if ord is not None and dim is None and rank not in (1, 2):
        raise failure(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {rank}D.")
    if ord is not None and (len(dim) == 2 if dim is not None else rank == 2):
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype)


def cond(A: Tensor, p: Any = None) -> Any:
    """The condition number: the norm of A times that of its inverse."""
    check_matrices("linalg.cond", A)
    check_floats("linalg.cond", A)
    if p in (None, 2, -2):
        values = decompositions.svdvals(A)
        narrow = catalog.function("narrow")
        low, high = narrow(values, -1, values.array.shape[-1] - 1, 1), narrow(values, -1, 0, 1)
        ratio = divide_remainder.div(low, high) if p == -2 else divide_remainder.div(high, low)
        return catalog.function("squeeze")(ratio, -1)
    return add_multiply.mul(matrix_norm(A, p), matrix_norm(inv(A), p))


# --- products ---


def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
    if input.array.ndim != 2:
        raise failure(f"trace: expected a matrix, but got tensor with dim {input.array.ndim}")
    return TRACE(input)  # type: ignore[no-any-return]


def cross(input: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """The vector product along a dimension of size 3."""
    if input.array.ndim != other.array.ndim:
        raise failure("linalg.cross: inputs must have the same number of dimensions.")
    a, b = input.array, other.array
    at = wrap_dim(dim, a.ndim)
    if a.shape[at] != 3 or b.shape[at] != 3:
        raise failure(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.shape[at]} and {b.shape[at]}")
    if input.dtype is dtypes.bool_ and other.dtype is dtypes.bool_:
        raise not_implemented("cross", dtypes.bool_)
    x, y = catalog.function("broadcast_tensors")(input, other) if a.shape != b.shape else (input, other)
    return CROSS(x, y, dim)  # type: ignore[no-any-return]


def _old_cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    if dim is not None:
        return cross(input, other, dim)
    from gradcli.core.calling import warnings

    warnings.emit(
        "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
        "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release. "
        "(Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/Cross.cpp:63.)",
        once="cross",
    )
    if 3 not in input.array.shape:
        raise failure("no dimension of size 3 in input")
    return cross(input, other, input.array.shape.index(3))


def vecdot(x: Tensor, y: Tensor, dim: int = -1) -> Tensor:
    """Sums of products along a dimension."""
    return catalog.function("sum")(add_multiply.mul(x, y), (dim,))  # type: ignore[no-any-return]


_A: Any = [[2.0, 0.5], [0.25, 3.0]]
_S: Any = [[2.0, 0.5], [0.5, 3.0]]
_M: Any = [[1.0, 2.0, 0.5], [0.5, -1.0, 3.0]]
_V: Any = [1.0, -2.0]
_X: Any = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]

FUNCTIONS = (
    LinalgFunction(
        "inv",
        ("Tensor A", inv),
        doc="The inverse of square matrices.",
        ops=(INV,),
        samples=(Sample("torch.linalg.inv(x)", np.linalg.inv, x=_A),),
        out=True,
    ),
    Function(
        "inverse",
        ("Tensor input", inv),
        doc="The inverse of square matrices.",
        samples=(Sample("inverse(x)", np.linalg.inv, x=_A),),
        out=True,
    ),
    LinalgFunction(
        "det",
        ("Tensor A", det),
        doc="The determinant of square matrices.",
        ops=(DET,),
        samples=(Sample("torch.linalg.det(x)", np.linalg.det, x=_A),),
        out=True,
    ),
    Function("det", ("Tensor input", det), doc="The determinant of square matrices.", samples=(Sample("det(x)", np.linalg.det, x=_A),)),
    Function(
        "logdet",
        ("Tensor input", logdet),
        doc="The logarithm of the determinant.",
        samples=(Sample("logdet(x)", lambda x: np.log(np.linalg.det(x)), x=_A),),
    ),
    LinalgFunction(
        "slogdet",
        ("Tensor A |outs", _slogdet("linalg_slogdet")),
        doc="Sign and logarithm of the absolute value of the determinant.",
        ops=(SLOGDET,),
        samples=(Sample("torch.linalg.slogdet(x)[1]", lambda x: np.linalg.slogdet(x)[1], x=_A),),
        out=True,
    ),
    Function(
        "slogdet", ("Tensor input |outs", _slogdet("slogdet")), doc="Sign and logarithm of the absolute value of the determinant.", out=True
    ),
    LinalgFunction(
        "solve",
        ("Tensor A, Tensor B, *, bool left=True", solve),
        doc="X of A @ X = B.",
        ops=(SOLVE,),
        samples=(
            Sample("torch.linalg.solve(x, v)", np.linalg.solve, x=_A, v=_V),
            Sample("torch.linalg.solve(x, y)", np.linalg.solve, x=_A, y=_M),
        ),
        out=True,
    ),
    LinalgFunction(
        "solve_triangular",
        ("Tensor input, Tensor B, *, bool upper, bool left=True, bool unitriangular=False", solve_triangular),
        doc="X of A @ X = B where A is a triangle.",
        ops=(TRIANGULAR,),
        samples=(Sample("torch.linalg.solve_triangular(x, y, upper=True)", lambda x, y: np.linalg.solve(np.triu(x), y), x=_A, y=_M),),
    ),
    LinalgFunction(
        "matrix_power",
        ("Tensor input, int n", matrix_power),
        doc="A times itself n times; a negative n takes the inverse.",
        samples=(Sample("torch.linalg.matrix_power(x, 3)", lambda x: np.linalg.matrix_power(x, 3), x=_A),),
    ),
    Function("matrix_power", ("Tensor input, int n", matrix_power), doc="input times itself n times."),
    LinalgFunction(
        "matrix_norm",
        ("Tensor input, Number ord, ints dim={-2,-1}, bool keepdim=False, *, dtype? dtype=None", matrix_norm),
        ("Tensor input, str ord='fro', ints dim={-2,-1}, bool keepdim=False, *, dtype? dtype=None", matrix_norm),
        doc="Frobenius, nuclear, or operator norm of matrices.",
        samples=(
            Sample("torch.linalg.matrix_norm(x)", np.linalg.norm, x=_M),
            Sample("torch.linalg.matrix_norm(x, 'nuc')", lambda x: np.linalg.norm(x, "nuc"), x=_M),
            Sample("torch.linalg.matrix_norm(x, 2)", lambda x: np.linalg.norm(x, 2), x=_M),
            Sample("torch.linalg.matrix_norm(x, 1)", lambda x: np.linalg.norm(x, 1), x=_M),
        ),
        out=True,
    ),
    LinalgFunction(
        "norm",
        ("Tensor input, Number? ord=None, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None", norm),
        ("Tensor input, str ord, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None", norm),
        doc="The vector norm, or the matrix norm where ord is given for two dimensions.",
        samples=(
            Sample("torch.linalg.norm(v)", np.linalg.norm, v=_V),
            Sample("torch.linalg.norm(x, dim=1)", lambda x: np.linalg.norm(x, axis=1), x=_M),
        ),
        out=True,
    ),
    LinalgFunction(
        "cond",
        ("Tensor input, Number? p=None", cond),
        ("Tensor input, str p", cond),
        doc="The condition number.",
        samples=(Sample("torch.linalg.cond(x)", np.linalg.cond, x=_A),),
        out=True,
    ),
    Function(
        "trace", ("Tensor input", trace), doc="The sum of a matrix's diagonal.", ops=(TRACE,), samples=(Sample("trace(x)", np.trace, x=_A),)
    ),
    LinalgFunction(
        "cross",
        ("Tensor input, Tensor other, *, int dim=-1", cross),
        doc="The vector product along a dimension of size 3.",
        ops=(CROSS,),
        samples=(Sample("torch.linalg.cross(x, y)", np.cross, x=_M, y=_X),),
        out=True,
    ),
    Function(
        "cross",
        ("Tensor input, Tensor other, int? dim=None", _old_cross),
        doc="The vector product along dim.",
        samples=(Sample("cross(x, y, dim=1)", np.cross, x=_M, y=_X),),
        out=True,
    ),
    LinalgFunction(
        "vecdot",
        ("Tensor x, Tensor y, *, int dim=-1", vecdot),
        doc="Sums of products along a dimension.",
        samples=(Sample("torch.linalg.vecdot(x, y)", lambda x, y: (x * y).sum(-1), x=_M, y=_X),),
        out=True,
    ),
    LinalgFunction(
        "diagonal",
        ("Tensor A, *, int offset=0, int dim1=-2, int dim2=-1", diagonal),
        doc="The diagonal of matrices.",
        samples=(Sample("torch.linalg.diagonal(x)", np.diagonal, x=_M),),
    ),
)
