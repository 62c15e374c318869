"""Distributions made of others: of more dimensions, transformed, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.distributions import constraints
from gradcli.core.distributions.composed_transforms import ComposeTransform
from gradcli.core.distributions.constraints import Constraint
from gradcli.core.distributions.discrete import Categorical
from gradcli.core.distributions.distribution import Distribution
from gradcli.core.distributions.functions import f, sum_last
from gradcli.core.distributions.transforms import Transform
from gradcli.core.kernels import Array
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


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
            raise ProgramError("ValueError", f"{text} {formatted(count)} vs {len(batch)}")
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
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with recording(False):
            return self.through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        y, dims, found = self.checked(value), len(self.event_shape), 0.0
        for transform in self.transforms[::-1]:
            x = transform.invert(y)
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
            value = transform.invert(value)
        return self._turned(self.base_dist.cdf(self.base_dist.checked(value) if self.validates else value))

    def icdf(self, value: Any) -> Tensor:
        return self.through(self.base_dist.icdf(self._turned(value)))


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

        def valid(x: Array) -> Any:
            return held.valid(np.expand_dims(x, -1 - held.event_dim)).all(-1)

        return Constraint(f"MixtureSameFamilyConstraint({held!r})", valid, held.event_dim, held.is_discrete)

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
