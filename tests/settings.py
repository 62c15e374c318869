"""Settings as in a fresh session, for tests that run an interpreter without one."""

from __future__ import annotations

from gradcli.core.random import generator
from gradcli.core.tensor import dtypes, printing


def reset(seed: int = 0) -> None:
    """Print options, the default dtype and the seed as in a fresh session."""
    printing.options = printing.PrintOptions()
    dtypes.set_default(dtypes.float32)
    generator.default.manual_seed(seed)
