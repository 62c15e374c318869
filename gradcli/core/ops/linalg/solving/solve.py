"""Solutions of systems of linear equations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import named
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import CASTABLE, EXACT, Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, elimination, lu
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import (
    Call,
    check_batches,
    check_floats,
    check_matrices,
    check_squares,
    first_failure,
    is_vector,
    of_any_dtype,
    to_column_major,
    with_info,
)
from gradcli.core.ops.linalg.samples import PAIR, SQUARE, WIDE
from gradcli.core.ops.linalg.solving.inverse import inv
from gradcli.core.ops.shape.squeeze import SQUEEZE_DIM
from gradcli.core.ops.shape.views import reshape
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def _singular(a: Array) -> ProgramError:
    where, _ = first_failure(a, lambda m: (elimination.solve if elimination.fits(m) else np.linalg.solve)(m, m))
    return ProgramError("_LinAlgError", f"torch.linalg.solve: {where}The solver failed because the input matrix is singular.")


@of_any_dtype
def _solved(a: Array, b: Array, left: bool) -> Array:
    """x of a @ x = b, or of x @ a = b unless `left`."""
    if not left:
        return _solved_transposed(a, b.swapaxes(-1, -2)).swapaxes(-1, -2)
    vector = is_vector(a.shape, b.shape)
    try:
        right = b[..., None] if vector else b
        small = elimination.fits(a) and 0 < right.size <= elimination.LARGEST
        x = to_column_major((elimination.solve if small else np.linalg.solve)(a, right))
    except np.linalg.LinAlgError:
        raise _singular(a) from None
    if not vector:
        return x
    # PyTorch lays a batch of vectors out as it does a matrix: column by column
    return to_column_major(x[..., 0]) if x.ndim > 2 else np.asarray(x[..., 0])


def _solved_transposed(a: Array, b: Array) -> Array:
    """x of a.mT @ x = b, from the factors of a."""
    if not (elimination.fits(a) and 0 < b.size <= elimination.LARGEST):
        return _solved(a.swapaxes(-1, -2), b, True)
    try:
        return to_column_major(elimination.solve(a, b, transposed=True))
    except np.linalg.LinAlgError:
        raise _singular(a) from None


def _infinite(a: Array, b: Array, transposed: bool) -> Array:
    """x of a @ x = b, or of a.mT @ x = b, for matrices of which some are singular: infinite or nan for these."""
    packed, pivots, _ = lu.factorized(a)
    return to_column_major(lu.solved(packed, pivots, b, transposed))


def _quietly(a: Array, b: Array, transposed: bool) -> Array:
    """x of a @ x = b, or of a.mT @ x = b: what PyTorch solves with factors that it has, singular matrices too."""
    try:
        return _solved_transposed(a, b) if transposed else _solved(a, b, True)
    except ProgramError:
        return _infinite(a, b, transposed)


def _solve_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, out: Any) -> Any:
    """The solution for the tangent of the right side less that of the matrix times the solution."""
    (A, B), (left,) = inputs, attrs
    vector = left and is_vector(A.shape, B.shape)
    right: Any = None if tangents[1] is None else tangents[1] if not vector else xp.expand_dims(tangents[1], -1)
    if tangents[0] is not None:
        x = xp.expand_dims(out, -1) if vector else out
        moved = xp.matmul(tangents[0], x) if left else xp.matmul(x, tangents[0])
        right = -moved if right is None else right - moved
    try:
        found = SOLVE(A, right, left)
    except ProgramError:
        b = right.array if left else right.array.swapaxes(-1, -2)
        x = _infinite(A.array, b, not left)
        found = Tensor(x if left else x.swapaxes(-1, -2), right.dtype)
    return xp.call(SQUEEZE_DIM, found, -1) if vector else found


def _back_solved(xp: Any, grad: Any, A: Any, vector: bool, left: bool) -> Any:
    """x of A.mT @ x = grad, with the right side as columns, or of x @ A.mT = grad unless `left`."""
    if not left and type(A) is not Tensor:
        return xp.mT(_quietly(A, xp.mT(grad), False))
    right = xp.expand_dims(grad, -1) if vector else grad
    if type(A) is not Tensor:
        return _quietly(A, right, True)
    return xp.call(SOLVE, xp.mT(A), right, left)


def _solve_left(xp: Any, grad: Any, A: Any, B_shape: Any, out: Any, left: bool) -> Any:
    vector = left and is_vector(A.shape, out.shape)
    back = _back_solved(xp, grad, A, vector, left)
    if not left:
        return -xp.matmul(xp.mT(out), back)
    return -xp.matmul(back, xp.mT(xp.expand_dims(out, -1) if vector else out))


def _solve_right(xp: Any, grad: Any, A: Any, left: bool) -> Any:
    vector = left and is_vector(A.shape, grad.shape)
    back = _back_solved(xp, grad, A, vector, left)
    return xp.call(SQUEEZE_DIM, back, -1) if vector else back


SOLVE: Op = Op(
    "LinalgSolveExBackward0",
    _solved,
    "A B",
    "left",
    jvp=_solve_jvp,
    saved="A LU=? pivots=? result left",
    computed=lu.KEPT_BY_SOLVE,
    A=Rule(
        _solve_left,
        "g = torch.linalg.solve(A.mT, grad, left=left); "
        "-out.mT @ g if not left else -g[..., None] * out[..., None, :] if out.dim() < A.dim() else -g @ out.mT",
    ),
    B=Rule(_solve_right, "torch.linalg.solve(A.mT, grad, left=left)"),
    complex=True,
)


def solve(A: Tensor, B: Tensor, left: bool = True) -> Tensor:
    """X of A @ X = B, or of X @ A = B unless `left`. Raises RuntimeError for shapes or dtypes that do not fit."""
    if not A.dtype.is_differentiable:
        check_floats("linalg.solve", A)
    if A.dtype is not B.dtype:
        raise runtime_error(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {A.dtype.torch_name} and B of type "
            f"{B.dtype.torch_name} instead"
        )
    check_squares("linalg.solve", A)
    a, b = A.array.shape, B.array.shape
    vector = is_vector(a, b)
    if not vector:
        check_matrices("linalg.solve", B, "B")
    if not left and not vector:
        if a[-1] != b[-1]:
            raise shape_error(f"linalg.solve: Incompatible shapes of A and B for the equation XA = B ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})")
        check_batches(B, A)
        check_floats("linalg.solve", A, "lu_cpu")
        return SOLVE(A, B, False)  # type: ignore[no-any-return]
    rows, columns = (b[-1], 1) if vector else (b[-2], b[-1])
    if not left and a[-1] != 1:
        raise shape_error(f"linalg.solve: Incompatible shapes of A and B for the equation XA = B ({a[-2]}x{a[-1]} and {rows}x1)")
    if left and rows != a[-1]:
        raise shape_error(f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({a[-2]}x{a[-1]} and {rows}x{columns})")
    if not left:
        raise runtime_error(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve is "
            "equivalent to B / A.squeeze(-1)"
        )
    if not vector:
        check_batches(B, A)
    check_floats("linalg.solve", A, "lu_cpu")
    return SOLVE(A, B, True)  # type: ignore[no-any-return]


def solve_ex(A: Tensor, B: Tensor, left: bool = True, check_errors: bool = False) -> Any:
    """X of A @ X = B, and for each matrix the first pivot that is 0, counted from 1."""

    def infinite() -> tuple[Array, Array]:
        b = B.array if left else B.array.swapaxes(-1, -2)
        vector = left and is_vector(A.array.shape, b.shape)
        x = _infinite(A.array, b[..., None] if vector else b, not left)
        return (x[..., 0] if vector else x if left else x.swapaxes(-1, -2)), lu.factorized(A.array)[2]

    x, info = with_info(
        lambda: solve(A, B, left), check_errors, ("linalg.solve", "linalg.solve_ex"), infinite, Call(SOLVE, (A, B), (left,))
    )
    return named("linalg_solve_ex", "result", "info")((x, info))


# --- tensors as linear maps ---


def tensorinv(input: Tensor, ind: int = 2) -> Any:
    """The inverse of `input` as a linear map from its last dimensions to its first `ind` dimensions.

    Raises RuntimeError unless both have the same number of elements, _LinAlgError for a singular map.
    """
    if ind > input.array.ndim:
        raise runtime_error(f"ArrayRef: invalid slice, N = {ind}; size = {input.array.ndim}")
    if ind <= 0:
        raise runtime_error(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = input.array.shape
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        text = f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {columns} != {rows}"
        raise shape_error(text)
    matrix = reshape(input, (rows, columns))
    try:
        inverse = inv(matrix)
    except ProgramError as error:
        if not error.kind.endswith("_LinAlgError"):
            raise
        raise ProgramError("_LinAlgError", error.message.replace("linalg.inv", "inv", 1)) from None
    return reshape(inverse, (*shape[ind:], *shape[:ind]))


def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Any:
    """X of tensordot(input, X, X.dim()) = other; `dims` of the input move to the end first.

    Raises RuntimeError unless the map is square.
    """
    rank = input.array.ndim
    if dims is not None:
        input = catalog.function("movedim")(input, tuple(dims), tuple(range(rank - len(dims), rank)))
    if other.array.ndim > input.array.ndim:  # PyTorch's shape of the result would have less than no dimensions
        raise runtime_error("cannot create std::vector larger than max_size()")
    shape = input.array.shape[other.array.ndim :]
    rows, columns = other.array.size, math.prod(shape)
    if rows != columns:
        raise shape_error(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{columns} != {rows}",
        )
    flat = other if other.array.ndim == 1 else reshape(other, (-1,))
    return reshape(solve(reshape(input, (columns, columns)), flat), shape)


_FOUR: Any = [[[[2.0, 0.5], [0.25, 1.0]], [[0.5, 3.0], [1.0, -0.5]]], [[[0.25, 1.0], [2.5, 0.5]], [[1.0, 0.25], [0.5, -2.0]]]]


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "solve",
        ("Tensor A, Tensor B, *, bool left=True", solve),
        doc="X of A @ X = B.",
        ops=(SOLVE,),
        samples=(
            Sample("torch.linalg.solve(x, v)", np.linalg.solve, x=SQUARE, v=PAIR),
            Sample("torch.linalg.solve(x, y)", np.linalg.solve, x=SQUARE, y=WIDE),
        ),
        out=Out(EXACT, operator="_linalg_solve_ex"),
    ),
    LinalgFunction(
        "solve_ex",
        ("Tensor A, Tensor B, *, bool left=True, bool check_errors=False |2 outs", solve_ex),
        doc="X of A @ X = B, and for each matrix which pivot was 0.",
        samples=(Sample("torch.linalg.solve_ex(x, y).result", np.linalg.solve, x=SQUARE, y=WIDE),),
        out=Out(EXACT, operator="_linalg_solve_ex"),
    ),
    LinalgFunction(
        "tensorinv",
        ("Tensor input, int ind=2", tensorinv),
        doc="The inverse of a linear map between tensors.",
        samples=(Sample("torch.linalg.tensorinv(x)", np.linalg.tensorinv, x=_FOUR),),
        out=Out(lower=CASTABLE.replace("{name}", "tensorinv"), first=True, autograd="composed"),
    ),
    LinalgFunction(
        "tensorsolve",
        ("Tensor input, Tensor other, ints? dims=None", tensorsolve),
        doc="X of tensordot(input, X, X.dim()) = other.",
        samples=(Sample("torch.linalg.tensorsolve(x, y)", np.linalg.tensorsolve, x=_FOUR, y=SQUARE),),
        out=lambda input, *_: Out(lower=CASTABLE.replace("{name}", "tensorsolve"), dtype=input.dtype, first=True, autograd="composed"),
    ),
)
