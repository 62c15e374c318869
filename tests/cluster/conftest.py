"""A cluster for the tests of a folder that needs Dask: skipped where the extra is not installed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.batch import kills
from tests.batch.conftest import ENVIRON
from tests.batch.mixed import requests

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="needs the extra: pip install -e '.[dask]'")

Run = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kills.Cluster]:
    """A scheduler and two workers."""
    with kills.cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
def run() -> Run:
    """`run(*words)`: the exit code of gradcli, and what it says on standard error."""

    def start(*words: object, **environ: str) -> tuple[int, str]:
        command = [kills.COMMAND[0], "-m", "gradcli", *map(str, words)]
        done = subprocess.run(command, env={**ENVIRON, **environ}, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stderr

    return start


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,500 mixed requests, with the answers of one machine beside them in `quiet.jsonl`."""
    source = tmp_path_factory.mktemp("mixed") / "q.jsonl"
    source.write_text("".join(requests(1500, 5)))
    subprocess.run([*kills.COMMAND, str(source), "-o", str(source.with_name("quiet.jsonl"))], env=ENVIRON, check=True)
    return source
