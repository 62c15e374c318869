"""Channels as pixels, pixels as channels, and channels in another order.

Images are (..., channels, height, width).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.kernels.memory_format import of_images
from gradcli.core.ops.rules import check_gradient, check_no_tangent, not_differentiable
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def _shuffled(x: Array, factor: int) -> Array:
    *lead, channels, height, width = x.shape
    split = x.reshape(*lead, channels // factor**2, factor, factor, height, width)
    n = len(lead)
    ordered = split.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return of_images(np.ascontiguousarray(ordered).reshape(*lead, channels // factor**2, height * factor, width * factor), x)


def _unshuffled(x: Array, factor: int) -> Array:
    if not x.size:
        return x.copy()  # PyTorch leaves an empty image as it is
    *lead, channels, height, width = x.shape
    split = x.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    n = len(lead)
    ordered = split.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return of_images(np.ascontiguousarray(ordered).reshape(*lead, channels * factor**2, height // factor, width // factor), x)


def _in_turns(x: Array, groups: int) -> Array:
    split = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return of_images(np.ascontiguousarray(split.swapaxes(1, 2)).reshape(x.shape), x)


def _of_shape(name: str, gradient: Any, shape: Sequence[int]) -> Any:
    """The gradient itself. Raises RuntimeError for that of an empty image, whose shape does not fit."""
    check_gradient(name, 0, gradient.shape, shape)
    return gradient


PIXEL_SHUFFLE: Op = Op(
    "PixelShuffleBackward0",
    _shuffled,
    "input",
    "upscale_factor",
    saved="upscale_factor",
    input=Rule(
        lambda xp, grad, upscale_factor, input_shape: _of_shape(
            "PixelShuffleBackward0", xp.call(PIXEL_UNSHUFFLE, grad, upscale_factor), input_shape
        ),
        "F.pixel_unshuffle(grad, upscale_factor)",
    ),
    complex=True,
)
PIXEL_UNSHUFFLE: Op = Op(
    "PixelUnshuffleBackward0",
    _unshuffled,
    "input",
    "downscale_factor",
    saved="downscale_factor",
    input=Rule(
        lambda xp, grad, downscale_factor, input_shape: _of_shape(
            "PixelUnshuffleBackward0", xp.call(PIXEL_SHUFFLE, grad, downscale_factor), input_shape
        ),
        "F.pixel_shuffle(grad, downscale_factor)",
    ),
    complex=True,
)
CHANNEL_SHUFFLE: Op = Op(
    "ChannelShuffleBackward0",
    _in_turns,
    "input",
    "groups",
    input=Rule(
        lambda xp, grad, groups: xp.call(CHANNEL_SHUFFLE, grad, grad.shape[1] // groups), "F.channel_shuffle(grad, grad.shape[1] // groups)"
    ),
    complex=True,
)
NATIVE_CHANNEL_SHUFFLE = not_differentiable("native_channel_shuffle", _in_turns, "input", "groups")


def _check_image(name: str, input: Tensor, factor: int, parameter: str) -> None:
    if input.array.ndim < 3:
        raise shape_error(f"{name} expects input to have at least 3 dimensions, but got input with {input.array.ndim} dimension(s)")
    if factor <= 0:
        raise runtime_error(f"{name} expects a positive {parameter}, but got {factor}")


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels laid out as squares of pixels of a larger image (Shi et al. 2016). Raises RuntimeError for sizes that do not divide."""
    _check_image("pixel_shuffle", input, upscale_factor, "upscale_factor")
    channels = input.array.shape[-3]
    if channels % upscale_factor**2:
        raise shape_error(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {upscale_factor**2}",
        )
    return PIXEL_SHUFFLE(input, upscale_factor)  # type: ignore[no-any-return]


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Squares of pixels laid out as channels of a smaller image. Raises RuntimeError for sizes that do not divide."""
    _check_image("pixel_unshuffle", input, downscale_factor, "downscale_factor")
    for name, axis in (("height", -2), ("width", -1)):
        size = input.array.shape[axis]
        if size % downscale_factor:
            raise shape_error(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({axis})={size} is not divisible by "
                f"{downscale_factor}",
            )
    return PIXEL_UNSHUFFLE(input, downscale_factor)  # type: ignore[no-any-return]


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The first channel of each group, then the second of each, and so on (Zhang et al. 2018).

    Raises RuntimeError for sizes that do not divide.
    """
    _check_groups(input, groups)
    return CHANNEL_SHUFFLE(input, groups)  # type: ignore[no-any-return]


def _native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """As `channel_shuffle`; PyTorch has no derivative of it."""
    check_no_tangent("aten::native_channel_shuffle", input)
    _check_groups(input, groups)
    return NATIVE_CHANNEL_SHUFFLE(input, groups)  # type: ignore[no-any-return]


def _check_groups(input: Tensor, groups: int) -> None:
    shape = list(input.array.shape)
    if len(shape) <= 2:
        raise shape_error(f"channel_shuffle expects input with > 2 dims, but got input with sizes {shape}")
    if groups <= 0:
        raise runtime_error(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise runtime_error(f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups.")


def _declared(name: str, run: Callable[..., Tensor], parameter: str, doc: str, op: Op, x: Any) -> Function:
    return Function(
        name,
        (f"Tensor input, int {parameter}", run),
        doc=doc,
        ops=(op,),
        samples=(Sample(f"F.{name}(x, 2)", None, x=x),),
        method=False,
        aliases=(f"nn.functional.{name}",),
    )


_CHANNELS = [[[0.5, -1.0], [2.0, 0.3]], [[1.5, 0.25], [-0.5, -0.9]], [[-0.3, 0.8], [0.6, 1.1]], [[0.2, -0.4], [0.7, 0.9]]]

FUNCTIONS: tuple[Function, ...] = (
    _declared(
        "pixel_shuffle", pixel_shuffle, "upscale_factor", "Channels laid out as the pixels of a larger image.", PIXEL_SHUFFLE, _CHANNELS
    ),
    _declared(
        "pixel_unshuffle",
        pixel_unshuffle,
        "downscale_factor",
        "Neighbouring pixels as channels of a smaller image.",
        PIXEL_UNSHUFFLE,
        _CHANNELS,
    ),
    _declared("channel_shuffle", channel_shuffle, "groups", "The channels of groups in turns.", CHANNEL_SHUFFLE, [_CHANNELS]),
    Function(
        "native_channel_shuffle",
        ("Tensor input, int groups", _native_channel_shuffle),
        doc="The channels of groups in turns, without a derivative.",
        samples=(Sample(f"torch.native_channel_shuffle(tensor([{_CHANNELS}]), 2)"),),
        method=False,
        aliases=("nn.functional.native_channel_shuffle",),
    ),
)
