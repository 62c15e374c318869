"""Jacobians and Hessians in every format."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.render import csv_text, json_text
from gradcli.render.look import PLAIN, Look
from gradcli.render.plain import number_lines
from gradcli.render.tables import EXPRESSION, GRAD_FN, GRADIENT, NAME, SHAPE, VALUE, Cell, Column, layout, row_cells
from gradcli.results.derivatives import Block, Derivatives, Row


def table(found: Derivatives, look: Look = PLAIN) -> str:
    """One row for the output and each variable. A Hessian of several variables has a column of blocks for each."""
    names = [row.name for row in found.variables] if found.kind == "hessian" else [""]
    columns = [NAME, EXPRESSION, SHAPE, GRAD_FN, VALUE, *([GRADIENT] if found.with_gradient else [])]
    columns += [Column(f"{found.kind} {name}" if len(names) > 1 else found.kind, "gradient") for name in names]
    blocks = {(block.row, block.column): block.value for block in found.blocks}
    rows: list[list[Cell]] = []
    for row in (found.output, *found.variables):
        places = [(row.name, column) if column else ("out", row.name) for column in names]
        rows.append([*row_cells(row), *(blocks.get(place, "") for place in places)])
    return layout(columns, rows, look)


def torch_text(found: Derivatives) -> str:
    """PyTorch's text of every block: `jacobian[x] = ...`, `hessian[x, y] = ...`; value and gradient before, where wanted."""
    out = []
    if found.with_gradient:
        out.append(f"out = {found.output.value.repr()}")
        out += [f"{row.name}.grad = {g.repr() if g else None}" for row in found.variables for g in row.gradients]
    out += [f"{found.kind}[{_place(found, block)}] = {block.value.repr()}" for block in found.blocks]
    return "\n".join(out) + "\n"


def plain(found: Derivatives) -> str:
    """Lines of a name, a tab and numbers, one line for each row of a matrix."""
    out = []
    if found.with_gradient:
        out += [f"out\t{line}" for line in number_lines(found.output.value.array)]
        for row in found.variables:
            out += [f"{row.name}.grad\t{line}" for g in row.gradients if g for line in number_lines(g.array) if line]
    for block in found.blocks:
        out += [f"{found.kind}[{_place(found, block)}]\t{line}" for line in number_lines(block.value.array) if line]
    return "\n".join(out) + "\n"


def json(found: Derivatives) -> str:
    """One line: output, variables, and the blocks by variable (by both variables, for a Hessian)."""
    matrices: dict[str, object] = {}
    for block in found.blocks:
        if found.kind == "hessian":
            inner = matrices.setdefault(block.row, {})
            assert isinstance(inner, dict)
            inner[block.column] = json_text.tensor(block.value)
        else:
            matrices[block.column] = json_text.tensor(block.value)
    content = {
        "gradcli": 1,
        "ok": True,
        "output": _row(found.output) | {"grad_fn": found.output.grad_fn},
        "variables": {row.name: _row(row) for row in found.variables},
        found.kind: matrices,
    }
    return json_text.dump(content)


def csv(found: Derivatives) -> str:
    """One row for each derivative: what is differentiated, its index, by which variable, its index."""
    if not found.with_gradient:
        return csv_text.write(["row", "row_index", "column", "column_index", found.kind], _entries(found))
    rows = {row.name: row for row in (found.output, *found.variables)}
    numbers = {
        (name, index): (value, "" if row.gradients[0] is None else row.gradients[0].array.ravel().tolist()[at])
        for name, row in rows.items()
        for at, (index, value) in enumerate(zip(csv_text.indices(row.value.array), row.value.array.ravel().tolist(), strict=True))
    }
    lines: list[list[object]] = [[*at, *both, "", "", ""] for at, both in numbers.items() if at[0] == "out"]
    for name, index, *rest in _entries(found):
        lines.append([name, index, *numbers[str(name), str(index)], *rest])
    return csv_text.write(["row", "row_index", "value", "grad", "column", "column_index", found.kind], lines)


def _entries(found: Derivatives) -> Iterator[list[object]]:
    arrays = {row.name: row.value.array for row in (found.output, *found.variables)}
    for block in found.blocks:
        numbers = iter(block.value.array.ravel().tolist())
        for index in csv_text.indices(arrays[block.row]):
            for column_index in csv_text.indices(arrays[block.column]):
                yield [block.row, index, block.column, column_index, next(numbers)]


def _place(found: Derivatives, block: Block) -> str:
    return f"{block.row}, {block.column}" if found.kind == "hessian" else block.column


def _row(row: Row) -> dict[str, object]:
    content: dict[str, object] = {"name": row.name, "expression": row.expression, **json_text.tensor(row.value)}
    if row.gradients:
        content["grad"] = None if row.gradients[0] is None else row.gradients[0].array.tolist()
    return content
