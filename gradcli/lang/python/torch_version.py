"""Comparisons of `torch.__version__` as a version."""

from __future__ import annotations

import operator
from typing import Any

from packaging.version import InvalidVersion, Version

_LONGEST = 1000


def _version(text: str) -> Version | None:
    """The version; None for a text that is none."""
    try:
        return Version(text) if len(text) <= _LONGEST else None
    except InvalidVersion:
        return None


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
    mine, theirs = _version(str(version)), None if text is None else _version(text)
    return getattr(str, name)(version, other) if mine is None or theirs is None else getattr(operator, name)(mine, theirs)
