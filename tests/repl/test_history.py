"""The file of inputs: private, whole, cut to its newest entries, and read by the plain reader."""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path

import pytest

from gradcli.repl.history import MOST_ENTRIES, HistoryFile
from gradcli.repl.plain import PlainReader
from tests.repl.driving import Typist


def test_history_is_private_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "state" / "history"
    history = HistoryFile(path, pytest.fail)
    for text in ("one", "two\n  lines\n", "+plus", "# hash", "naïve ∂"):
        history.append(text)
    assert HistoryFile(path, pytest.fail).load() == ["one", "two\n  lines\n", "+plus", "# hash", "naïve ∂"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_open_history_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("\n# t\n+a\n", encoding="utf-8")
    path.chmod(0o644)
    HistoryFile(path, pytest.fail).append("b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert HistoryFile(path, pytest.fail).load() == ["a", "b"]


@pytest.mark.parametrize("kind", ["link", "directory", "fifo"])
def test_a_history_that_is_no_file_is_one_warning(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "history"
    target = tmp_path / "target"
    target.write_text("safe", encoding="utf-8")
    {"link": lambda: path.symlink_to(target), "directory": path.mkdir, "fifo": lambda: os.mkfifo(path)}[kind]()
    warnings: list[str] = []
    history = HistoryFile(path, warnings.append)
    assert history.load() == []
    history.append("a")
    history.append("b")
    assert len(warnings) == 1
    assert target.read_text(encoding="utf-8") == "safe"


def test_history_is_cut_to_its_newest_entries(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(f"\n# t\n+entry {i}\n" for i in range(MOST_ENTRIES + 5)), encoding="utf-8")
    assert HistoryFile(path, pytest.fail).load()[0] == "entry 5"
    assert len(HistoryFile(path, pytest.fail).load()) == MOST_ENTRIES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_torn_last_entry_is_harmless(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes("\n# t\n+one\n\n# t\n+na\u00efve".encode()[:-3])
    history = HistoryFile(path, pytest.fail)
    history.append("next")
    assert history.load()[0] == "one" and history.load()[-1] == "next"


def test_the_plain_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typist: Typist) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("1 + 1\n(2 +\n3)\n"))
    reader = PlainReader(typist.history, typist.prompt.names.is_complete)
    assert [reader.read(), reader.read()] == ["1 + 1", "(2 +\n3)"]
    with pytest.raises(EOFError):
        reader.read()
    assert capsys.readouterr().err == ">>> >>> ... >>> \n"
    assert typist.history.load() == ["1 + 1", "(2 +\n3)"]
