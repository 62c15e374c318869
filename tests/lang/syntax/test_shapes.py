"""Lines and expressions of shapes that were seen often: their trees and errors are those that the parser alone gives."""

from __future__ import annotations

import random

import pytest

from gradcli.errors import GradcliError
from gradcli.lang.syntax import nodes, parser, shapes
from gradcli.source import Source

EXPRESSIONS = (
    *("sin(x*2.5+y)**-z", "[a for a in b if c]", "f'{x:.2f}'+'a' 'b'", "not a<b<c", "f(*a,b=1)[1:,None].c"),
    *("(x)", "((x)+1,)", "a if b else c"),
)
LINES = (
    *(*EXPRESSIONS, "a = b = (c)+1", "a += 1; b = 2;", "import a.b as c", "del a[1], b", "global g", "x: int = 3"),
    *("assert a, 'b'", "pass"),
)
OPERATORS = ("+", "-", "*", "/", "@", "//", "%", "~", "**")


def shown(node: object) -> object:
    """A tree as tuples: the types of its nodes with all their fields, but for how it was made."""
    if isinstance(node, nodes.Node):
        names = [name for kind in type(node).__mro__ for name in getattr(kind, "__slots__", ()) if name not in ("source", "templates")]
        return type(node), [shown(getattr(node, name, None)) for name in names]
    return [shown(item) for item in node] if isinstance(node, tuple | list) else node


def outcome(text: str, start: str) -> object:
    try:
        return shown(parser._parse(Source("t", text), start))
    except GradcliError as error:
        return type(error), error.message, error.hints, error.span and (error.span.start, error.span.end)


def compare(text: str, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome(text, start)
    with monkeypatch.context() as patched:
        patched.setattr(parser._Engine, "_parse_by_shapes", lambda *_: None)
        assert found == outcome(text, start), text


@pytest.mark.parametrize("line", LINES)
def test_lines_of_one_shape(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for end in ("", "return 1\n", "x = (\n", "  y\n", "def f():\n    return a\nreturn a\n"):
        compare(f"{line}\n" * 100 + "for i in j:\n" + f"    {line}\n" * 50 + end, "file", monkeypatch)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_of_one_shape(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(40):
        compare(expression, "expression_only", monkeypatch)
    for k in range(len(expression)):
        compare(expression[:k] + expression[k + 1 :], "expression_only", monkeypatch)
        compare(expression[:k] + "(" + expression[k:], "expression_only", monkeypatch)


@pytest.mark.parametrize(
    "form", ["a ~ b ~ c", "-a ~ (~b ~ 2) ~ d[1]", "f(~a, b ~c, 'd' ~ e)", "lambda a, ~b: c", "lambda a, ~, b: [~c] ~ d", "~a, b"]
)
def test_operators_of_one_level_have_one_shape(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(form)
    for start, end in (("expression_only", ""), ("file", "\n")):
        for _ in range(20):
            texts = ["".join(pick.choice(OPERATORS) if char == "~" else char for char in form) + end for _ in range(60)]
            for text in texts if start == "expression_only" else ["".join(texts)]:
                compare(text, start, monkeypatch)


def test_known_lines_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    make = shapes._made
    monkeypatch.setattr(shapes, "_made", lambda *args: seen.append(args) or make(*args))
    program = parser.parse_file(Source("t", "".join(f"total{i} = total + (x * {i}.5 + {i + 1}).sum()\n" for i in range(100))))
    assert len(program.body) == 100
    assert len(seen) > 80


def test_nesting_is_bounded_in_known_shapes() -> None:
    deep = "-(" * 31 + "x" + ")" * 31
    tree = outcome(deep, "expression_only")
    assert all(outcome(deep, "expression_only") == tree for _ in range(40))
