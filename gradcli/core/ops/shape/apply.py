"""Elements replaced in place by the results of a function: apply_, map_, map2_."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.type_errors import not_an_integer, not_callable, not_one_element, type_error
from gradcli.core.functions.function import Function, Sample, SingleArgument
from gradcli.core.ops.shape.broadcasting import expanded_shape
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error


def _number(value: Any, input: Tensor) -> Any:
    """A result of the function, as an element of the tensor. Raises TypeError for what is no number, RuntimeError for large numbers."""
    dtype = input.dtype
    whole = dtype.category < 2  # integers and bool
    if type(value) is Tensor:
        if whole and (value.dtype.category > 1 or value.array.size != 1):
            raise not_an_integer(value)
        if value.array.size != 1:
            raise not_one_element()
        value = value.item()
    allowed = (int, float, bool, complex) if dtype is dtypes.bool_ or dtype.is_complex else (int, float, bool)
    if type(value) not in allowed:
        raise not_an_integer(value) if whole else type_error("must be real number, not {}", value)
    if dtype is dtypes.bool_ or dtype.is_complex:
        return value
    if not whole:
        return float(value)
    if type(value) is int and not -1 << 63 <= value < 1 << 63:
        raise ProgramError("ValueError", "Overflow when unpacking long long")
    return scalar_of(value, dtype, dtype.name)


def _mapped(name: str, input: Tensor, others: Sequence[Tensor], function: Any) -> Tensor:
    """Write `function(element, ...)` over each element of `input`, with the elements of `others` at the same position."""
    if any(t.requires_grad for t in (input, *others)):
        raise runtime_error(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for t, called in zip(others, ("x", "y") if len(others) > 1 else ("other",), strict=False):
        if t.dtype is not input.dtype:
            what = f"{'argument ' if len(others) > 1 else ''}'{called}'"
            raise ProgramError("TypeError", f"{name}: expected {input.dtype.tensor_name} for {what} (got {t.dtype.tensor_name})")
    shape = input.array.shape
    # PyTorch raises errors of the last tensor first
    expanded = [np.broadcast_to(t.array, expanded_shape(t, shape)) for t in reversed(others)]
    arrays = [input.array, *reversed(expanded)]
    limits.check_list(input.array.size * len(arrays))
    if input.array.size and not callable(function):
        raise not_callable(function)
    for place in np.ndindex(shape):
        input.array[place] = _number(function(*[a[place].item() for a in arrays]), input)
    if input.dtype is dtypes.bfloat16:
        input.array[...] = dtypes.round_bfloat16(input.array)
    return input


def _mapping(name: str, signature: str, run: Callable[..., Tensor], doc: str, sample: str) -> Function:
    if name == "apply_":
        return SingleArgument(name, (signature, run), at="TensorBase", doc=doc, samples=(Sample(sample),), function=False)
    return Function(name, (signature, run), doc=doc, samples=(Sample(sample),), function=False)


FUNCTIONS = (
    _mapping(
        "apply_",
        "Tensor input, any callable",
        lambda a, f: _mapped("apply_", a, (), f),
        "Every element replaced by the result of a function of it.",
        "tensor([1., 2.]).apply_(lambda a: a + 1)",
    ),
    _mapping(
        "map_",
        "Tensor input, Tensor other, any callable",
        lambda a, b, f: _mapped("map_", a, (b,), f),
        "Every element replaced by the result of a function of it and of the element of another tensor.",
        "tensor([1., 2.]).map_(tensor([3., 4.]), lambda a, b: a * b)",
    ),
    _mapping(
        "map2_",
        "Tensor input, Tensor x, Tensor y, any callable",
        lambda a, b, c, f: _mapped("map2_", a, (b, c), f),
        "Every element replaced by the result of a function of it and of the elements of two other tensors.",
        "tensor([1., 2.]).map2_(tensor([3., 4.]), tensor([5., 6.]), lambda a, b, c: a * b + c)",
    ),
)
