"""A graph as a tree of text: the result first, the inputs of every step below it; shared steps are drawn once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcli.plain import Plain
from gradcli.render.drawing.console import UNBOUNDED, draw
from gradcli.render.drawing.fields import NONFINITE
from gradcli.render.drawing.folding import cut, shortened
from gradcli.render.escape import escape, width
from gradcli.render.explain import notes, titled
from gradcli.render.look import PLAIN, Look
from gradcli.render.pictures.node_labels import base, numbers
from gradcli.results.explanations import Explanation, StepResult
from gradcli.results.values import TensorValue

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

#: deeper branches become trees of their own at the left margin; so do those that would leave a step fewer than `_HEAD` columns
_DEEPEST, _HEAD = 24, 44
#: the most characters of a value
_LONGEST = 48
#: the last column at which values are aligned; those of longer lines follow their line
_COLUMN = 72
#: columns of one level of the tree
_GUIDE = 4


class _Line(Plain):
    """A node of the tree, at its depth, with the parts of its label."""

    grad_fn: str
    text: str
    about: tuple[tuple[str, TensorValue], ...]
    node: Tree
    depth: int

    def within(self, columns: int) -> _Line:
        """The same node with its text cut to fit a terminal of `columns`."""
        return self.replace(text=cut(self.text, columns - _GUIDE * self.depth - (len(self.grad_fn) + 2 if self.grad_fn else 0)))

    @property
    def head(self) -> str:
        """The label without value and gradient."""
        return f"{self.grad_fn}  {self.text}" if self.grad_fn else self.text

    @property
    def length(self) -> int:
        """The columns that guides and head take."""
        return _GUIDE * self.depth + width(self.head)


def graph_tree(explanation: Explanation, look: Look = PLAIN, *, values: bool = False, grads: bool = False) -> str:
    """The tree with the notes below; `values` and `grads` add values and gradients. No line is longer than `look.columns`."""
    from rich.console import Group

    columns = look.columns or UNBOUNDED
    lines = _lines(explanation, values, grads, min(_DEEPEST, max((columns - _HEAD) // _GUIDE, 3)))
    lines = [line.within(columns) for line in lines]
    lengths = sorted(line.length for line in lines if line.about)
    column = min(lengths[-1], lengths[len(lengths) * 9 // 10] + 8, _COLUMN, max(columns - 30, 0)) if lengths else 0
    widest = 1
    for line in lines:
        line.node.label = label = _label(line, column, columns, look)
        widest = max(widest, *(_GUIDE * line.depth + width(part) for part in label.plain.split("\n")))
    return draw(Group(*(line.node for line in lines if not line.depth)), look, widest) + notes(explanation, look)


def _lines(explanation: Explanation, values: bool, grads: bool, deepest: int) -> list[_Line]:
    """The nodes of the trees in the order of their lines, without labels. What is below the depth `deepest` is a tree of its own."""
    from rich.tree import Tree

    steps = {step.name: step for step in explanation.steps}
    lines: list[_Line] = []
    drawn: set[str] = set()
    roots = [explanation.steps[0].name]

    def has_inputs(name: str) -> bool:
        return name in steps and bool(steps[name].inputs)

    while roots:
        root = roots.pop()
        # children are pushed in reverse, so that the first is drawn first
        stack: list[tuple[str, Tree | None, int]] = [] if base(root) in drawn else [(root, None, 0)]
        while stack:
            name, parent, depth = stack.pop()
            step = steps.get(base(name))
            node = Tree("", guide_style="dim") if parent is None else parent.add("")
            if step is None:
                lines.append(_Line(name, "(left out)", (), node, depth))
                continue
            again = step.name in drawn
            lines.append(_Line(*_described(step, name, again, values, grads), node, depth))
            if again:
                continue
            drawn.add(step.name)
            names = [link.name for link in step.inputs]
            # a leaf takes no more room than the line that refers to it
            further = [] if depth < deepest else [one for one in names if base(one) not in drawn and has_inputs(base(one))]
            stack += [(one, node, depth + 1) for one in reversed(names) if one not in further]
            if further := list(dict.fromkeys(further)):
                lines.append(_Line("", f"goes on below: {', '.join(further)}", (), node.add(""), depth + 1))
                roots += reversed(further)
    return lines


def _described(step: StepResult, name: str, again: bool, values: bool, grads: bool) -> tuple[str, str, tuple[tuple[str, TensorValue], ...]]:
    """The grad_fn, the text, and value and gradient of a step, of which the output `name` is drawn."""
    if again:
        return step.grad_fn, f"{escape(name)}, drawn above", ()
    text = name if step.is_leaf else f"{name}: {shortened(titled(step))}"
    made = next((one for one in step.outputs if one.name == name), step.outputs[0])
    shape = f"  {made.shape}" if made.shape else ""
    about = []
    if values and made.value is not None:
        about.append(("= ", made.value))
    if grads and made.gradient is not None:
        about.append(("grad ", made.gradient))
    return step.grad_fn, escape(text) + shape, tuple(about)


def _label(line: _Line, column: int, columns: int, look: Look) -> Text:
    """The label: value and gradient begin in `column` where they have room there, else behind the step, else below it."""
    from rich.text import Text

    label = Text(no_wrap=True, overflow="ignore").append(line.grad_fn, "grad_fn")
    label.append(line.head[len(line.grad_fn) :])
    room = columns - _GUIDE * line.depth - 4
    parts = [lead + numbers(value, min(_LONGEST, max(room - len(lead), 12))) for lead, value in line.about]
    about = width("  ".join(parts))
    gap = max(2, min(column + 2 - line.length, columns - line.length - about))
    if line.length + gap + about <= columns:
        before, between = " " * gap, "  "
    else:
        before, between = "\n    ", "  " if about <= room else "\n    "
    for i, part in enumerate(parts):
        label.append(between if i else before).append(part, "gradient" if part.startswith("grad ") else "")
    if line.about and look.colour:
        label.highlight_regex(NONFINITE, "nonfinite")
    return label
