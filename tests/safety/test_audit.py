"""Evaluation opens, starts, imports and compiles nothing: Python's own audit events, recorded over the corpus."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

#: runs in a process of its own, since hooks cannot be taken back and everything has to be loaded before
RECORD = """
import sys
from gradcli import limits
from gradcli.cli import guard
from gradcli.errors import GradcliError
from gradcli.session import Session
from gradcli.source import Source
from tests import casebook
from tests.safety import hostile

recorded = []
guard.preload()
cases = [case for book in casebook.books() for case in casebook.read(book).cases]
texts = [case.before + case.script for case in cases[::int(sys.argv[1])]]
texts += [case.source for case in hostile.CASES if case.category in ('escape', 'io', 'format', 'state', 'numeric')]
guard.seal(lambda event, args: recorded.append((event, args)))
bounds = limits.strict().changed(time=2.0)
done = 0
for text in texts:
    session = Session(bounds=bounds, write=lambda t: None, warn=lambda *a: None, read_stdin=bytes)
    try:
        session.run(Source('<script>', text))
    except GradcliError:
        pass
    done += 1
session = Session(bounds=bounds, write=lambda t: None, warn=lambda *a: None, read_stdin=bytes)
session.bind('x', '1,2,3', exact=False)
for kind in ('gradient', 'jacobian'):
    getattr(session, kind)(Source('<e>', '(x**2).sum()'), [] if kind == 'gradient' else None)
session.hessian(Source('<e>', '(x**2).sum()'))
session.explain(Source('<e>', '(x**2).sum()'))
print(done, recorded[:5])
"""

HOOK = """
from gradcli.cli import guard
from gradcli import limits
from gradcli.errors import InternalFault
guard.seal()
import os
for act in (lambda: open('/etc/hostname'), lambda: os.system('true'), lambda: __import__('wave'), lambda: compile('1', '', 'eval'),
            lambda: os.listdir('/'), lambda: __import__('socket').socket()):
    try:
        with limits.evaluation:
            act()
    except InternalFault as error:
        assert 'refused' in str(error)
    else:
        raise SystemExit('not refused')
open('/etc/hostname').close()
print('fine')
"""


def python(code: str, *args: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_corpus_causes_no_events() -> None:
    count, _, events = python(RECORD, "4").partition(" ")
    assert int(count) > 200 and events.strip() == "[]"


def test_the_hook_refuses_during_evaluation_only() -> None:
    assert python(HOOK) == "fine\n"
