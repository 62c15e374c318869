"""The progress bar: on a terminal alone, when something takes long, in the colours that were chosen."""

from __future__ import annotations

import io
from typing import Any

import pytest

from gradcli.cli import progress
from gradcli.cli.options import Shared


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, after: float = 0.0, **options: Any) -> str:
    """What a bar writes to `stream` as standard error."""
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "_AFTER", after)
    monkeypatch.setattr(progress, "_REDRAW", 0.0)
    with progress.progress(4, Shared(**options)) as tell:
        for done in range(5):
            tell(done, lambda done=done: f"{done} of [b]4[/b]")
    return stream.getvalue()


def test_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = drawn(monkeypatch, Terminal())
    assert "100%" in text and "3 of [b]4[/b]" in text and "\x1b[32m" in text
    assert text.endswith("\x1b[2K")


def test_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    text = drawn(monkeypatch, Terminal(), color="never")
    assert "100%" in text and "\x1b[3" not in text


@pytest.mark.parametrize(
    ("stream", "term", "options", "after"),
    [
        (io.StringIO(), "xterm", {}, 0.0),
        (io.StringIO(), "xterm", {"color": "always"}, 0.0),
        (Terminal(), "dumb", {}, 0.0),
        (Terminal(), "xterm", {"quiet": True}, 0.0),
        (Terminal(), "xterm", {}, 1000.0),
    ],
)
def test_nowhere_else(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, term: str, options: dict[str, object], after: float) -> None:
    monkeypatch.setenv("TERM", term)
    assert drawn(monkeypatch, stream, after=after, **options) == ""
