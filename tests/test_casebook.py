"""Casebooks keep every character, and refuse what they cannot keep."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.casebook import Case, Casebook, books, find, read, write

ODD = ["", "### x", "\\### x", "### ", "--- prints", "\\\\--- stderr", "--- before each", "---", "\r", "\u2028", " ### ", "tail \t"]
LINE = st.one_of(st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), max_size=8), st.sampled_from(ODD))
TEXT = st.lists(LINE, max_size=5).map(lambda lines: "".join(f"{line}\n" for line in lines))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(TEXT, TEXT, st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path: Path, introduction: str, before: str, texts: list[tuple[str, str, str]]) -> None:
    path = tmp_path / "book.txt"
    cases = tuple(Case(path, 0, f"case {n}", *three, before=before) for n, three in enumerate(texts))
    path.write_bytes(write(Casebook(introduction, before, cases)).encode())
    again = read(path)
    assert (again.introduction, again.before) == (introduction, before)
    assert [(c.title, c.script, c.prints, c.stderr, c.before) for c in again.cases] == [
        (c.title, c.script, c.prints, c.stderr, c.before) for c in cases
    ]


def test_a_case_knows_its_place(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("Words.\n\n### one\nprint(1)\n--- prints\n1\n\n### two\nprint(2)")
    one, two = read(path).cases
    assert (one.line, two.line, two.script, two.name) == (3, 8, "print(2)\n", "book/two")
    assert two.place == f"{path}:8: two"


@pytest.mark.parametrize(
    "text",
    ["--- prints\n", "### a\n### a\n", "### \n", "### a\n--- prints\n--- prints\n", "### a\n--- before each\n"],
)
def test_marks_that_are_out_of_place(tmp_path: Path, text: str) -> None:
    path = tmp_path / "book.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"book\.txt"):
        read(path)


def test_every_casebook_is_written_as_it_would_be_again() -> None:
    for path in books():
        assert write(read(path)).encode() == path.read_bytes(), path


def test_cases_are_found_by_name() -> None:
    assert find("seeds/001_01").before.startswith("# What the seed documents assume")
