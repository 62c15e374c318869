"""Runs the scripts of casebooks under an installed PyTorch, and writes or checks what they print.

    python tools/record.py tests/conformance/cases/ops/linalg.txt           record the cases that have no output yet
    python tools/record.py tests/conformance/cases/ops/linalg.txt --check   compare with what is recorded; 1 if it differs
    python tools/record.py tests/conformance/cases --check                  every casebook below the folder

`--only TITLE` picks one case, `--again` records cases that have output too. PyTorch has to be 2.13, on a CPU, with its numpy.
tests/casebook.py says what a casebook looks like.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import linecache
import os
import re
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import casebook  # noqa: E402
from tests.casebook import Case  # noqa: E402
from tests.conformance import harness  # noqa: E402

VERSION = "2.13"


def run(case: Case) -> Case:
    """The case with the output of its script, which runs in a process forked from this one: PyTorch is imported once."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            try:
                _script(case, out, err)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return dataclasses.replace(case, prints=_whole_lines(out.read()), stderr=_whole_lines(_cleaned(err.read().decode()).encode()))


def _script(case: Case, out: BinaryIO, err: BinaryIO) -> None:
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        for name, text in ((f"{case.path.stem}/before_each.py", case.before), (f"{case.path.stem}/{case.title}.py", case.script)):
            # a warning quotes the line that caused it
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            exec(compile(text, name, "exec", dont_inherit=True), vars(main))
    except Exception as error:
        sys.stderr.write("".join(traceback.format_exception_only(error)))
    sys.stdout.flush()
    sys.stderr.flush()


def _cleaned(text: str) -> str:
    """Standard error without the places of this machine: the packages' folder and the frames of this file."""
    text = re.sub(rf'  File "{re.escape(__file__)}".*\n(?:    .*\n)?', "", text)
    return re.sub(r"/\S*/site-packages/", "", text)


def _whole_lines(text: bytes) -> str:
    return text.decode() + ("\n" if text and not text.endswith(b"\n") else "")


def differences(case: Case, now: Case) -> list[str]:
    """What PyTorch prints now against what is recorded, as lines of a diff; empty where the tests could not tell them apart."""
    theirs, ours = harness.expected(case), harness.expected(now)
    if harness.same(ours, theirs):
        return []
    texts = [[*o.out.splitlines(), *o.warnings, str(o.error)] for o in (theirs, ours)]
    return list(difflib.unified_diff(*texts, "recorded", "now", lineterm=""))


def _books(given: list[Path]) -> Iterator[Path]:
    for path in given:
        yield from sorted(path.rglob("*.txt")) if path.is_dir() else [path]


def main() -> int:
    """Record or check the casebooks on the command line; the exit code is 1 where a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", nargs="+", type=Path, metavar="FILE", help="a casebook, or a folder of casebooks")
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    parser.add_argument("--only", metavar="TITLE", help="this case only")
    parser.add_argument("--again", action="store_true", help="record cases that have output too")
    chosen = parser.parse_args()
    import torch

    if not torch.__version__.startswith(VERSION):
        parser.error(f"this is PyTorch {torch.__version__}; the casebooks are recorded with {VERSION}")
    failed = done = 0
    for path in _books(chosen.books):
        book = casebook.read(path.resolve())
        cases = []
        for case in book.cases:
            wanted = chosen.only in (None, case.title) and (chosen.check or chosen.again or not (case.prints or case.stderr))
            now = run(case) if wanted else case
            done += wanted
            if chosen.check and (lines := differences(case, now)):
                failed += 1
                print(case.place, *lines, sep="\n")
            cases.append(now)
        if not chosen.check:
            path.write_bytes(casebook.write(dataclasses.replace(book, cases=tuple(cases))).encode("utf-8"))
    print(f"{done} scripts run, {failed} differ" if chosen.check else f"{done} scripts recorded")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
