"""Whole sessions, kept as a person would see them: every transcript is typed again, key by key, and must come out the same.

`GRADCLI_UPDATE_TRANSCRIPTS=1` writes what comes out now into the files.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.repl.driving import Typist

FOLDER = Path(__file__).parent / "transcripts"


def typed(transcript: str) -> list[str]:
    """The inputs of a transcript."""
    inputs: list[str] = []
    for line in transcript.splitlines():
        if line.startswith(">>> "):
            inputs.append(line[4:])
        elif line.startswith("..."):
            inputs[-1] += "\n" + line[4:]
    return inputs


def keys(text: str) -> str:
    """The keys that make this input. The editor indents by itself: indentation is taken away first, then typed."""
    first, *more = text.split("\n")
    return first + "".join(f"\r\x01\x0b{line}" for line in more) + "\r"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_the_session_prints_the_same(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = path.read_text(encoding="utf-8")
    typist = Typist(tmp_path)
    shown = typist.type("".join(map(keys, typed(expected))))
    if os.environ.get("GRADCLI_UPDATE_TRANSCRIPTS"):
        path.write_text(shown, encoding="utf-8")
    assert shown == expected
