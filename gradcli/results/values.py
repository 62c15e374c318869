"""Values: tensors with what their text depends on, other values as data and text."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from gradcli.core.tensor.printing import PrintOptions, tensor_text, values_text
from gradcli.plain import Plain

Array = np.ndarray[Any, np.dtype[Any]]


class TensorValue(Plain):
    """A tensor: its numbers, the name of its dtype, and what its text depends on besides.

    `grad_fn` is the name of its node, `tangent` the text of its forward gradient, None for none. `options` are the print options
    and `default_dtype` the dtype that goes without saying when it was shown. With `uniform` a cell of equal elements says so.
    """

    array: Array
    dtype: str
    requires_grad: bool = False
    grad_fn: str | None = None
    is_parameter: bool = False
    tangent: str | None = None
    default_dtype: str = "float32"
    options: PrintOptions = PrintOptions()
    uniform: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self.array.shape)

    def repr(self) -> str:
        """PyTorch's own text. Raises LimitError where it would be too long, and ProgramError where PyTorch fails too."""
        return tensor_text(
            self.array,
            self.dtype,
            options=self.options,
            default_dtype=self.default_dtype,
            requires_grad=self.requires_grad,
            grad_fn=self.grad_fn,
            is_parameter=self.is_parameter,
            tangent=self.tangent,
        )

    def cell(self, **changes: float) -> str:
        """PyTorch's layout without `tensor(...)`, for tables. `changes` are print options that differ here. Raises what `repr` raises.

        Scientific only where the magnitude of a finite element is below 1e-4, and not 0, or from 1e6 on.
        """
        array = self.array
        if self.uniform and array.size > 1 and (array == array.flat[0]).all():
            one = self.replace(array=array.reshape(-1)[0]).cell(**changes)
            return f"all {one.rstrip('0') if '.' in one and 'e' not in one else one}"
        scientific = False
        if array.dtype.kind == "f":
            size = np.abs(array[np.isfinite(array) & (array != 0)])
            scientific = bool(size.size) and bool((size < 1e-4).any() or (size >= 1e6).any())
        return values_text(array, self.dtype, options=self.options.copy(sci_mode=scientific, **changes))


class PlainValue(Plain):
    """A value that is no tensor.

    `data` is the value in lists, dicts, strings, numbers and None, with tensors as nested lists. `text` is its repr, "" where it was
    not asked for.
    """

    data: object
    type_name: str
    text: str = ""

    def repr(self) -> str:
        """The text."""
        return self.text


Value = TensorValue | PlainValue


def npy(value: Value) -> bytes | None:
    """The numbers of a value as the content of an npy file; None for what is not all real numbers or booleans."""
    try:
        array = value.array if isinstance(value, TensorValue) else np.array(value.data)
    except ValueError:
        return None  # lists of different lengths
    if array.dtype.kind not in "biuf":
        return None
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


class Evaluation(Plain):
    """The value of an expression; `grad_fn` is the name of its node, None without one."""

    expression: str
    value: Value
    grad_fn: str | None
    requires_grad: bool


class Variable(Plain):
    """A name of the prompt and its value; the other fields are empty for a value that is no tensor."""

    name: str
    value: Value
    shape: str = ""
    requires_grad: str = ""
    grad_fn: str = ""
    grad: Value | None = None
