"""Casebooks: text files with many scripts, each with what PyTorch 2.13 printed when it ran them.

    An introduction in prose.

    --- before each
    a script that runs in front of every case of the file

    ### title
    the script
    --- prints
    its standard output
    --- stderr
    its warnings, and the line that names the error it ended with

Every part but the title may be missing: a script without `--- prints` prints nothing. One empty line in front of `### ` and of
`--- before each` belongs to the layout. A line of a script or an output that looks like a mark has a backslash in front of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).parent
#: where the casebooks of PyTorch's own output are
CASES = TESTS / "conformance" / "cases"

_TITLE = "### "
#: a mark; with backslashes in front of it, a line of a script or an output that looks like one
_MARK = re.compile(r"(\\*)(?:### |--- (?:before each|prints|stderr)$)")


@dataclass(frozen=True)
class Case:
    """A script and its recorded output; `line` is the line of its title in the casebook `path`."""

    path: Path
    line: int
    title: str
    script: str = field(repr=False)
    prints: str = field(default="", repr=False)
    stderr: str = field(default="", repr=False)
    before: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The casebook below `cases/`, without suffix, and the title: `backward/vectors/vector_mean`."""
        folder = CASES if self.path.is_relative_to(CASES) else self.path.parent
        return f"{self.path.relative_to(folder).with_suffix('').as_posix()}/{self.title}"

    @property
    def place(self) -> str:
        """Where a reader finds the case: file, line and title."""
        path = self.path.relative_to(TESTS.parent) if self.path.is_relative_to(TESTS.parent) else self.path
        return f"{path}:{self.line}: {self.title}"


@dataclass(frozen=True)
class Casebook:
    """A whole file: its introduction, the script in front of every case, and the cases in order."""

    introduction: str
    before: str
    cases: tuple[Case, ...]


def books() -> list[Path]:
    """Every casebook below `cases/`."""
    return sorted(CASES.rglob("*.txt"))


def find(name: str) -> Case:
    """The case of that name; KeyError where there is none."""
    book, _, title = name.rpartition("/")
    return {case.title: case for case in read(CASES / f"{book}.txt").cases}[title]


def read(path: Path) -> Casebook:
    """Parse the file `path`; ValueError for a section in the wrong place, a missing or a repeated title."""
    introduction: list[str] = []
    before: list[str] = []
    found: list[tuple[int, str, dict[str, list[str]]]] = []
    lines = introduction
    for number, line in enumerate(_lines(path.read_bytes().decode("utf-8")), 1):
        mark = _MARK.match(line)
        if not mark or mark[1]:
            lines.append(line[1:] if mark else line)
            continue
        if line.startswith(_TITLE):
            _drop_layout(lines)
            parts: dict[str, list[str]] = {"script": []}
            found.append((number, line.removeprefix(_TITLE), parts))
            lines = parts["script"]
            continue
        section = line.removeprefix("--- ")
        if (section == "before each") is not (not found) or (found and section in found[-1][2]):
            raise ValueError(f"{path}:{number}: {line!r} is out of place")
        if found:
            lines = found[-1][2][section] = []
        else:
            _drop_layout(lines)
            lines = before
    titles = [title for _, title, _ in found]
    if not all(titles) or len(set(titles)) < len(titles):
        raise ValueError(f"{path}: a title is missing or repeated")
    first = _text(before)
    cases = (Case(path, n, title, before=first, **{k: _text(v) for k, v in parts.items()}) for n, title, parts in found)
    return Casebook(_text(introduction), first, tuple(cases))


def write(book: Casebook) -> str:
    """The text of a casebook, which `read` turns into `book` again."""
    parts = [_escape(book.introduction)]
    if book.before:
        parts.append("--- before each\n" + _escape(book.before))
    for case in book.cases:
        sections = (("prints", case.prints), ("stderr", case.stderr))
        outputs = "".join(f"--- {mark}\n{_escape(text)}" for mark, text in sections if text)
        parts.append(f"{_TITLE}{case.title}\n{_escape(case.script)}{outputs}")
    return "\n".join(parts)


def _lines(text: str) -> Iterable[str]:
    """The lines of `text` without their ends. Only a line feed ends a line."""
    return text.removesuffix("\n").split("\n") if text else ()


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _escape(text: str) -> str:
    if text and not text.endswith("\n"):
        raise ValueError("a script or an output does not end with a line feed")
    return _text([f"\\{line}" if _MARK.match(line) else line for line in _lines(text)])


def _drop_layout(lines: list[str]) -> None:
    if lines and not lines[-1]:
        lines.pop()
