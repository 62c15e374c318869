"""`gradcli jacobian`: all first derivatives of an expression."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcli.cli.options import FORMATS, Shared, Variables

EXAMPLES = """\
gradcli jacobian 'x**2' x=1,2,3
gradcli jacobian 'A @ x + b' A='[[1,2],[3,4]]' x=1,2 b=0,0 --wrt x,b
gradcli jacobian 'softmax(x, 0)' x=1,2,3 --format csv"""

HELP = """All first derivatives: for every variable a tensor of the output's shape followed by the variable's.

NAME=VALUE makes a float tensor that requires grad; NAME:=EXPR is PyTorch's own reading. Values are numbers, lists (1,2,3 or
[[1,2],[3,4]]), expressions (randn(3)), ranges (-3..3, 0..1:11) and files (@data.csv, @data.csv:column, @w.npy, @f.npz:name, @-).
"""


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR [NAME=VALUE]...", hidden=True)] = None,
    *,
    shared: Shared,
    variables: Variables,
) -> int:
    """Evaluate, walk backward once for every element of the output, print."""
    from gradcli.cli.request import check_names, check_variables, prepare
    from gradcli.render import derivatives as render

    chosen = shared.chosen_format("table", FORMATS)
    request = prepare(words or [], "jacobian", shared)
    names = variables.names()
    check_names(names, request.bindings)
    check_variables(request)
    found = request.session.jacobian(request.expression, names)
    if chosen == "table":
        return request.finish(render.table(found, request.look), safe=True)
    renderers = {"repr": render.torch_text, "plain": render.plain, "json": render.json, "csv": render.csv}
    return request.finish(renderers[chosen](found), safe=False)
