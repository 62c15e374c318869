"""What the parser does its own way, and its limits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradcli import limits
from gradcli.errors import LanguageError, LimitError
from gradcli.lang.syntax import nodes as s
from gradcli.lang.syntax.parser import parse_expression, parse_file, parse_input
from gradcli.source import Source
from tests.counting import calls


def test_chains_are_flat() -> None:
    tree = parse_expression(Source("t", "a - b + c * d"))
    assert isinstance(tree, s.Binary)
    assert tree.ops == ("-", "+")
    assert [type(part) for part in tree.rest] == [s.Name, s.Binary]
    nested = parse_expression(Source("t", "(a - b) + c"))
    assert isinstance(nested, s.Binary)
    assert nested.ops == ("+",)
    assert nested.text == "(a - b) + c"


def test_silent_statements() -> None:
    def silent(text: str) -> list[bool]:
        return [node.silent for node in parse_input(Source("t", text)).body if isinstance(node, s.ExprStmt)]

    assert silent("x") == [False]
    assert silent("x;") == [True]
    assert silent("a; b") == [True, False]
    assert silent("a; b;") == [True, True]


def test_byte_order_mark_at_the_start_only() -> None:
    assert parse_file(Source("t", "\ufeffx")).body[0].start == 1
    with pytest.raises(LanguageError, match="U\\+FEFF"):
        parse_file(Source("t", "x\n\ufeffy"))


def test_same_quotes_within_fields() -> None:
    """As Python from 3.12 on."""
    tree = parse_expression(Source("t", "f'{a['b']}'"))
    assert isinstance(tree, s.JoinedStr)
    field = tree.parts[0]
    assert isinstance(field, s.Field)
    assert field.value.text == "a['b']"


NESTED: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: "(" * n + "1" + ")" * n,
    "mixed brackets": lambda n: "[(" * (n // 2) + "(" * (n % 2) + "1" + ")" * (n % 2) + ")]" * (n // 2),
    "calls": lambda n: "f(" * n + ")" * n,
    "signs": lambda n: "-" * n + "x",
    "not": lambda n: "not " * n + "x",
    "powers": lambda n: "**".join(["x"] * (n + 1)),
    "lambda": lambda n: "lambda: " * n + "x",
    "conditional": lambda n: "x if y else " * n + "z",
    "signs in brackets": lambda n: "-(" * (n // 2) + "-" * (n % 2) + "x" + ")" * (n // 2),
}


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("most", [7, 200])
def test_nesting_limit(kind: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "current", limits.current.changed(nesting=most))
    make = NESTED[kind]
    parse_expression(Source("t", make(most)))
    parse_file(Source("t", f"{make(most)}, {make(most)}\n{make(most)}\n"))
    with pytest.raises(LimitError) as caught:
        parse_expression(Source("t", make(most + 1)))
    assert caught.value.limit == "nesting"
    assert caught.value.span is not None


def test_nesting_of_fstrings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "current", limits.current.changed(nesting=2))
    parse_expression(Source("t", "f'{f\"{x}\"}'"))
    with pytest.raises(LimitError, match="nesting"):
        parse_expression(Source("t", "f'{f\"{(x)}\"}'"))


@pytest.mark.parametrize("most", [3, 100])
def test_blocks_limit(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "current", limits.current.changed(blocks=most))

    def nested(depth: int, last: str) -> str:
        return "".join(" " * at + "if x:\n" for at in range(depth)) + " " * depth + last + "\n"

    parse_file(Source("t", nested(most, "y") + nested(most, "y")))
    parse_file(Source("t", nested(most - 1, "if x: y")))
    for text in (nested(most + 1, "y"), nested(most, "if x: y")):
        with pytest.raises(LimitError) as caught:
            parse_file(Source("t", text))
        assert caught.value.limit == "blocks"
        assert caught.value.span is not None


def test_source_limit_counts_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "current", limits.current.changed(source=6))
    parse_file(Source("t", "'\u00e9\u00e9'"))
    with pytest.raises(LimitError, match="7 bytes"):
        parse_file(Source("t", "'\u00e9\u00e9' "))


def test_digits_limit() -> None:
    parse_expression(Source("t", "1" * 4300))
    for text in ("1" * 4302, "0x" + "f" * 4000):
        with pytest.raises(LimitError) as caught:
            parse_expression(Source("t", text))
        assert caught.value.limit == "digits"


#: texts of a length that is about proportional to n
LONG: dict[str, Callable[[int], str]] = {
    "sum": lambda n: "+".join(["x"] * n),
    "comparison": lambda n: "<".join(["x"] * n),
    "and": lambda n: " and ".join(["x"] * n),
    "list": lambda n: "[" + "1," * n + "]",
    "adjacent strings": lambda n: "'a' " * (n // 4),
    "elif": lambda n: "if x: y\n" + "elif x: y\n" * (n // 4),
    "keywords": lambda n: "f(" + ",".join(f"a{i}=1" for i in range(n // 4)) + ")",
    "attributes": lambda n: "x" + ".a" * (n // 4),
    "statements": lambda n: "x;" * (n // 4),
    "nested brackets": lambda n: "(" * n,
    "nested fields": lambda n: "f'{" * n,
    "comments": lambda n: "#\n" * n,
    "open string": lambda n: "'" + "\\a" * n,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG)
def test_long_texts_take_linear_work(kind: str) -> None:
    def parse(count: int) -> None:
        try:
            parse_file(Source("t", LONG[kind](count)))
        except (LanguageError, LimitError):
            assert kind in ("nested brackets", "nested fields", "open string")

    parse(100_000)
    assert calls(lambda: parse(8000)).total() < 8.2 * calls(lambda: parse(1000)).total()
