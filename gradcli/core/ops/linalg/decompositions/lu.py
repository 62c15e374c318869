"""The factorisation A = P @ L @ U with row exchanges.

`LU` holds both triangles in one matrix; L has ones on its diagonal, which are left out. `pivots` are the exchanged rows,
counted from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import check_memory
from gradcli.core.kernels import Array, lu
from gradcli.core.ops.checks import not_implemented, refuse_half
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import as_data, to_column_major
from gradcli.core.ops.linalg.solving.triangular import TRIANGULAR
from gradcli.core.ops.shape.diagonal import TRIL, TRIU
from gradcli.core.ops.shape.joining import CAT
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import Code, runtime_error, shape_error

# --- parts of matrices, as arrays or tensors ---


def part(xp: Any, x: Any, dim: int, start: int, end: int) -> Any:
    """The slice from start to end along a dimension."""
    return x if start == 0 and end == x.shape[dim] else xp.call(SLICE, x, dim, start, end, 1)


def joined(xp: Any, first: Any, second: Any, dim: int) -> Any:
    """The concatenation of two parts along a dimension."""
    return xp.call(CAT, [first, second], dim, (first.shape[dim], second.shape[dim]))


def zeros_along(xp: Any, like: Any, dim: int, size: int) -> Any:
    """Zeros of the shape of `like`, but of another size along a dimension."""
    shape = list(like.shape)
    shape[dim] = size
    return as_data(like, np.zeros(shape, xp.plain(like).dtype))


def unpacked(xp: Any, LU: Any) -> tuple[Any, Any]:
    """L and U."""
    m, n = LU.shape[-2:]
    k = min(m, n)
    eye = np.eye(m, k, dtype=xp.plain(LU).dtype)
    lower = xp.call(TRIL, part(xp, LU, -1, 0, k), -1) + as_data(LU, eye)
    return lower, xp.call(TRIU, part(xp, LU, -2, 0, k), 0)


# --- the factorisation ---


def _less(total: Any, value: Any) -> Any:
    return -value if total is None else total - value


def _back(xp: Any, L: Any, U: Any, gl: Any, gu: Any) -> Any:
    """The gradient of P.mT @ A from the gradients of L and U, of which one may be None, in PyTorch's steps.

    The differentials of L and U stay within their triangles; rows or columns beyond the square part follow by substitution.
    """
    m, n = L.shape[-2], U.shape[-1]
    k = min(m, n)
    lt, ut = xp.mT(L), xp.mT(U)
    core: Any = None
    if not m - n:
        if gl is not None:
            core = xp.call(TRIL, xp.matmul(lt, gl), -1)
        if gu is not None:
            high = xp.call(TRIU, xp.matmul(gu, ut), 0)
            core = high if core is None else core + high
        return xp.call(TRIANGULAR, lt, xp.call(TRIANGULAR, ut, core, False, False, False), True, True, True)
    if m < n:
        if gl is not None:
            core = xp.matmul(lt, gl)
        if gu is not None:
            core = _less(core, xp.matmul(xp.call(TRIU, gu, 0), ut))
        core = xp.call(TRIANGULAR, xp.mT(part(xp, U, -1, 0, k)), xp.call(TRIL, core, -1), False, False, False)
        if gu is not None:
            core = joined(xp, core + xp.call(TRIU, part(xp, gu, -1, 0, k), 0), part(xp, gu, -1, k, n), -1)
        core = xp.call(TRIANGULAR, lt, core, True, True, True)
        return core if gu is not None else joined(xp, core, zeros_along(xp, core, -1, n - k), -1)
    if gu is not None:
        core = xp.matmul(gu, ut)
    if gl is not None:
        core = _less(core, xp.matmul(lt, xp.call(TRIL, gl, -1)))
    core = xp.call(TRIANGULAR, xp.mT(part(xp, L, -2, 0, k)), xp.call(TRIU, core, 0), True, True, True)
    if gl is not None:
        core = joined(xp, core + xp.call(TRIL, part(xp, gl, -2, 0, k), -1), part(xp, gl, -2, k, m), -2)
    core = xp.call(TRIANGULAR, ut, core, False, False, False)
    return core if gl is not None else joined(xp, core, zeros_along(xp, core, -2, m - k), -2)


def _lu_rule(xp: Any, grads: Any, L: Any, U: Any, P: Any, pivot: bool, A_dtype: DType) -> Any:
    refuse_half("triangular_solve_cpu", A_dtype)
    gl, gu, _ = grads
    back = _back(xp, L, U, gl, gu)
    return xp.matmul(as_data(L, xp.plain(P)), back) if pivot else back


def _moved_factors(xp: Any, moved: Any, L: Any, U: Any) -> tuple[Any, Any]:
    """The tangents of L and U from that of P.mT @ A."""
    m, n = L.shape[-2], U.shape[-1]
    k = min(m, n)
    corner_l, corner_u = part(xp, L, -2, 0, k), part(xp, U, -1, 0, k)
    square = part(xp, part(xp, moved, -2, 0, k), -1, 0, k)
    inner = xp.call(TRIANGULAR, corner_l, square, False, True, True)
    inner = xp.call(TRIANGULAR, corner_u, inner, True, False, False)
    low, high = xp.call(TRIL, inner, -1), xp.call(TRIU, inner, 0)
    moved_l, moved_u = xp.matmul(corner_l, low), xp.matmul(high, corner_u)
    if m > k:
        rest = xp.call(TRIANGULAR, corner_u, part(xp, moved, -2, k, m), True, False, False)
        moved_l = joined(xp, moved_l, rest - xp.matmul(part(xp, L, -2, k, m), high), -2)
    if n > k:
        rest = xp.call(TRIANGULAR, corner_l, part(xp, moved, -1, k, n), False, True, True)
        moved_u = joined(xp, moved_u, rest - xp.matmul(low, part(xp, U, -1, k, n)), -1)
    return moved_l, moved_u


def _lu_jvp(xp: Any, inputs: Any, attrs: Any, tangents: Any, outs: Any) -> Any:
    L, U, P = outs
    moved = xp.matmul(xp.mT(as_data(L, P.array)), tangents[0]) if attrs[0] else tangents[0]
    return *_moved_factors(xp, moved, L, U), None


def _factor_jvp(xp: Any, inputs: Any, _: Any, tangents: Any, outs: Any) -> Any:
    """The tangent of L below the diagonal, and that of U."""
    packed, pivots = outs[0], xp.plain(outs[1])
    m, n = packed.shape[-2:]
    moved = xp.matmul(xp.mT(as_data(packed, lu.permutation(pivots, m, packed.dtype.np))), tangents[0])
    moved_l, moved_u = _moved_factors(xp, moved, *unpacked(xp, packed))
    if m > n:
        moved_u = joined(xp, moved_u, zeros_along(xp, moved_u, -2, m - n), -2)
    if n > m:
        moved_l = joined(xp, moved_l, zeros_along(xp, moved_l, -1, n - m), -1)
    return moved_l + moved_u, None, None


def _factor_rule(xp: Any, grad: Any, LU: Any, pivots: Any, pivot: bool, A_dtype: DType) -> Any:
    refuse_half("triangular_solve_cpu", A_dtype)
    L, U = unpacked(xp, LU)
    k = min(LU.shape[-2:])
    back = _back(xp, L, U, part(xp, grad, -1, 0, k), part(xp, grad, -2, 0, k))
    if not pivot:
        return back
    return xp.matmul(as_data(LU, lu.permutation(xp.plain(pivots), LU.shape[-2], xp.plain(LU).dtype)), back)


#: the formula of the gradient of A from gl and gu, those of L and U
_PARTS = (
    "k = min(L.shape[-2], U.shape[-1]); low = (L[..., :k, :].mT @ gl[..., :k, :] - gu[..., k:] @ U[..., k:].mT).tril(-1); "
    "high = (gu[..., :k] @ U[..., :k].mT - L[..., k:, :].mT @ gl[..., k:, :]).triu(); "
    "s = torch.linalg.inv(L[..., :k, :]).mT @ (low + high) @ torch.linalg.inv(U[..., :k]).mT; "
    "wide = torch.linalg.inv(L[..., :k, :]).mT @ gu[..., k:]; tall = gl[..., k:, :] @ torch.linalg.inv(U[..., :k]).mT; "
    "P @ torch.cat([torch.cat([s, wide], -1), torch.cat([tall, tall.new_zeros([*tall.shape[:-1], wide.shape[-1]])], -1)], -2)"
)


def _factorized(a: Array, pivot: bool) -> tuple[Array, Array, Array]:
    limits.check_work(float(a.size) * min(a.shape[-2:], default=0))
    packed, pivots, info = lu.factorized(a)
    return to_column_major(packed), pivots, info


def _lu(a: Array, pivot: bool) -> tuple[Array, Array, Array]:
    packed, pivots, _ = _factorized(a, pivot)
    L, U = split(packed)
    return L, U, np.zeros(0, a.dtype) if not pivot else lu.permutation(pivots, a.shape[-2], a.dtype)


def split(packed: Array) -> tuple[Array, Array]:
    """L and U of arrays."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    lower = np.tril(packed[..., :k], -1)
    lower[..., range(k), range(k)] = 1
    return lower, np.triu(packed[..., :k, :])


LU = Op(
    "LinalgLuBackward0",
    _lu,
    "A",
    "pivot",
    jvp=_lu_jvp,
    saved="L P U pivot",
    outputs="L U P",
    differentiable=2,
    complex=True,
    A=Rule(_lu_rule, f"parts = torch.linalg.lu(A); P = parts[0]; L = parts[1]; U = parts[2]; gl = grads[0]; gu = grads[1]; {_PARTS}"),
)
LU_FACTOR = Op(
    "LinalgLuFactorExBackward0",
    _factorized,
    "A",
    "pivot",
    jvp=_factor_jvp,
    saved="LU pivots pivot",
    outputs="LU pivots info",
    complex=True,
    A=Rule(
        _factor_rule,
        "parts = torch.linalg.lu(A); P = parts[0]; L = parts[1]; U = parts[2]; k = L.shape[-1]; gl = grad[..., :k].tril(-1); "
        f"gu = grad[..., :k, :].triu(); {_PARTS}",
    ),
)


# --- the functions ---


def _check(name: str, A: Tensor, pivot: bool) -> None:
    """Raise RuntimeError for other ranks and without row exchanges, NotImplementedError for other dtypes."""
    if A.array.ndim < 2:
        raise shape_error(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.array.shape)} instead")
    if A.array.size and not A.dtype.is_complex and A.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("lu_cpu", A.dtype)
    if A.array.size and not pivot:
        raise runtime_error("linalg.lu_factor: LU without pivoting is not implemented on the CPU", Code.AFTER_CHECKS)


def lu_parts(A: Tensor, pivot: bool = True) -> Any:
    """P, L and U of A = P @ L @ U. Raises RuntimeError for other ranks."""
    _check("linalg.lu", A, pivot)
    L, U, P = LU(A, pivot)
    return named("linalg_lu", "P", "L", "U")((Tensor(P.array, A.dtype), L, U))


def factored(A: Tensor, pivot: bool, check_errors: bool, name: str) -> tuple[Tensor, Tensor, Tensor]:
    """LU, pivots, and for each matrix the first zero on the diagonal of U, counted from 1, which `check_errors` makes an error."""
    _check("torch.lu_factor", A, pivot)
    packed, pivots, info = LU_FACTOR(A, pivot)
    if check_errors and info.array.any():
        at = int(np.flatnonzero(info.array.reshape(-1))[0])
        where = f"(Batch element {at}): " if info.array.ndim else ""
        k = info.array.reshape(-1)[at]
        raise runtime_error(
            f"torch.linalg.{name}: {where}U[{k},{k}] is zero and using it on lu_solve would result in a division by zero. If you still "
            "want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
            Code.SINGULAR,
        )
    return packed, wrap(pivots.array), wrap(info.array)


def lu_factor(A: Tensor, pivot: bool = True) -> Any:
    """LU and pivots. Raises RuntimeError for other ranks, and for a zero on the diagonal of U."""
    return named("linalg_lu_factor", "LU", "pivots")(factored(A, pivot, True, "lu_factor")[:2])


def lu_factor_ex(A: Tensor, pivot: bool = True, check_errors: bool = False) -> Any:
    """LU, pivots, and for each matrix the first zero on the diagonal of U, counted from 1, or 0."""
    return named("linalg_lu_factor_ex", "LU", "pivots", "info")(factored(A, pivot, check_errors, "lu_factor_ex"))


SQUARE: Any = [[0.5, 2.0, 1.0], [3.0, 0.25, -1.0], [1.0, -1.5, 2.0]]
WIDE: Any = [[0.5, 2.0, 1.0], [3.0, 0.25, -1.0]]


def check_permutations(outs: Sequence[Tensor], _: Any) -> None:
    """Of the three that are written, PyTorch looks at the memory of the permutations alone."""
    check_memory(outs[0])


_FACTOR = Out(EXACT, operator="linalg_lu_factor_ex", instead={1: True})

FUNCTIONS = (
    LinalgFunction(
        "lu",
        ("Tensor A, *, bool pivot=True |3 outs", lu_parts),
        doc="P, L and U of A = P @ L @ U.",
        ops=(LU,),
        samples=(
            Sample("torch.linalg.lu(x)[1]", None, x=SQUARE),
            Sample("torch.linalg.lu(x)[2]", None, x=SQUARE),
            Sample("torch.linalg.lu(x)[1] @ torch.linalg.lu(x)[2]**2", None, x=WIDE),
            Sample("torch.linalg.lu(x.mT)[1]**2 @ torch.linalg.lu(x.mT)[2]", None, x=WIDE),
        ),
        out=Out(EXACT, tracked=slice(1, 3), memory="unchecked", overlap="partial", instead={1: True}, check=check_permutations),
    ),
    LinalgFunction(
        "lu_factor",
        ("Tensor A, *, bool pivot=True |2 outs", lu_factor),
        doc="L and U in one matrix, and the row exchanges.",
        ops=(LU_FACTOR,),
        samples=(
            Sample("torch.linalg.lu_factor(x)[0]", None, x=SQUARE),
            Sample("torch.linalg.lu_factor(x)[0]", None, x=WIDE),
            Sample("torch.linalg.lu_factor(x.mT)[0]", None, x=WIDE),
        ),
        out=_FACTOR,
    ),
    LinalgFunction(
        "lu_factor_ex",
        ("Tensor A, *, bool pivot=True, bool check_errors=False |3 outs", lu_factor_ex),
        doc="L and U in one matrix, the row exchanges, and where U has a zero on its diagonal.",
        samples=(Sample("torch.linalg.lu_factor_ex(x)[0]", None, x=SQUARE),),
        out=_FACTOR,
    ),
)
