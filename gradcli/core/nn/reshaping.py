"""Other shapes and sizes as modules: dimensions taken apart, channels as pixels, interpolation."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.script_types import Attributes
from gradcli.core.calling.signature import hooks
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module, module_type
from gradcli.errors import ProgramError


class Unflatten(Module):
    """`Tensor.unflatten`."""

    SCRIPT_NAME = "Unflatten"
    SHOWN = "dim unflattened_size"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SHOWN)

    def __init__(self, dim: Any, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            kind = hooks.type_name(unflattened_size)
            raise ProgramError("TypeError", f"unflattened_size must be a tuple of ints, but found type {kind}")
        for at, n in enumerate(unflattened_size):
            if not isinstance(n, int):
                kind = hooks.type_name(n)
                raise ProgramError("TypeError", f"unflattened_size must be tuple of ints, but found element of type {kind} at pos {at}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Any) -> Any:
        return catalog.function("unflatten")(input, self.dim, self.unflattened_size)


class PixelShuffle(Module):
    """`F.pixel_shuffle`."""

    SCRIPT_NAME = "PixelShuffle"
    SHOWN = "upscale_factor"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SHOWN)

    def __init__(self, upscale_factor: Any) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Any) -> Any:
        return catalog.function("pixel_shuffle")(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """`F.pixel_unshuffle`."""

    SCRIPT_NAME = "PixelUnshuffle"
    SHOWN = "downscale_factor"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SHOWN)

    def __init__(self, downscale_factor: Any) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Any) -> Any:
        return catalog.function("pixel_unshuffle")(input, self.downscale_factor)


class ChannelShuffle(Module):
    """`F.channel_shuffle`."""

    SCRIPT_NAME = "ChannelShuffle"
    SHOWN = "groups"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SHOWN)

    def __init__(self, groups: Any) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Any) -> Any:
        return catalog.function("channel_shuffle")(input, self.groups)


class Upsample(Module):
    """`F.interpolate`."""

    SCRIPT_NAME = "Upsample"
    _SETTINGS = "size scale_factor mode align_corners recompute_scale_factor"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(_SETTINGS)

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: Any = "nearest",
        align_corners: Any = None,
        recompute_scale_factor: Any = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor: Any = tuple(map(float, scale_factor)) if isinstance(scale_factor, tuple) else None
        if self.scale_factor is None and scale_factor:
            self.scale_factor = float(scale_factor)
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Any) -> Any:
        return catalog.function("nn.functional.interpolate")(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra(self) -> str:
        size = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images of another size, of copies of pixels."""

    SCRIPT_NAME = "UpsamplingNearest2d"

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Images of another size, between pixels; corners stay corners."""

    SCRIPT_NAME = "UpsamplingBilinear2d"

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


UNFLATTEN_TYPE = module_type(Unflatten, "flatten")
PIXELSHUFFLE_TYPE = module_type(PixelShuffle, "pixelshuffle")
PIXELUNSHUFFLE_TYPE = module_type(PixelUnshuffle, "pixelshuffle")
CHANNELSHUFFLE_TYPE = module_type(ChannelShuffle, "channelshuffle")
UPSAMPLE_TYPE = module_type(Upsample, "upsampling")
UPSAMPLINGNEAREST2D_TYPE = module_type(UpsamplingNearest2d, "upsampling")
UPSAMPLINGBILINEAR2D_TYPE = module_type(UpsamplingBilinear2d, "upsampling")
