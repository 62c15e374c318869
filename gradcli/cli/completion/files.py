"""Names of files for completion, and of what is in data files."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Iterator, Sequence

_MOST_HEADER = 1 << 16
_MOST_JSON = 1 << 20


def matching(typed: str, suffixes: Sequence[str] = ()) -> list[str]:
    """The paths that begin with `typed`, directories with a slash behind them.

    Where files with one of the suffixes match, others are left out. Hidden files are listed when the dot is typed.
    """
    directory, start = os.path.split(typed)
    found: list[str] = []
    try:
        with os.scandir(os.path.expanduser(directory) or ".") as entries:
            for entry in entries:
                name = entry.name
                hidden = name.startswith(".") and not start.startswith(".")
                if name.startswith(start) and not hidden and name.isprintable():
                    found.append(os.path.join(directory, name) + ("/" if entry.is_dir() else ""))
    except OSError:
        return []
    wanted = [path for path in found if path.endswith(tuple(suffixes))]
    return sorted(path for path in found if path.endswith("/") or path in wanted or not wanted)


def parts(path: str) -> Iterator[str]:
    """The columns of a CSV file with a header or of a JSON file, or the arrays of an npz file; none of a file that cannot be read."""
    with contextlib.suppress(OSError, ValueError, RecursionError, csv.Error):
        if not os.path.isfile(path):
            return
        if path.endswith(".npz"):
            import zipfile

            with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
                yield from (name.removesuffix(".npy") for name in archive.namelist())
        elif path.endswith(".json") and os.path.getsize(path) <= _MOST_JSON:
            import json

            with open(path, encoding="utf-8-sig") as file:
                content = json.load(file)
            record = content[0] if isinstance(content, list) and content else content
            yield from record if isinstance(record, dict) else ()
        elif path.endswith((".csv", ".tsv")):
            with open(path, encoding="utf-8-sig", newline="") as file:
                cells = next(csv.reader([file.readline(_MOST_HEADER)], delimiter="\t" if path.endswith(".tsv") else ","), [])
            if not all(map(_is_number, cells)):
                yield from (cell.strip() for cell in cells)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
