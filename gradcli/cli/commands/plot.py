"""`gradcli plot`: an expression over one or two ranges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli.options import Shared
from gradcli.errors import Repair

if TYPE_CHECKING:
    from gradcli.cli.request import Request
    from gradcli.render.look import Look

EXAMPLES = """\
gradcli plot 'x*sin(x)' x=-6..6 --grad
gradcli plot 'sigmoid(a*x)' x=-5..5 a=1,2,4
gradcli plot 'x**2 - y**2' x=-2..2 y=-2..2
gradcli plot 'exp(-x*x)' x=-3..3 --grad --second -o bell.svg
gradcli plot 'relu(x)' x=-1..1:5 --grad --format csv"""

HELP = """The curve of an expression over NAME=LO..HI (or LO..HI:N, for N points), with its derivatives; over two ranges a map of colours
with the gradient as arrows.

In the terminal, or -o FILE.svg, or -o FILE.png and FILE.pdf where matplotlib is installed (pip install 'gradcli[plot]').
"""

FORMATS = ("table", "csv", "json", "svg", "png", "pdf")
#: how many points pictures have, for one variable and each of two; and lists of numbers
_PICTURE, _NUMBERS = ((401,), (61, 61)), ((101,), (21, 21))
#: columns where the output is no terminal
_COLUMNS = 80


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR NAME=LO..HI [NAME=VALUE]...", hidden=True)] = None,
    *,
    grad: Annotated[bool, typer.Option("--grad", help="The derivative too; over two ranges it is always shown.")] = False,
    second: Annotated[bool, typer.Option("--second", help="The second derivative too.")] = False,
    shared: Shared,
) -> int:
    """Evaluate at many points, draw."""
    from gradcli.cli.request import prepare
    from gradcli.errors import UsageError

    chosen = shared.chosen_format("table", FORMATS)
    request = prepare(words or [], "plot", shared, ranges=True)
    names = request.session.ranges
    if not 1 <= len(names) <= 2:
        text = "there is no range to plot over" if not names else f"plot takes one range or two, not {len(names)}"
        error = UsageError(text)
        error.repairs = [] if names else _ranged(request)
        error.hints = [] if error.repairs else ["try gradcli plot 'x**2' x=-3..3"]
        raise error
    if len(names) == 2 and second:
        raise UsageError("--second is for one variable; over two, hessian has the second derivatives at a point")
    if chosen == "table":
        return _in_terminal(request, grad, second)
    points = _NUMBERS if chosen in ("csv", "json") else _PICTURE
    plot = request.session.plot(request.expression, order=_order(request, grad, second), points=points[len(names) - 1])
    if chosen in ("png", "pdf"):
        from gradcli.cli.output import by_matplotlib
        from gradcli.render.pictures.plot_png import plot_png

        return request.finish_bytes(by_matplotlib(chosen, lambda: plot_png(plot, chosen)))
    if chosen == "svg":
        from gradcli.render.pictures.plot_svg import plot_svg

        return request.finish(plot_svg(plot), safe=True)
    from gradcli.render.pictures import plot_numbers as render

    return request.finish(render.plot_csv(plot) if chosen == "csv" else render.plot_json(plot), safe=False)


def _ranged(request: Request) -> list[Repair]:
    """Ranges for unknown names of the expression, else for a name that was given two numbers or, failing that, one."""
    from gradcli.session import slip_names

    given = {binding.name: ends[1] for binding in request.bindings if (ends := re.fullmatch(r"\s*([^,]+,[^,]+)", binding.value))}
    names = slip_names.unknown_names(request.expression, request.session.variables) or [*given][:1]
    names = names or [binding.name for binding in request.bindings][:1]
    ranges = {name: given[name].replace(",", "..") if name in given else "-3..3" for name in names}
    return [Repair(values=ranges, sure=True)] if 1 <= len(ranges) <= 2 else []


def _order(request: Request, grad: bool, second: bool) -> int:
    if len(request.session.ranges) == 2:
        return 1
    return 2 if second else int(grad)


def _in_terminal(request: Request, grad: bool, second: bool) -> int:
    """Draw with the width and the abilities of the terminal."""
    from gradcli.render.pictures.plot_terminal import Area, curves_text, heat_size, heat_text
    from gradcli.results.plots import Curves

    look = request.look
    columns, rows = _size(look)
    area = Area(max(columns, 24), max(rows, 5), look)
    # four points for each column of dots, so that narrow peaks are drawn
    order = _order(request, grad, second)
    names = request.session.ranges
    usual = (4 * columns + 1,) if len(names) == 1 else heat_size(area, names)
    plot = request.session.plot(request.expression, order=order, points=usual)
    text = curves_text(plot, area) if isinstance(plot, Curves) else heat_text(plot, area)
    return request.finish(text, safe=True)


def _size(look: Look) -> tuple[int, int]:
    """Columns in all and rows of the drawing: the terminal's, 80 columns elsewhere."""
    if look.columns is None:
        return _COLUMNS, 20
    return min(look.columns, 200), max(6, min((look.rows or 24) - 7, look.columns // 3, 40))
