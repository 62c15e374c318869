"""The prompt driven two ways: through prompt_toolkit's pipe input in this process, and in a real pseudo-terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pexpect
import pyte
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from gradcli import data, limits
from gradcli.cli import output
from gradcli.render.escape import escape_lines
from gradcli.repl.editor import Behaviour, Editor
from gradcli.repl.history import HistoryFile
from gradcli.repl.loop import Prompt
from gradcli.repl.screen import Screen
from gradcli.session import Session

ROOT = Path(__file__).parents[2]


class Typist:
    """A prompt, and what it showed."""

    def __init__(self, state: Path, *, untrusted: bool = False, vi: bool = False, seed: int | None = None) -> None:
        self.log: list[str] = []
        self.vi = vi
        self.history = HistoryFile(state / "history", self.log.append)
        screen = Screen(raw=lambda text: self.log.append(escape_lines(text)), safe=self.log.append, error=self.log.append)
        bounds = limits.strict() if untrusted else limits.default()
        session = Session(
            bounds=bounds,
            write=screen.program,
            warn=lambda category, message, span: self.log.append(f"{category}: {message}\n"),
            read_stdin=data.stdin_reader(None),
            seed=seed,
        )
        self.prompt = Prompt(session, screen, output.write_file)

    def type(self, keys: str) -> str:
        """Send keys, then Ctrl-D as often as needed to leave; everything shown, the inputs behind prompts."""
        with create_pipe_input() as keyboard:
            names = self.prompt.names
            behaviour = Behaviour(names.is_complete, names.complete, self.prompt.preview)
            editor = Editor(self.history, behaviour, vi=self.vi, terminal=(keyboard, DummyOutput()))
            keyboard.send_text(keys)
            self.code = self.prompt.run(_Recorded(editor, self.log, lambda: keyboard.send_text("\x04")))
        return "".join(self.log)

    def enter(self, *inputs: str) -> str:
        """Give inputs to the prompt without any editor; what they showed."""
        start = len(self.log)
        for text in inputs:
            self.prompt.handle(text)
        return "".join(self.log[start:])


class _Recorded:
    """An editor whose inputs are written down; when the keys have been used up, it gets Ctrl-D."""

    def __init__(self, editor: Editor, log: list[str], leave: Callable[[], None]) -> None:
        self._editor = editor
        self._log = log
        self._leave = leave

    def read(self) -> str:
        self._leave()
        text = self._editor.read()
        first, *more = text.split("\n")
        self._log.append("".join([f">>> {first}\n", *(f"... {line}".rstrip() + "\n" for line in more)]))
        return text


class Terminal:
    """`gradcli` in a pseudo-terminal; `screen` is what a person would see."""

    def __init__(
        self, state: Path, *words: str, python: Sequence[str] = ("-m", "gradcli"), rows: int = 24, columns: int = 80, **environment: str
    ) -> None:
        kept = {name: value for name, value in os.environ.items() if name not in ("GITHUB_ACTIONS", "FORCE_COLOR", "NO_COLOR", "COLUMNS")}
        # the terminal here does not answer when it is asked where its cursor is
        kept |= {"TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "PYTHONPATH": str(ROOT)}
        kept |= {"GRADCLI_STATE_DIR": str(state), "GRADCLI_CONFIG_DIR": str(state)}
        self.child = pexpect.spawn(
            sys.executable, [*python, *words], env={**kept, **environment}, dimensions=(rows, columns), encoding="utf-8", timeout=20
        )
        self.raw = ""
        self._prompts = 0
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self.screen)

    def send(self, keys: str) -> None:
        self.child.send(keys)

    def read(self, seconds: float = 0.1) -> None:
        """Take up what comes within some time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                text = self.child.read_nonblocking(65536, left)
            except (pexpect.TIMEOUT, pexpect.EOF):
                return
            self.raw += text
            self._stream.feed(text)

    @property
    def lines(self) -> list[str]:
        """The lines of the screen without the blanks at their ends, the last empty ones left out."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip().split("\n")

    def wait(self, wanted: str, seconds: float = 20.0) -> None:
        """Until some line of the screen is, or contains, `wanted`."""
        end = time.monotonic() + seconds
        while not any(wanted in line for line in self.lines):
            assert time.monotonic() < end, f"{wanted!r} did not appear:\n" + "\n".join(self.lines)
            self.read()

    def wait_prompt(self) -> None:
        """Until there is a prompt that was not waited for before, and nothing typed at it."""
        end = time.monotonic() + 20
        # every prompt switches the pasting mode of the terminal on
        while (found := self.raw.count("\x1b[?2004h")) <= self._prompts or self.lines[-1] != ">>>":
            assert time.monotonic() < end, "no prompt:\n" + "\n".join(self.lines)
            self.read()
        self._prompts = found

    def enter(self, line: str) -> None:
        """Type a line and wait for the next prompt."""
        self.send(line + "\r")
        self.wait_prompt()

    def ended(self) -> int:
        """Wait for the process; its exit code, or minus the signal that killed it."""
        end = time.monotonic() + 20
        while self.child.isalive():
            assert time.monotonic() < end, "it did not end"
            self.read()
        return -self.child.signalstatus if self.child.signalstatus else int(self.child.exitstatus)
