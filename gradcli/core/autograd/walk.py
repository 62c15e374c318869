"""One iterative walk over the graph, newest node first, as PyTorch's engine orders it.

Gradients travel as arrays; with `create_graph` they travel as tensors and the rules record. Here, and only here, a
gradient is reduced to the shape and dtype of what it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from gradcli.core.graph import namespaces
from gradcli.core.graph.accumulation import accumulate, call_after_accumulation
from gradcli.core.graph.op_node import LeaveFastPath, OpNode
from gradcli.core.kernels import Array, broadcasts_to, memory_format
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import (
    AFTER,
    BEFORE,
    DETACHED,
    AccumulateGrad,
    Edge,
    Node,
    count_consumers,
    freed_error,
    leading_to,
    members,
    misfit_error,
    reachable,
)
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import GradcliError, runtime_error

#: gradients that a caller wants to see: node -> list per output, filled as the walk goes
Capture = dict[Node, list[Any]]

#: gradients of up to so many elements take the fast path
_SMALL = 1 << 12

#: the `wanted` of a node with up to so many edges if all of its gradients are wanted
_EVERY = (True,) * 16


class Walk:
    """One backward pass."""

    __slots__ = (
        *("__weakref__", "buffers", "capture", "capturing", "folded", "found", "keep", "needed", "order", "origin", "recorded", "root"),
        *("simple", "targets", "traced", "waiting"),
    )

    #: the walk that is under way
    running: ClassVar[Walk | None] = None

    def __init__(self, keep: bool, recorded: bool, capture: Capture | None) -> None:
        self.keep = keep
        self.recorded = recorded
        #: gradients travel as tensors, to be recorded or to have tangents
        self.traced = recorded or bool(state.mapped) or (state.dual is not None and capture is None)
        self.capture = capture
        #: gradients that have arrived: the sum for nodes with one output, else a list with one place per output
        self.buffers: dict[Node, Any] = {}
        #: accumulators, with the number of consumers that have not run yet
        self.waiting: dict[Node, int] = {}
        self.targets: Sequence[Edge] | None = None
        #: the gradients of the targets are to be returned, by autograd.grad
        self.capturing = False
        #: the gradients that reached the targets
        self.found: list[Any] = []
        #: with targets: whether the gradient of one passes through a node
        self.needed: dict[Node, bool] | None = None
        #: the folded nodes that are still to be visited, with the number of nodes that they stand for
        self.folded: dict[Node, int] = {}
        #: the only node that the walk starts from, which PyTorch does not count as one that it comes to
        self.root: Node | None = None
        #: there is neither a capture nor a target
        self.simple = capture is None

    def run(self, edges: Sequence[Edge], grads: Sequence[Tensor], targets: Sequence[Edge] | None = None) -> list[Any]:
        """Walk from `edges`. With `targets`, nothing is accumulated and the gradients that reach them are returned."""
        if self.capture is None:
            for gradient in grads:
                if gradient.dtype.itemsize == 2:
                    self.traced = True  # each operation of a rule rounds in half precision; on arrays it would not
        fast = self.simple and targets is None and not self.traced and not state.anomaly and not DETACHED
        self.root = root = edges[0][0] if len(edges) == 1 else None
        with recording(self.recorded):
            for (node, number), gradient in zip(edges, grads, strict=True):
                assert node is not None
                self._arrive(node, number, gradient if self.traced else gradient.array)
            order, self.waiting = reachable(edges, self.folded if fast else None)
            if targets is not None:
                self.targets, self.simple = targets, False
                self.found = [None] * len(targets)
                self.needed = needed = leading_to(order, targets)
                order = [node for node in order if needed[node]]
                self.waiting = count_consumers(order, targets)
            self.order = order
            origin = self.origin = state.origin
            state.walks += self.recorded
            outer, Walk.running = Walk.running, self
            try:
                if fast:
                    self._run_fast(order)
                else:
                    if self.needed is not None and root in self.buffers and root not in self.waiting and root not in order[:1]:
                        self._arrived(root)  # a single root is visited for its hooks, where it leads to no target
                    for node in order:
                        self._visit(node)
                for node in self.waiting:
                    if node in self.buffers:  # a leaf that is a root itself
                        self._sink(node)
            finally:
                state.origin = origin
                state.walks -= self.recorded
                Walk.running = outer
        return self.found

    def reaches(self, node: Node | None) -> bool:
        """Whether this walk comes to a node from others."""
        for one in self.order:
            if one.folded:
                one.next_functions  # noqa: B018  reading it unfolds the node
        if self.capturing and type(node) is AccumulateGrad and node in self.waiting:
            raise runtime_error(
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is currently not "
                "supported.",
            )
        return node is not self.root and (node in self.waiting or node in self.order)

    def _arrive(self, node: Node, number: int, value: Any, source: Node | None = None) -> None:
        """Add a gradient to what has arrived for an output, reduced to the output's shape and dtype.

        `source` is the node whose rule gave it; None where the caller of backward did.
        """
        outputs = node.outputs
        shape, dtype = (node.shape, node.dtype) if outputs is None else outputs[number]
        value = self._fitted(value, shape, dtype, (node, number), source)
        buffers = self.buffers
        known = buffers.get(node)
        if outputs is not None:
            places = buffers.setdefault(node, [None] * len(outputs))
            known = places[number]
        if known is not None:
            value = known + value if self.traced else _sum(known, value)
        if dtype is dtypes.bfloat16 and not self.traced:  # stored wider than it is
            value = dtypes.round_bfloat16(value)
        if outputs is None:
            buffers[node] = value
        else:
            places[number] = value

    def _fitted(self, value: Any, shape: tuple[int, ...], dtype: DType, edge: Edge, source: Node | None) -> Any:
        """A gradient, reduced to the shape and dtype of the output that `edge` is."""
        have = value.array.shape if self.traced else value.shape
        if have != shape:
            _check_shape(have, shape, edge, source)
        if self.traced:
            if value.dtype.is_complex and not dtype.is_complex:
                _check_real(source)
                value = namespaces.traced.real(value)
            if value.array.shape != shape:
                value = namespaces.traced.sum_to(value, shape)
            if value.dtype is not dtype:
                value = namespaces.traced.cast(value, dtype)
        else:
            if value.dtype.kind == "c" and not dtype.is_complex:
                _check_real(source)
                value = value.real
            if value.shape != shape:
                value = namespaces.numeric.sum_to(value, shape)
            if value.dtype is not dtype.np:
                value = memory_format.in_dtype(value, dtype.np) if type(value) is ndarray else value.astype(dtype.np)
        return value

    def _arrived(self, node: Node) -> list[Any]:
        """The gradients of a node's outputs, after its tensor hooks; those of targets are put into `found`."""
        value = self.buffers.pop(node, None)
        grads: list[Any] = [value] if node.outputs is None else ([None] * len(node.outputs) if value is None else value)
        del value  # so that only the caller has a reference, and may reuse the array
        if node.hooks is not None or node.retained is not None:
            _hook_calls().call_tensor_hooks(self, node, grads)
        if self.capture is not None:
            self.capture[node] = [g.array if type(g) is Tensor else g for g in grads]
        if self.targets is not None:
            for k, (target, number) in enumerate(self.targets):
                if target is node:
                    self.found[k] = grads[number]
        return grads

    def _sink(self, node: Node) -> None:
        """Accumulate the gradient that has arrived at a leaf. Its hooks are called without one, too."""
        grads = self._arrived(node)
        if self.capturing or (grads[0] is None and node.hooks is None):
            return
        variable: Tensor = node.variable  # type: ignore[attr-defined]
        counts = variable.requires_grad  # unless it has been detached in place
        if node.hooks is None:
            value = grads.pop()  # a name, which `accumulate` counts
            if counts:
                accumulate(variable, value, self.traced)
        else:
            _hook_calls().call_node_hooks(self, node, BEFORE, grads, ())
            if grads[0] is not None and counts:
                accumulate(variable, grads[0], self.traced)
        if variable.meta is not None and (node.hooks is None or grads[0] is not None):
            call_after_accumulation(variable)
        if node.hooks is not None:
            _hook_calls().call_node_hooks(self, node, AFTER, [], grads)

    def _run_fast(self, order: list[Node]) -> None:
        """Visit all nodes of a walk that records nothing, has no targets and no capture, and runs without anomaly detection.

        A node with a small float32 or float64 gradient takes the fast path, which does the steps of `_visit`,
        `OpNode.gradients` and `_arrive` in one loop; any other node goes to `_visit`. This makes a quarter of the time
        of a small forward and backward pass. tests/core/graph/test_fast_paths.py compares the two.
        """
        buffers, waiting, keep = self.buffers, self.waiting, self.keep
        folded = self.folded
        for at, node in enumerate(order):
            grad = buffers.get(node)
            if folded and node in folded:
                self._run_folded(node, at)
                continue
            if type(node) is not OpNode or not node.plain or node.freed or type(grad) is not ndarray or grad.size > _SMALL:
                self._visit(node)
                continue
            rules = node.plan.fast_rules
            if rules is None or (grad.ndim > 1 and needs_care(grad)):
                self._visit(node)
                continue
            edges = node.edges
            try:
                if len(rules) == 1:
                    i, rule = rules[0]
                    results: Any = ((edges[i], rule(node, grad)),)
                else:
                    results = [(edges[i], rule(node, grad)) for i, rule in rules]
            except LeaveFastPath:
                self._visit(node)
                continue
            except GradcliError as error:
                error.backward_origin = node.origin
                raise
            del buffers[node]
            if not keep:
                node.release()
            for (nxt, number), result in results:
                if type(result) is ndarray and nxt.plain and result.shape == nxt.shape and result.dtype is nxt.dtype.np:
                    known = buffers.get(nxt)
                    buffers[nxt] = result if known is None else known + result if result.ndim < 2 else _sum(known, result)
                elif result is not None:
                    self._arrive(nxt, number, result, node)
                left = waiting.get(nxt)
                if left is not None:
                    waiting[nxt] = left - 1
                    if left == 1:
                        self._sink(nxt)
            results = None

    def _run_folded(self, node: Node, at: int) -> None:
        """Visit a folded node, which stands at a place in the order: at once, or as the nodes that it stands for."""
        count = self.folded.pop(node)
        buffers, waiting = self.buffers, self.waiting
        if node.folded:  # no hook has looked at it meanwhile
            outward = node.outward()
            pieces = node.outward_gradients(buffers.get(node), self.keep)
            if pieces is not None:
                del buffers[node]
                for (nxt, number), value in zip(outward, pieces, strict=True):
                    assert nxt is not None
                    if type(value) is ndarray and nxt.plain and value.shape == nxt.shape and value.dtype is nxt.dtype.np:
                        known = buffers.get(nxt)
                        buffers[nxt] = value if known is None else known + value if value.ndim < 2 else _sum(known, value)
                    else:
                        self._arrive(nxt, number, value, node)
                    left = waiting.get(nxt)
                    if left is not None:
                        waiting[nxt] = left - 1
                        if left == 1:
                            self._sink(nxt)
                return
        self.order[at + 1 : at + 1] = members(node, count)

    def _given(self, result: Any, edge: Edge, source: Node) -> Any:
        """What a rule gave, as the hooks of its node see it: with the shape and dtype of what the gradient belongs to."""
        node, number = edge
        if result is None or node is None:
            return result
        shape, dtype = node.meta(number)
        return self._fitted(namespaces.as_tensor(result) if self.traced else result, shape, dtype, edge, source)

    def _visit(self, node: Node) -> None:
        buffers, needed, traced = self.buffers, self.needed, self.traced
        if self.simple and node.hooks is None and node.retained is None and node.outputs is None:
            grads = [buffers.pop(node, None)]
        else:
            grads = self._arrived(node)
        edges = node.edges
        wanted: Sequence[bool]
        if needed is None:
            wanted = _EVERY if len(edges) <= len(_EVERY) else (True,) * len(edges)
        else:
            wanted = [edge[0] is not None and needed[edge[0]] for edge in edges]
            if self.capturing and True not in wanted:  # backward(inputs=...) runs the nodes of its inputs for their hooks
                return
        if node.hooks is not None:
            _hook_calls().call_node_hooks(self, node, BEFORE, grads, ())
        results: list[Any]
        if node.runs_anyway or grads[0] is not None or any(g is not None for g in grads):
            state.origin = node.origin
            try:
                results = node.gradients(grads, traced, wanted)
                if state.anomaly:
                    _anomaly().check_nan(node, results)
            except GradcliError as error:
                error.backward_origin = node.origin
                if state.anomaly:
                    _anomaly().point_at(node)
                raise
        else:
            if node.freed:
                raise freed_error()
            results = [None] * len(edges)
        if not self.keep:
            node.release()
        if node.hooks is not None:
            listed = [self._given(results[i], edges[i], node) for i in node.listed]
            _hook_calls().call_node_hooks(self, node, AFTER, listed, grads)
            for i, result in zip(node.listed, listed, strict=True):
                results[i] = result
        del grads
        waiting = self.waiting
        for i, (nxt, number) in enumerate(edges):
            if nxt is None or not wanted[i]:
                continue
            result = results[i]
            results[i] = None  # so that only `result` refers to the array, and a leaf may take it without a copy
            if result is not None:
                if traced:
                    self._arrive(nxt, number, namespaces.as_tensor(result), node)
                elif (
                    type(result) is np.ndarray
                    and nxt.outputs is None
                    and result.shape == nxt.shape
                    and result.dtype is nxt.dtype.np
                    and nxt.dtype is not dtypes.bfloat16
                ):
                    known = buffers.get(nxt)
                    buffers[nxt] = result if known is None else known + result if result.ndim < 2 else _sum(known, result)
                    del known
                else:
                    self._arrive(nxt, number, result.array if type(result) is Tensor else result, node)
                del result
            if nxt in waiting:
                waiting[nxt] -= 1
                if not waiting[nxt]:
                    self._sink(nxt)


def needs_care(grad: Array) -> bool:
    """Whether numpy may lay out what comes of a gradient in another way than PyTorch."""
    if 1 in grad.shape:
        return grad.ndim > 2 or grad.strides != (grad.itemsize * grad.shape[1], grad.itemsize)
    return not grad.flags.c_contiguous and any(grad.strides)


def _sum(known: Any, value: Any) -> Any:
    """The sum of two gradients of a tensor, which lies as the first does, to which PyTorch adds in place."""
    made = known + value
    if type(made) is not ndarray or (made.strides == known.strides and known.base is None):
        return made
    strides = memory_format.element_strides(known)
    if known.base is None and memory_format.is_dense(made.shape, strides):
        return memory_format.laid_out(made, strides)
    return memory_format.like_operands(made, (known, value))


def walk_alone(node: Node, grad: Any, keep: bool) -> bool:
    """Do a whole walk that records nothing if the graph is one folded node and leaves; whether it was."""
    if not node.folded or state.dual is not None or state.anomaly or grad.shape != node.shape or grad.dtype is not node.dtype.np:
        return False
    outward = node.outward()
    for leaf, _ in outward:
        if type(leaf) is not AccumulateGrad:
            return False
    pieces = node.outward_gradients(grad, keep)
    if pieces is None:
        return False
    buffers: dict[Any, Any] = {}
    for (leaf, _), value in zip(outward, pieces, strict=True):
        known = buffers.pop(leaf, None)  # leaves get their gradients in the order of the last that reaches each
        buffers[leaf] = value if known is None else known + value if value.ndim < 2 else _sum(known, value)
    pieces = value = known = None  # so that a leaf may take an array without a copy
    for leaf in buffers:
        if leaf.variable.requires_grad:
            accumulate(leaf.variable, buffers[leaf], False)
    return True


def _check_shape(have: tuple[int, ...], shape: tuple[int, ...], to: Edge, source: Node | None) -> None:
    """Raise PyTorch's error unless a gradient of shape `have` can be reduced to `shape`; rules may leave it to be repeated, too."""
    if not (broadcasts_to(shape, have) or (source is not None and broadcasts_to(have, shape))):
        shapes = str(list(have)), str(list(shape))
        if source is None:
            raise runtime_error("invalid gradient at index 0 - got {} but expected shape compatible with {}".format(*shapes))
        raise misfit_error(source.name(), str([source.edges[i] for i in source.listed].index(to)), *shapes)


def _check_real(source: Node | None) -> None:
    """Raise PyTorch's error where the node that gives a complex gradient to a real tensor does not take the real part."""
    if source is not None and not (source.op.real_part if isinstance(source, OpNode) else source.real_part):
        raise runtime_error(
            "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got false.  (Could this "
            "error message be improved?  If so, please report an enhancement request to PyTorch.)"
        )


@cache
def _anomaly() -> Any:
    """The module of anomaly detection, loaded on first use."""
    from gradcli.core.autograd import anomaly

    return anomaly


@cache
def _hook_calls() -> Any:
    """The module that calls hooks, loaded on first use."""
    from gradcli.core.autograd import hook_calls

    return hook_calls
