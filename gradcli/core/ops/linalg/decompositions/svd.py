"""Singular value decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph import in_place
from gradcli.core.graph.conjugate import adjoint, conj
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, singular_values
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.linalg.decompositions.eigen import differences
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_floats, check_matrices, first_failure, of_any_dtype, to_column_major
from gradcli.core.ops.linalg.samples import WIDE
from gradcli.core.ops.shape.diagonal import DIAG_EMBED, DIAGONAL
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.ops.shape.transpose import TRANSPOSE, mT
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def square_bytes(a: Array) -> float:
    """The bytes of square matrices of the longer side of each matrix, which a complete factorisation returns."""
    short, long = sorted(a.shape[-2:])
    return a.nbytes * long / short if short else 0.0


def _check_finite(a: Array) -> None:
    """Raise LinAlgError for infinities, with which the library may search without end, and for nan."""
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError


def _checked_svd(a: Array) -> Any:
    _check_finite(a)
    return np.linalg.svd(a)


@of_any_dtype
def _svd(a: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    if full_matrices:
        limits.check_room(square_bytes(a))
    try:
        _check_finite(a)
        u, s, vh = singular_values.svd(a, full_matrices)
    except np.linalg.LinAlgError:
        where, _ = first_failure(a, _checked_svd)
        text = f"linalg.svd: {where}The algorithm failed to converge because the input matrix contained non-finite values."
        raise ProgramError("_LinAlgError", text) from None
    return to_column_major(u), s, to_column_major(vh)


def _leading(xp: Any, x: Any, dim: int, count: int) -> Any:
    """The first `count` columns or rows; None for None."""
    return x if x is None or x.shape[dim] == count else xp.call(SLICE, x, dim, 0, count, 1)


def _svd_rule(xp: Any, grads: Any, U: Any, S: Any, Vh: Any) -> Any:
    """The gradient (M. Giles, "An extended collection of matrix derivative results", 2008), in PyTorch's order of operations."""
    k = S.shape[-1]
    m, n = U.shape[-2], Vh.shape[-1]
    u, vh = _leading(xp, U, -1, k), _leading(xp, Vh, -2, k)
    gu, gs, gvh = _leading(xp, grads[0], -1, k), grads[1], _leading(xp, grads[2], -2, k)
    if gu is None and gvh is None:
        if m >= n:
            return xp.matmul(u, xp.expand_dims(gs, -1) * vh)
        return xp.matmul(u * xp.expand_dims(gs, -2), vh)
    core: Any = None
    uh = adjoint(xp, u)
    turned = _turned(xp, uh, gu, vh, gvh)
    if gu is not None:
        inner = xp.matmul(uh, gu)
        core = (inner - adjoint(xp, inner)) * xp.expand_dims(S, -2)
    if gvh is not None:
        inner = xp.matmul(vh, adjoint(xp, gvh))
        part = xp.expand_dims(S, -1) * (inner - adjoint(xp, inner))
        core = part if core is None else core + part
    core = core / differences(xp, S * S)
    if gs is not None:
        core = core + xp.call(DIAG_EMBED, gs, 0, -2, -1)
    if turned is not None:
        core = core + xp.call(DIAG_EMBED, turned / scalars.times(xp, S, 2.0), 0, -2, -1)
    if gu is not None and m > k:
        scaled = gu / xp.expand_dims(S, -2)
        return xp.matmul(xp.matmul(u, core) + scaled - xp.matmul(u, xp.matmul(uh, scaled)), vh)
    if gvh is not None and n > k:
        scaled = gvh / xp.expand_dims(S, -1)
        return xp.matmul(u, xp.matmul(core, vh) + scaled - xp.matmul(xp.matmul(scaled, adjoint(xp, vh)), vh))
    return xp.matmul(u, xp.matmul(core, vh)) if m >= n else xp.matmul(xp.matmul(u, core), vh)


def _turned(xp: Any, uh: Any, gu: Any, vh: Any, gvh: Any) -> Any:
    """The imaginary diagonal of U.mH @ grad - its adjoint, where U and V of complex matrices have gradients; else None.

    Raises RuntimeError where the gradient depends on the phases of the singular vectors.
    """
    if xp.plain(uh).dtype.kind != "c":
        return None
    parts = [
        None if g is None else _diagonal_skew(xp, a, b) for g, a, b in ((gu, uh, gu), (gvh, vh, None if gvh is None else adjoint(xp, gvh)))
    ]
    total = sum(xp.plain(part).imag for part in parts if part is not None)
    if np.abs(total).max(initial=0) > 1e-2:
        raise runtime_error(
            "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. The specified loss "
            "function depends on this phase term, making it ill-defined."
        )
    return parts[0] if parts[1] is not None else None


def _diagonal_skew(xp: Any, a: Any, b: Any) -> Any:
    inner = xp.matmul(a, b)
    return xp.call(DIAGONAL, inner - adjoint(xp, inner), 0, -2, -1)


_SVD = (
    "k = S.shape[-1]; u = U[..., :k]; v = Vh[..., :k, :]; s = S[..., None, :]; gu = grads[0][..., :k]; gv = grads[2][..., :k, :]; "
    "a = u.mH @ gu; b = v @ gv.mH; t = (a - a.mH) * s + s.mT * (b - b.mH); "
    "core = torch.diag_embed(grads[1]) + (t / (s**2 - s.mT**2)).where(t != 0, 0); "
    "left = (gu - u @ a) / s @ v if U.shape[-2] > k else 0; right = u @ ((gv - b.mH @ v) / s.mT) if Vh.shape[-1] > k else 0; "
    "u @ core @ v + left + right"
)
SVD: Op = Op(
    "LinalgSvdBackward0",
    _svd,
    "A",
    "full_matrices",
    layout="columns",
    saved="S U Vh S_sym_argsize_minus_1 full_matrices",
    outputs="U S Vh",
    differentiable=3,
    complex=True,
    wirtinger=True,
    A=Rule(_svd_rule, _SVD),
)


def svd_parts(A: Tensor, full_matrices: bool, driver: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and Vh of A = U @ diag(S) @ Vh. Raises RuntimeError for other shapes or dtypes, and for a `driver`."""
    check_matrices("linalg.svd", A)
    if not A.dtype.is_differentiable:
        check_floats("linalg.svd", A)
    if driver is not None and A.array.size:
        text = "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        raise runtime_error(text, Code.AFTER_CHECKS)
    check_floats("linalg.svd", A, "linalg_svd_cpu")
    return SVD(A, full_matrices)  # type: ignore[no-any-return]


def svd(A: Tensor, full_matrices: bool = True, driver: str | None = None) -> Any:
    """U, S and Vh as named results; S is descending."""
    return named("linalg_svd", "U", "S", "Vh")(svd_parts(A, full_matrices, driver))


def _old_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The older form, which returns V in place of its transpose; without `compute_uv`, U and V are zeros."""
    if input.array.ndim < 2:
        raise shape_error(f"linalg.svd: input should have at least 2 dimensions, but has {input.array.ndim} dimensions instead")
    u, s, vh = svd_parts(input, not some and compute_uv)
    if not compute_uv:
        m, n = input.array.shape[-2:]
        limits.check_room(2 * square_bytes(input.array))
        zeros = [Tensor(np.zeros((*input.array.shape[:-2], k, k), input.dtype.np), input.dtype) for k in (m, n)]
        return named("svd", "U", "S", "V")((zeros[0], s, mT(zeros[1])))
    return named("svd", "U", "S", "V")((u, s, conj(mT(vh))))


def svdvals(A: Tensor, driver: str | None = None) -> Tensor:
    """Singular values, descending."""
    return svd_parts(A, False, driver)[1]


def _old_svd_into(input: Tensor, some: bool, compute_uv: bool, outs: Sequence[Tensor]) -> Any:
    """`torch.svd` with `out`: V is transposed, written into as that of `linalg.svd`, and transposed again."""
    U, S, V = outs
    if compute_uv:
        if V.array.ndim > 1:
            in_place.reshape_(V, TRANSPOSE, -2, -1)
        catalog.function("linalg.svd")(input, not some, out=(U, S, V))
        in_place.reshape_(V, TRANSPOSE, -2, -1)
        if V.dtype.is_complex:
            catalog.method("conj_physical_").method(V, (), {})
    else:
        for out in (U, V):
            if out.dtype is not input.dtype:
                names = f"{input.dtype.torch_name} but got {out.dtype.torch_name}"
                raise runtime_error(f"torch.svd: Expected out tensor to have dtype {names} instead")
        catalog.function("linalg.svdvals")(input, out=S)
        limits.check_room(2 * square_bytes(input.array))
        for out, size in zip((U, V), input.array.shape[-2:], strict=True):
            in_place.resize_to(out, (*input.array.shape[:-2], size, size))
            in_place.fill_(out, 0)
    return named("svd_out", "U", "S", "V")(outs)


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "svd",
        ("Tensor A, bool full_matrices=True, *, str? driver=None |3 outs", svd),
        doc="Singular value decomposition A = U @ diag(S) @ Vh.",
        ops=(SVD,),
        samples=(
            Sample("torch.linalg.svd(x, full_matrices=False)[0]**2", None, x=WIDE),
            Sample("torch.linalg.svd(x, full_matrices=False)[2]**2", None, x=WIDE),
        ),
        out=Out({"U": EXACT, "Vh": EXACT, "S": EXACT}, operator="_linalg_svd", instead={2: None}),
    ),
    Function(
        "svd",
        ("Tensor input, bool some=True, bool compute_uv=True |3 outs", _old_svd),
        doc="Singular value decomposition; use linalg.svd.",
        out=Out(autograd="composed", steps=_old_svd_into),
    ),
    LinalgFunction(
        "svdvals",
        ("Tensor A, *, str? driver=None", svdvals),
        doc="Singular values, descending.",
        samples=(Sample("torch.linalg.svdvals(x)", lambda x: np.linalg.svd(x, compute_uv=False), x=WIDE),),
        out=Out(EXACT, operator="_linalg_svd", instead={1: None}),
    ),
)
