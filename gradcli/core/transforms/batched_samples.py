"""Batched tensors and their samples, and what is in force while the tensors of all samples are computed with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.graph.record import Op
from gradcli.core.ops.shape.slicing import SELECT
from gradcli.core.ops.shape.squeeze import UNSQUEEZE
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.batched import BatchedArray, Level
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.transforms.batched_results import joined


class Outside:
    """What is in force while the values of a level's batched tensors are computed with: the transforms that the level is inside of."""

    __slots__ = ("before", "level")

    def __init__(self, level: Level) -> None:
        self.level = level
        self.before: tuple[Any, ...] = ()

    def __enter__(self) -> None:
        level = self.level
        self.before = state.enabled, state.within, state.transforms, state.mapped
        for inner in (state.within or {"levels": ()})["levels"]:
            if inner.number > level.number and inner.recorded is not None:  # it records whether or not the level is to be recorded
                state.enabled = inner.recorded
                break
        state.within = level.within
        state.transforms = state.transforms[: max(level.number, 1) - 1]
        state.mapped = tuple(other for other in state.mapped if other.number < level.number)

    def __exit__(self, *_: object) -> None:
        state.enabled, state.within, state.transforms, state.mapped = self.before


def wrap(value: Tensor, dim: int | None, level: Any) -> Tensor:
    """The tensor that the function inside sees of `value`, which has the batch in dimension `dim`."""
    return Tensor(BatchedArray(value, dim, level), value.dtype)  # type: ignore[arg-type]


def tensor_of(array: Any) -> Tensor:
    return Tensor(array, dtypes.of(array.dtype))


def is_of(value: Any, level: Level) -> bool:
    return type(value) is Tensor and value.batch is not None and value.batch.level is level


def front(tensor: Tensor, rank: int | None = None) -> Tensor:
    """The values of a batched tensor with the batch first, and `rank` further dimensions."""
    array: Any = tensor.array
    value: Tensor = array.value
    if array.dim is None:
        return value
    if array.dim:
        value = catalog.function("movedim")(value, array.dim, 0)
    for _ in range(0 if rank is None else rank - array.ndim):
        value = UNSQUEEZE(value, 1)
    return value


def sample(value: Any, level: Level, number: int) -> Any:
    """One sample of a batched tensor or array, and of those in lists and tuples; of an empty batch a sample of zeros."""
    kind: Any = type(value)
    if kind is BatchedArray:
        return sample(tensor_of(value), level, number).array if value.level is level else value
    if kind is list or kind is tuple:
        return kind([sample(one, level, number) for one in value])
    if not is_of(value, level):
        return value
    array: Any = value.array
    if array.dim is None:
        return array.value
    if not level.size:
        return Tensor(np.zeros(array.shape, value.dtype.np), value.dtype)
    return SELECT(array.value, array.dim, number)


def samples(value: Any, level: Level) -> Sequence[Any]:
    """All samples of a batched tensor; the value itself for each, where it is none."""
    count = max(level.size, 1)
    if not is_of(value, level) or value.batch.dim is None or not level.size:
        return [sample(value, level, 0)] * count
    whole: Tensor = value.batch.value
    if whole.batch is not None or state.dual is not None or (whole.requires_grad and state.enabled):
        return [sample(value, level, number) for number in range(count)]
    arrays = np.moveaxis(whole.array, value.batch.dim, 0)
    return [Tensor(arrays[number, ...], whole.dtype) for number in range(count)]


def varies(value: Any, level: Level) -> bool:
    """Whether a value is batched at the level, or has parts that are."""
    if isinstance(value, (list, tuple)):
        return any(varies(one, level) for one in value)
    array = value.array if type(value) is Tensor else value
    return type(array) is BatchedArray and array.level is level and array.dim is not None


def joined_samples(results: Sequence[Tensor], level: Level) -> Tensor:
    """The results of all samples, with the batch first; of an empty batch, whose only sample is one of zeros, no elements."""
    if not level.size:
        return Tensor(np.zeros((0, *results[0].array.shape), results[0].dtype.np), results[0].dtype)
    return joined(results)


def finish(op: Op, outs: tuple[Tensor, ...], inputs: Sequence[Any], attrs: tuple[Any, ...], level: Level) -> None:
    """Give batched results the node and the tangents that they have within the level."""
    several = outs if op.outputs else ()
    if state.enabled:
        op.record(outs[0], inputs, attrs, several, [value if is_of(value, level) else None for value in inputs])
    if state.dual is not level.dual and state.dual is not None:
        state.dual.push(op, inputs, attrs, several or outs[:1])
