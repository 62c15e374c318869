"""An HTML page about an expression or a script. It is one file and loads nothing; its colours follow the reader's setting.

Text of users is escaped here, and the page's script never turns it into markup. The policy in the head allows the script and the
style sheet by their hashes and refuses everything else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from gradcli.render.drawing.fields import widest
from gradcli.render.drawing.folding import shortened
from gradcli.render.escape import escape, escape_lines
from gradcli.render.explain import titled
from gradcli.render.pictures.graph_svg import graph_svg
from gradcli.render.pictures.node_labels import base
from gradcli.render.pictures.plot_svg import plot_svg
from gradcli.render.pictures.plot_svg import style as plot_style
from gradcli.render.tables import cell
from gradcli.results.explanations import Explanation, Made, StepResult
from gradcli.results.reports import Report
from gradcli.results.values import TensorValue, Value

_HERE = Path(__file__)
_STYLE = re.compile(r"<style>(.*?)</style>\n?", re.S)
_NODE = re.compile(r'<g id="g-n([^"]*)" class="')
_DOT = re.compile(r"(?<=\.)(?=[A-Za-z_])")
_WORD = re.compile(r"[A-Za-z_]\w*", re.A)
#: the most lines of a cell, and the most characters of a line of a tensor in the result and in the table of steps
_TALLEST, _RESULT, _STEP = 7, 48, 30
#: the most characters of output that are shown: the last ones
_LONGEST = 200_000


def report_html(report: Report, version: str) -> str:
    """The HTML page of `report`; `version` is that of gradcli."""
    graph, graph_style = _graph(report.explanation)
    style = f"{_HERE.with_suffix('.css').read_text(encoding='utf-8')}{graph_style}{plot_style()}"
    script = _HERE.with_suffix(".js").read_text(encoding="utf-8")
    allowed = f"style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    title = shortened(report.source if _is_script(report) else report.text, 90)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta name="generator" content="gradcli {_text(version)}">',
        f"<title>{_text(title)}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        f"<header><h1><code>{_text(title)}</code></h1>{_summary(report)}</header>",
        "<main>",
        *_result(report),
        *_looking(report, graph),
        *_steps(report.explanation),
        *_plots(report),
        *_printed(report),
        "</main>",
        f'<footer class="quiet">Made by gradcli {_text(version)}. This page needs no network.</footer>',
        f"<script>{script}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _text(text: str) -> str:
    """`text` escaped for HTML, on one line."""
    return html.escape(escape(text), quote=True)


def _dotted(text: str) -> str:
    """`text` escaped for HTML, which browsers may break after the dots in names."""
    return "<wbr>".join(map(_text, _DOT.split(text)))


def _lines(text: str) -> str:
    """`text` escaped for HTML; it keeps its lines."""
    return html.escape(escape_lines(text), quote=True)


def _is_script(report: Report) -> bool:
    return report.of != "" or report.value is None


def _summary(report: Report) -> str:
    notes = [*report.notes, *(report.explanation.notes if report.explanation else ())]
    out = "".join(f'<p class="quiet">{_text(note)}</p>' for note in notes)
    if report.of:
        out = f"<p>The graph is that of <code>{_text(report.of)}</code>.</p>" + out
    return out


# --- the result -----------------------------------------------------------------------------------


def _result(report: Report) -> Iterator[str]:
    """The value, and the variables with their gradients."""
    if report.value is None:
        return
    rows: list[tuple[str, str, Value | None, TensorValue | None]] = [(report.of or "out", "-", report.value, None)]
    if report.explanation is not None:
        first = report.explanation.steps[0]
        gradient = first.outputs[0].gradient if first.outputs and not first.is_leaf else None
        rows = [(report.of or "out", first.grad_fn, report.value, gradient)]
        leaves = [made for step in report.explanation.steps if step.is_leaf for made in step.outputs]
        rows += [(made.name, "leaf", made.value, made.gradient) for made in leaves]
    yield '<section id="result"><h2>Result</h2><div class="scroll" tabindex="0" aria-label="Result"><table>'
    yield _head(["name", "grad_fn", "shape", "value", "gradient"]) + "<tbody>"
    for name, grad_fn, value, gradient in rows:
        shape = str(value.shape) if isinstance(value, TensorValue) else ""
        slope = _shown(gradient, _RESULT)
        known = "" if value is None else _shown(value, _RESULT)
        cells = "".join(f'<td class="mono">{text}</td>' for text in (_text(grad_fn), shape, known))
        yield f'<tr><th scope="row" class="mono">{_text(name)}</th>{cells}<td class="mono grad">{slope}</td></tr>'
    yield "</tbody></table></div></section>"


def _head(names: Sequence[str]) -> str:
    cells = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f"<thead><tr>{cells}</tr></thead>"


def _shown(value: Value | None, columns: int) -> str:
    """The text of a value, escaped. Large tensors are summarised as PyTorch does it; other long text loses its middle."""
    if value is None:
        return "-"
    text = cell(value)
    # a narrower line width, which breaks rows, comes last
    ways = iter(({"edgeitems": 3}, {"edgeitems": 2}, {"edgeitems": 1}, {"edgeitems": 1, "linewidth": columns}))
    while isinstance(value, TensorValue) and _is_large(text, columns) and (way := next(ways, None)) is not None:
        text = escape_lines(value.cell(threshold=0, **way))
    lines = text.split("\n")
    if len(lines) > _TALLEST:
        lines = [*lines[: _TALLEST - 2], " ...", lines[-1]]
    return _lines("\n".join(lines))


def _is_large(text: str, columns: int) -> bool:
    return text.count("\n") >= _TALLEST or widest([text]) > columns


# --- the graph and the steps ----------------------------------------------------------------------


def _graph(explanation: Explanation | None) -> tuple[str, str]:
    """The picture, whose nodes have the attributes that the page's script looks for, and its style sheet."""
    if explanation is None:
        return "", ""
    picture = graph_svg(explanation.replace(notes=()), values=True, grads=True, prefix="g-")
    style = "".join(_STYLE.findall(picture))
    picture = _STYLE.sub("", picture).replace('role="img"', 'class="graph" role="group" aria-label="the graph"', 1)
    return _NODE.sub(r'<g id="g-n\1" data-node="\1" class="', picture), style


def _looking(report: Report, graph: str) -> Iterator[str]:
    """The graph, beside it the source text and details of one node. Without a graph there is only the source text."""
    kind = "script" if _is_script(report) else "expression"
    if not graph:
        yield f'<section id="source"><h2>{kind.capitalize()}</h2>'
        yield from _source(report)
        yield "</section>"
        return
    yield f'<section id="graph"><h2>Graph and {kind}</h2>'
    yield '<p class="quiet">Point at a node, or use the arrow keys: its value, its gradient and its text light up.</p>'
    yield f'<div class="bar"><ul class="legend quiet">{"".join(_legend(graph))}</ul>'
    yield '<div id="tools" role="group" aria-label="Size"></div></div>'
    yield f'<div class="looking"><div class="scroll">{graph}</div><div><div id="source">'
    yield from _source(report)
    yield '</div><aside class="detail" id="detail" aria-live="polite" aria-label="The node looked at">'
    yield "<p>The table below tells all.</p></aside>"
    yield "</div></div></section>"


def _legend(graph: str) -> Iterator[str]:
    """An entry for each kind of box in the graph, and one for gradients."""
    kinds = {"leaf": "a leaf", "step": "a step", "result": "the result", "again": "stands for a node elsewhere: a link to it"}
    for kind, text in kinds.items():
        if f'class="{kind}"' in graph:
            box = f'<rect class="box" x="1.5" y="1.5" width="19" height="11" rx="{6 if kind in ("leaf", "again") else 2}"/>'
            yield f'<li><svg class="key" viewBox="0 0 22 14" aria-hidden="true"><g class="{kind}">{box}</g></svg>{text}</li>'
    if 'class="grad"' in graph:
        yield '<li><span class="grad">grad</span> the gradient of the result</li>'


def _steps(explanation: Explanation | None) -> Iterator[str]:
    if explanation is None:
        return
    yield '<section id="steps"><h2>Every step, backward</h2><div class="scroll"><table>'
    yield _head(["#", "expression", "grad_fn", "shape", "value", "gradient", "how the gradient came"]) + "<tbody>"
    for step in explanation.steps:
        for made in step.outputs:
            yield _row(step, made)
    yield "</tbody></table></div></section>"


def _row(step: StepResult, made: Made) -> str:
    key = step.name.removeprefix("#")
    inputs = " ".join(base(link.name).removeprefix("#") for link in step.inputs)
    title = step.name if step.is_leaf else f"{step.name} {step.grad_fn}"
    marks = f'data-node="{_text(key)}" data-title="{_text(title)}" data-inputs="{_text(inputs)}"'
    if step.is_leaf:
        marks += f' data-leaf="{_text(step.name)}"'
    elif step.start >= 0:
        marks += f' data-in="{_text(step.source)}" data-from="{step.start}" data-to="{step.end}"'
    value, gradient = _shown(made.value, _STEP), _shown(made.gradient, _STEP)
    name = _text(made.name.removeprefix("#"))
    return (
        f'<tr {marks}><th scope="row" class="mono">{name}</th><td class="mono wrap">{_dotted(titled(step))}</td>'
        f'<td class="mono">{_text(step.grad_fn)}</td><td class="mono">{made.shape}</td>'
        f'<td class="mono">{value}</td><td class="mono grad">{gradient}</td><td class="mono wrap came">{_dotted(made.came)}</td></tr>'
    )


# --- the text -------------------------------------------------------------------------------------


def _source(report: Report) -> Iterator[str]:
    steps = report.explanation.steps if report.explanation else ()
    numbered = "lines" if "\n" in report.text.strip() else "lines plain"
    yield f'<pre class="{numbered}">{_marked(report.source, report.text, steps)}</pre>'
    for name, text in report.others:
        marked = _marked(f"<value of {name}>", text, steps)
        yield f'<p class="quiet"><code>{_text(name)}</code> is</p><pre class="lines plain">{marked}</pre>'


def _marked(source: str, text: str, steps: Sequence[StepResult]) -> str:
    """The source text as HTML: each piece has its offsets and the innermost step that it belongs to."""
    spans = [(step.start, step.end, step.name.removeprefix("#")) for step in steps if step.source == source and 0 <= step.start < step.end]
    leaves = {step.name for step in steps if step.is_leaf}
    words = [(match.start(), match.end(), match[0]) for match in _WORD.finditer(text) if match[0] in leaves]
    ends = [match.end() for match in re.finditer(r"\n", text)]
    cuts = sorted({0, len(text), *ends, *(at for one in (*spans, *words) for at in one[:2])})
    inner = _innermost(spans, cuts)
    named = {start: name for start, _, name in words}
    out = ['<span class="row">']
    for at, end in pairwise(cuts):
        piece = text[at:end]
        marks = f'data-in="{_text(source)}" data-from="{at}" data-to="{end}"'
        if at in named:
            marks += f' data-leaf="{_text(named[at])}" data-node="{_text(named[at])}"'
        elif inner[at] is not None:
            marks += f' data-node="{_text(inner[at] or "")}"'
        body = _lines(piece.removesuffix("\n"))
        if body:
            out.append(f"<span {marks}>{body}</span>")
        if piece.endswith("\n") and end < len(text):
            out.append('</span><span class="row">')
    return "".join([*out, "</span>"])


def _innermost(spans: Sequence[tuple[int, int, str]], cuts: Sequence[int]) -> dict[int, str | None]:
    """The step with the shortest text around each piece, by the start of the piece; of several such steps the newest."""
    found: dict[int, str | None] = dict.fromkeys(cuts)
    best: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    for start, end, name in sorted(spans, key=lambda span: span[1] - span[0]):
        if (start, end) in seen:
            continue
        seen.add((start, end))
        for i in range(bisect_left(cuts, start), bisect_left(cuts, end)):
            at = cuts[i]
            if at not in best:
                best[at] = end - start
                found[at] = name
    return found


# --- plots and output -----------------------------------------------------------------------------


def _plots(report: Report) -> Iterator[str]:
    if not report.plots:
        return
    yield '<section id="plots"><h2>Plots</h2><div class="plots">'
    for plot in report.plots:
        yield f"<figure>{plot_svg(plot, styled=False)}</figure>"
    yield "</div></section>"


def _printed(report: Report) -> Iterator[str]:
    if not report.printed:
        return
    text = report.printed
    cut = ""
    if len(text) > _LONGEST:
        cut = f'<p class="quiet">the last {_LONGEST:,} of {len(text):,} characters</p>'
        text = text[-_LONGEST:]
    yield f'<section id="output"><h2>Output</h2>{cut}<pre tabindex="0">{_lines(text)}</pre></section>'
