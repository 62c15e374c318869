"""torch.nn.init against PyTorch 2.13."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.random import generator
from gradcli.core.vocabulary import library
from tests.core.nn.calling import RECORDED, close, tensor


@pytest.mark.parametrize(("name", "options", "values"), RECORDED["init"])
def test_init(name: str, options: dict[str, Any], values: list[float]) -> None:
    generator.default.manual_seed(3)
    w = tensor(np.zeros((5, 4)))
    assert library.find(f"nn.init.{name}")(w, **options) is w
    close(w.array, values)
