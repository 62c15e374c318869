"""The attributes and methods of a grad_fn."""

from __future__ import annotations

from collections.abc import Callable

from gradcli.core.autograd import hooks
from gradcli.core.calling.mappings import Metadata
from gradcli.core.graph.op_node import OpNode
from gradcli.core.tensor.node import AccumulateGrad, Node
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.value_classes import MISSING, BoundMethod

_GETTERS: dict[str, Callable[[Node], Value]] = {
    "next_functions": lambda node: node.next_functions,
    "requires_grad": lambda node: True,
    "metadata": lambda node: _metadata(node),
}


def _metadata(node: Node) -> Value:
    """The dict of `grad_fn.metadata`."""
    if not hasattr(node, "metadata"):
        node.metadata = Metadata()
    return node.metadata


_SAVED = "_saved_"
_RAW = "_raw_saved_"


_METHODS: dict[str, Callable[..., Value]] = {
    "name": lambda node: node.name(),
    "register_hook": hooks.register_node_hook,
    "register_prehook": hooks.register_node_prehook,
}


def node_attribute(node: Node, name: str) -> Value:
    """`node.name`, or MISSING. What the forward of a custom function put on its ctx comes first."""
    own: Value = getattr(node, "fields", None)
    if own and name in own:
        return own[name]
    if name in _GETTERS:
        return _GETTERS[name](node)
    if name in _METHODS:
        return BoundMethod(node, name, _METHODS[name])
    if name == "variable" and isinstance(node, AccumulateGrad):
        return node.variable
    if name.startswith(_RAW) and isinstance(node, OpNode):
        from gradcli.core.autograd import packed_tensors

        place = packed_tensors.raw_names(node).get(name[len(_RAW) :])
        return MISSING if place is None else packed_tensors.SavedTensor(node, place)
    if name.startswith(_SAVED) and name[len(_SAVED) :] in node.saved_names:
        return node.saved_value(name[len(_SAVED) :])
    return MISSING


def node_names(node: Node) -> list[str]:
    """The names that can be read from a node."""
    names = [*_GETTERS, *_METHODS, *(_SAVED + name for name in node.saved_names)]
    if isinstance(node, OpNode):
        from gradcli.core.autograd import packed_tensors

        names += [_RAW + name for name in packed_tensors.raw_names(node)]
    return [*names, "variable"] if isinstance(node, AccumulateGrad) else names
