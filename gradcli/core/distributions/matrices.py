"""Distributions of matrices: Wishart's of covariances, and that of the roots of correlations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.distributions import constraints
from gradcli.core.distributions.constraints import Constraint
from gradcli.core.distributions.distribution import Distribution, ExponentialFamily
from gradcli.core.distributions.functions import Number, expand, f, f_special, linear, smallest, together
from gradcli.core.distributions.multivariate import MATRICES, ByMatrix, one_matrix
from gradcli.core.distributions.positive import Beta, Chi2
from gradcli.core.distributions.sampling import filled
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError

#: how often PyTorch draws again
_TRIES = 10


def _diagonal(x: Tensor) -> Tensor:
    return f.diagonal(x, 0, -2, -1)


class Wishart(ByMatrix, ExponentialFamily):
    """The distribution of the sum of outer products of normal vectors, `df` of them if that is whole."""

    PARAMETERS = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    ARGUMENTS = {"df": REQUIRED, **dict.fromkeys(MATRICES), "validate_args": None}
    DERIVED = ByMatrix.DERIVED | {
        "precision_matrix": lambda self: self.matrix(f.cholesky_solve(f.eye(self.event_shape[-1], dtype=self.root.dtype), self.root)),
    }
    SUPPORT = constraints.positive_definite
    mean = property(lambda self: self._df() * self.covariance_matrix)

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        return dict(self.PARAMETERS) | {"df": constraints.greater_than(self.event_shape[-1] - 1)}

    def keep(self, given: dict[str, Any]) -> None:
        name, matrix = one_matrix(given, "AssertionError")
        if matrix.dim() < 2:
            text = "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            raise ProgramError("ValueError", text)
        df = given["df"]
        batch = tuple(matrix.shape[:-2]) if isinstance(df, Number) else tuple(f.broadcast_shapes(matrix.shape[:-2], df.shape))
        self.df = f.tensor(df, dtype=matrix.dtype) if isinstance(df, Number) else expand(df, batch)
        n = matrix.shape[-1]
        if (self.df.array <= n - 1).any():
            raise ProgramError("ValueError", f"Value of df={formatted(df)} expected to be greater than ndim - 1 = {n - 1}.")
        vars(self)[name] = expand(matrix, (*batch, -1, -1))
        if (self.df.array < n).any():
            warnings.emit("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        self.shapes(batch, matrix.shape[-2:])
        self.given = (name, matrix)

    def expanded(self, source: Any) -> None:
        self.root = self.matrix(source.root)

    def _df(self) -> Tensor:
        return f.reshape(self.df, (*self.batch_shape, 1, 1))

    @property
    def mode(self) -> Tensor:
        n = self.event_shape[-1]
        factor = self._df() - n - 1
        return f.where(factor <= 0, math.nan, factor) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        matrix = self.covariance_matrix
        sizes = _diagonal(matrix)
        return self._df() * (f.pow(matrix, 2) + f.einsum("...i,...j->...ij", sizes, sizes))

    def draw(self, sample_shape: Any) -> Tensor:
        sample = self._bartlett(sample_shape)
        mask = self._allowed(sample)  # PyTorch takes the samples that are allowed for singular ones, and draws them again
        if not mask.any():
            return sample
        warnings.emit("Singular sample detected.", inside="Wishart")
        shape = sample.shape
        sample = f.reshape(sample, (-1, *self.batch_shape, *self.event_shape))
        rows = np.flatnonzero(mask)
        for _ in range(_TRIES):
            new = self._bartlett((len(rows),))
            sample = f.index_put(sample, (Tensor(rows, dtypes.int64),), new)
            rows = rows[~self._allowed(new)]
            if not rows.size:
                break
        return f.reshape(sample, shape)

    def _allowed(self, sample: Tensor) -> Any:
        """Whether a matrix of each sample's batch is in the support."""
        found = np.asarray(self.support.valid(sample.array))
        return found.any(tuple(range(found.ndim - len(self.batch_shape), found.ndim))) if self.batch_shape else found

    def _bartlett(self, sample_shape: Any) -> Tensor:
        n = self.event_shape[-1]
        counts = f.unsqueeze(self.df, -1) - expand(f.arange(n, dtype=self.root.dtype), (*self.batch_shape, -1))
        sizes = f.clamp(f.sqrt(Chi2(counts).draw(sample_shape)), min=float(np.finfo(self.root.dtype.np).eps))
        below = filled("randn", (*sample_shape, *self.batch_shape, n * (n - 1) // 2), self.root.dtype)
        places = tuple(Tensor(one, dtypes.int64) for one in np.tril_indices(n, -1))
        noise = _with_items(f.diag_embed(sizes), places, below)
        root = f.matmul(self.root, noise)
        return f.matmul(root, f.transpose(root, -2, -1))

    def _log_scale(self) -> Tensor:
        return self.event_shape[-1] * math.log(2) / 2 + f.sum(f.log(_diagonal(self.root)), -1)

    def log_prob(self, value: Any) -> Tensor:
        value, df, n = self.checked(value), self.df, self.event_shape[-1]
        traces = f.sum(_diagonal(f.cholesky_solve(value, self.root)), -1)
        return -df * self._log_scale() - f.mvlgamma(df / 2, n) + (df - n - 1) / 2 * linear("slogdet", value)[1] - traces / 2

    def entropy(self) -> Tensor:
        df, n = self.df, self.event_shape[-1]
        steps = f.arange(n, dtype=df.dtype) / 2
        derivative = f.sum(f_special("digamma", f.unsqueeze(df / 2, -1) - steps), -1)
        return (n + 1) * self._log_scale() + f.mvlgamma(df / 2, n) - (df - n - 1) / 2 * derivative + df * n / 2

    def natural(self) -> tuple[Tensor, Tensor]:
        """The natural parameters."""
        return -self.precision_matrix / 2, (self.df - self.event_shape[-1] - 1) / 2

    def log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the norm by natural parameters."""
        n = self.event_shape[-1]
        count = y + (n + 1) / 2
        return count * (-linear("slogdet", -2 * x)[1] + math.log(2) * n) + f.mvlgamma(count, n)


def _with_items(x: Tensor, places: tuple[Tensor, ...], values: Tensor) -> Tensor:
    """The matrices with other items at places of rows and columns."""
    lead = x.dim() - 2
    order = (lead, lead + 1, *range(lead))
    turned = f.index_put(f.permute(x, order), places, f.movedim(values, -1, 0))
    return f.permute(turned, (*range(2, lead + 2), 0, 1))


class LKJCholesky(Distribution):
    """The distribution of the lower triangular roots of correlations of Lewandowski, Kurowicka and Joe."""

    PARAMETERS = {"concentration": constraints.positive}
    ARGUMENTS = {"dim": REQUIRED, "concentration": 1.0, "validate_args": None}
    SUPPORT = constraints.corr_cholesky
    FIELDS = "dim"
    dim: int
    beta: Beta

    def keep(self, given: dict[str, Any]) -> None:
        self.dim = given["dim"]
        if self.dim < 2:
            text = f"Expected dim to be an integer greater than or equal to 2. Found dim={self.dim}."
            raise ProgramError("ValueError", text)
        (self.concentration,) = together(given["concentration"])
        limits.check_elements(self.dim**2)
        self.shapes(self.concentration.shape, (self.dim, self.dim))
        offset = np.maximum(np.arange(-1, self.dim - 1), 0).astype(self.concentration.array.dtype)
        steps = Tensor(offset, self.concentration.dtype)
        self.beta = Beta(steps + 0.5, f.unsqueeze(self.concentration + 0.5 * (self.dim - 2), -1) - 0.5 * steps)

    def expanded(self, source: Any) -> None:
        self.dim = source.dim
        self.beta = source.beta.expand((*self.batch_shape, self.dim))

    def draw(self, sample_shape: Any) -> Tensor:
        y = f.unsqueeze(self.beta.draw(sample_shape), -1)
        normal = f.tril(filled("randn", self.full(sample_shape), y.dtype), -1)
        sphere = normal / f.norm(normal, 2, -1, True)
        sphere.array[..., 0, :] = 0
        made = f.sqrt(y) * sphere
        rest = f.sqrt(f.clamp(1 - f.sum(f.pow(made, 2), -1), min=smallest(made.dtype)))
        return made + f.diag_embed(rest)

    def log_prob(self, value: Any) -> Tensor:
        value = self.checked(value)
        sizes = f.narrow(_diagonal(value), -1, 1, self.dim - 1)
        order = 2 * f.unsqueeze(self.concentration - 1, -1) + self.dim - f.arange(2, self.dim + 1)
        density = f.sum(order * f.log(sizes), -1)
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        return density - (0.5 * count * math.log(math.pi) + f.mvlgamma(alpha - 0.5, count) - f.lgamma(alpha) * count)
