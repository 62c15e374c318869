"""Random tensors for distributions; those of the gamma and Dirichlet distributions are differentiable by their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.distributions.functions import f, method, smallest
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.kernels.special import incomplete_gamma
from gradcli.core.kernels.special.gamma import lgamma
from gradcli.core.ops.rules import recorded
from gradcli.core.random import generator, rejection
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor


def filled(name: str, shape: Any, dtype: DType, *bounds: float) -> Tensor:
    """A tensor filled by the method `name`, such as `uniform_`; `rand` and `randn` are functions of the shape alone."""
    if not name.endswith("_"):
        return getattr(f, name)(tuple(shape), dtype=dtype)
    return method(name, f.zeros(tuple(shape), dtype=dtype), *bounds)


def _slope(share: Callable[[Array], Array], a: Array) -> Array:
    """The derivative of a function of positive numbers, by differences of fourth order."""
    step = 1e-3 * a
    near, far = share(a + step) - share(a - step), share(a + 2 * step) - share(a - 2 * step)
    return (8 * near - far) / (12 * step)


def _gamma_by_shape(alpha: Array, x: Array) -> Array:
    """The derivative of a gamma number by the shape: minus that of the distribution function, over the density."""
    a, x = np.asarray(alpha, np.float64), np.asarray(x, np.float64)
    slope = _slope(lambda a: np.where(x > a, -incomplete_gamma.upper(a, x), incomplete_gamma.lower(a, x)), a)
    return -slope * np.exp(x + lgamma(a) - (a - 1) * np.log(x))


def _beta_tail(a: Array, b: Array, x: Array) -> Array:
    """The regularised incomplete beta function by its continued fraction, which converges fast for x below the mean."""
    front = np.exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * np.log(x) + b * np.log1p(-x)) / a
    d = 1 / (1 - (a + b) * x / (a + 1))
    c, found = np.ones_like(x), d
    for m in range(1, 200):
        for step in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + step * d)
            c = 1 + step / c
            found = found * c * d
    return np.asarray(front * found)


def _beta_by_shape(a: Array, b: Array, x: Array) -> Array:
    """The derivative of a beta number by its first parameter."""
    upper = x > (a + 1) / (a + b + 2)

    def share(a: Array) -> Array:
        tail = _beta_tail(np.where(upper, b, a), np.where(upper, a, b), np.where(upper, 1 - x, x))
        return np.where(upper, -tail, tail)

    log_density = lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1) * np.log(x) + (b - 1) * np.log1p(-x)
    return -_slope(share, a) * np.exp(-log_density)


def _gamma_rule(xp: Any, grad: Any, alpha: Any, out: Any) -> Any:
    drawn = xp.plain(out)
    slope = _gamma_by_shape(xp.plain(alpha), drawn).astype(drawn.dtype)
    return grad * (Tensor(slope, grad.dtype) if type(grad) is Tensor else slope)


def _dirichlet_rule(xp: Any, grad: Any, alpha: Any, out: Any) -> Any:
    drawn = xp.plain(out)
    a, x = np.asarray(xp.plain(alpha), np.float64), np.asarray(drawn, np.float64)
    slope = (_beta_by_shape(a, a.sum(-1, keepdims=True) - a, x) / (1 - x)).astype(drawn.dtype)
    rest = grad - xp.sum(grad * out, -1, True)
    return rest * (Tensor(slope, grad.dtype) if type(grad) is Tensor else slope)


_GAMMA = Op("StandardGammaBackward0", lambda x: x, "alpha", saved="self=alpha result", alpha=Rule(_gamma_rule, "grad * d(out) / d(alpha)"))
_DIRICHLET = Op("_DirichletBackward", lambda x: x, "alpha", alpha=Rule(_dirichlet_rule, "grad * d(out) / d(alpha)"))


def standard_gamma(concentration: Tensor) -> Tensor:
    """Numbers of gamma distributions with the rate 1, differentiable by the shape."""
    dtype = concentration.dtype
    drawn = rejection.each(rejection.gamma, generator.default, np.asarray(concentration.array))
    array = dtypes.cast(np.maximum(drawn, smallest(dtype)), dtype)
    return recorded(_GAMMA, Tensor(array, dtype), concentration)


def dirichlet(concentration: Tensor) -> Tensor:
    """Numbers of Dirichlet distributions over the last dimension, differentiable by the concentrations."""
    dtype = concentration.dtype
    drawn = rejection.each(rejection.gamma, generator.default, np.asarray(concentration.array, np.float64))
    drawn = np.maximum(drawn, np.finfo(np.float64).tiny)
    share = dtypes.cast(drawn / drawn.sum(-1, keepdims=True), dtype)
    below_one = np.nextafter(dtype.np.type(1), dtype.np.type(0)) if dtype is not dtypes.bfloat16 else 1
    array = np.minimum(np.maximum(share, smallest(dtype)), below_one).astype(dtype.np)
    return recorded(_DIRICHLET, Tensor(array, dtype), concentration)
