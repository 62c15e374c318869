"""A graph as an SVG picture. It has no script and no font; its colours follow the reader's setting."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from gradcli.render.escape import escape, markup, width
from gradcli.render.explain import titled
from gradcli.render.pictures.layout import NUMBERED, Box, Drawing, Edge, arrange
from gradcli.render.pictures.node_labels import base, kind, label
from gradcli.results.explanations import Explanation, StepResult

#: the size of a character in usual monospaced fonts at 12 pixels; `textLength` makes other fonts as wide
_CHARACTER, LINE = 7.23, 15.0
PAD_X, PAD_Y = 10.0, 7.0
#: in graphs of more steps than this a node is one line
_DETAILED = 400

_STYLE = """
text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; white-space: pre; fill: #15181d; }
.head { font-weight: 600; }
.grad { fill: #8a2b00; }
.paper { fill: #ffffff; }
.box { stroke-width: 1.2; fill: #dfe9f7; stroke: #3b5f8f; }
.leaf .box { fill: #dcefdd; stroke: #2f6b3a; }
.result .box { fill: #fdebcf; stroke: #9a5b00; stroke-width: 2; }
.again .box { fill: #ffffff; stroke: #6a7280; stroke-dasharray: 4 3; }
.edge { fill: none; stroke: #6a7280; stroke-width: 1.2; }
.tip { fill: #6a7280; }
.small { font-size: 10px; fill: #4a515c; stroke: #ffffff; stroke-width: 3px; paint-order: stroke; }
@media (prefers-color-scheme: dark) {
text { fill: #eef1f5; }
.grad { fill: #ffb68f; }
.paper { fill: #14171c; }
.box { fill: #22344e; stroke: #7fa8dc; }
.leaf .box { fill: #203c27; stroke: #7cc48d; }
.result .box { fill: #4a3510; stroke: #e0aa4e; }
.again .box { fill: #14171c; stroke: #99a1ae; }
.edge { stroke: #99a1ae; }
.tip { fill: #99a1ae; }
.small { fill: #b9c0cb; stroke: #14171c; }
}
"""


def graph_svg(explanation: Explanation, *, values: bool = False, grads: bool = False, prefix: str = "") -> str:
    """The picture; inputs above, the result below. `prefix` goes before every id, for pages with several pictures."""
    steps = explanation.steps
    texts, drawing = arranged(explanation, values, grads)
    boxes = drawing.boxes[: len(steps)]
    notes = explanation.notes[:8]
    wide = max([drawing.width, *(width(note) * _CHARACTER + 32 for note in notes)])
    high = drawing.height + (len(notes) * LINE + 8 if notes else 0)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}" role="img" '
        'xml:space="preserve">',
        f"<title>{markup(explanation.text[:300])}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{wide:.0f}" height="{high:.0f}"/>',
        *(_edge(edge) for edge in drawing.edges),
        *(_node(step, lines, box, i, prefix) for i, (step, lines, box) in enumerate(zip(steps, texts, boxes, strict=True))),
        *(_again(steps[box.of].name, box, prefix) for box in drawing.boxes[len(steps) :]),
        *(_text(escape(note), 16, drawing.height + (i + 0.7) * LINE, "body") for i, note in enumerate(notes)),
        "</svg>",
    ]
    return "\n".join(out) + "\n"


def arranged(explanation: Explanation, values: bool, grads: bool) -> tuple[list[list[str]], Drawing]:
    """The lines of each step's box, and where boxes and edges go; all sizes are in pixels."""
    steps = explanation.steps
    brief = len(steps) > _DETAILED
    texts = [_lines(step, values, grads, brief) for step in steps]
    places = {step.name: i for i, step in enumerate(steps)}
    named = [(i, link.name, base(link.name)) for i, step in enumerate(steps) for link in step.inputs]
    links = [(places[name], i, full[len(name) :]) for i, full, name in named if name in places]
    numbered = Counter(end for _, end, number in links if number)
    boxes = [Box(*_size(lines, numbered[i]), is_leaf=step.is_leaf) for i, (step, lines) in enumerate(zip(steps, texts, strict=True))]
    return texts, arrange(boxes, links, lambda i: _size([steps[i].name]))


def _lines(step: StepResult, values: bool, grads: bool, brief: bool) -> list[str]:
    lines = label(step, values=values, grads=grads)
    return lines[:1] if brief else lines


def _size(lines: list[str], numbered: int = 0) -> tuple[float, float]:
    """Width and height of a box with these lines, which `numbered` edges with output numbers reach."""
    room = min(numbered, 16) * NUMBERED + 2 * PAD_X if numbered > 1 else 0.0
    return max(max(map(width, lines)) * _CHARACTER + 2 * PAD_X, room), len(lines) * LINE + 2 * PAD_Y


def _text(line: str, x: float, y: float, look: str) -> str:
    wide = width(line) * _CHARACTER
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs">{markup(line)}</text>'


def _rectangle(box: Box, round_: float) -> str:
    return (
        f'<rect class="box" x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{round_}"/>'
    )


def _node(step: StepResult, lines: list[str], box: Box, index: int, prefix: str) -> str:
    look = kind(step, index == 0)
    top = box.y - box.height / 2 + PAD_Y + LINE * 0.76
    parts = [f'<g id="{prefix}n{markup(step.name.removeprefix("#"))}" class="{look}">']
    parts.append(f"<title>{markup(_told(step))}</title>")
    parts.append(_rectangle(box, 12 if step.is_leaf else 4))
    for i, line in enumerate(lines):
        role = "head" if i == 0 else "grad" if "grad " in line[:8] else "body"
        parts.append(_text(line, box.x - box.width / 2 + PAD_X, top + i * LINE, role))
    return "".join([*parts, "</g>"])


def _told(step: StepResult) -> str:
    """The tooltip: the whole text, and the formulas of the gradients."""
    lines = [f"{step.name} {step.grad_fn}: {titled(step)}"]
    for made in step.outputs[:4]:
        if made.came:
            lines.append(f"grad({made.name}) = {made.came}")
    return "; ".join(lines)


def _again(name: str, box: Box, prefix: str) -> str:
    """A small box that stands for a node elsewhere and links to it."""
    text = _text(name, box.x - box.width / 2 + PAD_X, box.y + LINE * 0.26, "body")
    return f'<a href="#{prefix}n{markup(name.removeprefix("#"))}"><g class="again">{_rectangle(box, 12)}{text}</g></a>'


def _edge(edge: Edge) -> str:
    """A curve along the way of an edge, with a tip, and the number of the output beside that."""
    way = edge.way
    x, y = way[0]
    path = f"M{x:.1f} {y:.1f}"
    for a, b in pairwise(way):
        if a[0] == b[0]:
            path += f"V{b[1]:.1f}"
        else:
            middle = (a[1] + b[1]) / 2
            path += f"C{a[0]:.1f} {middle:.1f} {b[0]:.1f} {middle:.1f} {b[0]:.1f} {b[1]:.1f}"
    x, y = way[-1]
    tip = f'<path class="tip" d="M{x:.1f} {y:.1f}l-3.5 -7h7z"/>'
    number = f'<text class="small" x="{x + 5:.1f}" y="{y - 5:.1f}">{markup(edge.number)}</text>' if edge.number else ""
    return f'<path class="edge" d="{path}"/>{tip}{number}'
