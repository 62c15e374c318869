"""Several small parameters as one row of numbers, which an optimiser that treats each element by itself updates at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter, is_
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.optim import fused_arithmetic
from gradcli.core.tensor.tensor import Tensor

#: fewer parameters are updated one by one
_FEW = 4
#: an optimiser keeps so many rows at most
_KEPT = 64

_array = attrgetter("array")


def _owner(array: Array) -> int:
    """The id of the array that owns the memory; 0 where no array does."""
    owner = array if array.base is None else array.base
    return id(owner) if type(owner) is np.ndarray else 0


class Row:
    """Parameters with gradients, the state of each, and a tensor and a state that stand for all of them."""

    def __init__(self, params: Sequence[Tensor], states: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
        self.params = params
        self.states = states
        #: all tensors of the states, and the counts of steps among them
        self._held = [tensor for state in states for tensor in state.values()]
        self._counts = [state["step"] for state in states]
        self.steps: list[Array] = list(map(_array, self._counts))
        self._tensors = [*params, *[state[name] for name in names for state in states]]
        self._arrays = list(map(_array, self._tensors))
        self._owners = list(map(_owner, self._arrays))
        dtype = params[0].dtype
        ends = np.cumsum([param.array.size for param in params]).tolist()
        made = [Tensor(np.empty(ends[-1], dtype.np), dtype) for _ in range(2 + len(names))]
        self.param, self.param.grad, *others = made
        self.state = dict(zip(names, others, strict=True))
        #: of the parameters and of each name in the states: the arrays as rows, the row of all, and the part of each in it
        self._columns: list[tuple[list[Array], Array, list[Array]]] = []
        for k, tensor in enumerate((self.param, *others)):
            views = [array.reshape(-1) for array in self._arrays[k * len(params) : (k + 1) * len(params)]]
            self._columns.append((views, tensor.array, np.split(tensor.array, ends[:-1])))

    def holds(self, params: Sequence[Tensor], states: Mapping[Any, dict[str, Any]]) -> bool:
        """Whether it is the row of these parameters: they and their states have the same tensors in the same memory as when it was made."""
        if (
            len(params) != len(self.params)
            or not all(map(is_, params, self.params))
            or not all(map(is_, map(states.get, params), self.states))
        ):
            return False
        held = [*chain.from_iterable([state.values() for state in self.states])]
        if (
            len(held) != len(self._held)
            or not all(map(is_, held, self._held))
            or not all(map(is_, map(_array, self._tensors), self._arrays))
        ):
            return False
        return all(map(is_, map(_array, self._counts), self.steps)) and len({array.item() for array in self.steps}) == 1

    def gather(self) -> bool:
        """Copy parameters, gradients and states into the row; False where a gradient is of another kind, or shares memory."""
        gradients: list[Array] = []
        owners = set(self._owners)
        for param in self.params:
            array = param.grad.array  # type: ignore[union-attr]
            if array.dtype is not param.array.dtype or array.shape != param.array.shape:
                return False
            owners.add(_owner(array))
            gradients.append(array.ravel())
        if len(owners) != len(self._arrays) + len(gradients) or 0 in owners:
            return False
        for views, whole, _ in self._columns:
            np.concatenate(views, out=whole)
        np.concatenate(gradients, out=self.param.grad.array)  # type: ignore[union-attr]
        self.param.counter().count = 0
        return True

    def spread(self) -> None:
        """Write to the parameters and their states what was computed for all of them."""
        for views, _, parts in self._columns:
            for view, part in zip(views, parts, strict=True):
                view[:] = part
        writes = self.param.counter().count
        for param in self.params:
            param.counter().count += writes


def row_of(params: Sequence[Tensor], states: Mapping[Any, dict[str, Any]], rows: dict[int, Row]) -> Row | None:
    """The row of those parameters that have a gradient, from the states of parameters; `rows` are those of earlier steps.

    None where there are few of them or many elements, and where their states, steps, dtypes or memory are not alike: a state that the first
    step has not made yet, steps that were not counted together, tensors that may share memory.
    """
    if len(params) < _FEW:
        return None
    params = [param for param in params if param.grad is not None]
    if len(params) < _FEW:
        return None
    row = rows.get(id(params[0]))
    if row is None or not row.holds(params, states):
        row = _made(params, states)
        if row is None:
            return None
        if len(rows) == _KEPT:
            rows.clear()
        rows[id(params[0])] = row
    return row if row.gather() else None


def _made(params: Sequence[Tensor], states: Mapping[Any, dict[str, Any]]) -> Row | None:
    if not params[0].dtype.is_plain or sum(param.array.size for param in params) > fused_arithmetic.FUSED:
        return None
    alike = [state for param in params if type(state := states.get(param)) is dict and state]
    if len(alike) < len(params) or not all(type(one) is Tensor for state in alike for one in state.values()):
        return None
    if any(not all(type(name) is str for name in state) or state.keys() != alike[0].keys() for state in alike) or "step" not in alike[0]:
        return None
    if len({state["step"].array.item() if not state["step"].array.shape else state["step"] for state in alike}) > 1:
        return None
    names = [name for name in alike[0] if name != "step"]
    dtype = params[0].array.dtype
    owners: set[int] = set()
    for param, state in zip(params, alike, strict=True):
        for tensor in (param, *[state[name] for name in names]):
            array = tensor.array
            if (
                type(array) is not np.ndarray
                or array.dtype is not dtype
                or array.shape != param.array.shape
                or not array.flags.c_contiguous
            ):
                return None
            owners.add(_owner(array))
    return Row(params, alike, names) if len(owners) == len(params) * (1 + len(names)) and 0 not in owners else None
