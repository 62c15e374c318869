"""Long-lived child processes that run scripts, started again when one dies or takes too long."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

CHILD = Path(__file__).with_name("child.py")


class Child:
    """One process that runs scripts under `kind` ("torch" or "gradcli") with the interpreter `python`."""

    def __init__(self, kind: str, prelude: str, python: str = sys.executable, seconds: float = 20) -> None:
        self._command = [python, str(CHILD), kind]
        self._prelude = prelude
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def run(self, script: str) -> dict[str, Any]:
        """What the script printed, its warnings and its error; the error names a process that died or a time that ran out."""
        process = self._process or self._start()
        try:
            self._send(process, script)
            line = self._line(process)
        except TimeoutError:
            self.stop()
            return {"out": "", "warnings": [], "error": f"Timeout: more than {self._seconds:g} s"}
        except OSError:
            line = b""
        if not line:
            self.stop()
            return {"out": "", "warnings": [], "error": "Crash: the process died"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment)
        self._process = process
        self._send(process, self._prelude)
        return process

    @staticmethod
    def _send(process: subprocess.Popen[bytes], text: str) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps(text).encode() + b"\n")
        process.stdin.flush()

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        """The next line of the child; a child that is starting has a minute more."""
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(self._seconds + 40):
                raise TimeoutError
        return process.stdout.readline()
