"""Kullback-Leibler divergences between distributions of two families, in PyTorch's order of operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli.core.distributions.continuous import Laplace, Normal, Uniform
from gradcli.core.distributions.discrete import Bernoulli, Binomial, ContinuousBernoulli
from gradcli.core.distributions.functions import f, f_special, nan_where
from gradcli.core.distributions.matrix_divergence import low_rank_normal, normal_low_rank
from gradcli.core.distributions.multivariate import LowRankMultivariateNormal, MultivariateNormal
from gradcli.core.distributions.positive import Beta, Exponential, Gamma, Poisson
from gradcli.core.distributions.transformed_families import Gumbel, Pareto
from gradcli.core.tensor.tensor import Tensor

EULER = 0.57721566490153286060


def _x_log_x(x: Tensor) -> Tensor:
    return f_special("xlogy", x, x)


def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * f.log(q.rate) - q.rate)


def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - f.log1p(-q.probs) - q.log_norm()


def _beta_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - f.log(q.rate) + q.rate * (p.concentration1 / (p.concentration1 + p.concentration0))


def _gamma_norm(q: Any) -> Tensor:
    return f.lgamma(q.concentration) - q.concentration * f.log(q.rate)


def _beta_gamma(p: Any, q: Any) -> Tensor:
    a, total = p.concentration1, p.concentration1 + p.concentration0
    third = (q.concentration - 1) * (f.digamma(a) - f.digamma(total))
    return -p.entropy() + _gamma_norm(q) - third + q.rate * a / total


def _beta_normal(p: Any, q: Any) -> Tensor:
    total = p.concentration1 + p.concentration0
    mean, variance = p.concentration1 / total, f.pow(q.scale, 2)
    second = 0.5 * f.log(variance * 2 * math.pi)
    third = (mean * (1 - mean) / (total + 1) + f.pow(mean, 2)) * 0.5
    return -p.entropy() + second + (third - q.loc * mean + f.pow(q.loc, 2) * 0.5) / variance


def _beta_uniform(p: Any, q: Any) -> Tensor:
    return nan_where(f.logical_or(q.low > 0, q.high < 1), -p.entropy() + f.log(q.high - q.low), math.inf)


def _continuous_bernoulli_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - f.log(q.rate) + q.rate * p.mean


def _continuous_bernoulli_normal(p: Any, q: Any) -> Tensor:
    second = 0.5 * (math.log(2.0 * math.pi) + f.square(q.loc / q.scale)) + f.log(q.scale)
    third = (p.variance + f.square(p.mean) - 2.0 * q.loc * p.mean) / (2.0 * f.square(q.scale))
    return -p.entropy() + second + third


def _beyond(found: Tensor, condition: Tensor) -> Tensor:
    return f.where(condition, f.ones_like(found) * math.inf, found)


def _continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    return _beyond(-p.entropy() + f.log(q.high - q.low), f.logical_or(q.low >= 0, q.high <= 1))


def _exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    first = -q.concentration * f.log(ratio)
    return first + ratio + f.lgamma(q.concentration) + q.concentration * EULER - (1 + EULER)


def _exponential_gumbel(p: Any, q: Any) -> Tensor:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    return f.log(product) - 1 - ratio + f.exp(ratio) * product / (product + 1) + f.reciprocal(product)


def _exponential_normal(p: Any, q: Any) -> Tensor:
    variance, square = f.pow(q.scale, 2), f.pow(p.rate, 2)
    first = 0.5 * f.log(square * variance * 2 * math.pi)
    return first - 1 + (f.reciprocal(square) - q.loc / p.rate + f.pow(q.loc, 2) * 0.5) / variance


def _gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - f.log(q.rate) + q.rate * p.concentration / p.rate


def _gamma_gumbel(p: Any, q: Any) -> Tensor:
    a, product, ratio = p.concentration, p.rate * q.scale, q.loc / q.scale
    first = (a - 1) * f.digamma(a) - f.lgamma(a) - a
    return first + (f.log(product) + a / product) + (f.exp(ratio) * f.pow(1 + f.reciprocal(product), -a) - ratio)


def _gamma_normal(p: Any, q: Any) -> Tensor:
    a, variance, square = p.concentration, f.pow(q.scale, 2), f.pow(p.rate, 2)
    first = 0.5 * f.log(square * variance * 2 * math.pi) - a - f.lgamma(a)
    second, third = 0.5 * (f.pow(a, 2) + a) / square, q.loc * a / p.rate
    return first + (a - 1) * f.digamma(a) + (second - third + 0.5 * f.pow(q.loc, 2)) / variance


def _gumbel_normal(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    third = f.pow((p.loc + p.scale * EULER - q.loc) / q.scale, 2) * 0.5
    return -f.log(ratio / math.sqrt(2 * math.pi)) + f.pow(math.pi * ratio * 0.5, 2) / 3 + third - (EULER + 1)


def _laplace_normal(p: Any, q: Any) -> Tensor:
    variance = f.pow(q.scale, 2)
    ratio = f.pow(p.scale, 2) / variance
    first = 0.5 * f.log(2 * ratio / math.pi)
    return -first + ratio + (0.5 * f.pow(p.loc, 2) - p.loc * q.loc + 0.5 * f.pow(q.loc, 2)) / variance - 1


def _normal_gumbel(p: Any, q: Any) -> Tensor:
    mean, ratio, place = p.loc / q.scale, f.pow(p.scale / q.scale, 2), q.loc / q.scale
    third = f.exp(-mean + 0.5 * ratio + place)
    return -(f.log(ratio) * 0.5) + (mean - place) + third - (0.5 * (1 + math.log(2 * math.pi)))


def _normal_laplace(p: Any, q: Any) -> Tensor:
    apart = p.loc - q.loc
    ratio = apart / p.scale
    second = math.sqrt(2 / math.pi) * p.scale * f.exp(-0.5 * f.pow(ratio, 2))
    third = apart * f.erf(math.sqrt(0.5) * ratio)
    return -f.log(p.scale / q.scale) + (second + third) / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))


def _pareto_exponential(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    found = f.log(p.alpha / product) - f.reciprocal(p.alpha) + p.alpha * product / (p.alpha - 1) - 1
    return nan_where(p.alpha <= 1, found, math.inf)


def _pareto_gamma(p: Any, q: Any) -> Tensor:
    common = f.log(p.scale) + f.reciprocal(p.alpha)
    third, fourth = (1 - q.concentration) * common, q.rate * p.alpha * p.scale / (p.alpha - 1)
    return nan_where(p.alpha <= 1, f.log(p.alpha) - common + _gamma_norm(q) + third + fourth - 1, math.inf)


def _pareto_normal(p: Any, q: Any) -> Tensor:
    variance, common = 2 * f.pow(q.scale, 2), p.scale / (p.alpha - 1)
    first = f.log(math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale)
    third, fourth = p.alpha * f.pow(common, 2) / (p.alpha - 2), f.pow(p.alpha * common - q.loc, 2)
    return nan_where(p.alpha <= 2, first - f.reciprocal(p.alpha) + (third + fourth) / variance - 1, math.inf)


def _uniform_beta(p: Any, q: Any) -> Tensor:
    width, a, b = p.high - p.low, q.concentration1, q.concentration0
    second = (a - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    third = (b - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    found = third + (f.lgamma(a) + f.lgamma(b) - f.lgamma(a + b)) - f.log(width) - second
    return nan_where(f.logical_or(p.high > 1, p.low < 0), found, math.inf)


def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return _beyond(_continuous_bernoulli(p, q), f.logical_or(p.high >= 1, p.low <= 0))


def _uniform_exponential(p: Any, q: Any) -> Tensor:
    return nan_where(p.low < 0, q.rate * (p.high + p.low) / 2 - f.log((p.high - p.low) * q.rate), math.inf)


def _uniform_gamma(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    third = (1 - q.concentration) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    return nan_where(p.low < 0, -f.log(width) + _gamma_norm(q) + third + q.rate * (p.high + p.low) / 2, math.inf)


def _uniform_gumbel(p: Any, q: Any) -> Tensor:
    width, high, low = q.scale / (p.high - p.low), (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return f.log(width) + 0.5 * (high + low) - width * (f.exp(-high) - f.exp(-low))


def _uniform_normal(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    first = f.log(math.sqrt(math.pi * 2) * q.scale / width)
    return first + 0.5 * (f.pow(width, 2) / 12 + f.pow((p.high + p.low - 2 * q.loc) / 2, 2)) / f.pow(q.scale, 2)


def _uniform_pareto(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    first = f.log(q.alpha * f.pow(q.scale, q.alpha) * width)
    second = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    return nan_where(p.low < q.scale, second * (q.alpha + 1) - first, math.inf)


def _infinite(parameter: str) -> Callable[[Any, Any], Tensor]:
    """Infinity, in the shape of a parameter of the first distribution."""
    return lambda p, q: f.full_like(getattr(p, parameter), math.inf)


_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)

#: the formulas for two distributions, by their classes
FORMULAS: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {
    (Bernoulli, Poisson): _bernoulli_poisson,
    (Beta, ContinuousBernoulli): _continuous_bernoulli,
    (Beta, Pareto): _infinite("concentration1"),
    (Beta, Exponential): _beta_exponential,
    (Beta, Gamma): _beta_gamma,
    (Beta, Normal): _beta_normal,
    (Beta, Uniform): _beta_uniform,
    (ContinuousBernoulli, Pareto): _infinite("probs"),
    (ContinuousBernoulli, Exponential): _continuous_bernoulli_exponential,
    (ContinuousBernoulli, Normal): _continuous_bernoulli_normal,
    (ContinuousBernoulli, Uniform): _continuous_bernoulli_uniform,
    **{(Exponential, q): _infinite("rate") for q in _BOUNDED},
    (Exponential, Gamma): _exponential_gamma,
    (Exponential, Gumbel): _exponential_gumbel,
    (Exponential, Normal): _exponential_normal,
    **{(Gamma, q): _infinite("concentration") for q in _BOUNDED},
    (Gamma, Exponential): _gamma_exponential,
    (Gamma, Gumbel): _gamma_gumbel,
    (Gamma, Normal): _gamma_normal,
    **{(p, q): _infinite("loc") for p in (Gumbel, Laplace, Normal) for q in (*_BOUNDED, Exponential, Gamma)},
    (Gumbel, Normal): _gumbel_normal,
    (Laplace, Normal): _laplace_normal,
    (Normal, Gumbel): _normal_gumbel,
    (Normal, Laplace): _normal_laplace,
    **{(Pareto, q): _infinite("scale") for q in (Beta, ContinuousBernoulli, Uniform)},
    (LowRankMultivariateNormal, MultivariateNormal): low_rank_normal,
    (MultivariateNormal, LowRankMultivariateNormal): normal_low_rank,
    (Pareto, Exponential): _pareto_exponential,
    (Pareto, Gamma): _pareto_gamma,
    (Pareto, Normal): _pareto_normal,
    (Poisson, Bernoulli): _infinite("rate"),
    (Poisson, Binomial): _infinite("rate"),
    (Uniform, Beta): _uniform_beta,
    (Uniform, ContinuousBernoulli): _uniform_continuous_bernoulli,
    (Uniform, Exponential): _uniform_exponential,
    (Uniform, Gamma): _uniform_gamma,
    (Uniform, Gumbel): _uniform_gumbel,
    (Uniform, Normal): _uniform_normal,
    (Uniform, Pareto): _uniform_pareto,
}
