"""Distributions of positive numbers, and those on the simplex, which are made of gamma numbers."""

from __future__ import annotations

from typing import Any

from gradcli.core.distributions import constraints
from gradcli.core.distributions.distribution import Distribution, ExponentialFamily
from gradcli.core.distributions.functions import Number, cast, expand, f, f_nn, f_special, nan_where, smallest, together
from gradcli.core.distributions.sampling import dirichlet, filled, standard_gamma
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


class Exponential(ExponentialFamily):
    """The exponential distribution."""

    PARAMETERS = {"rate": constraints.positive}
    SUPPORT = constraints.nonnegative
    has_rsample = True
    mean = stddev = property(lambda self: f.reciprocal(self.rate))
    mode = property(lambda self: f.zeros_like(self.rate))
    variance = property(lambda self: f.pow(self.rate, -2))

    def draw(self, sample_shape: Any) -> Tensor:
        return filled("exponential_", self.full(sample_shape), self.rate.dtype) / self.rate

    def log_prob(self, value: Any) -> Tensor:
        return f.log(self.rate) - self.rate * self.checked(value)

    def cdf(self, value: Any) -> Tensor:
        return 1 - f.exp(-self.rate * self.checked(value))

    def icdf(self, value: Any) -> Tensor:
        return -f.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - f.log(self.rate)


class Gamma(ExponentialFamily):
    """The gamma distribution."""

    PARAMETERS = {"concentration": constraints.positive, "rate": constraints.positive}
    SUPPORT = constraints.nonnegative
    has_rsample = True
    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: f.clamp((self.concentration - 1) / self.rate, min=0))
    variance = property(lambda self: self.concentration / f.pow(self.rate, 2))

    def draw(self, sample_shape: Any) -> Tensor:
        shape = self.full(sample_shape)
        return standard_gamma(expand(self.concentration, shape)) / expand(self.rate, shape)

    def log_prob(self, value: Any) -> Tensor:
        value = self.checked(f.as_tensor(value, dtype=self.rate.dtype))
        a, rate = self.concentration, self.rate
        return f.xlogy(a, rate) + f.xlogy(a - 1, value) - rate * value - f.lgamma(a)

    def cdf(self, value: Any) -> Tensor:
        return f_special("gammainc", self.concentration, self.rate * self.checked(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - f.log(self.rate) + f.lgamma(a) + (1.0 - a) * f.digamma(a)


class Chi2(Gamma):
    """The chi-squared distribution, a gamma distribution of half the degrees of freedom."""

    PARAMETERS = {"df": constraints.positive}
    df = property(lambda self: self.concentration * 2)

    def keep(self, given: dict[str, Any]) -> None:
        super().keep({"concentration": 0.5 * given["df"], "rate": 0.5})

    def expanded(self, source: Any) -> None:
        for name in Gamma.PARAMETERS:
            vars(self)[name] = expand(vars(source)[name], self.batch_shape)


class FisherSnedecor(Distribution):
    """The F distribution of the quotient of two chi-squared numbers, each over its degrees of freedom."""

    PARAMETERS = {"df1": constraints.positive, "df2": constraints.positive}
    SUPPORT = constraints.positive
    has_rsample = True
    mode = property(lambda self: nan_where(self.df1 <= 2, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)))

    @property
    def mean(self) -> Tensor:
        d2 = nan_where(self.df2 <= 2, self.df2)
        return d2 / (d2 - 2)

    @property
    def variance(self) -> Tensor:
        d1, d2 = self.df1, nan_where(self.df2 <= 4, self.df2)
        return 2 * f.pow(d2, 2) * (d1 + d2 - 2) / (d1 * f.pow(d2 - 2, 2) * (d2 - 4))

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        self._gammas()  # PyTorch makes these first, which check the parameters too

    def _gammas(self) -> list[Gamma]:
        """The distributions of the two numbers."""
        return [Gamma(d * 0.5, d) for d in (self.df1, self.df2)]

    def draw(self, sample_shape: Any) -> Tensor:
        tiny = smallest(self.df1.dtype)
        one, two = (gamma.draw(sample_shape) for gamma in self._gammas())
        return f.clamp(one / f.clamp(two, min=tiny), min=tiny)

    def log_prob(self, value: Any) -> Tensor:
        value = self.checked(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = f.lgamma(a + b) - f.lgamma(a) - f.lgamma(b)
        return norm + (a * f.log(ratio) + (a - 1) * f.log(value)) - (a + b) * f.log1p(ratio * value)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of probabilities."""

    PARAMETERS = {"concentration": constraints.independent(constraints.positive, 1)}
    SUPPORT = constraints.simplex
    has_rsample = True
    mean = property(lambda self: self.concentration / f.sum(self.concentration, -1, True))

    def keep(self, given: dict[str, Any]) -> None:
        concentration = given["concentration"]
        if concentration.dim() < 1:
            raise ProgramError("ValueError", "`concentration` parameter must be at least one-dimensional.")
        vars(self)["concentration"] = concentration
        self.shapes(concentration.shape[:-1], concentration.shape[-1:])

    @property
    def mode(self) -> Tensor:
        less = f.clamp(self.concentration - 1, min=0.0)
        found = less / f.sum(less, -1, True)
        corner = cast(f_nn("one_hot", f.argmax(found, -1), less.shape[-1]), found.dtype)
        concave = f.all(self.concentration < 1, -1)
        if not self.batch_shape:
            return f.where(concave, corner, found)
        rows = f.reshape(f.masked_select(corner, f.unsqueeze(concave, -1)), (-1, less.shape[-1]))
        return f.index_put(found, (concave,), rows)

    @property
    def variance(self) -> Tensor:
        a, total = self.concentration, f.sum(self.concentration, -1, True)
        return a * (total - a) / (f.pow(total, 2) * (total + 1))

    def draw(self, sample_shape: Any) -> Tensor:
        return dirichlet(expand(self.concentration, self.full(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        a = self.concentration
        powers = f.sum(f.xlogy(a - 1.0, self.checked(value)), -1)
        return powers + f.lgamma(f.sum(a, -1)) - f.sum(f.lgamma(a), -1)

    def entropy(self) -> Tensor:
        a, total, k = self.concentration, f.sum(self.concentration, -1), self.concentration.shape[-1]
        log_beta = f.sum(f.lgamma(a), -1) - f.lgamma(total)
        return log_beta - (k - total) * f.digamma(total) - f.sum((a - 1.0) * f.digamma(a), -1)


class Beta(ExponentialFamily):
    """The beta distribution, the first of two Dirichlet probabilities."""

    PARAMETERS = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    SUPPORT = constraints.unit_interval
    has_rsample = True
    concentration1 = property(lambda self: f.select(self.both.concentration, -1, 0))
    concentration0 = property(lambda self: f.select(self.both.concentration, -1, 1))
    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: f.select(self.both.mode, -1, 0))
    both: Dirichlet

    def keep(self, given: dict[str, Any]) -> None:
        one, zero = given["concentration1"], given["concentration0"]
        if isinstance(one, Number) and isinstance(zero, Number):
            stacked = f.tensor([float(one), float(zero)])
        else:
            stacked = f.stack(together(one, zero), -1)
        self.both = Dirichlet(stacked, self.validates)
        self.shapes(self.both.batch_shape)

    def expanded(self, source: Any) -> None:
        self.both = source.both.expand(self.batch_shape)

    @property
    def variance(self) -> Tensor:
        one, zero = self.concentration1, self.concentration0
        total = one + zero
        return one * zero / (f.pow(total, 2) * (total + 1))

    def draw(self, sample_shape: Any) -> Tensor:
        return f.select(self.both.draw(sample_shape), -1, 0)

    def log_prob(self, value: Any) -> Tensor:
        return self.both.log_prob(f.stack([self.checked(value), 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self.both.entropy()


class Poisson(ExponentialFamily):
    """The Poisson distribution of counts."""

    PARAMETERS = {"rate": constraints.nonnegative}
    SUPPORT = constraints.nonnegative_integer
    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: f.floor(self.rate))

    def draw(self, sample_shape: Any) -> Tensor:
        return f.poisson(expand(self.rate, self.full(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        rate, value = together(self.rate, self.checked(value))
        return f.xlogy(value, rate) - rate - f.lgamma(value + 1)
