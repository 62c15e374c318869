"""The prompt's loop: limits for each input, data and scripts from files, values in blocks."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from gradcli.cli.app import run
from tests.repl.driving import Typist


@pytest.mark.slow
def test_limits_count_for_each_input(tmp_path: Path) -> None:
    typist = Typist(tmp_path, untrusted=True)
    loop = "for i in range(600000): pass\n"
    assert typist.enter(loop, loop, "1 + 1") == "2\n"
    assert "LimitError" in typist.enter("while True: pass\n")
    assert typist.enter("1 + 1") == "2\n"


@pytest.mark.parametrize("command", [":load x.py", ":save x.py", ":data x=@x.csv"])
def test_untrusted_sessions_use_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--untrusted refuses" in Typist(tmp_path, untrusted=True).enter(command)
    assert not (tmp_path / "x.py").exists()


def test_data_from_a_file(typist: Typist, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,b\n1,2\n3,nan\n", encoding="utf-8")
    shown = typist.enter(f":data d=@{tmp_path}/d.csv:a", "d.sum()")
    assert shown.endswith("tensor(4., grad_fn=<SumBackward0>)\n")
    assert "cannot read" in typist.enter(f":data d=@{tmp_path}/none.csv")


def test_loading_has_pythons_names_and_all_or_nothing(typist: Typist, tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("import torch\nn = sum([1, 2])\nm = sum(torch.ones(2, 2))\n", encoding="utf-8")
    (tmp_path / "bad.py").write_text("n = 99\n1 / 0\n", encoding="utf-8")
    typist.enter(f":load {tmp_path}/good.py")
    assert typist.enter("n, m") == "(3, tensor([2., 2.]))\n"
    assert "ZeroDivisionError" in typist.enter(f":load {tmp_path}/bad.py")
    assert typist.enter("n") == "3\n"


def test_one_file_at_most(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert run(["repl", "a", "b"]) == 2
    assert run(["repl", "-o", "x"]) == 2
    assert "one file at most" in capsys.readouterr().err


def test_values_in_blocks_are_shown_as_pythons_prompt_does(typist: Typist, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = typist.enter(
        "for i in range(2):\n    i\n    None\n    'a';\n    x = i", "with no_grad():\n    ones(2) * 2", "_", "def f():\n    5", "f()"
    )
    assert shown == "0\n1\ntensor([2., 2.])\ntensor([2., 2.])\n"
    path = tmp_path / "saved.py"
    typist.enter(f":save {path}")
    assert run(["run", str(path)]) == 0
    assert capsys.readouterr().out == shown


def test_what_blocks_show_counts_as_output(tmp_path: Path) -> None:
    typist = Typist(tmp_path, untrusted=True)
    shown = typist.enter("for i in range(10**6):\n    'text' * 10000")
    assert "output" in shown or "time" in shown
    assert len(shown) < 20 * 2**20
