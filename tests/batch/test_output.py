"""The file of the answers: who may write it, what a later run may go on with, and what is never touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.batch.conftest import COMMAND, ENVIRON

pytestmark = pytest.mark.slow


def batch(*words: object, **more: Any) -> tuple[int, str]:
    done = subprocess.run([*COMMAND, *map(str, words)], env=ENVIRON, capture_output=True, text=True, timeout=60, **more)
    return done.returncode, done.stderr


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps({"id": i, "expr": f"x*{i}", "vars": {"x": 2}}) + "\n" for i in range(400)))
    return path


@pytest.fixture
def held(source: Path, tmp_path: Path) -> Path:
    """An output whose run was killed after some answers, with an older file in its place."""
    out = tmp_path / "out.jsonl"
    out.write_text("old\n")
    process = subprocess.Popen([*COMMAND, "-", "-o", str(out)], stdin=subprocess.PIPE, env=ENVIRON)
    assert process.stdin
    process.stdin.write(b"".join(source.read_bytes().splitlines(keepends=True)[:20]))
    process.stdin.flush()
    partial = Path(f"{out}.partial")
    end = time.monotonic() + 30
    while time.monotonic() < end and not (partial.exists() and partial.read_text().count("\n") > 20):
        time.sleep(0.02)
    process.kill()
    process.wait()
    process.stdin.close()
    return out


def test_two_runs_on_one_output(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    first = subprocess.Popen([*COMMAND, "-", "-o", str(out)], stdin=subprocess.PIPE, env=ENVIRON)
    assert first.stdin
    first.stdin.write(b'{"expr": "1"}\n')
    first.stdin.flush()
    end = time.monotonic() + 30
    while time.monotonic() < end and not (out.exists() and out.stat().st_size):
        time.sleep(0.02)
    for more in ([], ["--resume"]):
        code, said = batch(source, "-o", out, *more)
        assert (code, said) == (1, f"DataError: cannot write {out}: another run writes it\n")
    first.stdin.close()
    assert first.wait(30) == 0
    assert [json.loads(line)["value"] for line in out.read_text().splitlines()] == [1]


def test_a_killed_run_leaves_no_lock(held: Path, source: Path) -> None:
    assert held.read_text() == "old\n"
    assert batch(source, "-o", held, "--resume") == (0, "")
    assert [json.loads(line)["value"] for line in held.read_text().splitlines()] == [i * 2 for i in range(400)]
    assert sorted(path.name for path in held.parent.iterdir()) == ["out.jsonl", "q.jsonl"]


def test_another_input_is_refused(held: Path, source: Path, tmp_path: Path) -> None:
    partial = Path(f"{held}.partial")
    before = partial.read_bytes()
    other = tmp_path / "other.jsonl"
    other.write_text(source.read_text().replace('"id": ', '"id": 7'))
    code, said = batch(other, "-o", held, "--resume")
    assert code == 2 and said.startswith("UsageError: --resume: the output answers other requests than these\n")
    assert partial.read_bytes() == before and held.read_text() == "old\n"


def test_an_input_that_changed_is_refused(source: Path, tmp_path: Path) -> None:
    out, partial = tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    out.write_text("old\n")
    process = subprocess.Popen([*COMMAND, str(source), "-o", str(out)], env=ENVIRON)
    end = time.monotonic() + 30
    while time.monotonic() < end and not (partial.exists() and partial.stat().st_size):
        time.sleep(0.005)
    process.kill()
    process.wait()
    whole = source.read_bytes()
    source.write_bytes(whole + b'{"expr": "1"}\n')
    code, said = batch(source, "-o", out, "--resume")
    assert code == 2 and said.startswith(f"UsageError: --resume: {partial} was begun with another input\n")
    source.write_bytes(whole)
    assert batch(source, "-o", out, "--resume") == (0, "")
    assert len(out.read_text().splitlines()) == 400


@pytest.mark.parametrize(
    "options", [["--dtype", "float64"], ["--seed", "3"], ["--limit", "steps=10"], ["--trusted"]], ids=lambda one: one[0]
)
def test_other_options_are_refused(held: Path, source: Path, options: list[str]) -> None:
    code, said = batch(source, "-o", held, "--resume", *options)
    assert code == 2 and "was begun with other options" in said


def test_another_version_is_refused(held: Path, source: Path) -> None:
    partial = Path(f"{held}.partial")
    header, _, rest = partial.read_text().partition("\n")
    partial.write_text(json.dumps({**json.loads(header), "gradcli_batch": "0.0.0"}) + "\n" + rest)
    code, said = batch(source, "-o", held, "--resume")
    assert code == 2 and "was begun with gradcli 0.0.0" in said


@pytest.mark.parametrize("more", [[], ["--resume"]], ids=["anew", "resumed"])
@pytest.mark.parametrize("content", ["a diary\n", '{"line": 3}\n', "{}\n", "x" * 100_000], ids=["text", "answers", "object", "long"])
def test_another_file_called_partial_stays(source: Path, tmp_path: Path, content: str, more: list[str]) -> None:
    out, partial = tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    partial.write_text(content)
    code, said = batch(source, "-o", out, *more)
    assert code == 2 and said.startswith(f"UsageError: {partial} is no partial output of gradcli batch\n")
    assert partial.read_text() == content and not out.exists()


@pytest.mark.parametrize("more", [[], ["--resume"]], ids=["anew", "resumed"])
@pytest.mark.parametrize("at", ["out.jsonl", "out.jsonl.partial"])
@pytest.mark.parametrize("target", ["victim", "missing"])
def test_links_are_not_followed(source: Path, tmp_path: Path, at: str, target: str, more: list[str]) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    (tmp_path / at).symlink_to(tmp_path / target)
    code, said = batch(source, "-o", tmp_path / "out.jsonl", *more)
    assert (code, said) == (1, f"DataError: cannot write {tmp_path / at}: it is a symbolic link\n")
    assert victim.read_text() == "precious\n" and not (tmp_path / "missing").exists()


def test_the_input_is_never_written(source: Path, tmp_path: Path) -> None:
    content = source.read_bytes()
    partial = tmp_path / "out.jsonl.partial"
    for name in (partial, tmp_path / "out.jsonl"):
        os.link(source, name)
        for words in ([name], [source], ["-"]):
            for more in ([], ["--resume"]):
                with source.open("rb") as stdin:
                    code, said = batch(*words, "-o", tmp_path / "out.jsonl", *more, stdin=stdin)
                assert code == 1 and said.endswith(": it is an input of this command\n"), said
                assert source.read_bytes() == content
        name.unlink()
    with source.open("ab") as stdout:
        done = subprocess.run([*COMMAND, str(source)], stdout=stdout, stderr=subprocess.PIPE, env=ENVIRON, timeout=60)
    assert done.returncode == 1 and source.read_bytes() == content


def test_a_full_disk_loses_nothing(held: Path, source: Path) -> None:
    command = 'ulimit -f 16; exec "$@"'
    done = subprocess.run(
        ["bash", "-c", command, "-", *COMMAND, str(source), "-o", str(held), "--resume"], env=ENVIRON, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr.decode()) == (1, f"DataError: cannot write {held}: File too large\n")
    assert held.read_text() == "old\n"
    assert batch(source, "-o", held, "--resume") == (0, "")
    assert len(held.read_text().splitlines()) == 400


@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 129), (signal.SIGQUIT, 131), (signal.SIGKILL, -9), (signal.SIGTERM, 143)])
def test_workers_end_with_their_parent(tmp_path: Path, number: signal.Signals, code: int) -> None:
    source = tmp_path / "q.jsonl"
    source.write_text('{"script": "while True: pass"}\n' * 4)
    words = [*COMMAND, str(source), "--jobs", "2", "--limit", "steps=1e18", "--limit", "time=60s"]
    process = subprocess.Popen(words, env=ENVIRON, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 30
    while time.monotonic() < end and len(workers := children(process.pid)) < 2:
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(10) == code
    assert len(workers) == 2
    end = time.monotonic() + 5
    while time.monotonic() < end and any(map(alive, workers)):
        time.sleep(0.05)
    assert not any(map(alive, workers))


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """A request that was under way is answered by another worker; one that ends two workers is answered with the cause."""
    source = tmp_path / "q.jsonl"
    source.write_text('{"script": "for i in range(150000): x = ones(1)\\nprint(i)"}\n')
    for kills in (1, 2):
        words = [*COMMAND, str(source), "--limit", "time=60s"]
        process = subprocess.Popen(words, env=ENVIRON, stdout=subprocess.PIPE)
        killed: set[int] = set()
        end = time.monotonic() + 30
        while time.monotonic() < end and len(killed) < kills:
            for worker in set(children(process.pid)) - killed:
                time.sleep(0.1)
                os.kill(worker, signal.SIGKILL)
                killed.add(worker)
        assert process.stdout
        answer = json.loads(process.stdout.read())
        assert process.wait(30) == 0 and len(killed) == kills
        if kills == 1:
            assert answer["output"] == "149999\n"
        else:
            assert answer["error"]["message"] == "the system ended the program, as it does when memory is used up"


def children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
