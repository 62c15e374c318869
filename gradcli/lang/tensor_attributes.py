"""What can be read from and assigned to a tensor, and its methods that are no tensor functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core import operators as core
from gradcli.core.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.values import Builtin, NumpyArray


def _transposed(swap_last: bool) -> Callable[[Tensor], Any]:
    def get(tensor: Tensor) -> Any:
        from gradcli.core import catalog

        if swap_last:
            return catalog.function("transpose")(tensor, -2, -1)
        return catalog.function("permute")(tensor, tuple(range(tensor.array.ndim))[::-1])

    return get


def _data(tensor: Tensor) -> Tensor:
    """The same storage without a past; writes to it are not counted as versions of the tensor."""
    return Tensor(tensor.array, tensor.dtype)


GETTERS: dict[str, Callable[[Tensor], Any]] = {
    "data": _data,
    "grad": lambda t: t.grad,
    "grad_fn": lambda t: t.grad_fn,
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "shape": lambda t: t.shape,
    "dtype": lambda t: t.dtype,
    "ndim": lambda t: t.array.ndim,
    "itemsize": lambda t: t.dtype.itemsize,
    "nbytes": lambda t: t.array.size * t.dtype.itemsize,
    "T": _transposed(False),
    "mT": _transposed(True),
    "retains_grad": lambda t: bool(t.property_of("retains_grad")),
    "output_nr": lambda t: t.output_nr,
    "_version": lambda t: t.version_number,
}


def _set_grad(tensor: Tensor, value: Any) -> None:
    if value is None:
        tensor.grad = None
        return
    if type(value) is not Tensor:
        from gradcli.lang.types import type_name

        raise ProgramError("TypeError", f"assigned grad expected to be a Tensor or None but got grad of type {type_name(value)}")
    if value is tensor:
        raise ProgramError("RuntimeError", "can't assign Variable as its own grad")
    if value.dtype is not tensor.dtype:
        raise ProgramError(
            "RuntimeError",
            f"attempting to assign a gradient with dtype '{value.dtype.c_name}' to a tensor with grad_dtype "
            f"'{tensor.dtype.torch_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). "
            "You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype "
            "with caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume they match.",
        )
    if value.array.shape != tensor.array.shape:
        raise ProgramError(
            "RuntimeError",
            f"attempting to assign a gradient of size '{list(value.array.shape)}' to a tensor of size "
            f"'{list(tensor.array.shape)}'. Please ensure that the gradient and the tensor are the same size",
        )
    tensor.grad = value


def _set_requires_grad(tensor: Tensor, value: Any) -> None:
    from gradcli.core import catalog

    if type(value) is not bool:
        raise ProgramError("RuntimeError", "requires_grad must be a bool")
    catalog.method("requires_grad_").method(tensor, (value,), {})


SETTERS: dict[str, Callable[[Tensor, Any], None]] = {
    "data": core.set_data,
    "grad": _set_grad,
    "requires_grad": _set_requires_grad,
}


def _numpy(tensor: Tensor) -> NumpyArray:
    if tensor.requires_grad:
        text = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        raise ProgramError("RuntimeError", text)
    return NumpyArray(tensor.array)


#: called with the tensor first
METHODS: dict[str, Callable[..., Any]] = {"numpy": Builtin("numpy", _numpy)}
