"""In-place forms of functions: what they check of operands in the memory of the tensor, and which error comes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.graph.in_place import apply
from gradcli.core.graph.write_checks import (
    bump,
    check_fits,
    check_memory,
    check_order,
    check_overlap,
    check_unread,
    check_writable,
    expanded,
    result_dtype_error,
    shares_places,
)
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def apply_apart(tensor: Tensor, operands: Sequence[Any], compute: Callable[[Tensor], object], overlap: str | None) -> Tensor:
    """As `apply`, where operands share memory with the tensor. Raises RuntimeError for what a function with this `overlap` refuses."""

    def checked(old: Tensor) -> object:
        if overlap == "partial":
            for operand in operands:
                if type(operand) is Tensor:
                    check_overlap(tensor, operand)
        result = compute(old)
        if overlap == "any":
            check_apart(tensor, operands)
        elif overlap == "partial":
            fits = type(result) is not Tensor or result.array.shape == tensor.array.shape  # else that is the error
            for operand in operands:
                if type(operand) is Tensor and fits:
                    check_order(tensor, operand)
        elif overlap is None:
            check_unread(tensor, operands)
        return result

    return apply(tensor, checked)


def check_apart(tensor: Tensor, operands: Sequence[Any]) -> None:
    """Raise RuntimeError where elements of the tensor share memory, among themselves or with an operand."""
    check_memory(tensor)
    for operand in operands:
        if type(operand) is Tensor:
            check_overlap(tensor, operand, apart=True)


def fill(tensor: Tensor, compute: Callable[[Tensor], Any], name: str) -> Tensor:
    """An operation such as `masked_fill_` and `tril_`, whose elements may share memory: one that is written changes the others too."""
    if not shares_places(tensor.array):
        return apply(tensor, compute)
    check_writable(tensor)
    warned = name in ("masked_fill_", "index_fill_")
    try:
        result = compute(Tensor(tensor.array, tensor.dtype))
    except ProgramError as error:
        late = (Code.OUT_OF_RANGE, Code.NUMBER_TOO_LARGE, *((Code.SHAPE,) if name == "index_fill_" else ()))
        if warned and error.code in late:  # which PyTorch finds after it has warned
            warnings.emit(expanded(name))
        raise
    if warned:
        warnings.emit(expanded(name))
    check_fits(tensor, result)
    if tensor.requires_grad or result.requires_grad:
        raise runtime_error(f"{name} of an expanded tensor with a gradient is not part of gradcli")
    filled = result.array != tensor.array
    if tensor.dtype.is_floating_point:
        filled |= np.signbit(result.array) != np.signbit(tensor.array)
    tensor.array[filled] = result.array[filled]
    bump(tensor)
    return tensor


#: what functions say of an in-place form whose result does not fit the dtype, from the names of result and tensor
_OWN_TEXTS = {
    "ldexp": "ldexp can't be cast to the desired output type {tensor.torch_name}",
    "mvlgamma": "mvlgamma: result type {tensor.torch_name} can't be cast to the desired output type {result.torch_name}",
    **dict.fromkeys(
        ("clamp", "clamp_min", "clamp_max"), "result type {result.torch_name} can't be cast to the desired output type {tensor.c_name}"
    ),
}


def first_error(error: ProgramError, operator: str, tensor: Tensor, operands: Sequence[Any]) -> ProgramError:
    """The error that PyTorch raises for an in-place form whose computation has ended with `error`.

    It looks at memory, shape and dtype of the tensor before the kernel at the dtype of its operands.
    """
    if error.code is Code.NO_KERNEL and tensor.dtype.is_complex:
        from gradcli.core.calling import complex_refusals  # most tensors are real

        if complex_refusals.before_checks(error.names[0]):
            return error
    others = [t for t in operands if type(t) is Tensor]
    # the first one only: others, and all beside a tensor, are factors of the operand
    counted: Sequence[Any] = () if others or error.code is not Code.AFTER_CHECKS else operands[:1]
    if operator.startswith(("bitwise", "clamp")):
        counted = operands
    result = dtypes.result_type((tensor, *others, *(n for n in counted if type(n) in (int, float, bool, complex))))
    if error.code in (Code.RESULT_DTYPE, Code.SHARED_MEMORY):
        result = dtypes.get_default() if operator in ("mvlgamma", "ldexp") else result
        of_numbers = not others or any(type(one) in (int, float) for one in operands)  # a bound may be a tensor beside a number
        text = _OWN_TEXTS.get(operator, "") if of_numbers or operator == "ldexp" else ""
        if not text or result.category <= tensor.dtype.category:
            return error
        return runtime_error(text.format(result=result, tensor=tensor.dtype), Code.RESULT_DTYPE)
    try:
        check_memory(tensor)
        shape = np.broadcast_shapes(tensor.array.shape, *(t.array.shape for t in others))
        if shape != tensor.array.shape:
            return shape_error(f"output with shape {list(tensor.array.shape)} doesn't match the broadcast shape {list(shape)}")
    except ValueError:
        return error
    except ProgramError as first:
        return first
    compares = operator in ("lt", "le", "gt", "ge")
    return result_dtype_error(result.torch_name, tensor.dtype) if result.category > tensor.dtype.category and not compares else error
