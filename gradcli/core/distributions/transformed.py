"""Distributions made of others: transformed, of more dimensions, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.distributions import constraints
from gradcli.core.distributions.constraints import Constraint
from gradcli.core.distributions.continuous import Cauchy, Normal, Uniform
from gradcli.core.distributions.discrete import Categorical, ExpRelaxedCategorical, LogitRelaxedBernoulli
from gradcli.core.distributions.distribution import Distribution
from gradcli.core.distributions.functions import f, nan_where, precision, smallest, sum_last, together
from gradcli.core.distributions.positive import Exponential, Gamma
from gradcli.core.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
    Transform,
)
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError

_EULER = 0.57721566490153286060


class Independent(Distribution):
    """Another distribution with dimensions of its batch as dimensions of its events."""

    FIELDS = "base_dist reinterpreted_batch_ndims"
    ARGUMENTS = {"base_distribution": REQUIRED, "reinterpreted_batch_ndims": REQUIRED, "validate_args": None}
    base_dist: Distribution
    reinterpreted_batch_ndims: int
    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(lambda self: not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def keep(self, given: dict[str, Any]) -> None:
        self.base_dist, count = given["base_distribution"], given["reinterpreted_batch_ndims"]
        batch = self.base_dist.batch_shape
        if count > len(batch):
            text = "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual"
            raise ProgramError("ValueError", f"{text} {count} vs {len(batch)}")
        self.reinterpreted_batch_ndims = count
        cut = len(batch) - count
        self.shapes(batch[:cut], (*batch[cut:], *self.base_dist.event_shape))

    def expanded(self, source: Any) -> None:
        self.reinterpreted_batch_ndims = source.reinterpreted_batch_ndims
        self.base_dist = source.base_dist.expand((*self.batch_shape, *self.event_shape[: self.reinterpreted_batch_ndims]))

    @property
    def support(self) -> Constraint:
        held, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(held, count) if count else held

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: Any = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise ProgramError("NotImplementedError", "Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """A distribution whose samples are those of another one, transformed."""

    FIELDS = "base_dist transforms"
    ARGUMENTS = {"base_distribution": REQUIRED, "transforms": REQUIRED, "validate_args": None}
    base_dist: Distribution
    transforms: list[Transform]
    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def keep(self, given: dict[str, Any]) -> None:
        transforms = given["transforms"]
        listed = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(listed, list):
            raise ProgramError("ValueError", f"transforms must be a Transform or list, but was {formatted(listed)}")
        if not all(isinstance(t, Transform) for t in listed):
            raise ProgramError("ValueError", "transforms must be a Transform or a list of Transforms")
        self.join(given["base_distribution"], listed)

    def join(self, base: Distribution, transforms: Sequence[Transform]) -> None:
        """Set the base and the transforms; the base gets the dimensions that the transforms need."""
        self.transforms = list(transforms)
        shape, events = (*base.batch_shape, *base.event_shape), len(base.event_shape)
        whole = ComposeTransform(self.transforms)
        domain, codomain = whole.domain.event_dim, whole.codomain.event_dim
        if len(shape) < domain:
            text = f"base_distribution needs to have shape with size at least {domain}, but got {formatted(base.full())}."
            raise ProgramError("ValueError", text)
        out = whole.forward_shape(shape)
        needed = whole.inverse_shape(out)
        if tuple(needed) != shape:
            base = base.expand(needed[: len(needed) - events])
        self.base_dist = Independent(base, domain - events) if domain > events else base
        cut = len(out) - max(codomain, events + codomain - domain)
        self.shapes(out[:cut], out[cut:])

    def expanded(self, source: Any) -> None:
        shape: tuple[int, ...] = (*self.batch_shape, *self.event_shape)
        for transform in source.transforms[::-1]:
            shape = transform.inverse_shape(shape)
        self.base_dist = source.base_dist.expand(shape[: len(shape) - len(source.base_dist.event_shape)])
        self.transforms = source.transforms

    @property
    def support(self) -> Constraint:
        if self.SUPPORT is not None or not self.transforms:
            return self.SUPPORT or self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self.event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    def through(self, x: Tensor) -> Tensor:
        """The transforms of a sample of the base."""
        for transform in self.transforms:
            x = transform.forward(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with recording(False):
            return self.through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        y, dims, found = self.checked(value), len(self.event_shape), 0.0
        for transform in self.transforms[::-1]:
            x = transform.backward(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            found = found - sum_last(transform.log_abs_det_jacobian(x, y), dims - transform.domain.event_dim)
            y = x
        return found + sum_last(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _turned(self, value: Any) -> Any:
        """A probability, or the rest to 1 where the transforms decrease."""
        sign = math.prod((transform.sign for transform in self.transforms), start=1)
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Tensor:
        for transform in self.transforms[::-1]:
            value = transform.backward(value)
        return self._turned(self.base_dist.cdf(self.base_dist.checked(value) if self.validates else value))

    def icdf(self, value: Any) -> Tensor:
        return self.through(self.base_dist.icdf(self._turned(value)))


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
        value = f.as_tensor(self.checked(value), dtype=self.scale.dtype)
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


class RelaxedBernoulli(OfBase):
    """A relaxed event (Maddison et al. 2017)."""

    FIELDS = "temperature"
    PARAMETERS = LogitRelaxedBernoulli.PARAMETERS
    ARGUMENTS = LogitRelaxedBernoulli.ARGUMENTS
    SUPPORT = constraints.unit_interval
    has_rsample = True
    BASE: type[Distribution] = LogitRelaxedBernoulli
    TRANSFORM: type[Transform] = SigmoidTransform
    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)

    def made(self, given: dict[str, Any]) -> tuple[Distribution, list[Transform]]:
        return self.BASE(given["temperature"], given["probs"], given["logits"]), [self.TRANSFORM()]


class RelaxedOneHotCategorical(RelaxedBernoulli):
    """A relaxed one-hot vector (Maddison et al. 2017)."""

    PARAMETERS = ExpRelaxedCategorical.PARAMETERS
    ARGUMENTS = LogitRelaxedBernoulli.ARGUMENTS
    SUPPORT = constraints.simplex
    BASE = ExpRelaxedCategorical
    TRANSFORM = ExpTransform


class MixtureSameFamily(Distribution):
    """A mixture: a categorical distribution chooses one of the distributions in the last dimension of a batch."""

    FIELDS = "mixture_distribution component_distribution"
    ARGUMENTS = {"mixture_distribution": REQUIRED, "component_distribution": REQUIRED, "validate_args": None}
    mixture_distribution: Categorical
    component_distribution: Distribution

    def keep(self, given: dict[str, Any]) -> None:
        mixture, component = given["mixture_distribution"], given["component_distribution"]
        if not isinstance(mixture, Categorical):
            text = " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            raise ProgramError("ValueError", text)
        if not isinstance(component, Distribution):
            text = "The Component distribution needs to be an instance of torch.distributions.Distribution"
            raise ProgramError("ValueError", text)
        outer, inner = mixture.batch_shape, type(mixture.batch_shape)(component.batch_shape[:-1])
        if any(1 not in (i, j) and i != j for i, j in zip(reversed(outer), reversed(inner), strict=False)):
            text = f"`mixture_distribution.batch_shape` ({outer!r}) is not compatible with `component_distribution.batch_shape`({inner!r})"
            raise ProgramError("ValueError", text)
        # PyTorch asks the logits for the count, so that a repr shows them from now on
        count = mixture.logits.shape[-1]
        if count != component.batch_shape[-1]:
            text = f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]`"
            raise ProgramError("ValueError", f"{text} ({component.batch_shape[-1]})")
        self.mixture_distribution, self.component_distribution = mixture, component
        self.shapes(inner, component.event_shape)

    def expanded(self, source: Any) -> None:
        count = source.mixture_distribution.count
        self.component_distribution = source.component_distribution.expand((*self.batch_shape, count))
        self.mixture_distribution = source.mixture_distribution.expand(self.batch_shape)

    @property
    def support(self) -> Constraint:
        held = self.component_distribution.support
        # every component has the same support; bounds by component are compared with the value's own dimension for them
        return Constraint(f"MixtureSameFamilyConstraint({held!r})", lambda x: held.valid(x[..., None]), held.event_dim, held.is_discrete)

    def _padded(self, x: Tensor) -> Tensor:
        return f.unsqueeze(x, -1 - len(self.event_shape))

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        outer = self.mixture_distribution.batch_shape
        more = 0 if len(outer) == 1 else len(self.batch_shape) - len(outer)
        return f.reshape(probs, (*outer, *(1,) * more, probs.shape[-1], *(1,) * len(self.event_shape)))

    def _mixed(self, x: Tensor) -> Tensor:
        return f.sum(self._weights() * x, -1 - len(self.event_shape))

    @property
    def mean(self) -> Tensor:
        return self._mixed(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        within = self._mixed(self.component_distribution.variance)
        return within + self._mixed(f.pow(self.component_distribution.mean - self._padded(self.mean), 2.0))

    def cdf(self, value: Any) -> Tensor:
        return f.sum(self.component_distribution.cdf(self._padded(value)) * self.mixture_distribution.probs, -1)

    def log_prob(self, value: Any) -> Tensor:
        within = self.component_distribution.log_prob(self._padded(self.checked(value)))
        return f.logsumexp(within + f.log_softmax(self.mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with recording(False):
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            index = f.reshape(chosen, (*chosen.shape, *(1,) * (len(self.event_shape) + 1)))
            index = f.broadcast_to(index, (*chosen.shape, 1, *self.event_shape))
            return f.squeeze(f.gather(drawn, dim, index), dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution!r},\n  {self.component_distribution!r})"
