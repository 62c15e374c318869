"""What numpy's functions keep for a session: the random numbers of `np.random`, which its default generator has, and print options."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.random import generator
from gradcli.core.tensor.state import state


class NumpyState:
    """numpy's print options, as a session has changed them."""

    __slots__ = ("options",)

    def __init__(self) -> None:
        #: what `np.set_printoptions` was given
        self.options: dict[str, Any] = {}


def random_state() -> np.random.RandomState:
    """The generator of `np.random`. Without `np.random.seed` its numbers follow the seed of the session."""
    kept = generator.default
    if kept.numpy is None:
        kept.numpy = np.random.RandomState(kept.initial_seed() & 0xFFFFFFFF)
    return kept.numpy


def current() -> NumpyState:
    """What is in force; made when it is first asked for."""
    found = state.numpy
    if found is None:
        found = state.numpy = NumpyState()
    return found  # type: ignore[no-any-return]
