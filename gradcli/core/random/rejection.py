"""Random numbers drawn by rejection, number for number those of PyTorch: gamma, Poisson and binomial.

A generator is asked for one float64 uniform or normal at a time, in PyTorch's order. The methods are those of Marsaglia and Tsang (2000)
for the gamma distribution, and of Hörmann (1993) for the two others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.kernels import Array
from gradcli.core.random.generator import Generator
from gradcli.errors import runtime_error

#: PyTorch writes this constant as a float32
_THIRD = float(np.float32(1) / np.float32(3))
_SQUEEZE = float(np.float32(0.0331))
#: multiply-adds that take as long as one draw
_WORK = 5000


def each(draw: Callable[..., float], generator: Generator, *parameters: Array) -> Array:
    """Draws for each element of arrays of one shape, in C order, as float64. Raises LimitError."""
    limits.check_work(parameters[0].size * _WORK)
    values = [np.ravel(p).tolist() if p.dtype != np.float32 else list(np.ravel(p)) for p in parameters]
    out: list[float] = []
    for row in zip(*values, strict=True):
        if not len(out) & 255:
            limits.evaluation.tick()
        out.append(draw(generator, *row))
    return np.array(out, np.float64).reshape(parameters[0].shape)


def gamma(generator: Generator, alpha: Any) -> float:
    """A number of the gamma distribution with the shape `alpha` and the rate 1; arithmetic on `alpha` is in its own precision."""
    uniform, normal = generator.one_uniform, generator.one_normal
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - uniform()) ** float(1 / alpha)
        alpha = alpha + type(alpha)(1)
    d = float(alpha - type(alpha)(_THIRD))
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal()
        y = 1.0 + c * x
        while y <= 0:
            x = normal()
            y = 1.0 + c * x
        v, square = y * y * y, x * x
        u = 1 - uniform()
        if u < 1.0 - _SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def poisson(generator: Generator, mean: float) -> float:
    """A number of the Poisson distribution, nan where the mean is infinite. RuntimeError for a negative mean."""
    uniform, rate = generator.one_uniform, float(mean)
    if not rate >= 0:
        raise runtime_error("invalid Poisson rate, expected rate to be non-negative")
    if rate < 10:
        least, count, product = math.exp(-rate), 0, 1.0
        while rate:
            product *= uniform()
            if product <= least:
                break
            count += 1
        return count
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha, bound = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = ((2 * a / us + b) * u + rate + 0.43) // 1  # nan of an infinite rate
        if us >= 0.07 and v <= bound:
            return k
        if k < 0 or (us < 0.013 and v > us) or k > 2.5e305:  # the logarithm of k! would be infinite
            continue
        most = -rate + k * math.log(rate) - math.lgamma(k + 1)
        if math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= most:
            return k


def binomial(generator: Generator, trials: float, probability: float) -> float:
    """A number of successes in `trials`, each of which succeeds with the probability given."""
    count, prob = float(trials), float(probability)
    if math.isnan(count):
        return math.nan  # PyTorch never ends
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    if prob <= 0.5:
        return _successes(generator, count, prob)
    return count - _successes(generator, count, 1.0 - prob) if prob > 0.5 else math.nan


def _successes(generator: Generator, count: float, prob: float) -> float:
    if count * prob >= 10:
        return _transformed_rejection(generator, count, prob)
    log_failure, trials, found = math.log1p(-prob), 0.0, 0
    while True:
        step = math.log(generator.one_uniform()) / log_failure
        if step > count:  # infinity too
            return found
        trials += math.ceil(step)
        if trials > count:
            return found
        found += 1


#: what Stirling's formula for log(k!) leaves, for k below 10
_REST = [math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)) for k in range(10)]


def _stirling_rest(k: float) -> float:
    if k <= 9:
        return _REST[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _floor(x: float) -> float:
    """The largest whole number below x; infinity and nan themselves."""
    return float(math.floor(x)) if math.isfinite(x) else x


def _transformed_rejection(generator: Generator, count: float, prob: float) -> float:
    deviation = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    centre, bound, odds = count * prob + 0.5, 0.92 - 4.2 / b, prob / (1 - prob)
    alpha, mode = (2.83 + 5.1 / b) * deviation, _floor((count + 1) * prob)
    while True:
        u, v = generator.one_uniform() - 0.5, generator.one_uniform()
        us = 0.5 - abs(u)
        k = _floor((2 * a / us + b) * u + centre)
        if us >= 0.07 and v <= bound:
            return k
        if k < 0 or k > count:
            continue
        most = (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
        most += (count + 1) * math.log((count - mode + 1) / (count - k + 1))
        most += (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
        most += _stirling_rest(mode) + _stirling_rest(count - mode) - _stirling_rest(k) - _stirling_rest(count - k)
        if math.log(v * alpha / (a / (us * us) + b)) <= most:
            return k
