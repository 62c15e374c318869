"""Tables of text, cells of several lines, no drawing characters beyond ASCII: as wide as they need, or as a terminal is.

An own layout, as importing rich would cost more than everything else a small table needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcli.render.colour import paint
from gradcli.render.escape import escape, escape_lines, pad, width
from gradcli.results.derivatives import GradientTable, Row
from gradcli.results.values import Evaluation, TensorValue, Value

_GAP = "  "
#: longer expressions are cut in the middle; JSON has them whole
_EXPRESSION = 60
#: where a table must be narrower, words up to this long stay whole
_WORD = 20
#: how readily columns of numbers are made narrower, compared with texts
_NUMBERS = 0.6


def layout(headings: Sequence[str], rows: Sequence[Sequence[str]], *, colour: bool = False, columns: int | None = None) -> str:
    """A table of `rows` of printable cells, with `headings` over a rule; lines carry no blanks at their ends.

    Where it would be wider than `columns`, long cells are folded; where that is not enough, each row is a list of its cells.
    """
    cells = [[cell.split("\n") for cell in row] for row in ([*headings], *rows)]
    widths = [max(width(line) for row in cells for line in row[i]) for i in range(len(headings))]
    if columns is not None and _total(widths) > columns:
        narrow = _narrowed(cells, widths, columns)
        if narrow is None:
            return _listed(headings, cells[1:], columns, colour)
        widths = narrow
        cells = [[[part for line in one for part in folded(line, wide)] for one, wide in zip(row, widths, strict=True)] for row in cells]
    lines = [[_joined(row, i, widths) for i in range(max(map(len, row)))] for row in cells]
    rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1) + 2)
    out = [*(_GAP + paint(head, "heading", colour) for head in lines[0]), " " + paint(rule, "dim", colour)]
    out += [(_GAP + line).rstrip() for row in lines[1:] for line in row]
    return "\n".join(out) + "\n"


def _joined(row: Sequence[Sequence[str]], i: int, widths: Sequence[int]) -> str:
    """Line `i` of a row of the table."""
    return _GAP.join(pad(lines[i] if i < len(lines) else "", wide) for lines, wide in zip(row, widths, strict=True)).rstrip()


def _narrowed(cells: Sequence[Sequence[Sequence[str]]], widths: Sequence[int], columns: int) -> list[int] | None:
    """Widths that make the table fit, the widest columns first, rows of numbers later than texts; None where words are too long."""
    widths = list(widths)
    least = [max(_widest_word(line) for row in cells for line in row[i]) for i in range(len(widths))]
    if _total(least) > columns:
        return None
    weights = [_NUMBERS if any(line.startswith("[") for row in cells for line in row[i]) else 1.0 for i in range(len(widths))]
    while _total(widths) > columns:
        widths[max((i for i in range(len(widths)) if widths[i] > least[i]), key=lambda i: widths[i] * weights[i])] -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    """The columns that a table takes."""
    return sum(widths) + len(_GAP) * len(widths) + 1


def _widest_word(line: str) -> int:
    return max((min(width(word) + 1, _WORD, width(line)) for word in line.split()), default=0)


def folded(line: str, wide: int, indent: int | None = None) -> Iterator[str]:
    """The line in pieces of at most `wide` columns, cut at blanks where there are any.

    Later pieces stand `indent` columns to the right, by default a little more than the first.
    """
    first = len(line) - len(line.lstrip())
    lead = " " * min(first + 1 if indent is None else indent, wide // 3)
    while width(line) > wide:
        end = taken = 0
        while end < len(line) and taken + width(line[end]) <= wide:
            taken += width(line[end])
            end += 1
        blank = line.rfind(" ", max(first, len(line) - len(line.lstrip())) + 1, end + 1)
        end = blank if blank > 0 else max(end, len(lead) + 1)
        yield line[:end].rstrip()
        line = lead + line[end:].lstrip()
    yield line


def _listed(headings: Sequence[str], cells: Sequence[Sequence[Sequence[str]]], columns: int, colour: bool) -> str:
    """For narrow terminals: the first two cells of each row, and below them the others with their headings; empty ones are left out."""
    lead = max(map(width, headings[2:]), default=0)
    out = []
    for row in cells:
        out += [paint(line, "heading", colour) for line in folded(_GAP + _GAP.join(" ".join(lines) for lines in row[:2]), columns, 6)]
        for heading, lines in zip(headings[2:], row[2:], strict=True):
            parts = [part for line in lines for part in folded(line, max(columns - lead - 6, 8))]
            if any(parts):
                out += [
                    f"    {paint(pad(heading if i == 0 else '', lead), 'dim', colour)}{_GAP}{part}".rstrip() for i, part in enumerate(parts)
                ]
    return "\n".join(out) + "\n"


def gradient_table(table: GradientTable, *, colour: bool = False, columns: int | None = None) -> str:
    """The table of `grad`: one line or more for the output, each intermediate value and each variable."""
    count = table.vectors
    gradients = ["gradient"] if count == 1 else [f"gradient {i + 1}" for i in range(count)]
    rows = [_cells(row) for row in table.rows]
    return layout(["name", "expression", "shape", "grad_fn", "value", *gradients], rows, colour=colour, columns=columns)


def evaluation_table(evaluation: Evaluation, *, colour: bool = False, columns: int | None = None) -> str:
    """One row for the value of an expression."""
    value = evaluation.value
    extents = shape(value) if isinstance(value, TensorValue) else ""
    row = ["out", short(evaluation.expression), extents, evaluation.grad_fn or "-", cell(value)]
    return layout(["name", "expression", "shape", "grad_fn", "value"], [row], colour=colour, columns=columns)


def cell(value: Value) -> str:
    """The text of a value in a table."""
    return escape_lines(value.cell() if isinstance(value, TensorValue) else value.repr())


def _cells(row: Row) -> list[str]:
    gradients = ["-" if gradient is None else cell(gradient) for gradient in row.gradients]
    return [escape(row.name), short(row.expression), shape(row.value), escape(row.grad_fn), cell(row.value), *gradients]


def short(expression: str) -> str:
    """An expression for a cell: on one line, cut in the middle where it is long."""
    text = escape(" ".join(expression.split()))
    if len(text) <= _EXPRESSION:
        return text
    half = (_EXPRESSION - 3) // 2
    return f"{text[: half + 1]}...{text[-half:]}"


def shape(value: TensorValue) -> str:
    """The shape as Python shows a tuple."""
    return str(value.shape)
