"""LBFGS against PyTorch 2.13's steps on Rosenbrock's function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.tensor.tensor import Tensor, wrap
from tests.core.optim.calling import RECORDED, close, leaf, make


@pytest.mark.parametrize(("options", "steps"), RECORDED["lbfgs"])
def test_lbfgs_on_rosenbrock(options: dict[str, Any], steps: list[Any]) -> None:
    x = leaf([-1.2, 1.0], "float64")
    optimizer = make("LBFGS", [x], **options)

    def closure() -> Tensor:
        a, b = x.array.tolist()
        x.grad = wrap(np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)]))
        return wrap(np.array((1 - a) ** 2 + 100 * (b - a * a) ** 2))

    for loss, place, evaluations, iterations in steps:
        close(optimizer.step(closure).item(), [loss], 1e-4)
        close(x.array, place, 1e-4)
        state = optimizer.state[x]
        assert (state["func_evals"], state["n_iter"]) == (evaluations, iterations)
