"""Other sizes by interpolation, and channels as pixels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.signature import hooks
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.ops.layers import pixel_shuffle
from gradcli.core.ops.layers.resampling_records import INTERPOLATION
from gradcli.core.ops.reduce.dimensions import not_implemented
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

Sizes = tuple[int, ...]

_PLAIN = ("nearest", "area", "nearest-exact")
_NEEDS = {"linear": 3, "bilinear": 4, "trilinear": 5}


def _of_size(size: Any, spatial: list[int]) -> Sizes:
    if not isinstance(size, (tuple, list)):
        return (size,) * len(spatial)
    if len(size) != len(spatial):
        raise ProgramError(
            "ValueError",
            f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of {spatial} and "
            f"output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) "
            "format.",
        )
    if not all(isinstance(n, int) for n in size):
        kinds = ", ".join(f"<class '{hooks.type_name(n)}'>" for n in size)
        raise ProgramError(
            "TypeError",
            f"expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with types [{kinds}]",
        )
    return tuple(size)


def _of_scale(scale: Any, spatial: list[int]) -> tuple[float, ...]:
    if not isinstance(scale, (tuple, list)):
        return (float(scale),) * len(spatial)
    if len(scale) != len(spatial):
        raise ProgramError(
            "ValueError",
            f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of {spatial} "
            f"and scale_factor of shape {scale}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in "
            "(s1, s2, ...,sK) format.",
        )
    return tuple(map(float, scale))


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Any:
    """Images of another size."""
    if mode in _PLAIN:
        if align_corners is not None:
            raise ProgramError(
                "ValueError", "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    spatial = list(input.array.shape[2:])
    if size is not None and scale_factor is not None:
        raise ProgramError("ValueError", "only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ProgramError("ValueError", "either size or scale_factor should be defined")
    wanted = None if size is None else _of_size(size, spatial)
    scales = None if scale_factor is None else _of_scale(scale_factor, spatial)
    if recompute_scale_factor and size is not None:
        raise ProgramError("ValueError", "recompute_scale_factor is not meaningful with an explicit size.")
    if antialias:
        raise ProgramError("NotImplementedError", "interpolate with antialias=True is not part of gradcli")
    if scales is not None:
        wanted = tuple(math.floor(n * scale) for n, scale in zip(spatial, scales, strict=True))
        if recompute_scale_factor or mode == "area":
            scales = None
    assert wanted is not None
    return _resized(input, wanted, scales, mode, align_corners)


def _resized(input: Tensor, wanted: Sizes, scales: tuple[float, ...] | None, mode: str, align_corners: Any) -> Any:
    rank = input.array.ndim - 2
    if mode == "area" and rank in (1, 2, 3):
        return catalog.function(f"nn.functional.adaptive_avg_pool{rank}d")(input, wanted[0] if rank == 1 else wanted)
    if rank in (1, 2, 3) and mode in _NEEDS and _NEEDS[mode] != rank + 2:
        raise ProgramError("NotImplementedError", f"Got {rank + 2}D input, but {mode} mode needs {_NEEDS[mode]}D input")
    if (mode, rank) not in INTERPOLATION:
        raise ProgramError(
            "NotImplementedError",
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank + 2}D) for the modes: nearest | linear | bilinear | "
            f"bicubic | trilinear | lanczos | area | nearest-exact (got {mode})",
        )
    shape = input.array.shape
    if any(n <= 0 for n in (*shape[2:], *wanted)):
        before, after = (", ".join(f"{a}: {n}" for a, n in zip("DHW"[-rank:], sizes, strict=True)) for sizes in (shape[2:], wanted))
        raise runtime_error(f"Input and output sizes should be greater than 0, but got input ({before}) output ({after})")
    if not input.dtype.is_floating_point:
        raise not_implemented(f"upsample_{mode}{rank}d_channels_last", input.dtype)
    limits.check_elements(max(shape[0] * shape[1], 1) * math.prod(wanted), input.dtype.itemsize)
    return INTERPOLATION[mode, rank].forward(input, wanted, scales, align_corners)


def _deprecated(name: str, mode: str, align_corners: bool | None) -> Callable[..., Any]:
    def run(input: Tensor, size: Any = None, scale_factor: Any = None) -> Any:
        warnings.emit(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")
        return interpolate(input, size, scale_factor, mode, align_corners)

    return run


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None) -> Any:
    """The old name of `interpolate`."""
    warnings.emit("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


_ROW = [[[0.5, -1.0, 2.0]]]
_IMAGE = [[[[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]]]
_VOLUME = [_IMAGE]
_OTHER_SIZE = "Images of another size, by interpolation."


def _shuffle(name: str, run: Callable[..., Any], parameter: str, doc: str, ops: Any, text: str, x: Any) -> Function:
    return Function(
        name,
        (f"Tensor input, int {parameter}", run),
        doc=doc,
        ops=ops,
        samples=(Sample(text, None, x=x),),
        method=False,
        aliases=(f"nn.functional.{name}",),
    )


_CHANNELS = [[[0.5, -1.0], [2.0, 0.3]], [[1.5, 0.25], [-0.5, -0.9]], [[-0.3, 0.8], [0.6, 1.1]], [[0.2, -0.4], [0.7, 0.9]]]
FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        interpolate,
        "interpolate",
        _OTHER_SIZE,
        ops=tuple(op for pair in INTERPOLATION.values() for op in pair),
        samples=(
            Sample("F.interpolate(x, scale_factor=2)", lambda x: x.repeat(2, -1), x=_ROW),
            Sample("F.interpolate(x, 5, mode='linear', align_corners=True)", None, x=_ROW),
            Sample("F.interpolate(x, 4, mode='nearest-exact')", None, x=_ROW),
            Sample("F.interpolate(x, (3, 2))", None, x=_IMAGE),
            Sample("F.interpolate(x, scale_factor=1.5, mode='bilinear')", None, x=_IMAGE),
            Sample("F.interpolate(x, scale_factor=2, mode='bicubic')", None, x=_IMAGE),
            Sample("F.interpolate(x, 3, mode='nearest-exact')", None, x=_IMAGE),
            Sample("F.interpolate(x, (2, 3, 2), mode='trilinear')", None, x=_VOLUME),
            Sample("F.interpolate(x, 3)", None, x=_VOLUME),
            Sample("F.interpolate(x, 3, mode='nearest-exact')", None, x=_VOLUME),
            Sample("F.interpolate(x, (1, 2), mode='area')", None, x=_IMAGE),
        ),
        reads="dim",
    ),
    PythonFunction(upsample, "upsample", _OTHER_SIZE, reads="dim"),
    PythonFunction(_deprecated("upsample_nearest", "nearest", None), "upsample_nearest", _OTHER_SIZE, reads="dim"),
    PythonFunction(_deprecated("upsample_bilinear", "bilinear", True), "upsample_bilinear", _OTHER_SIZE, reads="dim"),
    _shuffle(
        "pixel_shuffle",
        pixel_shuffle.pixel_shuffle,
        "upscale_factor",
        "Channels laid out as the pixels of a larger image.",
        (pixel_shuffle.PIXEL_SHUFFLE,),
        "F.pixel_shuffle(x, 2)",
        _CHANNELS,
    ),
    _shuffle(
        "pixel_unshuffle",
        pixel_shuffle.pixel_unshuffle,
        "downscale_factor",
        "Neighbouring pixels as channels of a smaller image.",
        (pixel_shuffle.PIXEL_UNSHUFFLE,),
        "F.pixel_unshuffle(x, 2)",
        _CHANNELS,
    ),
    _shuffle(
        "channel_shuffle",
        pixel_shuffle.channel_shuffle,
        "groups",
        "The channels of groups in turns.",
        (pixel_shuffle.CHANNEL_SHUFFLE,),
        "F.channel_shuffle(x, 2)",
        [_CHANNELS],
    ),
)
