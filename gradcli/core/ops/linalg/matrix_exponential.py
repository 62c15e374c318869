"""The exponential of matrices, by Pade's approximant of degree 13 with scaling and squaring (N. Higham, 2005)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.clone import CLONE
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import products
from gradcli.core.ops.linalg.common import LinalgFunction, check_floats, check_squares
from gradcli.core.ops.shape.joining import CAT
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.tensor.tensor import Array, Tensor

_DEGREE = 13
#: the coefficients of the numerator
_PADE = [
    math.factorial(2 * _DEGREE - k)
    * math.factorial(_DEGREE)
    / (math.factorial(2 * _DEGREE) * math.factorial(k) * math.factorial(_DEGREE - k))
    for k in range(_DEGREE + 1)
]
#: up to this norm the approximant is exact to double precision; single precision is squared as often as PyTorch does it
_LARGEST_NORM = {np.dtype(np.float32): 3.010066362817634}
_DOUBLE_NORM = 5.371920351148152


def _approximant(x: Array) -> Array:
    """exp of matrices of small norm."""
    eye = np.broadcast_to(np.eye(x.shape[-1]), x.shape)
    square = x @ x
    even, odd = np.zeros_like(x), np.zeros_like(x)
    for k in range(_DEGREE - 1, -1, -2):
        even = even @ square + _PADE[k] * eye
        odd = odd @ square + _PADE[k + 1] * eye
    odd = x @ odd
    return np.linalg.solve(even - odd, even + odd)


def exponential(a: Array) -> Array:
    """exp of each matrix: the approximant in double precision, squared in the dtype."""
    wide = np.asarray(a, np.float64)
    if not wide.size:
        return a.copy()
    norm = np.abs(wide).sum(-2).max(-1)
    finite = np.isfinite(norm)
    largest = _LARGEST_NORM.get(a.dtype, _DOUBLE_NORM)
    scale = np.where(finite & (norm > largest), np.ceil(np.log2(np.maximum(norm, 1e-300) / largest)), 0).astype(int)
    result = _approximant(np.where(finite[..., None, None], wide, 0.0) * 2.0 ** -scale[..., None, None]).astype(a.dtype)
    for step in range(int(scale.max(initial=0))):
        result = np.where((scale > step)[..., None, None], products.matmul(result, result), result)
    return np.where(finite[..., None, None], result, np.nan).astype(a.dtype)


def _exponential_rule(xp: Any, grad: Any, A: Any) -> Any:
    """The upper right corner of exp([[A.mT, grad], [0, A.mT]]) (I. Najfeld and T. Havel, 1995)."""
    n = A.shape[-1]
    flipped = xp.mT(A)
    upper = xp.call(CAT, [flipped, grad], -1, (n, n))
    lower = xp.call(CAT, [xp.zeros_like(grad), flipped], -1, (n, n))
    whole = xp.call(MATRIX_EXP, xp.call(CAT, [upper, lower], -2, (n, n)))
    return xp.call(SLICE, xp.call(SLICE, whole, -2, 0, n, 1), -1, n, 2 * n, 1)


MATRIX_EXP: Op = Op(
    "LinalgMatrixExpBackward0",
    exponential,
    "A",
    A=Rule(
        _exponential_rule,
        "n = A.shape[-1]; corner = torch.cat([torch.cat([A.mT, grad], -1), torch.cat([zeros_like(A), A.mT], -1)], -2); "
        "torch.matrix_exp(corner)[..., :n, n:]",
    ),
)


def matrix_exp(A: Tensor) -> Any:
    """The sum of A^k / k!."""
    check_squares("linalg.matrix_exp", A)
    check_floats("linalg.matrix_exp", A, low=True)
    n = A.array.shape[-1]
    limits.check_work(40.0 * A.array.size * max(n, 1))
    return MATRIX_EXP(A) if A.array.size else CLONE(A)


def _by_terms(x: Array) -> Array:
    total, term = np.eye(len(x)), np.eye(len(x))
    for k in range(1, 40):
        term = term @ x / k
        total = total + term
    return total


_A: Any = [[0.5, 2.0], [-1.0, 0.25]]

FUNCTIONS = (
    LinalgFunction(
        "matrix_exp",
        ("Tensor input", matrix_exp),
        doc="The sum of A**k / k! of matrices.",
        ops=(MATRIX_EXP,),
        samples=(
            Sample("torch.linalg.matrix_exp(x)", _by_terms, x=_A),
            Sample("torch.linalg.matrix_exp(x * 12)[0] / 1000", None, x=_A),
        ),
    ),
    Function(
        "matrix_exp",
        ("Tensor input", matrix_exp),
        doc="The sum of input**k / k! of matrices.",
        samples=(Sample("torch.matrix_exp(x)", _by_terms, x=_A), Sample("x.matrix_exp()", _by_terms, x=_A)),
    ),
)
