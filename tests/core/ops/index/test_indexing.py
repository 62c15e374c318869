"""Indexes that are drawn at random against numpy's answers, and the bound on a result's size.

What PyTorch answers is recorded in conformance/cases/ops/indexing.txt.
"""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.core.ops.index import indexing
from gradcli.core.tensor.tensor import wrap
from gradcli.errors import LimitError
from gradcli.limits import Limits, current, use


def test_random_indexes_agree_with_numpy() -> None:
    rng = np.random.Generator(np.random.PCG64(0))
    array = rng.normal(size=(3, 4, 5))
    choices = [
        lambda n: slice(int(rng.integers(0, n)), None, int(rng.integers(1, 3))),
        lambda n: slice(None),
        lambda n: rng.integers(-n, n, size=2),
        lambda n: np.arange(n) % 2 == 0,
    ]
    for _ in range(200):
        picked = [choices[int(rng.integers(len(choices)))](n) for n in array.shape]
        masks = [i for i in picked if isinstance(i, np.ndarray) and i.dtype == bool]
        if len(masks) > 1 or (masks and int(masks[0].sum()) != 2):
            continue
        index = tuple(wrap(i) if isinstance(i, np.ndarray) else i for i in picked)
        np.testing.assert_array_equal(indexing.getitem(wrap(array), index).array, array[tuple(picked)])
        changed, expected = array.copy(), array.copy()
        indexing.setitem(wrap(changed), index, 7.0)
        expected[tuple(picked)] = 7.0
        np.testing.assert_array_equal(changed, expected)


def test_the_size_of_a_result_is_bounded() -> None:
    before = current
    use(Limits(elements=1000))
    try:
        with pytest.raises(LimitError):
            indexing.getitem(wrap(np.zeros(10)), wrap(np.zeros(1001, np.int64)))
        assert indexing.getitem(wrap(np.zeros(10)), wrap(np.zeros(1000, np.int64))).array.shape == (1000,)
    finally:
        use(before)
