"""The generated index of nn, optim and utils.data."""

from __future__ import annotations

from tools import make_library_index


def test_the_index_is_fresh() -> None:
    assert make_library_index.TARGET.read_text(encoding="utf-8") == make_library_index.index_text(), (
        "run python tools/make_library_index.py"
    )
