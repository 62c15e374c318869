"""The committed parse tables, and the lexer's own tables, against grammar/."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from gradcli.lang.syntax import _tables, lexer, make_tables
from gradcli.lang.syntax.build_statements import Builder
from gradcli.lang.syntax.parser import terminal_patterns


def test_tables_are_those_of_the_grammar() -> None:
    assert make_tables.generate() == make_tables.TARGET.read_text(encoding="utf-8"), "run python -m gradcli.lang.syntax.make_tables"


def test_tables_do_not_depend_on_hash_seeds() -> None:
    root = Path(make_tables.__file__).resolve().parents[2]
    command = [sys.executable, "-m", "gradcli.lang.syntax.make_tables", "--check"]
    assert subprocess.run(command, cwd=root, env={"PYTHONHASHSEED": "7", "PYTHONPATH": str(root)}, check=False).returncode == 0


def test_lexer_knows_the_terminals_with_fixed_text() -> None:
    spelled = {**lexer.OPERATORS, **lexer.BRACKETS, **lexer.KEYWORDS}
    patterns = terminal_patterns(make_tables.grammar_text())
    for text, terminal in spelled.items():
        assert re.fullmatch(patterns[terminal], text), terminal
    for terminal, pattern in patterns.items():
        ours = {text for text, name in spelled.items() if name == terminal}
        assert len(ours) == len(re.split(r"(?<!\\)\|", pattern)), terminal


def test_no_terminal_is_anonymous() -> None:
    assert not [name for name in _tables.SYMBOLS if "ANON" in name]


def test_single_child_steps_are_gone() -> None:
    assert all(name != "None" and callable(getattr(Builder, name)) for _, _, name in _tables.RULES)
