"""Images of another size, by interpolation.

Inputs are (batch, channels, *sizes) with one to three sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import argument_errors, warnings
from gradcli.core.calling.signature import language
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, half_to_single, memory_format, resampling
from gradcli.core.kernels.resampling import Taps
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.checks import require_floating, with_method
from gradcli.core.ops.layers.transposes import Pair, transpose_of
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error

#: gets the sizes of input and result, scale, align_corners and the dtype of the computation, and gives the map of one dimension
Along = Callable[[int, int, float | None, bool, Any], Taps]
Scales = tuple[float, ...] | None

_ALONG: dict[str, Along] = {
    "nearest": lambda size, count, scale, align_corners, kind: resampling.nearest(size, count, scale, False),
    "nearest-exact": lambda size, count, scale, align_corners, kind: resampling.nearest(size, count, scale, True),
    "linear": resampling.linear,
    "bicubic": resampling.cubic,
}


def _rounded(taps: Taps, dtype: DType) -> Taps:
    """The map with weights in half precision; of two weights the first is what the second leaves of 1."""
    if taps.weights is None:
        return taps
    weights = dtypes.stored(taps.weights, dtype)
    if weights.shape[1] == 2:
        weights[:, 0] = dtypes.stored(1 - weights[:, 1], dtype)
    return Taps(taps.places, weights)


def _interpolation(name: str, mode: str, rank: int) -> Pair:
    """The records of an interpolation of `rank` dimensions."""
    along = _ALONG["linear" if mode.endswith("linear") else mode]
    call = f"F.interpolate({{}}, None if scales else output_size, scales, '{mode}', align_corners)"

    def taps(x: Array, input_size: Sizes, output_size: Sizes, scales: Scales, align_corners: bool | None) -> list[Taps]:
        kind = np.float64 if x.dtype == np.float64 else np.float32
        each = zip(input_size[2:], output_size, scales or (None,) * rank, strict=True)
        return [along(n, m, scale, bool(align_corners), kind) for n, m, scale in each]

    def forward(x: Array, *attrs: Any) -> Array:
        made = resampling.apply(x, taps(x, x.shape, *attrs))
        return memory_format.of_images(memory_format.contiguous(made.astype(x.dtype, copy=False)), x)

    def in_half(dtype: DType, x: Array, *attrs: Any) -> Array:
        """In single precision; PyTorch's kernel for images that have not their channels last rounds the weights."""
        each = taps(x, x.shape, *attrs)
        if not _in_channels_last(x, mode):
            each = [_rounded(one, dtype) for one in each]
        made = dtypes.cast(resampling.apply(half_to_single(x), each), dtype)
        return memory_format.of_images(memory_format.contiguous(made), x)

    def backward(grad: Array, input_size: Sizes, *attrs: Any) -> Array:
        made = resampling.transposed(half_to_single(grad), taps(grad, input_size, *attrs), input_size[2:])
        made = memory_format.contiguous(made.astype(grad.dtype, copy=False))
        # PyTorch's kernels of the other modes write their gradients in row-major order
        return made if mode == "bicubic" or ("nearest" in mode and rank == 3) else memory_format.of_images(made, grad)

    scales = "scales=scales[0]" if rank == 1 else " ".join(f"scales_{d}=scales[{k}]" for k, d in enumerate("dhw"[-rank:]))
    saved = f"{'' if 'nearest' in mode else 'align_corners '}output_size {scales}"
    transpose = Op(
        f"{name}BackwardBackward0",
        backward,
        "grad_output",
        "input_size output_size scales align_corners",
        saved=saved,
        grad_output=Rule(lambda xp, grad, attrs: xp.call(op, grad, *attrs[1:]), call.format("grad")),
    )
    op = Op(
        f"{name}Backward0",
        forward,
        "input",
        "output_size scales align_corners",
        in_half=in_half,
        saved=f"{saved} self_sym_sizes",
        input=Rule(lambda xp, grad, input_shape, attrs: xp.call(transpose, grad, tuple(input_shape), *attrs), transpose_of(call, rank)),
    )
    return Pair(op, transpose)


#: the pairs of operations by mode and number of dimensions
INTERPOLATION: dict[tuple[str, int], Pair] = {
    (mode, rank): _interpolation(f"Upsample{name}{rank}D", mode, rank)
    for mode, name, ranks in (
        ("nearest", "Nearest", (1, 2, 3)),
        ("nearest-exact", "NearestExact", (1, 2, 3)),
        ("linear", "Linear", (1,)),
        ("bilinear", "Bilinear", (2,)),
        ("trilinear", "Trilinear", (3,)),
        ("bicubic", "Bicubic", (2,)),
    )
    for rank in ranks
}
#: modes without align_corners
_PLAIN = ("nearest", "area", "nearest-exact")
#: the rank of the input that a mode needs
_NEEDS = {"linear": 3, "bilinear": 4, "trilinear": 5}


def _of_size(size: Any, spatial: list[int]) -> Sequence[Any]:
    """One size for each dimension: `size` itself, or a list of one number.

    Raises ValueError for another number of them, TypeError for other values.
    """
    if not isinstance(size, (tuple, list)):
        return [size] * len(spatial)
    if len(size) != len(spatial):
        raise shape_error(
            f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of {spatial} and "
            f"output size of {formatted(size)}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in "
            "(o1, o2, ...,oK) format.",
            "ValueError",
        )
    if not all(isinstance(n, int) for n in size):
        kinds = ", ".join("<class 'torch.Tensor'>" if type(n) is Tensor else language.type_repr(n) for n in size)
        text = f"expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with types [{kinds}]"
        raise shape_error(text, "TypeError")
    return size


def _of_scale(scale: Any, spatial: list[int]) -> Sequence[Any]:
    """One scale for each dimension: `scale` itself, or a list of one number. Raises ValueError for another number of them."""
    if not isinstance(scale, (tuple, list)):
        return [scale] * len(spatial)
    if len(scale) != len(spatial):
        raise shape_error(
            f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of {spatial} "
            f"and scale_factor of shape {formatted(scale)}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format.",
            "ValueError",
        )
    return scale


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Any:
    """`F.interpolate`. Raises ValueError, TypeError, RuntimeError or NotImplementedError for arguments that do not fit."""
    if mode in _PLAIN:
        if align_corners is not None:
            raise ProgramError(
                "ValueError", "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    spatial = list(with_method(input, "dim").array.shape[2:])
    if size is not None and scale_factor is not None:
        raise shape_error("only one of size or scale_factor should be defined", "ValueError")
    if size is None and scale_factor is None:
        raise shape_error("either size or scale_factor should be defined", "ValueError")
    wanted = None if size is None else _of_size(size, spatial)
    scales = None if scale_factor is None else _of_scale(scale_factor, spatial)
    if recompute_scale_factor and size is not None:
        raise shape_error("recompute_scale_factor is not meaningful with an explicit size.", "ValueError")
    if antialias:
        raise ProgramError("NotImplementedError", "interpolate with antialias=True is not part of gradcli")
    if scales is not None:
        if mode != "area" and not recompute_scale_factor:
            if not isinstance(mode, str) or (mode, len(spatial)) not in INTERPOLATION:
                return _resized(input, (), scales, mode, align_corners)  # raises the error of the mode
            _check_scales(scales, mode, len(spatial), align_corners)
        products = [n * float(scale) for n, scale in zip(spatial, scales, strict=True)]
        if mode != "area" and not recompute_scale_factor and not all(abs(product) < 1 << 63 for product in products):
            raise runtime_error("value cannot be converted to type int64_t without overflow")
        wanted = tuple(math.floor(product) for product in products)
        if recompute_scale_factor or mode == "area":
            scales = None
    assert wanted is not None
    return _resized(input, wanted, scales, mode, align_corners)


def _is_scale(value: Any) -> bool:
    return isinstance(value, (int, float)) or type(value) is Tensor


def _check_scales(scales: Sequence[Any], mode: str, rank: int, align_corners: Any) -> None:
    """Raise TypeError for scales that are no numbers, as PyTorch's parser."""
    at = next((at for at, scale in enumerate(scales) if not _is_scale(scale)), None)
    if at is None:
        return
    if at == 0:
        raise _not_parsed(None, scales, mode, rank, align_corners)
    text = f"must be tuple of floats, but found element of type {language.type_name(scales[at])} at pos {at + 1}"
    raise ProgramError("TypeError", f"{_kernel_name(mode, rank)}(): argument 'scale_factors' {text}")


def _kernel_name(mode: str, rank: int) -> str:
    return f"_upsample_nearest_exact{rank}d" if mode == "nearest-exact" else f"upsample_{mode}{rank}d"


def _check_whole(wanted: Sequence[Any], scales: Sequence[Any] | None, mode: str, rank: int, align_corners: Any) -> None:
    """Raise TypeError for sizes that are no whole numbers and `align_corners` that is no truth value, as PyTorch's parser."""
    if type(wanted[0]) is not int or not (mode in _PLAIN or type(align_corners) is bool):
        raise _not_parsed(None if scales else wanted, scales, mode, rank, align_corners)


def _not_parsed(wanted: Any, scales: Any, mode: str, rank: int, align_corners: Any) -> ProgramError:
    plain = mode in _PLAIN
    shared = f"Tensor input, tuple of ints output_size{'' if plain else ', bool align_corners'}"
    own = "float scales = None" if rank == 1 else ", ".join(f"float scales_{axis} = None" for axis in "dhw"[-rank:])
    listed = (f"({shared}, tuple of floats scale_factors)", f"({shared}, {own}, *, Tensor out = None)")
    given = (Tensor(np.zeros(()), dtypes.float64), wanted, *(() if plain else (align_corners,)), scales)
    text = argument_errors.describe(listed, given, {}, language.type_name)
    return ProgramError("TypeError", f"{_kernel_name(mode, rank)}() received an invalid combination of arguments - {text}")


def _in_channels_last(x: Array, mode: str) -> bool:
    """Whether PyTorch takes its kernel for channels last, which in one thread is that of all images."""
    rank = x.ndim - 2
    return (rank == 2 and mode != "bicubic") or (rank == 3 and x.shape[1] > 3 and np.moveaxis(x, 1, -1).flags.c_contiguous)


def _resized(input: Tensor, wanted: Sequence[Any], scales: Sequence[Any] | None, mode: str, align_corners: Any) -> Any:
    """The image of the sizes `wanted`, after the checks of the mode and the shape."""
    rank = input.array.ndim - 2
    if mode == "area" and rank in (1, 2, 3):
        return catalog.function(f"nn.functional.adaptive_avg_pool{rank}d")(input, wanted[0] if rank == 1 else wanted)
    known = isinstance(mode, str)
    if known and rank in (1, 2, 3) and mode in _NEEDS and _NEEDS[mode] != rank + 2:
        raise shape_error(f"Got {rank + 2}D input, but {mode} mode needs {_NEEDS[mode]}D input", "NotImplementedError")
    if not known or (mode, rank) not in INTERPOLATION:
        raise shape_error(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank + 2}D) for the modes: nearest | linear | bilinear | "
            f"bicubic | trilinear | lanczos | area | nearest-exact (got {formatted(mode)})",
            "NotImplementedError",
        )
    shape = input.array.shape
    _check_whole(wanted, scales, mode, rank, align_corners)
    wanted, scales = tuple(wanted), None if scales is None else tuple(map(float, scales))
    if any(n <= 0 for n in (*shape[2:], *wanted)):
        joined = "and " if rank == 1 else ""
        before, after = (", ".join(f"{a}: {n}" for a, n in zip("DHW"[-rank:], sizes, strict=True)) for sizes in (shape[2:], wanted))
        raise shape_error(f"Input and output sizes should be greater than 0, but got input ({before}) {joined}output ({after})")
    kind = "nearest" if "nearest" in mode else "cubic" if mode == "bicubic" else "linear"
    name = f"compute_indices_weights_{kind}"
    if _in_channels_last(input.array, mode):
        name = f"upsample_{mode.removesuffix('-exact')}{rank}d_channels_last"
    bytes_taken = input.dtype is dtypes.uint8 and (kind == "nearest" or rank == 2)
    if not bytes_taken:
        require_floating(name, input.dtype)
    limits.check_elements(max(shape[0] * shape[1], 1) * math.prod(wanted), input.dtype.itemsize)
    if bytes_taken and kind != "nearest":
        along = _ALONG["linear" if kind == "linear" else mode]
        each = zip(shape[2:], wanted, scales or (None, None), strict=True)
        made = resampling.apply_to_bytes(input.array, [along(n, m, scale, bool(align_corners), np.float64) for n, m, scale in each])
        return Tensor(memory_format.of_images(memory_format.contiguous(made), input.array), dtypes.uint8)
    if bytes_taken:
        wide = INTERPOLATION[mode, rank].forward(Tensor(input.array.astype(np.float32), dtypes.float32), wanted, scales, align_corners)
        return Tensor(wide.array.astype(np.uint8), dtypes.uint8)
    return INTERPOLATION[mode, rank].forward(input, wanted, scales, align_corners)


def _deprecated(name: str, mode: str, align_corners: bool | None) -> Callable[..., Any]:
    """An older name of `interpolate` for one mode."""

    def run(input: Tensor, size: Any = None, scale_factor: Any = None) -> Any:
        warnings.emit(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")
        return interpolate(input, size, scale_factor, mode, align_corners)

    return run


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None) -> Any:
    """The older name of `interpolate`."""
    warnings.emit("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


_ROW = [[[0.5, -1.0, 2.0]]]
_IMAGE = [[[[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]]]
_VOLUME = [_IMAGE]
_OTHER_SIZE = "Images of another size, by interpolation."


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
        unchecked=True,
    ),
    PythonFunction(upsample, "upsample", _OTHER_SIZE, unchecked=True),
    PythonFunction(_deprecated("upsample_nearest", "nearest", None), "upsample_nearest", _OTHER_SIZE, unchecked=True),
    PythonFunction(_deprecated("upsample_bilinear", "bilinear", True), "upsample_bilinear", _OTHER_SIZE, unchecked=True),
)
