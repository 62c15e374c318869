"""Lines and expressions that differ in numbers alone: their trees and errors are those that the parser gives."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from gradcli import limits
from gradcli.lang.syntax import parser, templates
from gradcli.lang.syntax.nodes import Program
from gradcli.lang.syntax.templates import Template
from gradcli.source import Source
from tests.lang.syntax.test_shapes import compare, outcome

NUMBERS = ("0", "7", "12", "123456789012345", "0.5", "3.", "10.25", "1e5", "2.5E-7", "0e0")
#: `$` stands for a number
LINES = (
    *("total = total + (x * $ + $).sum()", "a = b = ($) + x ** -$", "a[$] += $", "a[$:$, None, ::-$] = ($, [$, b])", "f($, *a, b=$, **c)"),
    *(
        "x = ($ if y < $ else not $ <= z) and ($ or -$)",
        "a = $; b = $;",
        "x: int = $",
        "print(x[$], 'a', x.f($))  # comment",
        "a.b.c = $ @ $ // $",
    ),
    *("$ + $", "x=$+$", "(x)", "(($), (x + $) * $)"),
)
#: lines of which some or all are no templates
OTHERS = (
    *("s = 'a $ b' + $", "f'{x:$}' + $", "y = 0x$ + $", "x = $ # a comment with a $", "del a[$]", "[a * $ for a in b]", "x$ = $"),
    *(
        "a = ($,",
        "x = $ +",
        "if x: y = $",
        "return $",
        "lambda a=#: a",
        "x = $.real",
        "assert a, $",
        "x = 0$ + .$ + $j + 1_$",
        "x = $ if y else$",
    ),
    *("match = $", "case($)", "x: a[$] = $", "x = '''$ + $", "x = $ \\", "$.$ + $..real", "f(a=$, a=$)", "1$e = $"),
)
INDENTED = "for i in j:\n    {}\n    {}\nelse:\n  {}\n"


@pytest.fixture(autouse=True)
def new_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of other tests, few of which have a template, count for nothing."""
    monkeypatch.setattr(parser, "_idle", [])


def numbered(line: str, pick: random.Random) -> str:
    """The line with numbers."""
    return "".join(pick.choice(NUMBERS) if char == "$" else char for char in line)


@pytest.mark.parametrize("line", LINES + OTHERS)
def test_lines_that_differ_in_numbers(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(line)
    block = INDENTED.replace("{}", line)
    for last in ("", "  y\n", "x = (1\n"):
        text = "".join(numbered(line, pick) + pick.choice(("\n", "\n", "\r\n", "\n\n", "\n# a comment\n")) for _ in range(60))
        compare(text + "".join(numbered(block, pick) for _ in range(10)) + (numbered(line, pick) + "\n") * 2 + last, "file", monkeypatch)


@pytest.mark.parametrize("expression", [line for line in LINES + OTHERS if "=" not in line and ";" not in line])
def test_expressions_that_differ_in_numbers(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(expression)
    for _ in range(60):
        compare(numbered(expression, pick), "expression_only", monkeypatch)


@pytest.mark.parametrize("line", LINES)
def test_templates_make_these_lines(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(counted(line, monkeypatch)) > 20


@pytest.mark.parametrize("line", ["match ($):", "case ($)", "x = '$'", "x = $ # 1", "del a[$]"])
def test_templates_do_not_make_those(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not counted(line, monkeypatch)


def counted(line: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What templates make of lines like this one."""
    found: list[Any] = []
    made: Callable[..., Any] = Template.made
    monkeypatch.setattr(Template, "made", lambda *args: found.append(args) or made(*args))
    pick = random.Random(line)
    outcome("".join(numbered(line, pick) + "\n" for _ in range(40)) + "# " + "long " * 100, "file")
    return found


def test_a_wrong_place_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Callable[..., Any] = Template.made
    wrong = lambda self, source, start, *rest: made(self, source, start + 1, *rest)  # noqa: E731
    monkeypatch.setattr(Template, "made", wrong)
    with pytest.raises(AssertionError, match="total"):
        test_lines_that_differ_in_numbers(LINES[0], monkeypatch)


def test_limits_hold() -> None:
    text = "".join(f"x = {i} + 1234567890\n" for i in range(100))
    assert outcome(text, "file")[0] is Program  # type: ignore[index]
    before = limits.current
    limits.use(before.changed(digits=5))
    try:
        assert outcome(text, "file")[1].startswith("an integer of 10 digits")  # type: ignore[index]
    finally:
        limits.use(before)


def test_texts_without_template_are_seldom_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    monkeypatch.setattr(templates, "_NUMBER", Splitting(looked))
    parser.parse_file(Source("t", "".join(f"a{i} = x\n" for i in range(2000))))
    assert 512 < len(looked) < 700
    parser.parse_file(Source("t", "".join(f"a = {i}\n" for i in range(1000))))
    assert len(looked) > 1300


class Splitting:
    """The regular expression of numbers, which notes what it splits."""

    def __init__(self, looked: list[object]) -> None:
        self.looked, self.number = looked, templates._NUMBER

    def split(self, text: str) -> list[str]:
        """The pieces of the text, and the numbers."""
        self.looked.append(text)
        return self.number.split(text)


def test_a_program_tells_what_templates_made() -> None:
    program = parser.parse_file(Source("t", "".join(f"y = y + x * {i}.5\n" for i in range(40))))
    numbers = [program.templates[statement.value][1] for statement in program.body[-5:]]  # type: ignore[attr-defined]
    assert numbers == [[i + 0.5] for i in range(35, 40)]
