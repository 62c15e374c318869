"""Gradients that arrive at a leaf: they are added to `.grad`, and hooks are called after that."""

from __future__ import annotations

from sys import getrefcount, version_info
from typing import Any

import numpy as np

from gradcli.core.graph.namespaces import as_tensor
from gradcli.core.graph.pointwise import check_into
from gradcli.core.kernels import Array, blocks, memory_format
from gradcli.core.kernels.memory_format import followers, tell_followers
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error

#: whether a count of references tells that an object is shared: from Python 3.14 on the interpreter holds some that it does not count
COUNTED = version_info < (3, 14)


def _laid_out(variable: Tensor, gradient: Array, shared: bool = True, traced: bool = False) -> Array:
    """A first gradient with the strides of the variable, or in row-major order if it has gaps: a copy if the array is shared.

    A variable that got another shape in place since the gradient was asked for gets the gradient as it is where the strides agree, as in
    PyTorch (obeys_layout_contract in torch/csrc/autograd/utils/grad_layout_contract.h); else, and where the walk is recorded, the
    gradient is broadcast.
    """
    array = variable.array
    if gradient.strides == array.strides and gradient.shape == array.shape and array.flags.c_contiguous:
        made = gradient.copy() if shared else gradient
        if made.strides == array.strides:
            return made
    strides = memory_format.of_gradient(array)
    have = memory_format.element_strides(gradient)
    alike = gradient.shape == array.shape or not traced
    if alike and all(n == 1 or s == w for n, s, w in zip(gradient.shape, have, strides, strict=False)):
        if not shared:
            return gradient
        if 0 not in gradient.strides or gradient.shape != array.shape:  # an expanded gradient takes the strides of the variable
            return memory_format.copy_of_view(gradient)
    made = memory_format.empty(array.shape, strides, gradient.dtype)
    try:
        made[...] = gradient
    except ValueError:
        check_into(array, gradient)
        raise
    return made


def accumulate(variable: Tensor, value: Any, traced: bool) -> None:
    """Add `value` to `variable.grad`: in place where nothing is recorded, as a new tensor under create_graph.

    Raises RuntimeError for what was a leaf when the graph was made, and is none any more.
    """
    if variable.node is not None:
        raise runtime_error("leaf variable has been moved into the graph interior")
    known = variable.grad
    travels = traced and not (state.enabled or state.mapped or state.dual)  # a tensor of half precision, whose array others may share
    if travels:
        value, traced = as_tensor(value).array, False
    if known is None:
        if traced:
            gradient = as_tensor(value)
            if gradient.requires_grad:
                from gradcli.core.graph.clone import COPY  # needed only under create_graph

                variable.grad = COPY(None, gradient)
                variable.grad.array = _laid_out(variable, np.asarray(variable.grad.array), traced=True)
                variable.grad.counter().count = 1
            else:
                variable.grad = Tensor(_laid_out(variable, np.asarray(gradient.array), traced=True), variable.dtype)
        else:
            # an array that nothing else shares has three references: the walk's, this function's and getrefcount's
            alone = 3
            if type(value) is not np.ndarray:
                value, alone = np.asarray(value), 2  # a chain that is carried out may be let go
            shared = travels or not COUNTED or getrefcount(value) > alone or value.base is not None or not value.flags.writeable
            variable.grad = Tensor(_laid_out(variable, value, shared), variable.dtype)
        return
    if traced:
        variable.grad = known + as_tensor(value)
        return
    blocks.settle()
    array = np.asarray(known.array)
    try:
        add_in_place(array, value)
    except ValueError:
        check_into(array, np.asarray(value))
        raise
    if known.dtype is dtypes.bfloat16:
        array[...] = dtypes.round_bfloat16(array)
    if known.meta is not None and known.property_of("inference"):
        from gradcli.core.graph.write_checks import bump  # which refuses it outside of inference mode

        bump(known)
        return
    known.counter().count += 1
    if followers:
        tell_followers(array)


def add_in_place(array: Array, value: Any) -> None:
    """`array += value`. For one element, a sum that is made first and copied takes half of numpy's time."""
    if array.size == 1:
        array[...] = array + value
    else:
        np.add(array, value, out=array)


def call_after_accumulation(variable: Tensor) -> None:
    """Call the hooks of `register_post_accumulate_grad_hook`."""
    for _, hook in list(variable.property_of("after_accumulation") or ()):
        with recording(False):
            hook(variable)
