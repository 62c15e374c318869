"""Every node of the graph behind a value, with the gradients that reach them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gradcli.core import engine
from gradcli.core.graph import AccumulateGrad, Node
from gradcli.core.record import OpNode
from gradcli.core.tensor import Array, Tensor, wrap
from gradcli.errors import GradcliError, ProgramError
from gradcli.lang import syntax
from gradcli.results import GraphNode, GraphNodes, TensorValue

#: more nodes than this are not shown
MOST = 500

Show = Callable[[Tensor], TensorValue]


def nodes_behind(tensor: Tensor, variables: dict[str, Any], show: Show) -> GraphNodes:
    """The nodes behind `tensor`, newest first. Gradients are those of its sum; `.grad` of the leaves where the graph is freed.

    Raises ProgramError for a tensor without a graph.
    """
    if not tensor.requires_grad:
        raise ProgramError("RuntimeError", "this value does not require grad and does not have a grad_fn")
    order = _reachable(tensor)
    named = {id(value.grad_fn or value.sink()): name for name, value in _tensors(variables) if value.requires_grad}
    known = _known_values(order, [value for _, value in _tensors(variables)] + [tensor])
    try:
        capture = _gradients(tensor)
        weights = "" if tensor.array.size == 1 else " (of its sum, as it is no scalar)"
        note = f"gradients of this value{weights}; .grad of the leaves is as it was"
    except GradcliError as error:
        capture = {}
        note = f"{error.message.split('. ')[0]}; the leaves show their .grad"
    rows = [_row(number, node, named, known, capture, show) for number, node in enumerate(order[:MOST])]
    if len(order) > MOST:
        note = f"the newest {MOST} of {len(order):,} nodes; {note}"
    return GraphNodes(tuple(rows), note)


def _tensors(variables: dict[str, Any]) -> Iterable[tuple[str, Tensor]]:
    return ((name, value) for name, value in variables.items() if type(value) is Tensor)


def _reachable(tensor: Tensor) -> list[Node]:
    """The nodes behind a tensor, newest first, the leaves after all others."""
    root = tensor.edge()[0]
    seen: set[Node] = set()
    stack = [] if root is None else [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += [parent for parent, _ in node.edges if parent is not None]
    return sorted(seen, key=lambda node: (isinstance(node, AccumulateGrad), -node.sequence))


def _gradients(tensor: Tensor) -> engine.Capture:
    """What a backward walk would send to every node; the leaves' own gradients are put back, and the graph stays."""
    leaves = [node.variable for node in _reachable(tensor) if isinstance(node, AccumulateGrad)]
    before = [(leaf, leaf.grad) for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    capture: engine.Capture = {}
    try:
        engine.backward([tensor], [wrap(np.ones(tensor.array.shape, tensor.dtype.np), tensor.dtype)], retain_graph=True, capture=capture)
    finally:
        for leaf, grad in before:
            leaf.grad = grad
    return capture


def _known_values(order: list[Node], tensors: list[Tensor]) -> dict[tuple[int, int], Tensor]:
    """Values that are still at hand, by node and output: of names, of leaves, and what nodes saved for their derivatives."""
    known: dict[tuple[int, int], Tensor] = {}
    for node in order:
        if isinstance(node, AccumulateGrad):
            known[id(node), 0] = node.variable
        elif isinstance(node, OpNode):
            for kept in node.kept_out or ():
                known[id(node), kept.number] = wrap(kept.array, kept.dtype)
            tensors = [*tensors, *(value for value in node.saved or () if type(value) is Tensor)]
    for value in tensors:
        if value.node is not None:
            known.setdefault((id(value.node), value.output_nr), value)
    return known


def _row(
    number: int,
    node: Node,
    named: dict[int, str],
    known: dict[tuple[int, int], Tensor],
    capture: engine.Capture,
    show: Show,
) -> GraphNode:
    is_leaf = isinstance(node, AccumulateGrad)
    value = known.get((id(node), 0))
    expression = "leaf" if is_leaf else _text(node)
    gradients: tuple[TensorValue | None, ...]
    if node in capture:
        gradients = tuple(_shown(array, node.meta(k)[1], show) for k, array in enumerate(capture[node]))
    elif isinstance(node, AccumulateGrad) and node.variable.grad is not None:
        gradients = (show(node.variable.grad),)
    else:
        gradients = (None,)
    shape = node.meta(0)[0]
    return GraphNode(
        named.get(id(node), f"#{number}"), expression, node.type_name, str(tuple(shape)), None if value is None else show(value), gradients
    )


def _shown(array: Array | None, dtype: Any, show: Show) -> TensorValue | None:
    return None if array is None else show(wrap(array, dtype))


def _text(node: Node) -> str:
    """The text that made a node, on one line."""
    origin = node.origin
    return " ".join(origin.text.split()) if isinstance(origin, syntax.Node) else ""
