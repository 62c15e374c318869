"""Pipes, full disks, signals, terminals: what only a process of its own can show."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pytest

from gradcli.cli.output import use_colour

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
GRADCLI = f"{sys.executable} -m gradcli"


def environ(**more: str) -> dict[str, str]:
    drop = ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "LC_ALL", "PYTHONIOENCODING", "PYTHONUTF8")
    return {key: value for key, value in os.environ.items() if key not in drop} | {"PYTHONPATH": str(ROOT)} | more


def shell(command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environ(**more), timeout=60)


@pytest.mark.parametrize("words", ["eval 1+1", "eval 'list(range(300000))'", "grad 'x**2' x=3", "--help", "grad --help", "--version"])
def test_a_closed_pipe_is_141_and_quiet(words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(["bash", "-c", f"{GRADCLI} {words}"], stdout=writer, stderr=subprocess.PIPE, text=True, env=environ(), timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_is_closed_in_the_middle_is_141(unbuffered: str) -> None:
    done = shell(f"{GRADCLI} eval 'list(range(300000))' | head -c 9; exit ${{PIPESTATUS[0]}}", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stdout, done.stderr) == (141, "[0, 1, 2,", "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_file_that_may_not_grow_is_one_line(tmp_path: Path, unbuffered: str) -> None:
    command = f"ulimit -f 8; {GRADCLI} eval 'list(range(300000))' > {tmp_path / 'out.txt'}"
    done = shell(command, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (1, "DataError: cannot write to standard output: File too large\n")


@pytest.mark.parametrize("kilobytes", [13_000, 16_000, 20_000, 30_000])
def test_a_bound_on_memory_that_stops_the_start_is_told_without_a_traceback(kilobytes: int) -> None:
    done = shell(f"ulimit -v {kilobytes}; {GRADCLI} eval 1+1")
    assert done.returncode != 0 and "gradcli/cli/" not in done.stderr and len(done.stderr) < 2000
    if "ulimit" in done.stderr:
        assert "cannot be loaded" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line() -> None:
    done = shell(f"{GRADCLI} eval 1+1 > /dev/full")
    assert (done.returncode, done.stderr) == (1, "DataError: cannot write to standard output: No space left on device\n")
    done = shell(f"{GRADCLI} eval 1+1 -o /dev/full")
    assert (done.returncode, done.stderr) == (1, "DataError: cannot write /dev/full: No space left on device\n")


@pytest.mark.parametrize("words", ["--version", "--help", "eval --help", "--show-completion bash", "plot x x=0..1", "eval 1+1 --json"])
def test_whatever_cannot_be_written_is_one_line(words: str) -> None:
    for where, why in ((">&-", "it is closed"), ("> /dev/full", "No space left on device")):
        done = shell(f"{GRADCLI} {words} {where}")
        assert (done.returncode, done.stderr) == (1, f"DataError: cannot write to standard output: {why}\n")


def test_closed_streams() -> None:
    done = shell(f"{GRADCLI} eval 1+1 >&-")
    assert (done.returncode, done.stderr) == (1, "DataError: cannot write to standard output: it is closed\n")
    assert shell(f"{GRADCLI} eval foo 2>&-").returncode == 1
    assert shell(f"{GRADCLI} eval x x=@- <&-").stderr == "DataError: standard input is closed\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_the_old_file(tmp_path: Path, number: signal.Signals, code: int) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    words = [*GRADCLI.split(), "eval", "sum([i*i for i in range(10**9)])", "-o", str(target)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ())
    time.sleep(1.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (code, b"", b"")
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"] and target.read_text() == "old"


def test_no_utf8_no_crash() -> None:
    words = [*GRADCLI.split(), "eval", "'äß' + '日'", "--format", "plain"]
    done = subprocess.run(words, capture_output=True, env=environ(PYTHONIOENCODING="ascii"), timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\\xe4\\xdf\\u65e5\n", b"")


def on_terminal(words: str, **more: str) -> str:
    """What the command prints when standard output and standard error are a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(["bash", "-c", f"{GRADCLI} {words}"], stdout=follower, stderr=follower, env=environ(TERM="xterm", **more))
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    process.wait(timeout=60)
    os.close(leader)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.quick
def test_the_same_text_on_a_terminal_and_piped() -> None:
    piped = shell(f"{GRADCLI} grad 'x**2' x=3").stdout
    shown = on_terminal("grad 'x**2' x=3")
    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == piped


def test_no_color_means_no_codes_at_all() -> None:
    assert "\x1b" not in on_terminal("grad 'x**2' x=3", NO_COLOR="1")
    assert "\x1b" not in on_terminal("eval foo", NO_COLOR="1")
    assert "\x1b" not in on_terminal("eval foo --color never")


def test_a_terminal_gets_no_control_characters() -> None:
    assert on_terminal("eval \"'\\\\x1b[31m'\" --format plain") == "\\x1b[31m\n"


class Stream:
    closed = False

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("choice", "variables", "terminal", "expected"),
    [
        (None, {}, True, True),
        (None, {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        (None, {"NO_COLOR": "1"}, True, False),
        (None, {"NO_COLOR": ""}, True, True),
        (None, {"FORCE_COLOR": "1"}, False, True),
        (None, {"FORCE_COLOR": "0"}, False, False),
        (None, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_when_to_colour(monkeypatch, choice: str | None, variables: dict[str, str], terminal: bool, expected: bool) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert use_colour(Stream(terminal), choice) is expected  # type: ignore[arg-type]


def test_python_dash_m() -> None:
    assert shell(f"{GRADCLI} --version").stdout == "gradcli 0.1.0\n"


def test_nothing_planted_in_the_working_directory_runs(tmp_path: Path) -> None:
    for name in ("numpy", "lark", "typer", "gradcli"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('planted')\n")
    words = [sys.executable, "-P", "-m", "gradcli", "--version"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environ(), timeout=60)
    assert done.stdout == "gradcli 0.1.0\n"


@pytest.mark.parametrize("columns", [100, 80, 60, 40])
@pytest.mark.parametrize("command", ["grad", "explain", "eval"])
def test_tables_fit_the_terminal(command: str, columns: int) -> None:
    words = [command, "mean((x+2)*(x+2)*2)", "x=[-1.2301, 0.5498, -1.7590]", "--format", "table", "--color", "never"]
    child = pexpect.spawn(sys.executable, ["-m", "gradcli", *words], dimensions=(50, columns), env=environ(TERM="xterm"), encoding="utf-8")
    text = child.read()
    child.close()
    assert child.exitstatus == 0
    assert "MeanBackward0" in text
    assert max(map(len, text.splitlines())) <= columns


def test_an_answer_in_json_that_cannot_be_written(tmp_path):
    words = [sys.executable, "-P", "-m", "gradcli", "grad", "x", "x=1", "--format", "json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path
        )
    assert (done.returncode, done.stderr) == (1, "DataError: cannot write to standard output: No space left on device\n")


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system has no /dev/fd")
def test_what_is_no_regular_file_is_written_to(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("old\n")
    for name in ("/dev/stdout", "-", "/dev/fd/1", "/proc/self/fd/1"):
        assert shell(f"cd {tmp_path}; {GRADCLI} eval 1+1 -o {name} >> log.txt").stderr == ""
    assert log.read_text() == "old\n" + "2\n" * 4
    assert shell(f"{GRADCLI} eval 1+1 -o >(sed s/2/two/) | cat").stdout == "two\n"
    assert shell(f"{GRADCLI} run - -o /dev/stderr <<< 'print(5)'").stderr == "5\n"
    assert shell(f"{GRADCLI} eval 1+1 -o /dev/fd/77").stderr == "DataError: cannot write /dev/fd/77: Bad file descriptor\n"
    assert sorted(os.listdir(tmp_path)) == ["log.txt"]


def test_numbers_go_through_a_pipe_as_npy() -> None:
    done = shell(f"{GRADCLI} eval 'x*2' x='[[1,2],[3,4]]' --format npy | {GRADCLI} eval y y=@- --format plain")
    assert (done.stdout, done.stderr) == ("2.0 4.0\n6.0 8.0\n", "")
