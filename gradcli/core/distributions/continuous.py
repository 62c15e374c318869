"""Distributions of real numbers with a location and a scale, and those on an interval."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.distributions import constraints
from gradcli.core.distributions.distribution import Distribution, ExponentialFamily
from gradcli.core.distributions.functions import cast, expand, f, f_special, nan_where, precision
from gradcli.core.distributions.positive import Chi2
from gradcli.core.distributions.sampling import filled, standard_gamma
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor

_LOCATION = {"loc": constraints.real, "scale": constraints.positive}


class Normal(ExponentialFamily):
    """The normal distribution."""

    PARAMETERS = _LOCATION
    SUPPORT = constraints.real
    has_rsample = True
    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: f.pow(self.stddev, 2))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self.full(sample_shape)
        with recording(False):
            return f.normal(expand(self.loc, shape), expand(self.scale, shape))

    def draw(self, sample_shape: Any) -> Tensor:
        return self.loc + filled("normal_", self.full(sample_shape), self.loc.dtype) * self.scale

    def log_prob(self, value: Any) -> Tensor:
        apart = -((self.checked(value) - self.loc) ** 2) / (2 * self.scale**2)
        return apart - f.log(self.scale) - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Any) -> Tensor:
        return 0.5 * (1 + f.erf((self.checked(value) - self.loc) * f.reciprocal(self.scale) / math.sqrt(2)))

    def icdf(self, value: Any) -> Tensor:
        return self.loc + self.scale * f.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + f.log(self.scale)


class Laplace(Distribution):
    """The Laplace distribution."""

    PARAMETERS = _LOCATION
    SUPPORT = constraints.real
    has_rsample = True
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * f.pow(self.scale, 2))
    stddev = property(lambda self: (2**0.5) * self.scale)

    def draw(self, sample_shape: Any) -> Tensor:
        u = filled("uniform_", self.full(sample_shape), self.loc.dtype, precision(self.loc.dtype) - 1, 1)
        return self.loc - self.scale * f.sign(u) * f.log1p(-f.abs(u))

    def log_prob(self, value: Any) -> Tensor:
        return -f.log(2 * self.scale) - f.abs(self.checked(value) - self.loc) / self.scale

    def cdf(self, value: Any) -> Tensor:
        apart = self.checked(value) - self.loc
        return 0.5 - 0.5 * f.sign(apart) * f.expm1(-f.abs(value - self.loc) / self.scale)

    def icdf(self, value: Any) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * f.sign(term) * f.log1p(-2 * f.abs(term))

    def entropy(self) -> Tensor:
        return 1 + f.log(2 * self.scale)


class Cauchy(Distribution):
    """The Cauchy distribution, which has no mean."""

    PARAMETERS = _LOCATION
    SUPPORT = constraints.real
    has_rsample = True
    mean = property(lambda self: f.full(self.full(), math.nan, dtype=self.loc.dtype))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: f.full(self.full(), math.inf, dtype=self.loc.dtype))

    def draw(self, sample_shape: Any) -> Tensor:
        return self.loc + filled("cauchy_", self.full(sample_shape), self.loc.dtype) * self.scale

    def log_prob(self, value: Any) -> Tensor:
        apart = ((self.checked(value) - self.loc) / self.scale) ** 2
        return -math.log(math.pi) - f.log(self.scale) - f.log1p(apart)

    def cdf(self, value: Any) -> Tensor:
        return f.atan((self.checked(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Tensor:
        return f.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + f.log(self.scale)


class Uniform(Distribution):
    """The uniform distribution on `[low, high)`."""

    PARAMETERS = {"low": constraints.dependent, "high": constraints.dependent}
    has_rsample = True
    support = property(lambda self: constraints.interval(self.low, self.high))
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)
    variance = property(lambda self: f.pow(self.high - self.low, 2) / 12)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def draw(self, sample_shape: Any) -> Tensor:
        return self.low + filled("rand", self.full(sample_shape), self.low.dtype) * (self.high - self.low)

    def log_prob(self, value: Any) -> Tensor:
        above, below = f.le(self.low, self.checked(value)), f.gt(self.high, value)
        inside = f.mul(cast(above, self.low.dtype), cast(below, self.low.dtype))
        return f.log(inside) - f.log(self.high - self.low)

    def cdf(self, value: Any) -> Tensor:
        return f.clamp((self.checked(value) - self.low) / (self.high - self.low), min=0, max=1)

    def icdf(self, value: Any) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return f.log(self.high - self.low)


class StudentT(Distribution):
    """Student's t distribution."""

    PARAMETERS = {"df": constraints.positive, **_LOCATION}
    DEFAULTS = {"loc": 0.0, "scale": 1.0}
    SUPPORT = constraints.real
    has_rsample = True
    mode = property(lambda self: self.loc)

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        Chi2(self.df)  # PyTorch makes this first, which checks the parameter too

    @property
    def mean(self) -> Tensor:
        return nan_where(self.df <= 1, self.loc)

    @property
    def variance(self) -> Tensor:
        finite = f.pow(self.scale, 2) * self.df / (self.df - 2)
        return nan_where(self.df <= 1, nan_where(self.df <= 2, finite, math.inf))

    def draw(self, sample_shape: Any) -> Tensor:
        shape = self.full(sample_shape)
        x = filled("normal_", shape, self.df.dtype)
        z = standard_gamma(expand(self.df * 0.5, shape)) / 0.5
        return self.loc + self.scale * (x * f.rsqrt(z / self.df))

    def log_prob(self, value: Any) -> Tensor:
        y = (self.checked(value) - self.loc) / self.scale
        normal = f.log(self.scale) + 0.5 * f.log(self.df) + 0.5 * math.log(math.pi) + f.lgamma(0.5 * self.df)
        return -0.5 * (self.df + 1.0) * f.log1p(y**2.0 / self.df) - (normal - f.lgamma(0.5 * (self.df + 1.0)))

    def entropy(self) -> Tensor:
        log_beta = f.lgamma(0.5 * self.df) + math.lgamma(0.5) - f.lgamma(0.5 * (self.df + 1))
        digammas = f.digamma(0.5 * (self.df + 1)) - f.digamma(0.5 * self.df)
        return f.log(self.scale) + 0.5 * (self.df + 1) * digammas + 0.5 * f.log(self.df) + log_beta


class VonMises(Distribution):
    """The von Mises distribution of angles, in radians."""

    PARAMETERS = {"loc": constraints.real, "concentration": constraints.positive}
    SUPPORT = constraints.real
    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        return 1 - f.abs(f_special("i1e", self.concentration)) / f_special("i0e", self.concentration)

    def log_prob(self, value: Any) -> Tensor:
        kappa = self.concentration
        log_bessel = f.log(f_special("i0e", kappa)) + f.abs(kappa)
        return kappa * f.cos(self.checked(value) - self.loc) - math.log(2 * math.pi) - log_bessel

    def draw(self, sample_shape: Any) -> Tensor:
        """Rejection from a wrapped Cauchy distribution (Best and Fisher 1979), in float64."""
        shape = self.full(sample_shape)
        loc, kappa = (np.asarray(p.array, np.float64) for p in (self.loc, self.concentration))
        tau = 1 + np.sqrt(1 + 4 * kappa**2)
        rho = (tau - np.sqrt(2 * tau)) / (2 * kappa)
        r = np.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
        x, done = np.zeros(shape), np.zeros(shape, bool)
        while not done.all():
            u1, u2, u3 = filled("rand", (3, *shape), dtypes.float64).array
            z = np.cos(math.pi * u1)
            cosine = (1 + r * z) / (r + z)
            c = kappa * (r - cosine)
            with np.errstate(divide="ignore"):
                accepted = (c * (2 - c) - u2 > 0) | (np.log(c / u2) + 1 - c >= 0)
            x = np.where(accepted, np.sign(u3 - 0.5) * np.arccos(cosine), x)
            done |= accepted
        turned = np.mod(x + math.pi + loc, 2 * math.pi) - math.pi
        return Tensor(dtypes.cast(turned, self.loc.dtype), self.loc.dtype)


class GeneralizedPareto(Distribution):
    """The distribution of what lies beyond a threshold, with a tail that `concentration` tells."""

    PARAMETERS = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    mode = property(lambda self: self.loc)

    @property
    def support(self) -> constraints.Constraint:
        bounded = f.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, bounded)

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        return f.where(valid, self.loc + self.scale / (1 - f.where(valid, self.concentration, 0.5)), math.nan)

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        shape = f.where(valid, self.concentration, 0.25)
        return f.where(valid, f.pow(self.scale, 2) / (f.pow(1 - shape, 2) * (1 - 2 * shape)), math.nan)

    def _shape(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is zero, and the concentration with 1 in place of zero."""
        zero = f.isclose(self.concentration, f.zeros_like(self.concentration))
        return zero, f.where(zero, f.ones_like(self.concentration), self.concentration)

    def draw(self, sample_shape: Any) -> Tensor:
        return self.icdf(filled("rand", self.full(sample_shape), self.loc.dtype))

    def log_prob(self, value: Any) -> Tensor:
        z = (self.checked(value) - self.loc) / self.scale
        zero, shape = self._shape()
        y = 1 / shape + f.ones_like(z)
        tail = f.where(y == 0, y, y * f.log1p(shape * z))
        return -f.log(self.scale) - f.where(zero, z, tail)

    def log_survival_function(self, value: Any) -> Tensor:
        """The logarithm of the probability of larger values."""
        z = (self.checked(value) - self.loc) / self.scale
        zero, shape = self._shape()
        return f.where(zero, -z, -f.log1p(shape * z) / shape)

    def log_cdf(self, value: Any) -> Tensor:
        """The logarithm of the probability of values up to this one."""
        return f.log1p(-f.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Tensor:
        return f.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Tensor:
        zero, shape = self._shape()
        log = f.log1p(-value)
        return f.where(zero, self.loc - self.scale * log, self.loc + self.scale / shape * f.expm1(-shape * log))

    def entropy(self) -> Tensor:
        return f.broadcast_to(f.log(self.scale) + self.concentration + 1, self.batch_shape)

    SCRIPT_METHODS = {
        **Distribution.SCRIPT_METHODS,
        **{run.__name__: Routine(run, f"GeneralizedPareto.{run.__name__}") for run in (log_survival_function, log_cdf)},
    }
