"""backward and grad: where a walk over the graph begins, and what is done with the gradients that it finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from gradcli.core.autograd.gradient_edge import Target, edge_of
from gradcli.core.autograd.walk import Capture, Walk, walk_alone
from gradcli.core.calling import warnings
from gradcli.core.graph import namespaces
from gradcli.core.graph.accumulation import COUNTED, accumulate
from gradcli.core.kernels import Array, memory_format
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import AccumulateGrad, Edge, Node, Nowhere
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Size, Tensor, zeros_like
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def backward(
    tensors: Sequence[Target],
    gradients: Sequence[Tensor | None] | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Target] | None = None,
    capture: Capture | None = None,
) -> None:
    """`torch.autograd.backward`: accumulate gradients into the leaves (into `inputs` only, where given).

    `capture`, a dict, receives the gradient of every node of the graph as lists of arrays, one per output.
    """
    check_outside_transforms()
    edges, grads = roots(tensors, gradients)
    if state.watch is not None and capture is None and (began := getattr(state.watch, "began", None)) is not None:
        began(tensors, gradients)
    if create_graph:
        warnings.emit(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
            "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
            "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid "
            "the leak. (Triggered internally at /__w/pytorch/pytorch/torch/csrc/autograd/engine.cpp:1307.)",
            once="create_graph",
        )
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None and capture is None and not create_graph and len(edges) == 1 and walk_alone(edges[0][0], grads[0].array, keep):  # type: ignore[arg-type]
        return
    walk = Walk(keep, create_graph, capture)
    if inputs is None:
        walk.run(edges, grads)
        return
    for one in inputs:
        if type(one) is Tensor:
            retain_grad(one)
    walk.run(edges, grads, [edge_of(one) for one in inputs])


def check_outside_transforms() -> None:
    """Raise RuntimeError within a transform of torch.func, which walks backward itself."""
    if state.transforms:
        raise runtime_error(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead or "
            "call backward() outside of functorch transforms."
        )


def retain_grad(tensor: Tensor) -> None:
    """Keep the gradient of a computed tensor in `.grad` from now on; nothing to do for a leaf."""
    if not tensor.requires_grad:
        text = "can't retain_grad on Tensor that has requires_grad=False"
        raise runtime_error(text, Code.RETAIN_GRAD_WITHOUT_GRAPH)
    node = tensor.grad_fn
    if node is None or tensor.property_of("retains_grad"):
        return
    tensor.set_property("retains_grad", True)
    if node.retained is None:
        node.retained = {}
        node.plain = False
    node.retained[tensor.output_nr] = tensor


def grad(
    outputs: Sequence[Target],
    inputs: Sequence[Target],
    gradients: Sequence[Tensor | None] | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """`torch.autograd.grad`: the gradients of `inputs`, tensors or GradientEdges, returned; `.grad` stays as it is."""
    edges, grads = roots(outputs, gradients)
    targets = []
    for tensor in inputs:
        if type(tensor) is Tensor and not tensor.requires_grad:
            text = "One of the differentiated Tensors does not require grad"
            raise runtime_error(text, Code.INPUT_WITHOUT_GRAD)
        targets.append(edge_of(tensor))
    keep = create_graph if retain_graph is None else retain_graph
    walk = Walk(keep, create_graph, None)
    walk.capturing = True
    found = walk.run(edges, grads, targets)
    if allow_unused is None:
        allow_unused = materialize_grads
    result: list[Tensor | None] = []
    for i, (tensor, value) in enumerate(zip(inputs, found, strict=True)):
        if value is None and not allow_unused:
            raise runtime_error(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior.",
            )
        if value is None and materialize_grads:
            if type(tensor) is not Tensor:
                raise runtime_error("materialize_grads cannot be used when the given input is a GradientEdge")
            value = zeros_like(tensor)
            value.requires_grad = create_graph
        result.append(value if value is None or create_graph or type(value) is Tensor else own(value, meta_of(tensor)[1]))
    return tuple(result)


def meta_of(output: Target) -> tuple[tuple[int, ...], DType]:
    """Shape and dtype of a tensor or of a GradientEdge."""
    if type(output) is Tensor:
        return output.array.shape, output.dtype
    node, number = edge_of(output)
    assert node is not None
    return node.meta(number)


def no_graph_error(i: int = 0) -> ProgramError:
    """PyTorch's error for a backward walk from tensor `i` of several, which does not require grad."""
    text = f"element {i} of tensors does not require grad and does not have a grad_fn"
    return runtime_error(text, Code.NO_GRAPH)


def check_roots(outputs: Sequence[Target], gradients: Sequence[Tensor | None], batched: bool = False) -> None:
    """Raise RuntimeError for a gradient of the wrong shape, a missing gradient of several elements, or an output without history."""
    for i, (output, gradient) in enumerate(zip(outputs, gradients, strict=False)):
        shape = meta_of(output)[0]
        if gradient is not None:
            if not batched and gradient.array.shape != shape:
                text = f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] has a shape of {Size(shape)}."
                raise shape_error(text)
            if gradient.dtype.is_complex is not meta_of(output)[1].is_complex:
                raise runtime_error(
                    "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                    f"grad_output[{i}] has a dtype of {gradient.dtype} and output[{i}] has a dtype of {meta_of(output)[1]}."
                )
        elif (type(output) is not Tensor or output.requires_grad) and math.prod(shape) != 1:
            text = "grad can be implicitly created only for scalar outputs"
            raise runtime_error(text, Code.IMPLICIT_GRADIENT_OF_MANY, shape=shape)
        elif (type(output) is not Tensor or output.requires_grad) and meta_of(output)[1].is_complex:
            dtype = meta_of(output)[1]
            raise runtime_error(f"grad can be implicitly created only for real scalar outputs but got {dtype}")
    if len(gradients) != len(outputs):
        raise runtime_error(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    for i, output in enumerate(outputs):
        if type(output) is Tensor and not output.requires_grad:
            raise no_graph_error(i)


def roots(outputs: Sequence[Target], gradients: Sequence[Tensor | None] | None) -> tuple[list[Edge], list[Tensor]]:
    """Where the walk starts: the edges of `outputs`, tensors or GradientEdges, and a gradient for each: 1 where None is given."""
    given: Sequence[Tensor | None] = [None] * len(outputs) if gradients is None else gradients
    if len(given) == len(outputs) == 1 and given[0] is None:
        first = outputs[0]
        if type(first) is Tensor and first.node is not None and first.array.size == 1 and not first.dtype.is_complex:  # a loss, most often
            one = np.array(1, first.dtype.np)
            return [first.edge()], [Tensor(one.reshape(first.array.shape) if first.array.ndim else one, first.dtype)]
    check_roots(outputs, given)
    grads: list[Tensor] = []
    for output, gradient in zip(outputs, given, strict=True):
        if gradient is None:
            shape, dtype = meta_of(output)
            gradient = Tensor(np.ones(shape, dtype.np), dtype)
        grads.append(gradient)
    edges = [edge_of(output) for output in outputs]
    for i, (node, _) in enumerate(edges):
        if type(node) is Nowhere:
            raise no_graph_error(i)
    return edges, grads


def own(value: Array, dtype: DType) -> Tensor:
    """A gradient array as a tensor that shares memory with nothing else."""
    shared = not COUNTED or getrefcount(value) > 4
    if type(value) is not np.ndarray:
        value = np.asarray(value)
    if shared or value.base is not None or not value.flags.writeable:
        value = memory_format.copy_of_view(value)
    return Tensor(value, dtype)


def call_node(node: Node, args: Sequence[Any]) -> Any:
    """`grad_fn(grad, ...)` by hand: the gradients of the inputs, as a tensor or a tuple of them.

    Recorded as any other computation while grad mode is on. An accumulator accumulates and returns ().
    """
    count = 1 if node.outputs is None else len(node.outputs)
    if len(args) != count:
        raise ProgramError("TypeError", f"expected {count} arguments, got {len(args)} instead")
    for i, arg in enumerate(args):
        if arg is not None and type(arg) is not Tensor:
            raise ProgramError("TypeError", f"argument {i} is not a Variable")
    if isinstance(node, AccumulateGrad):
        if args[0] is not None:
            value = args[0] if state.enabled else args[0].array  # a name, which `accumulate` counts
            accumulate(node.variable, value, state.enabled)
        return ()
    listed = node.listed
    results: list[Any] = [None] * len(node.edges)
    if any(a is not None for a in args):
        results = node.gradients(list(args), True, [edge[0] is not None for edge in node.edges])
    tensors = tuple(None if results[i] is None else namespaces.as_tensor(results[i]) for i in listed)
    return tensors[0] if len(tensors) == 1 else tensors
