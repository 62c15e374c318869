"""Steps of the power method, which approximate the largest singular value of a weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.random import generator
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor


class PowerIteration:
    """The steps for weights as matrices, whose rows stand along the dimension `dim`; norms count as `eps` at least."""

    def __init__(self, dim: int, eps: float) -> None:
        self.dim = dim
        self.eps = eps

    def matrix(self, weight: Any) -> Any:
        """The weight as a matrix."""
        rank = weight.array.ndim
        if self.dim:
            order = (self.dim, *(d for d in range(rank) if d != self.dim))
            weight = catalog.function("permute")(weight, order)
        return catalog.function("flatten")(weight, 1)

    def start(self, matrix: Tensor) -> tuple[Tensor, Tensor]:
        """Random vectors of norm 1, one for the rows and one for the columns."""
        drawn = [Tensor(generator.default.normal((size,), matrix.dtype), matrix.dtype) for size in matrix.array.shape]
        with recording(False):
            return self.normalized(drawn[0]), self.normalized(drawn[1])

    def normalized(self, vector: Tensor) -> Any:
        """The vector over its norm."""
        return catalog.function("nn.functional.normalize")(vector, dim=0, eps=self.eps)

    def update(self, vector: Tensor, matrix: Any, other: Tensor) -> None:
        """Write the normalized product of the matrix and the other vector into a vector: a step of the program."""
        limits.evaluation.tick()
        with recording(False):
            made = self.normalized(catalog.function("mv")(matrix, other))
        np.copyto(vector.array, made.array)
        vector.counter().count += 1
