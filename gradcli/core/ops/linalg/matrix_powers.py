"""Powers of square matrices, and their exponential."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out, check_castable
from gradcli.core.graph import in_place
from gradcli.core.graph.clone import CONTIGUOUS
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, elementary, matrix_exponential
from gradcli.core.ops.linalg.linalg_function import LinalgFunction
from gradcli.core.ops.linalg.matrices import check_floats, check_squares
from gradcli.core.ops.linalg.products.matmul import matmul
from gradcli.core.ops.linalg.samples import SQUARE
from gradcli.core.ops.linalg.solving.inverse import inv
from gradcli.core.ops.shape.joining import CAT
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error

# --- powers ---


def matrix_power(A: Tensor, n: int) -> Tensor:
    """The product of n factors `A`; for a negative n, of the inverse. Raises RuntimeError unless the matrices are square."""
    _check_power(A, n)
    if n == 0:
        return in_place.copy_(CONTIGUOUS(A), wrap(np.eye(A.array.shape[-1], dtype=A.dtype.np)))
    if n == 1:
        return CONTIGUOUS(A)  # type: ignore[no-any-return]
    factors = _factors(A, n)
    return factors[0] if len(factors) == 1 else matmul(*factors)


def _check_power(A: Tensor, n: int) -> None:
    check_squares("linalg.matrix_power", A)
    limits.check_work(abs(n).bit_length() * A.array.size * A.array.shape[-1])


def _factors(A: Tensor, n: int) -> Sequence[Tensor]:
    """The factors of the last product of a power, by binary exponentiation: two, or one that is the power."""
    base = A if n > 0 else inv(A)
    count = abs(n)
    if count < 3:
        return (base,) * count
    if count == 3:
        return matmul(base, base), base
    result: Any = None
    power = base
    while count > 1:
        if count & 1:
            result = power if result is None else matmul(result, power)
        count >>= 1
        power = matmul(power, power)
    return (power,) if result is None else (result, power)


def _power_into(A: Tensor, n: int, out: Tensor) -> Tensor:
    """`matrix_power` with `out`, which is resized before anything is computed; the last product is written into it."""
    _check_power(A, n)
    check_castable("matrix_power", A.dtype, out)
    in_place.resize_to(out, A.array.shape)
    if n == 0:
        return in_place.copy_(out, wrap(np.eye(A.array.shape[-1], dtype=A.dtype.np)))
    if n == -1:
        return catalog.function("linalg.inv")(A, out=out)  # type: ignore[no-any-return]
    factors = (A,) if n == 1 else _factors(A, n)
    return in_place.copy_(out, factors[0]) if len(factors) == 1 else catalog.function("matmul")(*factors, out=out)


# --- the exponential ---


def exponential(a: Array) -> Array:
    """The exponential of each matrix."""
    if not a.size:
        return a.copy()
    if a.shape[-1] == 1:
        return np.asarray(elementary.exp(a))
    return matrix_exponential.exponential(a.reshape(-1, *a.shape[-2:])).reshape(a.shape)


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
    saved="self=A",
    A=Rule(
        _exponential_rule,
        "n = A.shape[-1]; corner = torch.cat([torch.cat([A.mT, grad], -1), torch.cat([zeros_like(A), A.mT], -1)], -2); "
        "torch.matrix_exp(corner)[..., :n, n:]",
    ),
    complex=True,
)


def matrix_exp(A: Tensor) -> Any:
    """The sum of A^k / k! over k. Raises RuntimeError unless the matrices are square and of a floating dtype."""
    check_squares("linalg.matrix_exp", A)
    check_floats("linalg.matrix_exp", A, low=True)
    if A.array.size and A.dtype.itemsize == 2:  # where PyTorch's coefficients overflow
        raise runtime_error(f"linalg.matrix_exp of {A.dtype.torch_name} is not part of gradcli")
    n = A.array.shape[-1]
    if n > 1:
        view(Tensor(A.array, A.dtype), (-1, n, n))  # which PyTorch takes of a batch, and which there may not be
    limits.check_work(40.0 * A.array.size * max(n, 1))
    return MATRIX_EXP(A)


def _by_terms(x: Array) -> Array:
    """The first 40 terms of the series: the reference of the samples."""
    total, term = np.eye(len(x)), np.eye(len(x))
    for k in range(1, 40):
        term = term @ x / k
        total = total + term
    return total


_A: Any = [[0.5, 2.0], [-1.0, 0.25]]


_INTO = Out(autograd="composed", steps=_power_into)

FUNCTIONS: tuple[Function, ...] = (
    LinalgFunction(
        "matrix_power",
        ("Tensor input, int n", matrix_power),
        doc="A times itself n times; a negative n takes the inverse.",
        samples=(Sample("torch.linalg.matrix_power(x, 3)", lambda x: np.linalg.matrix_power(x, 3), x=SQUARE),),
        out=_INTO,
    ),
    Function("matrix_power", ("Tensor input, int n", matrix_power), doc="input times itself n times.", out=_INTO),
    LinalgFunction(
        "matrix_exp",
        ("Tensor input", matrix_exp),
        doc="The sum of A**k / k! of matrices.",
        ops=(MATRIX_EXP,),
        samples=(Sample("torch.linalg.matrix_exp(x)", _by_terms, x=_A), Sample("torch.linalg.matrix_exp(x * 12)[0] / 1000", None, x=_A)),
    ),
    Function(
        "matrix_exp",
        ("Tensor input", matrix_exp),
        doc="The sum of input**k / k! of matrices.",
        samples=(Sample("torch.matrix_exp(x)", _by_terms, x=_A), Sample("x.matrix_exp()", _by_terms, x=_A)),
    ),
)
