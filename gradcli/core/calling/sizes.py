"""`torch.Size` of the numbers of a program."""

from __future__ import annotations

from collections.abc import Iterable

from gradcli.core.calling.type_errors import type_error
from gradcli.core.tensor.tensor import Size, Tensor


def size_of(items: Iterable[object]) -> Size:
    """The items as a torch.Size; tensors of one whole number are numbers. Raises TypeError for others."""
    made = []
    for position, item in enumerate(items):
        if type(item) is Tensor and item.array.size == 1 and not item.dtype.is_differentiable:
            made.append(int(item.item()))
        elif isinstance(item, int):
            made.append(int(item))
        else:
            raise type_error(f"torch.Size() takes an iterable of 'int' (item {position} is '{{}}')", item)
    return Size(made)
