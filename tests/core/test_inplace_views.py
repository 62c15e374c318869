"""Writes into tensors and their views, as PyTorch 2.13 answered: values, versions, the walk of grad_fn, gradients, errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gradcli.core.graph import strided
from gradcli.core.vocabulary import settings
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax.parser import parse_file
from gradcli.source import Source

_RECORDED = json.loads(Path(__file__).with_name("inplace_views_recorded.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("script", "printed"), _RECORDED["cases"], ids=[c[0].split("\n    show")[0] for c in _RECORDED["cases"]])
def test_as_recorded(script: str, printed: list[str]) -> None:
    settings.reset()
    body = [*_RECORDED["header"], "try:", *("    " + line for line in script.split("\n"))]
    body += ["except Exception as e:", '    print(type(e).__name__ + ": " + str(e))']
    written: list[str] = []
    Interpreter(write=written.append, warn=lambda *_: None).run(parse_file(Source("<case>", "\n".join(body))))
    assert "".join(written).splitlines() == printed


def test_gradients_through_writes_are_recorded_as_pytorch_records_them() -> None:
    settings.reset()
    written: list[str] = []
    recorded = _RECORDED["recorded_gradients"]
    Interpreter(write=written.append, warn=lambda *_: None).run(parse_file(Source("<case>", "\n".join(recorded["script"]))))
    assert "".join(written).splitlines() == recorded["printed"]


def test_a_view_finds_its_elements_in_any_layout_of_its_base() -> None:
    memory = np.arange(60.0)
    for base in (memory[:24].reshape(2, 3, 4), memory.reshape(3, 4, 5).transpose(2, 0, 1), memory[::2][:12].reshape(3, 4)):
        for view in (base[1:], base[..., 1], base.swapaxes(0, -1), base[:, ::2]):
            where, whole = strided.geometry(view, base), strided.geometry(base, base)
            np.testing.assert_array_equal(strided.gather(base.copy(), where, whole), view)
            back = strided.scatter(np.ones(view.shape), where, whole)
            outside = strided.outside(where, whole)
            assert back.sum() == view.size
            np.testing.assert_array_equal(back == 0, outside)


def test_overlapping_windows_add_up() -> None:
    base = np.arange(4.0)
    windows = np.lib.stride_tricks.sliding_window_view(base, 2)
    back = strided.scatter(np.ones(windows.shape), strided.geometry(windows, base), strided.geometry(base, base))
    np.testing.assert_array_equal(back, [1.0, 2.0, 2.0, 1.0])
