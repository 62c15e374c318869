"""The windows of pooling, and the errors of its arguments in PyTorch's words.

Sizes, kernels, strides, paddings and dilations have a number for each dimension; an empty stride means that of the kernel.
All checks raise RuntimeError unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.core.calling.type_errors import type_error
from gradcli.core.kernels import Array, memory_format, window_reductions
from gradcli.core.kernels.window_reductions import Spans
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.checks import not_implemented, size, with_method
from gradcli.core.ops.operators import iterate
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

_WORDS = {2: "two", 3: "three"}
_AXES = {2: "HW", 3: "THW"}


# --- windows ---


def _counts(sizes: Sequence[int], kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Sizes:
    """The number of windows along each dimension; with `ceil_mode` also one that begins inside and ends beyond."""
    found = []
    for n, k, s, p, d in zip(sizes, kernel, stride or kernel, padding, dilation, strict=True):
        count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        found.append(count)
    return tuple(found)


def sliding(
    sizes: Sequence[int], kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> list[tuple[Spans, Array]]:
    """The windows along each dimension, and their lengths with the border counted."""
    counts = _counts(sizes, kernel, stride, padding, dilation, ceil_mode)
    return [window_reductions.sliding(*one) for one in zip(sizes, counts, kernel, stride or kernel, padding, dilation, strict=True)]


def evenly(sizes: Sequence[int], counts: Sizes) -> list[Spans]:
    """As many windows along each dimension as are asked for, which together cover everything."""
    return [window_reductions.adaptive(n, m) for n, m in zip(sizes, counts, strict=True)]


# --- two and three dimensions ---


def _numbers(value: Any) -> Sizes:
    return (value,) if isinstance(value, int) else () if value is None else tuple(value)


def as_kept(rank: int, *values: Any) -> tuple[Sizes, ...]:
    """The values as a node keeps them: a number as often as there are dimensions, a tuple as it is, () for None."""
    return tuple((value,) * rank if isinstance(value, int) else _numbers(value) for value in values)


def spread(sizes: Sizes, rank: int) -> Sizes:
    """The numbers, a single one for all dimensions."""
    return sizes * rank if len(sizes) == 1 else sizes


def settings(name: str, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    """Kernel, stride, padding and dilation, where a single number stands for all dimensions."""
    many = f"or a tuple of {_WORDS[rank]} ints"
    kernel_words = "must be a single int" if name == "avg_pool3d" else "must either be a single int"
    padding_words = kernel_words if name == "avg_pool3d" else "must either be a single int"
    stride_words = "must be omitted" if name == "avg_pool3d" else "must either be omitted"
    texts = (
        f"kernel_size {kernel_words}, {many}",
        f"stride {stride_words}, a single int, {many}",
        f"padding {padding_words}, {many}",
        f"dilation must be either a single int, {many}",
    )
    found = []
    for text, value in zip(texts, map(_numbers, (kernel, stride, padding, dilation)), strict=True):
        if len(value) not in ((0, 1, rank) if text.startswith("stride") else (1, rank)):
            raise runtime_error(f"{name}: {text}")
        found.append(spread(value, rank))
    return found[0], found[1], found[2], found[3]


def check_rank(input: Tensor, rank: int, by_dim: bool = False) -> None:
    """Check that there is a dimension of channels and at most one of a batch; `by_dim` makes too small a rank an IndexError."""
    have = input.array.ndim
    if by_dim and have <= rank:
        size(input, -rank - 1)
    if have not in (rank + 1, rank + 2):
        raise shape_error(f"non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input")


def check_windows(
    input: Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool, of_image: bool = False
) -> None:
    """Check the numbers, that only the batch is empty, and that there is a window; `of_image` as `avg_pool3d` says it."""
    rank = len(kernel)
    _check_values(kernel, stride or kernel, padding, dilation)
    _check_not_empty(input, rank, of_image)
    counts = _counts(input.array.shape[-rank:], kernel, stride, padding, dilation, ceil_mode)
    if of_image:
        _check_image(input, kernel)
    _check_padding(kernel, padding)
    if any(n < 1 for n in counts):
        shape = input.array.shape[input.array.ndim - rank - 1 :]
        before, after = ("x".join(map(str, sizes)) for sizes in (shape, (shape[0], *counts)))
        raise shape_error(f"Given input size: ({before}). Calculated output size: ({after}). Output size is too small")


def _check_values(kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
    axes = _AXES[len(kernel)]

    def named(prefix: str, values: Sizes) -> str:
        return " ".join(f"{prefix}{axis}: {n}" for axis, n in zip(axes, values, strict=True))

    for n, k, d, s in zip(padding, kernel, dilation, stride, strict=True):
        if s == 0:
            raise runtime_error("stride should not be zero")
        if n < 0:
            raise runtime_error(f"pad must be non-negative, but got pad: {n}")
        if n > int(((k - 1) * d + 1) / 2):
            raise shape_error(f"pad should be at most half of effective kernel size, but got pad={n}, kernel_size={k} and dilation={d}")
    if any(k <= 0 for k in kernel):
        raise shape_error(f"kernel size should be greater than zero, but got {named('k', kernel)}")
    if any(s < 0 for s in stride):
        raise runtime_error(f"stride should be greater than zero, but got {named('d', stride)}")
    if any(d <= 0 for d in dilation):
        raise runtime_error(f"dilation should be greater than zero, but got {named('dilation', dilation)}")


def _check_padding(kernel: Sizes, padding: Sizes) -> None:
    """Raise RuntimeError for padding of more than half of the kernel, which gaps in the kernel do not make larger here."""
    if all(n <= k // 2 for n, k in zip(padding, kernel, strict=True)):
        return
    text = "pad should be smaller than or equal to half of kernel size, but got "
    if len(kernel) == 2:
        raise shape_error(f"{text}padW = {padding[1]}, padH = {padding[0]}, kW = {kernel[1]}, kH = {kernel[0]}")
    sizes, borders = (f"{n}T: {v[0]} {n}W: {v[2]} {n}H: {v[1]}" for n, v in (("k", kernel), ("pad", padding)))
    raise shape_error(f"{text}{sizes} {borders}")


def _check_not_empty(input: Tensor, rank: int, averaged: bool) -> None:
    shape = input.array.shape
    if 0 not in shape[len(shape) - rank - 1 :]:
        return
    if rank == 3:
        name = "avg_pool3d()" if averaged else "max_pool3d_with_indices_out_cpu_template()"
        raise shape_error(
            f"{name}: Expected input's non-batch dimensions to have positive length, but input has a shape of {list(shape)} and non-batch "
            f"dimension {shape[len(shape) - rank - 1 :].index(0) + len(shape) - rank - 1} has length zero!",
        )
    raise shape_error(f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}")


def _check_image(input: Tensor, kernel: Sizes) -> None:
    sizes = input.array.shape[-3:]
    if any(n < k for n, k in zip(sizes, kernel, strict=True)):
        have, want = (" ".join(f"{p}{a}: {n}" for a, n in zip("THW", v, strict=True)) for p, v in (("", sizes), ("k", kernel)))
        raise shape_error(f"input image ({have}) smaller than kernel size ({want})")


def check_dtype(name: str, input: Tensor, whole: tuple[DType, ...] = (), formats: bool = False) -> None:
    """Raise NotImplementedError unless the dtype is floating or one of `whole`; `formats` if PyTorch has a kernel for last channels too."""
    if not input.dtype.is_floating_point and input.dtype not in whole:
        raise not_implemented(of_format(name, input) if formats else name, input.dtype)


def of_format(name: str, input: Tensor) -> str:
    """The name of PyTorch's kernel for images that lie as `input` does."""
    return f"{name}_channels_last" if memory_format.suggests_channels_last(input.array) else name


def check_not_empty(name: str, input: Tensor, gap: str = " ") -> None:
    """Check that every dimension behind the first has elements."""
    shape = list(input.array.shape)
    for at in range(1, len(shape)):
        if not shape[at]:
            raise shape_error(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got{gap}{shape} with dimension {at} being "
                "empty."
            )


# --- one dimension ---


def check_row_rank(input: Tensor, name: str) -> None:
    """Check that there is a dimension of channels and at most one of a batch."""
    if input.array.ndim not in (2, 3):
        raise shape_error(
            f"Expected 2 to 3 dimensions, but got {input.array.ndim}-dimensional tensor for argument #1 'self' (while checking arguments "
            f"for {name})",
        )


def one_int(name: str, parameter: str, value: Any) -> Any:
    """The number itself, or the only one of a list; None for an empty stride."""
    numbers = _numbers(value)
    if len(numbers) > 1 or (not numbers and parameter != "stride"):
        raise runtime_error(f"{name}() argument '{parameter}' should contain one int (got {len(numbers)})")
    return numbers[0] if numbers else None


def row_settings(input: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any) -> tuple[int, int | None, int, int]:
    """Kernel, stride, padding and dilation of `max_pool1d`; the stride is None where none is given."""
    if input.array.ndim not in (2, 3) or 0 in input.array.shape[-2:]:
        text = (
            f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(input.array.shape)}"
        )
        raise shape_error(text)
    texts = (
        "kernel_size must be an int, list of ints or tuple of ints",
        "stride must be None, an int, list of ints, or tuple of ints",
        "padding must be an int, list of ints, or tuple of ints",
        "dilation must be an int, list of ints or tuple of ints",
    )
    given = list(map(_numbers, (kernel, stride, padding, dilation)))
    for text, value in zip(texts, given, strict=True):
        if len(value) != 1 and (value or not text.startswith("stride")):
            raise shape_error(f"max_pool1d() {text} of size 1 but got size {len(value)}")
    return given[0][0], given[1][0] if given[1] else None, given[2][0], given[3][0]


def check_row_windows(input: Tensor, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> None:
    """Check the numbers of `max_pool1d`, and that there is a window."""
    for name, value in (("kernel_size", kernel), ("stride", stride)):
        if value <= 0:
            raise runtime_error(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if padding < 0:
        raise runtime_error(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise shape_error(f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and kernel_size={kernel}")
    if dilation <= 0:
        raise runtime_error(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    (count,) = _counts(input.array.shape[-1:], (kernel,), (stride,), (padding,), (dilation,), ceil_mode)
    if count <= 0:
        raise shape_error(f"max_pool1d() Invalid computed output size: {count}")


# --- windows that cover everything ---


def with_defaults(output_size: Any, input: Tensor) -> Any:
    """The sizes of the result, where None stands for the size of the input. Raises ValueError for too many of them."""
    shape = with_method(input, "size").array.shape
    if isinstance(output_size, int):
        return output_size
    if not (isinstance(output_size, (tuple, list, str, dict)) or (type(output_size) is Tensor and output_size.array.ndim)):
        if type(output_size) is Tensor:
            raise ProgramError("TypeError", "len() of a 0-d tensor")
        raise type_error("object of type '{}' has no len()", output_size)
    given = tuple(iterate(output_size)) if type(output_size) is Tensor else tuple(output_size)
    if len(given) >= len(shape):
        raise shape_error(f"Input dimension should be at least {len(given) + 1}", "ValueError")
    return [n if value is None else value for value, n in zip(given, shape[len(shape) - len(given) :], strict=True)]


def check_sizes(name: str, rank: int, wanted: Sizes) -> None:
    """Check that there is one size for each dimension."""
    if len(wanted) != rank:
        text = f"{name}: output_size must be {rank}" if "avg" in name else f"{name}(): internal error: output_size.size() must be {rank}"
        raise shape_error(text)


def check_gradient(name: str, grad: Array) -> None:
    """Check that the gradient of adaptive pooling has elements, the batch aside."""
    for at in range(1, grad.ndim):
        if not grad.shape[at]:
            raise shape_error(
                f"{name}_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes "
                f"{list(grad.shape)} with dimension {at} being empty",
            )


def check_adaptive(name: str, rank: int, input: Tensor) -> None:
    """Check that there is a dimension of channels and at most one of a batch, and that only the batch is empty."""
    shape, averaged = input.array.shape, "avg" in name

    def check_sizes() -> None:
        for at in range(len(shape) - rank if averaged and rank == 2 else 1, len(shape)):
            if shape[at] == 0:
                raise shape_error(
                    f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {list(shape)} with "
                    f"dimension {at} being empty",
                )

    if averaged and rank == 3:
        check_sizes()
    if len(shape) not in (rank + 1, rank + 2):
        raise shape_error(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got{'' if averaged else ':'} {list(shape)}")
    check_sizes()
