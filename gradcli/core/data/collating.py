"""What a batch is made of: the samples put together, or one sample with tensors for its arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli import limits
from gradcli.core.calling.mappings import Mapping
from gradcli.core.calling.named_tuples import NamedTuple
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.data.datasets import sample_of, size_of
from gradcli.core.functions import catalog
from gradcli.core.ops.create.from_data import from_data
from gradcli.core.ops.shape.joining import stack
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error


def collate(batch: Any) -> Any:
    """Samples as a batch: tensors are stacked, numbers become a tensor, others are collated by element."""
    limits.evaluation.tick()
    if not batch:
        raise ProgramError("IndexError", "list index out of range")
    first = batch[0]
    if type(first) is Tensor:
        return stack(batch)
    if language.as_array(first) is not None:
        if language.as_number(first) is not None:
            return _as_tensor(batch)
        return stack([_as_tensor(sample) for sample in batch])
    if isinstance(first, float):
        return from_data(batch, dtypes.float64)
    if isinstance(first, int):
        return from_data(batch, None)
    if isinstance(first, str):
        return batch
    if isinstance(first, (dict, Mapping)):
        return _mapped(first, lambda key: collate([sample_of(sample, key) for sample in batch]))
    if isinstance(first, (list, tuple, range)):
        same = isinstance(first, NamedTuple) or all(size_of(sample) == len(first) for sample in batch)
        if not same:
            raise runtime_error("each element in list of batch should be of equal size")
        return _sequence(first, [collate(part) for part in zip(*map(language.iterate, batch), strict=False)])
    raise ProgramError(
        "TypeError",
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {language.type_repr(first)}",
    )


def convert(data: Any) -> Any:
    """The sample with tensors for its numpy arrays and scalars, which share their memory."""
    limits.evaluation.tick()
    if type(data) is not Tensor and language.as_array(data) is not None:
        return _as_tensor(data)
    if isinstance(data, (dict, Mapping)):
        return _mapped(data, lambda key: convert(data[key]))
    if isinstance(data, (list, tuple, range)):
        return _sequence(data, [convert(part) for part in data])
    return data


def _as_tensor(data: Any) -> Tensor:
    made: Tensor = catalog.function("as_tensor")(data)
    return made


def _mapped(like: Any, make: Callable[[Any], Any]) -> Any:
    """A mapping of the same type, with what `make` gives for each key."""
    made = like.copy()
    made.update({key: make(key) for key in like})
    return made


def _sequence(like: Any, parts: Sequence[Any]) -> Any:
    """The parts in a named tuple of the same type; of another sequence, in a list."""
    return type(like)(parts) if isinstance(like, NamedTuple) else list(parts)


default_collate = Routine(collate, "default_collate")
default_convert = Routine(convert, "default_convert")
