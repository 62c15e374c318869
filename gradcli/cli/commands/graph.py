"""`gradcli graph`: the graph behind a value."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcli.cli.options import Shared, checked, listed, spoken
from gradcli.cli.script_target import Of, Vector

EXAMPLES = """\
gradcli graph 'mean((x+2)*(x+2)*2)' x='[[1,2],[3,4]]' --values
gradcli graph 'sum(sigmoid(a*b+c))' a=1,2 b=3,4 c=0 -o graph.svg
gradcli graph 'sin(x)*x' x=1 --as mermaid
gradcli graph lesson.py --of loss --grads"""

HELP = """The graph behind a value, with your own names: a tree here, or DOT, Mermaid, SVG, PNG, PDF or JSON.

A step that several others use is drawn once, with its number (#2:), and referred to after that.
A file that ends in .py is a script: what it calls backward() on last is drawn, or --of NAME.
"""

FORMATS = ("json",)
KINDS = ("tree", "dot", "mermaid", "svg", "png", "pdf", "json")


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR [NAME=VALUE]...", hidden=True)] = None,
    *,
    kind: Annotated[
        str | None,
        typer.Option("--as", metavar="KIND", callback=checked("--as", KINDS), autocompletion=listed(KINDS), help=f"{spoken(KINDS)}."),
    ] = None,
    values: Annotated[bool, typer.Option("--values", help="The value of every step, and its gradient.")] = False,
    grads: Annotated[bool, typer.Option("--grads", help="The gradient of every step.")] = False,
    of: Of = None,
    vector: Vector = None,
    shared: Shared,
) -> int:
    """Run, draw."""
    from gradcli.cli.script_target import prepare_looking
    from gradcli.cli.ways_out import hinted, of_graph
    from gradcli.errors import Code

    chosen = choose(kind, shared)
    request, weights, script = prepare_looking(words or [], "graph", shared, of, vector)
    with hinted(Code.IMPLICIT_GRADIENT_OF_MANY, lambda error: [] if weights else of_graph(request, of, error)):
        told = request.session.graph(request.expression, weights, of=of, script=script, gradients=values or grads, strict=grads)
    grads = grads or values
    if chosen == "tree":
        from gradcli.render.pictures.tree import graph_tree

        return request.finish(graph_tree(told, request.look, values=values, grads=grads), safe=True)
    if chosen == "json":
        from gradcli.render.explain import explanation_json

        return request.finish(explanation_json(told), safe=False)
    if chosen == "svg":
        from gradcli.render.pictures.graph_svg import graph_svg

        return request.finish(graph_svg(told, values=values, grads=grads), safe=False)
    if chosen in ("png", "pdf"):
        from gradcli.cli.output import by_matplotlib
        from gradcli.render.pictures.graph_png import graph_png

        return request.finish_bytes(by_matplotlib(chosen, lambda: graph_png(told, chosen, values=values, grads=grads)))
    if chosen == "dot":
        from gradcli.render.pictures.dot import graph_dot

        return request.finish(graph_dot(told, values=values, grads=grads), safe=False)
    from gradcli.render.pictures.mermaid import graph_mermaid

    return request.finish(graph_mermaid(told, values=values, grads=grads), safe=False)


def choose(kind: str | None, shared: Shared) -> str:
    """What to draw: `--as`, else `--json`, else the suffix of `-o`, else the tree. Raises UsageError."""
    from gradcli.errors import UsageError

    if kind is not None:
        return kind
    if shared.json or shared.format:
        if shared.format not in (None, "json"):
            raise UsageError(f"graph takes --as {spoken(KINDS)}, not --format {shared.format}")
        return "json"
    return shared.chosen_format("tree", KINDS)
