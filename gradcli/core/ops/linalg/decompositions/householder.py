"""Householder's reflections: `geqrf`, their product, and its products with matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import CASTABLE, Out
from gradcli.core.graph import in_place, inplace_forms
from gradcli.core.graph.conjugate import adjoint, conjugated
from gradcli.core.graph.record import Op, Rule, without_jvp
from gradcli.core.graph.sharing import SharingOp, once
from gradcli.core.kernels import Array, memory_format, reflections
from gradcli.core.ops.checks import not_implemented, size
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import as_data, check_matrices, to_column_major
from gradcli.core.ops.linalg.samples import TALL, WIDE
from gradcli.core.ops.rules import check_no_tangent, refused, zeros_as
from gradcli.core.ops.shape.diagonal import TRIL
from gradcli.core.ops.shape.slicing import SELECT, SLICE
from gradcli.core.ops.shape.squeeze import SQUEEZE_DIM
from gradcli.core.ops.shape.view_scatter import SELECT_SCATTER
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.batched import innermost
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def _raw(a: Array) -> tuple[Array, Array]:
    h, tau = np.linalg.qr(a + a.dtype.type(0), "raw")  # numpy's library takes -0 for a negative number
    return to_column_major(h.swapaxes(-1, -2)), memory_format.contiguous(tau)


_MISSING = ProgramError("NotImplementedError", "the derivative for 'geqrf' is not implemented.")
GEQRF = Op("GeqrfBackward0", _raw, "input", outputs="a tau", differentiable=2, complex=True, input=refused(lambda: _MISSING))


def _check_reflectors(name: str, A: Tensor, kernel: str) -> None:
    if A.array.ndim < 2:
        raise shape_error(f"{name}: input must have at least 2 dimensions.")
    check_matrices(name, A)
    if A.dtype not in (dtypes.float32, dtypes.float64) and not A.dtype.is_complex:
        raise not_implemented(kernel, A.dtype)


def geqrf(input: Tensor) -> Any:
    """R above the diagonal and the reflections of the QR factorisation below it, and their factors tau."""
    check_no_tangent("geqrf", input)
    _check_reflectors("torch.geqrf", input, "geqrf_cpu")
    if input.dtype.is_complex and input.requires_grad and state.enabled:
        raise runtime_error("geqrf does not support automatic differentiation for outputs with complex dtype.")
    return named("geqrf", "a", "tau")(GEQRF(input))


# --- the product ---


def _columns(xp: Any, x: Any, start: int, end: int) -> Any:
    return xp.call(SLICE, x, -1, start, end, 1)


def _rows(xp: Any, x: Any, start: int) -> Any:
    return xp.call(SLICE, x, -2, start, x.shape[-2], 1)


def _reflected(xp: Any, vectors: Any, factors: Any, i: int, x: Any, left: bool = True) -> Any:
    """(1 - t_i * v_i @ v_i.mH) @ x, or unless `left` x @ (1 - t_i * v_i @ v_i.mH), where t_i is a factor."""
    v, scale = _columns(xp, vectors, i, i + 1), xp.expand_dims(_columns(xp, factors, i, i + 1), -1)
    across = adjoint(xp, v)
    if left:
        inner = xp.matmul(across, x)
        return x - scale * v * inner
    return x - xp.matmul(x, scale * v) * across


def _written(made: Any, i: int, column: Any) -> Any:
    """`made` with column i, or element i of each vector, written into it; of batched tensors, with which that is not possible, a copy."""
    if type(made) is not Tensor:
        made[..., i] = column
        return made
    if innermost((column,)) is not None:
        return SELECT_SCATTER(made, column, made.array.ndim - 1, i)
    in_place.copy_(SELECT(made, made.array.ndim - 1, i), column)
    return made


def _unpacked(xp: Any, input: Any, tau: Any) -> tuple[Any, Any]:
    """The vectors of the reflections, and the factors of their inverses."""
    vectors = xp.call(TRIL, input, -1) + as_data(input, np.eye(*input.shape[-2:], dtype=xp.plain(input).dtype))
    used = _columns(xp, vectors, 0, tau.shape[-1])
    return vectors, tau / (tau * xp.sum(used * conjugated(xp, used), -2) - 1)


def _through(xp: Any, grad: Any, input: Any, tau: Any, out: Any, flipped: bool = False) -> tuple[Any, Any]:
    """The gradients of the reflectors and of tau, by PyTorch's steps: the product times the gradient, without reflections already seen.

    They leave the product by their inverses, which are nan where a reflection is a projection (tau * norm(v)**2 is 1). With `flipped`
    the last reflection comes first, and what was applied from the left is from the right. Operations stand in PyTorch's order, in
    which gradients of second order are added up.
    """
    m, k = input.shape[-2], tau.shape[-1]
    vectors, sigma = _unpacked(xp, input, tau)
    places = range(k)[:: -1 if flipped else 1]
    inner = _reflected(xp, vectors, sigma, places[0], xp.matmul(out, adjoint(xp, grad)), not flipped)
    of_input, of_tau = zeros_as(xp, input), zeros_as(xp, tau)
    for i, following in zip(places, [*places[1:], None], strict=True):
        v, t = _columns(xp, vectors, i, i + 1), _columns(xp, tau, i, i + 1)
        low = _rows(xp, v, i)
        left = xp.matmul(adjoint(xp, low), _rows(xp, inner, i))
        right = xp.matmul(_columns(xp, inner, i, m), low)
        scale = xp.expand_dims(t, -1)
        right = xp.call(SQUEEZE_DIM, scale * right, -1)
        column = xp.expand_dims(xp.call(SQUEEZE_DIM, conjugated(xp, -scale * left), -2) - right, -1)
        number = xp.call(SQUEEZE_DIM, -conjugated(xp, xp.matmul(_columns(xp, left, i, m), low)), -1)
        of_input = _written(of_input, i, xp.call(SQUEEZE_DIM, column, -1))
        of_tau = _written(of_tau, i, xp.call(SQUEEZE_DIM, number, -1))
        if following is not None:
            inner = _reflected(xp, vectors, sigma, following, inner, not flipped)
            inner = _reflected(xp, vectors, tau, i, inner, flipped)
    return of_input, of_tau


def _product_jvp(xp: Any, inputs: Any, _: Any, tangents: Any, out: Any) -> Any:
    """The sum of the products in which the tangent of one reflection stands in its place.

    As in PyTorch, `after`, the product of the reflections behind it, comes from the whole product by inverses of the reflections.
    """
    input, tau = inputs
    moved = None if tangents[0] is None else xp.call(TRIL, tangents[0], -1)
    vectors, sigma = _unpacked(xp, input, tau)
    before = as_data(input, np.eye(input.shape[-2], dtype=xp.plain(input).dtype))
    after, total = out, xp.zeros_like(out)
    for i in range(tau.shape[-1]):
        v, t = (_columns(xp, x, i, i + 1) for x in (vectors, xp.expand_dims(tau, -2)))
        after = _reflected(xp, vectors, sigma, i, after)
        terms = []
        if tangents[1] is not None:
            terms.append((_columns(xp, xp.expand_dims(tangents[1], -2), i, i + 1), v, v))
        if moved is not None:
            dv = _columns(xp, moved, i, i + 1)
            terms += [(t, dv, v), (t, v, dv)]
        for scale, left, right in terms:
            total = total - xp.matmul(before, scale * left * xp.matmul(adjoint(xp, right), after))
        before = _reflected(xp, vectors, tau, i, before, left=False)
    return total


def _lower(made: Any) -> Any:
    """The part below the diagonal, in place."""
    if type(made) is Tensor:
        return inplace_forms.apply(made, lambda x: TRIL(x, -1))
    made[...] = np.tril(made, -1)
    return made


def _reflector_rule(xp: Any, grad: Any, input: Any, tau: Any, out: Any) -> Any:
    if not (xp.plain(input).size and xp.plain(tau).size):
        return None
    return _lower(once(xp, _through, grad, input, tau, out)[0])


def _tau_rule(xp: Any, grad: Any, input: Any, tau: Any, out: Any) -> Any:
    if not (xp.plain(input).size and xp.plain(tau).size):
        return None
    return once(xp, _through, grad, input, tau, out)[1]


def _each(gradient: str, columns: str) -> str:
    """The formula of V, whose columns are the reflections, and of D, their gradients, from that of these columns of their product."""
    return (
        "m, n = input.shape; k = len(tau); V = input.tril(-1) + eye(m, n, dtype=grad.dtype); I = eye(m, dtype=grad.dtype); "
        "H = [I - tau[i] * outer(V[:, i], V[:, i].conj()) for i in range(k)]; "
        f"D = [torch.linalg.multi_dot([I, *H[:i], I]).mH @ {gradient} @ torch.linalg.multi_dot([I, *H[i + 1:], I[:, :{columns}]]).mH "
        "for i in range(k)]; "
    )


#: the formulas of the gradients of the reflectors and of tau, from V and D
_OF_REFLECTORS = (
    "c = [-(tau[i].conj() * D[i] + tau[i] * D[i].mH) @ V[:, i] for i in range(k)]; "
    "torch.cat([torch.stack(c, 1), zeros(m, n - k)], 1).tril(-1)"
)
_OF_TAU = "torch.stack([-V[:, i].conj() @ D[i] @ V[:, i] for i in range(k)])"
_EACH = _each("grad", "n")
PRODUCT = SharingOp(
    "LinalgHouseholderProductBackward0",
    reflections.product,
    "input tau",
    saved="input result tau",
    complex=True,
    wirtinger=True,
    jvp=_product_jvp,
    layout="columns",
    input=Rule(_reflector_rule, _EACH + _OF_REFLECTORS),
    tau=Rule(_tau_rule, _EACH + _OF_TAU),
)


def householder_product(input: Tensor, tau: Tensor) -> Any:
    """The first columns of the product of reflections. Raises RuntimeError for other shapes or dtypes."""
    name = "torch.linalg.householder_product"
    if input.array.ndim < 2:
        raise shape_error(f"{name}: input must have at least 2 dimensions.")
    rows, columns = input.array.shape[-2:]
    if rows < columns:
        raise shape_error(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if not tau.array.ndim:
        raise ProgramError("IndexError", "Dimension specified as -1 but tensor has no dimensions")
    if columns < tau.array.shape[-1]:
        raise shape_error(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if tau.array.ndim != input.array.ndim - 1:
        have = f"tau.ndim equal to {tau.array.ndim} and input.ndim is equal to {input.array.ndim}"
        raise shape_error(f"{name}: Expected tau to have one dimension less than input, but got {have}")
    if tau.array.shape[:-1] != input.array.shape[:-2]:
        batch = list(tau.array.shape[:-1])
        raise shape_error(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {batch}")
    if tau.dtype is not input.dtype:
        raise runtime_error(f"{name}: tau dtype {tau.dtype.torch_name} does not match input dtype {input.dtype.torch_name}")
    _check_reflectors(name, input, "orgqr_cpu")
    return PRODUCT(input, tau)


# --- products with matrices ---


def _both_of_applied(xp: Any, grad: Any, input: Any, tau: Any, out: Any, left: bool, transpose: bool) -> Any:
    """The gradients of the reflectors and of tau, as those of the product that the other matrix is part of."""
    if not (xp.plain(input).size and xp.plain(tau).size):
        return None, None
    first, second = (grad, out) if left != transpose else (out, grad)
    if not left:
        first, second = adjoint(xp, first), adjoint(xp, second)
    return once(xp, _through, first, input, tau, second, left == transpose)


def _applied_reflectors_rule(xp: Any, grad: Any, input: Any, tau: Any, out: Any, left: bool, transpose: bool) -> Any:
    found = _both_of_applied(xp, grad, input, tau, out, left, transpose)[0]
    return None if found is None else _lower(found)


def _applied_tau_rule(xp: Any, grad: Any, input: Any, tau: Any, out: Any, left: bool, transpose: bool) -> Any:
    return _both_of_applied(xp, grad, input, tau, out, left, transpose)[1]


def _applied(reflectors: Array, tau: Array, other: Array, left: bool, transpose: bool) -> Array:
    if left:
        return to_column_major(reflections.applied(reflectors, tau, other, transpose))
    return to_column_major(reflections.applied(reflectors, tau, other.swapaxes(-1, -2).conj(), not transpose).swapaxes(-1, -2).conj())


_EACH_APPLIED = (
    "a = other if left == transpose else grad; b = grad if left == transpose else other; "
    f"G = a @ b.mH if left else a.mH @ b; {_each('G', 'm')}"
)
APPLIED: Op = SharingOp(
    "OrmqrBackward0",
    _applied,
    "input tau other",
    "left transpose",
    saved="result self=input input2=tau input3=other left transpose",
    complex=True,
    wirtinger=True,
    jvp=without_jvp("ormqr"),
    other=Rule(
        lambda xp, grad, input, tau, left, transpose: xp.call(APPLIED, input, tau, grad, left, not transpose),
        "torch.ormqr(input, tau, grad, left, not transpose)",
    ),
    input=Rule(_applied_reflectors_rule, _EACH_APPLIED + _OF_REFLECTORS),
    tau=Rule(_applied_tau_rule, _EACH_APPLIED + _OF_TAU),
)


def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """The product Q of all reflections times `other`, or unless `left` `other` times Q; with `transpose` Q.mH in place of Q.

    Raises RuntimeError for other shapes or dtypes.
    """
    check_no_tangent("ormqr", input, tau, other)
    name = "torch.ormqr"
    for matrix, symbol in ((input, "input"), (other, "other")):
        if matrix.array.ndim < 2:
            raise shape_error(f"{name}: {symbol} must have at least 2 dimensions.")
    dim = -2 if left else -1
    rows, columns = input.array.shape[-2:]
    count, length = size(tau, -1), other.array.shape[dim]
    if length != rows:
        raise shape_error(f"{name}: other.shape[{dim}] must be equal to input.shape[-2]")
    if count != min(length, columns):
        raise shape_error(f"{name}: tau.shape[-1] must be equal to min(other.shape[{dim}], input.shape[-1])")
    rank, batch = input.array.ndim, input.array.shape[:-2]
    if tau.array.ndim != rank - 1:
        have = f"tau.ndim equal to {tau.array.ndim} and input.ndim is equal to {rank}"
        raise shape_error(f"{name}: Expected tau to have one dimension less than input, but got {have}")
    if other.array.ndim != rank:
        have = f"other.ndim equal to {other.array.ndim} and input.ndim is equal to {rank}"
        raise shape_error(f"{name}: Expected other to have the same number of dimensions as input, but got {have}")
    for symbol, found in (("tau", tau.array.shape[:-1]), ("other", other.array.shape[:-2])):
        if found != batch:
            raise shape_error(f"{name}: Expected batch dimensions of {symbol} to be equal to input.shape[:-2], but got {list(found)}")
    for symbol, operand in (("tau", tau), ("other", other)):
        if operand.dtype is not input.dtype:
            have = f"input has dtype{input.dtype.torch_name} and {symbol} has dtype {operand.dtype.torch_name}"
            raise runtime_error(f"{name}: Expected input and {symbol} to have the same dtype, but {have}")
    _check_reflectors(name, input, "ormqr_cpu")
    limits.check_work(4.0 * other.array.size * count)
    return APPLIED(input, tau, other, left, transpose)  # type: ignore[no-any-return]


_CASTABLE = f"torch.{CASTABLE}"
_OUT = Out(lower=_CASTABLE, row_major="unfit")

FUNCTIONS: tuple[Function, ...] = (
    Function(
        "geqrf",
        ("Tensor input |2 outs", geqrf),
        doc="The QR factorisation as reflections: R with the reflections below it, and their factors.",
        ops=(GEQRF,),
        samples=(Sample(f"torch.geqrf(tensor({TALL}))[1]"),),
        out=_OUT,
    ),
    LinalgFunction(
        "householder_product",
        ("Tensor input, Tensor tau |out", householder_product),
        doc="The first columns of a product of Householder's reflections.",
        ops=(PRODUCT,),
        samples=(Sample("torch.linalg.householder_product(x, t)", None, x=TALL, t=[0.5, 1.25]),),
        out=_OUT,
    ),
    Function(
        "orgqr",
        ("Tensor input, Tensor input2 |out", householder_product),
        doc="The first columns of a product of Householder's reflections.",
        samples=(Sample("torch.orgqr(x, t)", None, x=TALL, t=[0.5, 1.25]),),
        out=Out(lower=_CASTABLE.replace("{name}", "linalg.householder_product"), operator="linalg_householder_product", row_major="unfit"),
    ),
    Function(
        "ormqr",
        ("Tensor input, Tensor input2, Tensor input3, bool left=True, bool transpose=False |out", ormqr),
        doc="A product of Householder's reflections, or its transpose, times a matrix.",
        ops=(APPLIED,),
        samples=(
            Sample("torch.ormqr(x, t, y)", None, x=TALL, t=[0.5, 1.25], y=TALL),
            Sample("torch.ormqr(x, t, y, left=False, transpose=True)", None, x=TALL, t=[0.5, 1.25], y=WIDE),
        ),
        out=Out(
            "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{result} and result has dtype {out}",
            row_major="unfit",
        ),
    ),
)
