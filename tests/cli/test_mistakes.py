"""Mistakes of people who begin, with what they are told: mistakes.txt is a transcript of commands, standard error and exit codes.

Every command that an error proposes is typed, and has to work. `GRADCLI_UPDATE_MISTAKES=1` writes what comes out now into the file; a
new mistake needs nothing but its line.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from gradcli.cli import ways_out

FILE = Path(__file__).with_name("mistakes.txt")
CASES = re.split(r"^(?=\$ gradcli )", FILE.read_text(encoding="utf-8"), flags=re.M)[1:]
#: mistakes that no command mends
WITHOUT_A_WAY = ("torch.sparse.mm(x, x)", "argmax(x)", "for i in x: i", "import torch")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine tries as much as a fast one."""
    monkeypatch.setattr(ways_out, "_SECONDS", 100)


def proposed(error: str) -> list[str]:
    """The commands behind `try`."""
    lines = error.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith("  try   gradcli ")), len(lines))
    return [re.sub(r"  +\(.*\)$", "", line[8:]) for line in lines[first:] if line[8:].startswith("gradcli ")]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.partition("\n")[0][10:] for case in CASES])
def test_a_mistake_is_answered_by_what_works(number: int, cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    typed = CASES[number].partition("\n")[0]
    answer = cli(*shlex.split(typed)[2:])
    shown = f"{typed}\n{answer.err}[exit {answer.code}]\n"
    if os.environ.get("GRADCLI_UPDATE_MISTAKES"):
        CASES[number] = shown
        FILE.write_text("".join(CASES), encoding="utf-8")
    assert shown == CASES[number]
    assert answer.code
    commands = proposed(answer.err)
    assert commands or any(one in typed for one in WITHOUT_A_WAY)
    for command in commands:
        words = shlex.split(command)
        assert cli(*words[1:]).code == 0, command
        options = [word for word in shlex.split(typed) if re.fullmatch(r"--\w+", word)]
        assert all(option in words for option in options)


def test_a_product_that_does_not_fit_gets_no_proposal_of_more_dimensions(cli) -> None:
    answer = cli("eval", "a@b", "a=[[1,2],[3,4]]", "b=[1,2,3]")
    assert answer.code
    assert not proposed(answer.err)
