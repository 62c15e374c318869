"""Layers and activations against PyTorch 2.13: initial values, texts, results, and what dropout draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.random import generator
from gradcli.core.vocabulary import library
from tests.core.nn.calling import RECORDED, close, make, script, tensor


def test_initial_values_and_reprs_of_layers() -> None:
    generator.default.manual_seed(4)
    for name, args, options, text, state in RECORDED["layers"]:
        module = make(name, *args, **options)
        assert repr(module) == text
        found = script(module, "state_dict").table
        assert list(found) == list(state)
        for key, values in state.items():
            close(found[key].array, values)


@pytest.mark.parametrize(("name", "args", "options", "text", "values"), RECORDED["activations"])
def test_modules_without_parameters(name: str, args: list[Any], options: dict[str, Any], text: str, values: Any) -> None:
    module = make(name, *args, **options)
    assert repr(module) == text
    if values is not None:
        close(module(tensor(RECORDED["input"])).array, values)


def test_dropout_draws_what_torch_draws() -> None:
    generator.default.manual_seed(2)
    dropout = library.find("nn.functional.dropout")
    first, second, third = RECORDED["dropout"]
    close(dropout(tensor(np.ones(6)), 0.3).array, first)
    close(dropout(tensor(np.ones(4)), 0.5).array, second)
    close(make("Dropout", 0.9)(tensor(np.ones(5))).array, third)
