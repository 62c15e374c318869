"""In-place forms of functions: the function computes out of place, and its result is written into the tensor.

The forms differ in what they check of operands in the memory of the tensor, and in which error comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.graph import in_place
from gradcli.core.graph.clone import CLONE
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.saved_arrays import Saved, SavedOfPart
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
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def apply(tensor: Tensor, compute: Callable[[Tensor], object]) -> Tensor:
    """An in-place operation: `compute` makes the new values from an alias of the tensor, out of place.

    The alias carries the tensor's place in the graph; a copy of its old values stays where the operation keeps them.
    """
    check_writable(tensor)
    hooks = state.saving
    if hooks is None:
        _apply(tensor, compute)
        return tensor
    state.set_saving(None)  # only after the write is it known what the node keeps
    try:
        node = _apply(tensor, compute)
    finally:
        state.saving, state.observed = hooks, True  # assigned directly: there might be no memory for a call
    if isinstance(node, OpNode):
        hooks.pack(node, (tensor,))
    return tensor


def _apply(tensor: Tensor, compute: Callable[[Tensor], Any]) -> Node | None:
    old = in_place.alias(tensor)
    if tensor.batch is not None:

        def of_old(array: Any) -> Any:
            old.array = array
            made = compute(old)
            check_fits(tensor, made)
            if made.node is not None:
                _keep_old_values(made.node, old)
            return made

        result: Tensor = tensor.batch.level.rewrite(tensor, of_old, apply)
    else:
        result = compute(old)
    if result.requires_grad and not tensor.requires_grad:
        check_writable(tensor, True)
    check_memory(tensor, result)
    check_fits(tensor, result)
    node = result.node
    if node is not None and tensor.batch is None:
        _keep_old_values(node, old)
    if result.array is not tensor.array and tensor.batch is None:
        in_place.store(tensor.array, result.array, tensor.dtype)
    bump(tensor)
    if state.dual is not None and result.dtype.is_differentiable:  # truth values leave a tangent as it is
        state.dual.write(tensor, state.dual.tangent_of(result))
    if node is not None:
        if node.dtype is not tensor.dtype and node.outputs is None:
            node.dtype, node.plain = tensor.dtype, False
        _rename_outputs(node, tensor)
        in_place.set_history(tensor, node)
    return node


def _keep_old_values(node: Any, old: Tensor) -> None:
    """A node that keeps the tensor as input needs its values from before, so PyTorch keeps a copy.

    Where the operation was given the tensor itself a second time, that one counts as modified.
    """
    saved = getattr(node, "saved", None)
    if saved is not None and any(s is old for s in saved):
        copy = CLONE(old)
        node.saved = [copy if s is old else s for s in saved]


def _rename_outputs(node: Any, tensor: Tensor) -> None:
    """A node that keeps its output keeps the written tensor, at the version after the write."""
    outs = getattr(node, "kept_out", None) or ()
    if tensor.view is not None and any(type(kept) is Saved for kept in outs):
        node.kept_out = [SavedOfPart(tensor, kept.number) for kept in outs]
        return
    for kept in outs:
        kept.array = tensor.array
        kept.dtype = tensor.dtype
        kept.version = tensor.counter()
        kept.expected = kept.version.count


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
        if warned and error.code in late:  # PyTorch finds these errors after it has warned
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
