"""Hostile inputs end as they should.

In this process all but the heavy ones, and a few as processes. All of them as processes, as people would run them, within
1.5 GiB: GRADCLI_HOSTILE=all python -m pytest tests/safety/test_hostile.py (ten minutes).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from gradcli import limits
from gradcli.errors import GradcliError, InternalFault
from gradcli.render.diagnostic import diagnostic
from gradcli.session import Session
from gradcli.source import Source
from tests.safety.hostile import CASES, Hostile

ROOT = Path(__file__).parent.parent.parent
EVERYTHING = os.environ.get("GRADCLI_HOSTILE") == "all"
#: in CI these run as processes, one of each kind
SAMPLE = ("escape-import-system", "resource-live-tensors", "more-tensor-flat", "io-ansi-in-name", "format-ok-f-tensor", "parse-binary-ish")
MEMORY = 1.5 * 2**30
#: bounds under which cases end soon in this process
SOON: dict[str, Any] = {"time": 1.5, "bytes": 128 * 2**20}


def heavy(case: Hostile) -> bool:
    """Whether a case loops until its time is up, or takes much memory: too slow to try all of them every time."""
    return case.category == "resource" and ("while" in case.source or "range(" in case.source or "9000000" in case.source)


@pytest.mark.parametrize("case", [case for case in CASES if not heavy(case)], ids=lambda case: case.id)
def test_in_this_process(case: Hostile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    before = limits.current
    printed: list[str] = []
    session = Session(bounds=limits.strict().changed(**SOON), write=printed.append, warn=_nothing, read_stdin=bytes)
    source = Source("<hostile>", case.source.removeprefix("\ufeff"))
    try:
        if case.mode == "eval":
            session.evaluate(source).value.repr()
        else:
            session.run(source)
        ended = "ok"
    except GradcliError as error:
        assert not isinstance(error, InternalFault), error
        assert not any(ord(char) < 32 and char != "\n" for char in diagnostic(error))
        ended = "error"
    finally:
        limits.use(before)
    assert ended == case.expect, case.why
    assert not list(tmp_path.iterdir())


def _nothing(*values: object) -> None:
    return None


#: a forked process counts its parent's memory as its own, so that the case is started from a small process
LAUNCHER = """\
import os, sys
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print("", os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def process(case: Hostile, path: Path) -> tuple[int, str, int]:
    """Exit code, standard error and peak memory of a case run as a person would run it."""
    file = path / "case.py"
    file.write_bytes(case.source.encode("utf-8", "surrogatepass"))
    # a text that no command line can hold comes from a file
    direct = case.mode == "eval" and "\0" not in case.source and len(case.source) < 100_000
    words = {"eval": ["eval", "-f", str(file), "--untrusted"], "script": ["run", "--untrusted", str(file)]}[case.mode]
    if direct:
        words = ["eval", "--untrusted", "--", case.source]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LAUNCHER, sys.executable, "-P", "-m", "gradcli", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environ, cwd=path, timeout=60)
    code, kilobytes = done.stdout.split()[-2:]
    return int(code), done.stderr.decode(), int(kilobytes) * 1024


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if EVERYTHING or case.id in SAMPLE], ids=lambda case: case.id)
def test_as_a_process(case: Hostile, tmp_path: Path) -> None:
    code, err, memory = process(case, tmp_path)
    heads = [line for line in err.splitlines() if line and not line[0].isspace() and "Warning" not in line]
    assert "Traceback" not in err and "InternalFault" not in err
    assert memory < MEMORY
    if case.expect == "ok":
        assert code == 0 and not heads, err
    else:
        assert code in (1, 2, 3, 5) and len(heads) >= 1, err
    assert not any(ord(char) < 32 and char != "\n" for char in err)
    assert not list(Path(tempfile.gettempdir()).glob("gradcli_canary*"))
