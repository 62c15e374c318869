"""Modules that give a tensor another shape or size: flattening, shuffling of pixels and channels, windows, interpolation."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.nn.modules.function_modules import ClassTable, FunctionModule, row
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import shape_error


class Reshaping(FunctionModule):
    """A module that gives a tensor another shape; its repr shows all settings."""

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.settings().items())


class Unflattening(Reshaping):
    """`Tensor.unflatten`, with sizes that are checked when the module is made."""

    def keep(self, given: dict[str, Any]) -> None:
        size = given["unflattened_size"]
        if not isinstance(size, (tuple, list)):
            raise shape_error(f"unflattened_size must be a tuple of ints, but found type {language.type_name(size)}", "TypeError")
        for at, n in enumerate(size):
            if not isinstance(n, int):
                kind = language.type_name(n)
                raise shape_error(f"unflattened_size must be tuple of ints, but found element of type {kind} at pos {at}", "TypeError")
        super().keep(given)

    def forward(self, input: Any) -> Any:
        if type(input) is not Tensor:
            raise no_attribute(input, "unflatten")
        return catalog.method("unflatten").method(input, tuple(self.settings().values()), {})


class Upsample(FunctionModule, place="upsampling"):
    """`F.interpolate`."""

    FUNCTION = "nn.functional.interpolate"
    FORWARD_NAME = "Upsample"
    ARGUMENTS = {"size": None, "scale_factor": None, "mode": "nearest", "align_corners": None, "recompute_scale_factor": None}

    def keep(self, given: dict[str, Any]) -> None:
        scale = given["scale_factor"]
        factor = tuple(map(float, scale)) if isinstance(scale, tuple) else float(scale) if scale else None
        super().keep(given | {"scale_factor": factor})

    def extra_repr(self) -> str:
        shown = self.settings()
        size = f"size={shown['size']!r}" if shown["scale_factor"] is None else f"scale_factor={shown['scale_factor']!r}"
        return f"{size}, mode={shown['mode']!r}"


class UpsamplingNearest2d(Upsample, place="upsampling"):
    """Images of another size, whose pixels are copies."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample, place="upsampling"):
    """Images of another size, whose pixels are interpolated; corners stay corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


CLASSES = ClassTable(
    row(Reshaping, {"Flatten": "torch.flatten"}, ARGUMENTS={"start_dim": 1, "end_dim": -1}, PLACE="flatten"),
    row(
        Unflattening,
        {"Unflatten": "torch.unflatten"},
        ARGUMENTS={"dim": REQUIRED, "unflattened_size": REQUIRED},
        DOC="One dimension taken apart into several.",
        PLACE="flatten",
    ),
    row(Reshaping, {"PixelShuffle": "F.pixel_shuffle"}, ARGUMENTS={"upscale_factor": REQUIRED}, PLACE="pixelshuffle"),
    row(Reshaping, {"PixelUnshuffle": "F.pixel_unshuffle"}, ARGUMENTS={"downscale_factor": REQUIRED}, PLACE="pixelshuffle"),
    row(Reshaping, {"ChannelShuffle": "F.channel_shuffle"}, ARGUMENTS={"groups": REQUIRED}, PLACE="channelshuffle"),
    row(Reshaping, {"Unfold": "F.unfold"}, ARGUMENTS={"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1}, PLACE="fold"),
    row(
        Reshaping,
        {"Fold": "F.fold"},
        ARGUMENTS={"output_size": REQUIRED, "kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1},
        PLACE="fold",
    ),
)
