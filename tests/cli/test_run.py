"""`gradcli run`: scripts one after the other, their output, their errors, where the text comes from."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import casebook
from tests.repl.driving import ROOT, Terminal

Write = Callable[[str, str | bytes], str]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file into the working directory; its name."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str | bytes) -> str:
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return write


# --- several files ---


def test_a_seed_after_its_prelude(cli, script) -> None:
    case = casebook.find("seeds/001_04")
    answer = cli("run", script("prelude.py", case.before), script("seed.py", case.script))
    assert (answer.code, answer.out) == (0, case.prints)


def test_files_share_names_modes_and_the_generator(cli, script) -> None:
    one = script("one.py", "import torch\ntorch.manual_seed(6)\nx = torch.randn(1)\ntorch.set_grad_enabled(False)\n")
    two = script("two.py", "print(x, torch.randn(1), torch.is_grad_enabled())\n")
    both = script("both.py", "import torch\ntorch.manual_seed(6)\nprint(torch.randn(1), torch.randn(1), False)\n")
    assert cli("run", one, two).out == cli("run", both).out


def test_names_of_pythons_own(cli, script) -> None:
    assert cli("run", script("a.py", "print(sum([1, 2]), max(1, 2), __name__)\n")).out == "3 2 __main__\n"
    assert cli("run", script("b.py", "from torch import *\nprint(sum(ones(2)))\n")).out == "tensor(2.)\n"


def test_each_file_is_parsed_whole_before_it_runs(cli, script) -> None:
    answer = cli("run", script("a.py", "print(1)\n"), script("b.py", "print(2)\nprint(3\n"))
    assert (answer.code, answer.out) == (3, "1\n")
    assert answer.err.startswith("SyntaxError: '(' was never closed\n  b.py:2\n")


@pytest.mark.parametrize(
    ("call", "code", "out", "err"),
    [
        ("exit()", 0, "1\n2\n", ""),
        ("sys.exit(0)", 0, "1\n2\n", ""),
        ("sys.exit(3)", 3, "1\n", ""),
        ("quit('bye')", 1, "1\n", "bye\n"),
        ("raise SystemExit", 0, "1\n2\n", ""),
    ],
)
def test_a_program_that_ends_itself(cli, script, call: str, code: int, out: str, err: str) -> None:
    answer = cli("run", script("a.py", f"import sys\nprint(1)\n{call}\nprint(9)\n"), script("b.py", "print(2)\n"))
    assert (answer.code, answer.out, answer.err) == (code, out, err)


def test_the_first_error_is_the_last_file(cli, script) -> None:
    answer = cli("run", script("a.py", "print(1)\nmissing\nprint(2)\n"), script("b.py", "print(3)\n"))
    assert (answer.code, answer.out) == (1, "1\n")
    assert answer.err == "NameError: name 'missing' is not defined\n  a.py:2\n  missing\n  ^^^^^^^\n"


def test_keep_going(cli, script) -> None:
    files = [script("a.py", "x = 1\nmissing\n"), script("b.py", "print(\n"), "none.py", script("c.py", "print(x)\n")]
    answer = cli("run", *files, "--keep-going")
    assert (answer.code, answer.out) == (1, "1\n")
    kinds = [line.split(":")[0] for line in answer.err.splitlines() if "Error: " in line]
    assert kinds == ["NameError", "SyntaxError", "DataError"]
    assert cli("run", files[1], files[0], "--keep-going").code == 3
    assert cli("run", files[3], "--keep-going").code == 1


def test_a_mode_does_not_survive_the_error_in_its_block(cli, script) -> None:
    one = script("a.py", "import torch\nwith torch.no_grad():\n    missing\n")
    two = script("b.py", "print(torch.is_grad_enabled())\n")
    assert cli("run", one, two, "--keep-going").out == "True\n"


# --- streams ---


def test_standard_input(cli, script) -> None:
    assert cli("run", "-", stdin=b"print(1)\n").out == "1\n"
    assert cli("run", script("a.py", "x = 2\n"), "-", stdin=b"print(x)\n").out == "2\n"
    answer = cli("run", "-", stdin=b"1 / 0")
    assert answer.err == "ZeroDivisionError: division by zero\n  stdin:1\n  1 / 0\n  ^^^^^\n"
    assert cli("run", "-", "-").code == 2


def test_without_words_standard_input_is_the_script(cli) -> None:
    assert cli(stdin=b"import torch\nprint(torch.ones(2))\n").out == "tensor([1., 1.])\n"
    assert cli(stdin=b"").code == 0
    assert cli(stdin=b"1 +").code == 3


def test_warnings_go_to_standard_error_once_for_each_line(cli, script) -> None:
    text = "import torch\nx = torch.ones(2, requires_grad=True)\nfor _ in range(3):\n    print((x * 2).grad)\n"
    answer = cli("run", script("a.py", text))
    assert answer.out == "None\n" * 3
    first, second, advice = answer.err.splitlines()
    assert first.startswith("a.py:4: UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being accessed.")
    assert second == "  print((x * 2).grad)"
    assert "retain_grad" in advice
    assert cli("run", "a.py", "-q").err == ""


def test_output_arrives_as_it_is_printed(script) -> None:
    script("a.py", "print('first')\nwhile True: pass\n")
    command = [sys.executable, "-m", "gradcli", "run", "a.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"first\n"
        process.terminate()
        assert process.wait(timeout=20) == 143


def test_pipes_and_full_disks(script) -> None:
    script("a.py", "def f():\n    for i in range(100000): print(i)\nf()\n")
    gradcli = f"{sys.executable} -m gradcli run a.py"
    done = subprocess.run(
        ["bash", "-c", f"{gradcli} | head -1; echo ${{PIPESTATUS[0]}}; {gradcli} > /dev/full; echo $?"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert done.stdout == "0\n141\n1\n"
    assert done.stderr == "DataError: cannot write to standard output: No space left on device\n"


def test_output_file(cli, script) -> None:
    one, bad = script("a.py", "print(1)\n"), script("bad.py", "missing\n")
    assert cli("run", one, "-o", "out.json").out == ""
    assert Path("out.json").read_text() == "1\n"
    assert cli("run", bad, one, "--keep-going", "-o", "out.json").code == 1
    assert Path("out.json").read_text() == "1\n"
    assert cli("run", one, "-o", one).code == 1
    assert Path(one).read_text() == "print(1)\n"


def test_what_makes_no_sense(cli, script) -> None:
    one = script("a.py", "print(1)\n")
    for words in ([], ["-f", one], [one, "--json"], [one, "--format", "csv"], [one, "-i", "-o", "x"], [one, "--bogus"]):
        answer = cli("run", *words)
        assert (answer.code, answer.err.startswith("UsageError: ") or "UsageError" in answer.out) == (2, True), words
    assert cli("run", one, "--format", "repr").out == "1\n"


# --- sources ---


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"\xef\xbb\xbfprint(1)\n", 0, ""),
        (b"print(1)\r\n", 0, ""),
        (b"if True:\r\n    print(1)\r\n", 0, ""),
        (b"print(1)", 0, ""),
        ("# é\nprint(1)\n".encode(), 0, ""),
        (b"print(1)\nprint(2)\xff\n", 1, "DataError: a.py: line 2 is not UTF-8 text (byte 0xff)"),
        (b"print(1)\0\n", 3, "SyntaxError: control character U+0000 is not allowed in the text"),
        (b"print(1)\x1b\n", 3, "SyntaxError: control character U+001B is not allowed in the text"),
        ("é = 1\nprint(1)\n".encode(), 3, "SyntaxError: non-ASCII letters are refused in names: 'é' (U+00E9)"),
        (b"\xef\xbb\xbf\xef\xbb\xbfprint(1)\n", 1, "DataError: a.py begins with more than one byte order mark"),
    ],
)
def test_the_text_of_a_file(cli, script, content: bytes, code: int, message: str) -> None:
    answer = cli("run", script("a.py", content))
    assert (answer.code, answer.out) == (code, "" if code else "1\n")
    assert answer.err.startswith(message)


def test_what_is_no_file(cli, script, tmp_path: Path) -> None:
    os.mkfifo("pipe")
    for name, reason in (("none.py", "No such file or directory"), ("pipe", "it is not a regular file"), (".", "it is not a regular file")):
        answer = cli("run", name)
        assert (answer.code, answer.err) == (1, f"DataError: cannot read {name}: {reason}\n")


def test_names_of_files_are_escaped(cli, script) -> None:
    name = script("a\x1b[31m\n.py", "import torch\n1 / 0\n")
    assert cli("run", name).err.splitlines()[1] == "  a\\x1b[31m\\n.py:2"


# --- options ---


def test_seed_dtype_and_precision(cli, script) -> None:
    one = script("a.py", "import torch\nprint(torch.rand(1), torch.ones(1).dtype)\n")
    assert cli("run", one, "--seed", "3").out == cli("run", script("b.py", "import torch\ntorch.manual_seed(3)\n"), one).out
    assert cli("run", one, "--dtype", "float64").out.endswith("torch.float64\n")
    assert cli("run", script("c.py", "import torch\nprint(torch.ones(1) / 3)"), "--precision", "7").out == "tensor([0.3333333])\n"


@pytest.mark.parametrize(
    ("text", "options", "limit"),
    [
        ("print(1)\n", ["--limit", "source=8"], "source"),
        ("while True: pass\n", ["--untrusted"], "steps"),
        ("while True: pass\n", ["--limit", "time=0.2s"], "time"),
        ("while True: print('a' * 100000)\n", ["--untrusted"], "output"),
        ("def f(): f()\nf()\n", [], "calls"),
        ("import torch\ntorch.ones(100000, 1000)\n", ["--untrusted"], "elements"),
    ],
)
def test_limits(cli, script, text: str, options: list[str], limit: str) -> None:
    answer = cli("run", script("a.py", text), *options)
    assert answer.code == 5
    assert answer.err.startswith("LimitError: ") and f"--limit {limit}=VALUE" in answer.err


def test_a_limit_cannot_be_caught(cli, script) -> None:
    text = "try:\n    while True: pass\nexcept BaseException:\n    print('caught')\nfinally:\n    print('finally')\n"
    answer = cli("run", script("a.py", text), "--limit", "steps=100")
    assert (answer.code, answer.out) == (5, "")


# --- staying at the prompt ---


@pytest.mark.slow
def test_the_prompt_afterwards(terminal: Callable[..., Terminal], script) -> None:
    one = terminal("run", script("a.py", "import torch\nx = torch.ones(2)\nprint('ran')\n"), "-i")
    one.wait("ran")
    one.wait_prompt()
    one.send("x * 3\r")
    one.wait("tensor([3., 3.])")
    one.wait_prompt()
    one.send("\x04")
    assert one.ended() == 0


@pytest.mark.slow
def test_the_prompt_after_an_error(terminal: Callable[..., Terminal], script) -> None:
    one = terminal("run", script("a.py", "y = 1\n"), script("b.py", "missing\n"), "-i")
    one.wait("NameError: name 'missing' is not defined")
    one.wait_prompt()
    one.send("y + 41\r")
    one.wait("42")
    one.wait_prompt()
    one.send("\x04")
    assert one.ended() == 0


def test_without_a_terminal_standard_input_follows(cli, script) -> None:
    assert cli("run", script("a.py", "x = 1\n"), "-i", stdin=b"print(x + 1)\n").out == "2\n"
