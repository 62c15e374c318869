"""Writes what PyTorch's graph nodes save for backward into `tests/core/graph/saved_names.json`; run by a Python with PyTorch 2.13.

By class of node: the names of saved tensors, which backward frees, and those of other saved values.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

OUTPUT = Path(__file__).parent.parent / "tests" / "core" / "graph" / "saved_names.json"
SAVED, RAW = "_saved_", "_raw_saved_"


def saved_names() -> dict[str, dict[str, list[str]]]:
    """The names by class, without their prefix."""
    found: dict[str, dict[str, list[str]]] = {}
    functions = torch._C._functions
    for name in sorted(dir(functions)):
        kind = getattr(functions, name)
        if isinstance(kind, type) and name[-1].isdigit():
            tensors = {n.removeprefix(RAW) for n in dir(kind) if n.startswith(RAW)}
            every = {n.removeprefix(SAVED) for n in dir(kind) if n.startswith(SAVED)}
            found[name] = {"tensors": sorted(tensors), "others": sorted(every - tensors)}
    return found


if __name__ == "__main__":
    rows = (f"{json.dumps(name)}: {json.dumps(names)}" for name, names in saved_names().items())
    OUTPUT.write_text("{\n" + ",\n".join(rows) + "\n}\n")
