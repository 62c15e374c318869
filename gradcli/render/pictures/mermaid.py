"""A graph for Mermaid, as Markdown pages draw it."""

from __future__ import annotations

from gradcli.render.escape import escape
from gradcli.render.pictures.node_labels import base, kind, label
from gradcli.results.explanations import Explanation

_ENTITIES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\\": "#92;", "|": "#124;"}


def graph_mermaid(explanation: Explanation, *, values: bool = False, grads: bool = False) -> str:
    """A flowchart, inputs above, the result below."""
    lines = ["flowchart TD"]
    places = {step.name: f"n{i}" for i, step in enumerate(explanation.steps)}
    for i, step in enumerate(explanation.steps):
        text = "<br/>".join(_escaped(line) for line in label(step, values=values, grads=grads))
        look = kind(step, i == 0)
        brackets = ('(["', '"])') if look == "leaf" else ('["', '"]')
        lines.append(f"  {places[step.name]}{brackets[0]}{text}{brackets[1]}:::{look}")
    for step in explanation.steps:
        for link in step.inputs:
            if base(link.name) in places:
                number = link.name[len(base(link.name)) :]
                arrow = f'-->|"{_escaped(number)}"|' if number else "-->"
                lines.append(f"  {places[base(link.name)]} {arrow} {places[step.name]}")
    lines += [
        "  classDef leaf fill:#d7ecd9,stroke:#2f6b3a,color:#111",
        "  classDef step fill:#dbe7f6,stroke:#3b5f8f,color:#111",
        "  classDef result fill:#fde5c4,stroke:#9a5b00,color:#111,stroke-width:2px",
    ]
    lines += [f"  %% {escape(' '.join(note.split()))}" for note in explanation.notes]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return "".join(_ENTITIES.get(char, char) for char in text)
