"""Transforms to matrices: lower triangular, positive-definite, and the roots of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.distributions import constraints
from gradcli.core.distributions.functions import f, f_nn, linear, precision
from gradcli.core.distributions.transforms import Shape, Transform
from gradcli.core.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from gradcli.core.ops.index.indexing import getitem
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
        shares = vec_to_tril_matrix(f.clamp(x, min=-1 + eps, max=1 - eps), -1)
        left = f.cumprod(f.sqrt(1 - f.pow(shares, 2)), -1)
        shares = shares + f.eye(shares.shape[-1], dtype=shares.dtype)
        return shares * _shifted(left)

    def backward(self, y: Any) -> Tensor:
        left = _shifted(1 - f.cumsum(y * y, dim=-1))
        t = tril_matrix_to_vec(y, -1) / f.sqrt(tril_matrix_to_vec(left, -1))
        return (f.log1p(t) - f.log1p(f.neg(t))) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        left = tril_matrix_to_vec(1 - f.cumsum(y * y, dim=-1), -2)
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


def _shifted(rows: Tensor) -> Tensor:
    """Each row behind a 1, without its last element."""
    return f_nn("pad", getitem(rows, (..., slice(None, -1))), [1, 0], value=1)
