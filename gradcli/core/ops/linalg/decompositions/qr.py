"""The QR factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.conjugate import adjoint
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.linalg.decompositions.svd import square_bytes
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_floats, check_matrices, to_column_major
from gradcli.core.ops.linalg.samples import WIDE
from gradcli.core.ops.linalg.solving.triangular import TRIANGULAR, in_rows
from gradcli.core.ops.shape.diagonal import TRIL, TRIU
from gradcli.core.ops.shape.joining import CAT
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import runtime_error


def _qr(a: Array, mode: str) -> tuple[Array, Array]:
    a = a + a.dtype.type(0)  # numpy's library takes -0 for a negative number
    if mode == "r":
        return np.empty((0,), a.dtype), to_column_major(np.asarray(np.linalg.qr(a, "r")))
    if mode == "complete":
        limits.check_room(square_bytes(a))
    q, r = np.linalg.qr(a, "complete" if mode == "complete" else "reduced")
    return to_column_major(q), to_column_major(r)


def _halved(xp: Any, x: Any) -> Any:
    """Matrices with half their diagonals."""
    return scalars.times_data(xp, x, (1 - np.eye(*x.shape[-2:]) / 2).astype(xp.plain(x).real.dtype))


def _square_qr_rule(xp: Any, Q: Any, R: Any, gq: Any, gr: Any) -> Any:
    """The gradient of Q @ R for square R, from the gradients of Q and R, of which one may be None."""
    core: Any = None
    if gr is not None:
        core = xp.matmul(gr, adjoint(xp, R))
    if gq is not None:
        inner = xp.matmul(adjoint(xp, Q), gq)
        core = -inner if core is None else core - inner
    upper = xp.call(TRIU, core, 0)
    total = xp.matmul(Q, _halved(xp, upper + adjoint(xp, upper)))
    if gq is not None:
        total = total + gq
    return in_rows(xp, xp.call(TRIANGULAR, adjoint(xp, R), total, False, False, False), R)


def _check_differentiable(mode: str, Q: Any, R: Any) -> None:
    """Raise RuntimeError where Q is missing, or has columns that A does not determine."""
    if mode == "r":
        raise runtime_error(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if you "
            "are going to differentiate through linalg.qr."
        )
    if mode == "complete" and Q.shape[-2] > R.shape[-1]:
        raise runtime_error("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")


def _qr_rule(xp: Any, grads: Any, Q: Any, R: Any, mode: str, A_dtype: Any) -> Any:
    _check_differentiable(mode, Q, R)
    (gq, gr), m, n = grads, Q.shape[-2], R.shape[-1]
    if m >= n:
        return _square_qr_rule(xp, Q, R, gq, gr)
    # the first m columns of a wide matrix determine Q
    left = xp.call(SLICE, R, -1, 0, m, 1)
    core: Any = None
    if gq is not None:
        core = xp.matmul(adjoint(xp, Q), gq)
    if gr is not None:
        through = xp.matmul(gr, adjoint(xp, R))
        core = -through if core is None else core - through
    core = xp.call(TRIL, core - adjoint(xp, core), 0)
    if A_dtype.is_complex:  # the diagonal is imaginary; of real matrices it is 0
        core = _halved(xp, core)
    square = xp.matmul(Q, xp.call(TRIANGULAR, adjoint(xp, left), core, False, False, False))
    total = xp.call(CAT, [square, xp.zeros((*R.shape[:-1], n - m), A_dtype)], -1, (m, n - m))
    return total if gr is None else total + xp.matmul(Q, gr)


def _qr_jvp(xp: Any, inputs: Any, attrs: tuple[Any, ...], tangents: Any, outs: Any) -> tuple[Any, Any]:
    """The tangents of Q and R, in PyTorch's steps; the first columns of a wide matrix determine Q."""
    (Q, R), moved, mode = outs, tangents[0], attrs[0]
    m, n = inputs[0].shape[-2:]
    _check_differentiable(mode, Q, R)
    if m < n:
        whole = xp.matmul(adjoint(xp, Q), moved)
        left, known = (xp.call(SLICE, x, -1, 0, m, 1) for x in (R, whole))
        low = xp.call(TRIL, xp.call(TRIANGULAR, left, known, True, False, False), 0 if Q.dtype.is_complex else -1)
        turned = _halved(xp, low - adjoint(xp, low))
        return xp.matmul(Q, turned), whole - xp.matmul(turned, R)
    scaled = xp.call(TRIANGULAR, R, moved, True, False, False)
    inner = xp.matmul(adjoint(xp, Q), scaled)
    upper = _halved(xp, xp.call(TRIU, inner + adjoint(xp, inner), 0))
    return scaled - xp.matmul(Q, upper), xp.matmul(upper, R)


QR: Op = Op(
    "LinalgQrBackward0",
    _qr,
    "A",
    "mode",
    jvp=_qr_jvp,
    layout="columns",
    outputs="Q R",
    differentiable=2,
    complex=True,
    wirtinger=True,
    A=Rule(
        _qr_rule,
        "k = Q.shape[-1]; r = R[..., :k]; h = grads[1][..., k:]; g = grads[0] + Q @ R[..., k:] @ h.mH; "
        "t = (grads[1][..., :k] @ r.mH - Q.mH @ g).triu(); d = torch.diag_embed(t.diagonal(0, -2, -1)); "
        "torch.cat([(g + Q @ (t + t.mH - (d + d.mH) / 2)) @ torch.linalg.inv(r).mH, Q @ h], -1)",
    ),
)


def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R of A = Q @ R. Raises RuntimeError for other shapes or dtypes."""
    check_matrices("linalg.qr", A)
    if not A.dtype.is_differentiable:
        check_floats("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise runtime_error(
            f"qr received unrecognized mode '{formatted(mode)}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_floats("linalg.qr", A, "geqrf_cpu")
    return named("linalg_qr", "Q", "R")(QR(A, mode))


def _warn(*_: Any) -> None:
    warnings.emit(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean parameter 'some' "
        "has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete') (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/BatchLinearAlgebra.cpp:2505.)",
        once="qr",
    )


def _old_qr(input: Tensor, some: bool = True) -> Any:
    """The older form, with PyTorch's deprecation warning."""
    _warn()
    return named("qr", "Q", "R")(tuple(qr(input, "reduced" if some else "complete")))


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "qr",
        ("Tensor A, str mode='reduced' |2 outs", qr),
        doc="Q with orthonormal columns and upper triangular R with A = Q @ R.",
        ops=(QR,),
        samples=(
            Sample("torch.linalg.qr(x)[0]", lambda x: np.linalg.qr(x)[0], x=WIDE),
            Sample("torch.linalg.qr(x)[1]", lambda x: np.linalg.qr(x)[1], x=WIDE),
        ),
        out=Out(EXACT, operator="linalg_qr", tracked=slice(2)),
    ),
    Function(
        "qr",
        ("Tensor input, bool some=True |2 outs", _old_qr),
        doc="An orthogonal and an upper triangular factor; deprecated.",
        samples=(Sample("torch.qr(x)[1]", lambda x: np.linalg.qr(x)[1], x=WIDE),),
        out=Out(EXACT, operator="linalg_qr", tracked=slice(2), prepare=_warn),
    ),
)
