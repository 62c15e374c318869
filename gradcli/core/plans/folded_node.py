"""The nodes of a plan. They unfold into those that the ordinary way makes as soon as anything else than a walk reads one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy import ndarray

from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.saved_arrays import Saved
from gradcli.core.tensor.node import NO_EDGE, AccumulateGrad, Edge, Node
from gradcli.core.tensor.tensor import Tensor, Version, View

if TYPE_CHECKING:
    from gradcli.core.plans.plan import Back, Plan, Template

#: a result with a name before the last one: its node; and, if it is kept, its tensor and the counter of its versions. References are
#: weak, since the node keeps the FoldedNode
Part = tuple["ref[PartNode] | None", "ref[Tensor] | None", Version | None]

#: what a folded node keeps: the plan, the outer edges, the tensors that are kept with their versions, the slots that backward needs
#: (None after they have been freed), the version counter of the output, if the output is kept, and the results before the last one
Run = tuple["Plan", list[Edge], list[Tensor], list[int], list[Any] | None, Version | None, Sequence[Part]]


class Lazy(OpNode):
    """A node that has empty slots; reading one of them makes it an OpNode. The slot `plan` keeps what that takes."""

    __slots__ = ()

    def unfold(self) -> None:
        """Become an OpNode, with all the nodes of the evaluation."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        self.unfold()
        return getattr(self, name)

    @property
    def plan(self) -> Any:  # type: ignore[override]
        """The plan of the node's own step."""
        self.unfold()
        return self.plan

    def release(self) -> None:
        self.unfold()
        self.release()


class PartNode(Lazy):
    """The node of a result before the last one. It unfolds with the FoldedNode `whole[0]`, among whose nodes its number is `whole[1]`."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def whole(self) -> tuple[FoldedNode, int]:
            """What is kept."""

        @whole.setter
        def whole(self, value: tuple[FoldedNode, int]) -> None: ...

    else:
        whole = OpNode.plan

    def unfold(self) -> None:
        self.whole[0].unfold()

    @property
    def stands_for(self) -> int:
        """None: the FoldedNode stands for this one too."""
        return 0

    @property
    def type_name(self) -> str:
        whole, number = self.whole
        return whole.run[0].nodes[number].op.grad_fn


class FoldedNode(Lazy):
    """The nodes of one evaluation by a plan, newest of them by name; they have consecutive sequence numbers, this one the last.

    The slots that every node has are not empty. When it unfolds, it becomes the OpNode of the last step, so that all that refers to it is
    right.
    """

    __slots__ = ()
    folded = True
    if TYPE_CHECKING:

        @property
        def run(self) -> Run:
            """What is kept."""

        @run.setter
        def run(self, value: Run) -> None: ...

    else:
        run = OpNode.plan

    @property
    def stands_for(self) -> int:
        """The number of nodes that this one will unfold into."""
        return self.run[0].count

    @property
    def type_name(self) -> str:
        return self.run[0].nodes[-1].op.grad_fn

    def outward(self) -> list[Edge]:
        """The edges that lead out of the plan, one for each gradient that leaves it."""
        plan, edges = self.run[0], self.run[1]
        return edges if plan.outward is None else [edges[i] for i in plan.outward]

    # --- backward ---

    def outward_gradients(self, grad: Any, keep: bool) -> list[Any] | None:
        """The gradients that leave the plan, one for each of the edges `outward`; frees what is kept unless `keep`.

        None where the nodes have to be visited one by one: where one of them or a leaf has hooks, or what is kept has been freed,
        written to, or may be written to by a gradient that is added to a leaf, where a tensor got another shape or dtype, and where a rule
        fails.
        """
        plan, edges, leaves, versions, kept, counter, parts = self.run
        if kept is None or not self.plain or type(grad) is not ndarray or (plan.keep_out and counter.count):  # type: ignore[union-attr]
            return None
        for leaf, version, array in zip(leaves, versions, kept, strict=False) if leaves else ():
            if leaf.array is not array or (leaf.version is not None and leaf.version.count != version):
                return None
        if parts and not _are_untouched(plan, parts, kept):
            return None
        inner = False  # a leaf that takes its gradient as it is has the shape of the plan; a tensor with a node may have got another
        for node, _ in edges:
            if type(node) is AccumulateGrad:
                leaf = node.variable
                if not node.takes_as_is():
                    return None
                if (leaf.grad is not None or leaf.meta is not None) and not is_quiet(leaf, kept[: plan.exposed]):
                    return None
            else:
                inner = True
        slots = kept + plan.blank
        slots[plan.root] = grad
        try:
            found = gradients(plan.backward, slots)
        except Exception:  # evaluation in the ordinary way raises the error, with its place
            return None
        if inner and any(value.shape != node.meta(number)[0] for (node, number), value in zip(self.outward(), found, strict=True)):  # type: ignore[union-attr]
            return None
        if not keep and plan.frees:
            self.freed = True
            self.run = (plan, edges, [], [], None, None, parts)
        return found

    # --- the nodes themselves ---

    def unfold(self) -> None:
        """Make the nodes, oldest first; this one becomes the last of them."""
        plan, edges, leaves, versions, kept, counter, parts = self.run
        self.__class__ = OpNode  # type: ignore[assignment]
        tensors: dict[int, Tensor] = {}
        expected: dict[int, int] = {}
        if kept is not None:
            tensors = {slot: Tensor(one, plan.dtype) if type(one) is ndarray else one for slot, one in zip(plan.kept, kept, strict=True)}
            for slot, leaf, version in zip(plan.kept, leaves, versions, strict=False):
                tensors[slot], expected[slot] = leaf, version
            for slot, base, source in plan.views:
                view, expected[slot] = tensors[slot], expected[base]
                view.version = tensors[base].counter()
                view.view = View(tensors[base], expected[base], "default", source)
                if not any(template.slot == slot for template in plan.nodes):  # a view without a node requires a gradient if its base does
                    view.requires_grad = tensors[base].requires_grad
                    view.version.views.append(ref(view))
        known: dict[int, PartNode | None] = {}
        living: set[int] = set()
        for named, (node_ref, tensor_ref, version_counter) in zip(plan.named, parts, strict=True):
            if named.number is not None and node_ref is not None:
                known[named.number] = node_ref()
            if tensor_ref is not None and kept is not None:
                tensor = tensor_ref()
                if tensor is None:
                    tensors[named.slot].version = version_counter
                else:
                    tensors[named.slot] = tensor
                    living.add(named.slot)
        made: list[Node] = []
        origins = None if plan.origins is None else plan.origins(self.origin)
        for k, template in enumerate(plan.nodes):
            node: OpNode = self
            if k < plan.count - 1:
                node = known.get(k) or _new()
                _begin(node, template, self.sequence - plan.count + 1 + k)
            node.origin = template.origin if origins is None else origins[template.origin]
            made.append(node)
            node.edges = tuple([_edge(to, made, edges) for to in template.edges])
            node.op, node.plan, node.attrs = template.op, template.keeping, template.attrs
            own = tensors.get(template.slot)
            if own is not None and template.slot not in living:  # a living one has its node, unless it was detached in place
                own.node, own.requires_grad = node, True
            node.freed = kept is None and template.keeping.frees
            node.saved = node.versions = node.kept_out = None
            if not node.freed:
                _save(node, template, tensors, expected)
            if template.keeping.keep_out and own is not None:
                if node is self:
                    own.version = counter
                saved = Saved(own, 0)
                saved.expected = 0
                node.kept_out = [saved]


def _are_untouched(plan: Plan, parts: Sequence[Part], kept: list[Any]) -> bool:
    """Whether no result before the last one has been written to."""
    for named, (_, tensor_ref, counter) in zip(plan.named, parts, strict=True):
        if tensor_ref is not None:
            tensor = tensor_ref()
            if counter.count or (tensor is not None and tensor.array is not kept[named.place]):  # type: ignore[union-attr, index]
                return False
    return True


def gradients(backward: Sequence[Back], slots: list[Any]) -> list[Any]:
    """The gradients that leave a plan, by its backward steps."""
    found: list[Any] = []
    for function, first, second, shape, to in backward:
        if second >= 0:
            result = function(slots[first], slots[second])
        elif second == -1:
            result = slots[first] if function is None else function(slots[first])
        else:
            result = function(*[slots[i] for i in first])
        if shape is not None:
            result = numeric.sum_to(result, shape)
        if to < 0:
            found.append(result)
        else:
            known = slots[to]
            slots[to] = result if known is None else known + result
    return found


def is_quiet(variable: Tensor, exposed: Sequence[Any]) -> bool:
    """Whether nobody sees when a gradient is added to a leaf: no hook is called, and no array of `exposed` shares memory with it."""
    if variable.meta is not None and "after_accumulation" in variable.meta:
        return False
    if variable.grad is not None:
        written = variable.grad.array
        for array in exposed:
            if array is written or ((array.base is not None or written.base is not None) and np.may_share_memory(array, written)):
                return False
    return True


def _new() -> OpNode:
    node = OpNode.__new__(OpNode)
    node.plain = True
    return node


def _begin(node: OpNode, template: Template, sequence: int) -> None:
    """Give a node what every node has, except its origin, and `plain`, which may be False already."""
    node.__class__ = OpNode
    node.shape, node.dtype = template.shape, template.dtype
    node.sequence = sequence
    node.outputs = node.hooks = node.retained = None


def _edge(to: int | None, made: list[Node], edges: list[Edge]) -> Edge:
    if to is None:
        return NO_EDGE
    return (made[to], 0) if to >= 0 else edges[-1 - to]


def _save(node: OpNode, template: Template, tensors: dict[int, Tensor], expected: dict[int, int]) -> None:
    """Give a node the inputs that it keeps, and their versions if one of them had been written to."""
    if template.saved is None:
        return
    node.saved = [None if place is None else place[1] if place[0] < 0 else tensors[place[0]] for place in template.saved]
    versions = [0 if place is None else expected.get(place[0], 0) for place in template.saved]
    if any(versions):
        node.versions = versions
