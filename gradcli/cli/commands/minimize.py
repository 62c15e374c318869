"""`gradcli minimize`: where an expression is smallest."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradcli.cli.options import Shared, Variables
from gradcli.errors import UsageError

if TYPE_CHECKING:
    from gradcli.cli.request import Request
    from gradcli.results.derivatives import Minimum

EXAMPLES = """\
gradcli minimize '(x-3)**2' x=0
gradcli minimize '(1-x)**2 + 100*(y-x**2)**2' x=-1.2 y=1 --method lbfgs
gradcli minimize '((w*d[:,0]+b-d[:,1])**2).mean()' d:=@data.csv w=0 b=0 --method sgd --lr 0.05
gradcli minimize '(x**2).sum()' x='randn(5)' --seed 1 --json"""

METHODS = ("sgd", "momentum", "adam", "adamw", "adamax", "nadam", "radam", "rmsprop", "adagrad", "adadelta", "rprop", "lbfgs")

HELP = f"""Change the variables until the gradient of the expression is nearly zero. The exit code is 4 when that does not happen.

NAME=START is where a variable begins; NAME:=VALUE is data, which stays as it is. The methods are torch.optim's, with
PyTorch's options but for the learning rate: {", ".join(METHODS)}.
"""

#: a bar appears after this many seconds, and is drawn anew after as many
_BAR_AFTER, _REDRAW = 0.5, 0.1


def _positive(value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise UsageError(f"--lr and --tol take numbers above 0, not {value:g}")
    return value


def _known(value: str) -> str:
    if value not in METHODS:
        raise UsageError(f"--method takes {', '.join(METHODS[:-1])} or {METHODS[-1]}, not {value!r}")
    return value


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR NAME=START...", hidden=True)] = None,
    *,
    method: Annotated[str, typer.Option("--method", metavar="METHOD", callback=_known, help="adam, unless you choose another.")] = "adam",
    lr: Annotated[
        float | None,
        typer.Option("--lr", metavar="LR", callback=_positive, help="The learning rate; unless given, one that suits the method."),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", metavar="N", min=0, help="Give up after so many steps; 10000 unless given.")] = 10_000,
    tol: Annotated[
        float, typer.Option("--tol", metavar="T", callback=_positive, help="Done when the gradient's norm is at most T; 1e-4 unless given.")
    ] = 1e-4,
    shared: Shared,
    variables: Variables,
) -> int:
    """Minimise and print; a failure to converge is the verdict no."""
    from gradcli.cli.reporting import Reporter
    from gradcli.cli.request import check_names, check_variables, prepare
    from gradcli.cli.ways_out import hinted
    from gradcli.errors import Code, Verdict

    chosen = shared.chosen_format("table")
    request = prepare(words or [], "minimize", shared)
    names = variables.names()
    check_names(names, request.bindings)
    check_variables(request)
    hint = "only one number can be smallest: reduce it, with .sum() for example"
    with hinted(Code.IMPLICIT_GRADIENT_OF_MANY, lambda error: [hint]), _bar(steps, shared.quiet) as progress:
        found = request.session.minimize(request.expression, names, method=method, lr=lr, steps=steps, tolerance=tol, progress=progress)
    request.finish(_text(found, chosen, request), safe=chosen == "table")
    if not found.failure:
        return 0
    verdict = Verdict(f"did not converge: {found.failure}", hints=[_advice(found, lr, steps)])
    return Reporter(shared.color, False, shared.debug).report(verdict)


def _text(found: Minimum, chosen: str, request: Request) -> str:
    from gradcli.render import minimum as render

    if chosen == "table":
        return render.table(found, request.look)
    return {"repr": render.torch_text, "plain": render.plain, "json": render.json, "csv": render.csv}[chosen](found)


def _advice(found: Minimum, lr: float | None, steps: int) -> str:
    if found.diverged:
        return "a smaller --lr may help" if lr is None else f"an --lr below {lr:g} may help"
    if found.steps < steps:
        return "--dtype float64 or a larger --tol may help"
    return "more --steps or another --lr" + (" may help" if found.method == "lbfgs" else ", or --method lbfgs, may help")


@contextmanager
def _bar(steps: int, quiet: bool) -> Iterator[Any]:
    """A function to be told of progress: draws a bar on standard error when that is a terminal and it takes long enough."""
    from gradcli.cli import output

    if quiet or not output.is_terminal(sys.stderr):
        yield _silent
        return
    started = drawn = time.monotonic()
    bar: Any = None

    def tell(step: int, value: float, norm: float) -> None:
        nonlocal bar, drawn
        now = time.monotonic()
        if now - started < _BAR_AFTER or now - drawn < _REDRAW:
            return
        drawn = now
        if bar is None:
            bar = _make_bar(steps)
        bar.update(bar.task_ids[0], completed=step, value=f"{value:.6g}", norm=f"{norm:.3g}")

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


def _silent(step: int, value: float, norm: float) -> None:
    """Nobody watches."""


def _make_bar(steps: int) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("value {task.fields[value]}  gradient norm {task.fields[norm]}"))
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("", total=steps, value="", norm="")
    bar.start()
    return bar
