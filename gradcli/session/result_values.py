"""Values as results: tensors with PyTorch's text and the text of table cells, other values as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.tensor import printing
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import tensor_repr
from gradcli.errors import LimitError
from gradcli.lang.values.type_names import type_name
from gradcli.results import Array, PlainValue, TensorValue, Value


def shown(tensor: Tensor) -> TensorValue:
    """A tensor to be shown."""
    array = np.asarray(tensor.array)  # large ones may still wait to be computed
    return TensorValue(array, tensor.dtype.name, lambda: tensor_repr(tensor), lambda: _cell(array, tensor.dtype.name))


def result(value: Any, text: Callable[[Any], str]) -> Value:
    """Any value to be shown; `text` gives the text of what is no tensor."""
    if type(value) is Tensor:
        return shown(value)
    return PlainValue(plain(value, text), type_name(value), lambda: text(value))


def _cell(array: Array, dtype: str) -> str:
    """Torch's layout without `tensor(...)`; scientific only where a finite nonzero magnitude is below 1e-4 or from 1e6 on."""
    scientific = False
    if array.dtype.kind == "f":
        size = np.abs(array[np.isfinite(array) & (array != 0)])
        scientific = bool(size.size) and bool((size < 1e-4).any() or (size >= 1e6).any())
    options = printing.options.copy(sci_mode=scientific)
    return printing.values_text(array, dtype, options=options)


def plain(value: Any, text: Callable[[Any], str]) -> object:
    """A value as JSON has it: tensors as nested lists, what has no counterpart as its `text`.

    Raises LimitError when it is nested too deeply, or has more items than a list may have: what is shared is written out.
    """
    return _Plain(text).of(value, 0)


class _Plain:
    """One value written out."""

    __slots__ = ("_count", "_text")

    def __init__(self, text: Callable[[Any], str]) -> None:
        self._text = text
        self._count = 0

    def of(self, value: Any, depth: int) -> object:
        """`value`, which is inside so many others."""
        self._count += 1
        if self._count > limits.current.list:
            limits.check_list(self._count)
        if depth > limits.current.nesting:
            raise LimitError("nesting", f"a value nested deeper than {limits.current.nesting:,.0f} is over the limit")
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if type(value) is Tensor:
            return value.tolist()
        if isinstance(value, (list, tuple, range)):
            return [self.of(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {key if isinstance(key, str) else self._text(key): self.of(item, depth + 1) for key, item in value.items()}
        return self._text(value)
