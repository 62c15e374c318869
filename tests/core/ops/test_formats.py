"""Dtypes and strides of results, for every function, every dtype and every memory format, against those of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.functions import catalog
from gradcli.core.kernels.memory_format import element_strides
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from tests import settings
from tests.core.ops import formats

RECORDED = formats.recorded()


def make(dtype: str, array: Any) -> Tensor:
    """A tensor with the values, the strides and the dtype."""
    wanted = dtypes.NAMED[dtype]
    step = wanted.np.itemsize
    strides = tuple(s // array.itemsize for s in array.strides)
    memory = np.zeros(1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True)), wanted.np)
    made = np.lib.stride_tricks.as_strided(memory, array.shape, tuple(s * step for s in strides))
    rows = made[:1] if 0 in strides else made
    rows[...] = dtypes.cast(array[: len(rows)], wanted)
    return Tensor(made, wanted)


def describe(value: Any) -> str | None:
    """The dtype and the strides of a tensor."""
    return f"{value.dtype.name}{list(element_strides(value.array))}" if type(value) is Tensor else None


@pytest.mark.parametrize("name", RECORDED)
def test_dtypes_and_strides_are_those_of_pytorch(name: str) -> None:
    settings.reset()
    ours = formats.answers([name], catalog.function, make, describe)[name]
    theirs = RECORDED[name]
    # what gradcli refuses, it says; what PyTorch refuses is compared by the recorded scripts
    assert {call: text for call, text in ours.items() if call in theirs} == {call: text for call, text in theirs.items() if call in ours}


def test_most_calls_are_compared() -> None:
    """A function that refused everything would pass the test above."""
    settings.reset()
    ours = formats.answers(list(RECORDED), catalog.function, make, describe)
    answered = sum(call in ours[name] for name, calls in RECORDED.items() for call in calls)
    assert answered > 0.95 * sum(map(len, RECORDED.values()))
