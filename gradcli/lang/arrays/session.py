"""What numpy's functions keep for a session: the random numbers of `np.random`, and print options."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.random import generator
from gradcli.core.tensor.state import state


class NumpyState:
    """The generator of `np.random` and numpy's print options, as a session has changed them."""

    __slots__ = ("options", "random")

    def __init__(self) -> None:
        #: what `np.set_printoptions` was given
        self.options: dict[str, Any] = {}
        self.random: np.random.RandomState | None = None


def random_state() -> np.random.RandomState:
    """The generator of `np.random`. Without `np.random.seed` its numbers follow the seed of the session."""
    kept = current()
    if kept.random is None:
        kept.random = np.random.RandomState(generator.default.initial_seed() & 0xFFFFFFFF)
    return kept.random


def current() -> NumpyState:
    """What is in force; made when it is first asked for."""
    found = state.numpy
    if found is None:
        found = state.numpy = NumpyState()
    return found  # type: ignore[no-any-return]
