"""A recorder of steps: it keeps their values and saved tensors for explanations.

Small arrays are copied, so that they outlive in-place writes and backward passes of the program. The recorder refers to nodes
weakly, so that during a long loop it keeps no more nodes alive than the program does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet, ref

import numpy as np

from gradcli.core.autograd import backward
from gradcli.core.autograd.walk import Capture
from gradcli.core.graph.in_place import CopySlices
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.saved_arrays import Saved
from gradcli.core.kernels import Array
from gradcli.core.tensor.node import AccumulateGrad, Node
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap

#: arrays of at most so many elements are copied; larger ones are shared with the program
COPIED = 4096


class Kept(NamedTuple):
    """The values of a step, and what it saved for its derivative: as arrays, since tensors would keep their node alive."""

    values: tuple[Array, ...]
    saved: list[Any] | None = None
    outs: list[Saved] | None = None
    #: weak references to the tensors that `saved` has copies of
    sources: tuple[ref[Tensor] | None, ...] = ()


class Recorder(list[tuple[Node, tuple[Tensor, ...]]]):
    """As `state.watch` it gets every recorded step by `append`. As a list it stays empty."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: WeakKeyDictionary[Node, Kept] = WeakKeyDictionary()
        #: leaves when they were used last: the identity of the array, its version, and its values then
        self._leaves: WeakKeyDictionary[Node, tuple[int, int, Array]] = WeakKeyDictionary()
        self._pending: tuple[Node, tuple[Tensor, ...], Any, Any] | None = None
        #: steps that backward passes have made; their origins are those of the steps that were being differentiated
        self._derived: WeakSet[Node] = WeakSet()

    def append(self, step: tuple[Node, tuple[Tensor, ...]]) -> None:
        """Take a step. Its values are copied when the next step comes, since an in-place operation writes after it is recorded."""
        self._settle()
        # a backward pass may free the node before the next step comes: its saved tensors are held here
        node = step[0]
        if state.walks:
            self._derived.add(node)
        self._pending = (*step, node.saved, node.kept_out) if isinstance(node, OpNode) else (*step, None, None)
        for parent, _ in node.edges:
            if isinstance(parent, AccumulateGrad):
                array, version = parent.variable.array, parent.variable.version_number
                known = self._leaves.get(parent)
                if known is None or known[:2] != (id(array), version):  # a training loop writes to it between its uses
                    self._leaves[parent] = (id(array), version, _copy(array))

    def _settle(self) -> None:
        if self._pending is None:
            return
        node, outs, saved, kept_out = self._pending
        self._pending = None
        sources: tuple[ref[Tensor] | None, ...] = ()
        if saved is not None:
            sources = tuple([ref(value) if type(value) is Tensor else None for value in saved])
            saved = [_copy_tensor(value) if type(value) is Tensor else value for value in saved]
        if kept_out is not None:
            kept_out = list(map(_copy_saved, kept_out))
        self._kept[node] = Kept(tuple(_copy(out.array) for out in outs), saved, kept_out, sources)

    def is_derived(self, node: Node) -> bool:
        """Whether a backward pass with create_graph made the step."""
        return node in self._derived

    def values(self, node: Node) -> tuple[Array, ...]:
        """The values of a step, one array for each output; empty where they are not known."""
        self._settle()
        if isinstance(node, AccumulateGrad):
            known = self._leaves.get(node)
            return (np.asarray(node.variable.array) if known is None else known[2],)
        found = self._kept.get(node)
        return () if found is None else found.values

    def saved(self, node: OpNode) -> list[Any]:
        """The inputs that a step saved for its derivative, with None for the others."""
        if node.saved is not None and type(node) is OpNode:  # nodes of other types hold the values that hooks packed
            return node.saved
        found = self._kept.get(node)
        return [] if found is None or found.saved is None else found.saved

    def source(self, node: OpNode, index: int) -> Tensor | None:
        """The tensor that a step saved as input `index`, where it is still alive; else None."""
        found = self._kept.get(node)
        reference = None if found is None or index >= len(found.sources) else found.sources[index]
        return None if reference is None else reference()

    def revive(self, nodes: Iterable[Node]) -> None:
        """Give nodes that a backward pass has freed their saved tensors back."""
        self._settle()
        for node in nodes:
            step = node.inner if isinstance(node, CopySlices) else node
            if not isinstance(step, OpNode) or not step.freed:
                continue
            found = self._kept.get(step)
            if found is not None:
                step.saved, step.versions, step.kept_out, step.freed = found.saved, None, found.outs, False

    def learn(self, tensors: Iterable[Tensor], order: Iterable[Node]) -> None:
        """For steps that were not recorded, take the values from `tensors` and from saved tensors of the nodes in `order`."""
        self._settle()
        at_hand = list(tensors)
        for node in order:
            if isinstance(node, OpNode):
                for out in node.kept_out or ():
                    if isinstance(out, Saved) and out.number == 0 and node not in self._kept:
                        self._kept[node] = Kept((out.array,))
                at_hand += [value for value in node.saved or () if type(value) is Tensor]
        for tensor in at_hand:
            if tensor.node is not None and tensor.output_nr == 0 and tensor.node not in self._kept:
                self._kept[tensor.node] = Kept((np.asarray(tensor.array),))


@contextmanager
def recorded(recorder: Recorder | None) -> Iterator[None]:
    """A block whose steps go to `recorder`, or to no recorder for None."""
    before = state.watch, state.observed
    try:
        state.set_watch(recorder)
        yield
    finally:
        state.watch, state.observed = before  # assigned directly: there might be no memory for a call


def present() -> Recorder:
    """The active recorder, as at the prompt, which records everything; else a new one."""
    return state.watch if isinstance(state.watch, Recorder) else Recorder()


def _copy(array: Array) -> Array:
    array = np.asarray(array)
    return array.copy() if array.size <= COPIED else array


def _copy_tensor(tensor: Tensor) -> Tensor:
    if tensor.array.size > COPIED:
        return tensor
    return wrap(np.array(tensor.array), tensor.dtype)


def _copy_saved(saved: Saved) -> Saved:
    return Saved(wrap(_copy(saved.array), saved.dtype), saved.number)


def behind(root: Node) -> list[Node]:
    """The nodes behind a node, and the node itself, in the order of their creation; then the leaves, in the order of their first use."""
    seen: set[Node] = {root}
    stack = [root]
    while stack:
        for node, _ in stack.pop().edges:
            if node is not None and node not in seen:
                seen.add(node)
                stack.append(node)
    steps = sorted((node for node in seen if not isinstance(node, AccumulateGrad)), key=lambda node: node.sequence)
    leaves = dict.fromkeys(node for step in steps for node, _ in step.edges if isinstance(node, AccumulateGrad))
    return [*steps, *leaves] if steps else [root]


def walk_back(out: Tensor, weight: Tensor | None, nodes: Iterable[Node]) -> Capture:
    """The gradients that reach each node in a backward pass. The tensors keep their `.grad`, and the graph is not freed.

    Raises what backward raises.
    """
    holders: list[Tensor] = []
    for node in nodes:
        if isinstance(node, AccumulateGrad):
            holders.append(node.variable)
        holders += (node.retained or {}).values()
    before = [(holder, holder.grad) for holder in holders]
    for holder in holders:
        holder.grad = None
    capture: Capture = {}
    try:
        backward.backward([out], [weight], retain_graph=True, capture=capture)
    finally:
        for holder, grad in before:
            holder.grad = grad
    return capture


def contributions(node: Node, capture: Capture) -> list[Array | None] | None:
    """The gradients that the node's rules compute for its inputs, as arrays, before broadcasting is undone.

    None for a node that no gradient reached. Raises what the rules raise.
    """
    grads = capture.get(node)
    if grads is None or not any(g is not None for g in grads):
        return None
    found = node.gradients(list(grads), False, [edge[0] is not None for edge in node.edges])
    return [None if value is None else np.asarray(value.array if type(value) is Tensor else value) for value in found]
