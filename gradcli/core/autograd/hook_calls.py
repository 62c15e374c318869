"""Calls of hooks by a backward walk, which loads this when it comes to a node that has hooks, or whose gradient is retained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.core.calling.type_errors import type_error
from gradcli.core.graph.clone import CONTIGUOUS
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.node import BEFORE, Node
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error

if TYPE_CHECKING:
    from gradcli.core.autograd.walk import Walk


def call_tensor_hooks(walk: Walk, node: Node, grads: list[Any]) -> None:
    """Run the tensor hooks in the order of registration, then keep what `retain_grad` asked for."""
    state.origin = walk.origin  # hooks count as called by backward, not by the step of the node
    for number, _, hook in list(node.hooks or ()):
        if number < 0:
            continue
        value = grads[number]
        if value is not None and not walk.traced and type(value) is not np.ndarray:
            value = grads[number] = np.array(value)  # a hook may write to it
        tensor = value if walk.traced or value is None else Tensor(value, node.meta(number)[1])
        with recording(walk.recorded):
            changed = hook(tensor)
        if changed is not None:
            check_replacement(hook, tensor, changed)
            grads[number] = changed if walk.traced else changed.array
    for number, tensor in (node.retained or {}).items():
        value = grads[number]
        if value is not None:
            known = tensor.grad
            if walk.traced:
                with recording(walk.recorded):
                    tensor.grad = CONTIGUOUS(value) if known is None else known + value
            else:  # never in place: the gradient travels on
                first = CONTIGUOUS.forward(value) if known is None else known.array + value
                tensor.grad = Tensor(first, tensor.dtype)


def call_node_hooks(walk: Walk, node: Node, which: int, changing: list[Any], fixed: Sequence[Any]) -> None:
    """Run the hooks of the node itself; what one returns takes the place of `changing`, the gradients that go on."""
    state.origin = walk.origin
    for number, _, hook in list(node.hooks or ()):
        if number != which:
            continue
        own = tuple([_shown(value) for value in changing])
        with recording(walk.recorded):
            changed = hook(own) if which is BEFORE else hook(own, tuple([_shown(value) for value in fixed]))
        if changed is None:
            continue
        if not isinstance(changed, tuple):
            raise type_error("expected tuple, but hook returned '{}'", changed)
        if len(changed) != len(own):
            name = getattr(hook, "name", "<unknown>")
            text = f"hook '{name}' has returned an incorrect number of values (got {len(changed)}, but expected {len(own)})"
            raise runtime_error(text)
        for i, (value, before) in enumerate(zip(changed, own, strict=True)):
            if value is not None:
                if before is None:
                    raise runtime_error("can't replace a None gradient with a non-None value")
                check_replacement(hook, before, value)
            changing[i] = value if value is None or walk.traced else value.array


def _shown(value: Any) -> Tensor | None:
    """A gradient as a tensor, for a hook."""
    if value is None or type(value) is Tensor:
        return value
    array = np.asarray(value)
    return Tensor(array, dtypes.of(array.dtype))


def check_replacement(hook: Any, tensor: Tensor, changed: Any) -> None:
    """Raise an error unless `changed`, which `hook` returned, is a tensor of the shape and dtype of the gradient that it replaces."""
    if type(changed) is not Tensor:
        raise type_error("expected Variable, but hook returned '{}'", changed)
    name = getattr(hook, "name", "function")
    if changed.dtype is not tensor.dtype:
        raise runtime_error(
            f"hook '{name}' has changed the type of value (was torch.{tensor.dtype.torch_name}Tensor got "
            f"torch.{changed.dtype.torch_name}Tensor)",
        )
    if changed.array.shape != tensor.array.shape:
        raise shape_error(f"hook '{name}' has changed the size of value")
