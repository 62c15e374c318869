"""`--by-rows` on a cluster: the same bits as on one core."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.batch import kills
from tests.batch.conftest import ENVIRON
from tests.cluster.conftest import Run, needs_dask

pytestmark = [pytest.mark.slow, needs_dask]

LOSS = "((d[:,:2]@w+b-d[:,2])**2).mean()"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Some pieces of rows of three numbers."""
    rng = np.random.default_rng(5)
    np.save(tmp_path / "rows.npy", rng.normal(size=(600_000, 3)).astype(np.float32))
    return tmp_path


def printed(folder: Path, *words: object) -> str:
    command = [kills.COMMAND[0], "-m", "gradcli", *map(str, words)]
    return subprocess.run(command, cwd=folder, env=ENVIRON, text=True, stdout=subprocess.PIPE, timeout=120, check=True).stdout


def test_the_same_bits_as_on_one_core(cluster: kills.Cluster, rows: Path) -> None:
    words = [LOSS, "d:=@rows*.npy", "w=1,2", "b=0", "--by-rows", "d", "--json"]
    found = {printed(rows, "grad", *words, *where) for where in ((), ("--jobs", "2"), ("--scheduler-file", cluster.file))}
    assert len(found) == 1 and '"rows": 600000, "pieces": 3' in found.pop()
    words += ["--method", "lbfgs", "--tol", "1e-3"]
    assert printed(rows, "minimize", *words, "--scheduler-file", cluster.file) == printed(rows, "minimize", *words)


def test_files_that_workers_do_not_see(cluster: kills.Cluster, rows: Path, run: Run) -> None:
    """The error of a worker that cannot start says why."""
    (rows / "rows.csv").write_text("x\n1\n2\noops\n")
    code, said = run("grad", "(w*d.x).sum()", f"d=@{rows}/rows.csv", "w=1", "--by-rows", "d", "--scheduler-file", cluster.file)
    assert code == 1 and "is no number: 'oops'" in said
