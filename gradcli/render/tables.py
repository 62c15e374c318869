"""Tables of texts and tensors, drawn by rich: as wide as they need, or as a terminal is.

Where a table is wider than its terminal, tensors lose the zeros that all their numbers end with, then columns that repeat others
are left out, then long cells are folded. Where a cell cannot be folded any more, each row is shown as a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import indent
from typing import TYPE_CHECKING

from gradcli.plain import Plain
from gradcli.render.drawing.console import draw
from gradcli.render.drawing.fields import GAP, fields, styled, widest
from gradcli.render.drawing.folding import fold, shortened, widest_piece
from gradcli.render.escape import escape_lines, width
from gradcli.render.look import PLAIN, Look
from gradcli.results.derivatives import GradientTable, Row, RowCount
from gradcli.results.values import Evaluation, TensorValue, Value

if TYPE_CHECKING:
    from rich.text import Text

#: texts are folded to fewer columns than this only after tensors have been folded
_TEXT = 20
#: a row becomes a record where folding adds this many lines to a tensor, or to a text
_TALLER, _TALLER_TEXT = 8, 3
_NUMBER = re.compile(r"-?\d[\d,]*(\.?)\d*(e[-+]\d+)?")


class Sentence(str):
    """A cell of words in a column of expressions or numbers."""


Cell = str | Value | None


class Column(Plain):
    """A column: its heading, the role of its text in `STYLES`, and whether it is left out first where there is no room.

    A column of the role "source" shows expressions in the colours of the language.
    """

    heading: str
    role: str = ""
    spare: bool = False


NAME = Column("name", "name")
EXPRESSION = Column("expression")
SHAPE = Column("shape", "dim", spare=True)
GRAD_FN = Column("grad_fn", "grad_fn")
VALUE = Column("value", "value")
GRADIENT = Column("gradient", "gradient")


class _Layout(Plain):
    """A table before it is drawn. Tensors have at most `tallest` lines and are printed with `changes` of their print options."""

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Cell]]
    look: Look
    tallest: float
    changes: dict[str, float] = {}

    def texts(self, i: int, wide: int | None = None) -> list[str]:
        """The texts of column `i` below its heading, folded to `wide` columns where that is possible."""
        column = self.columns[i]
        found = [self.text(row[i], wide) for row in self.rows]
        if column.role in ("value", "gradient", "number"):
            found = _aligned(found)
        return [column.heading if wide is None else fold(column.heading, wide, 0), *found]

    def text(self, cell: Cell, wide: int | None = None) -> str:
        """The text of a cell."""
        if not isinstance(cell, TensorValue):
            text = "-" if cell is None else escape_lines(cell if isinstance(cell, str) else cell.text)
            return text if wide is None else fold(text, wide)
        changes = dict(self.changes)
        if wide is not None:
            changes["linewidth"] = wide + 1 - max(cell.array.ndim, 2)
        text = cell.cell(**changes)
        # PyTorch's line width leaves nan and inf out of account
        while wide is not None and changes["linewidth"] > 0 and (over := widest([text]) - wide) > 0:
            changes["linewidth"] -= over
            text = cell.cell(**changes)
        if "precision" in changes and "." in text and "e" not in text:
            text = cell.cell(**changes | {"precision": max(1, *map(_digits, re.findall(r"\.(\d*)", text)))})
        # PyTorch's summary, with fewer and fewer items at the ends of every axis
        edges = iter((3, 2, 1, 0))
        while text.count("\n") >= self.tallest and (edge := next(edges, None)) is not None:
            text = cell.cell(**changes, threshold=0, edgeitems=edge)
        return text

    def shortened(self) -> _Layout:
        """The table without the zeros that all numbers of a tensor end with."""
        return self.replace(changes={"precision": max((_precision(cell) for row in self.rows for cell in row), default=0)})

    def without_spare(self) -> _Layout:
        """The table without spare columns, if every row has a tensor whose text shows the shape."""
        for row in self.rows:
            shown = [self.text(cell) for cell in row if isinstance(cell, TensorValue)]
            if not any(text and "..." not in text and not text.startswith("all ") for text in shown):
                return self
        kept = [i for i, column in enumerate(self.columns) if not column.spare]
        return self.replace(columns=tuple(self.columns[i] for i in kept), rows=[[row[i] for i in kept] for row in self.rows])

    def needed(self) -> list[int]:
        """The widths that the columns need when nothing is folded."""
        return [widest(self.texts(i)) for i in range(len(self.columns))]

    def narrowed(self, room: int) -> list[int] | None:
        """Widths that make the table as wide as `room`; None where words and numbers are too long for that.

        Long texts are made narrower first, and as narrow as they can be where tensors keep their rows by it; otherwise tensors
        follow, then everything. What is left over is given back.
        """
        widths = self.needed()
        numeric = [any(isinstance(row[i], TensorValue) for row in self.rows) for i in range(len(widths))]
        least = [max(widest_piece(one.heading, 0), *(self._least(row[i]) for row in self.rows)) for i, one in enumerate(self.columns)]
        texts_first = [wide if number else max(low, _TEXT) for wide, low, number in zip(widths, least, numeric, strict=True)]
        then_numbers = [low if number else max(low, _TEXT) for low, number in zip(least, numeric, strict=True)]
        texts_alone = [wide if number else low for wide, low, number in zip(widths, least, numeric, strict=True)]
        floors = (texts_first, texts_alone) if _total(texts_alone) <= room else (texts_first, then_numbers, least)
        for floor in floors:
            while _total(widths) > room and (slack := [i for i in range(len(widths)) if widths[i] > floor[i]]):
                widths[max(slack, key=widths.__getitem__)] -= 1
        if _total(widths) > room:
            return None
        taken = [widest(self.texts(i, wide)) for i, wide in enumerate(widths)]
        for i in sorted(range(len(widths)), key=numeric.__getitem__):
            widths[i] = taken[i] + room - _total(taken)
            taken[i] = widest(self.texts(i, widths[i]))
        return widths

    def is_cramped(self, widths: Sequence[int], screen: float) -> bool:
        """Whether a cell in these widths is higher than the screen, or much higher than it need be, or breaks the rows of a matrix.

        A text needs no folding; a tensor is compared with itself in all columns of the terminal.
        """
        for i, wide in enumerate(widths):
            for folded, row in zip(self.texts(i, wide)[1:], self.rows, strict=True):
                tensor = isinstance(row[i], TensorValue)
                whole = self.text(row[i], self.look.columns if tensor else None)
                if folded.count("\n") >= min(screen, whole.count("\n") + (_TALLER if tensor else _TALLER_TEXT)):
                    return True
                if tensor and whole.startswith("[[") and _breaks_rows(folded) and not _breaks_rows(whole):
                    return True
        return False

    def _least(self, cell: Cell) -> int:
        if isinstance(cell, TensorValue):
            return widest([self.text(cell, 1)])
        return widest_piece(self.text(cell))


def _breaks_rows(text: str) -> bool:
    """Whether a row of a matrix, as PyTorch prints it, takes more than one line."""
    return any(line.strip() not in ("", "...,") and not line.endswith(("]", "],")) for line in text.split("\n"))


def _precision(cell: Cell) -> float:
    return cell.options.precision if isinstance(cell, TensorValue) else 0


def _digits(decimals: str) -> int:
    return len(decimals.rstrip("0"))


def _total(widths: Sequence[int]) -> int:
    """The columns that a table takes."""
    return sum(widths) + GAP * len(widths)


def layout(columns: Iterable[Column | str], rows: Sequence[Sequence[Cell]], look: Look = PLAIN, *, tallest: float | None = None) -> str:
    """A table of `rows` under the headings of `columns`. Tensors of more than `tallest` lines are summarised.

    No line is wider than `look.columns`, and no tensor is higher than `look.rows`, where these are known and wide enough for a number.
    """
    screen = float("inf") if look.rows is None else max(look.rows - 4, 4)
    kinds = tuple(Column(column) if isinstance(column, str) else column for column in columns)
    table = _Layout(kinds, rows, look, min(screen, tallest or screen))
    room = look.columns
    if room is None or _total(table.needed()) <= room:
        return _table(table, [None] * len(kinds))
    table = table.shortened()
    if _total(table.needed()) > room:
        table = table.without_spare()
    if _total(table.needed()) <= room:
        return _table(table, [None] * len(table.columns))
    widths = table.narrowed(room)
    return _records(table) if widths is None or table.is_cramped(widths, screen) else _table(table, widths)


def _table(table: _Layout, widths: Sequence[int | None]) -> str:
    from rich.box import SIMPLE_HEAD, Box
    from rich.table import Table

    # SIMPLE_HEAD with hyphens
    plain = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
    box = SIMPLE_HEAD if table.look.unicode else plain
    # the columns contain the gap, since rich takes much longer to draw cells with padding
    drawn = Table(box=box, show_edge=False, pad_edge=False, padding=0, header_style="")
    columns = []
    total = 0
    for i, (one, wide) in enumerate(zip(table.columns, widths, strict=True)):
        heading, *texts = table.texts(i, wide)
        taken = widest([heading, *texts]) + (GAP - 1) * (i < len(widths) - 1)
        total += taken + 1
        drawn.add_column(styled(heading, "heading", table.look), width=taken)
        columns.append([_styled(text, one.role, row[i], table.look) for text, row in zip(texts, table.rows, strict=True)])
    for cells in zip(*columns, strict=True):
        drawn.add_row(*cells)
    return indent(draw(drawn, table.look, total), " " * GAP)


def _records(table: _Layout) -> str:
    """The rows one below the other. A row begins with its first cells, two at most, as long as they are no tensors and no sentences;
    below stand the others with their headings. Empty cells are left out.
    """
    from rich.console import Group, RenderableType

    room = table.look.columns or 0
    heads = next((i for i in range(2) if any(isinstance(row[i], (TensorValue, Sentence)) for row in table.rows)), 2)
    labels = [column.heading for i, column in enumerate(table.columns) if not all(isinstance(row[i], Sentence) for row in table.rows)]
    lead = max(map(width, labels[heads:]), default=0)
    wide = max(room - lead - 3 * GAP, 8)
    parts: list[RenderableType] = []
    for cells in table.rows:
        if head := (" " * GAP).join(" ".join(text.split()) for cell in cells[:heads] if (text := table.text(cell))):
            parts.append(styled(indent(fold(head, max(room - GAP, 8), 4), " " * GAP), "heading", table.look))
        shown = [(column, cell, table.text(cell, wide)) for column, cell in zip(table.columns[heads:], cells[heads:], strict=True)]
        found = [
            ("" if isinstance(cell, Sentence) else column.heading, _styled(text, column.role, cell, table.look))
            for column, cell, text in shown
            if text
        ]
        if found:
            parts.append(fields(found, 2 * GAP, lead, table.look))
    return draw(Group(*parts), table.look, max(room, lead + 3 * GAP + 8))


def _styled(text: str, role: str, cell: Cell, look: Look) -> Text:
    """The text of a cell; a gradient that is zero is dim, and a sentence has no colour."""
    if isinstance(cell, Sentence):
        role = ""
    if role == "gradient" and isinstance(cell, TensorValue) and not cell.array.any():
        role = "zero"
    return styled(text, role, look)


def _aligned(texts: list[str]) -> list[str]:
    """`texts` with blanks before those that are single numbers, so that their decimal points are aligned."""
    matches = [_NUMBER.fullmatch(text) for text in texts]
    heads = [match.start(1) if match else 0 for match in matches]
    if not any(match and match[1] for match in matches):
        return texts
    return [" " * (max(heads) - head) + text if match else text for text, match, head in zip(texts, matches, heads, strict=True)]


def gradient_table(table: GradientTable, look: Look = PLAIN) -> str:
    """The table of `grad`: a row for the output, each intermediate value and each variable."""
    count = table.vectors
    gradients = [GRADIENT] if count == 1 else [Column(f"gradient {i + 1}", "gradient") for i in range(count)]
    return layout([NAME, EXPRESSION, SHAPE, GRAD_FN, VALUE, *gradients], [row_cells(row) for row in table.rows], look) + over(table.over)


def over(rows: RowCount | None) -> str:
    """The line that says over how many rows an expression was evaluated; nothing for None."""
    if rows is None:
        return ""
    many = "1 piece" if rows.pieces == 1 else f"{rows.pieces:,} pieces"
    return f"  over {rows.count:,} rows of {rows.name}, in {many}\n"


def evaluation_table(evaluation: Evaluation, look: Look = PLAIN) -> str:
    """One row for the value of an expression."""
    value = evaluation.value
    extents = shape(value) if isinstance(value, TensorValue) else ""
    row = ["out", shortened(evaluation.expression), extents, evaluation.grad_fn or "-", value]
    return layout([NAME, EXPRESSION, SHAPE, GRAD_FN, VALUE], [row], look)


def cell(value: Value) -> str:
    """The text of a value in a table."""
    return escape_lines(value.cell() if isinstance(value, TensorValue) else value.text)


def row_cells(row: Row) -> list[Cell]:
    """The row of an output or a variable."""
    return [row.name, shortened(row.expression), shape(row.value), row.grad_fn, row.value, *row.gradients]


def shape(value: TensorValue) -> str:
    """The shape as Python shows a tuple."""
    return str(value.shape)
