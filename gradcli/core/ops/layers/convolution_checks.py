"""The errors of convolutions, in PyTorch's words.

`sizes` and `kernel` are the sizes of the input and of the kernel along the convolved dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.checks import not_implemented, refuse_bool, refuse_complex, scalar_type_error
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error

_WORDS = ("depth", "height", "width")


def checked_count(name: str, value: Sizes, rank: int) -> Sizes:
    """One number for each dimension; a single number stands for all. Raises RuntimeError for another count."""
    if len(value) == 1:
        return value * rank
    if len(value) != rank:
        raise shape_error(
            f"expected {name} to be a single integer value or a list of {rank} values to match the convolution dimensions, but got "
            f"{name}={list(value)}",
        )
    return value


def _times(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def check_settings(stride: Sizes, padding: Sizes, dilation: Sizes, output_padding: Sizes, groups: int) -> None:
    """Raise RuntimeError for numbers below their bounds."""
    wrong = {
        "negative padding is not supported": any(n < 0 for n in padding),
        "negative output_padding is not supported": any(n < 0 for n in output_padding),
        "non-positive stride is not supported": any(n <= 0 for n in stride),
        "dilation should be greater than zero": any(n < 0 for n in dilation),
        "non-positive groups is not supported": groups <= 0,
    }
    for text, found in wrong.items():
        if found:
            raise runtime_error(text)


def check_rank(input: Tensor, weight: Tensor, space: str = " ") -> None:
    """Raise RuntimeError for an input of another rank than the weight; `space` is what its message has before the sizes."""
    x, w = list(input.array.shape), list(weight.array.shape)
    if len(x) != len(w):
        raise shape_error(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight{space}{w}, but got {len(x)}-dimensional input of size "
            f"{x} instead",
        )


def check_shapes(input: Tensor, weight: Tensor, bias: Tensor | None, transposed: bool, groups: int) -> None:
    """Raise RuntimeError for ranks and numbers of channels that do not fit."""
    check_rank(input, weight)
    x, w = list(input.array.shape), list(weight.array.shape)
    if w[0] < groups:
        text = f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {w} instead"
        raise shape_error(text)
    if w[0] % groups:
        text = f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{w}] instead"
        raise shape_error(text)
    channels = w[0] if transposed else w[1] * groups
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    if x[1] != channels:
        text = f"Given {given}, weight of size {w}, expected input{x} to have {channels} channels, but got {x[1]} channels instead"
        raise shape_error(text)
    made = w[1] * groups if transposed else w[0]
    if bias is not None and bias.array.shape != (made,):
        raise shape_error(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {w}, expected bias to be 1-dimensional with {made} elements, "
            f"but got bias of size {list(bias.array.shape)} instead",
        )


def check_bias(input: Tensor, bias: Tensor | None) -> None:
    """Raise RuntimeError for a bias of another dtype than the input."""
    if bias is not None and bias.dtype is not input.dtype:
        raise runtime_error(f"Input type ({input.dtype.c_name}) and bias type ({bias.dtype.c_name}) should be the same")


def check_complex(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Raise RuntimeError for parameters of another dtype than a complex input, which PyTorch checks first."""
    for name, value in (("weight", weight), ("bias", bias)):
        if input.dtype.is_complex and value is not None and value.dtype is not input.dtype:
            raise runtime_error(f"Input type ({input.dtype.tensor_name}) and {name} type ({value.dtype.tensor_name}) should be the same")


def check_kernel_of_bias(input: Tensor, bias: Tensor | None, transposed: bool) -> None:
    """Raise RuntimeError for a bias of another dtype than the input, which transposed convolutions add in the dtype of the input."""
    if bias is None or bias.dtype is input.dtype:
        return
    if transposed and input.array.ndim == 5:
        raise scalar_type_error(input.dtype, bias.dtype)
    raise runtime_error("a convolution with a bias of another dtype than the input is not part of gradcli")


def check_not_empty(shape: Sequence[int]) -> None:
    """Raise RuntimeError for an input of this shape without elements; PyTorch takes rows as images of height 1."""
    if 0 in shape:
        shown = [*shape[:2], *[1] * (4 - len(shape)), *shape[2:]]
        raise shape_error(f"Only zero batch or zero channel inputs are supported, but got input shape: {shown}")


def check_channels(weight: Tensor) -> None:
    """Raise RuntimeError for a transposed convolution without channels of the result."""
    shape = list(weight.array.shape)
    if shape[1]:
        return
    shape[2:2] = [1] * (4 - len(shape))
    if len(shape) == 5:
        raise shape_error(
            "non-empty 5D (n_output_plane x n_input_plane x kernel_depth x kernel_height x kernel_width) tensor expected for weight, but "
            f"got: {shape}"
        )
    raise shape_error(f"non-empty 2D or 4D weight tensor expected, but got: {shape}")


def check_dtypes(input: Tensor, weight: Tensor, transposed: bool, dilation: Sizes) -> None:
    """Raise RuntimeError for dtypes that differ, NotImplementedError for those that PyTorch's kernel has not."""
    if not input.dtype.is_floating_point and input.dtype is not dtypes.int64:
        refuse_complex("convolution", input.dtype)
        volumes = len(dilation) == 3
        if transposed:
            raise not_implemented(f"slow_conv_transpose{3 if volumes else 2}d_out_cpu", input.dtype)
        if any(d > 1 for d in dilation):
            raise not_implemented("slow_conv_dilated<>", input.dtype)
        refuse_bool("compute_columns3d" if volumes else "slow_conv2d_cpu", input.dtype)
    if weight.dtype is not input.dtype:
        raise scalar_type_error(input.dtype, weight.dtype)


def check_kernel(kernel: Sizes, dilation: Sizes, transposed: bool) -> None:
    """Raise RuntimeError for a size of 0."""
    if 0 in kernel:
        height, width = kernel if len(kernel) == 2 else (1, kernel[-1])
        sizes = f": {_times(kernel)} (TxHxW)" if len(kernel) == 3 else f" kernel_height: {height} kernel_width: {width}"
        raise shape_error(f"kernel size should be greater than zero, but got{sizes}")
    if 0 in dilation:
        gaps = [1, *dilation][-max(len(dilation), 2) :]
        named = ", ".join(f"dilation_{word}: {d}" for word, d in zip(_WORDS[-len(gaps) :], gaps, strict=True))
        raise runtime_error(f"dilation should be greater than zero, but got {named if transposed else gaps}")


def check_sizes(sizes: Sizes, kernel: Sizes, padding: Sizes, dilation: Sizes) -> None:
    """Raise RuntimeError where the kernel does not fit into the padded input."""
    whole = tuple(n + 2 * p for n, p in zip(sizes, padding, strict=True))
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    if any(r > n for r, n in zip(reach, whole, strict=True)):
        raise shape_error(
            f"Calculated padded input size per channel: ({_times(whole)}). Kernel size: ({_times(reach)}). Kernel size can't be greater "
            "than actual input size",
        )


def spread_sizes(sizes: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes, output_padding: Sizes) -> Sizes:
    """The output sizes of a transposed convolution before its padding is cut off."""
    each = zip(sizes, kernel, stride, dilation, output_padding, strict=True)
    return tuple((n - 1) * s + d * (k - 1) + extra + 1 for n, k, s, d, extra in each)


def by_onednn(input: Tensor, weight: Tensor, stride: Sizes, dilation: Sizes, transposed: bool, output_padding: Sizes, groups: int) -> bool:
    """Whether PyTorch computes a convolution by oneDNN, in one thread."""
    if transposed and any(extra >= s for extra, s in zip(output_padding, stride, strict=True)):
        return False
    if input.dtype is dtypes.bfloat16:
        return True
    batch, shape = input.array.shape[0], input.array.shape
    height, width = (1, *weight.array.shape[2:])[-2:]
    small = all(s == 1 for s in stride) and all(d == 1 for d in dilation) and batch < 16 and height == width == 1
    large = (height > 3 and width > 3) or batch > 1 or math.prod(shape[:4]) > 20480
    return input.dtype is dtypes.float32 and not small and (groups > 1 or large)


def check_onednn(input: Tensor, weight: Tensor, dilation: Sizes, transposed: bool, made: Sizes) -> None:
    """Raise RuntimeError for what oneDNN does not compute; `made` are the sizes of the result, which may be 0."""
    if weight.dtype is not input.dtype:
        raise runtime_error(
            f"Input type ({input.dtype.tensor_name}) and weight type ({weight.dtype.tensor_name}) should be the same or input should be a "
            "MKLDNN tensor and weight is a dense tensor"
        )
    if transposed and any(n < 0 for n in made):
        raise shape_error("could not construct a memory descriptor using a format tag")
    if 0 in dilation and (len(dilation) == 3 or not transposed):
        raise runtime_error("dimensions are invalid" if transposed else "non-positive dilation is not supported")
    if 0 in (*weight.array.shape[1:], *dilation):
        kind = "deconvolution" if transposed else "convolution"
        raise shape_error(
            f"could not create a primitive descriptor for the {kind} forward propagation primitive. Run workload with environment variable "
            "ONEDNN_VERBOSE=all to get additional diagnostic information."
        )


def check_output(sizes: Sizes, made: Sizes, stride: Sizes, dilation: Sizes, output_padding: Sizes) -> None:
    """Raise RuntimeError where the output of a transposed convolution is empty, or padded by more than a step; `made` are its sizes."""
    if any(extra >= s and extra >= d for extra, s, d in zip(output_padding, stride, dilation, strict=True)):
        named = (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
        words = _WORDS[-max(len(sizes), 2) :]
        fill = {"output_padding": 0, "stride": 1, "dilation": 1}
        shown = " ".join(f"{n}_{w}: {v}" for n, given in named for w, v in zip(words, (fill[n], *given)[-len(words) :], strict=True))
        raise runtime_error(f"output padding must be smaller than either stride or dilation, but got {shown}")
    if any(n < 1 for n in made):
        before, after = ((1, *shape)[-max(len(shape), 2) :] for shape in (sizes, made))
        raise shape_error(
            f"Given input size per channel: ({_times(before)}). Calculated output size per channel: ({_times(after)}). "
            "Output size is too small",
        )
