"""The records of linear algebra: inverses, determinants and solutions of batches of matrices, traces and cross products.

Derivatives as in M. Giles, "An extended collection of matrix derivative results" (2008), in PyTorch's arrangement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import elementary, elimination
from gradcli.core.kernels.summation import total
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.index.index_select import INDEX_FILL_TENSOR
from gradcli.core.ops.shape.diagonal import DIAG_EMBED, TRIL, TRIU
from gradcli.core.ops.shape.squeeze import SQUEEZE_DIM
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError


def by_columns(a: Array) -> Array:
    """The same matrices with each lying column by column in memory, as LAPACK leaves them."""
    return np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)


def _zero_pivot(matrix: Array) -> int:
    """Which diagonal element of the triangular factor is zero, counted from 1; elimination with row exchanges."""
    a = np.array(matrix, matrix.dtype)
    n = int(a.shape[0])
    for k in range(n):
        best = k + int(np.argmax(np.abs(a[k:, k])))
        if a[best, k] == 0:
            return k + 1
        a[[k, best]] = a[[best, k]]
        a[k + 1 :] -= np.outer(a[k + 1 :, k] / a[k, k], a[k])
    return n


def first_failure(a: Array, run: Any) -> tuple[str, Array]:
    """The first matrix of a batch for which `run` fails, and how messages speak of it."""
    for i, m in enumerate(a.reshape(-1, *a.shape[-2:])):
        try:
            run(m)
        except np.linalg.LinAlgError:
            return (f"(Batch element {i}): " if a.ndim > 2 else ""), m
    return "", a


def _inverse(a: Array) -> Array:
    try:
        return elimination.inverse(a) if elimination.fits(a) else by_columns(np.linalg.inv(a))
    except np.linalg.LinAlgError:
        where, m = first_failure(a, np.linalg.inv)
        raise ProgramError(
            "_LinAlgError",
            f"linalg.inv: {where}The diagonal element {_zero_pivot(m)} is zero, the inversion could not be completed because the input "
            "matrix is singular.",
        ) from None


INV: Op = Op(
    "LinalgInvExBackward0",
    _inverse,
    "A",
    A=Rule(lambda xp, grad, out: -xp.matmul(xp.mT(out), xp.matmul(grad, xp.mT(out))), "-(out.mT @ (grad @ out.mT))"),
)


# --- systems of equations ---


def is_vector(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether the right side of a system is a vector, or a batch of vectors."""
    return len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])


def _solved(a: Array, b: Array) -> Array:
    vector = is_vector(a.shape, b.shape)
    try:
        right = b[..., None] if vector else b
        x = (
            elimination.solve(a, right)
            if elimination.fits(a) and right.size <= elimination.LARGEST
            else by_columns(np.linalg.solve(a, right))
        )
    except np.linalg.LinAlgError:
        where, _ = first_failure(a, lambda m: np.linalg.solve(m, m))
        raise ProgramError("_LinAlgError", f"torch.linalg.solve: {where}The solver failed because the input matrix is singular.") from None
    return np.asarray(x[..., 0] if vector else x)


def _back_solved(xp: Any, grad: Any, A: Any, vector: bool) -> Any:
    right = xp.expand_dims(grad, -1) if vector else grad
    if type(A) is not Tensor and elimination.fits(A) and right.size <= elimination.LARGEST:
        return elimination.solve(A, right, transposed=True)
    return xp.call(SOLVE, xp.mT(A), right)


def _solve_left(xp: Any, grad: Any, A: Any, B_shape: Any, out: Any) -> Any:
    vector = is_vector(A.shape, out.shape)
    back = _back_solved(xp, grad, A, vector)
    return -xp.matmul(back, xp.mT(xp.expand_dims(out, -1) if vector else out))


def _solve_right(xp: Any, grad: Any, A: Any) -> Any:
    vector = is_vector(A.shape, grad.shape)
    back = _back_solved(xp, grad, A, vector)
    return xp.call(SQUEEZE_DIM, back, -1) if vector else back


SOLVE: Op = Op(
    "LinalgSolveExBackward0",
    _solved,
    "A B",
    A=Rule(_solve_left, "g = torch.linalg.solve(A.mT, grad); -g[..., None] * out[..., None, :] if out.dim() < A.dim() else -g @ out.mT"),
    B=Rule(_solve_right, "torch.linalg.solve(A.mT, grad)"),
)


def _solved_triangle(a: Array, b: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    triangle = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        n = a.shape[-1]
        triangle[..., np.arange(n), np.arange(n)] = 1
    try:
        if left:
            return np.linalg.solve(triangle, b)
        return np.ascontiguousarray(np.linalg.solve(triangle.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2))
    except np.linalg.LinAlgError:
        # a zero on the diagonal divides, as substitution does
        shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:]
        return np.full(shape, np.inf, b.dtype)


def _triangle_left(xp: Any, grad: Any, A: Any, out: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    back = xp.call(TRIANGULAR, xp.mT(A), grad, not upper, left, unitriangular)
    whole = -xp.matmul(back, xp.mT(out)) if left else -xp.matmul(xp.mT(out), back)
    inside = 1 if unitriangular else 0
    return xp.call(TRIU, whole, inside) if upper else xp.call(TRIL, whole, -inside)


#: the solution of the transposed system for grad
_TRIANGLE = "torch.linalg.solve_triangular(A.mT, grad, upper=not upper, left=left, unitriangular=unitriangular)"

TRIANGULAR: Op = Op(
    "LinalgSolveTriangularBackward0",
    _solved_triangle,
    "A B",
    "upper left unitriangular",
    A=Rule(
        _triangle_left,
        f"g = {_TRIANGLE}; a = -g @ out.mT if left else -out.mT @ g; k = 1 if unitriangular else 0; a.triu(k) if upper else a.tril(-k)",
    ),
    B=Rule(
        lambda xp, grad, A, upper, left, unitriangular: xp.call(TRIANGULAR, xp.mT(A), grad, not upper, left, unitriangular),
        _TRIANGLE,
    ),
)


# --- determinants ---


def _adjugate(xp: Any, A: Any) -> Any:
    """The cofactors, transposed, also of singular matrices: by products, which can be differentiated again (Faddeev and LeVerrier)."""
    n = A.shape[-1]
    eye = np.eye(n, dtype=xp.plain(A).dtype)
    unit = xp.broadcast_to(wrap(eye) if type(A) is Tensor else eye, A.shape)
    power = unit
    for k in range(1, n):
        product = xp.matmul(A, power)
        trace = xp.sum(xp.sum(product * unit, -1), -1)
        power = product - unit * xp.expand_dims(xp.expand_dims(trace, -1), -1) / float(k)
    return power if n % 2 else -power


def _on_diagonal(values: Any, a: Array) -> Array:
    """Diagonal matrices of the shape of `a`, one value each."""
    made = np.zeros_like(a)
    np.einsum("...ii->...i", made)[...] = np.asarray(values)[..., None]
    return made


def _det_rule(xp: Any, grad: Any, A: Any, out: Any) -> Any:
    if type(A) is not Tensor and elimination.fits(A):
        # PyTorch divides the 0 that a zero pivot leaves by the smallest step instead: no gradient where A is singular
        return elimination.solve(xp.mT(A), _on_diagonal(grad * out, A), singular=np.finfo(A.dtype).eps)
    n = A.shape[-1]
    singular = xp.plain(out) == 0
    if singular.any():
        if type(A) is Tensor:
            return xp.expand_dims(xp.expand_dims(grad, -1), -1) * xp.mT(_adjugate(xp, A))
        A = np.where(singular[..., None, None], np.eye(n, dtype=A.dtype), A)
    wide = xp.broadcast_to(xp.expand_dims(grad * out, -1), (*out.shape, n))
    return xp.call(SOLVE, xp.mT(A), xp.mT(xp.call(DIAG_EMBED, wide, 0, -2, -1)))


DET: Op = Op(
    "LinalgDetBackward0",
    lambda a: elimination.determinant(a) if elimination.fits(a) else np.linalg.det(a),
    "A",
    A=Rule(
        _det_rule,
        "regular = A.where(out[..., None, None] != 0, torch.eye(A.shape[-1])); "
        "(grad * out)[..., None, None] * torch.linalg.inv(regular).mT",
        "0 where A is singular",
    ),
)


def _slogdet(a: Array) -> tuple[Array, Array]:
    if elimination.fits(a):
        signs, pivots = elimination.diagonals(a)
        return np.prod(np.sign(pivots), -1) * signs, np.asarray(total(elementary.log(np.abs(pivots)), -1))
    sign, logarithm = np.linalg.slogdet(a)
    return np.asarray(sign, a.dtype), np.asarray(logarithm, a.dtype)


def _slogdet_rule(xp: Any, grads: Any, A: Any, sign: Any) -> Any:
    grad = grads[1]
    if grad is None:
        return None
    if type(A) is not Tensor and elimination.fits(A):
        return elimination.solve(xp.mT(A), _on_diagonal(grad, A), singular=0.0)
    if (xp.plain(sign) == 0).any():
        return scalars.times_data(xp, xp.expand_dims(xp.expand_dims(grad, -1), -1), np.full(A.shape, np.inf, xp.plain(A).dtype))
    n = A.shape[-1]
    wide = xp.broadcast_to(xp.expand_dims(grad, -1), (*grad.shape, n))
    return xp.call(SOLVE, xp.mT(A), xp.mT(xp.call(DIAG_EMBED, wide, 0, -2, -1)))


SLOGDET: Op = Op(
    "LinalgSlogdetBackward0",
    _slogdet,
    "A",
    outputs="sign logabsdet",
    differentiable=2,
    A=Rule(_slogdet_rule, "grads[1][..., None, None] * torch.linalg.inv(A).mT"),
)


# --- trace, cross product ---


def _trace_rule(xp: Any, grad: Any, input_shape: Any, input_dtype: Any) -> Any:
    n, m = input_shape
    places = np.arange(min(n, m)) * (m + 1)
    return xp.reshape(xp.call(INDEX_FILL_TENSOR, xp.zeros((n * m,), input_dtype), grad, 0, places), input_shape)


TRACE: Op = Op(
    "TraceBackward0",
    lambda a: np.trace(a, dtype=None if a.dtype.kind == "f" else np.int64),
    "input",
    input=Rule(_trace_rule, "zeros_like(input).diagonal_scatter(grad.expand(min(input.shape)))"),
)


def _cross(a: Array, b: Array, dim: int) -> Array:
    x, y = np.moveaxis(a, dim, -1), np.moveaxis(b, dim, -1)
    parts = [x[..., (i + 1) % 3] * y[..., (i + 2) % 3] - x[..., (i + 2) % 3] * y[..., (i + 1) % 3] for i in range(3)]
    return np.ascontiguousarray(np.moveaxis(np.stack(parts, -1), -1, dim))


CROSS: Op = Op(
    "LinalgCrossBackward0",
    _cross,
    "input other",
    "dim",
    input=Rule(lambda xp, grad, other, dim: xp.call(CROSS, other, grad, dim), "torch.linalg.cross(other, grad, dim=dim)"),
    other=Rule(lambda xp, grad, input, dim: xp.call(CROSS, grad, input, dim), "torch.linalg.cross(grad, input, dim=dim)"),
)
