"""Tables of text: CSV, TSV and what else has a separator. Columns have names where the first row is a header."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn, Protocol

import numpy as np

from gradcli import limits
from gradcli.data.arrays import Array
from gradcli.data.form import Form
from gradcli.errors import DataError, Repair

_HOW = {"drop": "without such rows", "nan": "with nan there"}

#: a cell that is a number
NUMBER = r"(?ia)[ \t]*+[+-]?(?:(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:e[+-]?[0-9]++)?|nan|infinity|inf)[ \t]*+"
#: cells that stand for a number nobody knows
_EMPTY = frozenset({"", "na", "n/a", "null", "none", "-", "?"})
#: separators that are looked for where there is no comma
_SEPARATORS = ";\t|"
#: the characters at the beginning of a table that tell how it is written
_SAMPLE = 1 << 14

#: the numbers, the names of the columns, and the names of the columns that have no numbers
Table = tuple[Array, tuple[str, ...], tuple[str, ...]]
#: the number of a line, and its cells
Row = tuple[int, list[str]]


class Rows(Protocol):
    """A reader of the csv module."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]:
        """The cells of each row. Raises csv.Error."""


def load(text: str, name: str, part: str | None, form: Form) -> Table:
    """The numbers of a table with rows of equal length; `part` is a column, or several with commas between.

    Columns of text are left out unless they are asked for, which is an error. Raises DataError, LimitError.
    """
    separator = form.separator or _separator(text)
    rows = _rows(text, name, separator)
    first, second = next(rows, None), next(rows, None)
    if first is None:
        raise DataError(f"{name} is empty")
    has_header = _is_header(first[1], second[1] if second else None)
    header = tuple(cell.strip() for cell in first[1]) if has_header else ()
    found = _all_numbers(text, name, separator, len(first[1]), has_header)
    if found is None:
        return _mixed(text, name, part, separator, header, form)
    if not found.size:
        raise DataError(f"{name} has a header and no rows of numbers")
    return _chosen(found, part, header, name)


class Layout(NamedTuple):
    """How the rows of a table are read piece by piece: what its first rows tell.

    `columns` are the indices of those that are kept, None for all; `numbers` those that hold no text. `single` is for one column,
    whose numbers have no second axis.
    """

    separator: str
    header: tuple[str, ...]
    width: int
    columns: tuple[int, ...] | None
    numbers: tuple[int, ...]
    single: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are kept."""
        kept = range(self.width) if self.columns is None else self.columns
        return tuple(self.header[at] for at in kept) if self.header and not self.single else ()


def layout(text: str, name: str, part: str | None, form: Form) -> Layout:
    """The layout of the table that begins with the rows of `text`. Raises DataError."""
    separator = form.separator or _separator(text)
    rows = [cells for _, cells in _rows(text, name, separator)]
    if not rows:
        raise DataError(f"{name} is empty")
    has_header = _is_header(rows[0], rows[1] if len(rows) > 1 else None)
    header = tuple(cell.strip() for cell in rows.pop(0)) if has_header else ()
    width = len(header or rows[0])
    if not rows:
        raise DataError(f"{name} has a header and no rows of numbers")
    numbers = tuple(at for at in range(width) if not _is_text([row[at] for row in rows if len(row) > at]))
    if part is not None:
        return Layout(separator, header, width, tuple(_columns(part, header, width, name)), numbers, "," not in part)
    return Layout(separator, header, width, None if len(numbers) == width or not numbers else numbers, numbers, False)


def load_rows(text: str, name: str, how: Layout, form: Form) -> Array:
    """The numbers of rows that have no header above them, which may be none. Raises DataError, LimitError."""
    found = _all_numbers(text, name, how.separator, how.width, False)
    kept = tuple(range(how.width)) if how.columns is None else how.columns
    if found is None:
        rows = list(_rows(text, name, how.separator, how.width))
        _check_cells(rows, kept, name, how.header, form)
        if form.missing == "drop":
            rows = [(line, row) for line, row in rows if not any(_is_missing(row[at]) for at in how.numbers)]
        numbers = [[math.nan if _is_missing(row[at]) else float(row[at]) for at in kept] for _, row in rows]
        found = np.array(numbers, dtype=np.float64).reshape(-1, len(kept))
    elif kept != tuple(range(how.width)):
        found = found[:, kept]
    return np.ascontiguousarray(found[:, 0] if how.single else found)


def _check_cells(rows: Sequence[Row], kept: Sequence[int], name: str, header: tuple[str, ...], form: Form) -> None:
    """Refuse cells that are no numbers in the columns `kept`. Raises DataError."""
    for line, row in rows:
        for at in kept:
            if not re.fullmatch(NUMBER, row[at]) and (form.missing == "error" or not _is_missing(row[at])):
                _bad_cell(name, line, at, row[at], header)


def _chosen(table: Array, part: str | None, header: tuple[str, ...], name: str) -> Table:
    if part is None:
        return table, header, ()
    columns = _columns(part, header, table.shape[1], name)
    if len(columns) == 1 and "," not in part:
        return np.ascontiguousarray(table[:, columns[0]]), (), ()
    return np.ascontiguousarray(table[:, columns]), tuple(header[at] for at in columns) if header else (), ()


def _separator(text: str) -> str:
    """A comma where the first line has one, else what the csv module finds, else blanks where they part all of some lines alike."""
    sample = text[:_SAMPLE].lstrip("\r\n")
    lines = [line for line in sample.splitlines()[:10] if line.strip()]
    if not lines or "," in lines[0]:
        return ","
    if any(one in lines[0] for one in _SEPARATORS):
        try:
            return csv.Sniffer().sniff(sample, _SEPARATORS).delimiter
        except csv.Error:
            return next(one for one in _SEPARATORS if one in lines[0])
    counts = {len(line.split()) for line in lines}
    return " " if len(lines) > 1 and len(counts) == 1 and counts != {1} and '"' not in lines[0] else ","


def _rows(text: str, name: str, separator: str, width: int = 0, *, has_header: bool = False) -> Iterator[Row]:
    """The line number and the cells of each row that is not blank, from below the header on.

    Raises DataError, for a row of another length than `width` too, unless that is 0.
    """
    blanks = separator == " "
    reader: Rows = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator, skipinitialspace=blanks)
    try:
        for cells in reader:
            if blanks and len(cells) > 1 and not cells[-1]:
                del cells[-1]
            if not cells:
                continue
            if has_header:
                has_header = False
                continue
            if width and len(cells) != width:
                raise DataError(f"{name}: row {reader.line_num} has {_count(len(cells), 'cell')}, the first row has {width}")
            yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(f"{name}: row {reader.line_num}: {error}") from None


def _is_header(first: Sequence[str], second: Sequence[str] | None) -> bool:
    """Whether the first row names the columns: it has text above a number, or nothing but text, or one row of numbers would be lost."""
    text = [not re.fullmatch(NUMBER, cell) for cell in first]
    if second is None or len(second) != len(first) or all(text) or not any(text):
        return any(text)
    return any(above and re.fullmatch(NUMBER, cell) for above, cell in zip(text, second, strict=True))


def _all_numbers(text: str, name: str, separator: str, width: int, has_header: bool) -> Array | None:
    """The table where each cell is a number; None where one is not."""
    numbers: list[float] = []
    # float() takes underscores and the digits of other scripts too: where there are any, each cell is checked first
    body = text[text.find("\n") + 1 :] if has_header else text
    convert = float if body.isascii() and "_" not in body else _strict_float
    try:
        for _, cells in _rows(text, name, separator, width, has_header=has_header):
            numbers.extend(map(convert, cells))
            if len(numbers) > limits.current.elements:
                limits.check_elements(len(numbers), 8)
    except ValueError:
        return None
    return np.array(numbers, dtype=np.float64).reshape(-1, width)


def _strict_float(cell: str) -> float:
    if not re.fullmatch(NUMBER, cell):
        raise ValueError
    return float(cell)


# --- text among the numbers ---


def _mixed(text: str, name: str, part: str | None, separator: str, header: tuple[str, ...], form: Form) -> Table:
    """A table with cells that are no numbers: columns of text, and numbers that are missing."""
    width = len(next(_rows(text, name, separator))[1])
    rows = list(_rows(text, name, separator, width, has_header=bool(header)))
    limits.check_elements(len(rows) * width, 8)
    cells = list(zip(*(one for _, one in rows), strict=True))
    is_text = [bool(header or len(rows) > 1) and _is_text(column) for column in cells]
    wanted = range(width) if part is None else _columns(part, header, width, name)
    kept = [at for at in wanted if part is not None or not is_text[at]] or list(wanted)
    _check_cells(rows, kept, name, header, form)
    table = np.array([[math.nan if _is_missing(cell) else float(cell) for cell in cells[at]] for at in kept], dtype=np.float64).T
    if form.missing == "drop":
        # rows without a number anywhere, so that columns that are asked for one by one have the same length
        every = [cells[at] for at in range(width) if not is_text[at]]
        whole = [not any(_is_missing(cell) for cell in row) for row in zip(*every, strict=True)]
        table = table[np.array(whole, dtype=bool)]
        if not len(table):
            raise DataError(f"{name} has no row without a missing number")
    names = tuple(header[at] for at in kept) if header else ()
    if part is not None and "," not in part:
        return np.ascontiguousarray(table[:, 0]), (), ()
    left_out = tuple(header[at] if header else f"column {at}" for at in wanted if at not in kept)
    return np.ascontiguousarray(table), names, left_out


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in _EMPTY


def _is_text(column: Sequence[str]) -> bool:
    return not any(re.fullmatch(NUMBER, cell) for cell in column) and not all(map(_is_missing, column))


def _bad_cell(name: str, line: int, at: int, cell: str, header: tuple[str, ...]) -> NoReturn:
    column = f"column {at}" + (f" ({header[at]})" if header else "")
    shown = "is empty" if not cell.strip() else f"is {'missing' if _is_missing(cell) else 'no number'}: {cell[:40]!r}"
    error = DataError(f"{name}: row {line}, {column} {shown}")
    if _is_missing(cell):
        error.repairs = [Repair(options={"--missing": how}, remark=remark, sure=True) for how, remark in _HOW.items()]
    elif re.search(r"[;\t |]", cell.strip()):
        error.hints = ["--separator ';' tells what is between the cells; tab and space are names of separators"]
    elif re.fullmatch(r"\s*[+-]?[0-9]+,[0-9]+\s*", cell):
        error.hints = ["numbers have points: 1.5"]
    raise error


# --- columns ---


def _columns(part: str, header: tuple[str, ...], width: int, name: str) -> list[int]:
    """The indices of the columns `part`: a name or an index from 0, or several with commas between. Raises DataError."""
    if part in header or "," not in part:
        return [_column(part, header, width, name)]
    return [_column(one.strip(), header, width, name) for one in part.split(",")]


def _column(part: str, header: tuple[str, ...], width: int, name: str) -> int:
    if header.count(part) > 1:
        raise DataError(f"{name} has {header.count(part)} columns called {part!r}")
    if part in header:
        return header.index(part)
    if re.fullmatch(r"[0-9]{1,9}", part) and int(part) < width:
        return int(part)
    if not header:
        raise DataError(f"{name} has no header and {_count(width, 'column')}, counted from 0; {part!r} is none of them")
    from difflib import get_close_matches

    close = get_close_matches(part, header)
    raise DataError(
        f"{name} has no column {part!r}; it has {', '.join(header[:20])}",
        hints=[f"did you mean {', '.join(close)}?"] if close else [],
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
