"""What autograd knows of a tensor, as scripts read and change it: requires_grad, grad, data, detach."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.autograd import backward
from gradcli.core.calling import warnings
from gradcli.core.calling.signature import language
from gradcli.core.kernels import Array
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import note_detached
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def detach(input: Tensor) -> Tensor:
    """The same values outside the graph: shares memory and version, never requires grad."""
    array: Any = input.array
    made = Tensor(array.of(detach(array.value)) if input.batch is not None else array, input.dtype)
    made.version = input.counter()
    if input.meta is not None or state.within is not None:
        _inherit(made, input)
    return made


def _inherit(made: Tensor, source: Tensor) -> None:
    """Give a tensor that shares memory the properties of its source. Outside of inference mode it counts writes of its own."""
    made.inherit(source, "inference", "conj", "neg")
    if made.property_of("inference") and not state.inference:
        made.version = None
        made.set_property("counted", True)


def _is_sample(tensor: Tensor) -> bool:
    """Whether a tensor is a sample of the transform that is running, a vmap."""
    return state.transforms[-1:] == ("vmap",) and bool(state.mapped[-1].levels(tensor))


def check_no_view(tensor: Tensor) -> None:
    """Raise RuntimeError for a tensor that cannot be detached in place: a view, or a sample of vmap, which is one of its batch."""
    sample = _is_sample(tensor)
    if sample:
        from gradcli.core.graph.write_checks import FALLBACK

        warnings.emit(FALLBACK.format("detach_"))
    if tensor.view is not None or sample:
        raise runtime_error(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and "
            "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
            "torch/optim/optimizer.py as the solution.",
        )


def detach_(self: Tensor) -> Tensor:
    """Cut the tensor itself out of the graph. Nothing happens in inference mode, in which PyTorch leaves the graph alone."""
    if state.inference:
        return self
    check_no_view(self)
    if self.node is not None:
        note_detached(self)
    self.node = None
    self.output_nr = 0
    self.requires_grad = False
    if state.dual is not None:
        self.set_property("tangent", None)
        self.array = np.asarray(self.array)
    return self


def read_data(tensor: Tensor) -> Tensor:
    """`.data`: the same values with a version of their own, so that edits go unnoticed. Raises RuntimeError for a sample of vmap."""
    if _is_sample(tensor):
        raise runtime_error("accessing `data` under vmap transform is not allowed")
    made = Tensor(tensor.array, tensor.dtype)
    if tensor.meta is not None:
        _inherit(made, tensor)
    return made


_ONLY_LEAVES = "you can only change requires_grad flags of leaf variables."
_DETACH_INSTEAD = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
)


def retain_grad(tensor: Tensor) -> None:
    """`tensor.retain_grad()`. Raises RuntimeError within a transform of torch.func."""
    if tensor.requires_grad:
        check_no_transform("retain_grad()", "retain_grad()")
    backward.retain_grad(tensor)


def assign_requires_grad(tensor: Tensor, flag: Any) -> None:
    """`tensor.requires_grad = flag`. Unlike `requires_grad_` it refuses a computed tensor even if the flag stays as it is."""
    if flag is True and tensor.node is not None:
        raise runtime_error(_ONLY_LEAVES, Code.FLAG_OF_NON_LEAF)
    set_requires_grad(tensor, flag, "floating point and complex")


def check_inference(tensor: Tensor) -> None:
    """Raise RuntimeError for a tensor of inference mode that would require grad outside of it."""
    if tensor.property_of("inference") and not state.inference:
        raise runtime_error("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")


def set_requires_grad(tensor: Tensor, flag: object, kinds: str = "floating point") -> None:
    """Make a leaf require grad or not; `kinds` is what the error for integers calls the dtypes. Raises RuntimeError."""
    if type(flag) is not bool:
        raise runtime_error("requires_grad must be a bool")
    if tensor.node is not None:
        if not flag:
            raise runtime_error(_ONLY_LEAVES + _DETACH_INSTEAD, Code.FLAG_OF_NON_LEAF)
        return
    if flag and not tensor.dtype.is_differentiable:
        raise runtime_error(f"only Tensors of {kinds} dtype can require gradients")
    if flag:
        check_inference(tensor)
    if tensor.view is not None:  # a view without a node follows its base, or is a leaf itself
        tensor.set_property("leaf", flag)
        flag = flag or tensor.view.base.requires_grad
    tensor.requires_grad = flag
    for reference in () if tensor.version is None else tensor.version.views:
        view = reference()
        if view is not None and view.view is not None and view.view.base is tensor and view.node is None:
            view.requires_grad = (flag or bool(view.property_of("leaf"))) and view.dtype.is_differentiable


def check_no_transform(what: str, method: str) -> None:
    """Raise PyTorch's RuntimeError for a method of tensors that the transforms of torch.func do not allow."""
    if state.transforms:
        raise runtime_error(
            f"You are attempting to call Tensor.{what} inside of a function being transformed by a functorch transform. This is "
            "unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
            f"{method} outside of a function being transformed instead."
        )


def requires_grad_(input: Tensor, requires_grad: bool) -> Tensor:
    """`tensor.requires_grad_(flag)`. Raises RuntimeError within a transform of torch.func."""
    check_no_transform("requires_grad_() (or perhaps using torch.autograd.functional.* APIs)", "requires_grad_()")
    set_requires_grad(input, requires_grad)
    return input


def read_grad(tensor: Tensor) -> Tensor | None:
    """`.grad`, with PyTorch's warning where it is never filled."""
    if tensor.node is not None and tensor.grad is None and not tensor.property_of("retains_grad"):
        warnings.emit(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
            "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
            ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
            "Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information. (Triggered internally at "
            "/__w/pytorch/pytorch/build/aten/src/ATen/core/TensorBody.h:493.)"
        )
    return tensor.grad


def write_grad(tensor: Tensor, value: Any) -> None:
    """`tensor.grad = value`. Raises TypeError or RuntimeError for a value that PyTorch refuses."""
    if value is None:
        tensor.grad = None
        return
    if type(value) is not Tensor:
        raise ProgramError("TypeError", f"assigned grad expected to be a Tensor or None but got grad of type {language.type_name(value)}")
    if value is tensor:
        raise runtime_error("can't assign Variable as its own grad")
    expected = _grad_dtype(tensor)
    if expected is not None and value.dtype is not expected:
        raise runtime_error(
            f"attempting to assign a gradient with dtype '{value.dtype.c_name}' to a tensor with grad_dtype "
            f"'{expected.torch_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You "
            "can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with "
            "caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume they match.",
        )
    if value.array.shape != tensor.array.shape:
        raise shape_error(
            f"attempting to assign a gradient of size '{list(value.array.shape)}' to a tensor of size "
            f"'{list(tensor.array.shape)}'. Please ensure that the gradient and the tensor are the same size",
        )
    tensor.grad = value


# --- the dtype of gradients ---

#: what `grad_dtype` was set to, among the properties of a tensor, in a tuple
_GRAD_DTYPE = "grad dtype"


def _grad_dtype(tensor: Tensor) -> DType | None:
    found: tuple[DType | None] = tensor.property_of(_GRAD_DTYPE) or (tensor.dtype,)
    return found[0]


def read_grad_dtype(tensor: Tensor) -> DType | None:
    """`.grad_dtype`: the dtype of the gradient, None for any. Raises RuntimeError for a computed tensor."""
    if tensor.node is not None:
        raise runtime_error("grad_dtype can only be accessed on leaf tensors.")
    return _grad_dtype(tensor)


def write_grad_dtype(tensor: Tensor, value: Any) -> None:
    """`tensor.grad_dtype = value`. Raises RuntimeError for a computed tensor, or one that has a gradient of another dtype."""
    wanted = value if value is None or isinstance(value, DType) else language.as_dtype(value)
    if wanted is None and value is not None:
        raise runtime_error(f"grad_dtype must be a torch.dtype or None, but got {language.type_name(value)}")
    if tensor.node is not None:
        raise runtime_error("grad_dtype can only be set on leaf tensors.")
    if wanted is not None and tensor.grad is not None and tensor.grad.dtype is not wanted:
        raise runtime_error(
            f"Cannot set grad_dtype to '{wanted.torch_name}' because there is already a gradient with dtype "
            f"'{tensor.grad.dtype.c_name}'. Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new "
            "grad_dtype matches the existing gradient's dtype."
        )
    tensor.set_property(_GRAD_DTYPE, (wanted,))
    others = [hook for hook in tensor.property_of("after_accumulation") or () if hook[1] is not _convert_gradient]
    tensor.set_property("after_accumulation", [(0, _convert_gradient), *others])


def _convert_gradient(tensor: Tensor) -> None:
    """After a gradient has arrived at a leaf: it gets the dtype that was asked for."""
    wanted = _grad_dtype(tensor)
    if tensor.grad is not None and wanted is not None and tensor.grad.dtype is not wanted:
        tensor.grad = Tensor(dtypes.cast(tensor.grad.array, wanted), wanted)


def to_numpy(tensor: Tensor) -> Array:
    """The values for `.numpy()`; refused for a tensor that requires grad, outside of `no_grad`."""
    if tensor.requires_grad and state.enabled:
        text = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        raise runtime_error(text, Code.NUMPY_OF_REQUIRES_GRAD)
    if tensor.dtype is dtypes.bfloat16:
        raise ProgramError("TypeError", "Got unsupported ScalarType BFloat16")
    if tensor.property_of("conj"):
        text = "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead."
        raise runtime_error(text)
    if tensor.property_of("neg"):
        raise runtime_error("Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead.")
    return np.asarray(tensor.array)  # large ones may still wait to be computed


def read_version(tensor: Tensor) -> int:
    """`._version`: how often the storage was written in place."""
    if tensor.property_of("inference") and not tensor.property_of("counted"):
        raise runtime_error("Inference tensors do not track version counter.")
    return tensor.version_number
