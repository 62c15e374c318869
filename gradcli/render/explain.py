"""An explanation as a table with the arithmetic below it, as JSON, as CSV."""

from __future__ import annotations

import csv
import io

from gradcli.render.drawing.console import UNBOUNDED, draw
from gradcli.render.drawing.fields import styled
from gradcli.render.drawing.folding import fold, fold_prose, shortened
from gradcli.render.escape import escape, escape_lines, width
from gradcli.render.json_text import dump
from gradcli.render.look import PLAIN, Look
from gradcli.render.tables import EXPRESSION, GRAD_FN, GRADIENT, NAME, SHAPE, VALUE, Cell, Column, layout
from gradcli.results.explanations import Arithmetic, Explanation, Made, StepResult

#: tensors of more lines are summarised
_TALLEST = 8
_COLUMNS = (
    *(NAME.replace(heading="#"), EXPRESSION.replace(role="source"), GRAD_FN, SHAPE),
    *(VALUE, GRADIENT, Column("how it came", "source")),
)


def explanation_table(explanation: Explanation, look: Look = PLAIN, *, full: bool = False) -> str:
    """One row or more for each step, newest first, leaves last; with `full` the arithmetic of every step; then the notes."""
    rows: list[list[Cell]] = []
    for step in explanation.steps:
        for made in step.outputs:
            name, text = made.name.removeprefix("#"), shortened(titled(step))
            rows.append([name, text, step.grad_fn, str(made.shape), made.value, made.gradient, made.came])
    out = layout(_COLUMNS, rows, look, tallest=_TALLEST)
    if full:
        out += "\n" + _arithmetic(explanation, look)
    return out + notes(explanation, look)


def notes(explanation: Explanation, look: Look) -> str:
    """The notes, each in a line or more of its own, after a blank line."""
    lines = [fold_prose(f"  {escape(note)}", look.columns or UNBOUNDED, 2) for note in explanation.notes]
    return "\n".join(["", *lines, ""]) if lines else ""


def titled(step: StepResult) -> str:
    """The step's text, with the name it was given."""
    return f"{step.variable} = {step.expression}" if step.variable and not step.is_leaf else step.expression


def _arithmetic(explanation: Explanation, look: Look) -> str:
    """Forward in the order in which the steps ran, then backward."""
    from rich.console import Group

    columns = look.columns or UNBOUNDED
    computed = [step for step in reversed(explanation.steps) if not step.is_leaf]
    lines = ["  forward"]
    lines += [_line(step.name, one, columns) for step in computed for one in step.arithmetic]
    lines.append("  backward")
    lines += [_line(f"grad({made.name})", one, columns) for step in explanation.steps for made in step.outputs for one in made.arithmetic]
    return draw(Group(*(styled(line, "source", look) for line in lines)), look, columns)


def _line(name: str, one: Arithmetic, columns: int) -> str:
    """Formula, the same with numbers, and value: in one line, or below each other where that is too long."""
    parts = [one.formula, one.numbers, one.result]
    first, *others = [f"= {part}" for i, part in enumerate(parts) if i == 0 or part != parts[i - 1]]
    line = escape_lines(" ".join([f"    {name}", first, *others]))
    if width(line) <= columns:
        return line
    return "\n".join(fold(escape_lines(part), columns, 4) for part in (f"    {name} {first}", *(f"      {other}" for other in others)))


def explanation_json(explanation: Explanation) -> str:
    """One line: every step with its outputs, inputs and arithmetic, all digits."""
    content = {
        "gradcli": 1,
        "ok": True,
        "expression": explanation.text,
        "steps": [_step(step) for step in explanation.steps],
        "notes": list(explanation.notes),
        "total": explanation.total,
    }
    return dump(content)


def _step(step: StepResult) -> dict[str, object]:
    content: dict[str, object] = {
        "name": step.name,
        "variable": step.variable or None,
        "grad_fn": step.grad_fn,
        "expression": step.expression,
        "leaf": step.is_leaf,
        "inputs": [{"name": link.name, "output": link.output, "argument": link.argument} for link in step.inputs],
        "span": [step.start, step.end] if step.start >= 0 else None,
        "outputs": [_made(made) for made in step.outputs],
    }
    if step.arithmetic:
        content["arithmetic"] = [[one.formula, one.numbers, one.result] for one in step.arithmetic]
    return content


def _made(made: Made) -> dict[str, object]:
    content: dict[str, object] = {
        "name": made.name,
        "shape": list(made.shape),
        "value": None if made.value is None else made.value.array.tolist(),
        "grad": None if made.gradient is None else made.gradient.array.tolist(),
        "came": made.came,
    }
    if made.arithmetic:
        content["arithmetic"] = [[one.formula, one.numbers, one.result] for one in made.arithmetic]
    return content


def explanation_csv(explanation: Explanation) -> str:
    """Columns `name,expression,grad_fn,index,value,grad,came`: one row for each element, all digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "expression", "grad_fn", "index", "value", "grad", "came"])
    for step in explanation.steps:
        for made in step.outputs:
            known = made.value or made.gradient
            size = known.array.size if known else 1
            values = made.value.array.ravel().tolist() if made.value else [""] * size
            grads = made.gradient.array.ravel().tolist() if made.gradient else [""] * size
            for index, (value, grad) in enumerate(zip(values, grads, strict=True)):
                writer.writerow([made.name, titled(step), step.grad_fn, _index(index, made.shape), value, grad, made.came])
    return out.getvalue()


def _index(flat: int, shape: tuple[int, ...]) -> str:
    """The coordinates of an element, a blank between them."""
    places = []
    for size in reversed(shape):
        places.append(flat % size)
        flat //= size
    return " ".join(map(str, reversed(places)))
