"""A graph for Graphviz."""

from __future__ import annotations

from gradcli.render.escape import escape
from gradcli.render.pictures.node_labels import base, kind, label
from gradcli.results.explanations import Explanation

_LOOKS = {
    "leaf": 'shape=box, style="rounded,filled", fillcolor="#d7ecd9"',
    "result": 'shape=box, style=filled, fillcolor="#fde5c4", penwidth=2',
    "step": 'shape=box, style=filled, fillcolor="#dbe7f6"',
}


def graph_dot(explanation: Explanation, *, values: bool = False, grads: bool = False) -> str:
    """The graph in the DOT language, inputs above, the result below."""
    lines = [
        "digraph gradcli {",
        f"  label={_quoted(explanation.text if len(explanation.text) < 200 else '')};",
        '  node [fontname="monospace", fontsize=11, fontcolor="#111111"];',
        '  edge [color="#555555", fontname="monospace", fontsize=9];',
    ]
    known = {step.name for step in explanation.steps}
    for i, step in enumerate(explanation.steps):
        text = "\\n".join(_escaped(line) for line in label(step, values=values, grads=grads))
        lines.append(f'  {_quoted(step.name)} [label="{text}", {_LOOKS[kind(step, i == 0)]}];')
    for step in explanation.steps:
        for link in step.inputs:
            if base(link.name) in known:
                number = f" [label={_quoted(link.name[len(base(link.name)) :])}]" if link.name != base(link.name) else ""
                lines.append(f"  {_quoted(base(link.name))} -> {_quoted(step.name)}{number};")
    return "\n".join([*lines, *(f"  // {escape(' '.join(note.split()))}" for note in explanation.notes), "}"]) + "\n"


def _escaped(text: str) -> str:
    return escape(" ".join(text.split())).replace("\\", "\\\\").replace('"', '\\"')


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'
