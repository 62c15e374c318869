"""The loop of the prompt: read, run, show. Errors do not end it, and every input is in the history before it runs."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

from gradcli.errors import GradcliError, InternalFault
from gradcli.render.diagnostic import diagnostic
from gradcli.render.plain import evaluation_repr
from gradcli.render.tables import evaluation_table
from gradcli.repl.commands import Leave, describe, dispatch
from gradcli.repl.screen import Screen
from gradcli.results.values import Evaluation
from gradcli.session import Session

#: path, content, files that must not be written over
Save = Callable[[str, bytes, list[str]], None]

#: seconds after which another Ctrl-C interrupts again, so that the handling of the first one is not interrupted
_PATIENCE = 2.0


#: words of other prompts -> commands of this one
_HABITS = {"exit": ":quit", "quit": ":quit", "help": ":help"}


class Reader(Protocol):
    """Where inputs come from."""

    def read(self) -> str:
        """The next input. Raises EOFError at the end, KeyboardInterrupt for Ctrl-C."""


class Terminated(BaseException):
    """A signal asks to leave."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


class Prompt:
    """A session at the prompt. `names` is what inputs act on, `format` how values are shown."""

    def __init__(self, session: Session, screen: Screen, save: Save) -> None:
        self.session = session
        self.names = session.interactive()
        self.screen = screen
        self.save = save
        self.format = "repr"
        #: files that were loaded
        self.inputs: list[str] = []
        #: all inputs that are remembered, oldest first
        self.history: Callable[[], list[str]] = list
        self._count = 0
        self._interrupted = 0.0

    def run(self, reader: Reader) -> int:
        """Run inputs until their end or `:quit`; returns the exit code."""
        with self._signals(reader):
            try:
                while self._step(reader):
                    pass
            except Terminated as terminated:
                return terminated.code
            except OSError:
                # the terminal is gone
                return 128 + 1
        return 0

    def _step(self, reader: Reader) -> bool:
        """One input; False to leave."""
        try:
            self._interrupted = 0.0
            self.screen.fresh_line()
            text = reader.read()
        except KeyboardInterrupt:
            return True
        except EOFError:
            return False
        try:
            self.handle(text)
        except Leave:
            return False
        except KeyboardInterrupt:
            self.screen.fresh_line()
            self.screen.error("interrupted; everything is as before this input\n")
        return True

    def handle(self, text: str) -> None:
        """Run one input, whatever it is. Raises Leave, KeyboardInterrupt."""
        stripped = text.strip()
        habit = stripped.removesuffix("()")
        if habit in _HABITS and not self.names.has(habit):
            stripped = _HABITS[habit]
        asked = re.fullmatch(r"help\(\s*['\"]?([\w.]+)['\"]?\s*\)", stripped)
        if asked and not self.names.has("help"):
            stripped = f"{asked[1]}?"
        try:
            if stripped.startswith(":"):
                dispatch(self, stripped)
            elif stripped.endswith("?") or stripped.startswith("?"):
                describe(self, stripped.strip("? "))
            elif stripped:
                self._count += 1
                # errors name the input only where it has several lines or makes functions
                name = f"<prompt {self._count}>" if "\n" in stripped or "lambda" in stripped or "def " in stripped else "<expression>"
                self.names.enter(text, name, self._echo)
        except GradcliError as error:
            self._report(error)
        except (KeyboardInterrupt, Leave, OSError):
            raise
        except Exception as error:
            self._report(InternalFault(f"{type(error).__name__}: {error}", hints=["this is a fault of gradcli"]))

    def _echo(self, found: Evaluation) -> None:
        if self.format == "table":
            self.screen.show(evaluation_table(found, self.screen.look()))
        else:
            self.screen.result(evaluation_repr(found))

    def _report(self, error: GradcliError) -> None:
        self.screen.fresh_line()
        self.screen.error(diagnostic(error, self.screen.look()))

    def preview(self, text: str) -> str:
        """The text of the value that an input would have. It is to be called in a forked copy of the process."""
        shown = self.names.preview(text)
        return "" if shown.startswith("<") else shown

    # --- signals ---

    @contextmanager
    def _signals(self, reader: Reader) -> Iterator[None]:
        leave = getattr(reader, "leave", None)

        def terminate(number: int, frame: FrameType | None) -> None:
            error = Terminated(number)
            if leave is None or not leave(error):
                raise error

        def interrupt(number: int, frame: FrameType | None) -> None:
            now = time.monotonic()
            if now - self._interrupted > _PATIENCE:
                self._interrupted = now
                raise KeyboardInterrupt

        handlers: dict[int, Any] = {signal.SIGINT: interrupt, signal.SIGTERM: terminate}
        if hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = terminate
        try:
            before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        except ValueError:
            # signals belong to the main thread; any other leaves them alone
            yield
            return
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
