"""What the commands of the prompt show: names, the nodes of a graph, what is known of a function."""

from __future__ import annotations

from gradcli.render.colour import paint
from gradcli.render.escape import escape, escape_lines
from gradcli.render.reference import derivative
from gradcli.render.tables import cell, layout
from gradcli.results.explanations import GraphNodes
from gradcli.results.reference import Description
from gradcli.results.values import TensorValue, Variable

#: a cell of a listing has so many lines at most
_LINES = 6


def variables_table(variables: tuple[Variable, ...], *, colour: bool = False, columns: int | None = None) -> str:
    """One row for each name."""
    rows = [
        [
            escape(v.name),
            v.shape,
            v.value.dtype if isinstance(v.value, TensorValue) else escape(v.value.type_name),
            v.requires_grad,
            v.grad_fn,
            _short(cell(v.value)),
            "-" if v.grad is None else _short(cell(v.grad)),
        ]
        for v in variables
    ]
    return layout(["name", "shape", "dtype", "requires_grad", "grad_fn", "value", "grad"], rows, colour=colour, columns=columns)


def nodes_table(found: GraphNodes, *, colour: bool = False, columns: int | None = None) -> str:
    """One row for each node (and output), and a line that says where the gradients come from."""
    rows = []
    for node in found.nodes:
        gradients = [_short(cell(gradient)) if gradient is not None else "-" for gradient in node.gradients]
        value = "" if node.value is None else _short(cell(node.value))
        rows.append([node.name, escape(node.expression), node.shape, node.grad_fn, value, "\n".join(gradients)])
    table = layout(["name", "expression", "shape", "grad_fn", "value", "gradient"], rows, colour=colour, columns=columns)
    return table + (paint(f"  {found.note}", "dim", colour) + "\n" if found.note else "")


def _short(text: str) -> str:
    lines = text.split("\n")
    return text if len(lines) <= _LINES else "\n".join([*lines[: _LINES - 1], "..."])


def description_text(found: Description, *, colour: bool = False) -> str:
    """Signatures, what it does, grad_fn, formulas, and the example with what it printed."""
    out = [paint(escape(signature), "heading", colour) for signature in found.signatures]
    if found.doc:
        out.append(f"  {escape_lines(found.doc)}")
    if found.grad_fns:
        out.append(f"  grad_fn     {', '.join(found.grad_fns)}")
    width = max((len(argument) for argument, _, _ in found.formulas), default=0)
    for argument, formula, note in found.formulas:
        out += derivative(argument, formula, note, width, colour=colour)
    for typed, printed in found.example:
        out.append(paint(f"  >>> {escape(typed)}", "label", colour))
        out += [f"  {line}" for line in escape_lines(printed).split("\n") if line]
    return "\n".join(out) + "\n"
