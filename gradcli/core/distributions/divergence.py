"""Kullback-Leibler divergences, by the classes of the two distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.distributions import cross_divergence, matrix_divergence
from gradcli.core.distributions.composed_transforms import ComposeTransform
from gradcli.core.distributions.continuous import Cauchy, Laplace, Normal, Uniform
from gradcli.core.distributions.cross_divergence import EULER
from gradcli.core.distributions.discrete import Bernoulli, Binomial, Categorical, ContinuousBernoulli, Geometric, OneHotCategorical
from gradcli.core.distributions.distribution import ExponentialFamily
from gradcli.core.distributions.functions import f, f_nn, nan_where, sum_last
from gradcli.core.distributions.matrices import Wishart
from gradcli.core.distributions.multivariate import LowRankMultivariateNormal, MultivariateNormal
from gradcli.core.distributions.positive import Beta, Dirichlet, Exponential, Gamma, Poisson
from gradcli.core.distributions.transformed import Independent, TransformedDistribution
from gradcli.core.distributions.transformed_families import Gumbel, HalfNormal, Pareto
from gradcli.core.distributions.transforms import AffineTransform, Inverse, PowerTransform, Transform
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def _bernoulli(p: Any, q: Any) -> Tensor:
    yes = p.probs * (f_nn("softplus", -q.logits) - f_nn("softplus", -p.logits))
    no = (1 - p.probs) * (f_nn("softplus", q.logits) - f_nn("softplus", p.logits))
    yes, no = nan_where(q.probs == 0, yes, math.inf), nan_where(q.probs == 1, no, math.inf)
    return nan_where(p.probs == 0, yes, 0.0) + nan_where(p.probs == 1, no, 0.0)


def _beta(p: Any, q: Any) -> Tensor:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    total, other = a + b, c + d
    norms = f.lgamma(c) + f.lgamma(d) + f.lgamma(total) - (f.lgamma(a) + f.lgamma(b) + f.lgamma(other))
    return norms + (a - c) * f.digamma(a) + (b - d) * f.digamma(b) + (other - total) * f.digamma(total)


def _binomial(p: Any, q: Any) -> Tensor:
    if bool((p.total_count.array < q.total_count.array).any()):
        raise ProgramError("NotImplementedError", "KL between Binomials where q.total_count > p.total_count is not implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + f.log1p(-p.probs) - f.log1p(-q.probs))
    return nan_where(p.total_count > q.total_count, found, math.inf)


def _categorical(p: Any, q: Any) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = nan_where(f.broadcast_to(q.probs == 0, tuple(t.shape)), t, math.inf)
    return f.sum(nan_where(f.broadcast_to(p.probs == 0, tuple(t.shape)), t, 0.0), -1)


def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    first = p.mean * (p.logits - q.logits)
    return first + (p.log_norm() + f.log1p(-p.probs)) + (-q.log_norm() - f.log1p(-q.probs))


def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total, other = f.sum(a, -1), f.sum(b, -1)
    norms = f.lgamma(total) - f.lgamma(other) - f.sum(f.lgamma(a) - f.lgamma(b), -1)
    return norms + f.sum((a - b) * (f.digamma(a) - f.unsqueeze(f.digamma(total), -1)), -1)


def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -f.log(ratio) + ratio - 1


def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    return b * f.log(p.rate / q.rate) + (f.lgamma(b) - f.lgamma(a)) + (a - b) * f.digamma(a) + (q.rate - p.rate) * (a / p.rate)


def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, there, here = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    first = -f.log(ratio) - there + here
    return first + ratio * EULER + f.exp(there + f.lgamma(1 + ratio) - here) - (1 + EULER)


def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - f.log1p(-q.probs) / p.probs - q.logits


def _laplace(p: Any, q: Any) -> Tensor:
    ratio, apart = p.scale / q.scale, f.abs(p.loc - q.loc)
    return -f.log(ratio) + apart / q.scale + ratio * f.exp(-apart / p.scale) - 1


def _normal(p: Any, q: Any) -> Tensor:
    ratio = f.pow(p.scale / q.scale, 2)
    return 0.5 * (ratio + f.pow((p.loc - q.loc) / q.scale, 2) - 1 - f.log(ratio))


def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * f.log(p.scale / q.scale) + -f.log(ratio) + ratio - 1
    return nan_where(p.scale < q.scale, found, math.inf)


def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (f.log(p.rate) - f.log(q.rate)) - (p.rate - q.rate)


def _uniform(p: Any, q: Any) -> Tensor:
    found = f.log((q.high - q.low) / (p.high - p.low))
    return nan_where(f.logical_or(q.low > p.low, q.high < p.high), found, math.inf)


def _cauchy(p: Any, q: Any) -> Tensor:
    return f.log(f.pow(p.scale + q.scale, 2) + f.pow(p.loc - q.loc, 2)) - f.log(4 * p.scale * q.scale)


def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise ProgramError("NotImplementedError", "")
    return sum_last(kl_divergence.function(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _same(a: Any, b: Any) -> bool:
    """Whether two parameters of transforms are equal."""
    if type(a) is Tensor or type(b) is Tensor:
        return bool(f.eq(a, b).array.all() if type(a) is Tensor else f.eq(b, a).array.all())
    return bool(a == b)


def _alike(a: Transform, b: Transform) -> bool:
    """Whether two transforms are equal: those that have parameters are by these, others by their class."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Inverse):
        return _alike(a.of, b.of)  # type: ignore[attr-defined]
    if isinstance(a, ComposeTransform):
        return _all_alike(a.parts, b.parts)  # type: ignore[attr-defined]
    names = {AffineTransform: ("loc", "scale"), PowerTransform: ("exponent",)}.get(type(a))
    if names is not None:
        return all(_same(getattr(a, name), getattr(b, name)) for name in names)
    return a is b or not a.ARGUMENTS or set(a.ARGUMENTS) == {"cache_size"}


def _all_alike(ours: list[Transform], theirs: list[Transform]) -> bool:
    return len(ours) == len(theirs) and all(map(_alike, ours, theirs))


def _transformed(p: Any, q: Any) -> Tensor:
    if not _all_alike(p.transforms, q.transforms) or p.event_shape != q.event_shape:
        raise ProgramError("NotImplementedError", "")
    made: Tensor = kl_divergence.function(p.base_dist, q.base_dist)
    return made


#: the formulas for two distributions of one class
_FORMULAS: dict[type, Callable[[Any, Any], Tensor]] = {
    Bernoulli: _bernoulli,
    Beta: _beta,
    Binomial: _binomial,
    Categorical: _categorical,
    ContinuousBernoulli: _continuous_bernoulli,
    Cauchy: _cauchy,
    Dirichlet: _dirichlet,
    Exponential: _exponential,
    Gamma: _gamma,
    Geometric: _geometric,
    Gumbel: _gumbel,
    HalfNormal: lambda p, q: _normal(p.base_dist, q.base_dist),
    Independent: _independent,
    Laplace: _laplace,
    LowRankMultivariateNormal: matrix_divergence.low_rank,
    MultivariateNormal: matrix_divergence.multivariate_normal,
    Normal: _normal,
    OneHotCategorical: lambda p, q: _categorical(p.index, q.index),
    Pareto: _pareto,
    Poisson: _poisson,
    TransformedDistribution: _transformed,
    Uniform: _uniform,
    Wishart: matrix_divergence.wishart,
}


@Routine
def kl_divergence(p: Any, q: Any) -> Tensor:
    """The divergence of `p` from `q`. NotImplementedError for two classes that there is no formula for."""
    for kind in type(p).__mro__:
        for other in type(q).__mro__:
            formula = _FORMULAS.get(kind) if kind is other else cross_divergence.FORMULAS.get((kind, other))
            if formula is not None:
                return formula(p, q)
    if isinstance(p, ExponentialFamily) and isinstance(q, ExponentialFamily):
        spaces = " " * 28
        text = f"The cross KL-divergence between different exponential families cannot {spaces}be computed using Bregman divergences"
        raise ProgramError("NotImplementedError", text)
    names = (language.type_name(value) for value in (p, q))
    raise ProgramError("NotImplementedError", "No KL(p || q) is implemented for p type {} and q type {}".format(*names))
