"""What a node of a drawn graph says, the same in every picture format."""

from __future__ import annotations

from gradcli.render.drawing.folding import fold, shortened
from gradcli.render.escape import escape
from gradcli.render.explain import titled
from gradcli.results.explanations import Made, StepResult
from gradcli.results.values import TensorValue

#: the most characters of a step's text, of a line of it, and of a value
_TEXT, _LINE, _VALUE = 72, 40, 38
#: the most outputs that are listed in a node
_OUTPUTS = 5


def label(step: StepResult, *, values: bool, grads: bool) -> list[str]:
    """The lines of a node: what it is, its text, its shape, value and gradient."""
    lines = [step.name] if step.is_leaf else [f"{step.name}  {step.grad_fn}", *fold(shortened(titled(step), _TEXT), _LINE, 2).split("\n")]
    several = len(step.outputs) > 1
    shown = step.outputs if len(step.outputs) <= _OUTPUTS else step.outputs[: _OUTPUTS - 1]
    for made in shown:
        lines += _about(made, several, values, grads)
    if len(step.outputs) > len(shown):
        lines.append(f"and {len(step.outputs) - len(shown)} more outputs")
    return [escape(line) for line in lines]


def _about(made: Made, several: bool, values: bool, grads: bool) -> list[str]:
    head = made.name[made.name.index("[") :] + " " if several else ""
    lines = [f"{head}{made.shape}" if made.shape or several else "scalar"]
    if values and made.value is not None:
        lines.append(f"= {numbers(made.value)}")
    if grads and made.gradient is not None:
        lines.append(f"grad {numbers(made.gradient)}")
    return lines


def numbers(value: TensorValue, longest: int = _VALUE) -> str:
    """The numbers on one line of at most `longest` characters: the ends of a longer vector, the beginning of other tensors."""
    # four items at each end are more than there is room for in `longest`
    some: dict[str, float] = {"threshold": 0, "edgeitems": 4} if value.array.size > longest else {}
    edges: tuple[dict[str, float], ...] = tuple({"threshold": 0, "edgeitems": edge} for edge in (3, 2, 1) if value.array.ndim == 1)
    texts = (escape(" ".join(value.cell(**changes).split())) for changes in (some, *edges))
    first = next(texts)
    text = next((text for text in (first, *texts) if len(text) <= longest), first)
    return text if len(text) <= longest else f"{fold(text, longest - 4).partition(chr(10))[0]} ..."


def base(name: str) -> str:
    """The step of an output: `#3` for `#3[1]`."""
    return name.partition("[")[0] if name.startswith("#") else name


def kind(step: StepResult, is_result: bool) -> str:
    """How a node looks: "leaf", "result" or "step"."""
    return "leaf" if step.is_leaf else "result" if is_result else "step"
