"""What a node keeps besides its inputs: its own outputs, and data such as indices and masks. Writing to it before backward is an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, Version


class Watched(np.ndarray[Any, Any]):
    """The values of a tensor that remember its version. What is computed from them is an ordinary array."""

    version: Version | None
    expected: int

    def __array_finalize__(self, source: Any) -> None:
        self.version = getattr(source, "version", None)
        self.expected = getattr(source, "expected", 0)

    def __array_wrap__(self, made: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return made[()] if return_scalar else np.asarray(made)

    @property
    def count(self) -> int:
        """How often the tensor has been written to by now."""
        return self.expected if self.version is None else self.version.count

    @property
    def is_current(self) -> bool:
        """Whether nothing was written since."""
        return self.count == self.expected


def watched(tensor: Tensor) -> Array:
    """The tensor's values, for a node to keep; plain where nothing is recorded."""
    if not state.enabled or tensor.batch is not None:
        return tensor.array
    made: Watched = tensor.array.view(Watched)
    made.version = tensor.counter()
    made.expected = made.version.count
    return made


class Saved:
    """An output kept by its own node: without the tensor itself, which would make a cycle."""

    __slots__ = ("array", "dtype", "version", "expected", "number")

    def __init__(self, tensor: Tensor, number: int) -> None:
        self.array = tensor.array
        self.dtype = tensor.dtype
        self.version = tensor.counter()
        self.expected = self.version.count
        self.number = number


class SavedOfPart(Saved):
    """An output of an operation that wrote to a view: its node stands within that of the base."""

    __slots__ = ()


class SavedDual(Saved):
    """An output that has a tangent."""

    __slots__ = ("tangent",)

    def __init__(self, tensor: Tensor, number: int, tangent: Any) -> None:
        super().__init__(tensor, number)
        self.tangent = tangent

    def dress(self, tensor: Tensor) -> None:
        """Give the output, as it comes back, its tangent."""
        tensor.set_property("tangent", self.tangent)
