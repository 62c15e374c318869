"""Calls of functions with tensors of every dtype and memory format, as plain data, for PyTorch and for gradcli.

`tools/record_formats.py` writes the dtypes and strides that PyTorch's results have to `formats_recorded.json`;
test_formats.py compares. A call is the name of an input followed by its arguments: X and Y stand for the tensors.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).with_name("formats_recorded.json")

DTYPES = ("bool", "uint8", "int64", "float16", "bfloat16", "float64")
#: the memory of a tensor: row-major, with its dimensions in reverse order, every second element, the rows of one memory
FORMATS = ("dense", "transposed", "strided", "expanded")
#: arguments that are tried on every function
ARGUMENTS: tuple[tuple[Any, ...], ...] = (
    ("X",),
    ("X", "Y"),
    ("X", 0),
    ("X", 1),
    ("X", 0.5),
    ("X", 0, 1),
    ("X", (0,)),
    ("X", 0, "Y"),
    (2, "X"),
    ("X", "Y", "Y"),
)
_X = np.array([[1.5, 0.5, 2.0], [0.25, 1.0, 3.0]])
_Y = np.array([[1.0, 2.0, 0.5], [1.0, 0.25, 1.5]])
#: functions whose results are not determined, or depend on the driver
SKIPPED = (
    *("lstsq", "empty", "resize", "set_", "seed"),
    *("rand", "bernoulli", "multinomial", "dropout", "poisson", "normal", "gumbel", "rrelu"),
)


def laid_out(values: np.ndarray[Any, Any], memory: str) -> np.ndarray[Any, Any]:
    """The values in one of `FORMATS`; those of an expanded array are the first row, repeated."""
    if memory == "transposed":
        return np.asfortranarray(values)
    if memory == "strided":
        return np.repeat(values, 2, -1)[..., ::2]
    if memory == "expanded":
        base = values[:1].copy()
        return np.lib.stride_tricks.as_strided(base, values.shape, (0, *base.strides[1:]))
    return values.copy()


def inputs() -> dict[str, tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """The dtype and the two tensors of each input: every dtype in rows, and float32 in every format beside row-major."""
    made = {}
    for dtype in DTYPES:
        made[dtype] = (dtype, _X, _Y)
    for memory in FORMATS:
        made[memory] = ("float32", laid_out(_X.astype(np.float32), memory), _Y.astype(np.float32))
    made["second"] = ("float32", _X.astype(np.float32), laid_out(_Y.astype(np.float32), "transposed"))
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8 + 0.125
    made["cube"] = ("float32", cube.transpose(2, 0, 1), cube.transpose(2, 0, 1).copy())
    return made


def outcome(call: Callable[[], Any], describe: Callable[[Any], str | None]) -> str:
    """What a call gives: dtype and strides of a tensor, or of the tensors in a tuple; "" for an error or anything else."""
    try:
        result = call()
    except Exception:
        return ""
    parts = result if isinstance(result, (tuple, list)) else [result]
    described = [describe(part) for part in parts]
    return " ".join(d for d in described if d is not None)


def answers(names: list[str], find: Callable[[str], Any], make: Callable[[str, Any], Any], describe: Any) -> dict[str, dict[str, str]]:
    """For each function, what every call gives, but for calls that give no tensor."""
    found: dict[str, dict[str, str]] = {}
    given = inputs()
    for name in names:
        function = find(name)
        answered: dict[str, str] = {}
        for label, (dtype, x, y) in given.items():
            for arguments in ARGUMENTS:
                tensors = {"X": make(dtype, x), "Y": make(dtype, y)}
                values = [tensors[a] if isinstance(a, str) else a for a in arguments]
                text = outcome(lambda f=function, v=values: f(*v), describe)
                if text:
                    answered[f"{label} {arguments}"] = text
        found[name] = answered
    return found


def recorded() -> dict[str, dict[str, str]]:
    """PyTorch's answers."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))  # type: ignore[no-any-return]
