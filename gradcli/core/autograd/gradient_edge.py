"""Places in the graph as values: `torch.autograd.graph.Node` and `GradientEdge`."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.named_tuples import named_tuple
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.tensor.node import Edge, Node
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error


def _no_node() -> None:
    raise ProgramError(
        "TypeError",
        "Can't instantiate abstract class Node with abstract methods _input_metadata, _register_hook_dict, _sequence_nr, metadata, name, "
        "next_functions, register_hook, register_prehook",
    )


def _gradient_edge(node: Any, output_nr: Any, ownership_token: Any = None) -> tuple[Any, ...]:
    return node, output_nr, ownership_token


NODE = ScriptType("Node", "torch.autograd.graph", _no_node, lambda value: isinstance(value, Node))
NODE.instances = Node
#: the gradient of output `output_nr` of `node`
GradientEdge = named_tuple("torch.autograd.graph.GradientEdge", _gradient_edge, "node", "output_nr", "ownership_token")
GRADIENT_EDGE = GradientEdge.SCRIPT_TYPE


#: what may be differentiated: a tensor, or a GradientEdge in its place
Target = Tensor | tuple[Any, ...]


def get_gradient_edge(tensor: Any) -> Any:
    """The node and output number that compute a tensor; may stand for the tensor in `backward` and `grad`."""
    if type(tensor) is not Tensor:
        raise no_attribute(tensor, "requires_grad")
    if not tensor.requires_grad:
        raise runtime_error("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge((*edge_of(tensor), None))


def edge_of(target: Target) -> Edge:
    """The edge that a tensor or a GradientEdge stands for."""
    if type(target) is Tensor:
        return target.edge()
    node, number, _ = target
    if not isinstance(node, Node):
        raise ProgramError("TypeError", f"GradientEdge's first object must be an autograd.graph.Node but got {language.type_name(node)}")
    return node, number


def increment_version(tensor: Any) -> None:
    """Count an in-place write of a tensor, or of several, that autograd could not see."""
    if type(tensor) is not Tensor and not isinstance(tensor, (list, tuple)):
        raise runtime_error("increment_version expect a Iterable[Tensor] as input")
    for one in (tensor,) if type(tensor) is Tensor else tensor:
        if type(one) is not Tensor:
            raise runtime_error("increment_version expects each element of the iterable to be a tensor")
        if not one.property_of("inference"):
            one.counter().count += 1


GET_GRADIENT_EDGE = Routine(get_gradient_edge)
INCREMENT_VERSION = Routine(increment_version)


def _region_budget(budget: Any) -> None:
    """RuntimeError: it is for compiled regions."""
    name = "torch.autograd.graph.region_activation_memory_budget"
    raise runtime_error(f"{name} can only be used inside a torch.compile region; it has no effect in eager mode.")


REGION_ACTIVATION_MEMORY_BUDGET = Routine(_region_budget, "region_activation_memory_budget")
