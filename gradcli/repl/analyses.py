"""The commands of the prompt that analyse an expression: each does what the command of the same name does at the shell.

The variables are the leaves that the expression names. Nothing that a command computes stays.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradcli.errors import Code, ProgramError, UsageError
from gradcli.repl.files import target, write
from gradcli.source import Source

if TYPE_CHECKING:
    from gradcli.repl.loop import Prompt
    from gradcli.results.derivatives import Derivatives
    from gradcli.results.explanations import Explanation

#: suffixes of `:graph NAME -o FILE`
_PICTURES = {
    ".svg": "svg",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".json": "json",
    ".txt": "tree",
    "": "tree",
}
_RANGE = r"\s([A-Za-z_]\w*)=(\S+?\.\.\S+)(?=\s|\Z)"


def graph(prompt: Prompt, argument: str) -> None:
    """`:graph NAME [-o FILE]`."""
    from gradcli.render.pictures.tree import graph_tree

    name, path = target(argument)
    with prompt.names.untouched():
        told = prompt.session.graph(name, gradients=False)
    if path is None:
        prompt.screen.show(graph_tree(told, prompt.screen.look()))
        return
    suffix = os.path.splitext(path)[1].lower()
    kind = _PICTURES.get(suffix)
    if kind is None:
        raise UsageError(f":graph cannot write a file that ends in {suffix}; it has {', '.join(filter(None, _PICTURES))}")
    write(prompt, "graph", path, _drawn(told, kind))


def _drawn(told: Explanation, kind: str) -> str:
    """The graph as the text of a file."""
    from gradcli.render.explain import explanation_json
    from gradcli.render.pictures.dot import graph_dot
    from gradcli.render.pictures.graph_svg import graph_svg
    from gradcli.render.pictures.mermaid import graph_mermaid
    from gradcli.render.pictures.tree import graph_tree

    if kind == "svg":
        return graph_svg(told)
    if kind == "dot":
        return graph_dot(told)
    if kind == "mermaid":
        return graph_mermaid(told)
    return explanation_json(told) if kind == "json" else graph_tree(told)


def jacobian(prompt: Prompt, argument: str) -> None:
    """`:jacobian EXPR`."""
    _show_derivatives(prompt, argument, prompt.session.jacobian)


def hessian(prompt: Prompt, argument: str) -> None:
    """`:hessian EXPR`."""
    _show_derivatives(prompt, argument, prompt.session.hessian)


def _show_derivatives(prompt: Prompt, argument: str, derive: Callable[[Source], Derivatives]) -> None:
    from gradcli.render import derivatives as render

    with prompt.names.untouched():
        _need_variables(prompt, argument)
        found = derive(_source(argument))
    prompt.screen.show(render.table(found, prompt.screen.look()))


def check(prompt: Prompt, argument: str) -> None:
    """`:check EXPR`."""
    from gradcli.render.check import check_text

    with prompt.names.untouched():
        _need_variables(prompt, argument, copied=True, double=True)
        found = prompt.session.check(_source(argument))
    prompt.screen.show(check_text(found, prompt.screen.look()))


def minimize(prompt: Prompt, argument: str) -> None:
    """`:minimize EXPR`, by Adam with the defaults of the shell's command."""
    from gradcli.render.minimum import table

    with prompt.names.untouched():
        _need_variables(prompt, argument, copied=True)
        try:
            found = prompt.session.minimize(
                _source(argument), method="adam", lr=None, steps=10_000, tolerance=1e-4, progress=lambda step, value, norm: None
            )
        except ProgramError as error:
            if error.code is Code.IMPLICIT_GRADIENT_OF_MANY:
                error.hints = [f"only one number can be smallest: :minimize ({argument.strip()}).sum()"]
            raise
    prompt.screen.show(table(found, prompt.screen.look()))
    if found.failure:
        prompt.screen.error(f"{found.verdict}\n")


def plot(prompt: Prompt, argument: str) -> None:
    """`:plot EXPR NAME=LO..HI [--grad]`, over one range or two."""
    from gradcli.render.pictures.plot_terminal import Area, curves_text, heat_size, heat_text
    from gradcli.results.plots import Curves

    text, grad = re.subn(r"\s--grad(?=\s|\Z)", "", argument)
    ranges = re.findall(_RANGE, text)
    expression = re.sub(_RANGE, "", text).strip()
    if not 1 <= len(ranges) <= 2:
        raise UsageError(":plot needs one range or two", hints=["for example :plot sin(x)*x x=-6..6"])
    look = prompt.screen.look()
    columns, rows = min(look.columns or 80, 200), max(6, min((look.rows or 24) - 7, 40))
    area = Area(columns, rows, look)
    session = prompt.session
    with prompt.names.untouched():
        session.differentiate_by_named(expression, copied=True)
        for name, interval in ranges:
            session.bind_range(name, interval)
        points = (4 * columns + 1,) if len(ranges) == 1 else heat_size(area, session.ranges)
        found = session.plot(_source(expression), order=max(bool(grad), len(ranges) - 1), points=points)
    prompt.screen.show(curves_text(found, area) if isinstance(found, Curves) else heat_text(found, area))


def report(prompt: Prompt, argument: str) -> None:
    """`:report EXPR -o FILE`."""
    import gradcli
    from gradcli.render.report import report_html

    expression, path = target(argument)
    if path is None:
        raise UsageError(":report needs a file to write", hints=["for example :report y -o page.html"])
    with prompt.names.untouched():
        _need_variables(prompt, expression)
        found = prompt.session.report(_source(expression))
    write(prompt, "report", path, report_html(found, gradcli.__version__))


def _source(text: str) -> Source:
    return Source("<expression>", text)


def _need_variables(prompt: Prompt, text: str, *, copied: bool = False, double: bool = False) -> None:
    """Let the expression be differentiated by the leaves that it names. Raises UsageError where there is none."""
    prompt.session.differentiate_by_named(text, copied=copied, double=double)
    if not prompt.session.variables:
        hints = ["x = tensor([1., 2.], requires_grad=True) makes a variable"]
        raise UsageError("there is nothing to differentiate by", hints=hints)
