"""Which tensors may be written to in place, and PyTorch's errors for the others."""

from __future__ import annotations

from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error

_MULTIPLE = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified "
    "inplace. You should replace the inplace operation by an out-of-place one."
)


def _ambiguous(mode: str) -> str:
    return (
        "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and "
        f"the inplace either both inside the {mode} block (if you don't want the inplace to be tracked) or both outside (if you want the "
        "inplace to be tracked)."
    )


def result_dtype_error(result: str, wanted: DType) -> ProgramError:
    """PyTorch's error for a result, of the dtype that messages call `result`, that does not fit the dtype of where it goes."""
    text = f"result type {result} can't be cast to the desired output type {wanted.torch_name}"
    return runtime_error(text, Code.RESULT_DTYPE)


def leaf_error(what: str) -> ProgramError:
    """PyTorch's error for an in-place write to `what`, a leaf or a view of one."""
    text = f"{what} that requires grad is being used in an in-place operation."
    return runtime_error(text, Code.LEAF_WRITTEN_IN_PLACE)


def check_writable(tensor: Tensor, wanted: bool = False) -> None:
    """Raise RuntimeError where `tensor` may not be written to in place; `wanted` says that another operand requires grad."""
    if not state.enabled or not (tensor.requires_grad or wanted):
        return
    view = tensor.view
    if view is not None:
        if view.creation != "default":
            raise runtime_error(why_not(tensor, "is being modified inplace", "is being modified inplace"))
        if tensor.requires_grad and view.base.node is None:
            raise leaf_error("a view of a leaf Variable")
    if tensor.requires_grad and tensor.node is None:
        raise leaf_error("a leaf Variable")


def bump(tensor: Tensor) -> None:
    """Count a write that has been done. Raises RuntimeError for an inference tensor, which PyTorch checks only after the write."""
    if tensor.meta is not None and tensor.property_of("inference") and not state.inference:
        raise runtime_error(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
            "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
        )
    tensor.counter().count += 1


def why_not(tensor: Tensor, what: str, deed: str) -> str:
    """The message for an in-place write to a view that was made without recording, or is one of several outputs."""
    view = tensor.view
    assert view is not None
    if tensor.node is not None:
        middle = {"multi": " is a view and ", "no_grad": " is a view of a view which was created in no_grad mode and "}
        start = f"Output {tensor.output_nr} of {view.source}"
        start += middle.get(view.creation, " is a view of a view which was created in inference mode and ") + deed
    elif view.creation == "inference":
        start = f"A view was created in inference mode and {what}"
    else:
        start = f"A view was created in no_grad mode and {what}"
    if view.creation == "inference":
        return f"{start} in normal mode. {_ambiguous('inference_mode')}"
    if view.creation == "no_grad" or tensor.node is None:
        start += " with grad mode enabled"
    return f"{start}. {_MULTIPLE if view.creation == 'multi' else _ambiguous('no_grad')}"


def check_memory(tensor: Tensor) -> None:
    """Raise RuntimeError where elements of the tensor share memory, as those of an expanded tensor do."""
    array = tensor.array
    if array.size and any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)):
        raise runtime_error(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.",
        )


def check_fits(tensor: Tensor, result: Tensor) -> None:
    """Raise RuntimeError for a result of another shape than the tensor, or of a dtype that does not fit into the tensor's."""
    if result.array.shape != tensor.array.shape:
        raise shape_error(f"output with shape {list(tensor.array.shape)} doesn't match the broadcast shape {list(result.array.shape)}")
    if result.dtype.category > tensor.dtype.category:
        raise result_dtype_error(result.dtype.torch_name, tensor.dtype)
