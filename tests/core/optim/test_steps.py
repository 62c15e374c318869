"""Ten steps of every optimiser against PyTorch 2.13's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from tests.core.optim.calling import RECORDED, close, leaf, make, tuples


@pytest.mark.parametrize(("name", "options", "dtype", "values", "state", "version"), RECORDED["steps"])
def test_ten_steps(
    name: str, options: dict[str, Any], dtype: str, values: list[float], state: dict[str, list[float]], version: int
) -> None:
    x = leaf([1.5, -0.75, 0.25, -2.0], dtype)
    optimizer = make(name, [x], **tuples(options))
    for i in range(10):
        d = x.array
        x.grad = wrap(d * d * d * d.dtype.type(0.5) - d + d.dtype.type(0.1 * i))
        optimizer.step()
    close(x.array, values)
    assert x.version_number == version
    kept = optimizer.state_dict()["state"].get(0, {})
    for key, want in state.items():
        close(kept[key].array, want, 1e-5)
    assert [k for k, v in kept.items() if type(v) is Tensor] == list(state) or not state


def test_half_precision_steps_are_rounded() -> None:
    x = Tensor(np.array([1.0, 3.0], np.float32), dtypes.bfloat16)
    x.requires_grad = True
    x.grad = Tensor(np.array([0.3, 0.7], np.float32), dtypes.bfloat16)
    make("SGD", [x], lr=0.1).step()
    np.testing.assert_array_equal(x.array, dtypes.round_bfloat16(x.array))
