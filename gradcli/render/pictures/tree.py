"""A graph as a tree of text: the result first, what it was made of below; shared steps once."""

from __future__ import annotations

from gradcli.render.colour import paint
from gradcli.render.escape import escape, width
from gradcli.render.explain import notes, shortened, titled
from gradcli.render.pictures.node_labels import base
from gradcli.results.explanations import Explanation, StepResult
from gradcli.results.values import TensorValue

#: branches below this depth go on at the left margin
_DEEPEST = 24
#: longer values are cut
_LONGEST = 48
#: values and gradients begin in this column at the latest, where the line is not longer
_COLUMN = 72


def graph_tree(
    explanation: Explanation, *, values: bool = False, grads: bool = False, colour: bool = False, columns: int | None = None
) -> str:
    """The tree, with values and gradients where they are wanted, and the notes below. No line is longer than `columns`."""
    steps = {step.name: step for step in explanation.steps}
    lines: list[tuple[str, str, str, str]] = []
    drawn: set[str] = set()
    roots = [explanation.steps[0].name]
    while roots:
        # children are pushed in reverse, so that the first is drawn first
        stack = [(roots.pop(), "", "", 0)]
        while stack:
            name, lead, below, depth = stack.pop()
            step = steps.get(base(name))
            if step is None:
                lines.append((lead, name, "(left out)", ""))
                continue
            again = step.name in drawn
            lines.append((lead, *_described(step, name, again, values, grads)))
            if again:
                continue
            drawn.add(step.name)
            if depth >= _DEEPEST and step.inputs:
                further = [link.name for link in step.inputs if base(link.name) not in drawn]
                if further:
                    lines.append((below + "`-- ", "", f"goes on below: {', '.join(further)}", ""))
                    roots += reversed(further)
                continue
            for k in range(len(step.inputs) - 1, -1, -1):
                last = k == len(step.inputs) - 1
                stack.append((step.inputs[k].name, below + ("`-- " if last else "|-- "), below + ("    " if last else "|   "), depth + 1))
    return _aligned(lines, colour, columns or 10**6) + notes(explanation)


def _described(step: StepResult, name: str, again: bool, values: bool, grads: bool) -> tuple[str, str, str]:
    """The grad_fn, the text, and value and gradient."""
    if again:
        return step.grad_fn, f"{escape(name)}, drawn above", ""
    text = name if step.is_leaf else f"{name}: {shortened(titled(step))}"
    made = next((one for one in step.outputs if one.name == name), step.outputs[0])
    shape = f"  {made.shape}" if made.shape else ""
    about = []
    if values and made.value is not None:
        about.append(f"= {_short(made.value)}")
    if grads and made.gradient is not None:
        about.append(f"grad {_short(made.gradient)}")
    return step.grad_fn, escape(text) + shape, "  ".join(about)


def _short(value: TensorValue) -> str:
    text = escape(" ".join(value.cell().split()))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _cut(text: str, room: int) -> str:
    """What there is room for; nothing where that would tell nothing."""
    if width(text) <= room:
        return text
    while text and width(text) > room - 3:
        text = text[:-1]
    return f"{text}..." if len(text) > 3 else ""


def _parts(about: str) -> list[str]:
    """Value and gradient apart."""
    value, between, gradient = about.partition("  grad ")
    return [value, f"grad {gradient}"] if between else [about]


def _aligned(lines: list[tuple[str, str, str, str]], colour: bool, columns: int) -> str:
    """Value and gradient begin in one column, unless a line is far longer than the others."""
    lines = [
        (lead, grad_fn, _cut(text, columns - width(lead) - (len(grad_fn) + 2 if grad_fn else 0)), about)
        for lead, grad_fn, text, about in lines
    ]
    heads = [f"{lead}{grad_fn}  {text}" if grad_fn else f"{lead}{text}" for lead, grad_fn, text, _ in lines]
    lengths = sorted(width(head) for head, (*_, about) in zip(heads, lines, strict=True) if about)
    column = min(lengths[-1], lengths[len(lengths) * 9 // 10] + 8, _COLUMN, max(columns - 30, 0)) if lengths else 0
    out = []
    for head, (lead, grad_fn, text, about) in zip(heads, lines, strict=True):
        name = f"{paint(grad_fn, 'heading', colour)}  " if grad_fn else ""
        painted = f"{paint(lead, 'dim', colour)}{name}{text}"
        gap = " " * max(2, column + 2 - width(head)) if about else ""
        if about and width(head) + len(gap) + width(about) > columns:
            # below the step, beside what its inputs hang on
            below = lead.replace("|-- ", "|   ").replace("`-- ", "    ")
            out += [painted, *(f"{paint(below, 'dim', colour)}    {_cut(part, columns - len(below) - 4)}" for part in _parts(about))]
        else:
            out.append(f"{painted}{gap}{about}".rstrip())
    return "\n".join(out) + "\n"
