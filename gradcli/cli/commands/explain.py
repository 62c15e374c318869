"""`gradcli explain`: every step of an expression, forward and backward."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcli.cli.options import Shared
from gradcli.cli.script_target import Of, Vector

EXAMPLES = """\
gradcli explain 'mean((x+2)*(x+2)*2)' x='[[1,2],[3,4]]'
gradcli explain 'sum(sigmoid(a*b+c))' a='[[1],[2]]' b=0.5,-0.5,1.5 c=0.25 --full
gradcli explain 'x**3' x=1,2 -v 1,1 --latex > cube.tex
gradcli explain lesson.py --of loss"""

HELP = """Every step behind a value, newest first: its text, grad_fn, value and gradient, and how that gradient came.

#k stands for the value of step k, grad(#k) for its gradient. Below the table: why other names have no gradient.
A file that ends in .py is a script: what it calls backward() on last is explained, or --of NAME.
"""

FORMATS = ("table", "json", "csv", "latex")


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR [NAME=VALUE]...", hidden=True)] = None,
    *,
    of: Of = None,
    vector: Vector = None,
    full: Annotated[bool, typer.Option("--full", help="The arithmetic of every step too, for small tensors.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Short for --format latex: the derivation as a LaTeX document.")] = False,
    shared: Shared,
) -> int:
    """Run, walk backward, tell."""
    from gradcli.cli.script_target import prepare_looking
    from gradcli.cli.ways_out import hinted, of_graph
    from gradcli.errors import Code, UsageError
    from gradcli.render import explain

    chosen = "latex" if latex else shared.chosen_format("table", FORMATS)
    if latex and (shared.json or shared.format not in (None, "latex")):
        raise UsageError("--latex is a format of its own: it goes without --format")
    request, weights, script = prepare_looking(words or [], "explain", shared, of, vector)
    with hinted(Code.IMPLICIT_GRADIENT_OF_MANY, lambda error: [] if weights else of_graph(request, of, error)):
        told = request.session.explain(request.expression, weights, of=of, script=script, full=full or chosen == "latex")
    if chosen == "latex":
        from gradcli.render.latex import derivation

        return request.finish(derivation(told), safe=True)
    if chosen == "table":
        return request.finish(explain.explanation_table(told, request.look, full=full), safe=True)
    return request.finish({"json": explain.explanation_json, "csv": explain.explanation_csv}[chosen](told), safe=False)
