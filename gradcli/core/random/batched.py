"""The generator of `vmap(..., randomness="different")`, which draws for all samples at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.random.generator import Generator, Shape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.batched import needs_samples
from gradcli.core.tensor.dtypes import DType
from gradcli.errors import ProgramError


class BatchedGenerator(Generator):
    """A function that draws runs for one sample after the other. The first draws for all; the others get their parts of these draws."""

    __slots__ = ("at", "before", "count", "drawn", "refusal", "sample", "source")

    def __init__(self, source: Generator, count: int, refusal: ProgramError | None = None) -> None:
        super().__init__()
        #: the error of each draw, where none is allowed
        self.refusal = refusal
        self.source, self.count = source, count
        #: the draws of the function that runs, each for all samples; the sample that it runs for, and the draw that it comes to next
        self.drawn: dict[tuple[int, ...], list[Array]] = {}
        #: the draws of the function before
        self.before: dict[tuple[int, ...], list[Array]] = {}
        self.sample = -1
        self.at: dict[tuple[int, ...], int] = {}

    def begin(self, sample: int) -> None:
        """A function begins to run for a sample."""
        self.sample, self.at = sample, {}

    def end(self) -> None:
        """A function has run for all samples."""
        self.before, self.drawn, self.sample = self.drawn, {}, -1

    def place(self) -> tuple[int, ...]:
        """The samples of this vmap and of those around it that a function runs for."""
        return (self.sample, *(self.source.place() if isinstance(self.source, BatchedGenerator) else ()))

    def manual_seed(self, seed: int) -> Generator:
        self.source.manual_seed(seed)
        return self

    def _part(self, draw: Callable[[], Array]) -> Array:
        if self.refusal is not None:
            raise self.refusal
        if self.sample < 0:
            raise needs_samples()
        outer = self.place()[1:]
        drawn, at = self.drawn.setdefault(outer, []), self.at.get(outer, 0)
        if at == len(drawn):
            drawn.append(draw())
        self.at[outer] = at + 1
        return np.array(drawn[at][self.sample])

    def uniform(self, shape: Shape, dtype: DType = dtypes.float32, low: float = 0.0, high: float = 1.0) -> Array:
        return self._part(lambda: self.source.uniform((self.count, *shape), dtype, low, high))

    def normal(self, shape: Shape, dtype: DType = dtypes.float32, mean: float = 0.0, std: float = 1.0, *, contiguous: bool = True) -> Array:
        return self._part(lambda: self.source.normal((self.count, *shape), dtype, mean, std, contiguous=contiguous))

    def exponential(self, shape: Shape, dtype: DType = dtypes.float32, lambd: float = 1.0) -> Array:
        return self._part(lambda: self.source.exponential((self.count, *shape), dtype, lambd))

    def log_normal(self, shape: Shape, dtype: DType = dtypes.float32, mean: float = 1.0, std: float = 2.0) -> Array:
        return self._part(lambda: self.source.log_normal((self.count, *shape), dtype, mean, std))

    def cauchy(self, shape: Shape, dtype: DType = dtypes.float32, median: float = 0.0, sigma: float = 1.0) -> Array:
        return self._part(lambda: self.source.cauchy((self.count, *shape), dtype, median, sigma))

    def geometric(self, shape: Shape, dtype: DType, p: float) -> Array:
        return self._part(lambda: self.source.geometric((self.count, *shape), dtype, p))

    def randint(self, low: int, high: int | None, shape: Shape, dtype: DType = dtypes.int64) -> Array:
        return self._part(lambda: self.source.randint(low, high, (self.count, *shape), dtype))

    def random_full(self, shape: Shape, dtype: DType = dtypes.int64) -> Array:
        return self._part(lambda: self.source.random_full((self.count, *shape), dtype))

    def randperm(self, n: int, dtype: DType = dtypes.int64) -> Array:
        return self._part(lambda: np.stack([self.source.randperm(n, dtype) for _ in range(self.count)]))

    def bernoulli(self, p: float | Array, shape: Shape | None = None, dtype: DType = dtypes.float32) -> Array:
        if not isinstance(p, np.ndarray):
            return self._part(lambda: self.source.bernoulli(p, (self.count, *(shape or ())), dtype))
        size = p.shape if shape is None else shape
        kind = dtypes.float64 if p.dtype == np.float64 else dtypes.float32
        drawn = self._part(lambda: self.source.uniform((self.count, math.prod(size)), kind))
        return (drawn.reshape(size) < p).astype(dtype.np)

    def one_uniform(self) -> float:
        raise self.refused()

    def one_normal(self) -> float:
        raise self.refused()

    def multinomial(self, weights: Array, num_samples: int, replacement: bool = False, dtype: Any = None, largest: Any = None) -> Array:
        raise self.refused()

    def refused(self) -> ProgramError:
        """The error of a draw that is not part of gradcli, or that is not allowed."""
        text = "numbers drawn by tensors, or from a given generator, with randomness='different' are not part of gradcli"
        return self.refusal or ProgramError("NotImplementedError", text)
