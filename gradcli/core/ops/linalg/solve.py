"""Inverses and solutions that tell where they failed, tensor equations, and what is solved with Cholesky's factor or a triangle."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import lu
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.linalg.common import LinalgFunction, check_matrices, check_square_floats, check_squares, failure
from gradcli.core.ops.linalg.decompositions import cholesky
from gradcli.core.ops.linalg.linalg import inv, solve
from gradcli.core.ops.linalg.linalg_records import TRIANGULAR, is_vector
from gradcli.core.ops.shape.diagonal import TRIL, TRIU
from gradcli.core.ops.shape.transpose import permute
from gradcli.core.ops.shape.views import reshape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor, wrap
from gradcli.errors import ProgramError

# --- with information about failures ---


def _told(run: Callable[[], Tensor], A: Tensor, check_errors: bool, rename: tuple[str, str], fallback: Any) -> tuple[Tensor, Tensor]:
    """The result and zeros; where it fails PyTorch's error under another name, or what `fallback` makes, with information."""
    try:
        return run(), wrap(np.zeros(A.array.shape[:-2], np.int32))
    except ProgramError as error:
        if not error.kind.endswith("_LinAlgError"):
            raise
        if check_errors:
            raise ProgramError("_LinAlgError", error.message.replace(*rename, 1)) from None
    values, info = fallback()
    return Tensor(values, A.dtype), wrap(np.asarray(info, np.int32))


def inv_ex(A: Tensor, check_errors: bool = False) -> Any:
    """The inverse, and for each matrix which pivot was 0."""
    check_square_floats("linalg.inv", A)

    def infinite() -> tuple[Array, Array]:
        packed, pivots, info = lu.factorized(A.array)
        eye = np.broadcast_to(np.eye(A.array.shape[-1], dtype=A.dtype.np), A.array.shape)
        return lu.solved(packed, pivots, eye, False), info

    found = _told(lambda: inv(A), A, check_errors, ("linalg.inv", "linalg.inv_ex"), infinite)
    return named("linalg_inv_ex", "inverse", "info")(found)


def solve_ex(A: Tensor, B: Tensor, left: bool = True, check_errors: bool = False) -> Any:
    """X of A @ X = B, and for each matrix which pivot was 0."""

    def infinite() -> tuple[Array, Array]:
        packed, pivots, info = lu.factorized(A.array)
        vector = is_vector(A.array.shape, B.array.shape)
        right = B.array[..., None] if vector else B.array if left else B.array.swapaxes(-1, -2)
        x = lu.solved(packed, pivots, right, not left and not vector)
        return (x[..., 0] if vector else x if left else np.ascontiguousarray(x.swapaxes(-1, -2))), info

    found = _told(lambda: solve(A, B, left), A, check_errors, ("linalg.solve", "linalg.solve_ex"), infinite)
    return named("linalg_solve_ex", "result", "info")(found)


def _partial(matrix: Array) -> tuple[Array, int]:
    """Cholesky's factor as far as it goes, and the order of the first minor that is not positive, or 0."""
    a = np.tril(matrix)
    for k in range(len(a)):
        a[k, k] -= a[k, :k] @ a[k, :k]
        if not a[k, k] > 0:
            return a, k + 1
        a[k, k] = np.sqrt(a[k, k])
        a[k + 1 :, k] = (a[k + 1 :, k] - a[k + 1 :, :k] @ a[k, :k]) / a[k, k]
    return a, 0


def cholesky_ex(input: Tensor, upper: bool = False, check_errors: bool = False) -> Any:
    """Cholesky's factor, and for each matrix which minor is not positive definite."""

    def unfinished() -> tuple[Array, Array]:
        n = input.array.shape[-1]
        square = input.array.swapaxes(-1, -2) if upper else input.array
        parts = [_partial(m) for m in square.reshape(-1, n, n)]
        made = np.stack([m for m, _ in parts]).reshape(square.shape)
        info = np.array([k for _, k in parts], np.int32).reshape(square.shape[:-2])
        return np.ascontiguousarray(made.swapaxes(-1, -2)) if upper else made, info

    found = _told(lambda: cholesky(input, upper), input, check_errors, ("linalg.cholesky", "linalg.cholesky_ex"), unfinished)
    return named("linalg_cholesky_ex", "L", "info")(found)


# --- tensor equations ---


def tensorinv(input: Tensor, ind: int = 2) -> Any:
    """The inverse of the linear map from the last dimensions to the first `ind`."""
    if ind <= 0:
        raise failure(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = input.array.shape
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise failure(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {columns} != {rows}"
        )
    matrix = reshape(input, (rows, columns))
    try:
        inverse = inv(matrix)
    except ProgramError as error:
        kind = "_LinAlgError" if error.kind.endswith("_LinAlgError") else error.kind
        raise ProgramError(kind, error.message.replace("linalg.inv", "inv", 1)) from None
    return reshape(inverse, (*shape[ind:], *shape[:ind]))


def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Any:
    """X of tensordot(input, X, X.dim()) = other."""
    rank = input.array.ndim
    if dims is not None:
        moved = [d % rank for d in dims]
        input = permute(input, (*[d for d in range(rank) if d not in moved], *moved))
    shape = input.array.shape[other.array.ndim :]
    rows, columns = math.prod(input.array.shape[: other.array.ndim]), math.prod(shape)
    if rows != columns:
        raise failure(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{columns} != {rows}"
        )
    return reshape(solve(reshape(input, (columns, columns)), reshape(other, (-1,))), shape)


# --- with Cholesky's factor ---


def _half_inverse(a: Array, upper: bool) -> Array:
    triangle = np.triu(a) if upper else np.tril(a)
    try:
        inverse = np.linalg.inv(triangle)
    except np.linalg.LinAlgError:
        zero = int(np.flatnonzero(np.diagonal(triangle, axis1=-2, axis2=-1).reshape(-1) == 0)[0]) % a.shape[-1] + 1
        raise ProgramError(
            "_LinAlgError",
            f"cholesky_inverse: The diagonal element {zero} is zero, the inversion could not be completed because the input matrix is "
            "singular.",
        ) from None
    flipped = inverse.swapaxes(-1, -2)
    return np.asarray(np.matmul(inverse, flipped) if upper else np.matmul(flipped, inverse))


def _inverse_rule(xp: Any, grad: Any, input: Any, out: Any, upper: bool) -> Any:
    common = xp.matmul(xp.matmul(out, grad + xp.mT(grad)), out)
    return -xp.matmul(input, common) if upper else -xp.matmul(common, input)


CHOLESKY_INVERSE = Op(
    "CholeskyInverseBackward0",
    _half_inverse,
    "input",
    "upper",
    input=Rule(_inverse_rule, "common = out @ (grad + grad.mT) @ out; -(input @ common) if upper else -(common @ input)"),
)


def cholesky_inverse(input: Tensor, upper: bool = False) -> Any:
    """The inverse of L @ L.mT."""
    check_squares("cholesky_inverse", input)
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("cholesky_inverse_out_cpu", input.dtype)
    return CHOLESKY_INVERSE(input, upper)


def _by_halves(b: Array, a: Array, upper: bool) -> Array:
    lower = np.triu(a).swapaxes(-1, -2) if upper else np.tril(a)
    try:
        return np.linalg.solve(lower.swapaxes(-1, -2), np.linalg.solve(lower, b))
    except np.linalg.LinAlgError:
        return np.full(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:], np.inf, b.dtype)


def _by_halves_rule(xp: Any, grad: Any, input2: Any, out: Any, upper: bool) -> Any:
    inner = xp.matmul(xp.call(CHOLESKY_SOLVE, grad, input2, upper), xp.mT(out))
    common = inner + xp.mT(inner)
    return -xp.matmul(input2, common) if upper else -xp.matmul(common, input2)


CHOLESKY_SOLVE: Op = Op(
    "CholeskySolveBackward0",
    _by_halves,
    "input input2",
    "upper",
    input=Rule(lambda xp, grad, input2, upper: xp.call(CHOLESKY_SOLVE, grad, input2, upper), "torch.cholesky_solve(grad, input2, upper)"),
    input2=Rule(
        _by_halves_rule,
        "inner = torch.cholesky_solve(grad, input2, upper) @ out.mT; common = inner + inner.mT; "
        "-(input2 @ common) if upper else -(common @ input2)",
    ),
)


def _check_pair(name: str, b: Tensor, A: Tensor) -> None:
    n, columns = A.array.shape[-1], b.array.shape
    if A.array.shape[-2] != n:
        raise failure(f"A must be batches of square matrices, but they are {A.array.shape[-2]} by {n} matrices")
    if n != columns[-2]:
        raise failure(
            f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is {columns[-2]} by {columns[-1]}"
        )
    limits.check_work(20.0 * n * b.array.size)


def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Any:
    """X of L @ L.mT @ X = input."""
    if input.array.ndim < 2:
        raise failure(f"b should have at least 2 dimensions, but has {input.array.ndim} dimensions instead")
    if input2.array.ndim < 2:
        raise failure(f"u should have at least 2 dimensions, but has {input2.array.ndim} dimensions instead")
    check_matrices("cholesky_solve", input2)
    _check_pair("cholesky_solve", input, input2)
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("cholesky_solve_cpu", input.dtype)
    return CHOLESKY_SOLVE(input, input2, upper)


# --- with a triangle, the old way ---


def _old_triangle(b: Array, a: Array, upper: bool, transpose: bool, unitriangular: bool) -> tuple[Array, Array]:
    left = a.swapaxes(-1, -2) if transpose else a
    return TRIANGULAR.forward(left, b, upper != transpose, True, unitriangular), np.array(a)


def _old_right(xp: Any, grads: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    return None if grads[0] is None else xp.call(OLD_TRIANGULAR, grads[0], A, upper, not transpose, unitriangular)[0]


def _old_left(xp: Any, grads: Any, A: Any, solution: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    back = _old_right(xp, grads, A, upper, transpose, unitriangular)
    if back is None:
        return grads[1]
    whole = -xp.matmul(back, xp.mT(solution))
    whole = xp.mT(whole) if transpose else whole
    part = xp.call(TRIU, whole, int(unitriangular)) if upper else xp.call(TRIL, whole, -int(unitriangular))
    return part if grads[1] is None else part + grads[1]


_OLD_BACK = (
    "back = torch.linalg.solve_triangular(A if transpose else A.mT, grads[0], upper=upper == transpose, unitriangular=unitriangular)"
)
OLD_TRIANGULAR: Op = Op(
    "TriangularSolveBackward0",
    _old_triangle,
    "input A",
    "upper transpose unitriangular",
    outputs="solution cloned_coefficient",
    differentiable=2,
    input=Rule(_old_right, f"{_OLD_BACK}; back"),
    A=Rule(
        _old_left,
        f"{_OLD_BACK}; whole = -solution @ back.mT if transpose else -back @ solution.mT; "
        "grads[1] + (whole.triu(unitriangular + 0) if upper else whole.tril(-unitriangular))",
    ),
)


def triangular_solve(input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """X of A @ X = input where A is a triangle; deprecated."""
    warnings.emit(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future PyTorch release.\n"
        "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\nX = "
        "torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B). (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/BatchLinearAlgebra.cpp:2273.)",
        once="triangular_solve",
    )
    for name, t in (("b", input), ("A", A)):
        if t.array.ndim < 2:
            raise failure(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {t.array.ndim} dimensions instead"
            )
    _check_pair("triangular_solve", input, A)
    b, a = input, A
    if input.array.ndim > 2 or A.array.ndim > 2:
        batch = np.broadcast_shapes(input.array.shape[:-2], A.array.shape[:-2])
        expand = catalog.function("broadcast_to")
        b, a = expand(input, (*batch, *input.array.shape[-2:])), expand(A, (*batch, *A.array.shape[-2:]))
    found = OLD_TRIANGULAR(b, a, upper, transpose, unitriangular)
    return named("triangular_solve", "solution", "cloned_coefficient")(found)


_A: Any = [[2.0, 0.5], [0.25, 3.0]]
_M: Any = [[1.0, 2.0, 0.5], [0.5, -1.0, 3.0]]
_E: Any = [[[[2.0, 0.5], [0.25, 1.0]], [[0.5, 3.0], [1.0, -0.5]]], [[[0.25, 1.0], [2.5, 0.5]], [[1.0, 0.25], [0.5, -2.0]]]]


def _square(x: Any) -> Any:
    return x.reshape(4, 4)


FUNCTIONS = (
    LinalgFunction(
        "inv_ex",
        ("Tensor A, *, bool check_errors=False |outs", inv_ex),
        doc="The inverse, and for each matrix which pivot was 0.",
        samples=(Sample("torch.linalg.inv_ex(x).inverse", np.linalg.inv, x=_A),),
        out=True,
    ),
    LinalgFunction(
        "solve_ex",
        ("Tensor A, Tensor B, *, bool left=True, bool check_errors=False |outs", solve_ex),
        doc="X of A @ X = B, and for each matrix which pivot was 0.",
        samples=(Sample("torch.linalg.solve_ex(x, y).result", np.linalg.solve, x=_A, y=_M),),
        out=True,
    ),
    LinalgFunction(
        "cholesky_ex",
        ("Tensor input, *, bool upper=False, bool check_errors=False |outs", cholesky_ex),
        doc="Cholesky's factor, and for each matrix which minor is not positive definite.",
        samples=(Sample("torch.linalg.cholesky_ex(x + x.mT).L", lambda x: np.linalg.cholesky(x + x.T), x=_A),),
        out=True,
    ),
    LinalgFunction(
        "tensorinv",
        ("Tensor input, int ind=2", tensorinv),
        doc="The inverse of a linear map between tensors.",
        samples=(Sample("torch.linalg.tensorinv(x)", np.linalg.tensorinv, x=_E),),
        out=True,
    ),
    LinalgFunction(
        "tensorsolve",
        ("Tensor input, Tensor other, ints? dims=None", tensorsolve),
        doc="X of tensordot(input, X, X.dim()) = other.",
        samples=(Sample("torch.linalg.tensorsolve(x, y)", np.linalg.tensorsolve, x=_E, y=_A),),
        out=True,
    ),
    Function(
        "cholesky_inverse",
        ("Tensor input, bool upper=False", cholesky_inverse),
        doc="The inverse of L @ L.mT.",
        ops=(CHOLESKY_INVERSE,),
        samples=(
            Sample("cholesky_inverse(x.tril())", lambda x: np.linalg.inv(np.tril(x) @ np.tril(x).T), x=_A),
            Sample("cholesky_inverse(x.triu(), upper=True)", lambda x: np.linalg.inv(np.triu(x).T @ np.triu(x)), x=_A),
        ),
        out=True,
    ),
    Function(
        "cholesky_solve",
        ("Tensor input, Tensor input2, bool upper=False", cholesky_solve),
        doc="X of L @ L.mT @ X = input.",
        ops=(CHOLESKY_SOLVE,),
        samples=(
            Sample("cholesky_solve(y, x.tril())", lambda x, y: np.linalg.solve(np.tril(x) @ np.tril(x).T, y), x=_A, y=_M),
            Sample("cholesky_solve(y, x.triu(), True)", lambda x, y: np.linalg.solve(np.triu(x).T @ np.triu(x), y), x=_A, y=_M),
        ),
        out=True,
    ),
    Function(
        "triangular_solve",
        ("Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False |outs", triangular_solve),
        doc="X of A @ X = input where A is a triangle; use linalg.solve_triangular.",
        ops=(OLD_TRIANGULAR,),
        samples=(
            Sample("triangular_solve(y, x).solution", lambda x, y: np.linalg.solve(np.triu(x), y), x=_A, y=_M),
            Sample("y.triangular_solve(x, False, True, True)[0]", None, x=_A, y=_M),
            Sample("triangular_solve(y, x)[1] ** 2", lambda x, y: x**2, x=_A, y=_M),
        ),
        out=True,
    ),
)
