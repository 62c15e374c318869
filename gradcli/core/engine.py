"""Backward as it is called: where the walk begins, and what becomes of the gradients that it finds."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from gradcli.core import namespace, warnings
from gradcli.core.graph import AccumulateGrad, Edge, Node, state
from gradcli.core.tensor import Array, Tensor
from gradcli.core.walk import Capture, Walk, accumulate, call_after_accumulation
from gradcli.errors import ProgramError


def backward(
    tensors: Sequence[Tensor],
    gradients: Sequence[Tensor | None] | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
    capture: Capture | None = None,
) -> None:
    """`torch.autograd.backward`: accumulate gradients into the leaves (into `inputs` only, where given).

    `capture`, a dict, receives the gradient of every node of the graph as lists of arrays, one per output.
    """
    if inputs is not None and len(inputs) == 0:
        raise ProgramError("RuntimeError", "`inputs` argument to `backward()` cannot be empty.")
    edges, grads = roots(tensors, gradients)
    if create_graph:
        warnings.emit(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
            "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
            "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid "
            "the leak. (Triggered internally at /__w/pytorch/pytorch/torch/csrc/autograd/engine.cpp:1307.)",
            once="create_graph",
        )
    keep = create_graph if retain_graph is None else retain_graph
    walk = Walk(keep, create_graph, capture)
    if inputs is None:
        walk.run(edges, grads)
        return
    targets = []
    for tensor in inputs:
        retain_grad(tensor)
        targets.append(tensor.edge())
    found = walk.run(edges, grads, targets)
    for tensor, value in zip(inputs, found, strict=True):
        if value is not None and tensor.node is None:  # of the others the walk has kept the gradient
            accumulate(tensor, value, create_graph)
            call_after_accumulation(tensor)


def retain_grad(tensor: Tensor) -> None:
    """Keep the gradient of a computed tensor in `.grad` from now on; nothing to do for a leaf."""
    if not tensor.requires_grad:
        raise ProgramError("RuntimeError", "can't retain_grad on Tensor that has requires_grad=False")
    node = tensor.grad_fn
    if node is None or tensor.property_of("retains_grad"):
        return
    tensor.set_property("retains_grad", True)
    if node.retained is None:
        node.retained = {}
        node.plain = False
    node.retained[tensor.output_nr] = tensor


def grad(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    gradients: Sequence[Tensor | None] | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """`torch.autograd.grad`: the gradients of `inputs`, returned; `.grad` stays as it is."""
    if not inputs:
        raise ProgramError("RuntimeError", "`inputs` argument to `grad()` cannot be empty.")
    edges, grads = roots(outputs, gradients)
    targets = []
    for tensor in inputs:
        if not tensor.requires_grad:
            raise ProgramError("RuntimeError", "One of the differentiated Tensors does not require grad")
        targets.append(tensor.edge())
    keep = create_graph if retain_graph is None else retain_graph
    found = Walk(keep, create_graph, None).run(edges, grads, targets)
    if allow_unused is None:
        allow_unused = materialize_grads
    result: list[Tensor | None] = []
    for i, (tensor, value) in enumerate(zip(inputs, found, strict=True)):
        if value is None and not allow_unused:
            raise ProgramError(
                "RuntimeError",
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior.",
            )
        if value is None and materialize_grads:
            value = Tensor(np.zeros(tensor.array.shape, tensor.dtype.np), tensor.dtype)
        result.append(value if value is None or create_graph or type(value) is Tensor else own(value, tensor))
    return tuple(result)


def roots(tensors: Sequence[Tensor], gradients: Sequence[Tensor | None] | None) -> tuple[list[Edge], list[Tensor]]:
    """Where the walk starts: the edges of `tensors` and a gradient for each, checked as PyTorch checks them."""
    given: Sequence[Tensor | None] = [None] * len(tensors) if gradients is None else gradients
    if len(given) != len(tensors):
        raise ProgramError("RuntimeError", f"got {len(tensors)} tensors and {len(given)} gradients")
    grads: list[Tensor] = []
    for i, (tensor, gradient) in enumerate(zip(tensors, given, strict=True)):
        if gradient is not None:
            if gradient.array.shape != tensor.array.shape:
                raise ProgramError(
                    "RuntimeError",
                    f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] has a shape of {tensor.shape}.",
                )
            grads.append(gradient)
            continue
        if tensor.requires_grad:
            if tensor.array.size != 1:
                raise ProgramError("RuntimeError", "grad can be implicitly created only for scalar outputs")
            one = np.array(1, tensor.dtype.np)
            grads.append(Tensor(one.reshape(tensor.array.shape) if tensor.array.ndim else one, tensor.dtype))
        else:
            grads.append(tensor)
    edges = []
    for i, tensor in enumerate(tensors):
        if not tensor.requires_grad:
            raise ProgramError("RuntimeError", f"element {i} of tensors does not require grad and does not have a grad_fn")
        edges.append(tensor.edge())
    return edges, grads


def own(value: Array, tensor: Tensor) -> Tensor:
    """A gradient array as a tensor that shares memory with nothing else."""
    shared = getrefcount(value) > 4
    if type(value) is not np.ndarray:
        value = np.asarray(value)
    if shared or value.base is not None or not value.flags.writeable:
        value = np.array(value)
    return Tensor(value, tensor.dtype)


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
            accumulate(node.variable, args[0] if state.enabled else args[0].array, state.enabled)
        return ()
    listed = node.listed
    results: list[Any] = [None] * len(node.edges)
    if any(a is not None for a in args):
        results = node.gradients(list(args), True, [edge[0] is not None for edge in node.edges])
    tensors = tuple(None if results[i] is None else namespace.as_tensor(results[i]) for i in listed)
    return tensors[0] if len(tensors) == 1 else tensors
