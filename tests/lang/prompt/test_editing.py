"""What the prompt asks about a text: whether it is complete, and its tokens for colours."""

from __future__ import annotations

import pytest

from gradcli.lang.prompt.editing import is_complete, tokens
from gradcli.source import Source


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True), ("x", True), ("x\n", True), ("(", False), ("(1,\n", False), ("(1)", True), ("'''a", False), ("'''a'''", True),
        ("'a", True), ("x \\", False), ("x \\\n", False), ("for i in x:", False), ("for i in x:\n", False), ("for i in x:\n\n", True),
        ("for i in x:\n  y", False), ("for i in x:\n  y\n", True), ("for i in x:\n  y\nz\n", True), ("if x: y", False),
        ("if x: y\n", True), ("@a", False), ("f'''{x", False), ("f'''{x}'''", True), ("x = [", False), ("x = ]", True),
        ("lambda: (", False), ("# (", True), ("def f():\n  return {", False), ("1 +", True),
    ],
)  # fmt: skip
def test_is_complete(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_tokens_for_colours() -> None:
    text = "for x in f'a{b}': y = 0x1 # c\n 'open"
    found = [(kind, text[start:end]) for kind, start, end in tokens(Source("t", text))]
    assert found == [
        ("keyword", "for"), ("name", "x"), ("keyword", "in"), ("string", "f'a{b}'"), ("operator", ":"), ("name", "y"),
        ("operator", "="), ("number", "0x1"), ("comment", "# c"), ("error", "'open"),
    ]  # fmt: skip
