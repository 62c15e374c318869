"""Warnings of the core, in PyTorch's words. The language decides where they are shown and how often."""

from __future__ import annotations

from collections.abc import Callable

Sink = Callable[[str, str], None]


def _ignore(category: str, message: str) -> None:
    return None


sink: Sink = _ignore


def emit(message: str, category: str = "UserWarning") -> None:
    """Hand a warning to the sink in place."""
    sink(category, message)


def set_sink(new: Sink | None) -> Sink:
    """Put a sink in place; returns the one that was there."""
    global sink
    old = sink
    sink = _ignore if new is None else new
    return old
