"""The Cholesky factorisation of symmetric positive definite matrices; inverses and solutions from its factor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import CASTABLE, EXACT, Out, check_castable
from gradcli.core.graph import in_place
from gradcli.core.graph.conjugate import adjoint, conj
from gradcli.core.graph.record import Op, Rule, without_jvp
from gradcli.core.kernels import Array, substitution
from gradcli.core.ops.checks import not_implemented, refuse_half, require_floating
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import (
    Call,
    check_floats,
    check_matrices,
    check_square_floats,
    check_squares,
    first_failure,
    to_column_major,
    with_info,
)
from gradcli.core.ops.linalg.samples import SQUARE, WIDE
from gradcli.core.ops.linalg.solving.triangular import TRIANGULAR, check_system
from gradcli.core.ops.rules import check_no_tangent
from gradcli.core.ops.shape.diagonal import TRIL
from gradcli.core.ops.shape.transpose import mT
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def _partial(matrix: Array) -> tuple[Array, int]:
    """The factor up to the first leading minor that is not positive, and the order of that minor, or 0."""
    a = np.tril(matrix)
    for k in range(len(a)):
        a[k, k] -= a[k, :k] @ a[k, :k].conj()
        if not a[k, k].real > 0:
            return a, k + 1
        a[k, k] = np.sqrt(a[k, k])
        a[k + 1 :, k] = (a[k + 1 :, k] - a[k + 1 :, :k] @ a[k, :k].conj()) / a[k, k]
    return a, 0


def _cholesky(a: Array, upper: bool, name: str) -> Array:
    if not a.size:
        return np.empty_like(a) if name == "cholesky" else to_column_major(a)
    half = a.swapaxes(-1, -2).conj() if upper else a  # numpy reads the lower triangle only
    try:
        if not np.isfinite(np.tril(half)).all():
            raise np.linalg.LinAlgError
        lower = np.linalg.cholesky(half)
    except np.linalg.LinAlgError:
        where, m = first_failure(half, _finite_cholesky)
        raise ProgramError(
            "_LinAlgError",
            f"{name}: {where}The factorization could not be completed because the input is not positive-definite (the leading minor of "
            f"order {_partial(m)[1] or len(m)} is not positive-definite).",
        ) from None
    # PyTorch returns both triangles column by column in memory
    made = to_column_major(np.triu(lower.swapaxes(-1, -2).conj()) if upper else lower)
    if a.dtype.kind == "c":  # the diagonal is real; PyTorch's library has code of its own for three to five rows
        along = np.einsum("...ii->...i", made)
        along.imag = 0
        along[..., 1:2].imag = -0.0 if 3 <= a.shape[-1] <= 5 else 0.0
    return made


def _finite_cholesky(matrix: Array) -> None:
    if not np.isfinite(np.tril(matrix)).all():
        raise np.linalg.LinAlgError
    np.linalg.cholesky(matrix)


def _cholesky_rule(xp: Any, grad: Any, out: Any, upper: bool, A_dtype: DType) -> Any:
    if len(out.shape) < 2:
        raise runtime_error(f"tensor.mH is only supported on matrices or batches of matrices. Got {len(out.shape)}-D tensor.")
    n, m = out.shape[-2:]
    if n != m:  # of an empty tensor
        n, m = (n, m) if upper else (m, n)
        raise runtime_error(f"linalg.solve_triangular: A must be batches of square matrices, but they are {n} by {m} matrices")
    lower, gradient = (adjoint(xp, out), adjoint(xp, grad)) if upper else (out, grad)
    phi = xp.matmul(adjoint(xp, lower), gradient)
    half = xp.call(TRIL, phi, 0)
    both = scalars.times(xp, half + adjoint(xp, xp.call(TRIL, half, -1)), 0.5)
    refuse_half("triangular_solve_cpu", A_dtype)
    inner = xp.call(TRIANGULAR, adjoint(xp, lower), both, True, True, False)
    return xp.call(TRIANGULAR, lower, inner, False, False, False)


def _cholesky_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, out: Any) -> Tensor:
    """As in PyTorch, all of the tangent counts, also where it is not symmetric."""
    lower, tangent = (adjoint(xp, out) if attrs[0] else out), tangents[0]
    inner = xp.call(TRIANGULAR, lower, tangent, False, True, False)
    inner = xp.call(TRIANGULAR, adjoint(xp, lower), inner, True, False, False)
    half = scalars.times(xp, xp.call(TRIL, inner, 0) + xp.call(TRIL, inner, -1), 0.5)
    moved: Tensor = xp.matmul(lower, half)
    return conj(mT(moved)) if attrs[0] else moved


CHOLESKY: Op = Op(
    "LinalgCholeskyExBackward0",
    _cholesky,
    "A",
    "upper name",
    saved="L=out upper",
    complex=True,
    wirtinger=True,
    jvp=_cholesky_jvp,
    A=Rule(
        _cholesky_rule,
        "L = out.mH if upper else out; p = (L.mH @ (grad.mH if upper else grad)).tril(); K = torch.linalg.inv(L); "
        "K.mH @ (p + p.tril(-1).mH) @ K / 2",
    ),
)
OLD_CHOLESKY: Op = Op(
    "CholeskyBackward0",
    _cholesky,
    "A",
    "upper name",
    saved="result upper",
    complex=True,
    wirtinger=True,
    jvp=without_jvp("cholesky"),
    A=CHOLESKY.rules["A"],
)


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """L of input = L @ L.mT, or with `upper` its transpose.

    Raises RuntimeError for other shapes or dtypes, _LinAlgError for matrices that are not positive definite.
    """
    check_square_floats("linalg.cholesky", input, "cholesky_cpu")
    return CHOLESKY(input, upper, "linalg.cholesky")  # type: ignore[no-any-return]


def _warn(line: int) -> None:
    warnings.emit(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
        "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
        "should be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all valid "
        "(symmetric positive definite) inputs. (Triggered internally at "
        f"/__w/pytorch/pytorch/aten/src/ATen/native/BatchLinearAlgebra.cpp:{line}.)",
        once=f"cholesky {line}",
    )


def _old_cholesky(input: Tensor, upper: bool = False) -> Tensor:
    check_no_tangent("cholesky", input)
    _warn(1765)
    if not input.array.size:
        # PyTorch looks at nothing of an empty input
        return OLD_CHOLESKY(input, upper, "cholesky")  # type: ignore[no-any-return]
    check_squares("cholesky", input)
    if not input.dtype.is_complex:
        require_floating("cholesky_cpu", input.dtype)
    check_floats("cholesky", input, "cholesky_cpu")
    return OLD_CHOLESKY(input, upper, "cholesky")  # type: ignore[no-any-return]


def _old_cholesky_into(input: Tensor, upper: bool, out: Tensor) -> Tensor:
    """`torch.cholesky` with `out`, into which the result is copied."""
    _warn(1800)
    check_castable("cholesky", input.dtype, out)
    made = _old_cholesky(input, upper)
    in_place.resize_to(out, made.array.shape)
    return in_place.copy_(out, made)


def cholesky_ex(input: Tensor, upper: bool = False, check_errors: bool = False) -> Any:
    """The factor, and for each matrix the order of the first leading minor that is not positive, or 0."""

    def unfinished() -> tuple[Array, Array]:
        n = input.array.shape[-1]
        square = input.array.swapaxes(-1, -2).conj() if upper else input.array
        parts = [_partial(m) for m in square.reshape(-1, n, n)]
        made = np.stack([m for m, _ in parts]).reshape(square.shape)
        info = np.array([k for _, k in parts], np.int32).reshape(square.shape[:-2])
        return to_column_major(made.swapaxes(-1, -2).conj() if upper else made), info

    found = with_info(
        lambda: cholesky(input, upper),
        check_errors,
        ("linalg.cholesky", "linalg.cholesky_ex"),
        unfinished,
        Call(CHOLESKY, (input,), (upper, "linalg.cholesky")),
    )
    return named("linalg_cholesky_ex", "L", "info")(found)


# --- the inverse from the factor ---


def _inverse(a: Array, upper: bool) -> Array:
    """The inverse of L @ L.mT; `a` holds L, or with `upper` its transpose."""
    triangle = np.triu(a) if upper else np.tril(a)
    zeros = np.flatnonzero(np.diagonal(triangle, axis1=-2, axis2=-1).reshape(-1) == 0)
    if zeros.size:
        element, zero = divmod(int(zeros[0]), a.shape[-1])
        where = f"(Batch element {element}): " if a.ndim > 2 else ""
        raise ProgramError(
            "_LinAlgError",
            f"cholesky_inverse: {where}The diagonal element {zero + 1} is zero, the inversion could not be completed because the input "
            "matrix is singular.",
        )
    wide = np.array(triangle if upper else triangle.swapaxes(-1, -2).conj(), order="C")  # its matrices are written one by one
    if a.shape[-1] > _BY_ELEMENT:
        inverse = np.linalg.inv(wide)
        return to_column_major(np.matmul(inverse, inverse.swapaxes(-1, -2).conj()))
    for matrix in wide.reshape(math.prod(a.shape[:-2]), *a.shape[-2:]):
        _invert(matrix if upper else matrix.T[::-1, ::-1])
        _square(matrix)
    if not upper:  # the only element of the diagonal that the library does not take for real
        wide[..., -1:, -1:] = wide[..., -1:, -1:].conj()
    return to_column_major(np.where(np.tri(a.shape[-1], k=-1, dtype=bool), wide.swapaxes(-1, -2).conj(), wide))


#: up to this size inverses are computed column by column, in the order of the library that PyTorch calls
_BY_ELEMENT = 16


def _invert(u: Array) -> None:
    """Write the inverse of an upper triangle over it; of a lower one the library begins at the other end."""
    for j in range(len(u)):
        u[j, j] = 1 / u[j, j]
        for k in range(j):
            if u[k, j]:
                u[:k, j] += u[k, j] * u[:k, k]
            u[k, j] *= u[k, k]
        u[:j, j] *= -u[j, j]


def _square(u: Array) -> None:
    """Write the upper triangle of u @ u.mH over that of u."""
    n = len(u)
    for i in range(n):
        own = u[i, i].real  # the library takes the diagonal for real
        u[i, i] = u[i, i] * own if i == n - 1 else own * own + (u[i, i + 1 :] @ u[i, i + 1 :].conj()).real
        u[:i, i] *= own
        for j in range(i + 1, n):
            u[:i, i] += u[:i, j] * u[i, j].conj()


def _inverse_rule(xp: Any, grad: Any, input: Any, out: Any, upper: bool) -> Any:
    common = xp.matmul(xp.matmul(out, grad + adjoint(xp, grad)), out)
    return -xp.matmul(input, common) if upper else -xp.matmul(common, input)


CHOLESKY_INVERSE = Op(
    "CholeskyInverseBackward0",
    _inverse,
    "input",
    "upper",
    complex=True,
    wirtinger=True,
    input=Rule(_inverse_rule, "common = out @ (grad + grad.mH) @ out; -(input @ common) if upper else -(common @ input)"),
)


def cholesky_inverse(input: Tensor, upper: bool = False) -> Any:
    """The inverse of L @ L.mT. Raises RuntimeError for other shapes or dtypes, _LinAlgError for a zero on the diagonal."""
    check_squares("cholesky_inverse", input)
    if input.dtype not in (dtypes.float32, dtypes.float64) and not input.dtype.is_complex:
        raise not_implemented("cholesky_inverse_out_cpu", input.dtype)
    return CHOLESKY_INVERSE(input, upper)


# --- solutions with the factor ---


def _solved(b: Array, a: Array, upper: bool) -> Array:
    """x of L @ L.mT @ x = b; `a` holds L, or with `upper` its transpose."""
    flipped = a.swapaxes(-1, -2).conj()
    lower, other = (flipped, a) if upper else (a, flipped)
    first = substitution.solved(lower, b, False, False, True)
    return to_column_major(substitution.solved(other, first, True, False, True))


def _factor_rule(xp: Any, grad: Any, input2: Any, out: Any, upper: bool) -> Any:
    inner = xp.matmul(xp.call(CHOLESKY_SOLVE, grad, input2, upper), adjoint(xp, out))
    common = inner + adjoint(xp, inner)
    return -xp.matmul(input2, common) if upper else -xp.matmul(common, input2)


def _solved_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, out: Any) -> Tensor:
    """As in PyTorch, all of the factor and of its tangent count, also outside the triangle."""
    right, moved = tangents
    if moved is not None:
        half = xp.matmul(adjoint(xp, moved), inputs[1]) if attrs[0] else xp.matmul(moved, adjoint(xp, inputs[1]))
        pushed = xp.matmul(half + adjoint(xp, half), out)
        right = -pushed if right is None else right - pushed
    return CHOLESKY_SOLVE(right, inputs[1], *attrs)  # type: ignore[no-any-return]


CHOLESKY_SOLVE: Op = Op(
    "CholeskySolveBackward0",
    _solved,
    "input input2",
    "upper",
    complex=True,
    wirtinger=True,
    jvp=_solved_jvp,
    saved="input2 result self upper",
    input=Rule(lambda xp, grad, input2, upper: xp.call(CHOLESKY_SOLVE, grad, input2, upper), "torch.cholesky_solve(grad, input2, upper)"),
    input2=Rule(
        _factor_rule,
        "inner = torch.cholesky_solve(grad, input2, upper) @ out.mH; common = inner + inner.mH; "
        "-(input2 @ common) if upper else -(common @ input2)",
    ),
)


def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Any:
    """X of L @ L.mT @ X = input; `input2` holds L, or with `upper` its transpose.

    Raises RuntimeError for shapes or dtypes that do not fit.
    """
    if input.array.ndim < 2:
        raise shape_error(f"b should have at least 2 dimensions, but has {input.array.ndim} dimensions instead")
    if input2.array.ndim < 2:
        raise shape_error(f"u should have at least 2 dimensions, but has {input2.array.ndim} dimensions instead")
    check_matrices("cholesky_solve", input2)
    check_system("cholesky_solve", input, input2)
    if input.dtype not in (dtypes.float32, dtypes.float64) and not input.dtype.is_complex:
        raise not_implemented("cholesky_solve_cpu", input.dtype)
    return CHOLESKY_SOLVE(input, input2, upper)


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "cholesky",
        ("Tensor input, *, bool upper=False", cholesky),
        doc="L of A = L @ L.mT, for symmetric positive definite matrices.",
        ops=(CHOLESKY,),
        samples=(Sample("torch.linalg.cholesky(x + x.mT)", lambda x: np.linalg.cholesky(x + x.T), x=SQUARE),),
        out=Out(EXACT, operator="linalg_cholesky_ex"),
    ),
    Function(
        "cholesky",
        ("Tensor input, bool upper=False", _old_cholesky),
        doc="L of input = L @ L.mT; use linalg.cholesky.",
        ops=(OLD_CHOLESKY,),
        out=Out(steps=_old_cholesky_into),
    ),
    LinalgFunction(
        "cholesky_ex",
        ("Tensor input, *, bool upper=False, bool check_errors=False |2 outs", cholesky_ex),
        doc="Cholesky's factor, and for each matrix which minor is not positive definite.",
        samples=(Sample("torch.linalg.cholesky_ex(x + x.mT).L", lambda x: np.linalg.cholesky(x + x.T), x=SQUARE),),
        out=Out(EXACT, operator="linalg_cholesky_ex"),
    ),
    Function(
        "cholesky_inverse",
        ("Tensor input, bool upper=False", cholesky_inverse),
        doc="The inverse of L @ L.mT.",
        ops=(CHOLESKY_INVERSE,),
        samples=(
            Sample("cholesky_inverse(x.tril())", lambda x: np.linalg.inv(np.tril(x) @ np.tril(x).T), x=SQUARE),
            Sample("cholesky_inverse(x.triu(), upper=True)", lambda x: np.linalg.inv(np.triu(x).T @ np.triu(x)), x=SQUARE),
        ),
        out=Out(lower=CASTABLE, row_major="unfit"),
    ),
    Function(
        "cholesky_solve",
        ("Tensor input, Tensor input2, bool upper=False", cholesky_solve),
        doc="X of L @ L.mT @ X = input.",
        ops=(CHOLESKY_SOLVE,),
        samples=(
            Sample("cholesky_solve(y, x.tril())", lambda x, y: np.linalg.solve(np.tril(x) @ np.tril(x).T, y), x=SQUARE, y=WIDE),
            Sample("cholesky_solve(y, x.triu(), True)", lambda x, y: np.linalg.solve(np.triu(x).T @ np.triu(x), y), x=SQUARE, y=WIDE),
        ),
        out=lambda input, *_: Out(lower=CASTABLE, dtype=input.dtype, first=True, row_major="always"),
    ),
)
