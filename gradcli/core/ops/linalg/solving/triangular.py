"""Solutions of systems of linear equations with a triangular matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import check_memory
from gradcli.core.kernels import Array, memory_format, substitution
from gradcli.core.ops.checks import common_shape, require_floating
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_batches, check_floats, check_matrices, check_squares, to_column_major
from gradcli.core.ops.linalg.samples import SQUARE, WIDE
from gradcli.core.ops.rules import check_tangent_size
from gradcli.core.ops.shape.casting import warn_of_discarded
from gradcli.core.ops.shape.diagonal import TRIL, TRIU
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def _solved(a: Array, b: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    """x of a @ x = b, or of x @ a = b unless `left`, in the dtype of a; only one triangle of a counts."""
    warn_of_discarded(b, dtypes.of(a.dtype))
    b = dtypes.cast(b, dtypes.of(a.dtype))
    limits.check_work(float(b.size) * a.shape[-1])
    if left:
        return to_column_major(substitution.solved(a, b, upper, unitriangular, True))
    found = substitution.solved(a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, unitriangular, False)
    return to_column_major(found.swapaxes(-1, -2))


def _matrix_rule(xp: Any, grad: Any, A: Any, out: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    back = xp.call(TRIANGULAR, xp.mT(A), grad, not upper, left, unitriangular)
    whole = -xp.matmul(back, xp.mT(out)) if left else -xp.matmul(xp.mT(out), back)
    return _triangle(xp, whole, upper, unitriangular)


def _right_rule(xp: Any, grad: Any, A: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return in_rows(xp, xp.call(TRIANGULAR, xp.mT(A), grad, not upper, left, unitriangular), A)


def in_rows(xp: Any, solution: Any, A: Any) -> Any:
    """The solution of a system with the adjoint of A, laid out as PyTorch's.

    PyTorch need not copy the adjoint of a complex matrix that lies in rows, and then gives the library a result in rows.
    """
    matrix = xp.plain(A)
    if matrix.dtype.kind != "c" or not matrix.flags.c_contiguous or matrix.shape[:-2] != solution.shape[:-2]:
        return solution
    rows = memory_format.contiguous(xp.plain(solution))
    if type(solution) is not Tensor:
        return rows
    solution.array = rows
    return solution


def _triangle(xp: Any, gradient: Any, upper: bool, unitriangular: bool) -> Any:
    """The part of a gradient that reaches a triangle, whose diagonal is constant if `unitriangular`."""
    return xp.call(TRIU, gradient, int(unitriangular)) if upper else xp.call(TRIL, gradient, -int(unitriangular))


#: the formula of the gradient of B: the solution of the transposed system with grad as the right side
_TRIANGLE = "torch.linalg.solve_triangular(A.mT, grad, upper=not upper, left=left, unitriangular=unitriangular)"
TRIANGULAR: Op = Op(
    "LinalgSolveTriangularBackward0",
    _solved,
    "A B",
    "upper left unitriangular",
    saved="result self=A left unitriangular upper",
    complex=True,
    A=Rule(
        _matrix_rule,
        f"g = {_TRIANGLE}; a = -g @ out.mT if left else -out.mT @ g; k = 1 if unitriangular else 0; a.triu(k) if upper else a.tril(-k)",
    ),
    B=Rule(_right_rule, _TRIANGLE),
)


def solve_triangular(A: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """X of A @ X = B, or of X @ A = B unless `left`, for triangular A.

    Raises RuntimeError for shapes or dtypes that do not fit, LimitError for too much work or memory.
    """
    check_squares("linalg.solve_triangular", A)
    check_matrices("linalg.solve_triangular", B, "B")
    a, b = A.array.shape, B.array.shape
    if a[-1] != (b[-2] if left else b[-1]):
        shown = "AX = B" if left else "XA = B"
        text = f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {shown} ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        raise shape_error(text)
    if not A.dtype.is_complex:
        require_floating("triangular_solve_cpu", A.dtype)
    check_floats("linalg.solve_triangular", A, "triangular_solve_cpu")
    check_batches(B, A)
    limits.check_work(20.0 * a[-1] * B.array.size)
    return TRIANGULAR(A, B, upper, left, unitriangular)  # type: ignore[no-any-return]


# --- torch.triangular_solve, the deprecated form: it returns a copy of A too ---


def _old_solved(b: Array, a: Array, upper: bool, transpose: bool, unitriangular: bool) -> tuple[Array, Array]:
    left = a.swapaxes(-1, -2) if transpose else a
    solution = TRIANGULAR.forward(left, b, upper != transpose, True, unitriangular)
    return solution, to_column_major(np.broadcast_to(a, (*solution.shape[:-2], *a.shape[-2:])))


def _old_right_rule(xp: Any, grads: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    return None if grads[0] is None else xp.call(OLD_TRIANGULAR, grads[0], A, upper, not transpose, unitriangular)[0]


def _old_matrix_rule(xp: Any, grads: Any, A: Any, solution: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    back = _old_right_rule(xp, grads, A, upper, transpose, unitriangular)
    if back is None:
        return grads[1]
    whole = -xp.matmul(back, xp.mT(solution))
    whole = xp.mT(whole) if transpose else whole
    part = _triangle(xp, whole, upper, unitriangular)
    return part if grads[1] is None else part + grads[1]


_OLD_BACK = (
    "back = torch.linalg.solve_triangular(A if transpose else A.mT, grads[0], upper=upper == transpose, unitriangular=unitriangular)"
)
OLD_TRIANGULAR: Op = Op(
    "TriangularSolveBackward0",
    _old_solved,
    "input A",
    "upper transpose unitriangular",
    saved="A self solution transpose unitriangular upper",
    outputs="solution cloned_coefficient",
    differentiable=2,
    complex=True,
    jvp="transpose",
    input=Rule(_old_right_rule, f"{_OLD_BACK}; back"),
    A=Rule(
        _old_matrix_rule,
        f"{_OLD_BACK}; whole = -solution @ back.mT if transpose else -back @ solution.mT; "
        "grads[1] + (whole.triu(unitriangular + 0) if upper else whole.tril(-unitriangular))",
    ),
)


def check_system(name: str, b: Tensor, A: Tensor) -> None:
    """Raise RuntimeError unless A is square and b has its dtype and as many rows; LimitError for too much work or memory."""
    if b.dtype is not A.dtype:
        found = f"b of type {b.dtype.torch_name} and A of type {A.dtype.torch_name}"
        raise runtime_error(f"Expected b and A to have the same dtype, but found {found} instead.")
    n, columns = A.array.shape[-1], b.array.shape
    if A.array.shape[-2] != n:
        raise runtime_error(f"A must be batches of square matrices, but they are {A.array.shape[-2]} by {n} matrices")
    if n != columns[-2]:
        text = f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is {columns[-2]} by {columns[-1]}"
        raise shape_error(text)
    check_batches(b, A)
    limits.check_work(20.0 * n * b.array.size)


def _check_old_system(input: Tensor, A: Tensor) -> None:
    for name, t in (("b", input), ("A", A)):
        if t.array.ndim < 2:
            text = f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {t.array.ndim} dimensions instead"
            raise shape_error(text)
    check_system("triangular_solve", input, A)


def _check_before_warning(values: list[Any], outs: Sequence[Tensor]) -> None:
    """Raise the errors of tensors, and of their dtypes, that come before PyTorch's warning."""
    input, A = values[:2]
    if state.enabled and any(t.requires_grad for t in (input, A, *outs)):  # which is refused first
        return
    if any(out.dtype is not input.dtype for out in outs):
        _check_old_system(input, A)
        batch = common_shape([input.array.shape[:-2], A.array.shape[:-2]])
        for out, source in zip(outs, (input, A), strict=True):
            if out.dtype is not input.dtype:
                raise runtime_error(EXACT.format(result_c=input.dtype.c_name, out_c=out.dtype.c_name))
            whole = np.broadcast_to(source.array, (*batch, *source.array.shape[-2:]))
            in_place.resize_out(out, Tensor(to_column_major(whole), source.dtype))


def triangular_solve(input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """X of A @ X = input for triangular A, and a copy of A. Raises RuntimeError for shapes that do not fit."""
    _check_old_system(input, A)
    warnings.emit(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future PyTorch release.\n"
        "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\nX = "
        "torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B). (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/BatchLinearAlgebra.cpp:2273.)",
        once="triangular_solve",
    )
    if not input.dtype.is_complex:
        require_floating("triangular_solve_cpu", input.dtype)
    check_floats("triangular_solve", input, "triangular_solve_cpu")
    found = OLD_TRIANGULAR(input, A, upper, transpose, unitriangular)
    moved = None if state.dual is None else state.dual.tangent_of(A)
    if moved is not None:  # PyTorch does not broadcast it
        check_tangent_size(found[1], moved)
    return named("triangular_solve", "solution", "cloned_coefficient")(found)


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "solve_triangular",
        ("Tensor input, Tensor B, *, bool upper, bool left=True, bool unitriangular=False", solve_triangular),
        doc="X of A @ X = B where A is a triangle.",
        ops=(TRIANGULAR,),
        samples=(Sample("torch.linalg.solve_triangular(x, y, upper=True)", lambda x, y: np.linalg.solve(np.triu(x), y), x=SQUARE, y=WIDE),),
        out=Out(
            "expected scalar type {result} but found {out}",
            kernel_first=True,
            memory="unchecked",
            overlap="partial",
            check=lambda out, _: check_memory(out),
        ),
    ),
    Function(
        "triangular_solve",
        ("Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False |2 outs", triangular_solve),
        doc="X of A @ X = input where A is a triangle; use linalg.solve_triangular.",
        ops=(OLD_TRIANGULAR,),
        samples=(
            Sample("triangular_solve(y, x).solution", lambda x, y: np.linalg.solve(np.triu(x), y), x=SQUARE, y=WIDE),
            Sample("y.triangular_solve(x, False, True, True)[0]", None, x=SQUARE, y=WIDE),
            Sample("triangular_solve(y, x)[1] ** 2", lambda x, y: x**2, x=SQUARE, y=WIDE),
        ),
        out=Out(EXACT, prepare=_check_before_warning),
    ),
)
