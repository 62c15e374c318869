"""Numbers in JSON: an array of any shape, an object of columns, a list of records, or what `gradcli eval --json` writes."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np

from gradcli import limits
from gradcli.data import tables
from gradcli.data.form import Form
from gradcli.data.tables import Table
from gradcli.errors import DataError

#: how JSON has the numbers that it has no literals for
_WORDS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}

Json = float | bool | str | None | list["Json"] | dict[str, "Json"]


def load(text: str, name: str, part: str | None, form: Form) -> Table:
    """The numbers of a JSON text. Columns are those of a table, with names; `part` is a column, or several with commas between.

    Raises DataError, LimitError.
    """
    limits.check_elements(text.count(",") + 1, 8)
    try:
        value: Json = json.loads(text, parse_int=float)
        if isinstance(value, dict) and "gradcli" in value and "value" in value:
            value = value["value"]
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            value = _columns(value, name)
        if isinstance(value, dict):
            return tables.load(_table(value, name), name, part, Form(form.missing, ","))
        found = np.array(_numbers(value, name), dtype=np.float64)
    except json.JSONDecodeError as error:
        raise DataError(f"{name}: line {error.lineno}, column {error.colno}: no JSON: {error.msg}") from None
    except ValueError:
        raise DataError(f"{name}: the lists have different lengths") from None
    except RecursionError:
        raise DataError(f"{name}: the lists are nested too deeply") from None
    if part is not None:
        raise DataError(f"{name} has no columns with names, such as {part!r}", hints=['an object has them: {"x": [1, 2], "y": [3, 4]}'])
    return found, (), ()


def _numbers(value: Json, name: str) -> float | list[object]:
    if isinstance(value, list):
        return [_numbers(one, name) for one in value]
    if isinstance(value, (bool, float)):
        return float(value)
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    raise DataError(f"{name}: numbers are needed, and this is none: {json.dumps(value)[:40]}")


def _columns(records: list[Json], name: str) -> Json:
    """Records with the same keys as columns."""
    rows = [one for one in records if isinstance(one, dict)]
    for number, row in enumerate(rows, 1):
        if row.keys() != rows[0].keys():
            raise DataError(f"{name}: record {number} has other names than the first one")
    return {column: [row[column] for row in rows] for column in rows[0]}


def _table(columns: dict[str, Json], name: str) -> str:
    """An object of lists as a table with a header."""
    lists: list[list[Json]] = []
    for column, cells in columns.items():
        if not isinstance(cells, list) or any(isinstance(cell, (list, dict)) for cell in cells):
            raise DataError(f"{name}: {column!r} is no list of numbers")
        if not column.strip() or re.fullmatch(tables.NUMBER, column):
            raise DataError(f"{name}: a column cannot be called {column!r}")
        lists.append(cells)
    if len({len(cells) for cells in lists}) > 1:
        raise DataError(
            f"{name}: the columns have different lengths: {', '.join(f'{c} {len(v)}' for c, v in zip(columns, lists, strict=True))}"
        )
    made = io.StringIO()
    writer = csv.writer(made)
    writer.writerow(columns)
    writer.writerows([float(cell) if isinstance(cell, bool) else cell for cell in row] for row in zip(*lists, strict=True))
    return made.getvalue()
