"""Optimisers called as scripts call them, and PyTorch 2.13's numbers: optim_recorded.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.vocabulary import library

RECORDED = json.loads((Path(__file__).parent / "optim_recorded.json").read_text())


def leaf(values: Any, dtype: str = "float32") -> Tensor:
    tensor = wrap(np.array(values, dtype))
    tensor.requires_grad = True
    return tensor


def make(name: str, *args: Any, **kwargs: Any) -> Any:
    return library.find(f"optim.{name}")(*args, **kwargs)


def tuples(options: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}


def close(got: Any, want: Any, tolerance: float = 2e-6) -> None:
    np.testing.assert_allclose(np.asarray(got, float).ravel(), want, rtol=tolerance, atol=tolerance / 10)
