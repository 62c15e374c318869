"""Which versions an answer depends on: the workers of a cluster have those of its client."""

from __future__ import annotations

import platform

import numpy as np

import gradcli
from gradcli.errors import DataError

Versions = dict[str, str | None]


def own_versions() -> Versions:
    """What the bits of an answer depend on."""
    return {"gradcli": gradcli.__version__, "numpy": np.__version__, "Python": platform.python_version()}


def difference(theirs: Versions, ours: Versions, address: str) -> str | None:
    """A sentence on the first version that differs, None where none does."""
    for name, version in ours.items():
        if theirs.get(name) != version:
            has = f"{name} {theirs[name]}" if theirs.get(name) else f"no {name}"
            return f"the worker {address} has {has}, and this is {name} {version}"
    return None


def refusal(why: str) -> DataError:
    """The error of a worker that cannot answer."""
    return DataError(why, hints=["answers have the same bits only where all have the same versions"] if "and this is" in why else [])
