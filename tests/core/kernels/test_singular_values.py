"""The singular value decomposition of wide matrices."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.core.kernels import singular_values


@pytest.mark.parametrize("full", [False, True])
def test_factors_of_single_precision_are_rounded_once(full: bool) -> None:
    """What is 0 in exact arithmetic is no larger than the rest that double precision leaves."""
    a = np.array([[2, 1, 1], [-1, 2, 1]])
    found = singular_values.svd(a.astype(np.float32), full)
    for part, exact in zip(found, singular_values.svd(a.astype(np.float64), full), strict=True):
        assert part.dtype == np.float32
        assert (part == exact.astype(np.float32)).all()
    assert abs(found[2][1, 2]) < 1e-15
