"""`gradcli check`: gradients by rule against central differences."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcli.cli.options import Shared
from gradcli.cli.script_target import Vector

EXAMPLES = """\
gradcli check 'mean((x+2)*(x+2)*2)' x=1,2,3
gradcli check 'where(x>1, log(x), 2*x).sum()' x=0,2
gradcli check 'logsumexp(w @ x, 0)' w='randn(3,2)' x=1,2 --wrt w
gradcli check 'relu(x).sum()' x=-1,0,1 --format json"""

HELP = """Compare every derivative with central differences, in float64; exit code 4 when one is wrong.

Expressions of analytic operations alone (+ - * / ** @, exp, log, sin, sum ...) are compared with complex steps too, which
are exact to rounding. The worst element of each input is shown with both numbers. Where a function has a kink (relu at 0, ties of max) the
slopes of both sides are named, and it counts as right when the gradient lies between them. The first step that makes a
nan or an infinity is pointed out.
"""

FORMATS = ("table", "json", "csv")


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR [NAME=VALUE]...", hidden=True)] = None,
    *,
    vector: Vector = None,
    wrt: Annotated[str | None, typer.Option("--wrt", metavar="NAMES", help="Only these variables, e.g. x,y.")] = None,
    shared: Shared,
) -> int:
    """Run, compare, tell."""

    from gradcli.cli import output
    from gradcli.cli.progress import progress
    from gradcli.cli.request import check_names, prepare
    from gradcli.errors import UsageError, Verdict
    from gradcli.render import check

    chosen = shared.chosen_format("table", FORMATS)
    if shared.dtype == "float32":
        raise UsageError("check computes in float64: differences in float32 say little")
    if vector is not None and len(vector) > 1:
        raise UsageError("check takes one -v")
    request = prepare(words or [], "check", shared.replace(dtype="float64"), write=output.write_stderr)
    names = None if wrt is None else [name.strip() for name in wrt.split(",")]
    check_names(names, request.bindings)
    with progress(1, shared) as tell:

        def watch(done: int, total: int) -> None:
            tell(done / total, lambda: f"{done:,} of {total:,} elements")

        result = request.session.check(request.expression, vector[0] if vector else None, names, watch)
    if chosen == "table":
        request.finish(check.check_text(result, request.look), safe=True)
    else:
        request.finish({"json": check.check_json, "csv": check.check_csv}[chosen](result), safe=False)
    return 0 if result.passed else Verdict.exit_code
