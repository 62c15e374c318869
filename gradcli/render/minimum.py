"""The outcome of a minimisation in every format."""

from __future__ import annotations

from gradcli.render import csv_text, json_text
from gradcli.render.look import PLAIN, Look
from gradcli.render.plain import number_lines
from gradcli.render.tables import GRADIENT, NAME, VALUE, Cell, Column, layout, over
from gradcli.results.derivatives import Minimum


def table(found: Minimum, look: Look = PLAIN) -> str:
    """One row for each variable, then the value and how it was reached."""
    rows: list[list[Cell]] = [[one.name, one.start, one.minimum, one.gradient] for one in found.variables]
    first = layout([NAME, Column("start", "value"), Column("reached" if found.failure else "minimum", "value"), GRADIENT], rows, look)
    how: list[Cell] = [found.value, f"{found.gradient_norm:.4g}", str(found.steps), found.method]
    return first + "\n" + layout([VALUE, Column("gradient norm", "number"), "steps", "method"], [how], look) + over(found.over)


def torch_text(found: Minimum) -> str:
    """PyTorch's text of the variables and the value."""
    out = [f"{one.name} = {one.minimum.repr()}" for one in found.variables]
    return "\n".join([*out, f"out = {found.value.repr()}"]) + "\n"


def plain(found: Minimum) -> str:
    """Lines of a name, a tab and numbers: variables, value, norm of the gradient, steps."""
    out = [f"{one.name}\t{line}" for one in found.variables for line in number_lines(one.minimum.array) if line]
    out += [f"out\t{line}" for line in number_lines(found.value.array)]
    return "\n".join([*out, f"gradient norm\t{found.gradient_norm}", f"steps\t{found.steps}"]) + "\n"


def json(found: Minimum) -> str:
    """One line; `failure` is null when the minimisation converged."""
    variables = {
        one.name: {
            "start": one.start.array.tolist(),
            "minimum": one.minimum.array.tolist(),
            "grad": None if one.gradient is None else one.gradient.array.tolist(),
            "shape": list(one.minimum.shape),
            "dtype": one.minimum.dtype,
        }
        for one in found.variables
    }
    content = {
        "gradcli": 1,
        "ok": True,
        "expression": found.expression,
        "converged": not found.failure,
        "failure": found.failure or None,
        **({"note": found.note} if found.note else {}),
        **json_text.tensor(found.value),
        "gradient_norm": found.gradient_norm,
        "steps": found.steps,
        "method": found.method,
        "variables": variables,
        **json_text.over(found.over),
    }
    return json_text.dump(content)


def csv(found: Minimum) -> str:
    """One row for each element of each variable."""
    rows = []
    for one in found.variables:
        size = one.minimum.array.size
        gradient = [""] * size if one.gradient is None else one.gradient.array.ravel().tolist()
        columns = (csv_text.indices(one.minimum.array), one.start.array.ravel().tolist(), one.minimum.array.ravel().tolist(), gradient)
        rows += [[one.name, *row] for row in zip(*columns, strict=True)]
    return csv_text.write(["name", "index", "start", "minimum", "grad"], rows)
