"""The transpose of interpolation is the same for many elements as for few, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.core.kernels import resampling


@pytest.mark.parametrize("taps", [resampling.nearest(6, 13, None, True), resampling.linear(6, 9, None, True, np.float32)])
def test_many_elements_go_where_few_go(monkeypatch: pytest.MonkeyPatch, taps: resampling.Taps) -> None:
    count = len(taps.places)
    grad = np.random.default_rng(0).standard_normal((2, 3, count, count)).astype(np.float32)
    grad[0] *= -0.0
    expected = resampling.transposed(grad, [taps, taps], [6, 6])
    monkeypatch.setattr(resampling, "_MANY", 1)
    assert resampling.transposed(grad, [taps, taps], [6, 6]).tobytes() == expected.tobytes()
