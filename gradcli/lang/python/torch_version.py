"""Comparisons of `torch.__version__` as a version."""

from __future__ import annotations

import operator
import re
from typing import Any

#: a version in the form of PEP 440: epoch, release, pre-release, post-release, development release and local version
_FORM = re.compile(
    r"\s*v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)"
    r"(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?([0-9]*))?"
    r"(?:-([0-9]+)|[-_.]?(?:post|rev|r)[-_.]?([0-9]*))?"
    r"(?:[-_.]?dev[-_.]?([0-9]*))?"
    r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE | re.ASCII,
)
_LONGEST = 1000
_PHASES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_BEFORE, _AFTER = (-1,), (1,)


def _key(text: str) -> Any:
    """What orders versions; None for a text that is none."""
    found = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    epoch, release, phase, phase_number, post_number, post, dev, local = found.groups()
    numbers = [int(part) for part in release.split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    after = post_number if post_number is not None else post
    phase = phase and phase.lower()
    # a development release comes before the pre-releases, which come before the release
    before = (0, _PHASES.get(phase, phase), int(phase_number or 0)) if phase else _BEFORE if dev is not None and after is None else _AFTER
    parts = [] if local is None else re.split(r"[-_.]", local.lower())
    return (
        int(epoch or 0),
        numbers,
        before,
        -1 if after is None else int(after or 0),
        (1,) if dev is None else (0, int(dev or 0)),
        [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts] if parts else [(-1, 0, "")],
    )


def _text_of(other: object) -> str | None:
    """A version as a text: a tuple's items are its numbers."""
    if isinstance(other, str):
        return other
    if isinstance(other, tuple | list) and all(type(item) in (int, float, str) for item in other):
        return ".".join(map(str, other))
    return None


def compared(name: str, version: str, other: object) -> Any:
    """What the method `name` answers, such as `__lt__`: as versions, where both are ones, else as texts."""
    text = _text_of(other)
    mine, theirs = _key(str(version)), None if text is None else _key(text)
    return getattr(str, name)(version, other) if mine is None or theirs is None else getattr(operator, name)(mine, theirs)
