"""`gradcli report`: one page that tells all of an expression or a script."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gradcli.cli.options import Shared
from gradcli.cli.script_target import Of, Vector

EXAMPLES = """\
gradcli report 'mean((x+2)*(x+2)*2)' x='[[1,2],[3,4]]' -o out.html
gradcli report 'x*sin(x)' x=-6..6 -o curve.html
gradcli report lesson.py -o lesson.html
gradcli report lesson.py --of loss -o lesson.html"""

HELP = """One self-contained page: result, graph, every step with how its gradient came, plots, what the script printed.

Point at a node, and its value, gradient and text light up. It needs no network, and follows light and dark. A word that is a file, or
ends in .py, is a script; of a script what backward() was called on last is shown, else
the newest value with a graph; or --of NAME.
"""

FORMATS = ("html",)
WITHOUT = ("json",)


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR|SCRIPT [NAME=VALUE]...", hidden=True)] = None,
    *,
    of: Of = None,
    vector: Vector = None,
    shared: Shared,
) -> int:
    """Run, explain, draw, write."""
    import gradcli
    from gradcli.cli.request import prepare
    from gradcli.cli.ways_out import hinted, of_graph
    from gradcli.errors import Code, UsageError
    from gradcli.render.report import report_html

    typed = words or []
    _check(typed, vector, shared)
    script = of is not None or is_script(typed, shared)
    asked = shared.replace(file=typed[0]) if script and shared.file is None else shared
    rest = typed[1:] if asked is not shared else typed
    printed: list[str] = []
    request = prepare(rest, "report", asked, write=printed.append, ranges=True)
    if len(request.session.ranges) > 2:
        raise UsageError("report takes two ranges at most")
    with hinted(Code.IMPLICIT_GRADIENT_OF_MANY, lambda error: [] if vector else of_graph(request, of, error)):
        found = request.session.report(request.expression, vector[0] if vector else None, script=script, of=of)
    return request.finish(report_html(found.replace(printed="".join(printed)), gradcli.__version__), safe=True)


def _check(words: list[str], vector: list[str] | None, shared: Shared) -> None:
    """Raise UsageError for options that make no sense here."""
    from gradcli.errors import UsageError

    if vector and len(vector) > 1:
        raise UsageError("report takes one -v")
    if shared.json or shared.format is not None:
        raise UsageError("report writes HTML: there is no other format")
    shared.chosen_format("html", FORMATS)
    if shared.output is None:
        raise UsageError("report needs a file to write", hints=["try gradcli report 'x**2' x=3 -o out.html"])
    if not words and shared.file is None:
        raise UsageError("an expression or a script is missing", hints=["try gradcli report lesson.py -o out.html"])


def is_script(words: list[str], shared: Shared) -> bool:
    """Whether the first word names a script: a file, `-`, or what ends in `.py`; with -f, whether that file does."""
    if shared.file is not None:
        return shared.file.endswith(".py")
    return words[0] == "-" or words[0].endswith(".py") or os.path.isfile(words[0])
