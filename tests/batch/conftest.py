"""`gradcli batch` as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-m", "gradcli", "batch"]
ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT)}

Ask = Callable[..., list[Any]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """`ask(request, ..., options=[...])`: the answers, of requests as objects, strings or bytes."""

    def run(*requests: object, options: tuple[str, ...] = (), code: int = 0) -> list[Any]:
        path = tmp_path / "requests.jsonl"
        lines = [one if isinstance(one, bytes) else (one if isinstance(one, str) else json.dumps(one)).encode() for one in requests]
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        done = subprocess.run([*COMMAND, str(path), *options], capture_output=True, env=ENVIRON, timeout=60)
        assert (done.returncode, done.stderr) == (code, b"")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert [answer["line"] for answer in answers] == list(range(1, len(lines) + 1))
        return answers

    return run
