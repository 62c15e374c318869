"""Diagnostics as people see them: each file of diagnostics/ is a script, a rule with the exit code, and the exact standard error.

A file whose first line is `$ gradcli ...` is that command instead. `GRADCLI_UPDATE_DIAGNOSTICS=1` writes what comes out now into
the files; a new one needs nothing but the script.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("diagnostics")
RULE = re.compile(r"^-{20} exit (\d+)\n", re.M)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_the_diagnostic_is_the_same(path: Path, cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = path.read_text(encoding="utf-8")
    program = RULE.split(expected)[0]
    monkeypatch.chdir(tmp_path)
    if program.startswith("$ gradcli "):
        answer = cli(*shlex.split(program)[2:])
    else:
        Path("script.py").write_text(program, encoding="utf-8")
        answer = cli("run", "script.py")
    shown = f"{program}{'-' * 20} exit {answer.code}\n{answer.err}"
    if os.environ.get("GRADCLI_UPDATE_DIAGNOSTICS"):
        path.write_text(shown, encoding="utf-8")
        expected = shown
    assert shown == expected


def test_every_diagnostic_fits_a_line() -> None:
    for path in FOLDER.glob("*.txt"):
        shown = RULE.split(path.read_text(encoding="utf-8"))[-1]
        for line in shown.splitlines():
            # PyTorch's own messages are not wrapped
            assert len(line) < 130 or re.match(r"\w+(Error|Warning): |script\.py:\d+: \w+Warning: ", line), path.name
