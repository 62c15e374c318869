"""Source text in, plain results out. Commands, the prompt and tests use nothing below it."""

from __future__ import annotations

from gradcli.lang.values.execution import Outside
from gradcli.session.session import Session

__all__ = ["Outside", "Session"]
