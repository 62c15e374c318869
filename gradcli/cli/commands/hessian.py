"""`gradcli hessian`: all second derivatives of an expression."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcli.cli.options import FORMATS, Shared, Variables

EXAMPLES = """\
gradcli hessian '(1-x)**2 + 100*(y-x**2)**2' x=-1.2 y=1
gradcli hessian '(x**3).sum()' x=1,2,3 --with-grad
gradcli hessian 'x @ A @ x' x=1,2 A:='tensor([[2., 1.], [1., 3.]])' --json"""

HELP = """All second derivatives of an expression with one value: for every pair of variables a tensor of the shapes of both.

NAME=VALUE makes a float tensor that requires grad; NAME:=EXPR is PyTorch's own reading. Values are numbers, lists (1,2,3 or
[[1,2],[3,4]]), expressions (randn(3)), ranges (-3..3, 0..1:11) and files (@data.csv, @data.csv:column, @w.npy, @f.npz:name, @-).
"""


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR [NAME=VALUE]...", hidden=True)] = None,
    *,
    with_grad: Annotated[bool, typer.Option("--with-grad", help="Value and gradient too.")] = False,
    shared: Shared,
    variables: Variables,
) -> int:
    """Evaluate, walk backward through the gradient, print."""
    from gradcli.cli.request import check_names, check_variables, prepare
    from gradcli.cli.ways_out import hinted, summed
    from gradcli.errors import Code
    from gradcli.render import derivatives as render

    chosen = shared.chosen_format("table", FORMATS)
    request = prepare(words or [], "hessian", shared)
    names = variables.names()
    check_names(names, request.bindings)
    check_variables(request)
    with hinted(Code.HESSIAN_OF_MANY, lambda error: [summed(request)]):
        found = request.session.hessian(request.expression, names, with_gradient=with_grad)
    if chosen == "table":
        return request.finish(render.table(found, request.look), safe=True)
    renderers = {"repr": render.torch_text, "plain": render.plain, "json": render.json, "csv": render.csv}
    return request.finish(renderers[chosen](found), safe=False)
