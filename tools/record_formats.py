"""Writes the dtypes and strides of PyTorch's results for the calls of tests/core/ops/formats.py.

    python tools/record_formats.py

PyTorch has to be 2.13, on a CPU.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gradcli.core.functions import _index
from tests.core.ops import formats


def find(name: str) -> Any:
    """The function `torch.NAME`, None where PyTorch has none."""
    value: Any = torch
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def make(dtype: str, array: Any) -> Any:
    """A tensor with the values, the strides and the dtype."""
    tensor = torch.tensor(array.tolist(), dtype=torch.float64)
    if dtype not in ("float16", "bfloat16", "float32", "float64"):
        tensor = tensor.to(getattr(torch, dtype))
    strides = [s // array.itemsize for s in array.strides]
    made = torch.zeros(1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True)), dtype=getattr(torch, dtype))
    view = made.as_strided(array.shape, strides)
    rows = view[:1] if 0 in strides else view
    rows.copy_(tensor[: len(rows)])
    return view


def describe(value: Any) -> str | None:
    """The dtype and the strides of a tensor."""
    return f"{str(value.dtype)[6:]}{list(value.stride())}" if isinstance(value, torch.Tensor) else None


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    names = [n for n in _index.FUNCTIONS if not any(word in n for word in formats.SKIPPED) and find(n) is not None]
    found = {name: calls for name, calls in formats.answers(names, find, make, describe).items() if calls}
    lines = [f"{json.dumps(name)}: {json.dumps(calls)}" for name, calls in sorted(found.items())]
    formats.RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(found)} functions, {sum(map(len, found.values()))} calls")


if __name__ == "__main__":
    main()
