"""The atheris target takes its corpus, and runs for a few seconds where atheris is installed."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CORPUS = Path(__file__).with_name("corpus")


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed: pip install atheris")
def test_a_short_run(tmp_path: Path) -> None:
    shutil.copytree(CORPUS, tmp_path / "corpus")
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.atheris_parser",
        str(tmp_path / "corpus"),
        "-max_total_time=5",
        f"-artifact_prefix={tmp_path}/",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]


def test_there_is_a_corpus() -> None:
    texts = [path.read_bytes() for path in CORPUS.iterdir()]
    assert len(texts) >= 20 and len(set(texts)) == len(texts)
