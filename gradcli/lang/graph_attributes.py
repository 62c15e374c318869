"""What can be read from a grad_fn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.graph import AccumulateGrad, Node
from gradcli.lang.values import MISSING, BoundMethod

_GETTERS: dict[str, Callable[[Node], Any]] = {
    "next_functions": lambda node: node.next_functions,
    "requires_grad": lambda node: True,
}

_SAVED = "_saved_"


def _name(node: Node) -> str:
    return node.name()


def node_attribute(node: Node, name: str) -> Any:
    """`node.name`, or MISSING."""
    if name in _GETTERS:
        return _GETTERS[name](node)
    if name == "name":
        return BoundMethod(node, "name", _name)
    if name == "variable" and isinstance(node, AccumulateGrad):
        return node.variable
    if name.startswith(_SAVED) and name[len(_SAVED) :] in node.saved_names:
        return node.saved_value(name[len(_SAVED) :])
    return MISSING


def node_names(node: Node) -> list[str]:
    """The names that can be read from a node."""
    names = [*_GETTERS, "name", *(_SAVED + name for name in node.saved_names)]
    return [*names, "variable"] if isinstance(node, AccumulateGrad) else names
