"""The alarm of the bound on time: one that is set for an earlier program is put off, and comes when the time of the last one is up."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import time
from gradcli.cli import guard
from gradcli.errors import LimitError

def after(seconds):
    began = time.monotonic()
    try:
        time.sleep(seconds)
    except LimitError:
        return round(time.monotonic() - began, 1)
    return None

guard.handle_alarm()
guard.set_alarm(0.2)
guard.set_alarm(0)
print("taken back", after(0.4))
guard.set_alarm(0.3)
guard.set_alarm(0)
guard.set_alarm(0.6)
print("put off", after(2))
guard.set_alarm(5)
guard.set_alarm(0)
guard.set_alarm(0.2)
print("sooner", after(2))
guard.set_alarm(0.2)
print("again", after(2))
"""


def test_an_alarm_comes_when_the_time_of_the_last_program_is_up() -> None:
    out = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    first, *others = out.splitlines()
    assert first == "taken back None"
    for line, wanted in zip(others, (("put off", 0.6), ("sooner", 0.2), ("again", 0.2)), strict=True):
        words, _, seconds = line.rpartition(" ")
        assert words == wanted[0]
        assert wanted[1] <= float(seconds) < wanted[1] + 0.5, line
