"""An explanation as a derivation: a LaTeX document with amsmath, forward and backward."""

from __future__ import annotations

import re

from gradcli.results.explanations import Explanation, Made, StepResult

_HEAD = r"""\documentclass{article}
\usepackage{amsmath,amssymb}
\usepackage[a4paper,landscape,margin=15mm]{geometry}
\setcounter{MaxMatrixCols}{40}
\allowdisplaybreaks
\begin{document}
"""


def derivation(explanation: Explanation) -> str:
    """Every step with its value, then every gradient with how it came and its value; values of small tensors only."""
    steps = [step for step in reversed(explanation.steps) if not step.is_leaf]
    out = [_HEAD, r"\section*{Forward}", "\n", r"\begin{align*}", "\n"]
    lines = [_given(step) for step in explanation.steps if step.is_leaf]
    lines += [_computed(step, made) for step in steps for made in step.outputs]
    out += [_BREAK.join(lines), "\n", r"\end{align*}", "\n", r"\section*{Backward}", "\n"]
    out.append(r"Here \(\bar v\) is the gradient of \(v\), and \(\odot\) multiplies elementwise." + "\n")
    gradients = _BREAK.join(_gradient(made) for step in explanation.steps for made in step.outputs)
    if r"\#" in gradients:
        out.append(r"In words, \#\(k\) is \(v_k\), and grad(\#\(k\)) is \(\bar v_k\)." + "\n")
    out += [r"\begin{align*}", "\n", gradients]
    out += ["\n", r"\end{align*}", "\n", r"\end{document}", "\n"]
    return "".join(out)


_BREAK = " \\\\\n"
#: a row has room for this many characters
_ROW = 110
_COMMAND = re.compile(r"\\[A-Za-z]+|[{}\\]")


def _given(step: StepResult) -> str:
    made = step.outputs[0]
    return f"{made.name_latex} &= {made.value_latex or _shape(made)}"


def _computed(step: StepResult, made: Made) -> str:
    value = f"= {made.value_latex}" if made.value_latex else rf"\in {_shape(made)}"
    return f"{made.name_latex} &= {_joined(step.expression_latex, value)}"


def _gradient(made: Made) -> str:
    came = "" if made.gradient is None and not made.came_latex else made.came_latex
    value = f"= {made.gradient_latex}" if made.gradient_latex else ""
    if not came:
        return rf"{made.barred_latex} &= \text{{none}}"
    return f"{made.barred_latex} &= {_joined(came, value)}"


def _joined(formula: str, value: str) -> str:
    """Formula and value in one row, or in two where they are too long for one."""
    room = len(_COMMAND.sub("", formula)) + len(_COMMAND.sub("", value)) <= _ROW and _BREAK not in formula
    return f"{formula} {value}".rstrip() if room or not value else f"{formula}{_BREAK}  &{value}"


def _shape(made: Made) -> str:
    sizes = r" \times ".join(map(str, made.shape))
    return rf"\mathbb{{R}}^{{{sizes}}}" if re.search(r"\d", sizes) else r"\mathbb{R}"
