"""Which tensors may be written to in place, and PyTorch's errors for the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.graph.strided import separate
from gradcli.core.kernels import Array
from gradcli.core.kernels.memory_format import address, element_strides, followers, is_dense, tell_followers
from gradcli.core.tensor.batched import BatchedArray, Level, innermost, levels, needs_samples
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error

_MULTIPLE = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified "
    "inplace. You should replace the inplace operation by an out-of-place one."
)


_OF_FUNCTION = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
    "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior "
    "is forbidden. You can fix this by cloning the output of the custom Function."
)


def _ambiguous(mode: str) -> str:
    return (
        "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and "
        f"the inplace either both inside the {mode} block (if you don't want the inplace to be tracked) or both outside (if you want the "
        "inplace to be tracked)."
    )


#: the version of a view, in `View.version`, whose base came to require a gradient: the view has no node until somebody asks for it
UNASKED = -1


def result_dtype_error(result: str, wanted: DType) -> ProgramError:
    """PyTorch's error for a result, of the dtype that messages call `result`, that does not fit the dtype of where it goes."""
    if wanted.is_complex:
        return ProgramError("NotImplementedError", f"this operation on {wanted} is not part of gradcli", code=Code.RESULT_DTYPE)
    text = f"result type {result} can't be cast to the desired output type {wanted.torch_name}"
    return runtime_error(text, Code.RESULT_DTYPE)


def resized(shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """PyTorch's warning of an output, not empty, that gets another shape."""
    return (
        f"An output with one or more elements was resized since it had shape {list(shape)}, which does not match the required output shape "
        f"{list(wanted)}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have zero "
        "elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0). (Triggered "
        "internally at /__w/pytorch/pytorch/aten/src/ATen/native/Resize.cpp:30.)"
    )


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
            raise leaf_error("a leaf Variable" if tensor.node is not None and tensor.node.hidden else "a view of a leaf Variable")
    if tensor.requires_grad and (tensor.node is None or (view is not None and view.version == UNASKED)):
        raise leaf_error("a leaf Variable")


#: operations by what follows their name in that of an overload, with a number and with a tensor as the last operand
_OVERLOADS = {
    (".Tensor", ".Tensor"): "add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_ floor_divide_",
    ("", ".Tensor"): "clamp_ clamp_min_ clamp_max_ clip_",
    (".Scalar", ".Tensor"): "bitwise_and_ bitwise_or_ bitwise_xor_ eq_ ne_ not_equal_ ge_ greater_equal_ gt_ greater_ le_ less_equal_ lt_ "
    "less_ copysign_ float_power_ fmod_ remainder_ pow_ lerp_ masked_fill_ fill_",
    (".Tensor_Scalar", ".Tensor"): "bitwise_left_shift_ bitwise_right_shift_",
    (".Scalar_Other", ".Tensor"): "xlogy_",
    (".int_Scalar", ".int_Tensor"): "index_fill_",
    (".value", ".src"): "scatter_",
    (".two", ".two"): "scatter_reduce_",
}


def overload(name: str, operands: Sequence[Any]) -> str:
    """What follows the name of an in-place operation in that of its overload."""
    number, tensor = next((pair for pair, names in _OVERLOADS.items() if name in names.split()), ("", ""))
    return tensor if any(type(operand) is Tensor for operand in operands[-1:]) else number


def check_captured(operator: str, args: Sequence[Any]) -> None:
    """Raise RuntimeError where a function that torch.func transforms writes to a tensor that was not made inside."""
    tensor = args[0] if args else None
    if type(tensor) is not Tensor or not tensor.captured or operator in ("requires_grad_", "detach_"):
        return
    if innermost(args) is not None and state.transforms[-1:] == ("vmap",):  # vmap has errors of its own
        return
    raise _captured(operator, args[1:])


def _captured(operator: str, operands: Sequence[Any]) -> ProgramError:
    return runtime_error(
        "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
        f"(aten::{operator}{overload(operator, operands)}) that would mutate a captured Tensor. This is not supported; please rewrite the "
        "function being transformed to explicitly accept the mutated Tensor(s) as inputs."
    )


_LARGER = (
    "vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`. "
    "This happened due to `other` being vmapped over but `self` not being vmapped over {1}. Please try to use out-of-place operators "
    "instead of {0}. If said operator is being called inside the PyTorch framework, please file a bug report instead."
)
#: PyTorch's warning of an operation that it computes sample by sample
FALLBACK = (
    "There is a performance drop because we have not yet implemented the batching rule for aten::{}. Please file us an issue on GitHub so "
    "that we can prioritize its implementation. (Triggered internally at "
    "/__w/pytorch/pytorch/aten/src/ATen/functorch/BatchedFallback.cpp:82.)"
)

#: operations whose kernel finds that the tensor has another shape than the result for all samples
_BROADCAST = "add_ atan2_ arctan2_ bitwise_and_ bitwise_or_ bitwise_xor_ copysign_ gcd_ lcm_"
#: operations that share the batching rule of arithmetic, and those that have one of their own
_ARITHMETIC = "sub_ mul_ multiply_ div_ divide_ true_divide_ copy_ clamp_min_ clamp_max_ logical_and_ logical_or_ logical_xor_"
_RULES = "index_put_ index_add_ scatter_add_ scatter_reduce_ fill_ index_fill_"


def warn_of_samples(name: str, *operands: Any) -> None:
    """Warn of an operation for which PyTorch has no batching rule where an operand differs from sample to sample of vmap."""
    if state.mapped and any(type(operand) is Tensor and levels(operand) for operand in operands):
        warnings.emit(FALLBACK.format(name))


def check_batch(tensor: Tensor, name: str, operands: Sequence[Any]) -> None:
    """Raise PyTorch's error for a write of batched operands to a tensor that is the same for all samples of vmap.

    Operands that have a history within the level give the tensor one.
    """
    own = levels(tensor)
    for operand in operands:
        for level in levels(operand) if type(operand) is Tensor else ():
            if level not in own:
                raise _larger(level, tensor, name, operands)
    inside = innermost(operands)
    array: Any = tensor.array
    if inside is not None and not (type(array) is BatchedArray and array.level.number >= inside.number):
        if tensor.view is not None:
            raise needs_samples()
        inner = Tensor(array, tensor.dtype)
        inner.requires_grad, inner.version = tensor.requires_grad, tensor.version
        inner.node, inner.output_nr = tensor.node, tensor.output_nr
        tensor.requires_grad, tensor.node, tensor.output_nr, tensor.version = False, None, 0, None
        tensor.array = BatchedArray(inner, None, inside)  # type: ignore[assignment]


def _larger(level: Level, tensor: Tensor, name: str, operands: Sequence[Any]) -> ProgramError:
    if name in _BROADCAST.split():
        if tensor.captured:
            return _captured(name, operands)
        shapes = [operand.array.shape for operand in operands if type(operand) is Tensor]
        whole = [level.size, *np.broadcast_shapes(tensor.array.shape, *shapes)]
        return shape_error(f"output with shape {list(tensor.array.shape)} doesn't match the broadcast shape {whole}")
    if name in _ARITHMETIC.split() or (name == "masked_fill_" and type(operands[-1]) is not Tensor):
        return runtime_error(_LARGER.format("inplace arithmetic", "in a vmap"))
    if name == "bernoulli_":
        return runtime_error(_LARGER.format("inplace bernoulli", "in a vmap"))
    if name in _RULES.split():
        return runtime_error(_LARGER.format(name, "in a vmap"))
    warnings.emit(FALLBACK.format(name + overload(name, operands)))
    return runtime_error(_LARGER.format(f"aten::{name}", f"at level {level.number}"))


def bump(tensor: Tensor) -> None:
    """Count a write that has been done. Raises RuntimeError for an inference tensor, which PyTorch checks only after the write."""
    inference = tensor.meta is not None and tensor.property_of("inference")
    if inference and not (state.inference or tensor.property_of("counted")):
        raise runtime_error(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
            "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
        )
    if not (inference and state.inference):
        tensor.counter().count += 1
    if followers and tensor.batch is None:
        tell_followers(tensor.array)


def why_not(tensor: Tensor, what: str, deed: str) -> str:
    """The message for an in-place write to a view that was made without recording, or is one of several outputs."""
    view = tensor.view
    assert view is not None
    if tensor.node is not None:
        middle = {
            "multi": " is a view and ",
            "function": " is a view and ",
            "no_grad": " is a view of a view which was created in no_grad mode and ",
        }
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
    why = {"multi": _MULTIPLE, "function": _OF_FUNCTION}
    return f"{start}. {why.get(view.creation) or _ambiguous('no_grad')}"


def shares_places(array: Array) -> bool:
    """Whether elements of the array share memory, as those of an expanded tensor do."""
    return bool(array.size) and any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True))


def shared_places() -> ProgramError:
    """PyTorch's error for a write to a tensor whose elements share memory."""
    return runtime_error(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
        "Please clone() the tensor before performing the operation.",
        Code.SHARED_MEMORY,
    )


def check_memory(tensor: Tensor, result: Tensor | None = None) -> None:
    """Raise RuntimeError where elements of the tensor share memory; where they overlap in part, PyTorch looks at the result only."""
    array = tensor.array
    if shares_places(array):
        raise shared_places()
    if not array.flags.c_contiguous and not separate((array.shape, element_strides(array), 0)):
        if result is not None:
            check_fits(tensor, result)
        raise runtime_error("an in-place operation on a tensor whose elements overlap is not part of gradcli")


def check_overlap(tensor: Tensor, operand: Tensor, apart: bool = False) -> None:
    """Raise RuntimeError where a tensor that is written to shares some of its elements with an operand.

    An operand may be the tensor itself, unless it has to be `apart`. Tensors with gaps are not checked, as in PyTorch.
    """
    a, b = tensor.array, operand.array
    if tensor is operand:
        if apart:
            raise _shared()
        return
    strides = element_strides(a), element_strides(b)
    if not a.size or not b.size or not (is_dense(a.shape, strides[0]) and is_dense(b.shape, strides[1])):
        return
    if address(a) >= address(b) + b.nbytes or address(b) >= address(a) + a.nbytes:
        return
    if not apart and address(a) == address(b) and a.nbytes == b.nbytes and strides[0] == strides[1]:
        return
    raise _shared()


def _shared() -> ProgramError:
    return runtime_error(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. Please "
        "clone() the tensor before performing the operation.",
    )


def expanded(name: str) -> str:
    """PyTorch's warning of a function that writes into a tensor whose elements share memory."""
    line, example = {
        "index_put_": (976, "indices] = tensor"),
        "index_fill_": (1913, "mask] = scalar"),
        "masked_fill_": (2450, "mask] = scalar"),
    }[name]
    return (
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also applies "
        f"to advanced indexing e.g. tensor[{example} (Triggered internally at "
        f"/__w/pytorch/pytorch/aten/src/ATen/native/TensorAdvancedIndexing.cpp:{line}.)"
    )


def read_while_written() -> ProgramError:
    """A refusal: PyTorch would read elements of an operand that it has already written, so that what it computes is by chance."""
    return runtime_error("an operand in the memory that is written while the operand is read is not part of gradcli")


def check_unread(tensor: Tensor, operands: Iterable[Any]) -> None:
    """Refuse operands that share memory with a tensor that is written to, for an operation that reads elements more than once."""
    for operand in operands:
        if type(operand) is Tensor and np.may_share_memory(tensor.array, operand.array) and np.shares_memory(tensor.array, operand.array):
            raise read_while_written()


def check_order(tensor: Tensor, operand: Tensor, copied: bool = False) -> None:
    """Refuse an operand of which PyTorch, element by element, would read what it has already written.

    A `copied` operand of another shape is broadcast: elements that it shares with the tensor are written with what they are.
    """
    a, b = tensor.array, operand.array
    if a.ndim == b.ndim and (copied or a.shape == b.shape) and address(a) <= address(b):
        dims = zip(b.shape, a.strides, b.strides, strict=True)
        if all(n == 1 or s == t or (copied and t == 0) for n, s, t in dims):
            return
    if tensor is not operand:
        check_unread(tensor, (operand,))


def check_fits(tensor: Tensor, result: Tensor) -> None:
    """Raise RuntimeError for a result of another shape than the tensor, or of a dtype that does not fit into the tensor's."""
    if result.array.shape != tensor.array.shape:
        raise shape_error(f"output with shape {list(tensor.array.shape)} doesn't match the broadcast shape {list(result.array.shape)}")
    if result.dtype.category > tensor.dtype.category:
        raise result_dtype_error(result.dtype.torch_name, tensor.dtype)
