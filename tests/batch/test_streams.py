"""Killed and resumed, torn, piped, interrupted: every line is answered exactly once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.batch.conftest import COMMAND, ENVIRON

pytestmark = pytest.mark.slow


def requests(count: int) -> bytes:
    """`count` lines, one in a hundred of them bad."""
    lines = []
    for i in range(count):
        lines.append(b"bad" if i % 100 == 50 else json.dumps({"id": i % 10, "expr": f"x*{i}", "vars": {"x": 2}}).encode())
    return b"\n".join(lines) + b"\n"


def check(text: bytes, count: int) -> None:
    """Every line is answered once, in order, with its own answer."""
    answers = [json.loads(line) for line in text.splitlines()]
    assert [answer["line"] for answer in answers] == list(range(1, count + 1))
    for i, answer in enumerate(answers):
        assert answer["ok"] is (i % 100 != 50)
        assert not answer["ok"] or (answer["value"] == i * 2 and answer["id"] == i % 10)


def kill_when(process: subprocess.Popen[bytes], out: Path, size: int) -> None:
    """SIGKILL once the output has so many bytes."""
    end = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < end and (not out.exists() or out.stat().st_size < size):
        time.sleep(0.01)
    process.kill()
    process.wait()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_and_resumed(tmp_path: Path, jobs: str) -> None:
    count = 1500
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(requests(count))
    command = [*COMMAND, str(source), "-o", str(out), "--jobs", jobs]
    for part in (1, 2, 3):
        kill_when(subprocess.Popen([*command, *(["--resume"] if part > 1 else [])], env=ENVIRON), out, part * 15_000)
        with out.open("ab") as file:  # a torn answer
            file.write(b'{"id": 3, "line": 99')
    done = subprocess.run([*command, "--resume"], env=ENVIRON, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    check(out.read_bytes(), count)
    assert subprocess.run([*command, "--resume"], env=ENVIRON, timeout=60).returncode == 0
    check(out.read_bytes(), count)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_torn_anywhere(tmp_path: Path) -> None:
    count = 120
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(requests(count))
    command = [*COMMAND, str(source), "-o", str(out), "--resume"]
    assert subprocess.run(command, env=ENVIRON, timeout=60).returncode == 0
    whole = out.read_bytes()
    check(whole, count)
    rng = random.Random(1)
    for cut in [0, 1, len(whole) - 1, whole.index(b"\n"), whole.index(b"\n") + 1, rng.randrange(len(whole))]:
        out.write_bytes(whole[:cut])
        assert subprocess.run(command, env=ENVIRON, timeout=60).returncode == 0
        assert out.read_bytes() == whole, cut


def test_resuming_standard_output(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(requests(150))
    with out.open("ab") as file:
        subprocess.run([*COMMAND, str(source)], stdout=file, env=ENVIRON, timeout=60, check=True)
    whole = out.read_bytes()
    out.write_bytes(whole[: len(whole) // 2])
    with out.open("ab") as file:
        subprocess.run([*COMMAND, str(source), "--resume"], stdout=file, env=ENVIRON, timeout=60, check=True)
    assert out.read_bytes() == whole
    done = subprocess.run([*COMMAND, str(source), "--resume"], capture_output=True, env=ENVIRON, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith(b"UsageError: --resume needs -o FILE")


def test_an_older_file_stays_until_the_end(tmp_path: Path) -> None:
    source, out, partial = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    source.write_bytes(requests(2000))
    out.write_text("old\n")
    process = subprocess.Popen([*COMMAND, str(source), "-o", str(out)], env=ENVIRON)
    kill_when(process, partial, 5000)
    assert out.read_text() == "old\n"
    assert subprocess.run([*COMMAND, str(source), "-o", str(out), "--resume"], env=ENVIRON, timeout=60).returncode == 0
    check(out.read_bytes(), 2000)
    assert not partial.exists()


def test_foreign_output_is_not_gone_on_with(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(requests(3))
    out.write_text("a diary\n")
    done = subprocess.run([*COMMAND, str(source), "-o", str(out), "--resume"], env=ENVIRON, capture_output=True, timeout=60)
    assert done.returncode == 2 and out.read_text() == "a diary\n"


@pytest.mark.quick
def test_a_conversation(tmp_path: Path) -> None:
    """A client that waits for each answer before it sends the next request gets them all."""
    process = subprocess.Popen([*COMMAND, "-", "--jobs", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRON)
    assert process.stdin and process.stdout
    for i in range(5):
        process.stdin.write(json.dumps({"expr": f"{i}+1"}).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["value"] == i + 1
    process.stdin.close()
    assert process.wait(30) == 0


def test_last_line_without_end_and_crlf() -> None:
    done = subprocess.run([*COMMAND, "-"], input=b'{"expr": "1"}\r\n{"expr": "2"}', capture_output=True, env=ENVIRON, timeout=60)
    assert [json.loads(line)["value"] for line in done.stdout.splitlines()] == [1, 2]


def test_a_line_that_is_too_long() -> None:
    lines = b'{"expr": "1"}\n{"expr": "' + b"1" * 50_000_000 + b'"}\n{"expr": "2"}\n'
    done = subprocess.run([*COMMAND, "-"], input=lines, capture_output=True, env=ENVIRON, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["ok"] for answer in answers] == [True, False, True] and answers[1]["error"]["exit"] == 5


def test_nobody_reads() -> None:
    done = subprocess.run(
        ["bash", "-c", '"$@" | head -1; exit ${PIPESTATUS[0]}', "-", *COMMAND, "-"],
        input=requests(3000),
        capture_output=True,
        env=ENVIRON,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (141, b"") and json.loads(done.stdout)["line"] == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(tmp_path: Path, number: signal.Signals, code: int) -> None:
    out = tmp_path / "out.jsonl"
    process = subprocess.Popen([*COMMAND, "-", "-o", str(out)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRON)
    assert process.stdin and process.stderr
    process.stdin.write(b'{"expr": "1"}\n')
    process.stdin.flush()
    end = time.monotonic() + 30
    while time.monotonic() < end and not (out.exists() and out.stat().st_size):
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(20) == code and process.stderr.read() == b""
    assert json.loads(out.read_text())["value"] == 1
    process.stdin.close()


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_unreadable(tmp_path: Path, name: str) -> None:
    done = subprocess.run([*COMMAND, name], cwd=tmp_path, capture_output=True, env=ENVIRON, timeout=60)
    assert done.returncode == 1 and done.stderr.startswith(b"DataError: cannot read ")


def test_memory_is_flat(tmp_path: Path) -> None:
    """Ten times the lines take no more memory, except what the allocators keep."""
    sizes = []
    for count in (300, 3000):
        source = tmp_path / "in.jsonl"
        source.write_bytes(requests(count))
        process = subprocess.Popen([*COMMAND, str(source)], stdout=subprocess.DEVNULL, env=ENVIRON)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        sizes.append(usage.ru_maxrss)
    assert sizes[1] < sizes[0] * 1.2 + 5000
