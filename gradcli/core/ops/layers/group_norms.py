"""Normalisation within groups of channels, within images, by the root of the mean square, and over neighbouring channels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import blocks
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.layers import normalization, records
from gradcli.core.ops.shape.views import VIEW
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError


def _call(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


def _view(x: Any, shape: tuple[int, ...]) -> Any:
    return catalog.method("view").method(x, (shape,), {})


def _fail(text: str, kind: str = "RuntimeError") -> ProgramError:
    return ProgramError(kind, text)


# --- groups of channels ---


def _spread(xp: Any, value: Any, x: Any) -> Any:
    """One value for each channel, so that it broadcasts."""
    return xp.reshape(value, (-1, *(1 for _ in x.shape[2:])))


def _in_groups(xp: Any, x: Any, group: int) -> Any:
    return xp.reshape(x, (x.shape[0], group, math.prod(x.shape[1:]) // group))


def _group_norm(x: Array, weight: Array | None, bias: Array | None, group: int, eps: float) -> Array:
    grouped = _in_groups(np, x, group)
    mean, rstd = records.moments(grouped, (2,), eps)
    normal = ((grouped - mean) * rstd).reshape(x.shape)
    if weight is not None:
        normal = normal * _spread(np, weight, x)
    return normal if bias is None else np.asarray(normal + _spread(np, bias, x))


def _group_input(xp: Any, grad: Any, input: Any, weight: Any, group: int, eps: float) -> Any:
    if weight is not None:
        grad = grad * _spread(xp, weight, input)
    made = records.standardised_rule(xp, _in_groups(xp, grad, group), _in_groups(xp, input, group), (2,), eps)
    return xp.reshape(made, input.shape)


def _over_channels(xp: Any, grad: Any) -> Any:
    return xp.call(VIEW, xp.sum(grad, (0, *range(2, len(grad.shape)))), (grad.shape[1],))


def _group_weight(xp: Any, grad: Any, input: Any, group: int, eps: float) -> Any:
    normal = xp.reshape(records.standardised(xp, _in_groups(xp, input, group), (2,), eps)[0], input.shape)
    return _over_channels(xp, grad * normal)


_GROUPED = (
    "w = 1 if weight is None else weight.reshape(-1, *[1 for _ in input.shape[2:]]); "
    "x = input.reshape(input.shape[0], group, -1); g = (grad * w).reshape(x.shape); c = x - x.mean(-1, True); "
    "std = (c.square().mean(-1, True) + eps).sqrt(); "
    "z = c / std; ((g - g.mean(-1, True) - z * (g * z).mean(-1, True)) / std).reshape(input.shape)"
)
_OVER_CHANNELS = ".sum([0, *range(2, grad.dim())])"
GROUP_NORM = Op(
    "NativeGroupNormBackward0",
    _group_norm,
    "input weight bias",
    "group eps",
    input=Rule(_group_input, _GROUPED),
    weight=Rule(_group_weight, "(grad * F.group_norm(input, group, eps=eps))" + _OVER_CHANNELS),
    bias=Rule(lambda xp, grad: _over_channels(xp, grad), "grad" + _OVER_CHANNELS),
)


def group_norm(input: Tensor, num_groups: Any, weight: Tensor | None, bias: Tensor | None, eps: float, cudnn_enabled: bool = True) -> Any:
    """As torch has it: without the check of Python's."""
    shape = list(input.array.shape)
    if num_groups <= 0:
        raise _fail(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise _fail(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {shape} and "
            f"num_groups={num_groups}"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.array.shape != (shape[1],):
            raise _fail(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(tensor.array.shape)} and input of shape {shape}"
            )
    if not input.dtype.is_floating_point:
        raise _fail(f"\"GroupNormKernelImpl\" not implemented for '{input.dtype.torch_name}'", "NotImplementedError")
    if any(t is not None and t.dtype is not input.dtype for t in (weight, bias)):
        raise _fail("mixed dtype (CPU): expect parameter to have scalar type of Float")
    return GROUP_NORM(input, weight, bias, num_groups, eps)


def checked_group_norm(input: Tensor, num_groups: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 within groups of channels, then scaled and shifted for each channel."""
    shape = input.array.shape
    if len(shape) < 2:
        raise _fail(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    sizes = [shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]
    if sizes[0] * math.prod(sizes[2:]) == 1:
        raise _fail(f"Expected more than 1 value per channel when training, got input size {sizes}", "ValueError")
    return catalog.function("group_norm")(input, num_groups, weight, bias, eps)


# --- images ---


def _instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Batch normalisation, with every image a batch of its own: its channels stand beside those of the others."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise _fail("Expected running_mean and running_var to be defined when use_input_stats is false")
    shape = input.array.shape
    images, channels = shape[:2]
    repeat = catalog.method("repeat")
    kept = (running_mean, running_var, weight, bias)
    mean, var, scale, shift = (None if t is None else repeat.method(t, (images,), {}) for t in kept)
    side_by_side = _view(catalog.method("contiguous").method(input, (), {}), (1, images * channels, *shape[2:]))
    if not input.dtype.is_floating_point:
        raise _fail(f"\"batch_norm\" not implemented for '{input.dtype.torch_name}'", "NotImplementedError")
    out = normalization.batch_norm(side_by_side, mean, var, scale, shift, use_input_stats, momentum, eps)
    for own, repeated in ((running_mean, mean), (running_var, var)):
        if own is not None and repeated is not None:
            blocks.settle()
            own.array[...] = repeated.array.reshape(images, channels).mean(0)
            own.counter().count += 1
    return _view(out, shape)


def instance_norm(
    input: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: Any = True,
    momentum: Any = 0.1,
    eps: Any = 1e-5,
) -> Any:
    """Mean 0 and variance 1 for each channel of each image."""
    if use_input_stats and math.prod(input.array.shape[2:]) == 1:
        raise _fail(f"Expected more than 1 spatial element when training, got input size {input.shape!r}", "ValueError")
    return catalog.function("instance_norm")(input, weight, bias, running_mean, running_var, bool(use_input_stats), momentum, eps, True)


# --- the root of the mean square ---


def rms_norm(input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, eps: float | None) -> Any:
    """Divided by the root of the mean square over the last dimensions, then scaled."""
    inner, shape = tuple(normalized_shape), input.array.shape
    if not inner:
        raise _fail(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []"
        )
    if weight is not None and weight.array.shape != inner:
        raise _fail(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(weight.array.shape)} and "
            f"normalized_shape = {list(inner)}"
        )
    if shape[-len(inner) :] != inner:
        text = ", ".join(map(str, inner))
        raise _fail(f"Given normalized_shape=[{text}], expected input with shape [*{text}], but got input of size{list(shape)}")
    if not input.dtype.is_floating_point:
        raise _fail(f"\"rms_norm\" not implemented for '{input.dtype.torch_name}'", "NotImplementedError")
    wide = traced.cast(input, dtypes.float32) if input.dtype.itemsize < 4 else input
    least = eps if eps is not None else float(np.finfo(wide.dtype.np).eps)
    mean = _call("mean", _call("pow", wide, 2), tuple(range(-len(inner), 0)), True)
    out = wide * _call("rsqrt", scalars.plus(traced, mean, least))
    if weight is not None:
        if weight.dtype is not input.dtype:
            first, second = (_C_TYPES.get(t.dtype.torch_name, t.dtype.torch_name) for t in (input, weight))
            warnings.emit(
                f"Mismatch dtype between input and weight: input dtype = {first}, weight dtype = {second}, Cannot dispatch to fused "
                "implementation. (Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/layer_norm.cpp:346.)",
                once="rms_norm dtype",
            )
        out = out * weight
    return out if out.dtype is input.dtype else traced.cast(out, input.dtype)


_C_TYPES = {"Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16"}


# --- neighbouring channels ---


def local_response_norm(input: Tensor, size: Any, alpha: Any = 1e-4, beta: Any = 0.75, k: Any = 1.0) -> Any:
    """Divided by a power of the mean square over neighbouring channels (Krizhevsky et al. 2012)."""
    shape = input.array.shape
    if len(shape) < 3:
        gap = " " * 25
        raise _fail(f"Expected 3D or higher dimensionality {gap}input (got {len(shape)} dimensions)", "ValueError")
    if not input.array.size:
        return input
    squares = input * input
    before, after = size // 2, (size - 1) // 2
    pad = catalog.function("nn.functional.pad")
    if len(shape) == 3:
        padded = pad(_call("unsqueeze", squares, 1), (0, 0, before, after))
        means = _call("squeeze", _call("nn.functional.avg_pool2d", padded, (size, 1), 1), 1)
    else:
        padded = pad(_view(squares, (shape[0], 1, shape[1], shape[2], -1)), (0, 0, 0, 0, before, after))
        means = _view(_call("squeeze", _call("nn.functional.avg_pool3d", padded, (size, 1, 1), 1), 1), shape)
    return input / _call("pow", means * alpha + k, beta)


_X = [[[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], [[0.3, 0.8, -0.2], [-1.2, 0.6, 1.1]]]
_W, _B = [1.0, 2.0], [0.1, -0.2]

FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        checked_group_norm,
        "group_norm",
        "Mean 0 and variance 1 within groups of channels.",
        ops=(GROUP_NORM,),
        samples=(
            Sample("F.group_norm(x, 1, w, b)", None, x=_X, w=_W, b=_B),
            Sample("F.group_norm(x, 2)", None, x=_X),
        ),
        reads="dim",
    ),
    Function(
        "group_norm",
        (
            "Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True",
            group_norm,
        ),
        doc="Mean 0 and variance 1 within groups of channels.",
        ops=(GROUP_NORM,),
        method=False,
    ),
    PythonFunction(
        instance_norm,
        "instance_norm",
        "Mean 0 and variance 1 for each channel of each image.",
        ops=(records.BATCH_NORM, records.BATCH_NORM_FIXED),
        samples=(Sample("F.instance_norm(x, None, None, w, b)", None, x=_X, w=_W, b=_B),),
    ),
    Function(
        "instance_norm",
        (
            "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, "
            "float eps, bool cudnn_enabled",
            _instance_norm,
        ),
        doc="Mean 0 and variance 1 for each channel of each image.",
        method=False,
    ),
    Function(
        "rms_norm",
        ("Tensor input, ints normalized_shape, Tensor? weight=None, float? eps=None", rms_norm),
        doc="Divided by the root of the mean square over the last dimensions.",
        samples=(Sample("F.rms_norm(x, (3,), w)", None, x=_X, w=[1.0, 2.0, 0.5]), Sample("F.rms_norm(x, (2, 3), eps=0.1)", None, x=_X)),
        method=False,
    ),
    Function(
        "rms_norm",
        ("Tensor input, ints normalized_shape, Tensor? weight=None, float? eps=None", rms_norm),
        doc="Divided by the root of the mean square over the last dimensions.",
        namespace="torch.nn.functional",
        method=False,
        python="rms_norm",
    ),
    PythonFunction(
        local_response_norm,
        "local_response_norm",
        "Divided by a power of the mean square over neighbouring channels.",
        samples=(Sample("F.local_response_norm(x, 2, 0.5)", None, x=_X),),
        reads="dim",
    ),
)
