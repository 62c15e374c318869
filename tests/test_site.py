"""The pages of docs/ as a site: a strict build finds no dead link, and no page loads anything from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: what a browser fetches without being asked
LOADED = re.compile(r"<(?:script|img|iframe|source|link rel=\"?(?:stylesheet|icon|preload|preconnect))[^>]*(?:src|href)=\"?(https?:|//)")

pytest.importorskip("zensical", reason="zensical, the extra `docs`, is not installed")


def build(folder: Path, added: str = "") -> subprocess.CompletedProcess[str]:
    """A strict build of a copy of the pages in `folder`, with `added` at the end of the first page."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    with (folder / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write(added)
    return subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=folder, capture_output=True, text=True)


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    built = build(tmp_path)
    assert built.returncode == 0 and "No issues found" in built.stdout + built.stderr, built.stdout + built.stderr
    pages = list((tmp_path / "site").glob("*.html"))
    assert {page.stem for page in pages} >= {page.stem for page in (ROOT / "docs").glob("*.md")}
    for page in pages:
        assert not LOADED.search(page.read_text(encoding="utf-8")), page.name
    for sheet in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:|//)|@import", sheet.read_text(encoding="utf-8")), sheet.name


@pytest.mark.parametrize("link", ["[a page](missing.md)", "[a section](reference.md#missing)"])
def test_a_dead_link_stops_the_build(link: str, tmp_path: Path) -> None:
    built = build(tmp_path, f"\n{link}\n")
    assert built.returncode != 0
    assert "does not exist" in built.stdout + built.stderr


def test_something_loaded_from_elsewhere_is_found(tmp_path: Path) -> None:
    built = build(tmp_path, '\n<img src="https://example.org/x.png">\n')
    assert built.returncode == 0
    assert LOADED.search((tmp_path / "site" / "index.html").read_text(encoding="utf-8"))
