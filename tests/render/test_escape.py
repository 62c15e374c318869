"""User strings in every format that is written: they stay text of that format, and bring no control characters along."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gradcli.cli.app import run

#: what means something in one format or another, inside a string of an expression
NASTY = '<script>alert(1)</script>]]>"--></svg>&amp;|;%{}$x$\\\\end{x}`${a}\u202e\x1b[31m'
EXPRESSION = f"x*len('''{NASTY}''')+x"


def written(path: Path, *words: str) -> str:
    assert run([*words, "-o", str(path)]) == 0
    return path.read_text(encoding="utf-8")


@pytest.fixture(name="expression")
def _expression(tmp_path: Path) -> list[str]:
    source = tmp_path / "expression.txt"
    # from a file: no command line holds all of it; the control characters stand in a comment of the text that is quoted
    source.write_text(EXPRESSION.replace("\x1b", "\\x1b"), encoding="utf-8")
    return ["-f", str(source), "x=2"]


class Tags(html.parser.HTMLParser):
    """The scripts and the handlers of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def test_html(tmp_path: Path, expression: list[str]) -> None:
    plain = Tags()
    plain.feed(written(tmp_path / "plain.html", "report", "x*2+x", "x=2"))
    nasty = Tags()
    text = written(tmp_path / "nasty.html", "report", *expression)
    nasty.feed(text)
    assert (nasty.scripts, nasty.handlers) == (plain.scripts, plain.handlers)
    assert "alert(1)</script>]]" not in text and "\x1b" not in text


def test_svg(tmp_path: Path, expression: list[str]) -> None:
    root = ET.fromstring(written(tmp_path / "g.svg", "graph", *expression, "--as", "svg"))
    assert not [node for node in root.iter() if node.tag.endswith("script")]


def test_dot(tmp_path: Path, expression: list[str]) -> None:
    text = written(tmp_path / "g.dot", "graph", *expression, "--as", "dot")
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.S)
    assert '"' not in outside and "script" not in outside and "\x1b" not in text


def test_mermaid(tmp_path: Path, expression: list[str]) -> None:
    text = written(tmp_path / "g.mmd", "graph", *expression, "--as", "mermaid")
    assert "<script" not in text and "\x1b" not in text
    for line in text.splitlines():
        assert line.count('"') in (0, 2)


def test_json(tmp_path: Path, expression: list[str]) -> None:
    for words in (["graph", *expression, "--as", "json"], ["eval", *expression], ["grad", *expression], ["explain", *expression]):
        text = written(tmp_path / "g.json", *words)
        assert text.isascii() and json.loads(text)["ok"] is True


def test_csv(tmp_path: Path, expression: list[str]) -> None:
    rows = list(csv.reader(io.StringIO(written(tmp_path / "g.csv", "explain", *expression)), strict=True))
    assert len({len(row) for row in rows}) == 1


def test_table_of_a_string_has_no_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "'\\x1b[31m\\x9b\\u202e'", "--format", "table"]) == 0
    assert not set(capsys.readouterr().out) & {"\x1b", "\x9b", "\u202e"}
