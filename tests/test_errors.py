"""Codes of errors: each is raised, and something looks at it; nothing looks at the text of an error."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gradcli.errors import Code, ProgramError, of_python

PACKAGE = Path(__file__).parent.parent / "gradcli"
SOURCES = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
_MATCHING = {"match", "fullmatch", "search", "startswith", "endswith", "find", "index"}


@pytest.mark.parametrize("code", Code, ids=lambda code: code.name)
def test_a_code_is_raised_and_looked_at(code: Code) -> None:
    assert sum(len(re.findall(rf"\bCode\.{code.name}\b", text)) for text in SOURCES.values()) >= 2


def _is_message(node: ast.AST) -> bool:
    # a syntax node has a message too: that of an assert statement
    return isinstance(node, ast.Attribute) and node.attr == "message" and ast.unparse(node.value) != "node"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_compares_messages(path: Path) -> None:
    for node in ast.walk(ast.parse(SOURCES[path])):
        if isinstance(node, ast.Compare):
            assert not any(_is_message(side) for side in (node.left, *node.comparators)), f"line {node.lineno}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MATCHING:
            assert not any(_is_message(part) for part in (node.func.value, *node.args)), f"line {node.lineno}"


@pytest.mark.parametrize(
    ("operands", "names"),
    [((1.5, 2), ("^", "float", "int")), ((None, "a"), ("^", "NoneType", "str"))],
)
def test_an_error_of_python_has_its_operator_and_types(operands: tuple[object, object], names: tuple[str, ...]) -> None:
    with pytest.raises(TypeError) as caught:
        operands[0] ^ operands[1]  # type: ignore[operator]
    error = of_python(caught.value, str(caught.value))
    assert (error.type_name, error.code, error.names) == ("TypeError", Code.UNSUPPORTED_OPERANDS, names)


def test_other_errors_of_python_have_the_types_that_they_name() -> None:
    error = of_python(TypeError("'NoneType' object is not iterable"), "'NoneType' object is not iterable")
    assert isinstance(error, ProgramError) and error.code is None and error.names == ("NoneType",)
