"""Colour by plain terminal codes; without colour the text is untouched."""

from __future__ import annotations

_CODES = {"error": "1;31", "caret": "31", "label": "36", "heading": "1", "dim": "2", "warning": "33"}


def paint(text: str, role: str, colour: bool) -> str:
    """`text` in the look of `role` when `colour` is on."""
    return f"\x1b[{_CODES[role]}m{text}\x1b[0m" if colour and text else text
