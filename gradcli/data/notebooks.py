"""Notebooks: the code cells of an .ipynb file, and lines that are IPython's and no Python."""

from __future__ import annotations

import json
import re

from gradcli.errors import DataError

#: a line of IPython's: `%magic`, `!command`, `name?`
_MAGIC = re.compile(r"([ \t]*)(%{1,2}[A-Za-z]\w*|![ \t]*[\w./-]|[\w.]+\?{1,2}[ \t]*$)")
#: magics of a whole cell whose other lines are Python
_OF_PYTHON = ("%%time", "%%timeit", "%%capture", "%%prun")


def code_cells(text: str, name: str) -> list[str]:
    """The texts of the code cells of a notebook, in order. Raises DataError."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} is no notebook: it is not JSON") from error
    cells = held.get("cells") if isinstance(held, dict) else None
    if not isinstance(cells, list):
        raise DataError(f"{name} is no notebook: it has no list of cells")
    found: list[str] = []
    for at, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            raise DataError(f"{name} is no notebook: cell {at} is no object")
        if cell.get("cell_type") != "code":
            continue
        lines = cell.get("source", "")
        parts = lines if isinstance(lines, list) else [lines]
        if not all(isinstance(part, str) for part in parts):
            raise DataError(f"{name} is no notebook: the source of cell {at} is no text")
        found.append("".join(parts))
    return found


def without_magics(text: str) -> tuple[str, list[str]]:
    """The text with `pass` in place of each line of IPython's, and those lines. A cell in another language is left out wholly."""
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and first.split()[0] not in _OF_PYTHON:
        return "\n" * (len(lines) - 1), [first.strip()]
    left_out: list[str] = []
    for at, line in enumerate(lines):
        found = _MAGIC.match(line)
        if found is not None:
            left_out.append(line.strip())
            lines[at] = f"{found[1]}pass"
    return "\n".join(lines), left_out
