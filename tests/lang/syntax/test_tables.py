"""The committed parse tables, and the lexer's own tables, against grammar/."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from gradcli.lang.syntax import lexer
from gradcli.lang.syntax.build_statements import Builder
from tools import make_tables


@pytest.mark.slow
def test_tables_are_those_of_the_grammar() -> None:
    assert make_tables.generate() == make_tables.TARGET.read_text(encoding="utf-8"), "run python tools/make_tables.py"


@pytest.mark.slow
def test_tables_do_not_depend_on_hash_seeds() -> None:
    command = [sys.executable, make_tables.__file__, "--check"]
    assert subprocess.run(command, env={"PYTHONHASHSEED": "7"}, check=False).returncode == 0


def test_lexer_knows_the_terminals_with_fixed_text() -> None:
    spelled = {**lexer.OPERATORS, **lexer.BRACKETS, **lexer.KEYWORDS}
    patterns = make_tables.terminal_patterns(make_tables.grammar_text())
    for text, terminal in spelled.items():
        assert re.fullmatch(patterns[terminal], text), terminal
    for terminal, pattern in patterns.items():
        ours = {text for text, name in spelled.items() if name == terminal}
        assert len(ours) == len(re.split(r"(?<!\\)\|", pattern)), terminal


def test_no_terminal_is_anonymous() -> None:
    parser = make_tables.build_parser(make_tables.grammar_text())
    assert parser.terminals
    assert not [terminal.name for terminal in parser.terminals if "ANON" in terminal.name]


def test_single_child_steps_are_gone() -> None:
    aliases = [rule.split()[1] for rule in json.loads(make_tables.TARGET.read_text(encoding="utf-8"))["rules"]]
    assert aliases
    assert all(callable(getattr(Builder, alias)) for alias in aliases)
