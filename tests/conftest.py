"""What tests of several wings share: a prompt to type at, in this process and in a pseudo-terminal."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.repl.driving import Terminal, Typist


@pytest.fixture
def typist(tmp_path: Path) -> Typist:
    """A prompt in this process, with a history of its own."""
    from tests.repl.driving import Typist

    return Typist(tmp_path)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """`terminal(*words, **environment)` starts gradcli in a pseudo-terminal; several share one history."""
    from tests.repl.driving import Terminal

    started: list[Terminal] = []

    def start(*words: str, **more: object) -> Terminal:
        started.append(Terminal(tmp_path, *words, **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for one in started:
        if one.child.isalive():
            one.child.kill(signal.SIGKILL)
        one.child.close(force=True)
