"""Which step of an expression has a kink: the first whose outputs bend sharply though its inputs do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcli.analysis.recorder import Recorder, behind
from gradcli.analysis.step_names import Steps
from gradcli.core.graph.op_node import OpNode
from gradcli.core.kernels import Array
from gradcli.core.tensor.node import AccumulateGrad, Node
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.transforms.differences import along

#: evaluates the expression and returns its value with the recorded steps
Run = Callable[[], tuple[Tensor, Recorder]]

_STEP = 1e-5
#: a smooth step bends by f'' h^2, a kink by the gap of its slopes times h
_BEND = 1e-2


def find(run: Run, steps: Steps, tensor: Tensor, index: tuple[int, ...]) -> tuple[str, str]:
    """Words for the step that has a kink where the element `index` of a variable stands, and for the derivative chosen there.

    `steps` are the steps of an earlier run: their names and texts are told.
    """
    step = _STEP * max(abs(float(tensor.array[index])), 1.0)
    moved = along(tensor.array, index, lambda: _values(*run()))
    runs = [moved(distance) for distance in (-step, 0.0, step)]
    names = [[node.type_name for node, _ in run] for run in runs]
    if names[0] != names[1] or names[1] != names[2]:
        return "the text takes another branch here", ""
    order = [node for node in steps.order if not isinstance(node, AccumulateGrad)]
    for k, ((_, low), (node, here), (_, high)) in enumerate(zip(*runs, strict=True)):
        if any(_bends(a, b, c, step) for a, b, c in zip(low, here, high, strict=True)):
            own = order[k] if k < len(order) and order[k].type_name == node.type_name else None
            text = node.type_name if own is None else f"{steps.expression(own)} ({node.type_name})"
            return f"kink of {text}", _choice(node)
    return "kink", ""


def _values(out: Tensor, recorder: Recorder) -> list[tuple[Node, tuple[Array, ...]]]:
    root = out.edge()[0]
    order = [] if root is None else behind(root)
    return [(node, recorder.values(node)) for node in order if not isinstance(node, AccumulateGrad)]


def _bends(low: Array, here: Array, high: Array, step: float) -> bool:
    if not (low.shape == here.shape == high.shape) or here.dtype.kind != "f":
        return False
    bend = np.abs(high - 2 * here + low)
    size = np.maximum(np.abs(high - here), np.abs(here - low))
    with np.errstate(all="ignore"):
        return bool(np.any(np.isfinite(bend) & (bend > _BEND * np.maximum(size, 1e-3 * step))))


def _choice(node: Node) -> str:
    """The derivative that is chosen at the kink, in the words of the rules."""
    if not isinstance(node, OpNode):
        return ""
    found = dict.fromkeys(rule.note for rule in node.op.rules.values() if rule is not None and rule.note)
    return f"; chosen: {', '.join(found)}" if found else ""
