"""The editor: when an input is complete, indentation, pasted prompts."""

from __future__ import annotations

import pytest

from gradcli.repl.editor import indentation, without_prompts
from tests.repl.driving import Typist


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("1 + 1", True),
        ("(1 +", False),
        ("x = [\n1,", False),
        ("for i in x:", False),
        ("for i in x:\n    i", False),
        ("for i in x:\n    i\n", True),
        ("1 + \\", False),
        ("'''a", False),
        ("* 2", True),
        ("* (2 +", False),
        ("@ ones(2)", True),
        ("@no_grad()", False),
        ("@no_grad()\ndef f():\n    pass\n", True),
        ("1 +", True),
        (":help", True),
    ],
)
def test_when_an_input_is_complete(typist: Typist, text: str, complete: bool) -> None:
    assert typist.prompt.names.is_complete(text) is complete


@pytest.mark.parametrize(
    ("text", "blanks"),
    [("if x:", 4), ("if x: # why", 4), ("if x:\n    y = 1", 4), ("def f():\n    return 1", 0), ("for i in x:\n    if i:", 8), ("f(1,", 0)],
)
def test_indentation_of_the_next_line(text: str, blanks: int) -> None:
    assert indentation(text) == " " * blanks


def test_pasted_prompts_are_taken_away() -> None:
    assert without_prompts(">>> x = 1\n>>> for i in x:\n...     i\n...\n1\n") == "x = 1\nfor i in x:\n    i\n"
    assert without_prompts("x >>> 1") == "x >>> 1"
