"""Determinants, traces and diagonals of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.conjugate import adjoint, conjugated
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, elementary, elimination, lu, memory_format
from gradcli.core.kernels.summation import total
from gradcli.core.ops.checks import refuse_bool
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.add_multiply import MUL
from gradcli.core.ops.elementwise.complex_signs import DIRECTION, REAL, SIZE
from gradcli.core.ops.elementwise.exponential import LOG
from gradcli.core.ops.elementwise.where import where
from gradcli.core.ops.index.index_select import INDEX_FILL_TENSOR
from gradcli.core.ops.index.indexing import INDEX, index_put
from gradcli.core.ops.linalg.decompositions.svd import SVD
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_square_floats, of_any_dtype
from gradcli.core.ops.linalg.samples import SQUARE, WIDE
from gradcli.core.ops.linalg.solving.solve import SOLVE
from gradcli.core.ops.reduce.product import others_traced
from gradcli.core.ops.rules import zeros_as
from gradcli.core.ops.shape.diagonal import DIAG_EMBED, diagonal
from gradcli.core.ops.shape.squeeze import unsqueeze
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error


def _singular_gradient(grad: Tensor, A: Tensor) -> Any:
    """The gradient of the determinant by the adjugate, from singular values, so that it has derivatives where the matrix is singular."""
    U, S, Vh = SVD(A, True)
    alpha = DET(U) * DET(Vh) * grad
    others = unsqueeze(alpha, -1) if A.shape[-1] == 1 else unsqueeze(alpha, -1) * others_traced(S, S.array.ndim - 1)
    return traced.matmul(U * unsqueeze(others, -2), Vh)


def _regular_gradient(grad: Tensor, out: Tensor, A: Tensor) -> Any:
    return _times_inverse(traced, grad * out, traced.mT(A))


def _traced_gradient(grad: Tensor, A: Tensor, out: Tensor) -> Any:
    """The gradient of each matrix in the way that has derivatives; matrices count as singular up to PyTorch's bound."""
    singular = np.abs(out.array) < 100 * np.finfo(A.dtype.np).eps
    if not singular.any():
        return _regular_gradient(grad, out, A)
    if singular.all():
        return _singular_gradient(grad, A)
    made = wrap(memory_format.empty_like(A.array))
    for mask, gradient in ((singular, lambda g, o, a: _singular_gradient(g, a)), (~singular, _regular_gradient)):
        made = index_put(made, (wrap(mask),), gradient(*(INDEX(x, (mask,)) for x in (grad, out, A))))
    return made


def _on_diagonal(values: Any, a: Array) -> Array:
    """Multiples of the identity, in the shape of `a`: one value for each matrix."""
    made = np.zeros_like(a)
    np.einsum("...ii->...i", made)[...] = np.asarray(values)[..., None]
    return made


def _times_inverse(xp: Any, factors: Any, matrices: Any) -> Any:
    """The inverse of matrices times one factor for each, as the solution of a system."""
    wide = xp.broadcast_to(xp.expand_dims(factors, -1), (*factors.shape, matrices.shape[-1]))
    return xp.call(SOLVE, matrices, xp.mT(xp.call(DIAG_EMBED, wide, 0, -2, -1)), True)


def _det_rule(xp: Any, grad: Any, A: Any, out: Any) -> Any:
    if not xp.plain(A).size:
        return zeros_as(xp, A)
    if A.shape[-1] == 1:
        return xp.broadcast_to(xp.expand_dims(xp.expand_dims(grad, -1), -1), A.shape)
    if type(A) is not Tensor and elimination.fits(A):
        # PyTorch replaces a zero pivot by eps, and grad * out is 0 then: the gradient of a singular matrix is 0
        return elimination.solve(xp.mT(A), _on_diagonal(grad * out, A), singular=np.finfo(A.dtype).eps)
    if type(A) is Tensor and not A.dtype.is_complex:
        return _traced_gradient(grad, A, out)
    singular = xp.plain(out) == 0
    if singular.any():
        A = np.where(singular[..., None, None], np.eye(A.shape[-1], dtype=A.dtype), A)
    return _times_inverse(xp, grad * out, xp.mT(A))


def _det_jvp(xp: Any, inputs: Any, _: Any, tangents: Any, out: Any) -> Any:
    """The trace of the inverse times the tangent, times the determinant, which is 0 for singular matrices."""
    A, singular = inputs[0], out.array == 0
    if not singular.any():
        solved = SOLVE(A, tangents[0], True)
    elif elimination.fits(A.array):  # eps stands for a zero pivot, as in the gradient
        eps = np.finfo(A.array.dtype).eps
        solved = wrap(elimination.solve(A.array.swapaxes(-1, -2), tangents[0].array, True, eps))
    else:
        solved = SOLVE(wrap(np.where(singular[..., None, None], np.eye(A.shape[-1], dtype=A.array.dtype), A.array)), tangents[0], True)
    return xp.sum(diagonal(solved, 0, -2, -1), -1) * out


def _signed_zeros(a: Array, found: Array) -> Array:
    """The determinants or their signs, whose zeros have the sign of the product of pivots."""
    if found.all() or a.dtype.kind == "c":
        return found
    packed, pivots, _ = lu.factorized(a.swapaxes(-1, -2))
    exchanges = pivots != np.arange(1, a.shape[-1] + 1)
    odd = np.logical_xor.reduce(np.signbit(np.diagonal(packed, axis1=-2, axis2=-1)) ^ exchanges, axis=-1)
    return np.where(found == 0, np.where(odd, -0.0, 0.0), found).astype(a.dtype)


@of_any_dtype
def _determinant(a: Array) -> Array:
    return elimination.determinant(a) if elimination.is_small(a) else _signed_zeros(a, np.asarray(np.linalg.det(a)))


DET: Op = Op(
    "LinalgDetBackward0",
    _determinant,
    "A",
    jvp=_det_jvp,
    saved="A LU=? pivots=? result",
    computed=lu.KEPT_BY_DET,
    A=Rule(
        _det_rule,
        "regular = A.where(out[..., None, None] != 0, torch.eye(A.shape[-1])); "
        "(grad * out)[..., None, None] * torch.linalg.inv(regular).mT",
        "0 where A is singular",
    ),
    complex=True,
)


def _sign_and_logarithm(a: Array) -> tuple[Array, Array]:
    if a.dtype.kind == "c" and elimination.is_small(a):
        signs, pivots = elimination.diagonals(a)
        turns = np.moveaxis(DIRECTION.forward(pivots), -1, 0)
        return elementary.by_steps(elementary.complex_product_along(turns, True), signs), total(elementary.log(SIZE.forward(pivots)), -1)
    if elimination.fits(a):
        signs, pivots = elimination.diagonals(a)
        # the sign of nan is 0, as in PyTorch
        return np.prod(np.nan_to_num(np.sign(pivots)), -1) * signs, np.asarray(total(elementary.log(np.abs(pivots)), -1))
    sign, logarithm = np.linalg.slogdet(a)
    return _signed_zeros(a, np.asarray(sign, a.dtype)), np.asarray(logarithm, a.real.dtype)


def _slogdet_rule(xp: Any, grads: Any, A: Any, sign: Any, A_dtype: Any) -> Any:
    turned, grad = grads[:2]
    if A_dtype.is_complex and turned is not None:
        moved = xp.call(MUL, conjugated(xp, turned), sign)
        around = scalars.times(xp, moved - conjugated(xp, moved), 0.5)
        grad = -around if grad is None else grad - around
    elif grad is None:
        return None
    elif A_dtype.is_complex:
        grad = xp.cast(grad, A_dtype)
    if type(A) is not Tensor and elimination.fits(A):
        return elimination.solve(xp.mT(A), _on_diagonal(grad, A), singular=0.0)
    if type(A) is not Tensor and (xp.plain(sign) == 0).any():
        return scalars.times_data(xp, xp.expand_dims(xp.expand_dims(grad, -1), -1), np.full(A.shape, np.inf, xp.plain(A).dtype))
    return _times_inverse(xp, grad, adjoint(xp, A))


def _slogdet_jvp(xp: Any, inputs: Any, _: Any, tangents: Any, outs: Any) -> tuple[Any, Any]:
    """The trace of the inverse times the tangent; nan where the matrix is singular, but infinite for one element."""
    A, sign = inputs[0], outs[0]
    singular = xp.plain(sign) == 0
    if A.shape[-1] == 1:
        solved = tangents[0] / A
    elif singular.any() and elimination.fits(A.array):
        solved = wrap(elimination.solve(A.array.swapaxes(-1, -2), tangents[0].array, True, 0.0))
    else:
        if singular.any():
            A = wrap(np.where(singular[..., None, None], xp.plain(A).dtype.type(np.nan), xp.plain(A)))
        solved = SOLVE(A, tangents[0], True)
    found = xp.sum(diagonal(solved, 0, -2, -1), -1)
    if not sign.dtype.is_complex:
        return xp.zeros_like(sign), found
    return scalars.times(xp, found - conjugated(xp, found), 0.5) * sign, REAL(found)


SLOGDET: Op = Op(
    "LinalgSlogdetBackward0",
    _sign_and_logarithm,
    "A",
    jvp=_slogdet_jvp,
    saved="A LU=? pivots=? sign",
    computed=lu.KEPT_BY_DET,
    outputs="sign logabsdet",
    differentiable=2,
    complex=True,
    wirtinger=True,
    A=Rule(
        _slogdet_rule,
        "g = grads[0].conj() * sign; (grads[1] - (g - g.conj()) / 2)[..., None, None] * torch.linalg.inv(A).mH",
    ),
)


def _trace_rule(xp: Any, grad: Any, input_shape: Any, input_dtype: Any) -> Any:
    n, m = input_shape
    places = np.arange(min(n, m)) * (m + 1)
    return xp.reshape(xp.call(INDEX_FILL_TENSOR, xp.zeros((n * m,), input_dtype), grad, 0, places), input_shape)


def _trace(a: Array) -> Any:
    """The sum of the diagonal, that of integers in int64, and that of floats in PyTorch's wider type."""
    wider = {"f2": np.float32, "f4": np.float64}.get(a.dtype.str[1:], a.dtype)
    return np.trace(a, dtype=wider).astype(a.dtype) if a.dtype.kind in "fc" else np.trace(a, dtype=np.int64)


TRACE: Op = Op(
    "TraceBackward0",
    _trace,
    "input",
    input=Rule(_trace_rule, "zeros_like(input).diagonal_scatter(grad.expand(min(input.shape)))"),
    complex=True,
)


def det(A: Tensor) -> Tensor:
    """The determinant of square matrices. Raises RuntimeError for other shapes or dtypes."""
    check_square_floats("linalg.det", A, "lu_cpu")
    return DET(A)  # type: ignore[no-any-return]


def _slogdet(type_name: str) -> Callable[[Tensor], Any]:
    """The function under both of its names, which only the type of the result shows."""

    def run(A: Tensor) -> Any:
        check_square_floats("linalg.slogdet", A)
        return named(type_name, "sign", "logabsdet")(SLOGDET(A))

    return run


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant, nan where the determinant is negative. Raises RuntimeError for other shapes or dtypes."""
    check_square_floats("logdet", input)
    sign, logarithm = SLOGDET(input)
    if input.dtype.is_complex:
        return LOG(sign) + logarithm  # type: ignore[no-any-return]
    return where(wrap(sign.array == -1), math.nan, logarithm)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix. Raises RuntimeError for other ranks."""
    refuse_bool("trace", input.dtype)
    if input.array.ndim != 2:
        raise runtime_error(f"trace: expected a matrix, but got tensor with dim {input.array.ndim}")
    return TRACE(input)  # type: ignore[no-any-return]


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "det",
        ("Tensor A", det),
        doc="The determinant of square matrices.",
        ops=(DET,),
        samples=(Sample("torch.linalg.det(x)", np.linalg.det, x=SQUARE),),
        out=Out(EXACT, operator="_linalg_det"),
    ),
    Function("det", ("Tensor input", det), doc="The determinant of square matrices.", samples=(Sample("det(x)", np.linalg.det, x=SQUARE),)),
    Function(
        "logdet",
        ("Tensor input", logdet),
        doc="The logarithm of the determinant.",
        samples=(Sample("logdet(x)", lambda x: np.log(np.linalg.det(x)), x=SQUARE),),
    ),
    LinalgFunction(
        "slogdet",
        ("Tensor A |2 outs", _slogdet("linalg_slogdet")),
        doc="Sign and logarithm of the absolute value of the determinant.",
        ops=(SLOGDET,),
        samples=(Sample("torch.linalg.slogdet(x)[1]", lambda x: np.linalg.slogdet(x)[1], x=SQUARE),),
        out=Out(EXACT, operator="_linalg_slogdet"),
    ),
    Function(
        "slogdet",
        ("Tensor input |2 outs", _slogdet("slogdet")),
        doc="Sign and logarithm of the absolute value of the determinant.",
        out=Out(EXACT, operator="_linalg_slogdet", tracked=slice(2)),
    ),
    Function(
        "trace",
        ("Tensor input", trace),
        doc="The sum of a matrix's diagonal.",
        ops=(TRACE,),
        samples=(Sample("trace(x)", np.trace, x=SQUARE),),
    ),
    LinalgFunction(
        "diagonal",
        ("Tensor A, *, int offset=0, int dim1=-2, int dim2=-1", diagonal),
        doc="The diagonal of matrices.",
        samples=(Sample("torch.linalg.diagonal(x)", np.diagonal, x=WIDE),),
    ),
)
