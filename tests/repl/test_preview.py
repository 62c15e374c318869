"""Previews: a copy of the session evaluates what is typed, and nothing of it stays."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from gradcli.repl import preview
from gradcli.repl.preview import DELAY, Preview
from tests.counting import calls
from tests.repl.driving import Typist


def previewed(typist: Typist, text: str) -> str:
    async def wait() -> str:
        typed = Preview(typist.prompt.preview, lambda: None)
        typed.typed(text)
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        shown = typed.text
        typed.stop()
        return shown

    return asyncio.run(wait())


def test_a_preview_shows_the_value_and_changes_nothing(typist: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "BUDGET", 60.0)  # a busy machine may take longer than a preview may
    typist.enter("x = ones(2)", "torch.manual_seed(1);")
    before = typist.enter("torch.get_rng_state().sum(), x, torch.is_grad_enabled()")
    assert previewed(typist, "x.add_(1)") == "tensor([2., 2.])"
    assert previewed(typist, "y = randn(2).shape") == "torch.Size([2])"
    assert previewed(typist, "torch.set_grad_enabled(False); x") == "tensor([1., 1.])"
    assert typist.enter("torch.get_rng_state().sum(), x, torch.is_grad_enabled()") == before


@pytest.mark.parametrize("text", ["1 +", "undefined", "3", "print(5)", ":vars", "mean?", "while True: pass", "zeros(30000, 30000)", "mean"])
def test_what_has_no_preview(typist: Typist, text: str) -> None:
    assert previewed(typist, text) == ""


@pytest.mark.slow
def test_a_preview_never_delays_a_key(typist: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt's own process evaluates nothing and makes a few calls: forked copies do the work."""
    typist.enter("x = ones(1000, 1000)")
    evaluated: list[str] = []
    copies: list[int] = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: copies.append(fork()) or copies[-1])

    def evaluate(text: str) -> str:
        evaluated.append(text)
        return typist.prompt.preview(text)

    async def typing() -> None:
        typed = Preview(evaluate, lambda: None)
        for _ in range(5):
            typed.typed("[x @ x for i in range(1000000)]")
            await asyncio.sleep(DELAY + 0.05)
        typed.stop()

    found = calls(lambda: asyncio.run(typing())).total()
    assert evaluated == [] and len(copies) == 5
    assert found < 10_000


def test_no_copy_outlives_its_preview(typist: Typist) -> None:
    typist.enter("x = ones(1000, 1000)")

    async def interrupted() -> None:
        typed = Preview(typist.prompt.preview, lambda: None)
        typed.typed("[x @ x for i in range(1000000)]")
        await asyncio.sleep(DELAY + 0.1)
        typed.stop()

    asyncio.run(interrupted())
    end = time.monotonic() + 10
    with pytest.raises(ChildProcessError):
        while True:
            os.waitpid(-1, os.WNOHANG)
            assert time.monotonic() < end
            time.sleep(0.01)
