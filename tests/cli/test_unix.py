"""What a Unix tool meets: odd inputs, a hostile directory, another locale; one message and the right exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-P", "-m", "gradcli"]


def gradcli(*words: str, stdin: bytes = b"", cwd: Path | None = None, **more: str) -> tuple[int, bytes, bytes]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)} | more
    done = subprocess.run([*COMMAND, *words], input=stdin, capture_output=True, cwd=cwd, env=environ, timeout=600)
    return done.returncode, done.stdout, done.stderr


INPUTS = {
    "binary": (bytes(range(128, 256)), 1, b"DataError: -: line 1 is not UTF-8 text"),
    "latin-1": ("print('\xe9')\n".encode("latin-1"), 1, b"DataError: -: line 1 is not UTF-8 text"),
    "NUL": (b"print('a\0b')\n", 3, b"SyntaxError: "),
    "control": (b"\x01\n", 3, b"SyntaxError: "),
    "elf": (b"\x7fELF\x02\x01\x01\0", 3, b"SyntaxError: "),
    "second BOM": (b"\xef\xbb\xbf\xef\xbb\xbfprint(1)\n", 1, b"DataError: - begins with more than one byte order mark"),
    "long line": (b"x = '" + b"a" * 50_000_000 + b"'\n", 5, b"LimitError: "),
    "syntax after output": (b"print(1)\nprint(\n", 3, b"SyntaxError: "),
}


@pytest.mark.quick
@pytest.mark.parametrize("case", INPUTS)
def test_bad_input_is_one_message(case: str) -> None:
    content, code, start = INPUTS[case]
    got, out, err = gradcli("run", "-", stdin=content)
    assert (got, out) == (code, b"") and err.startswith(start), err[:300]
    assert sum(not line.startswith(b" ") for line in err.splitlines()) == 1 and len(err) < 2000


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\xef\xbb\xbfprint(1)\r\nprint(2)\r\n", b"if 1:\r\n  print(1)\r\nprint(2)", b"print(1)\nprint(2)"]
)
def test_good_input(content: bytes) -> None:
    code, out, err = gradcli("run", "-", stdin=content)
    assert (code, err) == (0, b"") and out in (b"", b"1\n2\n")


@pytest.mark.quick
def test_what_was_printed_stays() -> None:
    code, out, err = gradcli("run", "-", stdin=b"print(1)\nprint(2)\n1/0\nprint(3)\n")
    assert (code, out) == (1, b"1\n2\n") and err.startswith(b"ZeroDivisionError: division by zero\n")


def test_very_many_statements() -> None:
    # a million of them take a minute
    count = 1_000_000 if os.environ.get("GRADCLI_HOSTILE") == "all" else 20_000
    text = b"a=1\n" * count + b"print(a)\n"
    assert gradcli("run", "-", stdin=text) == (0, b"1\n", b"")
    code, out, err = gradcli("run", "--untrusted", "-", stdin=text * (1_000_000 // count))
    assert (code, out) == (5, b"") and err.startswith(b"LimitError: ")


PLANTED = ("numpy", "lark", "typer", "gradcli", "rich", "json", "sitecustomize", "usercustomize", "_tables", "readline")


def test_nothing_in_the_working_directory_runs(tmp_path: Path) -> None:
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text("print('PLANTED'); raise SystemExit(9)\n")
    for name in ("pyproject.toml", "setup.cfg", ".gradclirc", "gradcli.toml", "pythonrc.py", ".env"):
        (tmp_path / name).write_text("[gradcli]\nlimit = 'time=none'\n")
    for words in (["eval", "ones(2)"], ["grad", "x**2", "x=3"], ["eval", "--untrusted", "randn(2)"], ["run", "-"]):
        code, out, err = gradcli(*words, cwd=tmp_path, stdin=b"import numpy as np\nimport torch\nprint(1)\n")
        assert code == 0 and b"PLANTED" not in out + err, (words, err)


def test_the_world_around_does_not_matter(tmp_path: Path) -> None:
    """Hash seed, locale, time zone, working directory and home change nothing."""
    script = tmp_path / "s.py"
    script.write_text(
        "x = torch.randn(3, requires_grad=True)\ny = (x * 2).sum()\nprint(x, y, y.grad_fn, print, lambda: 0)\n"
        "print({'b', 'a', 'c'}, {1: 2}, sorted({'x', 'y'}), 1234567.891, f'{1e6:n}')\nprint(torch.initial_seed())\n1/0\n"
    )
    worlds = [
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC", "HOME": "/nonexistent"},
        {"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo", "HOME": str(tmp_path), "LANGUAGE": "de"},
        {"PYTHONHASHSEED": "3", "LC_ALL": "de_DE.UTF-8", "TZ": "America/Lima", "HOME": "/", "COLUMNS": "20"},
    ]
    answers = {gradcli("run", str(script), cwd=cwd, **world) for world, cwd in zip(worlds, [tmp_path, ROOT, Path("/")], strict=True)}
    assert len(answers) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old")
    tmp_path.chmod(0o500)
    code, out, err = gradcli("eval", "1+1", "-o", str(tmp_path / "old.txt"))
    assert (code, out) == (1, b"") and err.startswith(b"DataError: cannot write ")
    assert (tmp_path / "old.txt").read_text() == "old"


@pytest.mark.parametrize("target", ["/nonexistent/x.txt", "/dev/full", "/proc/x.txt", "."])
def test_what_cannot_be_written(target: str, tmp_path: Path) -> None:
    code, out, err = gradcli("eval", "1+1", "-o", target, cwd=tmp_path)
    assert (code, out) == (1, b"") and err.startswith(b"DataError: cannot write ") and err.count(b"\n") == 1


@pytest.mark.parametrize("trusted", [[], ["--untrusted"]])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)])
def test_signals_stop_at_once(trusted: list[str], number: signal.Signals, code: int) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    words = [*COMMAND, "run", *trusted, "-"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ)
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(b"print('begun')\nwhile True:\n    x = torch.ones(1000) @ torch.ones(1000)\n")
    process.stdin.close()
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(number)
    assert process.wait(20) == code and process.stderr.read() == b""


PLACES = {
    "a loop": "while True: pass",
    "a callback of a weak reference": "while True: id(lambda: 0)",
    "finally": "while True:\n    try:\n        pass\n    finally:\n        continue",
    "try and finally": "while True:\n    try:\n        x = 1\n        x = 2\n    finally:\n        continue",
    "a comprehension": "[i for i in range(10**12)]",
    "a long product": "a = torch.full((1500, 1500), 1e-40)\nb = a @ a\nwhile True:\n    b = a @ a",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_arrive_wherever_the_program_is(place: str, number: signal.Signals) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    words = [
        *COMMAND,
        "run",
        "--untrusted",
        "--limit",
        "time=60s",
        "--limit",
        "steps=1e15",
        "--limit",
        "list=1e15",
        "--limit",
        "bytes=4GiB",
        "-",
    ]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ)
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(f"print('begun')\n{PLACES[place]}\n".encode())
    process.stdin.close()
    assert process.stdout.readline() == b"begun\n"
    time.sleep(0.3)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(number)
    assert process.wait(5) == 128 + number and process.stderr.read() == b""
    assert not any(Path(f"/proc/{child}").exists() for child in children)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_the_second_process_ends_with_the_first(number: signal.Signals) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    words = [*COMMAND, "run", "--untrusted", "--limit", "time=60s", "--limit", "steps=1e15", "-"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ)
    assert process.stdin and process.stdout
    process.stdin.write(b"print('begun')\nwhile True: pass\n")
    process.stdin.close()
    assert process.stdout.readline() == b"begun\n"
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(number)
    process.wait(5)
    end = time.monotonic() + 5
    stat = Path(f"/proc/{child}/stat")
    while time.monotonic() < end and stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.02)
    assert time.monotonic() < end


@pytest.mark.parametrize("option", ["--file=/etc/passwd", "-f=/etc/passwd", "-f"])
def test_an_expression_that_looks_like_an_option_opens_no_file(option: str) -> None:
    for words in (["--untrusted", option], ["--untrusted", option, "/etc/passwd"], ["--untrusted", "--", option]):
        code, out, err = gradcli("eval", *words)
        assert code in (1, 2, 3) and out == b"" and b"root:" not in err, err


def test_a_call_that_nothing_interrupts_is_ended_from_outside() -> None:
    text = b"print('begun')\na = torch.full((1500, 1500), 1e-40)\nwhile True:\n    b = a @ a\n"
    code, out, err = gradcli("run", "--untrusted", "--limit", "time=1s", "-", stdin=text)
    assert (code, out) == (5, b"begun\n") and err.startswith(b"LimitError: the program ran for more than 1 s\n")


def test_one_long_call_is_ended_from_outside() -> None:
    words = [
        "eval",
        "--untrusted",
        "--limit",
        "time=2s",
        "--limit",
        "work=1e15",
        "--limit",
        "bytes=1GiB",
        "torch.linalg.svd(ones(2500, 2500))",
    ]
    code, out, err = gradcli(*words)
    assert (code, out) == (5, b"") and err.startswith(b"LimitError: the program ran for more than 2 s\n") and len(err.splitlines()) <= 3


def test_time_of_ordinary_use() -> None:
    code, _, err = gradcli("eval", "--limit", "time=0.3s", "[i for i in range(10**9)]")
    assert code == 5 and err.startswith(b"LimitError: the program ran for more than 0.3 s\n")


HARMFUL = "\x1b[31m\x9b2J\u202e\u2066\x07\r\x00\ufeff"


@pytest.mark.parametrize("words", [["eval", "'{}' + nope"], ["grad", "x['{}']", "x=1"], ["eval", "int('{}')"], ["eval", "x", "x='{}'nope"]])
def test_no_control_character_in_a_diagnostic(words: list[str]) -> None:
    _, _, err = gradcli(*[word.format(HARMFUL.replace("\0", "")) for word in words])
    shown = err.decode()
    assert not set(shown) & {char for char in HARMFUL if not char.isprintable()}


def test_file_names_are_escaped(tmp_path: Path) -> None:
    name = "a\x1b[31m\nb.py"
    (tmp_path / name).write_text("1/0\n")
    for words in (["run", name], ["run", "no" + name], ["eval", "x", f"x=@no{name}"]):
        code, _, err = gradcli(*words, cwd=tmp_path)
        assert code == 1 and b"\x1b" not in err
