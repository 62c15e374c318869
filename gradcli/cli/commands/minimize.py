"""`gradcli minimize`: where an expression is smallest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli.by_rows import RowOptions
from gradcli.cli.options import FORMATS, Shared, Variables, checked, listed
from gradcli.errors import UsageError

if TYPE_CHECKING:
    from gradcli.cli.request import Request
    from gradcli.results.derivatives import Minimum

EXAMPLES = """\
gradcli minimize '(x-3)**2' x=0
gradcli minimize '(1-x)**2 + 100*(y-x**2)**2' x=-1.2 y=1 --method lbfgs
gradcli minimize '((w*d[:,0]+b-d[:,1])**2).mean()' d:=@data.csv w=0 b=0 --method sgd --lr 0.05
gradcli minimize '(x**2).sum()' x='randn(5)' --seed 1 --json
gradcli minimize '((w*d[:,0]+b-d[:,1])**2).mean()' d=@rows.npy w=0 b=0 --by-rows d --method lbfgs --jobs 4"""

METHODS = ("sgd", "momentum", "adam", "adamw", "adamax", "nadam", "radam", "rmsprop", "adagrad", "adadelta", "rprop", "lbfgs")

HELP = f"""Change the variables until the gradient of the expression is nearly zero. The exit code is 4 when that does not happen.

NAME=START is where a variable begins; NAME:=VALUE is data, which stays as it is; --by-rows NAME reads data piece by piece, which
memory need not hold, for a sum or a mean over rows. The methods are torch.optim's, with
PyTorch's options but for the learning rate: {", ".join(METHODS)}.
"""


def _positive(value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise UsageError(f"--lr and --tol take numbers above 0, not {value:g}")
    return value


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="EXPR NAME=START...", hidden=True)] = None,
    *,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="METHOD",
            callback=checked("--method", METHODS),
            autocompletion=listed(METHODS),
            help="adam, unless you choose another.",
        ),
    ] = "adam",
    lr: Annotated[
        float | None,
        typer.Option("--lr", metavar="LR", callback=_positive, help="The learning rate; unless given, one that suits the method."),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", metavar="N", min=0, help="Give up after so many steps; 10000 unless given.")] = 10_000,
    tol: Annotated[
        float, typer.Option("--tol", metavar="T", callback=_positive, help="Done when the gradient's norm is at most T; 1e-4 unless given.")
    ] = 1e-4,
    rows: RowOptions,
    shared: Shared,
    variables: Variables,
) -> int:
    """Minimise and print; a failure to converge is the verdict no."""
    rows.begin()
    from gradcli.cli import by_rows, output
    from gradcli.cli.progress import progress
    from gradcli.cli.request import check_names, check_variables, prepare
    from gradcli.cli.ways_out import hinted, summed
    from gradcli.errors import Code

    chosen = shared.chosen_format("table", FORMATS)
    request = prepare(words or [], "minimize", shared, without=rows.by_rows)
    names = variables.names()
    check_names(names, request.bindings)
    check_variables(request)
    sums = hinted(Code.IMPLICIT_GRADIENT_OF_MANY, lambda error: [summed(request, "only one number can be smallest")])
    with sums, progress(steps, shared) as tell:
        last: tuple[int, float, float] | None = None

        def told() -> str:
            return "" if last is None else "{:,} steps  value {:.6g}  gradient norm {:.3g}".format(*last)

        def watch(step: int, value: float, norm: float) -> None:
            nonlocal last
            last = step, value, norm
            tell(step, told)

        if rows.by_rows is not None:
            total = by_rows.prepared(request, rows, names)
            if rows.serve_rows:
                return by_rows.serve(total)
            with by_rows.evaluation(request, total, rows, "minimize") as evaluate:
                found = total.minimize(
                    evaluate,
                    lambda count: tell(last[0] if last else 0, lambda: f"{told()}  {count:,} rows"),
                    method=method,
                    lr=lr,
                    steps=steps,
                    tolerance=tol,
                    progress=watch,
                )
        else:
            found = request.session.minimize(request.expression, names, method=method, lr=lr, steps=steps, tolerance=tol, progress=watch)
    request.finish(_text(found, chosen, request), safe=chosen == "table")
    if found.note and not shared.quiet:
        output.write_stderr(f"note: {found.note}\n")
    return _judged(found, lr, steps)


def _judged(found: Minimum, lr: float | None, steps: int) -> int:
    """The exit code of a minimum. Raises Verdict, with what to do next, for any other end."""
    from gradcli.errors import Repair, Verdict

    if not found.failure:
        return 0
    if not found.kind:
        raise Verdict(found.verdict, hints=[_advice(found, lr, steps)])
    verdict = Verdict(found.verdict, hints=[] if found.restart else ["begin elsewhere; the value may have no minimum at all"])
    if found.restart:
        verdict.repairs = [Repair(values=found.restart, remark="begins beside it", sure=True)]
    raise verdict


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
