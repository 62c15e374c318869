"""Every console example in README.md prints what stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def examples() -> list[tuple[str, str]]:
    """(command, output) of every `$` line in the fenced console blocks."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", README, re.M | re.S):
        for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = piece.partition("\n")
            found.append((command, output))
    return found


def run(command: str, path: Path) -> str:
    """What the command prints, both streams together, with this interpreter's `gradcli` on the path."""
    script = path / "gradcli"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradcli "$@"\n')
    script.chmod(0o755)
    drop = ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS")
    environ = {key: value for key, value in os.environ.items() if key not in drop}
    environ |= {"PATH": f"{path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(["bash", "-c", command], cwd=path, env=environ, text=True, timeout=60, **streams).stdout


@pytest.mark.parametrize(("command", "output"), examples(), ids=lambda text: text[:50])
def test_readme_example(command: str, output: str, tmp_path: Path) -> None:
    # .ci/run runs the part of the command that installs; here runs the part after it
    command = command.rpartition(" && ")[2].replace(".venv/bin/", "")
    if "pytest" in command:
        assert re.fullmatch(r"python -m pytest -q", command)
        return
    assert run(command, tmp_path) == output


def test_the_first_command_is_the_main_job() -> None:
    command, output = examples()[0]
    assert command.endswith("gradcli grad 'mean((x+2)*(x+2)*2)' x='[-1.2301, 0.5498, -1.7590]'")
    for text in ("4.7682", "MeanBackward0", "1.0265, 3.3997, 0.3213"):
        assert text in output
