"""Modules called as scripts call them, and what PyTorch 2.13 said of them: nn_recorded.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.vocabulary import library

RECORDED = json.loads((Path(__file__).parent / "nn_recorded.json").read_text())


def make(name: str, *args: Any, **kwargs: Any) -> Any:
    return library.find(f"nn.{name}")(*args, **kwargs)


def script(value: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a method as scripts do."""
    return type(value).SCRIPT_METHODS[name](value, *args, **kwargs)


def attribute(value: Any, name: str) -> Any:
    return type(value).SCRIPT_ATTRIBUTES[name](value)


def tensor(values: Any) -> Tensor:
    return wrap(np.array(values, np.float32))


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(np.asarray(got).ravel(), want, rtol=2e-6, atol=1e-6)


def two_layers() -> Any:
    """Sequential(Linear, ReLU, Sequential(Tanh, Linear))."""
    inner = make("Sequential", make("Tanh"), make("Linear", 3, 1))
    return make("Sequential", make("Linear", 2, 3), make("ReLU"), inner)
