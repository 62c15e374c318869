"""Batches that are killed at random moments, a small copy of `python -m tests.batch.kills`; and what stands in the way of a resume."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.batch import kills
from tests.batch.conftest import COMMAND, ENVIRON
from tests.batch.mixed import requests

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,500 mixed requests, with the answers of a quiet run beside them in `quiet.jsonl`."""
    source = tmp_path_factory.mktemp("mixed") / "q.jsonl"
    source.write_text("".join(requests(1500, 8)))
    subprocess.run([*COMMAND, str(source), "-o", str(source.with_name("quiet.jsonl"))], env=ENVIRON, check=True)
    return source


def quiet(mixed: Path) -> bytes:
    return mixed.with_name("quiet.jsonl").read_bytes()


def started(out: Path, mixed: Path, *words: str) -> subprocess.Popen[bytes]:
    """A run that has written some answers."""
    process = subprocess.Popen([*COMMAND, str(mixed), "-o", str(out), *words], env=ENVIRON, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not kills.written(out) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("seed", [1, 2])
def test_parents_and_workers_are_killed(mixed: Path, tmp_path: Path, seed: int) -> None:
    told = kills.disturbed(mixed, tmp_path / "a.jsonl", 8, 0.2, random.Random(seed))
    assert told["parent"] + told["worker"] + told["both"] > 0
    assert (tmp_path / "a.jsonl").read_bytes() == quiet(mixed) and os.listdir(tmp_path) == ["a.jsonl"]


def test_requests_are_mixed(mixed: Path) -> None:
    found = quiet(mixed)
    kinds = [b"DataError", b"SyntaxError", b"NameError", b"UsageError", b"LimitError", b'"ok": true']
    assert all(kind in found for kind in kinds) and b"InternalFault" not in found
    assert b"ran for more than 0.1 s" in found and b"more than 2,000 steps" in found


def test_two_resumes_at_once(mixed: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    first = started(out, mixed)
    first.kill()
    first.communicate()
    both = [subprocess.Popen([*COMMAND, str(mixed), "-o", str(out), "--resume"], env=ENVIRON, stderr=subprocess.PIPE) for _ in range(2)]
    told = sorted((one.wait(60), one.stderr.read().decode()) for one in both if one.stderr)
    assert told == [(0, ""), (1, f"DataError: cannot write {out}: another run writes it\n")]
    assert out.read_bytes() == quiet(mixed)


def test_a_folder_that_cannot_be_written(mixed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):
        folder = Path("/sys/kernel")  # for root every other folder can be written
    for words in ([], ["--resume"], ["--jobs", "2"]):
        done = subprocess.run([*COMMAND, str(mixed), "-o", str(folder / "a.jsonl"), *words], env=ENVIRON, capture_output=True, text=True)
        assert done.returncode == 1 and re.fullmatch(rf"DataError: cannot write {folder}/a\.jsonl: .*\n", done.stderr)


def test_a_full_device(mixed: Path) -> None:
    done = subprocess.run([*COMMAND, str(mixed), "-o", "/dev/full"], env=ENVIRON, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "DataError: cannot write /dev/full: No space left on device\n")


def test_a_pipe_that_nobody_reads(mixed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", '"$@" | head -n 3; exit ${PIPESTATUS[0]}', "-", *COMMAND, str(mixed), "--jobs", "2"],
        env=ENVIRON,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (141, b"") and done.stdout.splitlines() == quiet(mixed).splitlines()[:3]


def test_workers_have_the_systems_limit_on_processor_time(tmp_path: Path) -> None:
    """It holds where the parent was killed, and where no signal of ours arrives."""
    source = tmp_path / "q.jsonl"
    source.write_text('{"script": "while True: pass"}\n')
    process = subprocess.Popen([*COMMAND, str(source), "--limit", "steps=1e18", "--limit", "time=30s"], env=ENVIRON)
    most = "unlimited"
    end = time.monotonic() + 30
    while most == "unlimited" and time.monotonic() < end:
        for worker in kills.children(process.pid):
            (most,) = re.findall(r"Max cpu time +(\w+)", Path(f"/proc/{worker}/limits").read_text()) or [most]
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 143 and 30 < int(most) < 30 * (os.cpu_count() or 1) + 60


def test_the_first_line_that_differs_is_told(mixed: Path, tmp_path: Path) -> None:
    first, *others = quiet(mixed).decode().splitlines(keepends=True)
    short, other = tmp_path / "short.jsonl", tmp_path / "other.jsonl"
    short.write_text("".join([first, *others[:-1]]))
    other.write_text("".join(["{}\n", *others]))
    same = mixed.with_name("quiet.jsonl")
    assert kills.different(same, same) == []
    assert kills.different(same, other) == [f"1: {first}", "1: {}\n"]
    assert kills.different(same, short) == [f"{len(others) + 1}: {others[-1]}", f"{len(others) + 1}: None"]
