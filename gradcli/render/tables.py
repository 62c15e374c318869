"""Tables of text: as wide as they need, cells of several lines, no drawing characters beyond ASCII.

An own layout, as importing rich would cost more than everything else a small table needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.render.colour import paint
from gradcli.render.escape import escape, escape_lines, pad, width
from gradcli.results import Evaluation, GradientTable, Row, TensorValue, Value

_GAP = "  "
#: longer expressions are cut in the middle; JSON has them whole
_EXPRESSION = 60


def layout(headings: Sequence[str], rows: Sequence[Sequence[str]], *, colour: bool = False) -> str:
    """A table of `rows` of printable cells, with `headings` over a rule; lines carry no blanks at their ends."""
    cells = [[cell.split("\n") for cell in row] for row in rows]
    widths = [max(width(line) for lines in ([heading], *(row[i] for row in cells)) for line in lines) for i, heading in enumerate(headings)]
    head = _GAP.join(pad(heading, columns) for heading, columns in zip(headings, widths, strict=True)).rstrip()
    rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1) + 2)
    out = [_GAP + paint(head, "heading", colour), " " + paint(rule, "dim", colour)]
    for row in cells:
        for i in range(max(map(len, row))):
            line = _GAP.join(pad(lines[i] if i < len(lines) else "", columns) for lines, columns in zip(row, widths, strict=True))
            out.append((_GAP + line).rstrip())
    return "\n".join(out) + "\n"


def gradient_table(table: GradientTable, *, colour: bool = False) -> str:
    """The table of `grad`: one line or more for the output, each intermediate value and each variable."""
    count = table.vectors
    gradients = ["gradient"] if count == 1 else [f"gradient {i + 1}" for i in range(count)]
    rows = [_cells(row) for row in table.rows]
    return layout(["name", "expression", "shape", "grad_fn", "value", *gradients], rows, colour=colour)


def evaluation_table(evaluation: Evaluation, *, colour: bool = False) -> str:
    """One row for the value of an expression."""
    value = evaluation.value
    extents = shape(value) if isinstance(value, TensorValue) else ""
    row = ["out", short(evaluation.expression), extents, evaluation.grad_fn or "-", cell(value)]
    return layout(["name", "expression", "shape", "grad_fn", "value"], [row], colour=colour)


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
