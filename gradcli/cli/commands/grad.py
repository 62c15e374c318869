"""`gradcli grad`: value and gradients of an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli.by_rows import RowOptions
from gradcli.cli.options import FORMATS, Differentiation, Shared
from gradcli.errors import UsageError

if TYPE_CHECKING:
    from gradcli.cli.request import Request
    from gradcli.results.derivatives import GradientTable

EXAMPLES = """\
gradcli grad 'mean((x+2)*(x+2)*2)' x='[-1.2301, 0.5498, -1.7590]'
gradcli grad '(x+2)*(x+2)*2' x='randn(3)' --seed 6 -v '[0.1, 1.0, 0.01]'
gradcli grad '((w*d[:,0]+b-d[:,1])**2).mean()' d=@data.csv w=1 b=0 --wrt w,b
gradcli grad 'x**2' x=1,2,3 -v 1,0,0 -v 0,1,0 --format csv
gradcli grad '((w*d.height+b-d.weight)**2).mean()' d=@data.csv w=1 b=0 --by-rows d --jobs 2"""

HELP = """Value and gradients of an expression: v^T J, where v is 1 for a scalar and -v gives it otherwise.

NAME=VALUE makes a float tensor that requires grad; NAME:=EXPR is PyTorch's own reading. Values are numbers, lists (1,2,3 or
[[1,2],[3,4]]), expressions (randn(3)), ranges (-3..3, 0..1:11) and files (@data.csv, @data.csv:column, @w.npy, @f.npz:name, @-).

--by-rows NAME reads the files of NAME, CSV or npy, piece by piece, where the expression is a sum or a mean over their rows: memory
need not hold them. --jobs and --scheduler share the pieces; the result is the same to the last bit.
"""


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR [NAME=VALUE]...", hidden=True)] = None,
    *,
    rows: RowOptions,
    shared: Shared,
    differentiation: Differentiation,
) -> int:
    """Evaluate, walk backward, print."""
    rows.begin()
    from gradcli.cli.request import check_names, prepare
    from gradcli.cli.ways_out import hinted, of_gradient
    from gradcli.errors import Code

    chosen = shared.chosen_format("table", FORMATS)
    request = prepare(words or [], "grad", shared, differentiation, without=rows.by_rows)
    names = differentiation.names()
    check_names(names, request.bindings)
    vectors = differentiation.vector or []
    if rows.by_rows is not None:
        if vectors or differentiation.all:
            raise UsageError(f"{'-v' if vectors else '--all'} and --by-rows contradict each other: over rows there is one number")
        return _by_rows(request, rows, names, chosen)
    with hinted(Code.IMPLICIT_GRADIENT_OF_MANY, lambda error: [] if vectors else of_gradient(request, error)):
        table = request.session.gradient(request.expression, vectors, names, intermediates=differentiation.all)
    return _finished(request, table, chosen)


def _by_rows(request: Request, rows: RowOptions, names: list[str] | None, chosen: str) -> int:
    from gradcli.cli import by_rows
    from gradcli.cli.progress import progress

    total = by_rows.prepared(request, rows, names)
    if rows.serve_rows:
        return by_rows.serve(total)
    with progress(None, request.shared) as tell, by_rows.evaluation(request, total, rows, "grad") as evaluate:
        table = total.gradient(evaluate, lambda count: tell(count, lambda: f"{count:,} rows"))
    return _finished(request, table, chosen)


def _finished(request: Request, table: GradientTable, chosen: str) -> int:
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
