"""Transforms to matrices: lower triangular, positive-definite, and the roots of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.distributions import constraints
from gradcli.core.distributions.functions import f, f_nn, linear, precision
from gradcli.core.distributions.transforms import Shape, Transform
from gradcli.core.ops.index.indexing import getitem, setitem
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones with a positive diagonal."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky
    bijective = False

    def forward(self, x: Any) -> Tensor:
        return f.tril(x, -1) + f.diag_embed(f.exp(f.diagonal(x, 0, -2, -1)))

    def backward(self, y: Any) -> Tensor:
        return f.tril(y, -1) + f.diag_embed(f.log(f.diagonal(y, 0, -2, -1)))


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive-definite ones."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite
    bijective = False

    def forward(self, x: Any) -> Tensor:
        root = LowerCholeskyTransform().forward(x)
        return f.matmul(root, f.transpose(root, -2, -1))

    def backward(self, y: Any) -> Tensor:
        return LowerCholeskyTransform().backward(linear("cholesky", y))


class CorrCholeskyTransform(Transform):
    """Vectors of n * (n - 1) / 2 numbers to Cholesky factors of correlation matrices of n rows.

    The numbers stand below the diagonal, row by row; the square of each one's tanh is the share that its element takes of what the elements
    before it have left (Stan reference manual, Cholesky factors of correlation matrices).
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    COMPARED = staticmethod(lambda transform: [id(transform)])

    def forward(self, x: Any) -> Tensor:
        x = f.tanh(x)
        eps = precision(x.dtype)
        shares = _below_diagonal(f.clamp(x, min=-1 + eps, max=1 - eps))
        left = f.cumprod(f.sqrt(1 - f.pow(shares, 2)), -1)
        shares = shares + f.eye(shares.shape[-1], dtype=shares.dtype)
        return shares * _shifted(left)

    def backward(self, y: Any) -> Tensor:
        left = _shifted(1 - f.cumsum(y * y, dim=-1))
        t = _vector(y, -1) / f.sqrt(_vector(left, -1))
        return (f.log1p(t) - f.log1p(f.neg(t))) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        left = _vector(1 - f.cumsum(y * y, dim=-1), -2)
        of_tanh = -2 * f.sum(x + f_nn("softplus", -2 * x) - math.log(2.0), dim=-1)
        return 0.5 * f.sum(f.log(left), -1) + of_tanh

    def forward_shape(self, shape: Shape) -> Shape:
        if len(shape) < 1:
            raise ProgramError("ValueError", "Too few dimensions on input")
        rows = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if rows * (rows - 1) // 2 != shape[-1]:
            raise ProgramError("ValueError", "Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], rows, rows))

    def inverse_shape(self, shape: Shape) -> Shape:
        if len(shape) < 2:
            raise ProgramError("ValueError", "Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ProgramError("ValueError", "Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


def _mask(rows: int, diagonal: int) -> tuple[Any, Tensor]:
    """The index of the elements up to a diagonal of matrices, row by row."""
    return (..., Tensor(np.tri(rows, k=diagonal, dtype=np.bool_), dtypes.bool_))


def _below_diagonal(vector: Tensor) -> Tensor:
    """Square matrices with the elements of a vector below the diagonal, row by row."""
    count = vector.shape[-1]
    rows = (1 + (1 + 8 * count) ** 0.5) / 2
    if round(rows) - rows > precision(vector.dtype):
        text = f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a square D x D matrix."
        raise ProgramError("ValueError", text)
    n = round(rows)
    made: Tensor = f.zeros((*vector.shape[:-1], n, n), dtype=vector.dtype)
    setitem(made, _mask(n, -1), vector)
    return made


def _vector(matrix: Tensor, diagonal: int) -> Tensor:
    """The elements up to a diagonal, row by row."""
    n = matrix.shape[-1]
    if diagonal < -n:
        raise ProgramError("ValueError", f"diag ({diagonal}) provided is outside [{-n}, {n - 1}].")
    return getitem(matrix, _mask(n, diagonal))


def _shifted(rows: Tensor) -> Tensor:
    """Each row behind a 1, without its last element."""
    return f_nn("pad", f.narrow(rows, -1, 0, rows.shape[-1] - 1), [1, 0], value=1)
