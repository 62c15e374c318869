"""The named distributions that are transformed ones: log-normal, half-normal, Gumbel, Weibull ..."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.distributions import constraints
from gradcli.core.distributions.continuous import Cauchy, Normal, Uniform
from gradcli.core.distributions.discrete import ExpRelaxedCategorical, LogitRelaxedBernoulli
from gradcli.core.distributions.distribution import Distribution
from gradcli.core.distributions.functions import f, nan_where, precision, smallest, together
from gradcli.core.distributions.positive import Exponential, Gamma
from gradcli.core.distributions.transformed import TransformedDistribution
from gradcli.core.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
    Transform,
)
from gradcli.core.tensor.tensor import Tensor

_EULER = 0.57721566490153286060


class Named(TransformedDistribution, hidden=True):
    """A transformed distribution with parameters of its own, which `parts` makes base and transforms of."""

    def keep(self, given: dict[str, Any]) -> None:
        vars(self).update(zip(given, together(*given.values()), strict=True))
        self.join(*self.parts())

    def parts(self) -> tuple[Distribution, list[Transform]]:
        """The base and the transforms."""
        raise NotImplementedError

    def expanded(self, source: Any) -> None:
        if any(name in vars(self) for name in self.PARAMETERS):
            self.base_dist, self.transforms = self.parts()
        else:
            super().expanded(source)


class OfBase(Named, hidden=True):
    """One whose parameters are those of its base; its repr does not show them."""

    has_rsample = True
    scale = property(lambda self: self.base_dist.scale)

    def keep(self, given: dict[str, Any]) -> None:
        self.join(*self.made(given))

    def made(self, given: dict[str, Any]) -> tuple[Distribution, list[Transform]]:
        """The base and the transforms, of the arguments."""
        raise NotImplementedError

    def validate(self) -> None:
        """The base has checked its parameters."""


class LogNormal(OfBase):
    """The exponential of a normal number."""

    PARAMETERS = Normal.PARAMETERS
    SUPPORT = constraints.positive
    loc = property(lambda self: self.base_dist.loc)
    mean = property(lambda self: f.exp(self.loc + f.pow(self.scale, 2) / 2))
    mode = property(lambda self: f.exp(self.loc - f.square(self.scale)))

    def made(self, given: dict[str, Any]) -> tuple[Distribution, list[Transform]]:
        return Normal(given["loc"], given["scale"], self.validates), [ExpTransform()]

    @property
    def variance(self) -> Tensor:
        square = f.pow(self.scale, 2)
        return f.expm1(square) * f.exp(2 * self.loc + square)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class InverseGamma(OfBase):
    """The reciprocal of a gamma number."""

    PARAMETERS = Gamma.PARAMETERS
    SUPPORT = constraints.positive
    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mode = property(lambda self: self.rate / (self.concentration + 1))

    def made(self, given: dict[str, Any]) -> tuple[Distribution, list[Transform]]:
        base = Gamma(given["concentration"], given["rate"], self.validates)
        return base, [PowerTransform(f.neg(f.ones((), dtype=base.rate.dtype)))]

    @property
    def mean(self) -> Tensor:
        found = self.rate / (self.concentration - 1)
        return f.where(self.concentration > 1, found, math.inf)

    @property
    def variance(self) -> Tensor:
        found = f.square(self.rate) / (f.square(self.concentration - 1) * (self.concentration - 2))
        return f.where(self.concentration > 2, found, math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + f.log(self.rate) + f.lgamma(a) - (1 + a) * f.digamma(a)


class LogisticNormal(OfBase):
    """Probabilities that break a stick at normal numbers."""

    PARAMETERS = Normal.PARAMETERS
    SUPPORT = constraints.simplex
    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)

    def made(self, given: dict[str, Any]) -> tuple[Distribution, list[Transform]]:
        base = Normal(given["loc"], given["scale"], self.validates)
        return (base if base.batch_shape else base.expand((1,))), [StickBreakingTransform()]


class Halved(OfBase, hidden=True):
    """The absolute value of a number of a distribution around 0."""

    PARAMETERS = {"scale": constraints.positive}
    SUPPORT = constraints.nonnegative
    BASE: type[Distribution] = Normal
    mode = property(lambda self: f.zeros_like(self.scale))

    def made(self, given: dict[str, Any]) -> tuple[Distribution, list[Transform]]:
        return self.BASE(0, given["scale"], False), [AbsTransform()]

    def validate(self) -> None:
        Distribution.validate(self)

    def log_prob(self, value: Any) -> Tensor:
        self.checked(value)
        return f.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Tensor:
        return 2 * self.base_dist.cdf(self.checked(value)) - 1

    def icdf(self, value: Any) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Halved):
    """The absolute value of a normal number around 0."""

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: f.pow(self.scale, 2) * (1 - 2 / math.pi))


class HalfCauchy(Halved):
    """The absolute value of a Cauchy number around 0."""

    BASE = Cauchy
    mean = property(lambda self: f.full(self.full(), math.inf, dtype=self.scale.dtype))
    variance = property(lambda self: self.base_dist.variance)

    def log_prob(self, value: Any) -> Tensor:
        return super().log_prob(f.as_tensor(self.checked(value), dtype=self.scale.dtype))


class Gumbel(Named):
    """The Gumbel distribution."""

    PARAMETERS = Normal.PARAMETERS
    SUPPORT = constraints.real
    mean = property(lambda self: self.loc + self.scale * _EULER)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: f.pow(self.stddev, 2))

    def parts(self) -> tuple[Distribution, list[Transform]]:
        dtype = self.loc.dtype
        base = Uniform(f.full_like(self.loc, smallest(dtype)), f.full_like(self.loc, 1 - precision(dtype)), self.validates)
        log = ExpTransform().inv
        return base, [log, AffineTransform(0, -f.ones_like(self.scale)), log, AffineTransform(self.loc, -self.scale)]

    def log_prob(self, value: Any) -> Tensor:
        y = (self.loc - self.checked(value)) / self.scale
        return (y - f.exp(y)) - f.log(self.scale)

    def entropy(self) -> Tensor:
        return f.log(self.scale) + (1 + _EULER)


class Pareto(Named):
    """The Pareto distribution of the first type."""

    PARAMETERS = {"alpha": constraints.positive, "scale": constraints.positive}
    ORDER = "scale alpha"
    ARGUMENTS = {"scale": REQUIRED, "alpha": REQUIRED, "validate_args": None}
    support = property(lambda self: constraints.greater_than_eq(self.scale))
    mode = property(lambda self: self.scale)

    def parts(self) -> tuple[Distribution, list[Transform]]:
        return Exponential(self.alpha, self.validates), [ExpTransform(), AffineTransform(0, self.scale)]

    @property
    def mean(self) -> Tensor:
        a = f.clamp(self.alpha, min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Tensor:
        a = f.clamp(self.alpha, min=2)
        return f.pow(self.scale, 2) * a / (f.pow(a - 1, 2) * (a - 2))

    def entropy(self) -> Tensor:
        return f.log(self.scale / self.alpha) + (1 + f.reciprocal(self.alpha))


class Weibull(Named):
    """The Weibull distribution."""

    PARAMETERS = {"scale": constraints.positive, "concentration": constraints.positive}
    ARGUMENTS = {"scale": REQUIRED, "concentration": REQUIRED, "validate_args": None}
    SUPPORT = constraints.positive
    inverse: Tensor
    mean = property(lambda self: self.scale * f.exp(f.lgamma(1 + self.inverse)))
    mode = property(lambda self: self.scale * ((self.concentration - 1) / self.concentration) ** f.reciprocal(self.concentration))

    def parts(self) -> tuple[Distribution, list[Transform]]:
        self.inverse = f.reciprocal(self.concentration)
        return Exponential(f.ones_like(self.scale), self.validates), [PowerTransform(self.inverse), AffineTransform(0, self.scale)]

    @property
    def variance(self) -> Tensor:
        first, second = f.exp(f.lgamma(1 + 2 * self.inverse)), f.exp(2 * f.lgamma(1 + self.inverse))
        return f.pow(self.scale, 2) * (first - second)

    def entropy(self) -> Tensor:
        return _EULER * (1 - self.inverse) + f.log(self.scale * self.inverse) + 1


class Kumaraswamy(Named):
    """The Kumaraswamy distribution on the interval from 0 to 1."""

    PARAMETERS = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    ARGUMENTS = {"concentration1": REQUIRED, "concentration0": REQUIRED, "validate_args": None}
    SUPPORT = constraints.unit_interval
    has_rsample = True
    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - f.pow(self.mean, 2))

    def parts(self) -> tuple[Distribution, list[Transform]]:
        one, zero = self.concentration1, self.concentration0
        base = Uniform(f.full_like(zero, 0), f.full_like(zero, 1), self.validates)
        outer = PowerTransform(f.reciprocal(one))
        return base, [PowerTransform(f.reciprocal(zero)), AffineTransform(1.0, -1.0), outer]

    def _moment(self, n: int) -> Tensor:
        at, b = 1 + n / self.concentration1, self.concentration0
        return b * f.exp(f.lgamma(at) + f.lgamma(b) - f.lgamma(at + b))

    @property
    def mode(self) -> Tensor:
        one, zero = self.concentration1, self.concentration0
        found = f.reciprocal(zero) * f.log1p(-zero) - f.log1p(-zero * one)
        return f.exp(nan_where(f.logical_or(zero < 1, one < 1), found))

    def entropy(self) -> Tensor:
        one, zero = self.concentration1, self.concentration0
        harmonic = f.digamma(zero + 1) + _EULER
        return (1 - f.reciprocal(zero)) + (1 - f.reciprocal(one)) * harmonic - f.log(one) - f.log(zero)


class Relaxed(OfBase, hidden=True):
    """Relaxed forms of discrete distributions: another function of what their logits give."""

    FIELDS = "temperature"
    BASE: type[Distribution]
    TRANSFORM: type[Transform]
    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)

    def made(self, given: dict[str, Any]) -> tuple[Distribution, list[Transform]]:
        return self.BASE(given["temperature"], given["probs"], given["logits"]), [self.TRANSFORM()]


class RelaxedBernoulli(Relaxed):
    """A relaxed event (Maddison et al. 2017)."""

    PARAMETERS = LogitRelaxedBernoulli.PARAMETERS
    ARGUMENTS = LogitRelaxedBernoulli.ARGUMENTS
    SUPPORT = constraints.unit_interval
    BASE = LogitRelaxedBernoulli
    TRANSFORM = SigmoidTransform


class RelaxedOneHotCategorical(Relaxed):
    """A relaxed one-hot vector (Maddison et al. 2017)."""

    PARAMETERS = ExpRelaxedCategorical.PARAMETERS
    ARGUMENTS = LogitRelaxedBernoulli.ARGUMENTS
    SUPPORT = constraints.simplex
    BASE = ExpRelaxedCategorical
    TRANSFORM = ExpTransform
