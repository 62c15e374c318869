"""How tables are read."""

from __future__ import annotations

#: what is done with a row that has an empty cell
MISSING = ("error", "nan", "drop")


class Form:
    """How tables are read: what is done with missing numbers, one of MISSING, and the separator, None to find it."""

    __slots__ = ("missing", "separator")

    def __init__(self, missing: str = "error", separator: str | None = None) -> None:
        self.missing = missing
        self.separator = separator


ORDINARY = Form()
