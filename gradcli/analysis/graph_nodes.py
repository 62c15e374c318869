"""Every node of the graph behind a value, with the gradients that reach them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gradcli.analysis.recorder import Recorder, behind, walk_back
from gradcli.analysis.step_names import Show
from gradcli.core.autograd.walk import Capture
from gradcli.core.kernels import Array
from gradcli.core.tensor.node import AccumulateGrad, Node
from gradcli.core.tensor.tensor import Tensor, ones_like, wrap
from gradcli.errors import GradcliError, ProgramError
from gradcli.lang.syntax.nodes import origin_text
from gradcli.results.explanations import GraphNode, GraphNodes
from gradcli.results.values import TensorValue

#: at most so many nodes are shown, the newest
MOST = 500
#: a note on the gradients of a value that is no scalar
SUMMED = "gradients of the sum of this value, as it is no scalar"


def nodes_behind(tensor: Tensor, variables: Mapping[str, object], recorder: Recorder, show: Show) -> GraphNodes:
    """The nodes behind `tensor`, newest first, with the gradients of its sum. Freed nodes get their saved tensors back.

    Raises ProgramError for a tensor without a graph. Where the backward pass fails, leaves are shown with their `.grad`.
    """
    if not tensor.requires_grad:
        raise ProgramError("RuntimeError", "this value does not require grad and does not have a grad_fn")
    order = _reachable(tensor)
    named = {id(value.grad_fn or value.sink()): name for name, value in _tensors(variables) if value.requires_grad}
    recorder.learn([tensor, *(value for _, value in _tensors(variables))], order)
    recorder.revive(order)
    try:
        capture = walk_back(tensor, ones_like(tensor), _reachable(tensor))
        note = "" if tensor.array.size == 1 else SUMMED
    except GradcliError as error:
        capture = {}
        note = f"no gradients but the leaves' own .grad: {error.message.split('. ')[0]}"
    # numbered as in explanations: in the order in which they ran, leaves apart
    steps = [node for node in order if not isinstance(node, AccumulateGrad)]
    leaves = [node for node in order if isinstance(node, AccumulateGrad)]
    names = {node: f"#{len(steps) - i}" for i, node in enumerate(steps)} | {node: f"leaf{i + 1}" for i, node in enumerate(leaves)}
    rows = [_row(named.get(id(node), names[node]), node, recorder, capture, show) for node in order[:MOST]]
    if len(order) > MOST:
        note = f"the newest {MOST} of {len(order):,} nodes. {note}"
    return GraphNodes(tuple(rows), note.strip())


def _tensors(variables: Mapping[str, object]) -> Iterable[tuple[str, Tensor]]:
    return ((name, value) for name, value in variables.items() if type(value) is Tensor)


def _reachable(tensor: Tensor) -> list[Node]:
    """The nodes behind a tensor, newest first, the leaves after all others."""
    root = tensor.edge()[0]
    order = [] if root is None else behind(root)
    steps = [node for node in order if not isinstance(node, AccumulateGrad)]
    return [*reversed(steps), *order[len(steps) :]]


def _row(name: str, node: Node, recorder: Recorder, capture: Capture, show: Show) -> GraphNode:
    is_leaf = isinstance(node, AccumulateGrad)
    values = recorder.values(node)
    value = wrap(values[0], node.meta(0)[1]) if values else None
    text = origin_text(node.origin)
    expression = "leaf" if is_leaf else f"in the gradient of {text}" if recorder.is_derived(node) else text
    gradients: tuple[TensorValue | None, ...]
    if node in capture:
        gradients = tuple(_shown(array, node.meta(k)[1], show) for k, array in enumerate(capture[node]))
    elif isinstance(node, AccumulateGrad) and node.variable.grad is not None:
        gradients = (show(node.variable.grad),)
    else:
        gradients = (None,)
    shape = node.meta(0)[0]
    return GraphNode(name, expression, node.type_name, str(tuple(shape)), None if value is None else show(value), gradients)


def _shown(array: Array | None, dtype: Any, show: Show) -> TensorValue | None:
    return None if array is None else show(wrap(array, dtype))
