"""What is done with the factors of `lu_factor`: solutions of linear systems, and P, L and U apart; the deprecated forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.named_tuples import named
from gradcli.core.calling.signature import language
from gradcli.core.functions.function import Function, PythonMethod, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph import conjugate, in_place
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, lu
from gradcli.core.ops.checks import not_implemented, size, wrap_dim
from gradcli.core.ops.linalg.decompositions.lu import (
    SQUARE,
    WIDE,
    check_permutations,
    factored,
    joined,
    part,
    split,
    unpacked,
    zeros_along,
)
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import as_data, check_batches, check_floats, check_matrices, check_squares, to_column_major
from gradcli.core.ops.linalg.solving.triangular import TRIANGULAR
from gradcli.core.ops.rules import check_no_gradient
from gradcli.core.ops.shape.as_strided import resize_
from gradcli.core.ops.shape.diagonal import TRIL, TRIU
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def _unpack_rule(xp: Any, grads: Any, LU_data_shape: Any) -> Any:
    gl, gu = grads[0], grads[1]
    m, n = LU_data_shape[-2:]
    k = min(m, n)
    if gl is None or gu is None:
        found, dim, rest = (xp.call(TRIL, gl, -1), -1, n - k) if gu is None else (xp.call(TRIU, gu, 0), -2, m - k)
        return joined(xp, found, zeros_along(xp, found, dim, rest), dim) if rest else found
    square = xp.call(TRIL, part(xp, gl, -2, 0, k), -1) + xp.call(TRIU, part(xp, gu, -1, 0, k), 0)
    long = max(m, n)
    if not long - k:
        return square
    beyond, dim = (gl, -2) if m > n else (gu, -1)
    return joined(xp, square, part(xp, beyond, dim, k, long), dim)


def _unpacked_parts(packed: Array, wanted: bool) -> tuple[Array, Array]:
    return split(packed) if wanted else (np.zeros(0, packed.dtype), np.zeros(0, packed.dtype))


def _unpack_wanted_rule(xp: Any, grads: Any, wanted: bool, LU_data_shape: Any) -> Any:
    if not wanted:  # PyTorch takes the empty gradients for matrices
        m, n = LU_data_shape[-2:]
        if m < n and grads[1] is not None:
            raise runtime_error(f"start (0) + length ({m}) exceeds dimension size (0).")
        raise runtime_error(f"{'tril' if grads[1] is None else 'triu'}: input tensor must have at least 2 dimensions")
    return _unpack_rule(xp, grads, LU_data_shape)


UNPACK = Op(
    "LuUnpackBackward0",
    _unpacked_parts,
    "LU_data",
    "wanted",
    layout="contiguous",
    saved="LU_data_sym_argsize_minus_1 LU_data_sym_argsize_minus_2",
    outputs="L U",
    differentiable=2,
    complex=True,
    jvp="transpose",
    LU_data=Rule(
        _unpack_wanted_rule,
        "m = LU_data.shape[-2]; n = LU_data.shape[-1]; k = min(m, n); "
        "F.pad(grads[0].tril(-1), (0, n - k)) + F.pad(grads[1].triu(), (0, 0, 0, m - k))",
    ),
)


def _solved(packed: Array, right: Array, pivots: Array, left: bool, adjoint: bool) -> Array:
    """x of A @ x = right, or of x @ A = right unless `left`; with `adjoint`, A.mH in place of A."""
    if left:
        return to_column_major(lu.solved(packed, pivots, right, adjoint))
    return to_column_major(lu.solved(packed, pivots, right.swapaxes(-1, -2).conj(), not adjoint).conj()).swapaxes(-1, -2)


def _solve_right(xp: Any, grad: Any, LU: Any, pivots: Array, left: bool, adjoint: bool) -> Any:
    return xp.call(LU_SOLVE, LU, grad, pivots, left, not adjoint)


def _solve_factors(xp: Any, grad: Any, LU: Any, out: Any, pivots: Array, left: bool, adjoint: bool) -> Any:
    L, U = unpacked(xp, LU)
    xh, gh, lh, uh = (conjugate.adjoint(xp, value) for value in (out, grad, L, U))
    x, g = (out, grad) if left else (xh, gh)
    P = as_data(LU, lu.permutation(xp.plain(pivots), LU.shape[-2], xp.plain(LU).dtype))
    if adjoint == left:  # the system is A.mH @ x = b
        whole = xp.matmul(xp.matmul(xp.matmul(-xp.mT(P), x), gh if left else grad), P)
        low = xp.call(TRIANGULAR, lh, whole, True, False, True)
        high = xp.call(TRIANGULAR, uh, xp.matmul(lh, low), False, False, False)
    else:
        high = xp.call(TRIANGULAR, uh, xp.matmul(-g, xh if left else out), False, True, False)
        low = xp.call(TRIANGULAR, lh, xp.matmul(high, uh), True, True, True)
    return xp.call(TRIL, low, -1) + xp.call(TRIU, high, 0)


LU_SOLVE: Op = Op(
    "LinalgLuSolveBackward0",
    _solved,
    "LU B",
    "pivots left adjoint",
    complex=True,
    wirtinger=True,
    LU=Rule(
        _solve_factors,
        "parts = torch.lu_unpack(LU, pivots); P = parts[0]; L = parts[1]; U = parts[2]; x = out if left else out.mH; "
        "g = grad if left else grad.mH; back = torch.linalg.inv(P @ L @ U if adjoint == left else (P @ L @ U).mH) @ g; "
        "gA = -x @ back.mH if adjoint == left else -back @ x.mH; (P.mT @ gA @ U.mH).tril(-1) + (L.mH @ P.mT @ gA).triu()",
    ),
    B=Rule(_solve_right, "torch.linalg.lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint)"),
)


def _old_lu(A: Tensor, pivot: Any, get_infos: Any, out: Any) -> Any:
    """The deprecated form of lu_factor_ex, with PyTorch's warning."""
    if type(A) is not Tensor:
        raise ProgramError("TypeError", f"_lu_with_info(): argument 'input' (position 1) must be Tensor, not {language.type_name(A)}")
    if type(pivot) is not bool:
        raise ProgramError("TypeError", f"_lu_with_info(): argument 'pivot' must be bool, not {language.type_name(pivot)}")
    warnings.emit(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a future PyTorch "
        "release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = torch.linalg.lu_factor(A, "
        "compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\nLU, pivots, info = "
        "torch.linalg.lu_factor_ex(A, compute_pivots) (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/BatchLinearAlgebra.cpp:2073.)",
        once="lu",
    )
    found = factored(A, pivot, False, "lu_factor_ex")
    result = named("_lu_with_info", "LU", "pivots", "info")(found) if get_infos else found[:2]
    return result if out is None else _written(out, result)


def _lu_method(self: Tensor, pivot: Any = True, get_infos: Any = False) -> Any:
    found = _old_lu(self, pivot, get_infos, None)
    return tuple(found)


def _written(outs: Any, results: Sequence[Tensor]) -> Any:
    """What PyTorch's function, which is in Python, does with `out`: the results are copied into it."""
    count = language.length(outs)
    if count != len(results):
        raise ProgramError("TypeError", f"expected tuple of {len(results)} elements but got {count}")
    if type(outs) is Tensor:
        raise ProgramError("TypeError", "argument 'out' must be tuple of Tensors, not Tensor")
    for out, result in zip(outs, results, strict=True):
        if type(out) is not Tensor:
            raise ProgramError("AttributeError", f"'{language.type_name(out)}' object has no attribute 'resize_as_'")
        in_place.copy_(resize_(out, result.array.shape), result)
    return outs


def _exchanges(packed: Array, pivots: Array) -> Array:
    """The permutation P of each matrix, from as many pivots as it has rows and columns.

    Raises RuntimeError for a pivot that is no row, and for other shapes of pivots, for which PyTorch reads or writes other memory.
    """
    *batch, m, n = packed.shape
    pivots = np.atleast_1d(pivots)
    read = pivots[..., : min(m, n)]
    if packed.size and not ((read >= 1) & (read <= m)).all():
        raise runtime_error(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?",
            Code.AFTER_CHECKS,
        )
    if read.shape[-1] < min(m, n) or math.prod(read.shape[:-1]) != math.prod(batch):
        raise runtime_error("lu_unpack with pivots that are not those of as many matrices is not part of gradcli")
    return lu.permutation(read.reshape(*batch, min(m, n)), m, packed.dtype)


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U from the result of lu_factor. Raises RuntimeError unless the pivots are of dtype int32."""
    if LU_data.requires_grad and state.enabled:  # the node keeps both sizes
        if not LU_data.array.ndim:
            raise ProgramError("IndexError", "Dimension specified as -1 but tensor has no dimensions")
        wrap_dim(-2, LU_data.array.ndim)
    if LU_data.array.ndim < 2:
        raise shape_error(f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.array.shape)} instead")
    if unpack_pivots and LU_pivots.dtype is not dtypes.int32:
        raise runtime_error(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is intended to be "
            "used with the output produced by torch.linalg.lu_factor"
        )
    if unpack_pivots:
        limits.check_elements(LU_pivots.array.size * LU_data.array.shape[-2] ** 2, LU_data.dtype.itemsize)
    exchanges = _exchanges(LU_data.array, LU_pivots.array) if unpack_pivots else np.zeros(0, LU_data.dtype.np)
    L, U = UNPACK(LU_data, unpack_data)
    return named("lu_unpack", "P", "L", "U")((Tensor(exchanges, LU_data.dtype), L, U))


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool = True, adjoint: bool = False) -> Any:
    """X of A @ X = B, or of X @ A = B unless `left`, from the factors of A; with `adjoint`, of A.mH.

    Raises RuntimeError for shapes, dtypes or pivots that do not fit.
    """
    name = "linalg.lu_solve"
    check_no_gradient("linalg_lu_solve", pivots=pivots)
    check_floats(f"torch.{name}", LU, low=True)
    if LU.dtype is not B.dtype:
        raise runtime_error(
            f"{name}: Expected LU and B to have the same dtype, but found LU of type {LU.dtype.torch_name} and B of type "
            f"{B.dtype.torch_name} instead"
        )
    if pivots.dtype is not dtypes.int32:
        raise runtime_error(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_squares(f"torch.{name}", LU)
    check_matrices(name, B, "B")
    a, b = LU.array.shape, B.array.shape
    if a[-1] != b[-2 if left else -1]:
        shown = "AX = B" if left else "XA = B"
        raise shape_error(f"{name}: Incompatible shapes of A and B for the equation {shown} ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})")
    if LU.array.shape[:-1] != pivots.array.shape:
        if size(pivots, -1) != a[-1]:
            raise shape_error(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
        have = f"pivots with shape {list(pivots.array.shape)} instead"
        raise shape_error(f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got {have}")
    check_batches(B, LU)
    limits.check_work(float(B.array.size) * a[-1])
    exchanged = pivots.array
    if not ((exchanged >= 1) & (exchanged <= a[-1])).all():
        bound = "greater or equal to 1" if (exchanged < 1).any() else "smaller or equal to LU.size(-2)"
        text = f"Pivots given to lu_solve must all be {bound}. Did you properly pass the result of lu_factor?"
        raise runtime_error(text, Code.AFTER_CHECKS)
    if LU.array.size and not LU.dtype.is_complex and LU.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("linalg.lu_solve_cpu", LU.dtype)
    return LU_SOLVE(LU, B, exchanged.copy(), left, adjoint)


def _warn(*_: Any) -> None:
    warnings.emit(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\nNote that "
        "torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced with\nX = "
        "torch.linalg.lu_solve(LU, pivots, B) (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/BatchLinearAlgebra.cpp:2230.)",
        once="lu_solve",
    )


def _old_lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Any:
    """The deprecated form, with PyTorch's warning."""
    _warn()
    return lu_solve(LU_data, LU_pivots, input)


_B: Any = [[1.0, 2.0], [0.5, -1.0], [3.0, 1.5]]
#: the pivots of the first matrix
_PIVOTS = "tensor([2, 3, 3], dtype=torch.int32)"


def _solves(more: str, right: str) -> Sample:
    return Sample(f"torch.linalg.lu_solve(torch.linalg.lu_factor(x)[0], {_PIVOTS}, {right}{more})", None, x=SQUARE, y=_B)


FUNCTIONS = (
    LinalgFunction(
        "lu_solve",
        ("Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False", lu_solve),
        doc="X of A @ X = B from the factors of A.",
        ops=(LU_SOLVE,),
        samples=(
            _solves("", "y"),
            _solves(", adjoint=True", "y"),
            _solves(", left=False", "y.mT"),
            _solves(", left=False, adjoint=True", "y.mT"),
        ),
        out=Out(EXACT),
    ),
    Function(
        "lu",
        ("any A, any pivot=True, any get_infos=False, any out=None", _old_lu),
        doc="L and U in one matrix, and the row exchanges; deprecated.",
        samples=(Sample("torch.lu(x)[0]", None, x=SQUARE),),
        method=False,
        python="_lu_no_infos",
    ),
    PythonMethod(_lu_method, "lu", "L and U in one matrix, and the row exchanges; deprecated."),
    Function(
        "lu_unpack",
        ("Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True |3 outs", lu_unpack),
        doc="P, L and U of what lu_factor returned.",
        ops=(UNPACK,),
        samples=(
            Sample(f"torch.lu_unpack(x, {_PIVOTS})[1] @ torch.lu_unpack(x, {_PIVOTS})[2]", None, x=SQUARE),
            Sample("torch.lu_unpack(x, tensor([2, 2], dtype=torch.int32))[2]**2", None, x=WIDE),
            Sample("torch.lu_unpack(x.mT, tensor([2, 2], dtype=torch.int32))[1]**2", None, x=WIDE),
        ),
        method=False,
        out=Out(EXACT, tracked=slice(1, 3), constants=("LU_pivots",), memory="unchecked", overlap="any", check=check_permutations),
    ),
    Function(
        "lu_solve",
        ("Tensor input, Tensor LU_data, Tensor LU_pivots", _old_lu_solve),
        doc="X of A @ X = input from the factors of A; use linalg.lu_solve.",
        samples=(Sample(f"torch.lu_solve(y, torch.linalg.lu_factor(x)[0], {_PIVOTS})", None, x=SQUARE, y=_B),),
        out=Out(EXACT, operator="linalg_lu_solve", prepare=_warn),
    ),
)
