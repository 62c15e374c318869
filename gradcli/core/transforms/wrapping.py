"""The levels of torch.func as programs see them: a tensor that is made inside is wrapped in each level that is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradcli.core.tensor.node import AccumulateGrad, Node
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor


class Wrapping:
    """One level while it is open. A new tensor has the levels that are open among its rare properties, for its text."""

    __slots__ = ("number", "open", "outer", "own", "recorded", "start")

    def __init__(self, kinds: Sequence[str], own: Mapping[int, Tensor], recorded: bool | None = None) -> None:
        #: whether the levels outside of a gradient are recorded; None for a level that changes nothing about it
        self.recorded = recorded
        #: the leaves of the level, by identity
        self.own = own
        self.start = state.sequence
        self.outer = state.transforms, state.within
        state.transforms = (*state.transforms, *kinds)
        #: how many transforms run, this one included
        self.number = len(state.transforms)
        self.open = True
        state.within = {"levels": (*(state.within or {"levels": ()})["levels"], self)}

    def close(self) -> None:
        """End the level."""
        state.transforms, state.within = self.outer
        self.open = False

    def unwrap(self, tensor: Tensor) -> Tensor:
        """The tensor itself, no longer wrapped in this level, and neither is its tangent."""
        held = tensor.property_of("tangent")
        if held is not None:
            self.unwrap(held[1])
        levels = tensor.property_of("levels")
        if levels and self in levels:
            rest = tuple(level for level in levels if level is not self)
            meta = {**(tensor.meta or {}), "levels": rest}
            tensor.meta = meta if rest else {name: value for name, value in meta.items() if name != "levels"} or None
        return tensor

    def history(self, tensor: Tensor, levels: Sequence[Wrapping]) -> tuple[bool, Node | None]:
        """Whether a tensor requires grad outside all levels, of which this is the first, and the node that it has there."""
        own = {leaf for level in levels for leaf in level.own}
        if not tensor.requires_grad or not reaches_outside(tensor, own, self.start):
            return False, None
        node = tensor.grad_fn
        while node is not None and node.hidden:
            node = node.edges[0][0]
        return True, None if type(node) is AccumulateGrad else node


def reaches_outside(tensor: Tensor, own: Mapping[int, Tensor] | set[int], start: int) -> bool:
    """Whether a gradient would reach a leaf that is not among `own`, or a node that was recorded before `start`."""
    if tensor.node is None:
        return id(tensor) not in own
    seen: set[Node] = set()
    stack: list[Node | None] = [tensor.grad_fn]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if type(node) is AccumulateGrad:
            if node.variable.requires_grad and id(node.variable) not in own:
                return True
        elif node.sequence < start:
            return True
        stack += [edge[0] for edge in node.edges]
    return False
