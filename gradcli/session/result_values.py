"""Values as results: tensors with what their text depends on, other values as plain data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcli import limits
from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import grad_fn_name, tangent_text
from gradcli.errors import LimitError
from gradcli.lang.python.dicts_and_sets import range_length
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.value_classes import NumpyValue
from gradcli.results.values import PlainValue, TensorValue, Value

Text = Callable[[object], str]


def tensor_value(tensor: Tensor) -> TensorValue:
    """A tensor as it is now, with the print options and the default dtype that are in force."""
    return TensorValue(
        np.asarray(tensor.array),  # large ones may still wait to be computed
        tensor.dtype.name,
        tensor.requires_grad,
        None if tensor.node is None and tensor.view is None else grad_fn_name(tensor),
        tensor.is_parameter,
        tangent_text(tensor),
        dtypes.get_default().name,
        printing.options,
        False,
    )


def result_value(value: object, text: Text, shown: Text | None) -> Value:
    """Any value; `text` gives the repr of what JSON has no counterpart for, `shown` the text of what is no tensor, if it is wanted.

    Raises LimitError for what is nested too deeply, and for more items than a list may have: what is shared is written out.
    """
    if type(value) is Tensor:
        return tensor_value(value)
    return PlainValue(_Data(text).of(value, 0), type_name(value), "" if shown is None else shown(value))


#: longer ranges are their texts in JSON too
_LONGEST_RANGE = 1_000_000


class _Data:
    """One value as JSON has it: tensors as nested lists, what has no counterpart as its text."""

    __slots__ = ("_count", "_text")

    def __init__(self, text: Text) -> None:
        self._text = text
        self._count = 0

    def of(self, value: object, depth: int) -> object:
        """`value`, which is inside of `depth` others."""
        self._count += 1
        if self._count > limits.current.list:
            limits.check_list(self._count)
        if depth > limits.current.nesting:
            raise LimitError("nesting", f"a value nested deeper than {limits.current.nesting:,.0f} is over the limit")
        if isinstance(value, NumpyValue):
            array = value.as_array()
            return self._text(value) if array is None else array.tolist()
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if type(value) is Tensor:
            return value.tolist()
        if isinstance(value, range):
            return self._range(value)
        if isinstance(value, (list, tuple)):
            return [self.of(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {key if isinstance(key, str) else self._text(key): self.of(item, depth + 1) for key, item in value.items()}
        return self._text(value)

    def _range(self, value: range) -> object:
        length = range_length(value)
        self._count += length
        limits.check_list(self._count)
        return list(value) if length <= _LONGEST_RANGE else self._text(value)
