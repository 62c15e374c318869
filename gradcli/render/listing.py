"""What the commands of the prompt show: names, the nodes of a graph, what is known of a function."""

from __future__ import annotations

from gradcli.render.drawing.console import UNBOUNDED, draw
from gradcli.render.drawing.fields import fields, styled
from gradcli.render.drawing.folding import fold, fold_prose
from gradcli.render.escape import escape, escape_lines
from gradcli.render.look import PLAIN, Look
from gradcli.render.reference import derivatives, example
from gradcli.render.tables import EXPRESSION, GRAD_FN, GRADIENT, NAME, SHAPE, VALUE, Cell, Column, layout
from gradcli.results.explanations import GraphNodes
from gradcli.results.reference import Description
from gradcli.results.values import TensorValue, Value, Variable

#: the most lines of a cell
_LINES = 6


def variables_table(variables: tuple[Variable, ...], look: Look = PLAIN) -> str:
    """One row for each name."""
    rows: list[list[Cell]] = []
    for v in variables:
        dtype = v.value.dtype if isinstance(v.value, TensorValue) else v.value.type_name
        rows.append([v.name, v.shape, dtype, v.requires_grad, v.grad_fn, _short(v.value), v.grad])
    columns: list[Column | str] = [NAME, SHAPE, "dtype", "requires_grad", GRAD_FN, VALUE, Column("grad", "gradient")]
    return layout(columns, rows, look, tallest=_LINES)


def nodes_table(found: GraphNodes, look: Look = PLAIN) -> str:
    """One row for each node (and output), and a line that says where the gradients come from."""
    rows: list[list[Cell]] = []
    for node in found.nodes:
        # the outputs of a node stand below each other
        for i, gradient in enumerate(node.gradients or ("",)):
            rows.append(
                ["", "", "", "", "", gradient] if i else [node.name, node.expression, node.shape, node.grad_fn, node.value or "", gradient]
            )
    table = layout([NAME, EXPRESSION, SHAPE, GRAD_FN, VALUE, GRADIENT], rows, look, tallest=_LINES)
    return table + (look.paint(f"  {found.note}", "dim") + "\n" if found.note else "")


def _short(value: Value) -> Value:
    """A value whose text has a few lines at most; tensors are summarised by the table."""
    if isinstance(value, TensorValue) or value.text.count("\n") < _LINES:
        return value
    return value.replace(text="\n".join([*value.text.split("\n")[: _LINES - 1], "..."]))


def description_text(found: Description, look: Look = PLAIN) -> str:
    """Signatures, what it does, grad_fn, formulas, and the example with what it printed."""
    from rich.console import Group, RenderableType

    columns = look.columns or UNBOUNDED
    parts: list[RenderableType] = [styled(fold(escape(signature), columns, 4), "heading", look) for signature in found.signatures]
    if found.doc:
        parts.append(styled(fold_prose(f"  {escape_lines(found.doc)}", columns), "", look))
    if found.grad_fns:
        names = fold(", ".join(found.grad_fns), columns - 14, 0)
        parts.append(fields([("grad_fn", styled(names, "grad_fn", look))], 2, 10, look))
    if found.formulas:
        parts.append(derivatives(found.formulas, 2, look))
    return draw(Group(*parts, *example(found.example, look)), look, columns)
