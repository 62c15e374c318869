"""The factorisation A = L @ D @ L.mT of symmetric matrices, or A = L @ D @ L.mH of Hermitian ones, and solutions from its factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.kernels import symmetric_factors
from gradcli.core.ops.checks import size
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_batches, check_floats, check_squares, to_column_major
from gradcli.core.ops.rules import check_no_tangent, not_differentiable, recorded
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import Code, runtime_error, shape_error

LDL_SOLVE = not_differentiable("linalg_ldl_solve", lambda x, y: y, "LD B")
LDL = not_differentiable("linalg_ldl_factor_ex", lambda x: x, "A")


def _factors(A: Tensor, hermitian: bool, name: str) -> tuple[Tensor, Tensor, Tensor]:
    check_no_tangent("aten::linalg_ldl_factor_ex", A)
    check_squares(f"torch.linalg.{name}", A)
    check_floats(f"torch.linalg.{name}", A, "ldl_factor_kernel_cpu")
    factors, pivots, info = symmetric_factors.factorized(A.array, hermitian and A.dtype.is_complex)
    return recorded(LDL, Tensor(to_column_major(factors), A.dtype), A), Tensor(pivots, dtypes.int32), Tensor(info, dtypes.int32)


def ldl_factor_ex(A: Tensor, hermitian: bool = False, check_errors: bool = False) -> Any:
    """The factors, the pivots, and for each matrix the number of its first zero block, 0 if there is none."""
    found = _factors(A, hermitian, "ldl_factor_ex")
    if check_errors:
        _check_blocks("torch.linalg.ldl_factor_ex", found[2])
    return named("linalg_ldl_factor_ex", "LD", "pivots", "info")(found)


def ldl_factor(A: Tensor, hermitian: bool = False) -> Any:
    """The lower factor with the blocks of D on its diagonal, and the pivots. Raises RuntimeError for a zero block."""
    found = _factors(A, hermitian, "ldl_factor_ex")
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
    factors, places, rights = (np.broadcast_to(t.array, (*batch, *t.array.shape[-r:])) for t, r in ((LD, 2), (pivots, 1), (B, 2)))
    for at in np.ndindex(*batch):
        made[at] = symmetric_factors.solved(factors[at], places[at], rights[at], hermitian and LD.dtype.is_complex)
    return recorded(LDL_SOLVE, wrap(to_column_major(made)), LD, B)


_LDL = Out(EXACT, operator="linalg_ldl_factor_ex", autograd="fallback")

FUNCTIONS: tuple[Function, ...] = (
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
