"""Normal distributions of vectors."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.distributions import constraints
from gradcli.core.distributions.distribution import Distribution
from gradcli.core.distributions.functions import expand, f, linear
from gradcli.core.distributions.sampling import filled
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

MATRICES = ("covariance_matrix", "precision_matrix", "scale_tril")


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Batches of matrices times batches of vectors."""
    return f.squeeze(f.matmul(matrix, f.unsqueeze(vector, -1)), -1)


def squared_length(root: Tensor, vector: Tensor) -> Tensor:
    """The squared length of `root`'s inverse times a vector, for a lower triangular matrix."""
    shape = f.broadcast_shapes(tuple(root.shape[:-2]), tuple(vector.shape[:-1]))
    n = vector.shape[-1]
    if not root.shape[:-2]:
        # the vectors stand side by side, so that one matrix is solved once
        columns = f.t(f.reshape(vector, (-1, n)))
        return f.reshape(f.sum(f.pow(linear("solve_triangular", root, columns, upper=False), 2), -2), shape)
    column = f.unsqueeze(f.broadcast_to(vector, (*shape, n)), -1)
    solved = linear("solve_triangular", f.broadcast_to(root, (*shape, n, n)), column, upper=False)
    return f.sum(f.pow(f.squeeze(solved, -1), 2), -1)


def half_log_det(root: Tensor) -> Tensor:
    """The logarithm of the determinant of a triangular matrix."""
    return f.sum(f.log(f.diagonal(root, 0, -2, -1)), -1)


def _of_precision(precision: Tensor) -> Tensor:
    """The lower triangular root of the inverse of a matrix, by the root of the matrix read backwards."""
    flipped = f.flip(linear("cholesky", f.flip(precision, (-2, -1))), (-2, -1))
    return linear("solve_triangular", f.transpose(flipped, -2, -1), f.eye(precision.shape[-1], dtype=precision.dtype), upper=False)


def one_matrix(given: dict[str, Any], error: str) -> tuple[str, Any]:
    """The name and the value of the one matrix that is given. Raises the `error` of this name for none, and for several."""
    held = [(name, given[name]) for name in MATRICES if given[name] is not None]
    if len(held) != 1:
        raise ProgramError(error, "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return held[0]


class ByMatrix(Distribution, hidden=True):
    """Distributions by a covariance, the inverse of it, or its lower triangular root, which is `root`."""

    DERIVED = {
        "scale_tril": lambda self: self.matrix(self.root),
        "covariance_matrix": lambda self: self.matrix(f.matmul(self.root, f.transpose(self.root, -2, -1))),
        "precision_matrix": lambda self: self.matrix(f.cholesky_inverse(self.root)),
    }
    has_rsample = True
    root: Tensor
    given: tuple[str, Tensor]

    def validate(self) -> None:
        super().validate()
        name, matrix = self.given
        self.root = matrix if name == "scale_tril" else linear("cholesky", matrix) if name[0] == "c" else _of_precision(matrix)

    def expanded(self, source: Any) -> None:
        self.root = source.root

    def matrix(self, made: Tensor) -> Tensor:
        """A matrix repeated over the batch."""
        n = self.event_shape[-1]
        return expand(made, (*self.batch_shape, n, n))


class MultivariateNormal(ByMatrix):
    """The normal distribution of vectors, by its covariance, the inverse of it, or its lower triangular root."""

    PARAMETERS = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    ARGUMENTS = {"loc": REQUIRED, **dict.fromkeys(MATRICES), "validate_args": None}
    SUPPORT = constraints.real_vector
    mean = mode = property(lambda self: self.loc)

    def keep(self, given: dict[str, Any]) -> None:
        loc = given["loc"]
        if loc.dim() < 1:
            raise ProgramError("ValueError", "loc must be at least one-dimensional.")
        name, matrix = one_matrix(given, "ValueError")
        if matrix.dim() < 2:
            named = f"{name} matrix" if name == "scale_tril" else name
            raise ProgramError("ValueError", f"{named} must be at least two-dimensional, with optional leading batch dimensions")
        batch = tuple(f.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1])))
        vars(self).update({name: expand(matrix, (*batch, -1, -1)), "loc": expand(loc, (*batch, -1))})
        self.shapes(batch, self.loc.shape[-1:])
        self.given = (name, matrix)

    @property
    def variance(self) -> Tensor:
        return expand(f.sum(f.pow(self.root, 2), -1), (*self.batch_shape, *self.event_shape))

    def draw(self, sample_shape: Any) -> Tensor:
        return self.loc + times(self.root, filled("normal_", self.full(sample_shape), self.loc.dtype))

    def log_prob(self, value: Any) -> Tensor:
        length = squared_length(self.root, self.checked(value) - self.loc)
        return -0.5 * (self.event_shape[0] * math.log(2 * math.pi) + length) - half_log_det(self.root)

    def entropy(self) -> Tensor:
        found = 0.5 * self.event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det(self.root)
        return expand(found, self.batch_shape) if self.batch_shape else found


class LowRankMultivariateNormal(Distribution):
    """Normal vectors; the covariance is a matrix of low rank times itself, plus a diagonal."""

    FIELDS = "covariance_matrix scale_tril precision_matrix"
    PARAMETERS = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    SUPPORT = constraints.real_vector
    has_rsample = True
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: self.spread)  # computed once
    #: the factor and the diagonal as they were given, before they were broadcast; all matrices are made of these
    factor: Tensor
    diagonal: Tensor
    scaled: Tensor
    root: Tensor
    DERIVED = {
        "covariance_matrix": lambda self: self._matrix(
            f.matmul(self.factor, f.transpose(self.factor, -2, -1)) + f.diag_embed(self.diagonal)
        ),
        "scale_tril": lambda self: self._matrix(self._scale_tril()),
        "precision_matrix": lambda self: self._matrix(self._precision()),
        "spread": lambda self: expand(f.sum(f.pow(self.factor, 2), -1) + self.diagonal, self.full()),
    }

    def keep(self, given: dict[str, Any]) -> None:
        loc, factor, diagonal = given["loc"], given["cov_factor"], given["cov_diag"]
        if loc.dim() < 1:
            raise ProgramError("ValueError", "loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if factor.dim() < 2:
            text = "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            raise ProgramError("ValueError", text)
        if factor.shape[-2] != n:
            raise ProgramError("ValueError", f"cov_factor must be a batch of matrices with shape {n} x m")
        if diagonal.shape[-1:] != (n,):
            raise ProgramError("ValueError", f"cov_diag must be a batch of vectors with shape torch.Size([{n}])")
        batch = tuple(f.broadcast_shapes(*(tuple(s) for s in (loc.shape[:-1], factor.shape[:-2], diagonal.shape[:-1]))))
        # PyTorch takes these two out of matrices of one column
        for name, column in (("loc", loc), ("cov_diag", diagonal)):
            vars(self)[name] = f.select(expand(f.unsqueeze(column, -1), (*batch, -1, -1)), -1, 0)
        vars(self)["cov_factor"] = expand(factor, (*batch, *factor.shape[-2:]))
        self.factor, self.diagonal = factor, diagonal
        self.shapes(batch, (n,))
        self.scaled = f.transpose(factor, -2, -1) / f.unsqueeze(diagonal, -2)
        small = f.matmul(self.scaled, factor)
        # the root of the small matrix of the matrix inversion lemma
        self.root = linear("cholesky", small + f.eye(small.shape[-1], dtype=small.dtype))

    def expanded(self, source: Any) -> None:
        self.factor, self.diagonal, self.scaled, self.root = source.factor, source.diagonal, source.scaled, source.root

    def _matrix(self, made: Tensor) -> Tensor:
        """A matrix for each distribution of the batch."""
        return expand(made, (*self.full(), *self.event_shape))

    def _scale_tril(self) -> Tensor:
        """The root of the covariance, by that of a matrix whose eigenvalues are 1 or larger."""
        lengths = f.unsqueeze(f.sqrt(self.diagonal), -1)
        scaled = self.factor / lengths
        small = f.matmul(scaled, f.transpose(scaled, -2, -1))
        return lengths * linear("cholesky", small + f.eye(self.event_shape[0], dtype=small.dtype))

    def _precision(self) -> Tensor:
        """The inverse of the covariance, by the matrix inversion lemma."""
        solved = linear("solve_triangular", self.root, self.scaled, upper=False)
        return f.diag_embed(f.reciprocal(self.diagonal)) - f.matmul(f.transpose(solved, -2, -1), solved)

    def draw(self, sample_shape: Any) -> Tensor:
        shape = self.full(sample_shape)
        low = filled("normal_", (*shape[:-1], self.factor.shape[-1]), self.loc.dtype)
        own = filled("normal_", shape, self.loc.dtype)
        return self.loc + times(self.factor, low) + f.sqrt(self.diagonal) * own

    def log_det(self) -> Tensor:
        """The logarithm of the determinant of the covariance."""
        return 2 * half_log_det(self.root) + f.sum(f.log(self.diagonal), -1)

    def length(self, apart: Tensor) -> Tensor:
        """The squared length of vectors by the inverse of the covariance."""
        return f.sum(f.pow(apart, 2) / self.diagonal, -1) - squared_length(self.root, times(self.scaled, apart))

    def log_prob(self, value: Any) -> Tensor:
        length = self.length(self.checked(value) - self.loc)
        return -0.5 * (self.event_shape[0] * math.log(2 * math.pi) + self.log_det() + length)

    def entropy(self) -> Tensor:
        found = 0.5 * (self.event_shape[0] * (1.0 + math.log(2 * math.pi)) + self.log_det())
        return expand(found, self.batch_shape) if self.batch_shape else found
