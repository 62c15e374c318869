"""The pseudo-inverse of a matrix, its rank, and least squares: what rests on singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import named
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import CASTABLE, Out, check_castable
from gradcli.core.graph import in_place
from gradcli.core.graph.conjugate import adjoint
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.sharing import SharingOp, once
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import check_broadcast, common_shape, not_implemented, require_floating, size
from gradcli.core.ops.linalg.decompositions.eigen import EIGH
from gradcli.core.ops.linalg.decompositions.svd import SVD
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_floats, check_matrices, check_squares, is_vector
from gradcli.core.ops.linalg.samples import WIDE
from gradcli.core.ops.shape.squeeze import SQUEEZE_DIM
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, runtime_error, shape_error

Tolerance = Tensor | float | None


def _bound(largest: Array, tolerances: tuple[Any, Any]) -> Any:
    """The size up to which singular values count as 0, with a last dimension of 1: the larger of the absolute and the relative one."""
    absolute, relative = (np.asarray(t, largest.dtype)[..., None] for t in tolerances)
    check_broadcast([relative, largest])
    scaled = relative * largest
    check_broadcast([absolute, scaled])
    return np.maximum(absolute, scaled)


def _check_real(name: str, **tolerances: Tolerance) -> None:
    """Raise RuntimeError for a complex tensor as a tolerance."""
    for key, value in tolerances.items():
        if type(value) is Tensor and value.dtype.is_complex:
            raise runtime_error(f"{name}: {key} tensor of complex type is not supported. Got {value.dtype.torch_name}")


def _tolerances(A: Tensor, atol: Tolerance, rtol: Tolerance) -> tuple[Any, Any]:
    """Both tolerances as numbers or arrays; the relative one is the longer side times eps where neither is given."""
    found = [t.array if type(t) is Tensor else t for t in (atol, rtol)]
    if found[1] is None:
        given = found[0] is not None and bool(np.any(np.asarray(found[0]) > 0))
        usual = float(np.finfo(A.dtype.np).eps) * max(A.array.shape[-2:])
        found[1] = (np.where(np.asarray(found[0]) > 0, 0.0, usual) if isinstance(found[0], np.ndarray) else 0.0) if given else usual
    return 0.0 if found[0] is None else found[0], found[1]


# --- the pseudo-inverse ---


def _pinv(a: Array, absolute: Any, relative: Any, hermitian: bool) -> Array:
    """By singular values, or by eigenvalues where the matrix is symmetric; in double precision, rounded at the end."""
    if not a.size:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    wide = a.astype(np.result_type(a, np.float64))
    if hermitian:
        values, vectors = EIGH.forward(wide, True)
        left, right, sizes = vectors, vectors.swapaxes(-1, -2).conj(), np.abs(values)
    else:
        u, values, vh = SVD.forward(wide, False)
        left, right, sizes = vh.swapaxes(-1, -2).conj(), u.swapaxes(-1, -2).conj(), values
    largest = sizes.max(-1, keepdims=True)
    bound = _bound(largest, (absolute, relative))
    kept = sizes > bound
    if (kept & (bound <= 0) & (sizes <= _usual(wide) * largest)).any():  # what is 0 up to rounding
        raise runtime_error("a pseudo-inverse without tolerance of a matrix without full rank is not part of gradcli")
    inverse = np.where(kept, 1 / np.where(kept, values, 1), 0)
    return np.asarray(np.matmul(left * inverse[..., None, :], right), a.dtype)


def _pinv_rule(xp: Any, grad: Any, out: Any, A: Any) -> Any:
    """The gradient of the pseudo-inverse (G. Golub and V. Pereyra, 1973), by products of the smaller side."""
    m, n = A.shape[-2:]
    ph, gh = adjoint(xp, out), adjoint(xp, grad)
    if m <= n:
        k = xp.matmul(gh, out)
        kp = xp.matmul(k, ph)
        first = -adjoint(xp, xp.matmul(out, k)) + kp
        return first - xp.matmul(xp.matmul(A, out), kp) + xp.matmul(xp.matmul(ph, out), gh - xp.matmul(k, A))
    k = xp.matmul(out, gh)
    pk = xp.matmul(ph, k)
    first = -adjoint(xp, xp.matmul(k, out)) + xp.matmul(xp.matmul(gh - xp.matmul(A, k), out), ph)
    return first + pk - xp.matmul(xp.matmul(pk, out), A)


PINV: Op = Op(
    "LinalgPinvBackward0",
    _pinv,
    "A",
    "absolute relative hermitian",
    layout="contiguous",
    saved="result self=A",
    complex=True,
    wirtinger=True,
    A=Rule(_pinv_rule, "g = grad.mH; -out.mH @ g.mH @ out.mH + (g - A @ out @ g) @ out @ out.mH + out.mH @ out @ (g - g @ out @ A)"),
)


def pinv(input: Tensor, atol: Tolerance = None, rtol: Tolerance = None, hermitian: bool = False) -> Tensor:
    """The Moore-Penrose inverse; singular values up to `atol`, or up to `rtol` times the largest, count as 0.

    Raises RuntimeError for other shapes or dtypes.
    """
    for name, given in (("atol", atol), ("rtol", rtol)):
        if type(given) is Tensor and given.requires_grad:
            raise runtime_error(
                f"The function 'linalg_pinv' is not differentiable with respect to argument '{name}'. This input cannot have "
                "requires_grad True."
            )
    if isinstance(atol, float) and rtol is None:  # the usual relative tolerance is computed first
        size(input, -2)
        _check_epsilon(input)
    if input.array.ndim < 2 or (input.dtype not in (dtypes.float32, dtypes.float64) and not input.dtype.is_complex):
        raise shape_error(
            f"linalg.pinv({input.dtype.torch_name}{{{list(input.array.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types",
        )
    check_matrices("linalg.pinv", input)
    _check_real("torch.linalg.pinv", atol=atol, rtol=rtol)
    if hermitian:
        check_squares("linalg.eigh", input)
    return PINV(input, *_tolerances(input, atol, rtol), hermitian)  # type: ignore[no-any-return]


def _pinv_of_rcond(input: Tensor, rcond: Tolerance, hermitian: bool = False) -> Tensor:
    _check_real("torch.linalg.pinv", rcond=rcond)
    return pinv(input, 0.0, rcond, hermitian)


# --- the rank ---


def _check_epsilon(A: Tensor) -> None:
    if A.dtype not in (dtypes.float32, dtypes.float64) and not A.dtype.is_complex:
        raise runtime_error("This function doesn't handle types other than float and double")


def matrix_rank(input: Tensor, atol: Tolerance = None, rtol: Tolerance = None, hermitian: bool = False) -> Tensor:
    """The number of singular values above both tolerances. Raises RuntimeError for other shapes or dtypes."""
    check_matrices(_RANK, input, "input")
    return _rank_into(input, atol, rtol, hermitian, wrap(np.zeros(input.array.shape[:-2], np.int64)))


_RANK = "torch.linalg.matrix_rank"


def _rank_into(input: Tensor, atol: Tolerance, rtol: Tolerance, hermitian: bool, out: Tensor) -> Tensor:
    """`matrix_rank` with `out`, which is resized before anything is computed, and again where the tolerances broadcast."""
    if rtol is None and type(atol) is float:
        size(input, -2)
        _check_epsilon(input)
    check_matrices(_RANK, input, "input")
    in_place.resize_to(out, input.array.shape[:-2])
    _check_real(_RANK, atol=atol, rtol=rtol)
    if rtol is None:
        size(input, -2)  # that of `out`, where it is the input
        _check_epsilon(input)
    check_castable(_RANK, dtypes.int64, out)
    if not input.array.size:
        return in_place.fill_(out, 0)
    name = "linalg.eigh" if hermitian else "linalg.svd"
    check_matrices(name, input)
    if hermitian:
        check_squares(name, input)
        if not input.dtype.is_complex:
            require_floating("linalg_eigh_cpu", input.dtype)
    check_floats(name, input, f"{name.replace('.', '_')}_cpu")
    tolerances = _tolerances(input, atol, rtol)
    # PyTorch's library takes infinite numbers too, though not nan, so that shapes that do not broadcast are the error
    if not np.isnan(input.array).any():
        _bound(np.zeros((*input.array.shape[:-2], 1)), tolerances)
    values = np.abs(EIGH.forward(input.array, True)[0]) if hermitian else SVD.forward(input.array, False)[1]
    bound = _bound(values.max(-1, keepdims=True), tolerances)
    return catalog.function("sum")(wrap(values > bound), dim=-1, out=out)  # type: ignore[no-any-return]


def _rank_above(input: Tensor, tol: Tolerance, hermitian: bool = False) -> Tensor:
    return matrix_rank(input, tol, 0.0, hermitian)


def _with_out(input: Tensor, *more: Any) -> Tensor:
    """The overloads of `matrix_rank` with `out`."""
    *tolerances, hermitian, out = more
    atol, rtol = tolerances if len(tolerances) > 1 else (*tolerances, 0.0)
    return _rank_into(input, atol, rtol, hermitian, out)


# --- least squares ---


def _batch(a: Array, b: Array, vector: bool) -> tuple[int, ...]:
    """The shape of the batch that is solved. Raises RuntimeError where there is none.

    PyTorch counts its dimensions in the matrix, for a right side that has fewer too, which it then expands to what it has found.
    """
    found = common_shape([a.shape[:-2], b.shape[: a.ndim - 2]])
    return common_shape([found, b.shape[: -1 if vector else -2]])


def _solved(a: Array, b: Array, driver: str, rcond: float, vector: bool) -> tuple[Array, Array]:
    """The solution, and the sums of squares of what is left where PyTorch computes these."""
    right = b[..., None] if vector else b
    right = np.broadcast_to(right, (*_batch(a, b, vector), *right.shape[-2:]))
    m, n = a.shape[-2:]
    if driver == "gelsy":
        _check_pivots(a)
    found = np.matmul(_pinv(a, 0.0, _usual(a) if driver == "gelsy" else rcond, False), right)
    # the solution lies where the right side was
    columns = np.zeros((*found.shape[:-2], found.shape[-1], max(m, n)), a.dtype)
    columns[..., :n] = found.swapaxes(-1, -2)
    solution = columns[..., :n].swapaxes(-1, -2)
    residuals = np.zeros(0, a.real.dtype)
    if m > n and driver != "gelsy" and bool((_rank(a, rcond, driver)[0] == n).all() or driver == "gels"):
        rest = np.matmul(a, solution) - right
        residuals = (rest * rest.conj()).real.sum(-2)
    return (solution[..., 0] if vector else solution), residuals


def _check_pivots(a: Array) -> None:
    """Refuse a matrix whose first columns, as many as its rank, depend on each other.

    Whether the library chooses others is decided by memory that PyTorch has not set.
    """
    if not a.size:
        return
    matrices = a.reshape(-1, *a.shape[-2:])
    for matrix, rank in zip(matrices, _rank(matrices, _usual(a), "gelsd")[0], strict=True):
        if rank < matrix.shape[1] and _rank(matrix[:, :rank], _usual(a), "gelsd")[0] < rank:
            raise runtime_error("lstsq with the driver gelsy of a matrix that begins with dependent columns is not part of gradcli")


def _usual(a: Array) -> float:
    """The relative size up to which singular values count as 0 where nothing else is said."""
    return float(np.finfo(a.dtype).eps) * float(max(a.shape[-2:]))


def _rank(a: Array, rcond: float, driver: str) -> tuple[Array, Array]:
    """The rank of each matrix, and its singular values."""
    if not a.size:
        return np.zeros(a.shape[:-2], np.int64), np.zeros((*a.shape[:-2], 0), a.real.dtype)
    values = SVD.forward(a, False)[1]
    if driver == "gelsy" and rcond > _usual(a):
        if values.shape[-1] > 1 and ((values[..., 0] * rcond > values[..., -1]) & (values[..., 0] != 0)).any():
            raise runtime_error("lstsq with rcond and the driver gelsy of a matrix of lower rank is not part of gradcli")
        rcond = 0.0
    return np.asarray((values > rcond * values.max(-1, keepdims=True)).sum(-1), np.int64), values


def _columns(xp: Any, x: Any, vector: bool) -> Any:
    return xp.expand_dims(x, -1) if vector else x


def _left(xp: Any, grad: Any, b: Any, A: Any, solution: Any, vector: bool) -> Any:
    """Twice what the solution leaves of the right side, times the gradient of the residuals; None if there are none."""
    if grad is None or not grad.shape[-1]:
        return None
    return xp.expand_dims(grad, -2) * (_columns(xp, b, vector) - xp.matmul(A, _columns(xp, solution, vector))) * 2.0


def _inverse(xp: Any, A: Any) -> Any:
    return xp.call(PINV, A, 0.0, _usual(xp.plain(A)), False)


def _matrix_rule(xp: Any, grads: Any, A: Any, b: Any, solution: Any, vector: bool) -> Any:
    total: Any = None
    if grads[0] is not None:
        inverse = once(xp, _inverse, A)
        total = _pinv_rule(xp, xp.matmul(_columns(xp, grads[0], vector), adjoint(xp, _columns(xp, b, vector))), inverse, A)
    left = _left(xp, grads[1], b, A, solution, vector)
    if left is not None:
        part = -xp.matmul(left, adjoint(xp, _columns(xp, solution, vector)))
        total = part if total is None else total + part
    return total


def _right_rule(xp: Any, grads: Any, A: Any, b: Any, solution: Any, vector: bool) -> Any:
    total: Any = None
    if grads[0] is not None:
        total = xp.matmul(adjoint(xp, once(xp, _inverse, A)), _columns(xp, grads[0], vector))
    left = _left(xp, grads[1], b, A, solution, vector)
    if left is not None:
        total = left if total is None else total + left
    return xp.call(SQUEEZE_DIM, total, -1) if vector and total is not None else total


LSTSQ: Op = SharingOp(
    "LinalgLstsqBackward0",
    _solved,
    "A b",
    "driver rcond vector",
    outputs="solution residuals",
    differentiable=2,
    complex=True,
    wirtinger=True,
    jvp="transpose",
    saved="b self=A solution",
    A=Rule(
        _matrix_rule,
        "x = solution[..., None] if vector else solution; y = b[..., None] if vector else b; "
        "g = grads[0][..., None] if vector else grads[0]; p = torch.linalg.pinv(A); q = (g @ y.mH).mH; "
        "r = 2 * (y - A @ x) * grads[1][..., None, :] if grads[1].numel() else 0 * y; "
        "-p.mH @ q.mH @ p.mH + (q - A @ p @ q) @ p @ p.mH + p.mH @ p @ (q - q @ p @ A) - r @ x.mH",
    ),
    b=Rule(
        _right_rule,
        "r = 2 * grads[1][..., None, :] * (b - A @ solution) if grads[1].numel() else 0; torch.linalg.pinv(A).mH @ grads[0] + r",
    ),
)


def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, driver: str | None = None) -> Any:
    """The X that makes the norm of input @ X - b smallest, residuals, rank, singular values; the `driver` says which of them.

    Raises RuntimeError for other shapes or dtypes, _LinAlgError where `gels` meets a matrix without full rank.
    """
    name, method = "torch.linalg.lstsq", driver or "gelsy"
    vector = _check_system(name, input, b)
    if method not in ("gels", "gelsy", "gelsd", "gelss"):
        raise runtime_error(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if rcond is None:
        _check_epsilon(input)
    _batch(input.array, b.array, vector)
    if rcond is not None and not input.dtype.is_floating_point and not input.dtype.is_complex:
        raise not_implemented("linalg_lstsq_cpu", input.dtype)
    check_floats(name, input, "linalg_lstsq_cpu")
    # gels takes the matrix to have full rank, and gelsd no bound of 1 or more
    if rcond is None or (method == "gelsd" and rcond >= 1):
        rcond = _usual(input.array)
    if method == "gels":
        rcond = 0.0
    rank, values = _rank(input.array, rcond, method)
    if not b.array.size:
        rank = np.zeros_like(rank)
    m, n = input.array.shape[-2:]
    if method == "gels" and input.array.size and bool(_deficient(values).any()):
        at = int(np.flatnonzero(_deficient(values))[0])
        where = f"(Batch element {at}): " if values.ndim > 1 else ""
        raise ProgramError(
            "_LinAlgError",
            f"{name}: {where}The least squares solution could not be computed because the input matrix does not have full rank "
            f"(error code: {min(m, n)}).",
        )
    solution, residuals = LSTSQ(input, b, method, rcond, vector)
    if method == "gels":
        rank = np.zeros(0, np.int64)
    sizes = values if method in ("gelsd", "gelss") else np.zeros(0, values.dtype)
    result = named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
    return result((solution, residuals, wrap(np.asarray(rank)), wrap(sizes)))


def _deficient(values: Array) -> Array:
    """Which matrices have a singular value of 0, up to the rounding of the library, unless all of them are."""
    largest = values.max(-1, keepdims=True)
    return np.asarray((values <= largest * (np.finfo(np.float64).eps / 8)).any(-1) & (largest != 0)[..., 0])


def _check_system(name: str, A: Tensor, b: Tensor) -> bool:
    """Whether the right side is a vector. Raises RuntimeError for shapes or dtypes that do not fit."""
    if A.array.ndim < 2:
        raise shape_error(f"{name}: input must have at least 2 dimensions.")
    if b.array.ndim < 1:
        raise shape_error(f"{name}: other must have at least 1 dimension.")
    check_matrices(name, A, "input")
    if A.dtype is not b.dtype:
        raise runtime_error(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {A.dtype.torch_name} and other's dtype "
            f"{b.dtype.torch_name}"
        )
    if not 0 <= A.array.ndim - b.array.ndim <= 1:
        raise shape_error(f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    vector = is_vector(A.array.shape, b.array.shape)
    at = -1 if vector else -2
    if A.array.shape[-2] != b.array.shape[at]:
        raise shape_error(f"{name}: input.size(-2) should match other.size({at})")
    return vector


def _pinv_out(*values: Any) -> Out:
    """With tensors as tolerances, or none, the function has a formula for its derivative; with others it is composed."""
    by_tensors = len(values) > 3 and not any(type(v) is float for v in values)
    return Out(lower=CASTABLE, first=True, row_major="always", autograd="derivative" if by_tensors else "composed")


FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "pinv",
        ("Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False", pinv),
        ("Tensor input, *, float? atol=None, float? rtol=None, bool hermitian=False", pinv),
        ("Tensor input, Tensor rcond, bool hermitian=False", _pinv_of_rcond),
        ("Tensor input, float rcond, bool hermitian=False", _pinv_of_rcond),
        doc="The Moore-Penrose inverse.",
        ops=(PINV,),
        samples=(
            Sample("torch.linalg.pinv(x)", np.linalg.pinv, x=WIDE),
            Sample("torch.linalg.pinv(x.t())", lambda x: np.linalg.pinv(x.T), x=WIDE),
        ),
        out=_pinv_out,
    ),
    Function("pinverse", ("Tensor input, float rcond=1e-15", _pinv_of_rcond), doc="The Moore-Penrose inverse."),
    LinalgFunction(
        "matrix_rank",
        ("Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False", matrix_rank),
        ("Tensor input, *, float? atol=None, float? rtol=None, bool hermitian=False", matrix_rank),
        ("Tensor input, Tensor tol, bool hermitian=False", _rank_above),
        ("Tensor input, float tol, bool hermitian=False", _rank_above),
        doc="How many singular values are not 0 up to rounding.",
        out=Out(autograd="composed", steps=_with_out),
    ),
    LinalgFunction(
        "lstsq",
        ("Tensor input, Tensor b, float? rcond=None, *, str? driver=None |4 outs", lstsq),
        doc="X that makes the norm of input @ X - b smallest.",
        ops=(LSTSQ,),
        samples=(
            Sample("torch.linalg.lstsq(x.t(), y)[0]", lambda x, y: np.linalg.lstsq(x.T, y)[0], x=WIDE, y=[[1.0], [2.0], [0.5]]),
            Sample("torch.linalg.lstsq(x.t(), y, driver='gels').residuals", None, x=WIDE, y=[[1.0], [2.0], [0.5]]),
        ),
        out=Out(lower=f"torch.{CASTABLE}", row_major="unfit"),
    ),
)
