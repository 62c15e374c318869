"""Solutions of systems of linear equations with a triangular matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_matrices, check_square_floats
from gradcli.core.ops.linalg.samples import SQUARE, WIDE
from gradcli.core.ops.shape.rearrange import TRIL, TRIU
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import runtime_error


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


def solve_triangular(A: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """X of A @ X = B where A is a triangle."""
    check_square_floats("linalg.solve_triangular", A)
    check_matrices("linalg.solve_triangular", B, "B")
    a, b = A.array.shape, B.array.shape
    if a[-1] != (b[-2] if left else b[-1]):
        shown = "AX = B" if left else "XA = B"
        raise runtime_error(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {shown} ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )
    return TRIANGULAR(A, B, upper, left, unitriangular)  # type: ignore[no-any-return]


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


def check_sizes(name: str, b: Tensor, A: Tensor) -> None:
    n, columns = A.array.shape[-1], b.array.shape
    if A.array.shape[-2] != n:
        raise runtime_error(f"A must be batches of square matrices, but they are {A.array.shape[-2]} by {n} matrices")
    if n != columns[-2]:
        raise runtime_error(
            f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is {columns[-2]} by {columns[-1]}"
        )
    limits.check_work(20.0 * n * b.array.size)


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
            raise runtime_error(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {t.array.ndim} dimensions instead"
            )
    check_sizes("triangular_solve", input, A)
    b, a = input, A
    if input.array.ndim > 2 or A.array.ndim > 2:
        batch = np.broadcast_shapes(input.array.shape[:-2], A.array.shape[:-2])
        expand = catalog.function("broadcast_to")
        b, a = expand(input, (*batch, *input.array.shape[-2:])), expand(A, (*batch, *A.array.shape[-2:]))
    found = OLD_TRIANGULAR(b, a, upper, transpose, unitriangular)
    return named("triangular_solve", "solution", "cloned_coefficient")(found)


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "solve_triangular",
        ("Tensor input, Tensor B, *, bool upper, bool left=True, bool unitriangular=False", solve_triangular),
        doc="X of A @ X = B where A is a triangle.",
        ops=(TRIANGULAR,),
        samples=(Sample("torch.linalg.solve_triangular(x, y, upper=True)", lambda x, y: np.linalg.solve(np.triu(x), y), x=SQUARE, y=WIDE),),
    ),
    Function(
        "triangular_solve",
        ("Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False |outs", triangular_solve),
        doc="X of A @ X = input where A is a triangle; use linalg.solve_triangular.",
        ops=(OLD_TRIANGULAR,),
        samples=(
            Sample("triangular_solve(y, x).solution", lambda x, y: np.linalg.solve(np.triu(x), y), x=SQUARE, y=WIDE),
            Sample("y.triangular_solve(x, False, True, True)[0]", None, x=SQUARE, y=WIDE),
            Sample("triangular_solve(y, x)[1] ** 2", lambda x, y: x**2, x=SQUARE, y=WIDE),
        ),
        out=True,
    ),
)
