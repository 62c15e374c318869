"""Distributions of events and counts, with probabilities or logits as parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.distributions import constraints
from gradcli.core.distributions.distribution import Distribution, ExponentialFamily
from gradcli.core.distributions.functions import between_0_and_1, cast, expand, f, f_nn, log_odds, row_logits, smallest, together
from gradcli.core.distributions.positive import Gamma
from gradcli.core.distributions.sampling import filled
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


class Odds(Distribution, hidden=True):
    """Distributions of single events that are given by `probs` or by `logits`."""

    PARAMETERS = {"probs": constraints.unit_interval, "logits": constraints.real}
    EXCLUSIVE = ("probs", "logits")
    DERIVED = {"probs": lambda self: f.sigmoid(self.logits), "logits": lambda self: log_odds(self.probs)}

    @property
    def given(self) -> Tensor:
        """The parameter that was given."""
        held = vars(self)
        return held[next(name for name in self.EXCLUSIVE if name in held)]

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return Size(self.given.shape)


class Bernoulli(Odds, ExponentialFamily):
    """A single event."""

    SUPPORT = constraints.boolean
    has_enumerate_support = True
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Tensor:
        return f.where(self.probs == 0.5, math.nan, cast(self.probs >= 0.5, self.probs.dtype))

    def draw(self, sample_shape: Any) -> Tensor:
        return f.bernoulli(expand(self.probs, self.full(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        value = self.checked(value)
        logits, value = together(self.logits, value)
        return -f_nn("binary_cross_entropy_with_logits", logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return f_nn("binary_cross_entropy_with_logits", self.logits, self.probs, reduction="none")

    def support_values(self) -> Tensor:
        return f.arange(2, dtype=self.given.dtype)


class Geometric(Odds):
    """The number of failures before the first success."""

    SUPPORT = constraints.nonnegative_integer
    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: f.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def validate(self) -> None:
        super().validate()
        probs = vars(self).get("probs")
        if self.validates and probs is not None and not (constraints.elements(probs) > 0).all():
            wrong = f.masked_select(f.detach(probs), f.logical_not(probs > 0))
            text = f"Expected parameter probs (Tensor of shape {tuple(probs.shape)}) of distribution {self!r} to be positive but found"
            raise ProgramError("ValueError", f"{text} invalid values:\n{formatted(wrong)}")

    def draw(self, sample_shape: Any) -> Tensor:
        u = filled("uniform_", self.full(sample_shape), self.probs.dtype, smallest(self.probs.dtype), 1)
        return f.floor(f.log(u) / f.log1p(-self.probs))

    def log_prob(self, value: Any) -> Tensor:
        value, probs = together(self.checked(value), self.probs)
        certain = f.logical_and(probs == 1, value == 0)
        return value * f.log1p(-f.where(certain, 0.0, probs)) + f.log(self.probs)

    def entropy(self) -> Tensor:
        return f_nn("binary_cross_entropy_with_logits", self.logits, self.probs, reduction="none") / self.probs


class Trials(Odds, hidden=True):
    """Counts over trials, the number of which is a parameter."""

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        vars(self)["total_count"] = cast(self.total_count, self.given.dtype)


class Binomial(Trials):
    """The number of successes in `total_count` trials."""

    PARAMETERS = {"total_count": constraints.nonnegative_integer, **Odds.PARAMETERS}
    DEFAULTS = {"total_count": 1}
    has_enumerate_support = True
    support = property(lambda self: constraints.integer_interval(0, self.total_count))
    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: f.clamp(f.floor((self.total_count + 1) * self.probs), max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def draw(self, sample_shape: Any) -> Tensor:
        shape = self.full(sample_shape)
        return f.binomial(expand(self.total_count, shape), expand(self.probs, shape))

    def log_prob(self, value: Any) -> Tensor:
        value, n, logits = self.checked(value), self.total_count, self.logits
        choices = f.lgamma(value + 1), f.lgamma(n - value + 1)
        # max(logits, 0), whose derivative at 0 is 1 / 2
        above = (f.clamp(logits, min=0) + logits - f.clamp(logits, max=0)) / 2
        norm = n * above + n * f.log1p(f.exp(-f.abs(logits))) - f.lgamma(n + 1)
        return value * logits - choices[0] - choices[1] - norm

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -f.sum(f.exp(log_prob) * log_prob, 0)

    def _one_count(self, what: str) -> int:
        counts = np.asarray(self.total_count.array)
        if counts.min() != counts.max():
            raise ProgramError("NotImplementedError", f"Inhomogeneous total count not supported by `{what}`.")
        return int(counts.max())

    def support_values(self) -> Tensor:
        return f.arange(1 + self._one_count("enumerate_support"), dtype=self.given.dtype)


class NegativeBinomial(Trials):
    """The number of successes before `total_count` failures."""

    PARAMETERS = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    SUPPORT = constraints.nonnegative_integer
    mean = property(lambda self: self.total_count * f.exp(self.logits))
    mode = property(lambda self: f.clamp(f.floor((self.total_count - 1) * f.exp(self.logits)), min=0.0))
    variance = property(lambda self: self.mean / f.sigmoid(-self.logits))

    def draw(self, sample_shape: Any) -> Tensor:
        rate = Gamma(self.total_count, f.exp(-self.logits), False).draw(sample_shape)
        return f.poisson(rate)

    def log_prob(self, value: Any) -> Tensor:
        value, n = self.checked(value), self.total_count
        free = n * f_nn("logsigmoid", -self.logits) + value * f_nn("logsigmoid", self.logits)
        norm = -f.lgamma(n + value) + f.lgamma(1.0 + value) + f.lgamma(n)
        return free - f.where(n + value == 0.0, 0.0, norm)


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Numbers from 0 to 1 with a density of the form of Bernoulli's (Loaiza-Ganem and Cunningham 2019).

    Near probabilities of one half, within `lims`, Taylor's series take the place of quotients.
    """

    ARGUMENTS = {"probs": None, "logits": None, "lims": (0.499, 0.501), "validate_args": None}
    DERIVED = {"probs": lambda self: between_0_and_1(f.sigmoid(self.logits)), "logits": lambda self: log_odds(self.probs)}
    SUPPORT = constraints.unit_interval
    has_rsample = True
    HELD = "lims"
    lims: tuple[float, float]

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        if self.explicit and "probs" in vars(self) and not constraints.unit_interval.holds(self.probs):
            raise ProgramError("ValueError", "The parameter probs has invalid values")
        if "probs" in vars(self):
            vars(self)["probs"] = between_0_and_1(self.probs)

    def _cut(self) -> tuple[Tensor, Tensor]:
        """Where the quotients are used, and probabilities that are fit for them everywhere."""
        far = f.logical_or(self.probs <= self.lims[0], self.probs > self.lims[1])
        return far, f.where(far, self.probs, self.lims[0] * f.ones_like(self.probs))

    def log_norm(self) -> Tensor:
        far, p = self._cut()
        below = f.where(p <= 0.5, p, f.zeros_like(p))
        above = f.where(p >= 0.5, p, f.ones_like(p))
        ends = f.where(p <= 0.5, f.log1p(-2.0 * below), f.log(2.0 * above - 1.0))
        exact = f.log(f.abs(f.log1p(-p) - f.log(p))) - ends
        x = f.pow(self.probs - 0.5, 2)
        return f.where(far, exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        far, p = self._cut()
        exact = p / (2.0 * p - 1.0) + 1.0 / (f.log1p(-p) - f.log(p))
        x = self.probs - 0.5
        return f.where(far, exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * f.pow(x, 2)) * x)

    @property
    def variance(self) -> Tensor:
        far, p = self._cut()
        exact = p * (p - 1.0) / f.pow(1.0 - 2.0 * p, 2) + 1.0 / f.pow(f.log1p(-p) - f.log(p), 2)
        x = f.pow(self.probs - 0.5, 2)
        return f.where(far, exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def draw(self, sample_shape: Any) -> Tensor:
        return self.icdf(filled("rand", self.full(sample_shape), self.probs.dtype))

    def log_prob(self, value: Any) -> Tensor:
        value = self.checked(value)
        logits, value = together(self.logits, value)
        return -f_nn("binary_cross_entropy_with_logits", logits, value, reduction="none") + self.log_norm()

    def cdf(self, value: Any) -> Tensor:
        value = self.checked(value)
        far, p = self._cut()
        exact = (f.pow(p, value) * f.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = f.where(far, exact, value)
        return f.where(value <= 0.0, f.zeros_like(value), f.where(value >= 1.0, f.ones_like(value), inside))

    def icdf(self, value: Any) -> Tensor:
        far, p = self._cut()
        exact = (f.log1p(-p + value * (2.0 * p - 1.0)) - f.log1p(-p)) / (f.log(p) - f.log1p(-p))
        return f.where(far, exact, value)

    def entropy(self) -> Tensor:
        zero, one = f.log1p(-self.probs), f.log(self.probs)
        return self.mean * (zero - one) - self.log_norm() - zero


class Categorical(Odds):
    """One of several events; probabilities are over the last dimension, and need not sum to 1."""

    PARAMETERS = {"probs": constraints.simplex, "logits": constraints.real_vector}
    DERIVED = {"probs": lambda self: f.softmax(self.logits, -1), "logits": lambda self: row_logits(self.probs)}
    has_enumerate_support = True
    support = property(lambda self: constraints.integer_interval(0, self.count - 1))
    count = property(lambda self: self.given.shape[-1])
    mean = variance = property(lambda self: f.full(self.full(), math.nan, dtype=self.probs.dtype))
    mode = property(lambda self: f.argmax(self.probs, -1))

    def keep(self, given: dict[str, Any]) -> None:
        name, value = next((name, value) for name, value in given.items() if value is not None)
        if value.dim() < 1:
            raise ProgramError("ValueError", f"`{name}` parameter must be at least one-dimensional.")
        vars(self)[name] = value / f.sum(value, -1, True) if name == "probs" else value - f.logsumexp(value, -1, True)
        self.shapes(value.shape[:-1])

    def draw(self, sample_shape: Any) -> Tensor:
        rows = f.reshape(self.probs, (-1, self.count))
        drawn = f.multinomial(rows, Size(sample_shape).numel(), True)
        return f.reshape(f.t(drawn), self.full(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        index = f.unsqueeze(cast(self.checked(value), dtypes.int64), -1)
        index, logits = f.broadcast_tensors(index, self.logits)
        return f.squeeze(f.gather(logits, -1, f.narrow(index, -1, 0, 1)), -1)

    def entropy(self) -> Tensor:
        lowest = float(np.finfo(self.logits.dtype.np).min)
        return -f.sum(f.clamp(self.logits, min=lowest) * self.probs, -1)

    def support_values(self) -> Tensor:
        return f.arange(self.count)


class OfCategorical(Distribution, hidden=True):
    """Distributions of vectors that are made of those of an index, by the same parameters."""

    PARAMETERS = Categorical.PARAMETERS
    EXCLUSIVE = ("probs", "logits")
    index: Categorical
    probs = property(lambda self: self.index.probs)
    logits = property(lambda self: self.index.logits)
    param_shape = property(lambda self: self.index.param_shape)

    def keep(self, given: dict[str, Any]) -> None:
        self.index = Categorical(*(given[name] for name in self.EXCLUSIVE))
        self.shapes(self.index.batch_shape, self.index.param_shape[-1:])

    def expanded(self, source: Any) -> None:
        self.index = source.index.expand(self.batch_shape)


class OneHotCategorical(OfCategorical):
    """One of several events, as a vector that is 1 for the event and 0 elsewhere."""

    SUPPORT = constraints.one_hot
    has_enumerate_support = True
    mean = property(lambda self: self.probs)
    mode = property(lambda self: cast(f_nn("one_hot", self.index.mode, self.index.count), self.probs.dtype))
    variance = property(lambda self: self.probs * (1 - self.probs))

    def draw(self, sample_shape: Any) -> Tensor:
        with recording(False):
            drawn = f_nn("one_hot", self.index.sample(sample_shape), self.index.count)
        return cast(drawn, self.probs.dtype)

    def log_prob(self, value: Any) -> Tensor:
        return self.index.log_prob(f.max(self.checked(value), -1)[1])

    def entropy(self) -> Tensor:
        return self.index.entropy()

    def support_values(self) -> Tensor:
        return f.eye(self.index.count, dtype=self.probs.dtype)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with the gradient of the probabilities as that of the sample (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - f.detach(self.probs))


class Multinomial(OfCategorical):
    """How often each of several events happens in `total_count` trials."""

    FIELDS = HELD = "total_count"
    ARGUMENTS = {"total_count": 1, "probs": None, "logits": None, "validate_args": None}
    support = property(lambda self: constraints.multinomial(self.total_count))
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    total_count: int

    def keep(self, given: dict[str, Any]) -> None:
        if not isinstance(self.total_count, int):
            raise ProgramError("NotImplementedError", "inhomogeneous total_count is not supported")
        super().keep(given)

    def draw(self, sample_shape: Any) -> Tensor:
        drawn = self.index.sample((self.total_count, *sample_shape))
        counts = f.zeros(self.full(sample_shape), dtype=dtypes.int64)
        drawn = f.movedim(drawn, 0, -1)
        return cast(f.scatter_add(counts, -1, drawn, f.ones_like(drawn)), self.probs.dtype)

    def log_prob(self, value: Any) -> Tensor:
        value = self.checked(value)
        logits, value = together(self.logits, value)
        logits = f.where(f.logical_and(value == 0, logits == -math.inf), 0.0, logits)
        arranged = f.lgamma(f.sum(value, -1) + 1) - f.sum(f.lgamma(value + 1), -1)
        return arranged + f.sum(logits * value, -1)

    def entropy(self) -> Tensor:
        n = f.tensor(self.total_count)
        first = n * self.index.entropy() - f.lgamma(n + 1)
        counts = Binomial(self.total_count, self.probs)
        support = f.narrow(counts.enumerate_support(False), 0, 1, self.total_count)
        second = f.sum(f.exp(counts.log_prob(support)) * f.lgamma(support + 1), [0, -1])
        return first + second


class LogitRelaxedBernoulli(Odds):
    """The logit of a relaxed event (Maddison et al. 2017)."""

    FIELDS = HELD = "temperature"
    PARAMETERS = Odds.PARAMETERS
    ARGUMENTS = {"temperature": REQUIRED, "probs": None, "logits": None, "validate_args": None}
    SUPPORT = constraints.real
    temperature: Tensor

    def draw(self, sample_shape: Any) -> Tensor:
        shape = self.full(sample_shape)
        p = between_0_and_1(expand(self.probs, shape))
        u = between_0_and_1(filled("rand", shape, p.dtype))
        return (f.log(u) - f.log1p(-u) + f.log(p) - f.log1p(-p)) / self.temperature

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        # PyTorch has it, though `has_rsample` is False
        return self.draw(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        value = self.checked(value)
        logits, value = together(self.logits, value)
        apart = logits - f.mul(value, self.temperature)
        return f.log(self.temperature) + apart - 2 * f.log1p(f.exp(apart))


class ExpRelaxedCategorical(OfCategorical):
    """The logarithm of a relaxed one-hot vector (Maddison et al. 2017)."""

    FIELDS = HELD = "temperature"
    ARGUMENTS = LogitRelaxedBernoulli.ARGUMENTS
    SUPPORT = constraints.real_vector
    has_rsample = True
    temperature: Tensor

    def draw(self, sample_shape: Any) -> Tensor:
        u = between_0_and_1(filled("rand", self.full(sample_shape), self.logits.dtype))
        scores = (self.logits + -f.log(-f.log(u))) / self.temperature
        return scores - f.logsumexp(scores, -1, True)

    def log_prob(self, value: Any) -> Tensor:
        k = self.index.count
        value = self.checked(value)
        logits, value = together(self.logits, value)
        scale = f.lgamma(f.full_like(self.temperature, float(k))) - f.mul(f.log(self.temperature), -(k - 1))
        score = logits - f.mul(value, self.temperature)
        return f.sum(score - f.logsumexp(score, -1, True), -1) + scale
