"""Several small parameters as one row of numbers, which an optimiser that treats each element by itself updates at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.core.optim import fused_arithmetic
from gradcli.core.tensor.tensor import Tensor

#: fewer parameters are updated one by one
_FEW = 4


class Row:
    """Parameters with gradients, the state of each, and a tensor and a state that stand for all of them."""

    def __init__(self, params: Sequence[Tensor], states: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
        self.params = params
        self.states = states
        dtype = params[0].dtype
        self.param = Tensor(np.concatenate([param.array.ravel() for param in params]), dtype)
        self.param.grad = Tensor(np.concatenate([param.grad.array.ravel() for param in params]), dtype)  # type: ignore[union-attr]
        self.state = {name: Tensor(np.concatenate([state[name].array.ravel() for state in states]), dtype) for name in names}

    def spread(self) -> None:
        """Write to the parameters and their states what was computed for all of them."""
        at = 0
        writes = self.param.counter().count
        for param, state in zip(self.params, self.states, strict=True):
            shape, end = param.array.shape, at + param.array.size
            param.array[...] = self.param.array[at:end].reshape(shape)
            param.counter().count += writes
            for name, tensor in self.state.items():
                state[name].array[...] = tensor.array[at:end].reshape(shape)
            at = end


def row_of(params: Sequence[Tensor], states: Mapping[Any, dict[str, Any]]) -> Row | None:
    """The row of those parameters that have a gradient, from the states of parameters.

    None where there are few of them or many elements, and where their states, steps, dtypes or memory are not alike: a state that the first
    step has not made yet, steps that were not counted together, tensors that may share memory.
    """
    params = [param for param in params if param.grad is not None]
    if len(params) < _FEW or not params[0].dtype.is_plain:
        return None
    alike = [state for param in params if type(state := states.get(param)) is dict and state]
    if len(alike) < len(params):
        return None
    dtype = params[0].array.dtype
    step = alike[0].get("step")
    if type(step) is not Tensor or not all(type(name) is str for state in alike for name in state):
        return None
    count, elements = step.array.item(), 0
    names = [name for name in alike[0] if name != "step"]
    #: the arrays that own the memory, by id
    owners: set[int] = set()
    for param, state in zip(params, alike, strict=True):
        elements += param.array.size
        if elements > fused_arithmetic.FUSED or state.keys() != alike[0].keys():
            return None
        if type(state["step"]) is not Tensor or state["step"].array.shape or state["step"].array.item() != count:
            return None
        tensors = [param, param.grad, *[state[name] for name in names]]
        for tensor in tensors:
            if type(tensor) is not Tensor:
                return None
            array = tensor.array
            owner = array if array.base is None else array.base
            if type(owner) is not np.ndarray or array.dtype is not dtype or array.shape != param.array.shape:
                return None
            owners.add(id(owner))
    return Row(params, alike, names) if len(owners) == len(params) * (2 + len(names)) else None
