"""What draws is rich: no module writes escape codes, boxes or lines of text by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import gradcli

PACKAGE = Path(gradcli.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not path.name.startswith("_tables"))
#: the only module that folds text
FOLDING = PACKAGE / "render" / "drawing" / "folding.py"
#: what programs import as `textwrap`
LIBRARY = PACKAGE / "lang" / "libraries" / "string.py"
#: the only module that measures it
WIDTHS = PACKAGE / "render" / "escape.py"


def imports(tree: ast.AST) -> Iterator[str]:
    """What is imported, with the modules that names come from: `textwrap.TextWrapper`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def texts(tree: ast.AST) -> Iterator[str]:
    yield from (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def faults(path: Path) -> Iterator[str]:
    """What a module draws by hand, with what it should use."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    if any("\x1b" in text or "\x9b" in text for text in texts(tree)):
        yield "an escape code: Look.paint or a rich style says what is meant"
    if any("\u2500" <= char <= "\u259f" for text in texts(tree) for char in text):
        yield "a character of a box: rich.box has them"
    found = set(imports(tree))
    if path not in (FOLDING, LIBRARY) and found & {
        "textwrap",
        "textwrap.wrap",
        "textwrap.fill",
        "textwrap.shorten",
        "textwrap.TextWrapper",
    }:
        yield "textwrap: render/drawing/folding.py folds"
    if path != WIDTHS and ("east_asian_width" in source or any(name.startswith("wcwidth") for name in found)):
        yield "the width of a character: render/escape.py measures"
    names = {node.name.lower() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    if any(word in name for word in ("levenshtein", "edit_distance", "damerau") for name in names):
        yield "a distance of words: difflib finds what is close"


def test_nothing_is_drawn_by_hand() -> None:
    assert [f"{path.relative_to(PACKAGE)}: {fault}" for path in MODULES for fault in faults(path)] == []


def test_what_is_drawn_by_hand_is_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "from textwrap import wrap\nfrom wcwidth import wcswidth\nRED = '\\033[31m'\nLINE = '\\u2500' * 3\ndef levenshtein(a, b): ...\n"
    )
    assert len(list(faults(path))) == 5
