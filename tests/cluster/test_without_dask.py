"""What is said where Dask is not installed, and which options make no sense together."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from gradcli.cli.app import run


@pytest.fixture
def without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "distributed" else find(name, *more))


@pytest.mark.parametrize("options", [["--scheduler", "local"], ["--scheduler", "tcp://127.0.0.1:1"], ["--scheduler-file", "s.json"]])
def test_the_extra_is_named(without_dask: None, options: list[str], capsys: Any, tmp_path: Any) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("")
    assert run(["batch", str(path), *options]) == 2
    said = capsys.readouterr().err
    assert "is not installed, which --scheduler needs\n  pip install 'gradcli[dask]'\n" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scheduler", "local", "--scheduler-file", "s"], "--scheduler and --scheduler-file contradict each other"),
        (["--scheduler", "tcp://h:1", "--jobs", "2"], "--jobs is for this machine"),
        (["--scheduler", "tls://h:1", "--tls-ca", "a"], "--tls-cert is missing"),
        (["--scheduler", "local", "--tls-ca", "a"], "a local cluster is reached by this machine alone"),
        (["--tls-ca", "a"], "--tls-ca needs --scheduler"),
        (["more.jsonl"], "unexpected argument 'more.jsonl'"),
        (["s3://bucket/more.jsonl", "-o", "answers/"], "s3://bucket/more.jsonl is a URL"),
    ],
)
def test_wrong_usage(options: list[str], said: str, capsys: Any, tmp_path: Any) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("")
    assert run(["batch", str(path), *options]) == 2
    assert said in capsys.readouterr().err


def test_folders_of_answers(capsys: Any, tmp_path: Any) -> None:
    for name in ("a/q.jsonl", "b/q.jsonl"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text('{"expr": "1"}\n')
    (tmp_path / "file").write_text("")
    a, b = str(tmp_path / "a" / "q.jsonl"), str(tmp_path / "b" / "q.jsonl")
    out = str(tmp_path / "out")
    assert run(["batch", a, b, "-o", f"{out}/"]) == 2 and "would both be answered in" in capsys.readouterr().err
    assert run(["batch", "-", "-o", f"{out}/"]) == 2 and "has no name" in capsys.readouterr().err
    assert run(["batch", str(tmp_path / "none*"), "-o", f"{out}/"]) == 1 and "no file is called" in capsys.readouterr().err
    assert run(["batch", a, "-o", str(tmp_path / "file") + "/"]) == 1 and "cannot make the folder" in capsys.readouterr().err
    assert run(["batch", a, b, "-o", str(tmp_path / "a")]) == 2
    assert run(["batch", a, "-o", str(tmp_path / "a")]) == 1 and "it is an input of this command" in capsys.readouterr().err
    assert (tmp_path / "a" / "q.jsonl").read_text() == '{"expr": "1"}\n'


def test_dask_is_loaded_where_a_scheduler_is_named() -> None:
    import subprocess

    code = "import sys; from gradcli.cli.app import run; run(['batch', '/dev/null']); run(['grad', 'x', 'x=1']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"dask", "distributed", "fsspec", "gradcli.cluster.connection"} & set(done.stdout.split())
