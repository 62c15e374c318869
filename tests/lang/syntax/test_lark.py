"""The versions of Lark that the adapter, `gradcli/lang/syntax/lark_parser.py`, was tried with."""

from __future__ import annotations

import tomllib
from pathlib import Path

import lark

from gradcli.lang.syntax import lark_parser

#: the tests of this folder passed with each of them
TRIED = ("1.2.1", "1.2.2", "1.3.1")
PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def test_the_project_asks_for_versions_that_were_tried() -> None:
    assert f"lark>={TRIED[0]},!=1.3.0,<1.4" in tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    assert lark.__version__ in TRIED, "run the tests of this folder with this version, then add it here"


def test_no_row_is_unpacked_before_a_parse_needs_it() -> None:
    assert not lark_parser.table(lark_parser.load(None)).states
