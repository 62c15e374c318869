"""The settings of the prompt: what a file may say, what is said of mistakes, and that nobody else reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcli.cli.app import run
from gradcli.repl import config
from gradcli.repl.history import HistoryFile


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADCLI_CONFIG_DIR", str(tmp_path))
    return tmp_path / "config.toml"


def test_defaults_and_values(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {name: config.load()[name] for name in config.KEYS} == {name: key.default for name, key in config.KEYS.items()}
    file.write_text('precision = 8\nkeys = "vi"\n', encoding="utf-8")
    assert (config.load()["precision"], config.load()["keys"], config.load()["dtype"]) == (8, "vi", "float32")
    assert run(["config"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"# {file}\nprecision = 8 ") and shown.count("the default") == len(config.KEYS) - 2 + 1
    assert run(["config", "--path"]) == 0
    assert capsys.readouterr().out == f"{file}\n"


def test_what_config_shows_is_such_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config"]) == 0
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    assert {name: config.load()[name] for name in config.KEYS} == {name: key.default for name, key in config.KEYS.items()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("precison = 3\n", "config.toml:1: unknown key 'precison'\n  did you mean precision?\n"),
        ("\n# 1\nzzz = 3\n", "config.toml:3: unknown key 'zzz'\n  the keys are precision, dtype, format, color, keys, history\n"),
        ("precision = 100\n", "config.toml:1: precision takes a whole number from 0 to 99, not 100\n"),
        ("precision = true\n", "config.toml:1: precision takes a whole number from 0 to 99, not True\n"),
        ('color = "auto"\n\n  keys = "nano"\n', 'config.toml:3: keys takes "emacs" or "vi", not "nano"\n'),
        ("precision = 4\n[color]\na = 1\n", 'config.toml:2: color takes "auto", '),
        ("precision = 4\nx = \n", "config.toml:2: Invalid value\n"),
        ("precision = 4\nx = [1,", "config.toml:2: "),
    ],
)
def test_mistakes_name_file_and_line(file: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    file.write_text(text, encoding="utf-8")
    assert run(["config"]) == 2
    assert message.partition(" or")[0] in capsys.readouterr().err.replace(str(file.parent) + "/", "")


@pytest.mark.parametrize("words", [["eval", "ones(1)/3"], ["grad", "x/3", "x=1"], ["eval", "ones(1)", "--format", "json"]])
def test_commands_answer_the_same(file: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert run(words) == 0
    before = capsys.readouterr().out
    file.write_text('precision = 9\ndtype = "float64"\ncolor = "always"\nformat = "table"\n', encoding="utf-8")
    assert run(words) == 0
    assert capsys.readouterr().out == before
    file.write_text("nonsense", encoding="utf-8")
    assert run(words) == 0


def test_history_size(tmp_path: Path) -> None:
    path = tmp_path / "history"
    for text in ("a", "b", "c"):
        HistoryFile(path, print).append(text)
    assert HistoryFile(path, print, 2).load() == ["b", "c"]
    assert HistoryFile(path, print).load() == ["b", "c"]
    none = HistoryFile(path, print, 0)
    none.append("d")
    assert none.load() == [] and HistoryFile(path, print).load() == ["b", "c"]
