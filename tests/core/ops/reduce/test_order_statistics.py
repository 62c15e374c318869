"""Which of equal elements median and mode return: indices as PyTorch 2.13 gave them."""

from __future__ import annotations

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.tensor.tensor import Tensor, wrap


def row(*values: float) -> Tensor:
    return wrap(np.array(values, np.float32))


def zeros(count: int) -> Tensor:
    return wrap(np.zeros(count, np.float32))


def test_median_takes_the_middle_of_equal_elements() -> None:
    assert [catalog.function("median")(zeros(n), 0)[1].item() for n in (2, 3, 4, 5, 9)] == [0, 1, 1, 2, 4]


def test_mode_takes_the_last_of_equal_elements() -> None:
    assert catalog.function("mode")(row(2, 1, 2, 1, 3))[1].item() == 3
