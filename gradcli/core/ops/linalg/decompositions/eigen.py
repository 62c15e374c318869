"""Eigenvalues and eigenvectors of symmetric and of other square matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import CASTABLE, EXACT, Out
from gradcli.core.graph.conjugate import CONJ, adjoint
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import check_writable
from gradcli.core.kernels import Array, memory_format, symmetric_eigenvalues
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.complex_signs import REAL
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_floats, check_square_floats, check_squares, first_failure, of_any_dtype, to_column_major
from gradcli.core.ops.linalg.samples import SQUARE
from gradcli.core.ops.linalg.solving.solve import SOLVE
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.ops.shape.diagonal import DIAG_EMBED, DIAGONAL
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error


def differences(xp: Any, values: Any) -> Any:
    """The matrix of value_j - value_i, with ones on the diagonal, so that one can divide by it."""
    between = xp.expand_dims(values, -2) - xp.expand_dims(values, -1)
    return xp.where(np.eye(values.shape[-1], dtype=bool), 1.0, between)


@of_any_dtype
def _eigh(a: Array, lower: bool) -> tuple[Array, Array]:
    def run(matrices: Array) -> Any:
        try:
            small = symmetric_eigenvalues.fits(matrices)
            return symmetric_eigenvalues.eigh(matrices, lower) if small else np.linalg.eigh(matrices, "L" if lower else "U")
        except ValueError:  # LinAlgError among them
            raise np.linalg.LinAlgError from None

    try:
        values, vectors = run(a)
    except np.linalg.LinAlgError:
        where, _ = first_failure(a, run)
        raise ProgramError(
            "_LinAlgError",
            f"linalg.eigh: {where}The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
            f"eigenvalues (error code: {a.shape[-1] - 1}).",
        ) from None
    return np.ascontiguousarray(values), to_column_major(vectors)


def _eigh_rule(xp: Any, grads: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    values, vectors = grads
    V = eigenvectors
    VH = adjoint(xp, V)
    if vectors is None:
        return xp.matmul(V * xp.expand_dims(values, -2), VH)
    inner = xp.matmul(VH, vectors)
    _check_phases(xp, "linalg_eigh_backward", xp.call(DIAGONAL, inner, 0, -2, -1))
    core = scalars.times(xp, inner - adjoint(xp, inner), 0.5) / differences(xp, eigenvalues)
    if values is not None:
        core = core + xp.call(DIAG_EMBED, values, 0, -2, -1)
    return xp.matmul(V, xp.matmul(core, VH))


def _check_phases(xp: Any, name: str, along: Any) -> None:
    """Refuse gradients that depend on the phases of complex eigenvectors. Raises RuntimeError."""
    if np.abs(xp.plain(along).imag).max(initial=0) > 1e-2:
        raise runtime_error(
            f"{name}: The eigenvectors in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss "
            "function depends on this quantity, so it is ill-defined."
        )


def _eigh_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, outs: Any) -> tuple[Tensor, Tensor]:
    """As in PyTorch, all of the tangent counts, also where it is not symmetric."""
    values, V = outs
    inner = xp.matmul(adjoint(xp, V), xp.matmul(tangents[0], V))
    diagonal = xp.diagonal(inner, 0, -2, -1)
    return REAL(diagonal) if diagonal.dtype.is_complex else diagonal, xp.matmul(
        V, (inner - xp.call(DIAG_EMBED, diagonal, 0, -2, -1)) / differences(xp, values)
    )


EIGH: Op = Op(
    "LinalgEighBackward0",
    _eigh,
    "A",
    "lower",
    saved="eigenvalues eigenvectors",
    outputs="eigenvalues eigenvectors",
    differentiable=2,
    complex=True,
    wirtinger=True,
    jvp=_eigh_jvp,
    A=Rule(
        _eigh_rule,
        "V = eigenvectors; p = V.mH @ grads[1]; a = (p - p.mH) / 2; d = eigenvalues[..., None, :] - eigenvalues[..., None]; "
        "V @ (torch.diag_embed(grads[0]) + (a / d).where(a != 0, 0)) @ V.mH",
    ),
)


def _checked_eigh(A: Tensor, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    check_squares("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise runtime_error(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if not A.dtype.is_differentiable and A.array.size:
        raise not_implemented("linalg_eigh_cpu", A.dtype)
    if A.dtype.is_differentiable:
        check_floats("linalg.eigh", A, "linalg_eigh_cpu")
    return EIGH(A, UPLO.upper() == "L")  # type: ignore[no-any-return]


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices, ascending, and eigenvectors; `UPLO` says which triangle is read.

    Raises RuntimeError for other shapes or dtypes.
    """
    return named("linalg_eigh", "eigenvalues", "eigenvectors")(_checked_eigh(A, UPLO))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices, ascending. Raises RuntimeError for other shapes or dtypes."""
    values = _checked_eigh(A, UPLO)[0]
    if A.array.shape[-1] == 2 and not values.requires_grad and A.dtype.is_floating_point and not np.isfinite(A.array).all():
        # without vectors the library takes another way, which shows at nan and infinity
        values.array = np.linalg.eigvalsh(A.array, "L" if UPLO.upper() == "L" else "U")
    return values


# --- matrices that need not be symmetric ---


def _eig(a: Array) -> tuple[Array, Array]:
    values, vectors = np.linalg.eig(a)
    wanted = np.complex64 if a.dtype in (np.float32, np.complex64) else np.complex128
    return memory_format.contiguous(values.astype(wanted)), to_column_major(vectors.astype(wanted))


def _eig_rule(xp: Any, grads: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    values, vectors = grads
    V = eigenvectors
    VH = xp.call(CONJ, xp.mT(V))
    if vectors is None:
        return xp.call(SOLVE, VH, xp.expand_dims(values, -1) * VH, True)
    inner = xp.matmul(VH, vectors)
    along = xp.call(DIAGONAL, inner, 0, -2, -1)
    _check_phases(xp, "linalg_eig_backward", along)
    scaled = V * xp.expand_dims(xp.call(REAL, along), -2)
    core = (inner - xp.matmul(VH, scaled)) / xp.call(CONJ, differences(xp, eigenvalues))
    if values is not None:
        core = core + xp.call(DIAG_EMBED, values, 0, -2, -1)
    return xp.call(SOLVE, VH, xp.matmul(core, VH), True)


def _eig_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, outs: Any) -> tuple[Tensor, Tensor]:
    """The tangents of eigenvectors keep their lengths: no part of one lies along the real direction of its vector."""
    values, V = outs
    inner = xp.call(SOLVE, V, xp.matmul(to_dtype(tangents[0], V.dtype), V), True)
    diagonal = xp.diagonal(inner, 0, -2, -1)
    moved = xp.matmul(V, (inner - xp.call(DIAG_EMBED, diagonal, 0, -2, -1)) / differences(xp, values))
    along = REAL(xp.diagonal(xp.matmul(adjoint(xp, V), moved), 0, -2, -1))
    return diagonal, moved - V * xp.expand_dims(along, -2)


EIG: Op = Op(
    "LinalgEigBackward0",
    _eig,
    "A",
    saved="eigenvalues eigenvectors",
    outputs="eigenvalues eigenvectors",
    differentiable=2,
    complex=True,
    wirtinger=True,
    jvp=_eig_jvp,
    A=Rule(
        _eig_rule,
        "V = eigenvectors; p = V.mH @ grads[1]; d = (eigenvalues[..., None, :] - eigenvalues[..., None]).conj(); "
        "a = p - V.mH @ (V * p.diagonal(0, -2, -1).real[..., None, :]); "
        "torch.linalg.solve(V.mH, (torch.diag_embed(grads[0]) + (a / d).where(d != 0, 0)) @ V.mH)",
    ),
)


def _check_finite(A: Tensor) -> None:
    if not np.isfinite(A.array).all():
        raise runtime_error("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def _checked_eig(A: Tensor) -> tuple[Tensor, Tensor]:
    _check_complex(A)
    _check_finite(A)
    check_square_floats("linalg.eig", A, "linalg_eig_out_cpu")
    return EIG(A)  # type: ignore[no-any-return]


def _check_complex(A: Tensor) -> None:
    """Raise RuntimeError for integers and bool; warn of float16, whose eigenvalues PyTorch wants to hold as complex32."""
    if not A.dtype.is_differentiable:
        raise runtime_error(f"Unknown Complex ScalarType for {A.dtype.torch_name}")
    if A.dtype is dtypes.float16:
        warnings.complex_half()


def eig(A: Tensor) -> Any:
    """The eigenvalues of square matrices, in no order, and eigenvectors of length 1, complex both. Raises RuntimeError for other shapes."""
    return named("linalg_eig", "eigenvalues", "eigenvectors")(_checked_eig(A))


def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues of square matrices, complex. Raises RuntimeError for other shapes or dtypes."""
    if (A.requires_grad and state.enabled) or state.dual is not None:
        return _checked_eig(A)[0]
    _check_complex(A)
    check_square_floats("linalg.eigvals", A, "linalg_eig_out_cpu")
    _check_finite(A)
    return EIG(A)[0]  # type: ignore[no-any-return]


def _check_shape(values: list[Any], outs: Sequence[Tensor]) -> None:
    """Where there is an `out`, `eig` looks at the shape before it asks for the complex dtype."""
    if not (state.enabled and any(t.requires_grad for t in (values[0], *outs))):  # which is refused first
        _check_finite(values[0])
        check_squares("linalg.eig", values[0])


def _check_values_out(values: list[Any], out: Tensor) -> None:
    """What `eigvals` looks at before it computes: the shape, the dtype, and whether `out` takes complex numbers."""
    A: Tensor = values[0]
    if state.dual is not None:  # a tangent is refused first
        return
    try:
        check_writable(out, A.requires_grad)
    except ProgramError:  # which is refused first too
        return
    check_squares("linalg.eigvals", A)
    if not A.dtype.is_differentiable:
        raise runtime_error(f"Unknown Complex ScalarType for {A.dtype.torch_name}")
    if not out.dtype.is_complex:
        name = {dtypes.float16: "ComplexHalf", dtypes.bfloat16: "ComplexFloat"}.get(A.dtype) or dtypes.complex_of(A.dtype).torch_name
        raise runtime_error(
            f"torch.linalg.eigvals: Expected eigenvalues to be safely castable from {name} dtype, but got eigenvalues with dtype "
            f"{out.dtype.torch_name}"
        )


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "eigh",
        ("Tensor input, str UPLO='L' |2 outs", eigh),
        doc="Eigenvalues, ascending, and eigenvectors of symmetric or Hermitian matrices.",
        ops=(EIGH,),
        samples=(
            Sample("torch.linalg.eigh(x + x.mT)[0]", lambda x: np.linalg.eigvalsh(x + x.T), x=SQUARE),
            Sample("torch.linalg.eigh(x + x.mT)[1]**2", None, x=SQUARE),
        ),
        out=Out({"eigenvectors": EXACT, "eigenvalues": EXACT}, operator="_linalg_eigh"),
    ),
    LinalgFunction(
        "eigvalsh",
        ("Tensor input, str UPLO='L'", eigvalsh),
        doc="Eigenvalues of symmetric or Hermitian matrices, ascending.",
        samples=(Sample("torch.linalg.eigvalsh(x + x.mT)", lambda x: np.linalg.eigvalsh(x + x.T), x=SQUARE),),
        out=Out(EXACT, operator="_linalg_eigh"),
    ),
    LinalgFunction(
        "eig",
        ("Tensor input |2 outs", eig),
        doc="Eigenvalues and eigenvectors of square matrices.",
        ops=(EIG,),
        samples=(
            Sample("torch.linalg.eig(x)[0].abs()", lambda x: np.abs(np.linalg.eigvals(x)), x=SQUARE),
            Sample("torch.linalg.eig(x)[1].abs()", None, x=SQUARE),
        ),
        out=Out(lower=f"torch.{CASTABLE}", row_major="unfit", prepare=_check_shape),
    ),
    LinalgFunction(
        "eigvals",
        ("Tensor input", eigvals),
        doc="Eigenvalues of square matrices.",
        samples=(Sample("torch.linalg.eigvals(x).abs()", lambda x: np.abs(np.linalg.eigvals(x)), x=SQUARE),),
        out=Out(autograd="fallback", row_major="unfit", prepare=_check_values_out),
    ),
)
