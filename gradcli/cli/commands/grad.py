"""`gradcli grad`: value and gradients of an expression."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcli.cli.options import FORMATS, Differentiation, Shared

EXAMPLES = """\
gradcli grad 'mean((x+2)*(x+2)*2)' x='[-1.2301, 0.5498, -1.7590]'
gradcli grad '(x+2)*(x+2)*2' x='randn(3)' --seed 6 -v '[0.1, 1.0, 0.01]'
gradcli grad '((w*d[:,0]+b-d[:,1])**2).mean()' d=@data.csv w=1 b=0 --wrt w,b
gradcli grad 'x**2' x=1,2,3 -v 1,0,0 -v 0,1,0 --format csv"""

HELP = """Value and gradients of an expression: v^T J, where v is 1 for a scalar and -v gives it otherwise.

NAME=VALUE makes a float tensor that requires grad; NAME:=EXPR is PyTorch's own reading. Values are numbers, lists (1,2,3 or
[[1,2],[3,4]]), expressions (randn(3)), ranges (-3..3, 0..1:11) and files (@data.csv, @data.csv:column, @w.npy, @f.npz:name, @-).
"""


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR [NAME=VALUE]...", hidden=True)] = None,
    *,
    shared: Shared,
    differentiation: Differentiation,
) -> int:
    """Evaluate, walk backward, print."""
    from gradcli.cli.request import check_names, prepare
    from gradcli.cli.ways_out import hinted, of_gradient
    from gradcli.errors import Code

    chosen = shared.chosen_format("table", FORMATS)
    request = prepare(words or [], "grad", shared, differentiation)
    names = differentiation.names()
    check_names(names, request.bindings)
    vectors = differentiation.vector or []
    with hinted(Code.IMPLICIT_GRADIENT_OF_MANY, lambda error: [] if vectors else of_gradient(request, error)):
        table = request.session.gradient(request.expression, vectors, names, intermediates=differentiation.all)
    if chosen == "table":
        from gradcli.render import tables

        return request.finish(tables.gradient_table(table, request.look), safe=True)
    if chosen == "json":
        from gradcli.render.json_text import gradient_json as draw
    elif chosen == "csv":
        from gradcli.render.csv_text import gradient_csv as draw
    else:
        from gradcli.render import plain

        draw = plain.gradient_repr if chosen == "repr" else plain.gradient_plain
    return request.finish(draw(table), safe=False)
