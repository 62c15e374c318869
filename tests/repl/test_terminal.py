"""The prompt in a real pseudo-terminal: what a person sees, and what survives."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from tests import casebook
from tests.repl.driving import ROOT, Terminal

pytestmark = pytest.mark.slow

Start = Callable[..., Terminal]
UP, TAB, CTRL_C, CTRL_D, CTRL_R = "\x1b[A", "\t", "\x03", "\x04", "\x12"
#: says when it is under way, and never ends
ENDLESS = "print('be' + 'gun'); sum(0 for i in range(10**12))"


@pytest.mark.quick
def test_a_value_and_leaving(terminal: Start) -> None:
    one = terminal()
    one.wait_prompt()
    one.send("torch.ones(2) * 3\r")
    one.wait("tensor([3., 3.])")
    one.wait_prompt()
    one.send(CTRL_D)
    assert one.ended() == 0


def test_the_seed_session_line_by_line(terminal: Start) -> None:
    case = casebook.find("seeds/001_01")
    one = terminal(rows=40)
    one.wait_prompt()
    for line in case.script.splitlines():
        one.send(line + "\r")
        one.wait_prompt()
    printed = [line for line in one.lines if not line.startswith((">>>", "gradcli"))]
    assert "\n".join(printed[1:]) == case.prints.rstrip()
    assert printed[0].startswith("<torch._C.Generator object at 0x")


def test_history_after_a_restart(terminal: Start, tmp_path: Path) -> None:
    one = terminal()
    one.wait_prompt()
    one.send("alpha = 41 + 1\r")
    one.wait_prompt()
    one.send(CTRL_D)
    one.ended()
    two = terminal()
    two.wait_prompt()
    two.send(UP)
    two.wait(">>> alpha = 41 + 1")
    two.send("\r")
    two.wait_prompt()
    two.send(CTRL_R + "alp")
    two.wait("alpha = 41")
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_history_survives_signals(terminal: Start, tmp_path: Path, number: int) -> None:
    one = terminal()
    one.wait_prompt()
    one.send("kept = 1\r")
    one.wait_prompt()
    one.send(ENDLESS + "\r")
    one.wait("begun")
    one.child.kill(number)
    code = one.ended()
    assert code in (-number, 128 + number)
    text = (tmp_path / "history").read_text(encoding="utf-8")
    assert "+kept = 1\n" in text and f"+{ENDLESS}\n" in text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_the_prompt_leaves_the_terminal_in_order(terminal: Start, number: int) -> None:
    one = terminal()
    one.wait_prompt()
    one.child.kill(number)
    assert one.ended() == 128 + number
    assert one.raw.rfind("\x1b[?2004h") < one.raw.rfind("\x1b[?2004l")


def test_a_closed_terminal_loses_nothing(terminal: Start, tmp_path: Path) -> None:
    one = terminal()
    one.wait_prompt()
    one.send("kept = 2\r")
    one.wait_prompt()
    one.child.close(force=False)
    end = time.monotonic() + 10
    while one.child.isalive():
        assert time.monotonic() < end
    assert "+kept = 2\n" in (tmp_path / "history").read_text(encoding="utf-8")


def test_interrupting_a_loop_and_a_line(terminal: Start) -> None:
    one = terminal()
    one.wait_prompt()
    one.send("n = 7\r")
    one.wait_prompt()
    one.send(f"n = 8; {ENDLESS}\r")
    one.wait("begun")
    one.send(CTRL_C)
    one.wait("interrupted")
    one.wait_prompt()
    one.send("n\r")
    one.wait("7")
    one.wait_prompt()
    one.send("half a li" + CTRL_C)
    one.wait_prompt()
    one.send("1 + 1\r")
    one.wait("2")


def test_the_menu_tells_signatures_and_formulas(terminal: Start) -> None:
    one = terminal(columns=120)
    one.wait_prompt()
    one.send("x = torch.ones(2)\r")
    one.wait_prompt()
    one.send("x.sig" + TAB)
    one.read(1.5)
    one.send("x")
    one.send("\x7f" + TAB)
    one.wait("sigmoid()   d/d input: grad * out * (1 - out)")


def test_the_preview_follows_the_line(terminal: Start) -> None:
    one = terminal()
    one.wait_prompt()
    one.send("torch.ones(2) * 21")
    one.wait("  = tensor([21., 21.])")
    one.send(CTRL_C)
    one.wait_prompt()
    assert not any("21., 21." in line for line in one.lines)


def test_another_size(terminal: Start) -> None:
    one = terminal(columns=100)
    one.wait_prompt()
    one.send("'" + "a" * 60)
    one.wait("a" * 60)
    one.child.setwinsize(20, 50)
    one.screen.resize(20, 50)
    one.read(0.5)
    one.send("b'\r")
    one.wait("ab'")
    one.wait_prompt()
    one.send("1 + 1\r")
    one.wait("2")


def test_printed_control_characters_do_nothing(terminal: Start) -> None:
    one = terminal()
    one.wait_prompt()
    one.send(r'print("\x1b[2J\x1b[31mred\x9b1A\u202e")' + "\r")
    one.wait(r"\x1b[2J\x1b[31mred\x9b1A\u202e")
    one.wait_prompt()
    assert "\x1b[31mred" not in one.raw and "\x1b[2J" not in one.raw.replace("\x1b[2J\x1b[31mred", "")


def test_a_dumb_terminal_gets_a_plain_prompt(terminal: Start, tmp_path: Path) -> None:
    one = terminal(TERM="dumb")
    one.wait(">>>")
    one.send("for i in range(2):\n    print(i)\n\n")
    one.wait("1")
    one.send("1/0\n")
    one.wait("ZeroDivisionError")
    one.send(CTRL_C)
    one.send("6 * 7\n")
    one.wait("42")
    one.send(CTRL_D)
    assert one.ended() == 0
    assert "\x1b" not in one.raw
    assert "+6 * 7\n" in (tmp_path / "history").read_text(encoding="utf-8")


def test_no_color_is_obeyed(terminal: Start) -> None:
    one = terminal(NO_COLOR="1")
    one.wait_prompt()
    one.send("def f(x): return 'a' + 1\r\rf(1)\r")
    one.wait("TypeError")
    one.wait_prompt()
    codes = {code for part in one.raw.split("\x1b[")[1:] if (code := part.partition("m")[0]).replace(";", "").isdigit()}
    assert codes <= {"0"}


def test_vi_keys(terminal: Start) -> None:
    one = terminal("repl", "--vi")
    one.wait_prompt()
    one.send("11 + 2\x1b0x\r")
    one.wait("3")


@pytest.mark.parametrize("word", ["exit", "quit()", ":quit"])
def test_ways_to_leave(terminal: Start, word: str) -> None:
    one = terminal()
    one.wait_prompt()
    one.send(word + "\r")
    assert one.ended() == 0


def test_output_that_goes_elsewhere(tmp_path: Path) -> None:
    target = tmp_path / "out"
    command = f"{sys.executable} -m gradcli > {target}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRADCLI_STATE_DIR": str(tmp_path)}
    child = pexpect.spawn("/bin/sh", ["-c", command], env=environment, encoding="utf-8", timeout=20)
    child.expect_exact(">>> ")
    child.send("print(6 * 7)\n")
    child.expect_exact(">>> ")
    child.sendeof()
    child.expect(pexpect.EOF)
    assert target.read_text(encoding="utf-8") == "42\n"


def test_a_file_comes_first(terminal: Start, tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text("import torch\nw = torch.ones(3)\nprint('loaded')\n", encoding="utf-8")
    one = terminal("repl", str(script))
    one.wait("loaded")
    one.wait_prompt()
    one.send("w.sum()\r")
    one.wait("tensor(3.)")


# --- without a terminal ---------------------------------------------------------------------------


def piped(text: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "gradcli", *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("words", [(), ("repl",)])
def test_piped_input_is_a_script(words: tuple[str, ...]) -> None:
    done = piped("x = torch.ones(2)\nprint(x)\nx + 1\n", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "tensor([1., 1.])\n", "")


def test_a_failing_script_has_its_exit_code() -> None:
    done = piped("print(1)\n1/0\n")
    assert (done.returncode, done.stdout) == (1, "1\n")
    assert done.stderr.startswith("ZeroDivisionError: division by zero\n")
    assert piped("1 +\n").returncode == 3


@pytest.mark.parametrize(("text", "code", "shown"), [("x = 1\nexit()\n1/0\n", 0, ""), ("exit(7)", 7, ""), ("quit('why')", 1, "why\n")])
def test_a_script_may_end_itself(text: str, code: int, shown: str) -> None:
    done = piped(text)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", shown)


# --- start ----------------------------------------------------------------------------------------

#: counts the calls of Python and C functions that a program makes, and prints them at its end
COUNTED = """
import sys
calls = 0
def see(frame, event, function):
    global calls
    calls += event in ("call", "c_call")
sys.setprofile(see)
try:
    {program}
finally:
    sys.setprofile(None)
    print("calls:", calls)
"""


def test_the_prompt_starts_with_few_calls(terminal: Start) -> None:
    """At most 2.2 times as many as importing numpy and prompt_toolkit takes, with an answer to 1+1.

    From Python 3.13 on `typing` makes fewer calls, most of which numpy's import needed.
    """
    imports = COUNTED.format(program="import numpy, prompt_toolkit")
    done = subprocess.run([sys.executable, "-c", imports], capture_output=True, text=True, check=True)
    one = terminal(python=("-c", COUNTED.format(program="from gradcli.cli.app import run; run([])")))
    one.wait_prompt()
    one.send("1+1\r")
    one.wait_prompt()
    assert "2" in one.lines
    one.send(CTRL_D)
    assert one.ended() == 0
    calls = [int(text.rpartition("calls: ")[2]) for text in (done.stdout, one.raw)]
    assert calls[1] < (2.2 if sys.version_info < (3, 13) else 2.5) * calls[0], calls
