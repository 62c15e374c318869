"""Fake quantisation: numbers rounded to the levels that integers with a scale and a zero point would have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import require_floating, size
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.rules import check_no_gradient, check_no_tangent
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


def _levels(x: Array, scale: Any, zero_point: Any) -> Any:
    if x.dtype == np.float16:  # PyTorch multiplies by an inverse of single precision
        x = x.astype(np.float32)
    inverse = x.dtype.type(1) / np.asarray(scale, x.dtype)
    return np.rint(x * inverse) + np.asarray(zero_point, x.dtype)


def _whole_levels(x: Array, scale: Any, zero_point: Any) -> Any:
    """As integers of 64 bits, of which the processor makes the smallest of larger numbers, with the inverse in single precision."""
    x = x.astype(np.result_type(x.dtype, np.float32))
    inverse = (np.float32(1) / np.asarray(scale, np.float32)).astype(x.dtype)
    point = np.asarray(zero_point, x.dtype)
    levels = np.rint(x * inverse + point) if zero_point.dtype.kind == "f" else np.rint(x * inverse) + point
    return np.where(np.abs(levels) < 2.0**63, levels, x.dtype.type(-(2.0**63)))


def _record(name: str, levels_of: Callable[[Array, Any, Any], Any] = _levels) -> Op:
    def rounded(x: Array, scale: Any, zero_point: Any, low: int, high: int) -> Any:
        # a level is a whole number, which has no negative zero; the product with the scale is one of single precision
        kind = np.result_type(x.dtype, np.float32) if levels_of is _whole_levels else np.dtype(np.float32)
        levels = 0 + np.fmin(np.fmax(levels_of(x, scale, zero_point), low), high)
        return ((levels.astype(kind) - np.asarray(zero_point, kind)) * np.asarray(scale, kind)).astype(x.dtype)

    def passed(xp: Any, grad: Any, input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any) -> Any:
        levels = levels_of(xp.plain(input), scale, zero_point)
        return scalars.times_data(xp, grad, (levels >= quant_min) & (levels <= quant_max))

    return Op(
        f"FakeQuantize{name}Backward0",
        rounded,
        "input",
        "scale zero_point quant_min quant_max",
        saved="mask=?!",
        layout="preserved",
        input=Rule(
            passed,
            "q = (input / scale).round() + zero_point; grad * ((q >= quant_min) & (q <= quant_max))",
            "1 within the range of the levels, 0 outside",
        ),
    )


BY_NUMBERS, BY_TENSORS = _record("PerTensorAffineCachemask"), _record("PerTensorAffineCachemaskTensorQparams")
BY_CHANNEL = _record("PerChannelAffineCachemask", _whole_levels)


_KERNEL = "fake_quantize_tensor_cachemask_kernel_type_handling"


def _check(low: int, high: int, points: Any) -> None:
    if low > high:
        raise runtime_error("`quant_min` should be less than or         equal to `quant_max`.")
    if np.any((np.asarray(points) < low) | (np.asarray(points) > high)):
        raise runtime_error("`zero_point` must be between `quant_min` and `quant_max`.")


def _per_tensor(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Any:
    check_no_tangent("fake_quantize_per_tensor_affine_cachemask", input)
    _check(quant_min, quant_max, zero_point)
    require_floating(_KERNEL, input.dtype)
    return BY_NUMBERS(input, scale, zero_point, quant_min, quant_max)


def _by_tensors(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int) -> Any:
    name = "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"
    check_no_gradient(name, scale=scale, zero_point=zero_point)
    check_no_tangent(name, input, scale, zero_point)
    _check(quant_min, quant_max, 0 if quant_min <= 0 <= quant_max else quant_min)
    for given in (zero_point, scale):
        if given.array.size != 1:
            raise runtime_error(f"a Tensor with {given.array.size} elements cannot be converted to Scalar")
    require_floating(_KERNEL, input.dtype)
    point = zero_point.array.astype(np.int64).reshape(())
    factor = Tensor(scale.array.reshape(()), scale.dtype)
    return BY_TENSORS(input, watched(factor), watched(Tensor(point, dtypes.int64)), quant_min, quant_max)


def _per_channel(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Any:
    """Each slice along a dimension with a scale and a zero point of its own. RuntimeError for sizes that do not fit."""
    rank, name = input.array.ndim, "fake_quantize_per_channel_affine_cachemask"
    check_no_gradient(name, scale=scale, zero_point=zero_point)
    check_no_tangent(name, input, scale, zero_point)
    if scale.dtype not in (dtypes.float32, dtypes.bfloat16):
        raise runtime_error(f"Scale must be Float or BFloat16, found {scale.dtype.torch_name}")
    if zero_point.dtype not in (dtypes.int32, dtypes.float32, dtypes.float16):
        raise runtime_error(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.torch_name}")
    if scale.array.ndim != 1 or zero_point.array.ndim != 1:
        raise runtime_error("scale should be a 1-D tensor" if scale.array.ndim != 1 else "zero point should be a 1-D tensor")
    if scale.array.shape != zero_point.array.shape:
        raise runtime_error("scale and zero-point need to have the same dimensions")
    if scale.array.shape[0] != size(input, axis):
        raise runtime_error("dimensions of scale and zero-point are not consistent with input tensor")
    _check(quant_min, quant_max, quant_min if zero_point.dtype.is_floating_point else zero_point.array)
    if not 0 <= axis <= rank:
        raise runtime_error("`axis` must be between 0 and number of dimensions of input")
    require_floating("fake_quantize_channel_cachemask_cpu_type_handling", input.dtype)
    shape = tuple(-1 if i == axis else 1 for i in range(rank))
    return BY_CHANNEL(input, scale.array.reshape(shape), zero_point.array.reshape(shape), quant_min, quant_max)


_X = [0.06, 0.98, 30.0, -1.08]
FUNCTIONS: tuple[Function, ...] = (
    Function(
        "fake_quantize_per_tensor_affine",
        ("Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max", _by_tensors),
        ("Tensor input, float scale, int zero_point, int quant_min, int quant_max", _per_tensor),
        doc="Numbers rounded to levels: (round(input / scale) + zero_point) clamped, and back.",
        ops=(BY_NUMBERS, BY_TENSORS),
        samples=(
            Sample(f"torch.fake_quantize_per_tensor_affine(tensor({_X}), 0.1, 0, 0, 255)"),
            Sample(f"torch.fake_quantize_per_tensor_affine(tensor({_X}), tensor(0.1), tensor(0), 0, 255)"),
        ),
        method=False,
    ),
    Function(
        "fake_quantize_per_channel_affine",
        ("Tensor input, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max", _per_channel),
        doc="As fake_quantize_per_tensor_affine, with a scale and a zero point for each slice along a dimension.",
        ops=(BY_CHANNEL,),
        samples=(Sample(f"torch.fake_quantize_per_channel_affine(tensor([{_X}]), tensor([0.1]).float(), tensor([0]).int(), 0, 0, 255)"),),
        method=False,
    ),
)
