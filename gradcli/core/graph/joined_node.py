"""One node for the gradients of several inputs, where a single function of PyTorch's computes them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.core.kernels import memory_format
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.tensor import Tensor


def join(gradients: Sequence[Any]) -> None:
    """Give recorded gradients, those of the inputs of one node in their order, one node instead of a node each.

    They stay as they are where their nodes have other inputs or other names.
    """
    parts = [one.node if type(one) is Tensor and one.node is not None and one.node.outputs is None else None for one in gradients]
    found = [part for part in parts if part is not None]
    if found and len({(part.type_name, part.edges) for part in found}) == 1:
        node = JoinedNode(parts, found[0])
        for number, one in enumerate(gradients):
            if parts[number] is not None:
                one.node, one.output_nr = node, number


class JoinedNode(Node):
    """The node of several gradients: `parts` are their own nodes, None for one that was not wanted, and `first` is one of them."""

    __slots__ = ("parts", "first")

    def __init__(self, parts: Sequence[Node | None], first: Node) -> None:
        super().__init__(first.edges, first.shape, first.dtype)
        self.parts = parts
        self.first = first
        self.outputs = tuple([(part or first).meta(0) for part in parts])
        self.plain = False

    @property
    def type_name(self) -> str:
        return self.first.type_name

    @property
    def freed(self) -> bool:  # type: ignore[override]
        return self.first.freed

    @property
    def listed(self) -> Sequence[int]:
        return self.first.listed

    @property
    def saved_names(self) -> tuple[str, ...]:
        return self.first.saved_names

    def saved_value(self, name: str) -> Any:
        return self.first.saved_value(name)

    def release(self) -> None:
        for part in self.parts:
            if part is not None:
                part.release()

    def gradients(self, grads: list[Any], traced: bool, wanted: Sequence[bool]) -> list[Any]:
        total: list[Any] = [None] * len(self.edges)
        for part, grad in zip(self.parts, grads, strict=True):
            if part is not None and grad is not None:
                for i, one in enumerate(part.gradients([grad], traced, wanted)):
                    if one is not None and wanted[i]:
                        total[i] = one if total[i] is None else self._sum(i, total[i], one)
        return total

    def _sum(self, i: int, known: Any, value: Any) -> Any:
        made = known + value
        if type(made) is Tensor:
            return made
        made = memory_format.like_operands(made, (known, value))
        node, number = self.edges[i]
        narrow = node is not None and node.meta(number)[1] is dtypes.bfloat16  # which is stored wider than it is
        return dtypes.round_bfloat16(made) if narrow else made
