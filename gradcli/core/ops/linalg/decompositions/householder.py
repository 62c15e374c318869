"""Householder's reflections, `geqrf` and their product, and the factorisation A = L @ D @ L.mT of symmetric matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import CASTABLE, EXACT, Out
from gradcli.core.graph.conjugate import adjoint, conjugated
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format, reflections
from gradcli.core.ops.checks import not_implemented, size
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import as_data, check_batches, check_floats, check_matrices, check_squares, to_column_major
from gradcli.core.ops.linalg.samples import TALL
from gradcli.core.ops.rules import check_no_tangent, not_differentiable, recorded, refused
from gradcli.core.ops.shape.diagonal import TRIL
from gradcli.core.ops.shape.joining import CAT
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.ops.shape.squeeze import SQUEEZE_DIM
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def _raw(a: Array) -> tuple[Array, Array]:
    h, tau = np.linalg.qr(a + a.dtype.type(0), "raw")  # numpy's library takes -0 for a negative number
    return to_column_major(h.swapaxes(-1, -2)), memory_format.contiguous(tau)


_MISSING = ProgramError("NotImplementedError", "the derivative for 'geqrf' is not implemented.")
GEQRF = Op("GeqrfBackward0", _raw, "input", outputs="a tau", differentiable=2, input=refused(lambda: _MISSING))
LDL_SOLVE = not_differentiable("linalg_ldl_solve", lambda x, y: y, "LD B")
LDL = not_differentiable("linalg_ldl_factor_ex", lambda x: x, "A")


def _check_reflectors(name: str, A: Tensor, kernel: str, complex: bool = False) -> None:
    if A.array.ndim < 2:
        raise shape_error(f"{name}: input must have at least 2 dimensions.")
    check_matrices(name, A)
    if A.dtype not in (dtypes.float32, dtypes.float64) and not (complex and A.dtype.is_complex):
        if A.dtype.is_complex:
            check_floats(name, A)
        raise not_implemented(kernel, A.dtype)


def geqrf(input: Tensor) -> Any:
    """R above the diagonal and the reflections of the QR factorisation below it, and their factors tau."""
    check_no_tangent("geqrf", input)
    _check_reflectors("torch.geqrf", input, "geqrf_cpu")
    return named("geqrf", "a", "tau")(GEQRF(input))


# --- the product ---


def _columns(xp: Any, x: Any, start: int, end: int) -> Any:
    return xp.call(SLICE, x, -1, start, end, 1)


def _rows(xp: Any, x: Any, start: int) -> Any:
    return xp.call(SLICE, x, -2, start, x.shape[-2], 1)


def _reflected(xp: Any, v: Any, sigma: Any, i: int, x: Any) -> Any:
    """(1 - sigma_i * v @ v.mH) @ x."""
    scale = _columns(xp, sigma, i, i + 1)
    inner = xp.matmul(adjoint(xp, v), x)
    return x - xp.expand_dims(scale, -1) * v * inner


#: what the rules of the node that is called share: None before the first of them, and nothing while no node is called
_shared: list[Any] = []


class _SharingNode(OpNode):
    """A node whose rules share one pass over the reflections, so that the graph of second order has each step once."""

    __slots__ = ()

    def gradients(self, grads: list[Any], traced: bool, wanted: Sequence[bool]) -> list[Any]:
        _shared.append(None)
        try:
            return super().gradients(grads, traced, wanted)
        finally:
            _shared.clear()


class _Product(Op):
    __slots__ = ()
    node_type = _SharingNode


def _both(xp: Any, *args: Any) -> tuple[list[Any], list[Any]]:
    """What `_through` returns, once for both rules of a namespace: where strides are in question, a node calls its rules in two."""
    if not _shared:
        return _through(xp, *args)
    if _shared[0] is None or _shared[0][0] is not xp:
        _shared[0] = (xp, _through(xp, *args))
    return _shared[0][1]  # type: ignore[no-any-return]


def _unpacked(xp: Any, input: Any, tau: Any) -> tuple[Any, Any]:
    """The vectors of the reflections, and the factors of their inverses."""
    vectors = xp.call(TRIL, input, -1) + as_data(input, np.eye(*input.shape[-2:], dtype=xp.plain(input).dtype))
    used = _columns(xp, vectors, 0, tau.shape[-1])
    return vectors, tau / (tau * xp.sum(used * conjugated(xp, used), -2) - 1)


def _through(xp: Any, grad: Any, input: Any, tau: Any, out: Any) -> tuple[list[Any], list[Any]]:
    """The gradients of the reflectors and of tau, by PyTorch's steps: the product times the gradient, without reflections already seen.

    They leave the product by their inverses, which are nan where a reflection is a projection (tau * norm(v)**2 is 1). Operations stand
    in PyTorch's order, in which gradients of second order are added up.
    """
    m, k = input.shape[-2], tau.shape[-1]
    vectors, sigma = _unpacked(xp, input, tau)
    inner = _reflected(xp, _columns(xp, vectors, 0, 1), sigma, 0, xp.matmul(out, adjoint(xp, grad)))
    of_vectors, of_tau = [], []
    for i in range(k):
        v, t = _columns(xp, vectors, i, i + 1), _columns(xp, tau, i, i + 1)
        low = _rows(xp, v, i)
        left = xp.matmul(adjoint(xp, low), _rows(xp, inner, i))
        right = xp.matmul(_columns(xp, inner, i, m), low)
        scale = xp.expand_dims(t, -1)
        right = xp.call(SQUEEZE_DIM, scale * right, -1)
        of_vectors.append(xp.expand_dims(xp.call(SQUEEZE_DIM, conjugated(xp, -scale * left), -2) - right, -1))
        of_tau.append(xp.call(SQUEEZE_DIM, -conjugated(xp, xp.matmul(_columns(xp, left, i, m), low)), -1))
        if i + 1 < k:
            inner = _reflected(xp, _columns(xp, vectors, i + 1, i + 2), sigma, i + 1, inner)
            across = adjoint(xp, v)
            inner = inner - xp.matmul(inner, xp.expand_dims(t, -1) * v) * across
    return of_vectors, of_tau


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
        after = _reflected(xp, v, sigma, i, after)
        terms = []
        if tangents[1] is not None:
            terms.append((_columns(xp, xp.expand_dims(tangents[1], -2), i, i + 1), v, v))
        if moved is not None:
            dv = _columns(xp, moved, i, i + 1)
            terms += [(t, dv, v), (t, v, dv)]
        for scale, left, right in terms:
            total = total - xp.matmul(before, scale * left * xp.matmul(adjoint(xp, right), after))
        before = before - xp.matmul(before, t * v) * adjoint(xp, v)
    return total


def _reflector_rule(xp: Any, grad: Any, input: Any, tau: Any, out: Any) -> Any:
    n, k = input.shape[-1], tau.shape[-1]
    if not (xp.plain(input).size and xp.plain(tau).size):
        return None
    found, _ = _both(xp, grad, input, tau, out)
    if n > k:
        found.append(xp.zeros_like(_columns(xp, input, k, n)))
    return xp.call(TRIL, xp.call(CAT, found, -1, tuple(one.shape[-1] for one in found)), -1)


def _tau_rule(xp: Any, grad: Any, input: Any, tau: Any, out: Any) -> Any:
    if not (xp.plain(input).size and xp.plain(tau).size):
        return None
    _, found = _both(xp, grad, input, tau, out)
    return xp.call(CAT, found, -1, (1,) * len(found))


_EACH = (
    "m, n = input.shape; k = len(tau); V = input.tril(-1) + eye(m, n, dtype=grad.dtype); I = eye(m, dtype=grad.dtype); "
    "H = [I - tau[i] * outer(V[:, i], V[:, i].conj()) for i in range(k)]; "
    "D = [torch.linalg.multi_dot([I, *H[:i], I]).mH @ grad @ torch.linalg.multi_dot([I, *H[i + 1:], I[:, :n]]).mH for i in range(k)]; "
)
PRODUCT = _Product(
    "LinalgHouseholderProductBackward0",
    reflections.product,
    "input tau",
    saved="input result tau",
    complex=True,
    wirtinger=True,
    jvp=_product_jvp,
    layout="columns",
    input=Rule(
        _reflector_rule,
        f"{_EACH}c = [-(tau[i].conj() * D[i] + tau[i] * D[i].mH) @ V[:, i] for i in range(k)]; "
        "torch.cat([torch.stack(c, 1), zeros(m, n - k)], 1).tril(-1)",
    ),
    tau=Rule(_tau_rule, f"{_EACH}torch.stack([-V[:, i].conj() @ D[i] @ V[:, i] for i in range(k)])"),
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
    _check_reflectors(name, input, "orgqr_cpu", complex=True)
    return PRODUCT(input, tau)


# --- symmetric matrices ---


def _factors(A: Tensor, name: str) -> tuple[Tensor, Tensor, Tensor]:
    check_no_tangent("aten::linalg_ldl_factor_ex", A)
    check_squares(f"torch.linalg.{name}", A)
    check_floats(f"torch.linalg.{name}", A, "ldl_factor_kernel_cpu")
    factors, pivots, info = reflections.symmetric_factors(A.array)
    return recorded(LDL, Tensor(factors, A.dtype), A), Tensor(pivots, dtypes.int32), Tensor(info, dtypes.int32)


def ldl_factor_ex(A: Tensor, hermitian: bool = False, check_errors: bool = False) -> Any:
    """The factors, the pivots, and for each matrix the number of its first zero block, 0 if there is none."""
    found = _factors(A, "ldl_factor_ex")
    if check_errors:
        _check_blocks("torch.linalg.ldl_factor_ex", found[2])
    return named("linalg_ldl_factor_ex", "LD", "pivots", "info")(found)


def ldl_factor(A: Tensor, hermitian: bool = False) -> Any:
    """The lower factor with the blocks of D on its diagonal, and the pivots. Raises RuntimeError for a zero block."""
    found = _factors(A, "ldl_factor_ex")
    _check_blocks("torch.linalg.ldl_factor", found[2])
    return named("linalg_ldl_factor", "LD", "pivots")(found[:2])


def _check_blocks(name: str, info: Tensor) -> None:
    wrong = info.array[info.array != 0]
    if wrong.size:
        place = '"/__w/pytorch/pytorch/aten/src/ATen/native/BatchLinearAlgebra.cpp":1642'
        raise runtime_error(
            f"false INTERNAL ASSERT FAILED at {place}, please report a bug to PyTorch. {name}: Unknown error code: {wrong.flat[0]}.",
            Code.SINGULAR,
        )


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool = False) -> Tensor:
    """The solution X of A @ X = B, from the factors of A."""
    name = "torch.linalg.ldl_solve"
    check_no_tangent("aten::linalg_ldl_solve", LD, B)
    check_squares(name, LD)
    if not LD.dtype.is_differentiable:
        check_floats(name, LD)
    if B.dtype is not LD.dtype:
        found = f"b of type {B.dtype.torch_name} and A of type {LD.dtype.torch_name}"
        raise runtime_error(f"Expected b and A to have the same dtype, but found {found} instead.")
    n, rows = LD.array.shape[-1], size(B, -2)
    if n != rows:
        raise shape_error(
            f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is {rows} by {B.array.shape[-1]}"
        )
    if LD.array.shape[:-1] != pivots.array.shape:
        have = f"pivots with shape {list(pivots.array.shape)} instead"
        raise shape_error(f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got {have}")
    if pivots.array.dtype.kind not in "iu":
        raise runtime_error(f"{name}: Expected pivots to be integers. Got {pivots.dtype.torch_name}")
    exchanged = np.abs(pivots.array)
    for wrong, bound in ((exchanged < 1, ">= 1"), (exchanged > n, "<= LD.size(-2)")):
        if wrong.any():
            raise runtime_error(
                f"Pivots given to ldl_solve must all satisfy |pivot| {bound}. Did you properly pass the result of ldl_factor?",
                Code.AFTER_CHECKS,
            )
    check_floats(name, LD, "ldl_solve_kernel_cpu")
    check_batches(B, LD)
    batch = np.broadcast_shapes(LD.array.shape[:-2], B.array.shape[:-2])
    made = np.empty((*batch, n, B.array.shape[-1]), B.array.dtype)
    sources = [np.broadcast_to(t.array, (*batch, *t.array.shape[-r:])) for t, r in ((LD, 2), (pivots, 1), (B, 2))]
    for at in np.ndindex(*batch):
        made[at] = reflections.solved(*(source[at] for source in sources))
    return recorded(LDL_SOLVE, wrap(to_column_major(made)), LD, B)


_CASTABLE = f"torch.{CASTABLE}"
_OUT = Out(lower=_CASTABLE, row_major="unfit")
_LDL = Out(EXACT, operator="linalg_ldl_factor_ex", autograd="fallback")

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
    LinalgFunction(
        "ldl_factor",
        ("Tensor input, *, bool hermitian=False |2 outs", ldl_factor),
        doc="The factors L and D of a symmetric matrix, packed, and the pivots.",
        samples=(Sample("torch.linalg.ldl_factor(tensor([[1., 2.], [2., -1.]]))", None),),
        out=_LDL,
    ),
    LinalgFunction(
        "ldl_factor_ex",
        ("Tensor input, *, bool hermitian=False, bool check_errors=False |3 outs", ldl_factor_ex),
        doc="As ldl_factor, with a number that tells a zero block in place of an error.",
        samples=(Sample("torch.linalg.ldl_factor_ex(tensor([[1., 2.], [2., -1.]])).info", None),),
        out=_LDL,
    ),
    LinalgFunction(
        "ldl_solve",
        ("Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False |out", ldl_solve),
        doc="The solution of a symmetric system from the factors of ldl_factor.",
        samples=(Sample("torch.linalg.ldl_solve(*torch.linalg.ldl_factor(tensor([[1., 2.], [2., -1.]])), tensor([[5.], [0.]]))", None),),
        out=Out(EXACT, autograd="fallback"),
    ),
)
