"""Which step has a kink: the first whose outputs bend sharply though its inputs do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradcli.analysis.recording import Recorder, behind
from gradcli.core.graph.op_node import OpNode
from gradcli.core.tensor.node import AccumulateGrad, Node
from gradcli.core.tensor.tensor import Array, Tensor

if TYPE_CHECKING:
    from gradcli.analysis.check import Check

_STEP = 1e-5
#: a smooth step bends by f'' h^2, a kink by the gap of its slopes times h
_BEND = 1e-2


def find(check: Check, tensor: Tensor, index: tuple[int, ...]) -> tuple[str, str]:
    """Words for the step that has a kink where the variable stands, and for what is chosen there."""
    array = tensor.array
    value = array[index].copy()
    step = _STEP * max(abs(float(value)), 1.0)
    runs: list[list[tuple[Node, tuple[Array, ...]]]] = []
    alive = []  # the graphs, so that what was recorded stays
    try:
        for distance in (-step, 0.0, step):
            array[index] = value + distance
            out, recorder = check.run()
            alive.append(out)
            runs.append(_values(out, recorder))
    finally:
        array[index] = value
    names = [[node.type_name for node, _ in run] for run in runs]
    if names[0] != names[1] or names[1] != names[2]:
        return "the text takes another branch here", ""
    order = [node for node in check.steps.order if not isinstance(node, AccumulateGrad)]
    for k, ((_, low), (node, here), (_, high)) in enumerate(zip(*runs, strict=True)):
        if any(_bends(a, b, c, step) for a, b, c in zip(low, here, high, strict=True)):
            # the names and texts are those of the check's own graph, which has the same steps
            own = order[k] if k < len(order) and order[k].type_name == node.type_name else None
            text = node.type_name if own is None else f"{check.steps.expression(own)} ({node.type_name})"
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
    """What is chosen there, as the rules say."""
    if not isinstance(node, OpNode):
        return ""
    found = dict.fromkeys(rule.note for rule in node.op.rules.values() if rule is not None and rule.note)
    return f"; chosen: {', '.join(found)}" if found else ""
