"""lgamma and digamma of many float32 elements are those of few, to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradcli.core.kernels import Array
from gradcli.core.kernels.special import gamma


@pytest.mark.parametrize("function", [gamma.lgamma, gamma.digamma])
def test_many_elements_are_rounded_as_few(monkeypatch: pytest.MonkeyPatch, function: Callable[[Array], Array]) -> None:
    drawn = np.random.default_rng(0)
    zeros = np.array([1, 2, 1.4616321, -0.50408301, -2.4570247, -1, -7, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e38, 1e-44])
    near = np.outer(zeros, 1 + 10.0 ** drawn.uniform(-7, -1, 200)).reshape(-1)
    x = np.concatenate([drawn.standard_normal(2000) * 10, 10.0 ** drawn.uniform(-40, 38, 2000), near]).astype(np.float32)
    with np.errstate(all="ignore"):
        found = function(x)
        monkeypatch.setattr(gamma, "_MANY", x.size + 1)
        assert found.tobytes() == function(x).tobytes()
