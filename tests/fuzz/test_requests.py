"""A request is answered alike whatever the same process answered before, and leaves the state of the process as it was."""

from __future__ import annotations

import random

import pytest

from gradcli.core.tensor.state import state
from tests.fuzz import requests


@pytest.mark.slow
def test_every_pair_of_requests() -> None:
    """Of some requests; `python -m tests.fuzz.requests COUNT SEED` makes sequences of all."""
    requests.answered("1")
    sequence = requests.pairs(random.Random(7).sample(requests.NASTY, 14))
    assert len(sequence) == 14**2 + 1
    assert list(requests.differences(sequence)) == []


def test_requests_by_chance() -> None:
    requests.answered("1")
    assert list(requests.differences(random.Random(3).sample(requests.NASTY, 30))) == []


def test_what_a_request_leaves_behind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Leaking(requests.Session):
        def run(self, *args: object, **kwargs: object) -> None:
            monkeypatch.setattr(state, "grad_mode", not state.grad_mode)

    monkeypatch.setattr(requests, "Session", Leaking)
    assert "left behind: state.grad_mode" in requests.answered("1")
