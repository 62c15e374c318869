"""Steps as they are recorded: values, and what their derivatives need, kept for a look at them afterwards.

What a script frees or overwrites later is still there: small arrays are copied. Nodes are held weakly, so that a
recorder that watches a long loop keeps no more than the program itself does.
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
from gradcli.core.graph.op_node import OpNode, Saved
from gradcli.core.tensor.node import AccumulateGrad, Node, state
from gradcli.core.tensor.tensor import Array, Tensor, wrap

#: arrays up to this many elements are copied, larger ones are shared with the program
COPIED = 4096


class Kept(NamedTuple):
    """What a step made, and what it keeps for its derivative. Arrays: tensors would hold their node."""

    values: tuple[Array, ...]
    saved: list[Any] | None = None
    outs: list[Saved] | None = None
    #: the tensors that `saved` has copies of, as long as they live
    sources: tuple[ref[Tensor] | None, ...] = ()


class Recorder(list[tuple[Node, tuple[Tensor, ...]]]):
    """Stands in `state.watch`: gets every recorded step. Always empty as a list."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: WeakKeyDictionary[Node, Kept] = WeakKeyDictionary()
        #: values of leaves when they were used last: identity of the array, its version, the values then
        self._leaves: WeakKeyDictionary[Node, tuple[int, int, Array]] = WeakKeyDictionary()
        self._pending: tuple[Node, tuple[Tensor, ...], Any, Any] | None = None
        #: steps that backward walks have made: they bear the text of the step that the walk was at
        self._derived: WeakSet[Node] = WeakSet()

    def append(self, step: tuple[Node, tuple[Tensor, ...]]) -> None:
        """Take a step. Its values are copied when the next one comes: an in-place operation writes after it is recorded."""
        self._settle()
        # a walk may free the node before the next step comes: what it keeps is held here
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
        """Whether a backward walk has made the step, with create_graph."""
        return node in self._derived

    def values(self, node: Node) -> tuple[Array, ...]:
        """What a step made, one array for each output; empty where it is not known."""
        self._settle()
        if isinstance(node, AccumulateGrad):
            known = self._leaves.get(node)
            return (np.asarray(node.variable.array) if known is None else known[2],)
        found = self._kept.get(node)
        return () if found is None else found.values

    def saved(self, node: OpNode) -> list[Any]:
        """The inputs that a step keeps for its derivative, None for the others."""
        if node.saved is not None and type(node) is OpNode:  # of others hooks have what they keep
            return node.saved
        found = self._kept.get(node)
        return [] if found is None or found.saved is None else found.saved

    def source(self, node: OpNode, index: int) -> Tensor | None:
        """The tensor itself that a step keeps as its input `index`, if it is still there."""
        found = self._kept.get(node)
        reference = None if found is None or index >= len(found.sources) else found.sources[index]
        return None if reference is None else reference()

    def revive(self, nodes: Iterable[Node]) -> None:
        """Give nodes that a backward walk has freed back what they kept."""
        self._settle()
        for node in nodes:
            step = node.inner if isinstance(node, CopySlices) else node
            if not isinstance(step, OpNode) or not step.freed:
                continue
            found = self._kept.get(step)
            if found is not None:
                step.saved, step.versions, step.kept_out, step.freed = found.saved, None, found.outs, False

    def learn(self, tensors: Iterable[Tensor], order: Iterable[Node]) -> None:
        """Where nothing was recorded: take the values that tensors and saved arrays still have."""
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
    """A block whose steps go to `recorder`; to none for None."""
    before = state.watch, state.observed
    try:
        state.set_watch(recorder)
        yield
    finally:
        state.watch, state.observed = before  # without a call, for which there might be no memory


def present() -> Recorder:
    """The recorder that steps go to now, as at the prompt, which records everything; else a new one."""
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
    """The nodes behind a node and itself, in the order in which they were made; then the leaves, in that of their first use."""
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
    """What backward sends to every node. The gradients that tensors hold stay as they were, and so does the graph.

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


def contributions(node: Node, capture: Capture) -> list[Any] | None:
    """What the node's own rules make of the gradients that reached it: arrays by input, before broadcasting is undone.

    None where they cannot be run once more.
    """
    grads = capture.get(node)
    if grads is None or not any(g is not None for g in grads):
        return None
    found = node.gradients(list(grads), False, [edge[0] is not None for edge in node.edges])
    return [None if value is None else np.asarray(value.array if type(value) is Tensor else value) for value in found]
