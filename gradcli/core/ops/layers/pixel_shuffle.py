"""Channels as pixels, pixels as channels, and channels in another order."""

from __future__ import annotations

import numpy as np

from gradcli.core.graph.record import Op, Rule
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import runtime_error


def _shuffled(x: Array, factor: int) -> Array:
    *lead, channels, height, width = x.shape
    split = x.reshape(*lead, channels // factor**2, factor, factor, height, width)
    n = len(lead)
    ordered = split.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return np.ascontiguousarray(ordered).reshape(*lead, channels // factor**2, height * factor, width * factor)


def _unshuffled(x: Array, factor: int) -> Array:
    *lead, channels, height, width = x.shape
    split = x.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    n = len(lead)
    ordered = split.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return np.ascontiguousarray(ordered).reshape(*lead, channels * factor**2, height // factor, width // factor)


def _in_turns(x: Array, groups: int) -> Array:
    split = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return np.ascontiguousarray(split.swapaxes(1, 2)).reshape(x.shape)


PIXEL_SHUFFLE: Op = Op(
    "PixelShuffleBackward0",
    _shuffled,
    "input",
    "upscale_factor",
    input=Rule(
        lambda xp, grad, upscale_factor: xp.call(PIXEL_UNSHUFFLE, grad, upscale_factor),
        "F.pixel_unshuffle(grad, upscale_factor)",
    ),
)
PIXEL_UNSHUFFLE: Op = Op(
    "PixelUnshuffleBackward0",
    _unshuffled,
    "input",
    "downscale_factor",
    input=Rule(
        lambda xp, grad, downscale_factor: xp.call(PIXEL_SHUFFLE, grad, downscale_factor),
        "F.pixel_shuffle(grad, downscale_factor)",
    ),
)
CHANNEL_SHUFFLE: Op = Op(
    "ChannelShuffleBackward0",
    _in_turns,
    "input",
    "groups",
    input=Rule(
        lambda xp, grad, groups: xp.call(CHANNEL_SHUFFLE, grad, grad.shape[1] // groups),
        "F.channel_shuffle(grad, grad.shape[1] // groups)",
    ),
)


def _check_image(name: str, input: Tensor, factor: int, parameter: str) -> None:
    if input.array.ndim < 3:
        raise runtime_error(f"{name} expects input to have at least 3 dimensions, but got input with {input.array.ndim} dimension(s)")
    if factor <= 0:
        raise runtime_error(f"{name} expects a positive {parameter}, but got {factor}")


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels laid out as the pixels of a larger image (Shi et al. 2016)."""
    _check_image("pixel_shuffle", input, upscale_factor, "upscale_factor")
    channels = input.array.shape[-3]
    if channels % upscale_factor**2:
        raise runtime_error(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {upscale_factor**2}"
        )
    made: Tensor = PIXEL_SHUFFLE(input, upscale_factor)
    return made


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The other way round."""
    _check_image("pixel_unshuffle", input, downscale_factor, "downscale_factor")
    for name, axis in (("height", -2), ("width", -1)):
        size = input.array.shape[axis]
        if size % downscale_factor:
            raise runtime_error(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({axis})={size} is not divisible by "
                f"{downscale_factor}"
            )
    made: Tensor = PIXEL_UNSHUFFLE(input, downscale_factor)
    return made


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The first channel of each group, then the second of each (Zhang et al. 2018)."""
    shape = list(input.array.shape)
    if len(shape) <= 2:
        raise runtime_error(f"channel_shuffle expects input with > 2 dims, but got input with sizes {shape}")
    if groups <= 0:
        raise runtime_error(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise runtime_error(f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups.")
    made: Tensor = CHANNEL_SHUFFLE(input, groups)
    return made
